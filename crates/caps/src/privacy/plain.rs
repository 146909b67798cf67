//! The bytes of a file as a text for a model.

/// Of so many characters at least one may be unreadable, and the whole still counts as a text.
const READABLE_PER_BROKEN: usize = 10;

/// Makes a text of the bytes of a file: UTF-8, or UTF-16 where it says so in its first two bytes. Single broken characters, as old
/// encodings have them, are replaced. None for what is no text.
pub(super) fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        _ => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(broken) => String::from_utf8_lossy(broken.as_bytes()).into_owned(),
        },
    };
    (!text.contains('\0') && is_readable(&text)).then_some(text)
}

fn utf_16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks(2).map(|pair| match pair {
        [one, two] => unit([*one, *two]),
        // Half a unit is left at the end: no text has that.
        _ => u16::from(b'\0'),
    });
    char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn is_readable(text: &str) -> bool {
    let broken = text.chars().filter(|letter| *letter == char::REPLACEMENT_CHARACTER).count();
    broken == 0 || broken.saturating_mul(READABLE_PER_BROKEN) <= text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf_16_of(text: &str, bytes_of: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(bytes_of).collect()
    }

    #[test]
    fn text_is_read_in_the_encodings_that_name_themselves() {
        let text = "Grüße, 世界 🌉\nzweite Zeile";

        assert_eq!(text_of(text.into()).as_deref(), Some(text));
        assert_eq!(text_of([b"\xef\xbb\xbf", text.as_bytes()].concat()).as_deref(), Some(text));
        assert_eq!(text_of(utf_16_of(text, u16::to_le_bytes)).as_deref(), Some(text));
        assert_eq!(text_of(utf_16_of(text, u16::to_be_bytes)).as_deref(), Some(text));
        assert_eq!(text_of(Vec::new()).as_deref(), Some(""));
    }

    #[test]
    fn an_old_encoding_loses_its_odd_letters_and_no_more() {
        assert_eq!(text_of(b"Stra\xdfe und Haus".to_vec()).as_deref(), Some("Stra\u{fffd}e und Haus"));
    }

    #[test]
    fn what_is_no_text_is_not_made_one() {
        let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0".to_vec();
        let noise: Vec<u8> = (1..=255).collect();
        let utf_32 =
            [b"\xff\xfe\0\0".to_vec(), "ab".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()].concat();
        for bytes in [elf, noise, utf_32, b"\xff\xfea".to_vec(), b"half a \0 text".to_vec()] {
            assert_eq!(text_of(bytes.clone()), None, "{bytes:?}");
        }
    }
}
