export const undo = {
  'undo.empty': 'Nothing to take back',
  'undo.empty.more': 'What an agent overwrites, moves or deletes is kept here.',
  'undo.refresh': 'Refresh',
  'undo.restore': 'Take back',
  'undo.restored': 'Taken back',
  'undo.create': 'New',
  'undo.write': 'Changed',
  'undo.delete': 'Deleted',
  'undo.move': 'Moved',
} as const;
