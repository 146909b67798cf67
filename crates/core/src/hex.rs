//! Bytes as hexadecimal digits, two each, and back.

/// Why a text is no bytes in hexadecimal digits. Says nothing of the text itself, which may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHex {
    /// A digit has no partner, or there are more or fewer than wanted.
    #[error("{found} hexadecimal digits are no {}", .wanted.map_or_else(|| "whole bytes: there must be two for each".to_owned(), |bytes| format!("{bytes} bytes: there must be {}", bytes * 2)))]
    Length {
        /// Characters that there are.
        found: usize,
        /// Bytes that are wanted, where that is known.
        wanted: Option<usize>,
    },
    /// Something else than 0 to 9, a to f and A to F.
    #[error("character {} is no hexadecimal digit", at + 1)]
    NotADigit {
        /// Where it stands, counted from 0.
        at: usize,
    },
}

/// Writes bytes as lower-case digits.
#[must_use]
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Reads bytes from digits, large or small, with nothing between them.
///
/// # Errors
/// [`BadHex`].
pub fn decode(text: &str) -> Result<Vec<u8>, BadHex> {
    let mut bytes = vec![0; text.len() / 2];
    let odd = BadHex::Length { found: text.chars().count(), wanted: None };
    decode_into(text, &mut bytes).map_err(|fault| if matches!(fault, BadHex::Length { .. }) { odd } else { fault })?;
    Ok(bytes)
}

/// As [`decode`], into bytes of the caller's own, so that no copy of a secret stays behind.
///
/// # Errors
/// [`BadHex`]; some of the bytes may be written by then.
pub fn decode_into(text: &str, bytes: &mut [u8]) -> Result<(), BadHex> {
    if let Some(at) = text.chars().position(|c| !c.is_ascii_hexdigit()) {
        return Err(BadHex::NotADigit { at });
    }
    if text.len() != bytes.len() * 2 {
        return Err(BadHex::Length { found: text.len(), wanted: Some(bytes.len()) });
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    };
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = pair.iter().fold(0, |byte, digit| byte << 4 | value(*digit));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_goes_there_and_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = encode(&all);
        assert_eq!((text.len(), &text[..8], &text[508..]), (512, "00010203", "feff"));
        assert_eq!(decode(&text), Ok(all.clone()));
        assert_eq!(decode(&text.to_uppercase()), Ok(all));
        assert_eq!((encode([]), decode("")), (String::new(), Ok(Vec::new())));
    }

    #[test]
    fn what_is_no_bytes_is_refused_with_the_place_and_without_the_text() {
        for (text, why) in [
            ("0", "1 hexadecimal digits are no whole bytes: there must be two for each"),
            ("abc", "3 hexadecimal digits are no whole bytes: there must be two for each"),
            ("0g", "character 2 is no hexadecimal digit"),
            ("+1", "character 1 is no hexadecimal digit"),
            ("00 1", "character 3 is no hexadecimal digit"),
            ("é0", "character 1 is no hexadecimal digit"),
        ] {
            assert_eq!(decode(text).unwrap_err().to_string(), why, "{text}");
        }
        let mut key = [0; 2];
        assert_eq!(decode_into("00ff", &mut key), Ok(()));
        assert_eq!(key, [0, 255]);
        let short = decode_into("00ff00", &mut key).unwrap_err();
        assert_eq!(short.to_string(), "6 hexadecimal digits are no 2 bytes: there must be 4");
    }
}
