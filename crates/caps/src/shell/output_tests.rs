//! Tests of the output budget.

use proptest::prelude::*;

use super::{MARKER, Output, Stream, Texts};

fn text_of(budget: usize, pieces: &[(Stream, &[u8])]) -> Texts {
    let mut output = Output::new(budget);
    for (stream, bytes) in pieces {
        output.push(*stream, bytes);
    }
    output.finish()
}

#[test]
fn exactly_the_budget_is_not_cut() {
    let texts = text_of(40, &[(Stream::Out, &[b'o'; 30]), (Stream::Err, &[b'e'; 10])]);

    assert_eq!(texts, Texts { out: "o".repeat(30), err: "e".repeat(10), truncated: false });
}

#[test]
fn one_byte_over_cuts_standard_output_first_and_ends_in_the_marker() {
    let texts = text_of(40, &[(Stream::Out, &[b'o'; 20]), (Stream::Err, &[b'e'; 21])]);

    let err = format!("{}{}", "e".repeat(12), String::from_utf8_lossy(MARKER));
    assert_eq!(texts, Texts { out: String::new(), err, truncated: true });
}

#[test]
fn a_budget_below_the_marker_holds_a_prefix_of_it() {
    let texts = text_of(5, &[(Stream::Out, b"123456")]);

    assert_eq!(texts, Texts { out: String::new(), err: "\n[com".to_owned(), truncated: true });
}

#[test]
fn a_cut_never_leaves_part_of_a_character() {
    for budget in 60..64 {
        let texts = text_of(budget, &[(Stream::Out, "✓".repeat(40).as_bytes())]);

        assert!(texts.out.chars().all(|c| c == '✓'), "{budget}");
        assert_eq!(texts.out.len(), (budget - MARKER.len()) / 3 * 3);
    }
}

#[test]
fn a_character_that_comes_byte_by_byte_stays_whole() {
    let pieces: Vec<(Stream, &[u8])> = "🙂".as_bytes().chunks(1).map(|byte| (Stream::Out, byte)).collect();

    assert_eq!(text_of(100, &pieces).out, "🙂");
}

proptest! {
    #[test]
    fn text_never_exceeds_the_budget_nor_breaks_a_letter(
        budget in 0_usize..120,
        pieces in proptest::collection::vec((any::<bool>(), "[aä✓🙂]{0,12}"), 0..12),
    ) {
        let mut output = Output::new(budget);
        let mut total = 0;
        for (to_err, text) in &pieces {
            total += text.len();
            output.push(if *to_err { Stream::Err } else { Stream::Out }, text.as_bytes());
        }
        let texts = output.finish();

        prop_assert_eq!(texts.truncated, total > budget);
        prop_assert!(texts.out.len() + texts.err.len() <= budget);
        let broken = texts.out.contains(char::REPLACEMENT_CHARACTER) || texts.err.contains(char::REPLACEMENT_CHARACTER);
        prop_assert!(!broken);
    }
}
