//! The hand: every key and button goes through it, so it knows what is down, tells the watchdog first, and lets go of everything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT,
    MOTION_NOTIFY_EVENT, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::expected::{Act, Expected};
use super::tap::{Debt, Tap};
use super::watch::{Owed, Watchdog};
use crate::seat::x11::Connection;
use crate::seat::{Seat, SeatFault};

/// What can be held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A key, by its code.
    Key(u8),
    /// A button, by its number.
    Button(u8),
}

impl Part {
    fn act(self, down: bool) -> Act {
        match self {
            Self::Key(code) => Act::Key { code, down },
            Self::Button(number) => Act::Button { number, down },
        }
    }
}

/// Something that is down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Down {
    /// What.
    pub(super) part: Part,
    /// When it was pressed.
    pub(super) since: Instant,
}

#[derive(Default)]
struct State {
    /// In the order of pressing.
    down: Vec<Down>,
    debt: Debt,
    /// What the watchdog knows: at least what is down and the debt.
    told: Owed,
    watchdog: Option<Watchdog>,
}

/// Sends to one display and remembers what it must undo.
pub(super) struct Hand {
    seat: Seat,
    x: Connection,
    root: Window,
    expected: Arc<Expected>,
    state: Mutex<State>,
}

impl Hand {
    pub(super) fn new(seat: Seat, x: Connection, root: Window, expected: Arc<Expected>) -> Self {
        Self { seat, x, root, expected, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is down, in the order of pressing.
    pub(super) fn down(&self) -> Vec<Down> {
        self.state().down.clone()
    }

    /// Presses or releases; what is so already stays so. Sent with the next wait.
    pub(super) fn set(&self, part: Part, down: bool) -> Result<(), SeatFault> {
        let mut state = self.state();
        match (state.down.iter().position(|held| held.part == part), down) {
            (None, true) => {
                self.promise(&mut state, |owed| match part {
                    Part::Key(code) => owed.key(code),
                    Part::Button(number) => owed.button(number),
                })?;
                state.down.push(Down { part, since: Instant::now() });
                self.send(part.act(true), 0, 0)
            }
            (Some(place), false) => {
                state.down.remove(place);
                self.send(part.act(false), 0, 0)
            }
            (Some(_), true) | (None, false) => Ok(()),
        }
    }

    /// Moves the pointer to a point of the root window. Sent with the next wait.
    pub(super) fn move_to(&self, x: i16, y: i16) -> Result<(), SeatFault> {
        self.send(Act::Motion, x, y)
    }

    /// Lets go of what is meant, the last pressed first, and waits until the server has done it. Afterwards it counts as up also
    /// when the server is gone.
    pub(super) fn release(&self, meant: impl Fn(Part) -> bool) -> Result<(), SeatFault> {
        let mut state = self.state();
        let (up, stay) = state.down.iter().partition::<Vec<Down>, _>(|held| meant(held.part));
        state.down = stay;
        if up.is_empty() {
            return Ok(());
        }
        up.iter().rev().try_for_each(|held| self.send(held.part.act(false), 0, 0))?;
        drop(state);
        self.settle()
    }

    /// Waits until the server has done everything that was sent.
    pub(super) fn settle(&self) -> Result<(), SeatFault> {
        self.x.get_input_focus()?.reply()?;
        let mut refused = None;
        while let Some(event) = self.x.poll_for_event()? {
            if let Event::Error(fault) = event {
                refused = Some(fault.error_kind);
            }
        }
        let mut state = self.state();
        if state.down.is_empty() && state.debt == Debt::default() && state.told != Owed::default() {
            let nothing = Owed::default();
            // One that cannot be told will only release once more what is up.
            let told = state.watchdog.as_mut().is_some_and(|watchdog| watchdog.tell(&nothing).is_ok());
            if told {
                state.told = nothing;
            }
        }
        match refused {
            Some(kind) => Err(SeatFault::Other(format!("the display server refused: {kind:?}"))),
            None => Ok(()),
        }
    }

    /// Makes the watchdog know of something more before it comes to be.
    fn promise(&self, state: &mut State, add: impl Fn(&mut Owed)) -> Result<(), SeatFault> {
        let alive = state.watchdog.as_mut().is_some_and(Watchdog::is_alive);
        if !alive {
            state.watchdog = None;
        }
        let mut owed = state.told.clone();
        add(&mut owed);
        if alive && owed == state.told {
            return Ok(());
        }
        let watchdog = match state.watchdog.take() {
            Some(watchdog) => watchdog,
            None => Watchdog::start(&self.seat)?,
        };
        state.watchdog.insert(watchdog).tell(&owed)?;
        state.told = owed;
        Ok(())
    }

    fn send(&self, act: Act, x: i16, y: i16) -> Result<(), SeatFault> {
        let (kind, detail) = match act {
            Act::Key { code, down: true } => (KEY_PRESS_EVENT, code),
            Act::Key { code, down: false } => (KEY_RELEASE_EVENT, code),
            Act::Button { number, down: true } => (BUTTON_PRESS_EVENT, number),
            Act::Button { number, down: false } => (BUTTON_RELEASE_EVENT, number),
            Act::Motion => (MOTION_NOTIFY_EVENT, 0),
        };
        self.expected.sent(act, Instant::now());
        self.x.xtest_fake_input(kind, detail, 0, self.root, x, y, 0)?;
        Ok(())
    }
}

impl Tap for Hand {
    fn key(&self, code: u8, down: bool) -> Result<(), SeatFault> {
        self.set(Part::Key(code), down)
    }

    fn flush(&self) -> Result<(), SeatFault> {
        self.settle()
    }

    fn owe(&self, debt: &Debt) -> Result<(), SeatFault> {
        let mut state = self.state();
        if state.debt != *debt {
            self.promise(&mut state, |owed| owed.debt(debt))?;
            state.debt = debt.clone();
        }
        Ok(())
    }

    fn held_codes(&self) -> Vec<u8> {
        let code = |held: Down| match held.part {
            Part::Key(code) => Some(code),
            Part::Button(_) => None,
        };
        self.down().into_iter().filter_map(code).collect()
    }
}
