use proptest::prelude::*;

use super::*;

fn by_serde(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn by_us(text: &str) -> String {
    let mut out = String::new();
    push_string(&mut out, text);
    out
}

#[test]
fn every_ascii_character_is_spelled_as_serde_spells_it_at_every_place_of_a_word() {
    for byte in 0..=0x7F_u8 {
        for before in 0..9 {
            let text = format!("{}{}{}", "x".repeat(before), char::from(byte), "é\"");
            assert_eq!(by_us(&text), by_serde(&text));
            assert_eq!(escaped_len(&text) + 2, by_us(&text).len());
        }
    }
}

#[test]
fn the_two_ways_to_count_agree_on_every_byte() {
    for byte in 0..=u8::MAX {
        assert_eq!(1 + usize::from(extra(byte)), cost(byte), "{byte:#x}");
    }
}

#[test]
fn a_cut_never_falls_into_a_letter() {
    let ticks = "✓✓✓";
    assert_eq!(fit(ticks, 3, 99), "✓");
    assert_eq!(fit(ticks, 4, 99), "✓");
    assert_eq!(fit(ticks, 5, 99), "✓");
    assert_eq!(fit(ticks, 6, 99), "✓✓");
    assert_eq!(fit(ticks, 99, 5), "✓");
    assert_eq!(fit("a\u{1}b", 6, 99), "a");
    assert_eq!(fit("a\u{1}b", 7, 99), "a\u{1}");
    assert_eq!(fit("", 0, 0), "");
}

proptest! {
    #[test]
    fn any_text_is_spelled_as_serde_spells_it(text in "\\PC*|[\\x00-\\x7f]{0,64}|(.|[\\x00-\\x1f\"\\\\]){0,100}") {
        prop_assert_eq!(by_us(&text), by_serde(&text));
        prop_assert_eq!(escaped_len(&text) + 2, by_us(&text).len());
    }

    #[test]
    fn what_fits_is_the_longest_head_that_fits(text in "(.|[\\x00-\\x1f\"\\\\é✓😀]){0,40}", escaped in 0_usize..120, raw in 0_usize..80) {
        let head = fit(&text, escaped, raw);
        prop_assert!(text.starts_with(head));
        prop_assert!(escaped_len(head) <= escaped && head.len() <= raw);
        if let Some(next) = text[head.len()..].chars().next() {
            let longer = format!("{head}{next}");
            prop_assert!(escaped_len(&longer) > escaped || longer.len() > raw);
        }
    }
}
