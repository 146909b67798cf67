//! Entries of our own on codes that no key uses, free of any server. A code gets another symbol only when the program that
//! received its last press has handled that: programs look a key up when they handle its event, not when it was pressed.

/// One code that no key uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The code.
    pub(super) code: u8,
    /// What it gives by now; none for nothing.
    pub(super) symbol: Option<u32>,
    /// The number of its last press; 0 for never.
    pub(super) pressed: u64,
    /// Whether it is held down.
    pub(super) held: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: Vec<Entry>,
}

impl Entries {
    /// Takes over what a new keymap says: `unused` codes, and what ours give in it by `gives`.
    pub(super) fn renew(&mut self, unused: &[u8], gives: impl Fn(u8, u32) -> bool) {
        self.all.retain_mut(|entry| {
            entry.symbol = entry.symbol.filter(|symbol| gives(entry.code, *symbol));
            entry.symbol.is_some() || unused.contains(&entry.code)
        });
        for code in unused {
            if !self.all.iter().any(|entry| entry.code == *code) {
                self.all.push(Entry { code: *code, symbol: None, pressed: 0, held: false });
            }
        }
    }

    /// Returns how many there may be.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Finds the one that gives a symbol.
    pub(super) fn find(&self, symbol: u32) -> Option<u8> {
        self.all.iter().find(|entry| entry.symbol == Some(symbol)).map(|entry| entry.code)
    }

    /// Returns the codes that have an entry of ours.
    pub(super) fn taken(&self) -> Vec<u8> {
        self.all.iter().filter(|entry| entry.symbol.is_some()).map(|entry| entry.code).collect()
    }

    /// Chooses places for symbols: free ones first, then those pressed longest ago, those of `keep` last. There may be fewer
    /// places than symbols. The number is that of the last press which must have been handled before the places may change.
    pub(super) fn places(&self, symbols: &[u32], keep: &[u32]) -> (Vec<(u8, u32)>, u64) {
        let mut free: Vec<&Entry> = self.all.iter().filter(|entry| !entry.held).collect();
        free.sort_by_key(|entry| {
            let kept = entry.symbol.is_some_and(|symbol| keep.contains(&symbol));
            (kept, entry.symbol.is_some(), entry.pressed, entry.code)
        });
        let chosen: Vec<(&Entry, u32)> = free.into_iter().zip(symbols.iter().copied()).collect();
        let after = chosen.iter().map(|(entry, _)| entry.pressed).max().unwrap_or(0);
        (chosen.into_iter().map(|(entry, symbol)| (entry.code, symbol)).collect(), after)
    }

    /// Notes what a code gives from now on.
    pub(super) fn set(&mut self, code: u8, symbol: Option<u32>) {
        if let Some(entry) = self.all.iter_mut().find(|entry| entry.code == code) {
            entry.symbol = symbol;
        }
    }

    /// Notes a press.
    pub(super) fn pressed(&mut self, code: u8, number: u64) {
        if let Some(entry) = self.all.iter_mut().find(|entry| entry.code == code) {
            entry.pressed = number;
        }
    }

    /// Notes whether a code is held down.
    pub(super) fn hold(&mut self, code: u8, held: bool) {
        if let Some(entry) = self.all.iter_mut().find(|entry| entry.code == code) {
            entry.held = held;
        }
    }

    /// Returns the codes with an entry that are not held and whose last press is not after `number`.
    pub(super) fn done(&self, number: u64) -> Vec<u8> {
        let done = self.all.iter().filter(|entry| entry.symbol.is_some() && !entry.held && entry.pressed <= number);
        done.map(|entry| entry.code).collect()
    }
}

#[cfg(test)]
#[path = "entries_tests.rs"]
mod tests;
