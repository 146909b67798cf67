export const settings = {
  'audit.title': 'Audit log',
  'audit.fine': '{records} records, {bytes}',
  'audit.broken': 'The audit log cannot be written, so nothing is done. Free some space or check the folder, then restart.',
  'audit.rotate': 'Start a new file',
  'audit.rotated': 'The old file is kept as {path}.',
} as const;
