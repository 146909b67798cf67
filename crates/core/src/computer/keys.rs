//! Names of keys and chords (spec 10.4), free of any system.

use std::fmt;

/// A key that changes what others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modifier {
    /// Shift.
    Shift,
    /// Control.
    Ctrl,
    /// Alt; Option on macOS.
    Alt,
    /// The logo key; Command on macOS.
    Super,
}

impl Modifier {
    /// Every modifier, in the order in which they are pressed.
    pub const ALL: [Self; 4] = [Self::Ctrl, Self::Alt, Self::Shift, Self::Super];

    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shift => "shift",
            Self::Ctrl => "ctrl",
            Self::Alt => "alt",
            Self::Super => "super",
        }
    }

    /// Finds a modifier by one of its names, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "shift" => Self::Shift,
            "ctrl" | "control" => Self::Ctrl,
            "alt" | "option" => Self::Alt,
            "super" | "meta" | "cmd" | "command" | "win" => Self::Super,
            _ => return None,
        })
    }
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the key it names")]
pub enum Key {
    Modifier(Modifier),
    /// The key that gives this character without modifiers; letters in lower case.
    Character(char),
    /// F1 to F24.
    Function(u8),
    Enter,
    Tab,
    Escape,
    Space,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Backspace,
    Delete,
    Insert,
    CapsLock,
}

impl Key {
    /// Finds a key by its name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(modifier) = Modifier::from_name(name) {
            return Some(Self::Modifier(modifier));
        }
        let lower = name.to_ascii_lowercase();
        Some(match lower.as_str() {
            "enter" | "return" => Self::Enter,
            "tab" => Self::Tab,
            "esc" | "escape" => Self::Escape,
            "space" | " " => Self::Space,
            "up" => Self::Up,
            "down" => Self::Down,
            "left" => Self::Left,
            "right" => Self::Right,
            "pageup" => Self::PageUp,
            "pagedown" => Self::PageDown,
            "home" => Self::Home,
            "end" => Self::End,
            "backspace" => Self::Backspace,
            "delete" => Self::Delete,
            "insert" => Self::Insert,
            "capslock" => Self::CapsLock,
            "plus" => Self::Character('+'),
            other => return Self::function(other).or_else(|| Self::character(other)),
        })
    }

    fn function(name: &str) -> Option<Self> {
        let digits = name.strip_prefix('f').filter(|digits| !digits.starts_with('0') && !digits.starts_with('+'))?;
        digits.parse().ok().filter(|number| (1..=24).contains(number)).map(Self::Function)
    }

    /// ASCII letters, digits and punctuation; what else a layout has is typed as text.
    fn character(name: &str) -> Option<Self> {
        let mut letters = name.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if letter.is_ascii_graphic() => Some(Self::Character(letter)),
            _ => None,
        }
    }
}

/// A key with what is held around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chord {
    /// Pressed first and released last, without doubles, in the order of [`Modifier::ALL`].
    pub modifiers: Vec<Modifier>,
    /// The key.
    pub key: Key,
    /// The chord as the peer wrote it.
    pub text: String,
}

/// A chord that names a key nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey(
    /// The part of the chord that is no key; empty for a chord with an empty part.
    pub String,
);

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("names no key between two plus signs; the key + itself is called plus");
        }
        write!(f, "holds the unknown key {:?}", self.0)
    }
}

impl Chord {
    /// Reads a chord such as "ctrl+shift+s". A single "+" is the key itself.
    ///
    /// # Errors
    /// [`UnknownKey`] with the part that is no key, or a part before the last that is no modifier.
    pub fn parse(text: &str) -> Result<Self, UnknownKey> {
        let mut parts: Vec<&str> = if text == "+" { vec!["plus"] } else { text.split('+').collect() };
        // "ctrl++" is the chord with the key + itself.
        if parts.len() > 2 && parts.ends_with(&["", ""]) {
            parts.truncate(parts.len() - 2);
            parts.push("plus");
        }
        let last = parts.pop().unwrap_or_default();
        let name = |part: &str| if part == " " { " ".to_owned() } else { part.trim().to_owned() };
        let key = Key::from_name(&name(last)).ok_or_else(|| UnknownKey(last.trim().to_owned()))?;
        let mut named = Vec::new();
        for part in parts {
            named.push(Modifier::from_name(part.trim()).ok_or_else(|| UnknownKey(part.trim().to_owned()))?);
        }
        let modifiers = Modifier::ALL
            .into_iter()
            .filter(|modifier| named.contains(modifier) && key != Key::Modifier(*modifier))
            .collect();
        Ok(Self { modifiers, key, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chord(text: &str) -> (Vec<Modifier>, Key) {
        let chord = Chord::parse(text).unwrap();
        (chord.modifiers, chord.key)
    }

    #[test]
    fn chords_are_read_in_any_case_and_order() {
        assert_eq!(chord("Ctrl+S"), (vec![Modifier::Ctrl], Key::Character('s')));
        assert_eq!(chord("shift + ctrl+F24"), (vec![Modifier::Ctrl, Modifier::Shift], Key::Function(24)));
        assert_eq!(chord("cmd+Return"), (vec![Modifier::Super], Key::Enter));
        assert_eq!(chord("ctrl+ctrl+a"), (vec![Modifier::Ctrl], Key::Character('a')));
        assert_eq!(chord("ctrl+alt"), (vec![Modifier::Ctrl], Key::Modifier(Modifier::Alt)));
        assert_eq!(chord("+"), (vec![], Key::Character('+')));
        assert_eq!(chord("ctrl++"), (vec![Modifier::Ctrl], Key::Character('+')));
        assert_eq!(chord("ctrl+plus"), (vec![Modifier::Ctrl], Key::Character('+')));
    }

    #[test]
    fn an_unknown_key_is_named() {
        for (text, named) in [
            ("ctrl+sss", "sss"),
            ("hyper+a", "hyper"),
            ("f25", "f25"),
            ("f0", "f0"),
            ("f+1", "f"),
            ("", ""),
            ("ctrl+", ""),
            ("a++b", "a"),
            ("é", "é"),
        ] {
            assert_eq!(Chord::parse(text), Err(UnknownKey(named.to_owned())), "{text}");
        }
    }
}
