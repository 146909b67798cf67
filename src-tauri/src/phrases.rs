//! The few words that the shell itself says while a window may be open: titles of dialogs, and what to do when no page
//! can be shown. Everything else is said by the page.

use tauri::{AppHandle, Manager};

use crate::prefs::PrefsDesk;

/// One language.
pub(crate) struct Words {
    pub(crate) asks: &'static str,
    pub(crate) allow_once: &'static str,
    pub(crate) deny: &'static str,
    pub(crate) too_long: &'static str,
    pub(crate) blank_title: &'static str,
    pub(crate) blank: &'static str,
    pub(crate) choose_folder: &'static str,
    pub(crate) offer_folder: &'static str,
    pub(crate) browse_root: &'static str,
    pub(crate) export: &'static str,
}

const ENGLISH: Words = Words {
    asks: "Drawbridge: an agent asks",
    allow_once: "Allow once",
    deny: "Deny",
    too_long: "This question is too long to be read here, so it can only be denied here.",
    blank_title: "Drawbridge cannot draw its window",
    blank: "Its window stays blank on this computer, also with the plainest way of drawing. Drawbridge guards this computer all \
            the same: questions come as plain dialogs like this one, and the tray menu and the command drawbridge work as \
            always.\n\nAn update of the graphics driver or of WebKitGTK may help. Then quit Drawbridge and start it again.",
    choose_folder: "Choose the folder for this chat",
    offer_folder: "Choose a folder for the next chat",
    browse_root: "Choose where agents may look for folders",
    export: "Export the audit log",
};

const GERMAN: Words = Words {
    asks: "Drawbridge: Ein Agent fragt",
    allow_once: "Einmal erlauben",
    deny: "Ablehnen",
    too_long: "Diese Frage ist zu lang, um sie hier zu lesen. Darum lässt sie sich hier nur ablehnen.",
    blank_title: "Drawbridge kann sein Fenster nicht zeichnen",
    blank: "Das Fenster bleibt auf diesem Computer leer, auch mit der einfachsten Art zu zeichnen. Drawbridge schützt den \
            Computer trotzdem: Fragen kommen als einfache Dialoge wie dieser, und das Menü im Infobereich und der Befehl \
            drawbridge arbeiten wie immer.\n\nEine Aktualisierung des Grafiktreibers oder von WebKitGTK kann helfen. Beenden Sie \
            Drawbridge danach und starten Sie es neu.",
    choose_folder: "Ordner für diesen Chat wählen",
    offer_folder: "Ordner für den nächsten Chat wählen",
    browse_root: "Wählen, wo Agenten nach Ordnern suchen dürfen",
    export: "Audit-Protokoll exportieren",
};

/// Returns the words in the person's language.
pub(crate) fn of(app: &AppHandle) -> &'static Words {
    let wanted = app.state::<PrefsDesk>().get().language;
    in_language(if wanted == "system" { desktop_language() } else { wanted }.as_str())
}

fn in_language(tag: &str) -> &'static Words {
    if tag == "de" || tag.starts_with("de-") { &GERMAN } else { &ENGLISH }
}

/// Returns the desktop's language as a tag: "de", "en".
pub(crate) fn desktop_language() -> String {
    let named = |key| std::env::var(key).ok().filter(|value| !value.is_empty());
    // The order in which the C library looks.
    let locale = named("LC_ALL").or_else(|| named("LC_MESSAGES")).or_else(|| named("LANG"));
    tag_of(locale.as_deref().unwrap_or_default())
}

fn tag_of(locale: &str) -> String {
    let language: String = locale.chars().take_while(char::is_ascii_alphabetic).collect();
    // "C" and "POSIX" are no languages.
    if (2..=3).contains(&language.len()) { language.to_ascii_lowercase() } else { "en".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_becomes_a_tag() {
        for (locale, tag) in
            [("de_AT.UTF-8", "de"), ("en_GB", "en"), ("C.UTF-8", "en"), ("POSIX", "en"), ("", "en"), ("fr", "fr")]
        {
            assert_eq!(tag_of(locale), tag, "{locale}");
        }
    }

    #[test]
    fn a_language_without_words_is_spoken_in_english() {
        assert_eq!(in_language("de-CH").deny, "Ablehnen");
        assert_eq!(in_language("fr").deny, "Deny");
        assert_eq!(in_language("den").deny, "Deny");
    }
}
