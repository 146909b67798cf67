/** The log and diagnostics. */
export const logs = {
  'logs.title': 'Log and diagnostics',
  'logs.more': 'The program’s own log helps to find out why something failed. It holds no contents of files, nothing that you type, and no passwords or keys.',
  'logs.show': 'Show diagnostics…',
  'logs.collecting': 'Looking at everything. This takes a few seconds.',
  'logs.read': 'Read this before you pass it on. Names of people, computers, chats and folders were left out.',
  'logs.text': 'Diagnostics',
  'logs.copy': 'Copy',
  'logs.copied': 'Copied. Paste it where you ask for help.',
  'logs.again': 'Look again',
  'logs.close': 'Close',
  'logs.open': 'Open the folder of the log',
} as const;
