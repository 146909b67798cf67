#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;

fn fault_of(target: &str, kind: &str, bits: u8, bytes: &[u8]) -> bool {
    matches!(decoded(target, kind, bits, bytes), Err(SeatFault::Other(_)))
}

#[test]
fn each_encoding_is_read_as_what_its_type_says() {
    for (target, kind, bytes, text) in [
        ("UTF8_STRING", "UTF8_STRING", "Grüße 🙂".as_bytes(), "Grüße 🙂"),
        ("text/plain;charset=utf-8", "text/plain;charset=utf-8", "é".as_bytes(), "é"),
        // A type that is no format of its own: what was asked for holds.
        ("text/plain;charset=utf-8", "text/plain", "é".as_bytes(), "é"),
        ("text/plain", "text/plain", "é".as_bytes(), "é"),
        ("text/plain", "text/plain", b"\xe9", "é"),
        ("STRING", "STRING", b"\xe9\xff", "éÿ"),
        // An owner may answer with less than what was asked for, and says so.
        ("UTF8_STRING", "STRING", b"\xe9", "é"),
        ("TEXT", "COMPOUND_TEXT", b"na\xefve", "naïve"),
        ("COMPOUND_TEXT", "COMPOUND_TEXT", b"a\x1b%G\xe2\x82\xac\x1b%@b\xe4", "a€bä"),
        ("TEXT", "UTF8_STRING", "ж".as_bytes(), "ж"),
    ] {
        assert_eq!(decoded(target, kind, 8, bytes).as_deref(), Ok(text), "{target} as {kind}");
    }
}

#[test]
fn what_is_not_valid_is_replaced_and_zeros_at_the_end_are_cut_off() {
    assert_eq!(decoded("UTF8_STRING", "UTF8_STRING", 8, b"a\xff\xfeb\0c\0\0").unwrap(), "a\u{fffd}\u{fffd}b\0c");
    assert_eq!(decoded("STRING", "STRING", 8, b"\0\0").unwrap(), "");
}

#[test]
fn what_is_no_text_is_refused() {
    assert!(fault_of("UTF8_STRING", "ATOM", 8, b"abcd"));
    assert!(fault_of("UTF8_STRING", "UTF8_STRING", 32, b"abcd"));
    assert!(fault_of("UTF8_STRING", "image/png", 8, b"\x89PNG"));
    // Japanese in ISO 2022: a wrong text would be worse than none.
    assert!(fault_of("COMPOUND_TEXT", "COMPOUND_TEXT", 8, b"\x1b$(B\x24\x22"));
}

#[test]
fn the_old_format_is_offered_only_where_it_is_exact() {
    let names = |text| encoded(text).into_iter().map(|(name, _, _)| name).collect::<Vec<_>>();
    assert!(names("naïve\n\tÿ").contains(&"STRING"));
    assert_eq!(latin1("naïve"), Some(b"na\xefve".to_vec()));
    for text in ["5 €", "a\r\nb", "a\u{85}b", "🙂"] {
        assert!(!names(text).contains(&"STRING"), "{text:?}");
        assert!(names(text).contains(&"UTF8_STRING"), "{text:?}");
    }
}
