//! The keyboard of an X server: chords and texts, on whatever layouts are set.
//!
//! A text is pressed on the keys that the layouts have, in any group and level, and through entries of our own on unused codes for
//! all else, so that it arrives exactly. Caps Lock and the group are as they were afterwards; entries are taken away once the
//! program has surely handled their presses, at the latest when this is closed. Not covered: an input method of the program
//! (ibus, fcitx) that composes sees these keys like any others and may make something else of them while it is switched on; and
//! programs that read raw key codes (games, virtual machines, remote desktops) see codes that mean nothing to them for what has
//! no key.

mod chord;
mod entries;
mod keymap;
mod pace;
mod plan;
mod read;
mod rest;
mod server;
mod typing;

use std::sync::Arc;

use drawbridge_core::computer::Key;

use super::super::super::{Seat, SeatFault};
use super::tap::{Debt, Tap};
use entries::Entries;
use keymap::{Keymap, Mods};
use pace::Pace;
use rest::Rest;
use server::{Server, Target};

/// A key that is held down.
#[derive(Debug)]
struct Pressed {
    key: Key,
    code: u8,
    /// Modifiers that were pressed for it.
    with: Vec<u8>,
}

/// What was changed of the keyboard's state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Altered {
    /// Locked modifiers that were unlocked.
    locks: Mods,
    /// The group that was locked before, and the one that is now.
    group: Option<(u8, u8)>,
}

/// The keyboard.
pub(super) struct Keyboard {
    server: Server,
    map: Arc<Keymap>,
    entries: Entries,
    pace: Pace,
    target: Option<Target>,
    /// Of a program that cannot be asked.
    rest: Option<Rest>,
    /// A window that says it answers and does not.
    silent: Option<u32>,
    pressed: Vec<Pressed>,
    altered: Altered,
}

impl Keyboard {
    /// Connects to the keyboard of a seat.
    ///
    /// # Errors
    /// [`SeatFault::NoDisplay`]; [`SeatFault::Unsupported`] without XKB.
    pub(super) fn new(seat: &Seat) -> Result<Self, SeatFault> {
        let server = Server::open(seat)?;
        let mut keyboard = Self {
            server,
            map: Arc::default(),
            entries: Entries::default(),
            pace: Pace::default(),
            target: None,
            rest: None,
            silent: None,
            pressed: Vec::new(),
            altered: Altered::default(),
        };
        keyboard.renew()?;
        Ok(keyboard)
    }

    /// Reads the keymap again when it may have changed, and tells whether it did so.
    fn renew(&mut self) -> Result<bool, SeatFault> {
        if !self.server.has_changed()? {
            return Ok(false);
        }
        self.map = Arc::new(self.server.keymap()?);
        let map = Arc::clone(&self.map);
        self.entries.renew(&map.unused(), |code, symbol| map.always_gives(code, symbol));
        Ok(true)
    }

    /// Changes the state of the keyboard: unlocks modifiers, locks a group.
    fn alter(&mut self, unlock: Mods, group: Option<(u8, u8)>, tap: &dyn Tap) -> Result<(), SeatFault> {
        self.altered.locks |= unlock;
        if let Some((before, now)) = group {
            // What it was at the very first is what it will be again.
            let before = self.altered.group.map_or(before, |(first, _)| first);
            self.altered.group = Some((before, now));
        }
        self.owe(&[], tap)?;
        self.server.lock(unlock, 0, group.map(|(_, now)| now))
    }

    /// Makes the state of the keyboard what it was. A group that somebody else has set meanwhile stays.
    fn restore(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        let altered = std::mem::take(&mut self.altered);
        if altered == Altered::default() {
            return Ok(());
        }
        let now = self.server.state()?.locked_group;
        let group = altered.group.filter(|(_, ours)| *ours == now).map(|(before, _)| before);
        self.server.lock(altered.locks, altered.locks, group)?;
        self.owe(&[], tap)
    }

    /// Tells the one who presses what is to be put back if this process dies, with the codes that will have an entry.
    fn owe(&self, coming: &[u8], tap: &dyn Tap) -> Result<(), SeatFault> {
        let mut codes = self.entries.taken();
        codes.extend(coming.iter().filter(|code| !self.entries.taken().contains(code)));
        tap.owe(&Debt { codes, group: self.altered.group.map(|(before, _)| before), locks: self.altered.locks })
    }

    /// Gives codes entries of our own. The caller has made sure that their last presses were handled.
    fn put(&mut self, places: &[(u8, u32)], tap: &dyn Tap) -> Result<(), SeatFault> {
        let codes: Vec<u8> = places.iter().map(|(code, _)| *code).collect();
        self.owe(&codes, tap)?;
        tap.flush()?;
        self.server.set_entries(places)?;
        for (code, symbol) in places {
            self.entries.set(*code, Some(*symbol));
        }
        Ok(())
    }

    /// Takes the entries away whose last press is not after `number`.
    fn clear(&mut self, number: u64, tap: &dyn Tap) -> Result<(), SeatFault> {
        let done = self.entries.done(number);
        if done.is_empty() {
            return Ok(());
        }
        let empty: Vec<(u8, u32)> = done.iter().map(|code| (*code, 0)).collect();
        tap.flush()?;
        self.server.set_entries(&empty)?;
        for code in done {
            self.entries.set(code, None);
        }
        self.owe(&[], tap)
    }

    /// Tells whether [`Keyboard::idle`] has something to do, now or later.
    pub(super) fn has_entries(&self) -> bool {
        !self.entries.taken().is_empty()
    }

    /// Takes entries away that are not needed any more. To be called once in a while.
    ///
    /// # Errors
    /// [`SeatFault`].
    pub(super) fn idle(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        if self.has_entries() { self.clear_handled(tap) } else { Ok(()) }
    }

    /// Notes that a key is held no more.
    fn let_go(&mut self, code: u8) {
        if self.entries.taken().contains(&code) {
            self.entries.hold(code, false);
            self.note_press(code);
        }
    }

    /// Forgets what is held no more: the one who presses lets go of what is held for too long.
    fn forget_released(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        let held = tap.held_codes();
        let (still, gone): (Vec<Pressed>, Vec<Pressed>) =
            self.pressed.drain(..).partition(|pressed| held.contains(&pressed.code));
        self.pressed = still;
        for pressed in &gone {
            self.let_go(pressed.code);
        }
        if gone.is_empty() || !self.pressed.is_empty() { Ok(()) } else { self.restore(tap) }
    }

    /// Forgets keys that are held: the one who presses has released them all. The state of the keyboard is as before after it.
    ///
    /// # Errors
    /// [`SeatFault`].
    pub(super) fn settle(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        for pressed in std::mem::take(&mut self.pressed) {
            self.let_go(pressed.code);
        }
        self.restore(tap)
    }

    /// Puts everything back. It waits a moment for the program that has the keyboard.
    ///
    /// # Errors
    /// [`SeatFault`].
    pub(super) fn close(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        self.settle(tap)?;
        self.clear_if_handled(tap)?;
        self.clear(self.pace.last(), tap)
    }
}
