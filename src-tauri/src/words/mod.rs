//! What the tray, the notifications and the dialogs say, by key, in each language of the program.
//!
//! One table; the compiler refuses a key without both texts. The window has its own texts, since it is another program.

mod table;

pub(crate) use table::Word;

use tauri::{AppHandle, Manager};

use crate::prefs::PrefsDesk;

/// The languages of the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
}

impl Language {
    /// The language that a person chose: a tag, or "system" for that of the desktop.
    pub(crate) fn chosen(preference: &str) -> Self {
        Self::of_tag(preference).unwrap_or_else(|| Self::of_desktop(|name| std::env::var(name).ok()))
    }

    /// The language of this person's Drawbridge.
    pub(crate) fn of(app: &AppHandle) -> Self {
        Self::chosen(&app.state::<PrefsDesk>().get().language)
    }

    /// Its tag.
    pub(crate) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The desktop's language, by the variables that hold it, the strongest first.
    fn of_desktop(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set).unwrap_or_default();
        // As gettext does: LANGUAGE refines a locale and means nothing beside none at all.
        if locale.is_empty() || matches!(locale.as_str(), "C" | "POSIX") || locale.starts_with("C.") {
            return Self::English;
        }
        let wishes = set("LANGUAGE").unwrap_or_default();
        wishes.split(':').chain([locale.as_str()]).find_map(Self::of_tag).unwrap_or_default()
    }

    fn of_tag(tag: &str) -> Option<Self> {
        match tag.split(['_', '-', '.', '@']).next()?.to_ascii_lowercase().as_str() {
            "en" => Some(Self::English),
            "de" => Some(Self::German),
            _ => None,
        }
    }
}

/// A text with its places filled: `{name}` becomes the value given for `name`.
pub(crate) fn say(language: Language, word: Word, values: &[(&str, &str)]) -> String {
    let text = word.text(language);
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    // One pass: what is filled in is never looked at again, so a folder called `{n}` stays that.
    while let Some((before, after)) = rest.split_once('{') {
        said.push_str(before);
        let Some((name, tail)) = after.split_once('}') else { break };
        said.push_str(values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value));
        rest = tail;
    }
    said.push_str(rest);
    said
}

/// A text about a number of things.
pub(crate) fn count(language: Language, one: Word, many: Word, number: u64) -> String {
    say(language, if number == 1 { one } else { many }, &[("n", &number.to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            text.split('{').skip(1).map(|part| part.split_once('}').expect("a place ends").0).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn both_languages_say_everything_with_the_same_places() {
        for word in Word::ALL {
            let (english, german) = (word.text(Language::English), word.text(Language::German));
            assert!(!english.trim().is_empty() && !german.trim().is_empty(), "{word:?}");
            assert_eq!(places(english), places(german), "{word:?}");
        }
        // A chat is a chat in both.
        let alike = [Word::Chats, Word::OneChat, Word::ManyChats, Word::PowerLine];
        for word in Word::ALL.iter().filter(|word| !alike.contains(word)) {
            assert_ne!(word.text(Language::English), word.text(Language::German), "{word:?}");
        }
    }

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        let said = say(Language::English, Word::NextFolder, &[("folder", "/home/ada/{folder}"), ("n", "7")]);

        assert_eq!(said, "For the next chat: /home/ada/{folder}");
    }

    #[test]
    fn one_thing_and_many_things_read_well() {
        let questions = |n| count(Language::German, Word::OneQuestion, Word::Questions, n);

        assert_eq!(questions(1), "1 Frage wartet auf Sie");
        assert_eq!(questions(3), "3 Fragen warten auf Sie");
    }

    #[test]
    fn the_language_is_the_chosen_one_or_that_of_the_desktop() {
        let desktop = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            Language::of_desktop(move |name| {
                pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            })
        };

        assert_eq!(Language::chosen("de"), Language::German);
        assert_eq!(Language::chosen("en-GB"), Language::English);
        assert_eq!(desktop(&[]), Language::English);
        assert_eq!(desktop(&[("LANG", "de_AT.UTF-8")]), Language::German);
        assert_eq!(desktop(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "en_GB.UTF-8")]), Language::English);
        assert_eq!(desktop(&[("LANG", "fr_FR.UTF-8"), ("LANGUAGE", "fr:de:en")]), Language::German);
        assert_eq!(desktop(&[("LANG", "C.UTF-8"), ("LANGUAGE", "de")]), Language::English);
        assert_eq!(desktop(&[("LANG", ""), ("LC_MESSAGES", "de_DE")]), Language::German);
        assert_eq!(desktop(&[("LANG", "xx")]), Language::English);
    }
}
