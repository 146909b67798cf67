export const settings = {
  'audit.title': 'Protokoll',
  'audit.fine': '{records} Einträge, {bytes}',
  'audit.broken': 'Das Protokoll lässt sich nicht schreiben, deshalb geschieht nichts. Bitte Platz schaffen oder den Ordner prüfen und neu starten.',
  'audit.rotate': 'Neue Datei beginnen',
  'audit.rotated': 'Die alte Datei bleibt als {path} erhalten.',
} as const;
