//! Pointer and keyboard of an X server: XTEST for what is sent, XInput2 for what the person does.
//!
//! Deliberately absent: whose window it is, how long a click lasts, and whether the person is in the way; callers decide that.

mod expected;
mod hand;
mod keyboard;
mod person;
mod pointer;
mod tap;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use drawbridge_core::computer::{Button, Direction, Key, Modifier, Point};
use x11rb::connection::Connection as _;
use x11rb::protocol::xtest::ConnectionExt as _;

use super::{Held, Input, TypeFault};
use crate::seat::x11::{PATIENCE, connect};
use crate::seat::{Seat, SeatFault};
use expected::Expected;
use hand::{Hand, Part};
use keyboard::Keyboard;
use person::Person;

pub(super) use watch::watch_main;

/// How often lent entries of the keymap are looked at, while there are any.
const TIDY_EVERY: Duration = Duration::from_secs(1);

/// Pointer and keyboard of one display.
pub(super) struct X11Input {
    hand: Arc<Hand>,
    keyboard: Arc<Mutex<Keyboard>>,
    person: Person,
}

impl X11Input {
    /// Connects. What is held for `longest` is released.
    pub(super) fn open(seat: &Seat, longest: Duration) -> Result<Self, SeatFault> {
        let (x, screen) = connect(seat, Some(PATIENCE))?;
        let gone = || SeatFault::NoDisplay("the display has no such screen".to_owned());
        let root = x.setup().roots.get(screen).ok_or_else(gone)?.root;
        x.xtest_get_version(2, 2)?.reply()?;
        let expected = Arc::new(Expected::default());
        let hand = Arc::new(Hand::new(seat.clone(), x, root, Arc::clone(&expected)));
        let keyboard = Arc::new(Mutex::new(Keyboard::new(seat)?));
        let person = Person::watch(seat, &hand, &expected, longest, tidying(&keyboard, &hand))?;
        Ok(Self { hand, keyboard, person })
    }

    fn keyboard(&self) -> MutexGuard<'_, Keyboard> {
        self.keyboard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes lent entries of the keymap away once they are not needed any more.
fn tidying(keyboard: &Arc<Mutex<Keyboard>>, hand: &Arc<Hand>) -> person::Chores {
    let (keyboard, hand) = (Arc::clone(keyboard), Arc::clone(hand));
    Box::new(move || {
        // Whoever has it now types, and may leave something to tidy up.
        let Ok(mut keyboard) = keyboard.try_lock() else { return Some(TIDY_EVERY) };
        if let Err(fault) = keyboard.idle(&*hand) {
            tracing::debug!(%fault, "the keymap could not be tidied up");
            return None;
        }
        keyboard.has_entries().then_some(TIDY_EVERY)
    })
}

impl Input for X11Input {
    fn move_to(&self, at: Point) -> Result<(), SeatFault> {
        pointer::move_to(&self.hand, at)
    }

    fn button(&self, button: Button, down: bool) -> Result<(), SeatFault> {
        pointer::button(&self.hand, button, down)
    }

    fn scroll(&self, direction: Direction, steps: u32) -> Result<(), SeatFault> {
        pointer::scroll(&self.hand, direction, steps)
    }

    fn modifier(&self, modifier: Modifier, down: bool) -> Result<(), SeatFault> {
        self.key(&Key::Modifier(modifier), down)
    }

    fn key(&self, key: &Key, down: bool) -> Result<(), SeatFault> {
        let mut keyboard = self.keyboard();
        if down { keyboard.press(key, &*self.hand) } else { keyboard.release(key, &*self.hand) }
    }

    fn type_text(&self, text: &str, go_on: &mut dyn FnMut(usize) -> bool) -> Result<(), TypeFault> {
        self.keyboard().type_text(text, &*self.hand, go_on)
    }

    fn release_all(&self) -> Result<(), SeatFault> {
        let released = self.hand.release(|_| true);
        // One that types ends by itself and puts everything back.
        match self.keyboard.try_lock() {
            Ok(mut keyboard) => released.and(keyboard.settle(&*self.hand)),
            Err(TryLockError::Poisoned(broken)) => released.and(broken.into_inner().settle(&*self.hand)),
            Err(TryLockError::WouldBlock) => released,
        }
    }

    fn held(&self) -> Held {
        let down = self.hand.down();
        Held {
            buttons: down.iter().filter_map(|held| pointer::named(held.part)).collect(),
            keys: down.iter().filter(|held| matches!(held.part, Part::Key(_))).count(),
            since: down.iter().map(|held| held.since).min(),
        }
    }

    fn person_acted(&self) -> Option<Duration> {
        self.person.acted()
    }
}

impl Drop for X11Input {
    fn drop(&mut self) {
        if let Err(fault) = self.release_all() {
            tracing::debug!(%fault, "nothing could be released: the display is gone");
        }
        if let Err(fault) = self.keyboard().close(&*self.hand) {
            tracing::debug!(%fault, "the keymap could not be put back: the display is gone");
        }
    }
}
