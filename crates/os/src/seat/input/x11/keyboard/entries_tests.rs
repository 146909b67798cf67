//! Tests of entries.

use super::*;

fn entries() -> Entries {
    let mut entries = Entries::default();
    entries.renew(&[20, 21, 22], |_, _| true);
    entries
}

#[test]
fn free_places_come_first_then_those_pressed_longest_ago() {
    let mut entries = entries();
    assert_eq!(entries.places(&[1, 2], &[]), (vec![(20, 1), (21, 2)], 0));
    for (code, symbol) in [(20, 1), (21, 2), (22, 3)] {
        entries.set(code, Some(symbol));
    }
    entries.pressed(20, 9);
    entries.pressed(21, 7);
    entries.pressed(22, 8);

    assert_eq!(entries.places(&[4, 5], &[]), (vec![(21, 4), (22, 5)], 8));
    // What is needed soon stays if it can.
    assert_eq!(entries.places(&[4], &[2]), (vec![(22, 4)], 8));
    assert_eq!(entries.places(&[4, 5, 6, 7], &[2]), (vec![(22, 4), (20, 5), (21, 6)], 9));
}

#[test]
fn what_is_held_keeps_its_place() {
    let mut entries = entries();
    entries.set(20, Some(1));
    entries.hold(20, true);

    assert_eq!(entries.places(&[4, 5, 6], &[]).0, [(21, 4), (22, 5)]);
    assert!(entries.done(u64::MAX).is_empty());
    entries.hold(20, false);
    entries.pressed(20, 5);
    assert!(entries.done(4).is_empty());
    assert_eq!(entries.done(5), [20]);
}

#[test]
fn a_new_keymap_takes_away_what_it_does_not_know() {
    let mut entries = entries();
    entries.set(20, Some(1));
    entries.set(21, Some(2));

    // The codes 20 and 21 are used: by us, and by somebody else. 22 is used as well, 23 is free now.
    entries.renew(&[23], |code, symbol| (code, symbol) == (20, 1));

    assert_eq!((entries.find(1), entries.find(2)), (Some(20), None));
    assert_eq!(entries.taken(), [20]);
    assert_eq!(entries.len(), 2);
    assert_eq!(entries.places(&[8, 9], &[]).0, [(23, 8), (20, 9)]);
}
