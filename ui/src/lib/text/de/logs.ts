/** Protokoll und Diagnose. */
export const logs = {
  'logs.title': 'Programmprotokoll und Diagnose',
  'logs.more': 'Das eigene Protokoll des Programms hilft herauszufinden, warum etwas misslang. Es enthält keine Inhalte von Dateien, nichts, was Sie eingeben, und keine Passwörter oder Schlüssel.',
  'logs.show': 'Diagnose zeigen…',
  'logs.collecting': 'Alles wird angesehen. Das dauert einige Sekunden.',
  'logs.read': 'Lesen Sie dies, bevor Sie es weitergeben. Namen von Menschen, Computern, Chats und Ordnern wurden weggelassen.',
  'logs.text': 'Diagnose',
  'logs.copy': 'Kopieren',
  'logs.copied': 'Kopiert. Fügen Sie es dort ein, wo Sie um Hilfe bitten.',
  'logs.again': 'Noch einmal ansehen',
  'logs.close': 'Schließen',
  'logs.open': 'Ordner öffnen',
} as const;
