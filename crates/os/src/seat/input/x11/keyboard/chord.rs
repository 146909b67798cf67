//! Keys of chords: see [`Keyboard::press`].

use std::time::{Duration, Instant};

use drawbridge_core::computer::{Key, Modifier};
use xkeysym::key;

use super::super::super::super::SeatFault;
use super::super::tap::Tap;
use super::keymap::{Keymap, Mods, Way, symbol_of};
use super::server::State;
use super::typing::{LOOK, release};
use super::{Keyboard, Pressed};

/// How long a new entry waits for the program that received the press before on its code.
const HANDLED: Duration = Duration::from_secs(2);

impl Keyboard {
    /// Presses a key and keeps it down. Pressing what is down does nothing.
    ///
    /// A character that a layout has only with Shift, or only in another group, brings these along: they are pressed before it and
    /// released with it, unless they are held anyway. So "ctrl+s" is the key s also while a Cyrillic layout is set, and
    /// "ctrl+plus" is what programs know as ctrl and plus. A key that no layout has (F13, say) gets an entry of our own.
    ///
    /// # Errors
    /// [`SeatFault::Unsupported`] when the keyboard has no such key and no place for one.
    pub(in super::super) fn press(&mut self, key: &Key, tap: &dyn Tap) -> Result<(), SeatFault> {
        self.forget_released(tap)?;
        if self.pressed.iter().any(|pressed| pressed.key == *key) {
            return Ok(());
        }
        self.renew()?;
        let state = self.server.state()?;
        let way = match find(&self.map, key, &state) {
            Some(way) => way,
            None => self.make(key, &state, tap)?,
        };
        self.set_state(key, &way, &state, tap)?;
        // What is held already is not pressed again: it would be released too early.
        let missing = way.mods & !state.base;
        let with = self.map.holders(missing, way.group).unwrap_or_default();
        let down = with.iter().chain([&way.code]).try_for_each(|code| tap.key(*code, true)).and_then(|()| tap.flush());
        self.entries.hold(way.code, true);
        self.pressed.push(Pressed { key: *key, code: way.code, with });
        if down.is_err() {
            // As good as it goes: the fault is told.
            let _ = self.release(key, tap);
        }
        down
    }

    /// Releases a key. Releasing what is up does nothing.
    ///
    /// # Errors
    /// [`SeatFault`].
    pub(in super::super) fn release(&mut self, key: &Key, tap: &dyn Tap) -> Result<(), SeatFault> {
        let Some(place) = self.pressed.iter().position(|pressed| pressed.key == *key) else { return Ok(()) };
        let pressed = self.pressed.remove(place);
        let up = release([pressed.code].into_iter().chain(pressed.with.iter().rev().copied()), tap);
        self.let_go(pressed.code);
        // Modifiers mean the same in every group.
        let others = self.pressed.iter().any(|pressed| !matches!(pressed.key, Key::Modifier(_)));
        if others { up } else { up.and(self.restore(tap)) }
    }

    /// Sets the group and takes Caps Lock away where the key would give something else.
    fn set_state(&mut self, key: &Key, way: &Way, state: &State, tap: &dyn Tap) -> Result<(), SeatFault> {
        if matches!(key, Key::Modifier(_) | Key::CapsLock) {
            return Ok(());
        }
        let gives = |mods: Mods| self.map.symbol(way.code, way.group, way.mods | mods) == Some(way.symbol);
        let unlock = if gives(state.locked) { 0 } else { state.locked & !self.map.num_lock() };
        let group = Some((state.locked_group, way.group)).filter(|_| way.group != state.group);
        // An entry of our own is the same in all groups, and the keymap that we have read does not know it.
        if self.entries.taken().contains(&way.code) || (unlock == 0 && group.is_none()) {
            return Ok(());
        }
        self.alter(unlock, group, tap)
    }

    /// Gives a key an entry of our own.
    fn make(&mut self, key: &Key, state: &State, tap: &dyn Tap) -> Result<Way, SeatFault> {
        let missing = || SeatFault::Unsupported(format!("the keyboard has no key {}", name(key)));
        let symbol = symbols(key).first().copied().ok_or_else(missing)?;
        // Answers are listened for until the entry is taken away.
        self.server.listen(true)?;
        self.look_at_target(tap)?;
        let code = match self.entries.find(symbol) {
            Some(code) => code,
            None => {
                let (places, after) = self.entries.places(&[symbol], &[]);
                let until = Instant::now() + HANDLED;
                while !self.is_handled(after, LOOK, tap)? && Instant::now() < until {}
                let (code, _) = *places.first().ok_or_else(missing)?;
                self.put(&places, tap)?;
                code
            }
        };
        let way = Way { code, group: state.group, mods: 0, symbol };
        // A modifier is one only if the server makes it one, which the keymap tells.
        let works = !matches!(key, Key::Modifier(_)) || self.server.keymap()?.set_by(&[code], state.group) != 0;
        if works { Ok(way) } else { Err(missing()) }
    }
}

/// Finds the key that is meant.
fn find(map: &Keymap, key: &Key, state: &State) -> Option<Way> {
    let plain = |way: &Way| way.mods == 0;
    let here = |way: &Way| (way.group != state.group, way.group, way.mods.count_ones(), way.code);
    match key {
        Key::Modifier(_) => symbols(key).iter().find_map(|symbol| {
            let code = map.modifier(*symbol, state.group)?;
            Some(Way { code, group: state.group, mods: 0, symbol: *symbol })
        }),
        Key::Character(letter) => {
            let best = map.ways_to(*letter).filter(plain).min_by_key(here);
            best.or_else(|| map.ways_to(*letter).min_by_key(here))
        }
        Key::Space => map.ways_to(' ').filter(plain).min_by_key(here),
        Key::Function(_)
        | Key::Enter
        | Key::Tab
        | Key::Escape
        | Key::Up
        | Key::Down
        | Key::Left
        | Key::Right
        | Key::PageUp
        | Key::PageDown
        | Key::Home
        | Key::End
        | Key::Backspace
        | Key::Delete
        | Key::Insert
        | Key::CapsLock => symbols(key).iter().find_map(|symbol| map.ways(*symbol).filter(plain).min_by_key(here)),
    }
}

/// Returns the symbols that mean a key, the usual one first.
fn symbols(key: &Key) -> Vec<u32> {
    match key {
        Key::Modifier(Modifier::Shift) => vec![key::Shift_L, key::Shift_R],
        Key::Modifier(Modifier::Ctrl) => vec![key::Control_L, key::Control_R],
        Key::Modifier(Modifier::Alt) => vec![key::Alt_L, key::Alt_R, key::Meta_L],
        Key::Modifier(Modifier::Super) => vec![key::Super_L, key::Super_R],
        Key::Character(letter) => vec![symbol_of(*letter)],
        Key::Function(number) => vec![key::F1 + u32::from(number.saturating_sub(1))],
        Key::Enter => vec![key::Return],
        Key::Tab => vec![key::Tab],
        Key::Escape => vec![key::Escape],
        Key::Space => vec![key::space],
        Key::Up => vec![key::Up],
        Key::Down => vec![key::Down],
        Key::Left => vec![key::Left],
        Key::Right => vec![key::Right],
        Key::PageUp => vec![key::Page_Up],
        Key::PageDown => vec![key::Page_Down],
        Key::Home => vec![key::Home],
        Key::End => vec![key::End],
        Key::Backspace => vec![key::BackSpace],
        Key::Delete => vec![key::Delete],
        Key::Insert => vec![key::Insert],
        Key::CapsLock => vec![key::Caps_Lock],
    }
}

/// Names a key for a fault.
fn name(key: &Key) -> String {
    if let Key::Character(letter) = key {
        letter.to_string()
    } else if let Key::Function(number) = key {
        format!("F{number}")
    } else if let Key::Modifier(modifier) = key {
        modifier.name().to_owned()
    } else {
        format!("{key:?}").to_lowercase()
    }
}
