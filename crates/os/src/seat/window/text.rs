//! Texts of X properties. Compound text is read as far as programs of today write it: Latin-1 and UTF-8 parts; letters of other
//! sets come out as replacement characters.

use std::borrow::Cow;

/// In which encoding a property is, by the type that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Latin1,
    Compound,
}

/// Begins and ends a part in UTF-8 within compound text.
const UTF8_BEGIN: &[u8] = b"\x1b%G";
const UTF8_END: &[u8] = b"\x1b%@";

/// Reads a text up to its first NUL.
pub(super) fn decode(bytes: &[u8], encoding: Encoding) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        // Many programs write UTF-8 where they promise Latin-1. Valid UTF-8 with such letters is hardly ever meant otherwise.
        Encoding::Latin1 => std::str::from_utf8(bytes).map_or_else(|_| latin1(bytes).into_owned(), str::to_owned),
        Encoding::Compound => compound(bytes),
    }
}

fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    Cow::Owned(bytes.iter().copied().map(char::from).collect())
}

fn compound(mut bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut foreign = false;
    while let Some((&first, rest)) = bytes.split_first() {
        if let Some(part) = bytes.strip_prefix(UTF8_BEGIN) {
            let end = part.windows(UTF8_END.len()).position(|window| window == UTF8_END).unwrap_or(part.len());
            let (inside, after) = part.split_at(end);
            text.push_str(&String::from_utf8_lossy(inside));
            bytes = after.strip_prefix(UTF8_END).unwrap_or(after);
        } else if first == 0x1b {
            // A sign that names a set of letters: intermediate bytes, then a final one.
            let marks = rest.iter().take_while(|byte| (0x20..0x30).contains(*byte)).count();
            let last = rest.get(marks).copied().unwrap_or_default();
            // `ESC ( B` and `ESC - A` are the two halves of Latin-1.
            foreign = !matches!((rest.first(), last), (Some(b'('), b'B') | (Some(b'-'), b'A'));
            bytes = rest.get(marks + 1..).unwrap_or_default();
        } else {
            text.push(if foreign { char::REPLACEMENT_CHARACTER } else { char::from(first) });
            bytes = rest;
        }
    }
    text
}

/// Splits `WM_CLASS` into instance and class.
pub(super) fn class_pair(bytes: &[u8]) -> (String, String) {
    let mut parts = bytes.split(|byte| *byte == 0).map(|part| decode(part, Encoding::Latin1));
    let instance = parts.next().unwrap_or_default();
    let class = parts.next().unwrap_or_default();
    (instance, class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_read_in_every_encoding_that_they_come_in() {
        assert_eq!(decode("naïve 日本".as_bytes(), Encoding::Utf8), "naïve 日本");
        assert_eq!(decode(b"na\xefve", Encoding::Latin1), "naïve");
        assert_eq!(decode("naïve".as_bytes(), Encoding::Latin1), "naïve");
        assert_eq!(decode(b"a\xffb\0hidden", Encoding::Utf8), "a\u{fffd}b");
        assert_eq!(decode(b"a\x1b%G\xd0\xb6\x1b%@b\x1b-A\xe9", Encoding::Compound), "aжbé");
        assert_eq!(decode(b"\x1b$)B\xbb\xb0\x1b(Bend", Encoding::Compound), "\u{fffd}\u{fffd}end");
        assert_eq!(decode(b"\x1b%Gopen", Encoding::Compound), "open");
        assert_eq!(decode(b"\x1b", Encoding::Compound), "");
    }

    #[test]
    fn a_class_has_two_parts_or_fewer() {
        assert_eq!(class_pair(b"xterm\0XTerm\0"), ("xterm".to_owned(), "XTerm".to_owned()));
        assert_eq!(class_pair(b"alone"), ("alone".to_owned(), String::new()));
        assert_eq!(class_pair(b""), (String::new(), String::new()));
    }
}
