//! JSON text escaping, straight into the frame.
//!
//! Escapes exactly what `serde_json` escapes, so that both spell the same text the same way. Clean runs are found eight
//! bytes at a time and copied whole.

/// 0: stands for itself. `u`: six characters. Anything else: a backslash and this letter.
const ESCAPE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0A] = b'n';
    table[0x0C] = b'f';
    table[0x0D] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Tells whether any of eight bytes needs escaping.
const fn any_special(word: u64) -> bool {
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * b'"' as u64);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let slash = word ^ (ONES * b'\\' as u64);
    let slash = slash.wrapping_sub(ONES) & !slash;
    (control | quote | slash) & HIGHS != 0
}

/// Returns the place of the first byte that needs escaping.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        if any_special(u64::from_ne_bytes(*word)) {
            break;
        }
        at += 8;
    }
    bytes.get(at..)?.iter().position(|byte| special(*byte) != 0).map(|offset| at + offset)
}

fn special(byte: u8) -> u8 {
    ESCAPE.get(usize::from(byte)).copied().unwrap_or_default()
}

/// How many bytes a byte takes in JSON text.
fn cost(byte: u8) -> usize {
    match special(byte) {
        0 => 1,
        b'u' => 6,
        _ => 2,
    }
}

/// Appends `text` escaped, without quotes.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut rest = text;
    while let Some(at) = first_special(rest.as_bytes()) {
        // A special byte is ASCII, so both cuts fall between characters.
        let (clean, tail) = rest.split_at(at);
        out.push_str(clean);
        let byte = tail.as_bytes().first().copied().unwrap_or_default();
        out.push('\\');
        match special(byte) {
            b'u' => {
                out.push_str("u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 0xF)]);
            }
            letter => out.push(char::from(letter)),
        }
        rest = tail.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// Appends `text` as a JSON string.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// How many bytes a byte takes in JSON text beyond its own. The same as [`cost`] less one, without branches or tables, so
/// that many bytes are counted at once.
const fn extra(byte: u8) -> u8 {
    let pair = (byte == b'"') as u8 | (byte == b'\\') as u8;
    let short = (byte == 0x08) as u8
        | (byte == 0x09) as u8
        | (byte == 0x0A) as u8
        | (byte == 0x0C) as u8
        | (byte == 0x0D) as u8;
    let control = (byte < 0x20) as u8;
    pair + control * 5 - short * 4
}

/// Returns the length of `text` when escaped, without quotes.
pub(crate) fn escaped_len(text: &str) -> usize {
    // 32 times the largest extra still fits into a byte.
    let extras = text.as_bytes().chunks(32).map(|part| usize::from(part.iter().map(|byte| extra(*byte)).sum::<u8>()));
    text.len() + extras.sum::<usize>()
}

/// Returns the longest head of `text` that takes at most `escaped` bytes as JSON and `raw` bytes as it is. Never cuts a
/// character.
pub(crate) fn fit(text: &str, escaped: usize, raw: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for byte in text.bytes().take(raw) {
        used += cost(byte);
        if used > escaped {
            break;
        }
        end += 1;
    }
    cut_at(text, end)
}

/// Returns the head of `text` of at most `max` bytes. Never cuts a character.
pub(crate) fn cut_at(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
