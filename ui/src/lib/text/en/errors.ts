/** What a refused command means, by its code. A code without words here shows the engine's own message. */
export const errors = {
  'error.engine_gone': 'Drawbridge is shutting down. Start it again and retry.',
  'error.audit_unavailable': 'The audit log cannot be written, so nothing is done. Free some space or check its folder, then try again.',
  'error.busy': 'A sign-in is running already. Finish it in the browser or cancel it first.',
  'error.no_sign_in': 'No sign-in is running. Press Sign in first, then paste the address.',
  'error.not_offered': 'This answer is not offered for this question.',
  'error.not_painted': 'The question was not on screen long enough to count. Read it again and answer.',
  'error.raised': 'The bridge is raised, so nothing connects. Lower it first.',
  'error.signed_out': 'You are not signed in. Sign in first, then connect.',
  'error.unknown_chat': 'This chat is no longer known. It may have been forgotten meanwhile.',
  'error.unknown_prompt': 'This question was answered already or its time ran out.',
  'error.not_built': 'This part is not in this version.',
  'error.window_only': 'For your safety this can be set only in this window’s own dialogs.',
  'error.no_window': 'The window is not ready. Close it, open it from the tray and try again.',
} as const;
