//! Makes text from outside safe to show (invariant 4).

use std::fmt::Write as _;

/// Returns `text` with every bidirectional, zero-width and other invisible character written as `\u{…}`. Control characters
/// are drawn with the signs that Unicode has for them, `␊` for a line feed: written as `\n`, a line feed, which can begin a
/// second command, would look like two harmless letters. The result is always one line, and a second call changes nothing.
#[must_use]
pub fn escape_outside_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0'..='\u{1F}' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\u{7F}' => out.push('\u{2421}'),
            c if is_invisible(c) => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{{{:X}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Cuts a long text in the middle and keeps both ends: `start … end`. `max_chars` below 5 counts as 5.
#[must_use]
pub fn shorten_middle(text: &str, max_chars: usize) -> String {
    let max_chars = max_chars.max(5);
    let count = text.chars().count();
    if count <= max_chars {
        return text.to_owned();
    }
    let keep = max_chars - 3;
    let head = keep.div_ceil(2);
    let tail = keep - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start} … {end}")
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202F | 0x205F..=0x206F | 0x2800 | 0x3000 | 0x3164
            | 0xA0 | 0x1680 | 0x2000..=0x200A
            | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF
            | 0xE000..=0xF8FF | 0xF0000..=0x10FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tricks_become_visible() {
        assert_eq!(
            escape_outside_text("a\u{202E}b\u{200B}c\u{2028}d\u{E0041}e\x1b[2K\nf"),
            "a\\u{202E}b\\u{200B}c\\u{2028}d\\u{E0041}e␛[2K␊f"
        );
    }

    #[test]
    fn a_written_line_end_is_told_from_a_real_one_and_a_second_look_changes_nothing() {
        assert_eq!(escape_outside_text("a\\nb"), "a\\nb");
        assert_eq!(escape_outside_text("a\nb"), "a␊b");
        assert_eq!(escape_outside_text("a␊b"), "a␊b");
        assert_eq!(escape_outside_text("\0\t\r\u{7F}\u{85}"), "␀␉␍␡\\u{85}");
    }

    #[test]
    fn ordinary_text_of_any_script_stays_as_it_is() {
        for text in ["naïve", "日本語", "עברית", "a b", "👍"] {
            assert_eq!(escape_outside_text(text), text);
        }
    }

    #[test]
    fn long_text_keeps_both_ends() {
        assert_eq!(shorten_middle("abcdefghij", 7), "ab … ij");
        assert_eq!(shorten_middle("short", 7), "short");
    }
}
