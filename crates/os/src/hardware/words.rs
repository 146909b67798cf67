//! Descriptions of devices, which come from the devices: cleaned before anybody else gets them.

use drawbridge_core::escape_outside_text;

/// The longest description, in characters.
const MAX_CHARS: usize = 128;
/// A shorter serial number is removed as a whole word only: `1` stands in many names.
const MIN_INSIDE: usize = 4;

/// Puts a description together from what a device says of itself: without characters that cannot be seen, without its serial
/// number, with single blanks, at most 128 characters. Empty when nothing is left.
#[must_use]
pub fn describe(parts: &[Option<&str>], serial: Option<&str>) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in parts.iter().flatten() {
        let seen = without_serial(&visible(part), serial.map(visible).as_deref());
        words.extend(seen.split_whitespace().map(str::to_owned));
    }
    words.join(" ").chars().take(MAX_CHARS).collect::<String>().trim_end().to_owned()
}

/// A control character becomes a blank: `A\nB` is two words. What cannot be seen at all goes: it would only hide things.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        if c.is_control() {
            out.push(' ');
        } else if escape_outside_text(c.encode_utf8(&mut buffer)).chars().eq([c]) {
            out.push(c);
        }
    }
    out
}

fn without_serial(text: &str, serial: Option<&str>) -> String {
    let Some(serial) = serial.map(str::trim).filter(|serial| !serial.is_empty()) else { return text.to_owned() };
    if serial.chars().count() < MIN_INSIDE {
        let other = |word: &&str| !word.eq_ignore_ascii_case(serial);
        return text.split_whitespace().filter(other).collect::<Vec<_>>().join(" ");
    }
    // ASCII case alone keeps every byte where it is.
    let (low, wanted) = (text.to_ascii_lowercase(), serial.to_ascii_lowercase());
    let mut left = String::new();
    let mut from = 0;
    for (at, _) in low.match_indices(&wanted) {
        left.push_str(text.get(from..at).unwrap_or_default());
        left.push(' ');
        from = at + wanted.len();
    }
    left.push_str(text.get(from..).unwrap_or_default());
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_no_serial_number_whatever_its_case() {
        let said = describe(&[Some("FTDI"), Some("FT232R a50285bi UART (sn:A50285BI)")], Some("A50285BI"));
        assert_eq!(said, "FTDI FT232R UART (sn: )");
        assert_eq!(describe(&[Some("Board 1"), Some("rev 12")], Some("1")), "Board rev 12");
        assert_eq!(describe(&[Some("ÄÖ Gerät ÄÖÜ1 x")], Some("ÄÖÜ1")), "ÄÖ Gerät x");
        assert_eq!(describe(&[Some("A50285BI")], Some("A50285BI")), "");
    }

    #[test]
    fn a_description_is_one_short_line_that_can_be_seen() {
        assert_eq!(describe(&[Some("evil\u{202e}\n name\u{7}\0"), None, Some("  x  ")], None), "evil name x");
        assert_eq!(describe(&[Some(&"ü".repeat(500))], None).chars().count(), 128);
        // A serial number with something unseen in it is seen through.
        assert_eq!(describe(&[Some("id A5028\u{200b}5BI")], Some("A50285BI")), "id");
    }
}
