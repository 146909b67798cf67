//! Text as clipboards of Linux carry it: names of formats, and bytes to text and back.

use super::super::SeatFault;

/// Formats for text, the best first.
pub(super) const WANTED: [&str; 7] = [
    "UTF8_STRING",
    "text/plain;charset=utf-8",
    "text/plain;charset=UTF-8",
    "text/plain",
    "STRING",
    "TEXT",
    "COMPOUND_TEXT",
];

/// Tells whether one of the formats is text that can be read.
pub(super) fn offered<S: AsRef<str>>(formats: &[S]) -> bool {
    formats.iter().any(|format| WANTED.contains(&format.as_ref()))
}

/// Formats under which a text is offered, each with its type; and with its bytes where they are not UTF-8. STRING is there only
/// where it can carry the text exactly.
pub(super) fn encoded(text: &str) -> Vec<(&'static str, &'static str, Option<Vec<u8>>)> {
    let mut formats = vec![
        ("UTF8_STRING", "UTF8_STRING", None),
        ("text/plain;charset=utf-8", "text/plain;charset=utf-8", None),
        ("text/plain", "text/plain", None),
        ("TEXT", "UTF8_STRING", None),
    ];
    if let Some(bytes) = latin1(text) {
        formats.push(("STRING", "STRING", Some(bytes)));
    }
    formats
}

/// Writes a text down in Latin-1, if that can be done exactly. X11 allows only tab and new line of the control characters.
pub(super) fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|character| match u8::try_from(u32::from(character)) {
            Ok(byte @ (b'\t' | b'\n' | 0x20..=0x7e | 0xa0..=0xff)) => Some(byte),
            Ok(_) | Err(_) => None,
        })
        .collect()
}

/// Reads a text that was handed out as `kind` when `target` was asked for.
pub(super) fn decoded(target: &str, kind: &str, unit_bits: u8, bytes: &[u8]) -> Result<String, SeatFault> {
    let strange = || SeatFault::Other("the owner of the clipboard sent something that is no text".to_owned());
    if unit_bits != 8 {
        return Err(strange());
    }
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let bytes = bytes.get(..end).unwrap_or_default();
    let named = match kind {
        "UTF8_STRING" | "STRING" | "C_STRING" | "COMPOUND_TEXT" => kind,
        // Such a type says no more than what was asked for.
        _ if kind == target || kind == "TEXT" || kind.starts_with("text/plain") => target,
        _ => return Err(strange()),
    };
    match named {
        "STRING" | "C_STRING" => Ok(from_latin1(bytes)),
        "COMPOUND_TEXT" => from_compound(bytes),
        // Older programs write Latin-1 there.
        "text/plain" | "TEXT" => Ok(std::str::from_utf8(bytes).map_or_else(|_| from_latin1(bytes), ToOwned::to_owned)),
        _ => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn from_latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Reads what can be read without the tables of the last century: Latin-1, which it begins with, and UTF-8 parts. Anything else is
/// a fault, so that no wrong text comes out.
fn from_compound(mut bytes: &[u8]) -> Result<String, SeatFault> {
    const UTF8_BEGINS: &[u8] = b"\x1b%G";
    const UTF8_ENDS: &[u8] = b"\x1b%@";
    let mut text = String::new();
    while let Some(escape) = bytes.iter().position(|byte| *byte == 0x1b) {
        let (plain, rest) = bytes.split_at(escape);
        text.push_str(&from_latin1(plain));
        let Some(part) = rest.strip_prefix(UTF8_BEGINS) else {
            return Err(SeatFault::Other(
                "the clipboard holds text in an old encoding (COMPOUND_TEXT) that cannot be read".to_owned(),
            ));
        };
        let end = part.windows(UTF8_ENDS.len()).position(|window| window == UTF8_ENDS);
        let (inside, after) = match end {
            Some(end) => (part.get(..end), part.get(end + UTF8_ENDS.len()..)),
            None => (Some(part), None),
        };
        text.push_str(&String::from_utf8_lossy(inside.unwrap_or_default()));
        bytes = after.unwrap_or_default();
    }
    text.push_str(&from_latin1(bytes));
    Ok(text)
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
