/** Start at login. */
export const login = {
  'login.title': 'Start when you log in',
  'login.switch': 'Start Drawbridge when you log in to this computer',
  'login.tray': 'It starts with its tray icon alone. The window stays closed until you open it.',
  'login.no_tray': 'This desktop shows no tray icons, so it starts with its window.',
  'login.place': 'What starts it is written to {place}.',
  'login.elsewhere': 'Another copy of Drawbridge starts when you log in: {program}. Let this one start instead, or leave it as it is.',
  'login.gone': 'Nothing starts when you log in: {program} is not there any more. Perhaps Drawbridge was moved.',
  'login.disabled': 'It was switched off in the settings of your desktop, so nothing starts when you log in.',
  'login.foreign': '{place} was not written by Drawbridge, so it is left alone. Rename or remove that file to switch this on here.',
  'login.practice': 'On the practice platform nothing is set up for the next login. It can be switched on once you are back on the real platform.',
  'login.no_program': 'This cannot be set up here: Drawbridge runs from a place that will be gone at the next login. Install it or start it from where it is kept, then come back.',
  'login.odd_path': 'This cannot be set up here: the name of the folder that holds Drawbridge has signs that such an entry cannot hold. Move Drawbridge to another folder.',
  'login.unknown': 'This cannot be set up here. {why}',
  'login.repair': 'Let this one start',
  'error.login_foreign': 'Another program wrote that entry, so it was left alone. Rename or remove the file, then try again.',
} as const;
