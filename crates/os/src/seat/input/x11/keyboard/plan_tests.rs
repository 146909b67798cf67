//! Tests of plans.

use std::sync::Arc;

use super::super::keymap::tests::{A, ALT_GR, ENTER, Q, TAB, Y, keymap};
use super::*;

fn planner(group: u8) -> Planner {
    Planner::new(Arc::new(keymap()), Setting { group, kept: 0 })
}

fn pressed(planner: &mut Planner, part: Part, group: u8) -> (u8, u8, Mods) {
    match planner.press(part, group) {
        Press::Way(way) => (way.code, way.group, way.mods),
        Press::Entry(symbol) => panic!("{part:?} needs an entry for {symbol:#x}"),
    }
}

#[test]
fn parts_are_characters_line_ends_and_tabs() {
    let (parts, lengths): (Vec<_>, Vec<_>) = parts("a\r\n\n\té\r\u{7}\u{200d}").unzip();

    let character = |letter| Ok(Part::Character(letter));
    let (bell, lone) = (Err('\u{7}'), Err('\r'));
    let wanted = [
        character('a'),
        Ok(Part::Return),
        Ok(Part::Return),
        Ok(Part::Tab),
        character('é'),
        lone,
        bell,
        character('\u{200d}'),
    ];
    assert_eq!(parts, wanted);
    assert_eq!(lengths, [1, 2, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn a_key_of_the_group_that_is_set_comes_first() {
    let mut plan = planner(1);

    assert_eq!(pressed(&mut plan, Part::Character('@'), 1), (Q, 1, 1 << 7));
    assert_eq!(pressed(&mut plan, Part::Character('@'), 0), (Q, 0, 1 << 7));
    assert_eq!(pressed(&mut plan, Part::Character('a'), 1), (A, 0, 0));
    assert_eq!(pressed(&mut plan, Part::Character('Я'), 0), (Y, 1, 1));
    assert_eq!(pressed(&mut plan, Part::Return, 1), (ENTER, 1, 0));
    assert_eq!(pressed(&mut plan, Part::Tab, 0), (TAB, 0, 0));
}

#[test]
fn what_no_group_has_gets_an_entry() {
    let mut plan = planner(0);

    assert_eq!(plan.press(Part::Character('é'), 0), Press::Entry(0xe9));
    assert_eq!(plan.press(Part::Character('中'), 0), Press::Entry(0x0100_4e2d));
    // Only the number pad has it.
    assert_eq!(plan.press(Part::Character('1'), 0), Press::Entry(0x31));
}

#[test]
fn a_key_that_a_kept_lock_changes_is_not_used() {
    // Were the modifier of AltGr locked and kept, q would give @, and only an entry gives q.
    let mut plan = Planner::new(Arc::new(keymap()), Setting { group: 0, kept: 1 << 7 });

    assert_eq!(plan.press(Part::Character('q'), 0), Press::Entry(0x71));
    assert_eq!(pressed(&mut plan, Part::Character('a'), 0), (A, 0, 0));
    assert_ne!(ALT_GR, A);
}

#[test]
fn the_first_character_that_cannot_be_typed_is_named() {
    let check = |text: &str, entries| match planner(0).check(text, entries) {
        Ok(()) => None,
        Err(TypeFault::Cannot { character, index, .. }) => Some((character, index)),
        Err(other) => panic!("{other:?}"),
    };

    assert_eq!(check("aя@\r\n\tQ", 0), None);
    assert_eq!(check("aя\r\n中é", 0), Some(('中', 4)));
    assert_eq!(check("aя\r\n中é", 1), None);
    assert_eq!(check("a中\u{1b}", 1), Some(('\u{1b}', 2)));
    assert_eq!(check("a\u{ffff}", 1), Some(('\u{ffff}', 1)));
    assert_eq!(check("a\u{fdef}", 1), Some(('\u{fdef}', 1)));
    assert_eq!(check("", 0), None);
}

#[test]
fn entries_are_wanted_in_the_order_of_the_text_and_each_once() {
    let mut plan = planner(0);
    let has = |symbol| symbol == 0x0100_4e2d;

    let (wanted, kept) = next_symbols(&mut plan, "a中é中èaéêô", 0, 3, has);

    assert_eq!(wanted, [0xe9, 0xe8, 0xea]);
    assert_eq!(kept, [0x0100_4e2d]);
}
