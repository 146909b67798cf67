//! Identifiers. Each is checked once, where it enters, and is then a type.

use std::fmt;

/// Tells which kind of id a text failed to be, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {why}")]
pub struct InvalidId {
    /// The kind of id that was expected, for example "session id".
    pub kind: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks the text and takes it as an id.
            ///
            /// # Errors
            /// [`InvalidId`] when the text does not have the form of this id.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                match $check(text) {
                    Ok(()) => Ok(Self(text.to_owned())),
                    Err(why) => Err(InvalidId { kind: $kind, why }),
                }
            }

            /// Returns the id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The chat that a folder is attached to: `[A-Za-z0-9][A-Za-z0-9._:-]{0,255}` (spec 4.1).
    SessionId, "session id", check_session
);
text_id!(
    /// The id of one request of a peer: any text of 1 to 256 bytes without control characters.
    RequestId, "request id", check_opaque
);
text_id!(
    /// The platform's name for one presence of a control link.
    ConnectionId, "connection id", check_opaque
);

fn check_session(text: &str) -> Result<(), &'static str> {
    let mut bytes = text.bytes();
    match bytes.next() {
        None => return Err("is empty"),
        Some(first) if !first.is_ascii_alphanumeric() => {
            return Err("must start with a letter or a digit");
        }
        Some(_) => {}
    }
    if text.len() > 256 {
        return Err("is longer than 256 characters");
    }
    if bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-')) {
        Ok(())
    } else {
        Err("may hold only letters, digits and . _ : -")
    }
}

fn check_opaque(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        Err("is empty")
    } else if text.len() > 256 {
        Err("is longer than 256 bytes")
    } else if text.chars().any(char::is_control) {
        Err("holds a control character")
    } else {
        Ok(())
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// Wraps a number that is unique within this run of the program.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// Returns the number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number_id!(
    /// One connection of this run: a new number at every dial.
    LinkId
);
number_id!(
    /// One question shown to the person.
    PromptId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_keep_to_their_alphabet() {
        for good in ["a", "5b0c2f6e-1111-4222-8333-444455556666", "x.y_z:1"] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "-a", "a b", "a/b", "..", "ä", &"a".repeat(257)] {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn request_ids_are_opaque_but_bounded() {
        assert!(RequestId::parse("any text, even ü").is_ok());
        for bad in ["", "a\nb", &"a".repeat(257)] {
            assert!(RequestId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
