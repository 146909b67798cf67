/** Start bei der Anmeldung. */
export const login = {
  'login.title': 'Start bei der Anmeldung',
  'login.switch': 'Drawbridge starten, wenn Sie sich an diesem Computer anmelden',
  'login.tray': 'Es startet nur mit seinem Symbol in der Leiste. Das Fenster bleibt zu, bis Sie es öffnen.',
  'login.no_tray': 'Diese Arbeitsfläche zeigt keine Symbole in der Leiste, darum startet es mit seinem Fenster.',
  'login.place': 'Was es startet, steht in {place}.',
  'login.elsewhere': 'Bei der Anmeldung startet ein anderes Exemplar von Drawbridge: {program}. Lassen Sie stattdessen dieses starten, oder lassen Sie es, wie es ist.',
  'login.gone': 'Bei der Anmeldung startet nichts: {program} ist nicht mehr da. Vielleicht wurde Drawbridge verschoben.',
  'login.disabled': 'Es wurde in den Einstellungen Ihrer Arbeitsfläche ausgeschaltet, darum startet bei der Anmeldung nichts.',
  'login.foreign': '{place} stammt nicht von Drawbridge und bleibt darum, wie es ist. Benennen Sie die Datei um oder entfernen Sie sie, um dies hier einzuschalten.',
  'login.practice': 'Auf der Übungsplattform wird für die nächste Anmeldung nichts eingerichtet. Zurück auf der echten Plattform können Sie es einschalten.',
  'login.no_program': 'Das lässt sich hier nicht einrichten: Drawbridge läuft von einem Ort, den es bei der nächsten Anmeldung nicht mehr gibt. Installieren Sie es oder starten Sie es von dort, wo es aufbewahrt wird, und kommen Sie dann zurück.',
  'login.odd_path': 'Das lässt sich hier nicht einrichten: Der Name des Ordners, in dem Drawbridge liegt, hat Zeichen, die ein solcher Eintrag nicht halten kann. Verschieben Sie Drawbridge in einen anderen Ordner.',
  'login.unknown': 'Das lässt sich hier nicht einrichten. {why}',
  'login.repair': 'Dieses starten lassen',
  'error.login_foreign': 'Diesen Eintrag hat ein anderes Programm geschrieben, darum blieb er, wie er ist. Benennen Sie die Datei um oder entfernen Sie sie, dann versuchen Sie es noch einmal.',
} as const;
