/**
 * What a refused command means, by its code. Codes whose message tells more than their name (a path, a rule, a limit)
 * have no words here: for them the engine's own message is shown.
 */
export const errors = {
  'error.audit_unavailable': 'The audit log cannot be written, so nothing is done. Free some space or check its folder, then try again.',
  'error.bad_app_name': 'This name of an app cannot be kept: it must be 1 to 256 characters long, and a list holds 200 names at most.',
  'error.broke_off': 'This broke off. Look at what changed, then try again.',
  'error.browse_over': 'This question is over, so no folder was chosen.',
  'error.busy': 'This is running already. Let it finish or cancel it first.',
  'error.engine_gone': 'Drawbridge is shutting down. Start it again and retry.',
  'error.no_file_manager': 'No file manager could be opened. Open the folder yourself; its path stands on the card.',
  'error.no_sign_in': 'No sign-in is running. Press Sign in first, then paste the address.',
  'error.no_window': 'The window is not ready. Close it, open it again and retry.',
  'error.not_built': 'This part is not in this version.',
  'error.not_for_the_page': 'For your safety the window may not do this. Use the tray or the command line.',
  'error.cut_short': 'This is too long to be shown whole, so it can only be denied. Ask the agent for something shorter.',
  'error.not_offered': 'This answer is not offered for this question, so nothing was allowed.',
  'error.not_painted': 'The question, as it is now, was not on screen yet, so the answer does not count. Read it and answer again.',
  'error.platform_unreachable': 'The platform did not answer, so you are still signed in. Try again later.',
  'error.power_off': 'This power is off, and that holds for every chat. Switch it on under Powers first.',
  'error.raised': 'The bridge is raised, so nothing connects. Lower it first.',
  'error.settings_sound': 'The settings can be read, so nothing was set aside and nothing has changed.',
  'error.signed_out': 'You are not signed in. Sign in first, then connect.',
  'error.stopping': 'Drawbridge is stopping, so this was not finished.',
  'error.unknown_chat': 'This chat is no longer known. It may have been forgotten meanwhile.',
  'error.unknown_prompt': 'This question is over. Nothing was allowed by it.',
  'error.unknown_root': 'This folder is not in the list any more.',
  'error.unknown_rule': 'This rule is not there any more.',
  'error.window_only': 'For your safety this can be set only in this window’s own dialogs.',
} as const;
