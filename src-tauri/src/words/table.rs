//! The table of texts: key, English, German.

use super::Language;

macro_rules! words {
    ($($word:ident: $english:literal, $german:literal;)*) => {
        /// Key of a text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Word {
            $(
                #[doc = $english]
                $word,
            )*
        }

        impl Word {
            /// Every key.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$word),*];

            /// The text with its places still open.
            pub(crate) const fn text(self, language: Language) -> &'static str {
                match (self, language) {
                    $(
                        (Self::$word, Language::English) => $english,
                        (Self::$word, Language::German) => $german,
                    )*
                }
            }
        }
    };
}

words! {
    // Status line.
    OneQuestion: "1 question is waiting for you", "1 Frage wartet auf Sie";
    Questions: "{n} questions are waiting for you", "{n} Fragen warten auf Sie";
    Raised: "Raised: nothing can act", "Oben: nichts kann handeln";
    LogBroken: "The audit log cannot be written: nothing is done", "Das Protokoll lässt sich nicht schreiben: nichts wird ausgeführt";
    Trouble: "Something is wrong: open Drawbridge", "Etwas stimmt nicht: Drawbridge öffnen";
    ScreenShared: "An agent uses your screen: {counts}", "Ein Agent benutzt Ihren Bildschirm: {counts}";
    ScreenWaits: "An agent uses your screen: it waits while you use mouse or keyboard", "Ein Agent benutzt Ihren Bildschirm: er wartet, solange Sie Maus oder Tastatur benutzen";
    StopScreen: "Stop: raise the bridge now", "Stopp: Brücke jetzt hochziehen";
    SignedOut: "Signed out", "Abgemeldet";
    SigningIn: "Signing in: finish in the browser", "Anmeldung läuft: im Browser abschließen";
    Refused: "The platform refused the sign-in: sign in again", "Die Plattform hat die Anmeldung abgelehnt: bitte neu anmelden";
    OneRunning: "Working: 1 request", "Arbeitet: 1 Auftrag";
    Running: "Working: {n} requests", "Arbeitet: {n} Aufträge";
    Connected: "Connected and idle", "Verbunden, nichts zu tun";
    Halted: "The link has ended: connect again or open Drawbridge", "Die Verbindung ist beendet: neu verbinden oder Drawbridge öffnen";
    Connecting: "Connecting…", "Verbindet…";
    NotConnected: "Not connected", "Nicht verbunden";
    NotStarted: "Drawbridge has not started", "Drawbridge ist nicht gestartet";
    OpenToMend: "Open Drawbridge to see why…", "Drawbridge öffnen und nachsehen…";

    // The screen is in use: tray, pill.
    PillTitle: "An agent sees and uses this screen", "Ein Agent sieht und bedient den Bildschirm";
    PillWaits: "waits while you use mouse or keyboard", "wartet, solange Sie Maus oder Tastatur benutzen";
    PillStopped: "Stopped: nothing can act", "Angehalten: Nichts kann handeln";
    PillStoppedMore: "until you lower the bridge", "bis Sie die Brücke herunterlassen";
    PillFailed: "This could not be stopped here", "Das ließ sich hier nicht anhalten";
    PillFailedMore: "Use the tray menu: Stop, or Quit.", "Bitte im Tray-Menü: Stopp oder Beenden.";
    PillStop: "Stop", "Stopp";
    PicturesAndActs: "{pictures}, {acts}", "{pictures} und {acts}";
    OnePicture: "1 picture", "1 Bild";
    Pictures: "{n} pictures", "{n} Bilder";
    OneAct: "1 act", "1 Handlung";
    Acts: "{n} acts", "{n} Handlungen";

    // Questions.
    Question: "Question: {summary}", "Frage: {summary}";
    QuestionAbout: "Folder of the chat: {folder}", "Ordner des Chats: {folder}";
    ShowQuestion: "Show the question", "Frage anzeigen";
    Deny: "Deny", "Ablehnen";
    DenyAll: "Deny all {n} questions", "Alle {n} Fragen ablehnen";
    MoreQuestions: "{n} more in the window…", "{n} weitere im Fenster…";

    // The stop.
    Raise: "Raise the bridge (stop everything)", "Brücke hochziehen (alles anhalten)";
    RaiseKey: "Raise the bridge (stop everything, {key})", "Brücke hochziehen (alles anhalten, {key})";
    Lower: "Lower the bridge (agents may act again)", "Brücke herunterlassen (Agenten dürfen wieder handeln)";

    // Sign-in and link.
    SignIn: "Sign in…", "Anmelden…";
    ConnectNow: "Connect now", "Jetzt verbinden";

    // Chats.
    Chats: "Chats ({n})", "Chats ({n})";
    NoChats: "No chat has a folder", "Kein Chat hat einen Ordner";
    ChatActive: "Connected, idle", "Verbunden, nichts zu tun";
    ChatAway: "Not connected", "Nicht verbunden";
    ChatRevoked: "Taken back", "Zurückgenommen";
    OpenFolder: "Open the folder", "Ordner öffnen";
    Detach: "Detach", "Trennen";
    MoreChats: "{n} more in the window…", "{n} weitere im Fenster…";

    // Powers.
    Powers: "Powers", "Rechte";
    PowerLine: "{power}: {mode}", "{power}: {mode}";
    PowerFiles: "Files", "Dateien";
    PowerAttach: "Attach folders", "Ordner anhängen";
    PowerShell: "Commands", "Befehle";
    PowerComputerUse: "Screen and input", "Bildschirm und Eingabe";
    PowerClipboard: "Clipboard", "Zwischenablage";
    PowerLocalModel: "Local model", "Lokales Modell";
    PowerHardware: "Hardware", "Geräte";
    ModeOff: "Off", "Aus";
    ModeAskEachTime: "Ask each time", "Jedes Mal fragen";
    ModeAskOncePerChat: "Ask once per chat", "Einmal je Chat fragen";
    ModeAllowed: "Allowed", "Erlaubt";
    ModeInWindow: "{mode} (in the window…)", "{mode} (im Fenster…)";
    Locked: "Switched off by {who}", "Abgeschaltet durch {who}";
    ShellConfined: "Commands are confined", "Befehle sind eingesperrt";
    ShellFull: "Commands can do everything you can", "Befehle können alles, was Sie können";
    Confine: "Confine commands", "Befehle einsperren";

    // Folders offered.
    Folders: "Folders offered", "Angebotene Ordner";
    NextFolder: "For the next chat: {folder}", "Für den nächsten Chat: {folder}";
    TakeBack: "Take the offer back", "Angebot zurücknehmen";
    LookIn: "Agents may look for folders in:", "Agenten dürfen Ordner suchen in:";
    HomeFolder: "Your home folder", "Ihrem persönlichen Ordner";
    StopLooking: "{folder}: take away", "{folder}: wegnehmen";
    OfferFolder: "Offer a folder for the next chat…", "Ordner für den nächsten Chat anbieten…";

    // The rest of the menu.
    Last: "Last: {operation} {subject}", "Zuletzt: {operation} {subject}";
    LastRefused: "Last: {operation} {subject} (refused)", "Zuletzt: {operation} {subject} (abgelehnt)";
    NotificationsBroken: "This desktop shows no notifications", "Dieser Desktop zeigt keine Benachrichtigungen";
    Open: "Open Drawbridge", "Drawbridge öffnen";
    Quit: "Quit", "Beenden";
    QuitEnds: "Quit (ends {what})", "Beenden (beendet {what})";
    And: "{first} and {second}", "{first} und {second}";
    OneChat: "1 chat", "1 Chat";
    ManyChats: "{n} chats", "{n} Chats";
    OneCommand: "1 running command", "1 laufenden Befehl";
    ManyCommands: "{n} running commands", "{n} laufende Befehle";
    OneRequest: "1 running request", "1 laufenden Auftrag";
    ManyRequests: "{n} running requests", "{n} laufende Aufträge";

    // Notifications.
    TellQuestion: "An agent asks", "Ein Agent fragt";
    TellQuestionBody: "Nothing happens until you answer.", "Bis zu Ihrer Antwort geschieht nichts.";
    TellRaised: "The bridge is raised", "Die Brücke ist oben";
    TellRaisedBody: "Everything has been stopped from elsewhere. Lower the bridge in Drawbridge when agents may act again.", "Alles wurde von anderer Stelle angehalten. Lassen Sie die Brücke in Drawbridge herunter, wenn Agenten wieder handeln dürfen.";
    TellRaisedKeyBody: "You raised it with the hot key, and everything has been stopped. Lower the bridge in Drawbridge when agents may act again.", "Sie haben sie mit der Tastenkombination hochgezogen, und alles wurde angehalten. Lassen Sie die Brücke in Drawbridge herunter, wenn Agenten wieder handeln dürfen.";
    TellScreen: "An agent sees and uses your screen", "Ein Agent sieht und bedient Ihren Bildschirm";
    TellScreenBody: "It began just now. “Stop” on the bar at the top of the screen, in the tray menu or the hot key ends it at once.", "Er hat gerade damit begonnen. „Stopp“ in der Leiste oben am Bildschirm, im Tray-Menü oder die Tastenkombination beendet es sofort.";
    TellHalted: "The link to the platform has ended", "Die Verbindung zur Plattform ist beendet";
    TellHaltedBody: "Drawbridge does not connect again by itself. Open it to see why and to connect.", "Drawbridge verbindet sich nicht von selbst neu. Öffnen Sie es, um den Grund zu sehen und neu zu verbinden.";
    TellRefused: "The platform refused the sign-in", "Die Plattform hat die Anmeldung abgelehnt";
    TellRefusedBody: "No agent can reach this computer. Sign in again in Drawbridge.", "Kein Agent erreicht diesen Computer. Melden Sie sich in Drawbridge neu an.";
    TellGate: "Drawbridge has not started", "Drawbridge ist nicht gestartet";
    TellGateBody: "Something is in the way, and no agent can act. Open Drawbridge to see what to do.", "Etwas ist im Weg, und kein Agent kann handeln. Öffnen Sie Drawbridge und sehen Sie nach.";
    TellLog: "The audit log cannot be written", "Das Protokoll lässt sich nicht schreiben";
    TellLogBody: "Nothing is done without a record, so every request is refused. Open Drawbridge to see what to repair.", "Ohne Eintrag geschieht nichts, daher wird jeder Auftrag abgelehnt. Öffnen Sie Drawbridge, um zu sehen, was zu reparieren ist.";
    TellShow: "Show", "Anzeigen";

    // Dialogs of the system.
    ChooseFolder: "Choose the folder for this chat", "Ordner für diesen Chat wählen";
    ChooseOffer: "Choose a folder for the next chat", "Ordner für den nächsten Chat wählen";
    ChooseBrowseRoot: "Choose where agents may look for folders", "Wählen, wo Agenten nach Ordnern suchen dürfen";
    ChooseExport: "Export the audit log", "Audit-Protokoll exportieren";
    AskTitle: "Drawbridge: an agent asks", "Drawbridge: Ein Agent fragt";
    AllowOnce: "Allow once", "Einmal erlauben";
    AskRead: "Read it to the end: only then can it be allowed.", "Bis zum Ende lesen: Erst dann lässt es sich erlauben.";
    AskTooLong: "This question is too long to be read here, so it can only be denied here.", "Diese Frage ist zu lang, um sie hier zu lesen. Darum lässt sie sich hier nur ablehnen.";
    Blanks: "⟨{n} blanks⟩", "⟨{n} Leerzeichen⟩";
    BlankTitle: "Drawbridge cannot draw its window", "Drawbridge kann sein Fenster nicht zeichnen";
    Blank: "Its window stays blank on this computer, also with the plainest way of drawing. Drawbridge guards this computer all the same: questions come as plain dialogs like this one, and the tray menu and the command drawbridge work as always.\n\nAn update of the graphics driver or of WebKitGTK may help. Then quit Drawbridge and start it again.", "Das Fenster bleibt auf diesem Computer leer, auch mit der einfachsten Art zu zeichnen. Drawbridge schützt den Computer trotzdem: Fragen kommen als einfache Dialoge wie dieser, und das Menü im Infobereich und der Befehl drawbridge arbeiten wie immer.\n\nEine Aktualisierung des Grafiktreibers oder von WebKitGTK kann helfen. Beenden Sie Drawbridge danach und starten Sie es neu.";
}
