export const undo = {
  'undo.empty': 'Nichts zurückzunehmen',
  'undo.empty.more': 'Was ein Agent überschreibt, verschiebt oder löscht, wird hier aufbewahrt.',
  'undo.refresh': 'Neu laden',
  'undo.restore': 'Zurücknehmen',
  'undo.restored': 'Zurückgenommen',
  'undo.create': 'Neu',
  'undo.write': 'Geändert',
  'undo.delete': 'Gelöscht',
  'undo.move': 'Verschoben',
} as const;
