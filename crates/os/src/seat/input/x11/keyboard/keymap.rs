//! The keymap of an X server as plain data: which keys give which symbol, in which group and level, and with which modifiers.
//!
//! It follows the rules of XKB (protocol, chapters 7 and 12). It knows no dead keys and no compose sequences: what they would
//! give is typed through an entry of our own.

use std::collections::HashMap;

use xkeysym::{Keysym, key};

/// Real modifiers, as in `ModMask`.
pub(super) type Mods = u8;

/// Caps Lock and the like.
pub(super) const LOCK: Mods = 1 << 1;
const CONTROL: Mods = 1 << 2;

/// How modifiers choose a level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyType {
    /// The modifiers that matter.
    pub(super) mask: Mods,
    /// Which of them give which level, from 0. All others give level 0.
    pub(super) entries: Vec<(Mods, u8)>,
}

/// What a key does beside giving a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing.
    None,
    /// Sets modifiers while it is held.
    Sets(Mods),
    /// Locks modifiers.
    Locks(Mods),
    /// Anything else.
    Other,
}

/// What a group means that a key does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutOfRange {
    /// Counts round.
    Wrap,
    /// The last one that it has.
    Clamp,
    /// This one.
    Redirect(u8),
}

/// One key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyEntry {
    /// The type of each group that it has, as an index.
    pub(super) types: Vec<usize>,
    /// What other groups mean.
    pub(super) out_of_range: OutOfRange,
    /// Levels kept for each group.
    pub(super) width: usize,
    /// Symbols, group by group; 0 is none.
    pub(super) symbols: Vec<u32>,
    /// Actions, laid out like the symbols; empty when it has none at all.
    pub(super) actions: Vec<Action>,
    /// Modifiers of the modifier map.
    pub(super) modmap: Mods,
}

impl KeyEntry {
    /// Returns the group that this key uses when `group` is set; none when it has no groups.
    fn effective(&self, group: u8) -> Option<usize> {
        let count = self.types.len();
        let wanted = usize::from(group);
        match (count, self.out_of_range) {
            (0, _) => None,
            _ if wanted < count => Some(wanted),
            (_, OutOfRange::Wrap) => Some(wanted % count),
            (_, OutOfRange::Clamp) => Some(count - 1),
            (_, OutOfRange::Redirect(to)) => Some(if usize::from(to) < count { usize::from(to) } else { 0 }),
        }
    }

    fn is_unused(&self) -> bool {
        self.modmap == 0
            && self.symbols.iter().all(|symbol| *symbol == 0)
            && self.actions.iter().all(|action| *action == Action::None)
    }
}

/// One way to give a symbol by a key that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// The key.
    pub(super) code: u8,
    /// The group that must be set.
    pub(super) group: u8,
    /// The modifiers that must be held.
    pub(super) mods: Mods,
    /// What it gives.
    pub(super) symbol: u32,
}

/// A keymap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Keymap {
    first: u8,
    types: Vec<KeyType>,
    keys: Vec<KeyEntry>,
    groups: u8,
    ways: HashMap<u32, Vec<Way>>,
    characters: HashMap<char, Vec<u32>>,
}

impl Keymap {
    /// Makes one of its types and of its keys, the first of which has the code `first`.
    pub(super) fn new(first: u8, types: Vec<KeyType>, keys: Vec<KeyEntry>) -> Self {
        let groups = keys.iter().map(|key| key.types.len()).max().unwrap_or(0).clamp(1, 4);
        let mut map = Self {
            first,
            types,
            keys,
            groups: u8::try_from(groups).unwrap_or(4),
            ways: HashMap::new(),
            characters: HashMap::new(),
        };
        map.index();
        map
    }

    fn index(&mut self) {
        let found: Vec<Way> = self
            .codes()
            .flat_map(|(code, key)| (0..self.groups).map(move |group| (code, key, group)))
            .flat_map(|(code, key, group)| self.ways_of(code, key, group))
            .collect();
        for way in found {
            if let Some(character) = character_of(way.symbol) {
                let symbols = self.characters.entry(character).or_default();
                if !symbols.contains(&way.symbol) {
                    symbols.push(way.symbol);
                }
            }
            self.ways.entry(way.symbol).or_default().push(way);
        }
    }

    fn codes(&self) -> impl Iterator<Item = (u8, &KeyEntry)> {
        (self.first..=u8::MAX).zip(&self.keys)
    }

    fn ways_of(&self, code: u8, key: &KeyEntry, group: u8) -> Vec<Way> {
        let Some(effective) = key.effective(group) else { return Vec::new() };
        let Some(kind) = key.types.get(effective).and_then(|number| self.types.get(*number)) else { return Vec::new() };
        let levels = kind.entries.iter().map(|(mods, level)| (*mods, *level)).chain([(0, 0)]);
        levels
            .filter(|(mods, _)| mods & (LOCK | CONTROL) == 0)
            // Where no modifiers at all choose another level, the last pair is not true.
            .filter_map(|(mods, _)| Some(Way { code, group, mods, symbol: self.symbol(code, group, mods)? }))
            .filter(|way| self.holders(way.mods, group).is_some())
            .collect()
    }

    fn key(&self, code: u8) -> Option<&KeyEntry> {
        self.keys.get(usize::from(code.checked_sub(self.first)?))
    }

    /// Returns what a key gives.
    pub(super) fn symbol(&self, code: u8, group: u8, mods: Mods) -> Option<u32> {
        let key = self.key(code)?;
        let effective = key.effective(group)?;
        let kind = self.types.get(*key.types.get(effective)?)?;
        let level = kind.entries.iter().find(|(wanted, _)| *wanted == mods & kind.mask).map_or(0, |(_, level)| *level);
        let place = effective * key.width + usize::from(level);
        key.symbols.get(place).copied().filter(|symbol| *symbol != 0 && usize::from(level) < key.width)
    }

    fn action(&self, code: u8, group: u8) -> Action {
        let found = self.key(code).and_then(|key| key.actions.get(key.effective(group)? * key.width));
        found.copied().unwrap_or(Action::None)
    }

    /// Returns the ways to give a symbol, those of group 0 first.
    pub(super) fn ways(&self, symbol: u32) -> impl Iterator<Item = Way> + '_ {
        let ways = self.ways.get(&symbol).map_or(&[][..], Vec::as_slice);
        (0..self.groups).flat_map(move |group| ways.iter().copied().filter(move |way| way.group == group))
    }

    /// Returns the ways to give a character. Keys of the number pad do not count: what they give depends on Num Lock, and
    /// programs tell them from others.
    pub(super) fn ways_to(&self, character: char) -> impl Iterator<Item = Way> + '_ {
        let symbols = self.characters.get(&character).into_iter().flatten();
        // Latin letters have one symbol each; programs may not know the others that look like them.
        let own = Some(symbol_of(character)).filter(|symbol| *symbol <= 0xff);
        symbols.filter(move |symbol| own.is_none_or(|own| **symbol == own)).flat_map(|symbol| self.ways(*symbol))
    }

    /// Returns the keys that set these modifiers, and no others, while they are held; none when there are no such keys.
    pub(super) fn holders(&self, mods: Mods, group: u8) -> Option<Vec<u8>> {
        let each = (0..8).map(|bit| 1 << bit).filter(|bit: &Mods| mods & bit != 0);
        each.map(|bit| self.holder(bit, group)).collect()
    }

    fn holder(&self, bit: Mods, group: u8) -> Option<u8> {
        let keys = self.codes().filter(|(code, _)| self.action(*code, group) == Action::Sets(bit));
        // One that the modifier map knows is what programs take for this modifier, too; a left one is before a right one.
        keys.min_by_key(|(code, key)| {
            let usual = matches!(
                self.symbol(*code, group, 0),
                Some(key::Shift_L | key::ISO_Level3_Shift | key::ISO_Level5_Shift)
            );
            (key.modmap & bit == 0, !usual, *code)
        })
        .map(|(code, _)| code)
    }

    /// Returns the key that gives this symbol without modifiers and sets modifiers while it is held.
    pub(super) fn modifier(&self, symbol: u32, group: u8) -> Option<u8> {
        let plain = self
            .ways(symbol)
            .filter(|way| way.mods == 0 && matches!(self.action(way.code, way.group), Action::Sets(_)));
        plain.min_by_key(|way| (way.group != group, way.code)).map(|way| way.code)
    }

    /// Returns the modifiers that Num Lock stands for.
    pub(super) fn num_lock(&self) -> Mods {
        self.ways(key::Num_Lock).fold(0, |mods, way| match self.action(way.code, way.group) {
            Action::Locks(more) => mods | more,
            Action::None | Action::Sets(_) | Action::Other => mods,
        })
    }

    /// Returns the modifiers that these keys set while they are held.
    pub(super) fn set_by(&self, codes: &[u8], group: u8) -> Mods {
        codes.iter().fold(0, |mods, code| match self.action(*code, group) {
            Action::Sets(more) => mods | more,
            Action::None | Action::Locks(_) | Action::Other => mods,
        })
    }

    /// Returns the codes that no key uses. The very first code is taken only when there is no other: some programs take it for
    /// no key.
    pub(super) fn unused(&self) -> Vec<u8> {
        let mut codes: Vec<u8> = self.codes().filter(|(_, key)| key.is_unused()).map(|(code, _)| code).collect();
        if codes.len() > 1 {
            codes.retain(|code| *code != self.first);
        }
        codes
    }

    /// Tells whether a key gives this symbol, whatever group and modifiers are set.
    pub(super) fn always_gives(&self, code: u8, symbol: u32) -> bool {
        (0..self.groups).all(|group| (0..=Mods::MAX).all(|mods| self.symbol(code, group, mods) == Some(symbol)))
    }
}

/// Returns the character that a symbol means when its key is pressed; none for keys of the number pad and for keys that do things.
pub(super) fn character_of(symbol: u32) -> Option<char> {
    let symbol = Keysym::new(symbol);
    if symbol.is_keypad_key() {
        return None;
    }
    symbol.key_char().filter(|character| !character.is_control())
}

/// Returns the symbol that means a character in every program.
pub(super) fn symbol_of(character: char) -> u32 {
    match u32::from(character) {
        latin @ (0x20..=0x7e | 0xa0..=0xff) => latin,
        other => 0x0100_0000 | other,
    }
}

#[cfg(test)]
#[path = "keymap_tests.rs"]
pub(super) mod tests;
