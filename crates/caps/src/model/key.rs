//! The key that a server wants. Where keys are kept is the engine's matter; here they go into one header and nowhere else.

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};

use super::address::Address;
use super::fault::Fault;

/// The longest key, in bytes: longer than the tokens that gateways give out.
const MAX_KEY_BYTES: usize = 1000;
/// What people copy along with a key.
const SCHEME: &str = "bearer ";
/// A text repeats a key if it holds so many bytes of it in a row, or the whole of a shorter one.
const TELLING_BYTES: usize = 8;

/// What is wrong with a key. Its text is a sentence for the person who wrote it, and never repeats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFault {
    /// Nothing was given.
    Empty,
    /// Longer than any key.
    TooLong,
    /// It holds what no header may hold.
    Characters,
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no key was given; copy it from the settings of the model server"),
            Self::TooLong => write!(f, "the key has more than {MAX_KEY_BYTES} characters; copy the key alone"),
            Self::Characters => f.write_str(
                "the key holds blanks or characters that no key has; copy it once more, the key alone and on one line",
            ),
        }
    }
}

impl std::error::Error for KeyFault {}

/// The key of a server. Shows itself nowhere and is wiped when it is dropped.
#[derive(Clone)]
pub struct ServerKey(Arc<SecretString>);

impl ServerKey {
    /// Takes what a person typed or pasted: blanks around it and a leading `Bearer` are no part of it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, KeyFault> {
        let text = text.trim();
        let key = match text.get(..SCHEME.len()) {
            Some(head) if head.eq_ignore_ascii_case(SCHEME) => text.get(SCHEME.len()..).unwrap_or_default().trim(),
            Some(_) | None => text,
        };
        if key.is_empty() {
            return Err(KeyFault::Empty);
        }
        if key.len() > MAX_KEY_BYTES {
            return Err(KeyFault::TooLong);
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyFault::Characters);
        }
        Ok(Self(Arc::new(SecretString::from(key))))
    }

    /// Gives it to whoever keeps it.
    #[must_use]
    pub fn secret(&self) -> &SecretString {
        &self.0
    }

    /// Tells whether others could read a key on its way to this address, where another computer is allowed with `far`.
    #[must_use]
    pub fn goes_in_clear(url: &str, far: bool) -> bool {
        Address::parse(url, true).is_ok_and(|address| goes_in_clear(&address, far))
    }

    /// Tells whether a text repeats the key or a part of it. Blanks do not count.
    fn is_told_by(&self, text: &str) -> bool {
        let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let key = self.0.expose_secret().as_bytes();
        let length = key.len().min(TELLING_BYTES);
        text.windows(length).any(|seen| key.windows(length).any(|part| part.eq_ignore_ascii_case(seen)))
    }

    /// Returns the header that bears it. It is marked so that nobody prints it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let text = zeroize::Zeroizing::new(format!("Bearer {}", self.0.expose_secret()));
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(..)")
    }
}

/// What is known of the key of a server.
#[derive(Debug, Clone, Default)]
pub enum KnownKey {
    /// None was set.
    #[default]
    None,
    /// This one.
    Set(ServerKey),
    /// There may be one, and the place that keeps it cannot be read now.
    Unreadable,
}

impl KnownKey {
    /// Returns the key to send to a server, if there is one. One that others on the way could read is not sent, and then nothing is
    /// asked either: without it the server would only refuse, and nobody would know why.
    pub(crate) fn for_server(&self, address: &Address, far: bool) -> Result<Option<&ServerKey>, Fault> {
        match self {
            Self::None | Self::Unreadable => Ok(None),
            Self::Set(_) if goes_in_clear(address, far) => Err(Fault::KeyInClear),
            Self::Set(key) => Ok(Some(key)),
        }
    }

    /// Leaves out what a server says in its own words where that repeats its key: what is told of a fault is shown, kept and sent on.
    pub(crate) fn untold(&self, fault: Fault) -> Fault {
        match (self, fault.words()) {
            (Self::Set(key), Some(words)) if key.is_told_by(words) => fault.without_words(),
            _ => fault,
        }
    }

    /// Says why a server refused what it was asked, by what it was given.
    pub(crate) fn refused(&self) -> Fault {
        match self {
            Self::None => Fault::KeyWanted,
            Self::Set(_) => Fault::KeyRefused,
            Self::Unreadable => Fault::KeyUnreadable,
        }
    }
}

/// Tells whether others could read what is sent there. Where `far` is not allowed, nothing but this computer is dialled, whatever a
/// name leads to.
fn goes_in_clear(address: &Address, far: bool) -> bool {
    far && !address.secure && !address.host.is_here()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_as_people_paste_it_and_shown_nowhere() {
        for pasted in ["sk-abc", "  sk-abc\n", "Bearer sk-abc", "bearer  sk-abc "] {
            let key = ServerKey::parse(pasted).unwrap();
            assert_eq!(key.secret().expose_secret(), "sk-abc", "{pasted:?}");
            let header = key.header().unwrap();
            assert_eq!((header.to_str().unwrap(), header.is_sensitive()), ("Bearer sk-abc", true));
            assert_eq!(format!("{header:?} {:?}", KnownKey::Set(key)), "Sensitive Set(ServerKey(..))");
        }
    }

    #[test]
    fn what_no_header_may_hold_is_refused_without_repeating_it() {
        let long = "k".repeat(MAX_KEY_BYTES + 1);
        let refused = [
            ("", KeyFault::Empty),
            (" \n", KeyFault::Empty),
            (long.as_str(), KeyFault::TooLong),
            ("sk abc", KeyFault::Characters),
            ("sk-a\r\nX-Evil: 1", KeyFault::Characters),
            ("sk-\u{e9}", KeyFault::Characters),
            ("sk-\u{200b}abc", KeyFault::Characters),
            ("sk-\u{7f}", KeyFault::Characters),
        ];
        for (given, fault) in refused {
            assert_eq!(ServerKey::parse(given).err(), Some(fault), "{given:?}");
            assert!(!fault.to_string().contains("abc"));
        }
    }

    #[test]
    fn words_that_hold_a_part_of_the_key_are_left_out() {
        let known = |key| KnownKey::Set(ServerKey::parse(key).unwrap());
        let told = |key: &KnownKey, words: &str| {
            let fault = Fault::Status(400, Some(words.to_owned()));
            key.untold(fault.clone()) == fault
        };
        let (long, short) = (known("sk-proj-4f1c9a77e0b2"), known("pw-1"));
        for words in
            ["bad key sk-proj-4f1c9a77e0b2", "bad key 'f1c9a77 e0b2'", "bad key F1C9A77E", "bad key sk-proj-4f1c9"]
        {
            assert!(!told(&long, words), "{words}");
        }
        assert!(
            told(&long, "bad key sk-***e0b2")
                && told(&long, "")
                && told(&KnownKey::None, "bad key sk-proj-4f1c9a77e0b2")
        );
        assert!(!told(&short, "not pw-1") && told(&short, "not pw-2") && told(&short, "no"));
    }

    #[test]
    fn only_another_computer_without_encryption_is_a_way_in_the_clear() {
        let way = |url: &str, far| goes_in_clear(&Address::parse(url, true).unwrap(), far);
        assert!(way("http://192.0.2.1:8000", true) && way("http://box.example", true));
        for (url, far) in [
            ("https://192.0.2.1", true),
            ("http://localhost:8000", true),
            ("http://[::1]:1", true),
            ("http://127.0.0.1:1", false),
            // Dialled only where it leads to this computer.
            ("http://box.example", false),
        ] {
            assert!(!way(url, far), "{url}");
        }
    }
}
