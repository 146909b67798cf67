//! How a text becomes presses, free of any server: what is pressed for each part of it, and which parts cannot be typed.

use std::collections::HashMap;
use std::sync::Arc;

use xkeysym::key;

use super::super::super::TypeFault;
use super::keymap::{Keymap, Mods, Way, symbol_of};

/// One press of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// A character that is shown.
    Character(char),
    /// The end of a line: "\n" or "\r\n".
    Return,
    /// A tab.
    Tab,
}

/// What gives a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Press {
    /// A key that is there.
    Way(Way),
    /// An entry of our own with this symbol.
    Entry(u32),
}

/// What stays set on the keyboard while a text is typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Setting {
    /// The group that is set when typing starts.
    pub(super) group: u8,
    /// Locked modifiers that are left alone (Num Lock).
    pub(super) kept: Mods,
}

/// A part of a text, or the character that cannot be typed.
pub(super) type Found = Result<Part, char>;

/// Splits a text into its parts, each with the number of characters that it has.
pub(super) fn parts(text: &str) -> impl Iterator<Item = (Found, usize)> + '_ {
    let mut letters = text.chars().peekable();
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        Some(match letter {
            '\r' if letters.next_if_eq(&'\n').is_some() => (Ok(Part::Return), 2),
            '\n' => (Ok(Part::Return), 1),
            '\t' => (Ok(Part::Tab), 1),
            other if is_typed(other) => (Ok(Part::Character(other)), 1),
            other => (Err(other), 1),
        })
    })
}

/// Tells whether a key can stand for a character. Control characters are acts, not text, and noncharacters mean nothing.
fn is_typed(letter: char) -> bool {
    let code = u32::from(letter);
    !letter.is_control() && code & 0xfffe != 0xfffe && !(0xfdd0..=0xfdef).contains(&code)
}

/// Plans a text on a keymap. It remembers what it found.
#[derive(Debug)]
pub(super) struct Planner {
    map: Arc<Keymap>,
    setting: Setting,
    known: HashMap<(Part, u8), Press>,
}

impl Planner {
    /// Makes one.
    pub(super) fn new(map: Arc<Keymap>, setting: Setting) -> Self {
        Self { map, setting, known: HashMap::new() }
    }

    /// Returns what gives a part while `group` is set.
    pub(super) fn press(&mut self, part: Part, group: u8) -> Press {
        let found = self.known.get(&(part, group)).copied();
        found.unwrap_or_else(|| {
            let press = plan(&self.map, part, group, self.setting);
            self.known.insert((part, group), press);
            press
        })
    }

    /// Looks through a whole text.
    ///
    /// # Errors
    /// [`TypeFault::Cannot`] with the first character that cannot be typed. `entries` is how many entries of our own there
    /// may be.
    pub(super) fn check(&mut self, text: &str, entries: usize) -> Result<(), TypeFault> {
        let mut index = 0;
        for (part, length) in parts(text) {
            let (character, why) = match part {
                Err(letter) => (letter, "no key gives a control character or a code point that is no character"),
                Ok(part) if entries == 0 && matches!(self.press(part, self.setting.group), Press::Entry(_)) => {
                    (letter_of(part), "the keyboard layout has no key for it and the keymap has no free place for one")
                }
                Ok(_) => {
                    index += length;
                    continue;
                }
            };
            return Err(TypeFault::Cannot { character, index, why: why.to_owned() });
        }
        Ok(())
    }
}

fn letter_of(part: Part) -> char {
    match part {
        Part::Character(letter) => letter,
        Part::Return => '\n',
        Part::Tab => '\t',
    }
}

fn plan(map: &Keymap, part: Part, group: u8, setting: Setting) -> Press {
    let symbol = match part {
        Part::Character(letter) => symbol_of(letter),
        Part::Return => key::Return,
        Part::Tab => key::Tab,
    };
    let rank = |way: &Way| {
        let turns = if way.group == group {
            0
        } else if way.group == setting.group {
            1
        } else {
            2
        };
        (turns, way.mods.count_ones(), way.group, way.code)
    };
    let works = |way: &Way| map.symbol(way.code, way.group, way.mods | setting.kept) == Some(way.symbol);
    let best = match part {
        Part::Character(letter) => map.ways_to(letter).filter(works).min_by_key(rank),
        // Other ways to give them (Shift and Tab) do something else.
        Part::Return | Part::Tab => map.ways(symbol).filter(works).filter(|way| way.mods == 0).min_by_key(rank),
    };
    best.map_or(Press::Entry(symbol), Press::Way)
}

/// How many parts are looked at ahead.
const REACH: usize = 2000;

/// Returns the symbols that a text needs next and that have no entry yet, at most `limit` of them, and those before them that
/// have one, which `has` tells.
pub(super) fn next_symbols(
    planner: &mut Planner,
    text: &str,
    group: u8,
    limit: usize,
    has: impl Fn(u32) -> bool,
) -> (Vec<u32>, Vec<u32>) {
    let (mut wanted, mut kept) = (Vec::new(), Vec::new());
    for part in parts(text).take(REACH).filter_map(|(part, _)| part.ok()) {
        let Press::Entry(symbol) = planner.press(part, group) else { continue };
        let list = if has(symbol) { &mut kept } else { &mut wanted };
        if !list.contains(&symbol) {
            list.push(symbol);
        }
        if wanted.len() >= limit {
            break;
        }
    }
    (wanted, kept)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
