//! Tests of the keymap.

use super::*;

const SHIFT: Mods = 1;
const NUM: Mods = 1 << 4;
const LEVEL3: Mods = 1 << 7;

const ONE_LEVEL: usize = 0;
const ALPHABETIC: usize = 1;
const FOUR_LEVEL: usize = 2;
const KEYPAD: usize = 3;

pub(in super::super) const A: u8 = 9;
pub(in super::super) const Y: u8 = 10;
pub(in super::super) const LEFT_SHIFT: u8 = 11;
pub(in super::super) const ALT_GR: u8 = 12;
pub(in super::super) const Q: u8 = 13;
pub(in super::super) const ENTER: u8 = 14;
pub(in super::super) const TAB: u8 = 19;

fn types() -> Vec<KeyType> {
    let kind = |mask, entries: &[(Mods, u8)]| KeyType { mask, entries: entries.to_vec() };
    vec![
        kind(0, &[]),
        kind(SHIFT | LOCK, &[(SHIFT, 1), (LOCK, 1)]),
        kind(SHIFT | LEVEL3, &[(SHIFT, 1), (LEVEL3, 2), (SHIFT | LEVEL3, 3)]),
        kind(SHIFT | NUM, &[(SHIFT, 1), (NUM, 1)]),
    ]
}

fn key(types: &[usize], width: usize, symbols: &[u32]) -> KeyEntry {
    KeyEntry {
        types: types.to_vec(),
        out_of_range: OutOfRange::Wrap,
        width,
        symbols: symbols.to_vec(),
        actions: Vec::new(),
        modmap: 0,
    }
}

fn acting(symbol: u32, action: Action, modmap: Mods) -> KeyEntry {
    KeyEntry { actions: vec![action], modmap, ..key(&[ONE_LEVEL], 1, &[symbol]) }
}

/// A keyboard with a German and a Russian group, as far as these tests need one.
pub(in super::super) fn keymap() -> Keymap {
    let keys = vec![
        key(&[], 0, &[]),
        key(&[ALPHABETIC, ALPHABETIC], 2, &[0x61, 0x41, key::Cyrillic_ef, key::Cyrillic_EF]),
        key(&[ALPHABETIC, ALPHABETIC], 2, &[0x7a, 0x5a, key::Cyrillic_ya, key::Cyrillic_YA]),
        acting(key::Shift_L, Action::Sets(SHIFT), SHIFT),
        acting(key::ISO_Level3_Shift, Action::Sets(LEVEL3), LEVEL3),
        key(&[FOUR_LEVEL], 4, &[0x71, 0x51, 0x40, key::Greek_OMEGA]),
        key(&[ONE_LEVEL], 1, &[key::Return]),
        key(&[], 0, &[]),
        key(&[KEYPAD], 2, &[key::KP_End, key::KP_1]),
        acting(key::Num_Lock, Action::Locks(NUM), NUM),
        key(&[ONE_LEVEL], 1, &[0]),
        key(&[ALPHABETIC], 2, &[key::Tab, key::ISO_Left_Tab]),
        key(&[ONE_LEVEL], 1, &[key::dead_acute]),
    ];
    Keymap::new(8, types(), keys)
}

fn ways(character: char) -> Vec<(u8, u8, Mods)> {
    keymap().ways_to(character).map(|way| (way.code, way.group, way.mods)).collect()
}

#[test]
fn characters_are_found_in_every_group_and_level_with_what_must_be_held() {
    assert_eq!(ways('a'), [(A, 0, 0)]);
    assert_eq!(ways('A'), [(A, 0, SHIFT)]);
    assert_eq!(ways('я'), [(Y, 1, 0)]);
    assert_eq!(ways('Я'), [(Y, 1, SHIFT)]);
    // A key with one group only is the same in all.
    assert_eq!(ways('@'), [(Q, 0, LEVEL3), (Q, 1, LEVEL3)]);
    assert_eq!(ways('Ω'), [(Q, 0, SHIFT | LEVEL3), (Q, 1, SHIFT | LEVEL3)]);
}

#[test]
fn number_pad_dead_keys_and_keys_that_act_give_no_characters() {
    for character in ['1', '´', '\u{301}', '\r', '\t', 'é'] {
        assert!(ways(character).is_empty(), "{character:?}");
    }
}

#[test]
fn groups_that_a_key_lacks_mean_what_it_says() {
    let with = |out_of_range| {
        let first = KeyEntry { out_of_range, ..key(&[ONE_LEVEL, ONE_LEVEL], 1, &[0x61, 0x62]) };
        let map = Keymap::new(8, types(), vec![first, key(&[ONE_LEVEL; 4], 1, &[0x31, 0x32, 0x33, 0x34])]);
        [0, 1, 2, 3].map(|group| map.symbol(8, group, 0).unwrap())
    };

    assert_eq!(with(OutOfRange::Wrap), [0x61, 0x62, 0x61, 0x62]);
    assert_eq!(with(OutOfRange::Clamp), [0x61, 0x62, 0x62, 0x62]);
    assert_eq!(with(OutOfRange::Redirect(0)), [0x61, 0x62, 0x61, 0x61]);
    assert_eq!(with(OutOfRange::Redirect(3)), [0x61, 0x62, 0x61, 0x61]);
}

#[test]
fn modifiers_are_held_by_keys_that_set_them_alone() {
    let map = keymap();

    assert_eq!(map.holders(SHIFT | LEVEL3, 1), Some(vec![LEFT_SHIFT, ALT_GR]));
    assert_eq!(map.holders(0, 0), Some(vec![]));
    assert_eq!(map.holders(1 << 5, 0), None);
    assert_eq!(map.modifier(key::Shift_L, 0), Some(LEFT_SHIFT));
    assert_eq!(map.modifier(key::Super_L, 0), None);
    assert_eq!(map.set_by(&[LEFT_SHIFT, A, ALT_GR], 0), SHIFT | LEVEL3);
    assert_eq!(map.num_lock(), NUM);
}

#[test]
fn unused_codes_have_no_symbol_and_the_first_code_is_the_last_resort() {
    assert_eq!(keymap().unused(), [15, 18]);
    assert_eq!(Keymap::new(8, types(), vec![key(&[], 0, &[])]).unused(), [8]);
    assert!(keymap().always_gives(ENTER, key::Return));
    assert!(!keymap().always_gives(A, 0x61));
}

#[test]
fn a_keymap_that_contradicts_itself_gives_nothing() {
    let broken = key(&[7, ALPHABETIC], 1, &[0x61]);

    let map = Keymap::new(250, types(), vec![broken; 20]);

    assert_eq!(map.symbol(250, 0, 0), None);
    assert_eq!(map.symbol(250, 1, SHIFT), None);
    assert_eq!(map.symbol(0, 0, 0), None);
    assert_eq!(Keymap::default().ways_to('a').count(), 0);
}

#[test]
fn symbols_of_characters_are_those_that_every_program_knows() {
    assert_eq!([symbol_of('é'), symbol_of('€'), symbol_of('👍')], [0xe9, 0x0100_20ac, 0x0101_f44d]);
    assert_eq!(character_of(key::EuroSign), Some('€'));
    assert_eq!(character_of(0x0100_4e2d), Some('中'));
    assert_eq!([character_of(key::KP_1), character_of(key::Return), character_of(key::Shift_L)], [None; 3]);
}
