//! Pointer and keyboard.

#[cfg(target_os = "linux")]
mod x11;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use drawbridge_core::computer::{Button, Direction, Key, Modifier, Point};

#[cfg(target_os = "linux")]
use super::SeatKind;
use super::{Seat, SeatFault};

/// What is held down by us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Buttons, in the order in which they were pressed.
    pub buttons: Vec<Button>,
    /// How many keys.
    pub keys: usize,
    /// When the first of them was pressed.
    pub since: Option<Instant>,
}

/// Why a text was not typed, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeFault {
    /// A character cannot be typed here; found before anything was pressed.
    Cannot {
        /// The first such character.
        character: char,
        /// Its number in the text, in characters from 0.
        index: usize,
        /// In plain words.
        why: String,
    },
    /// The caller's check ended it before this character.
    Stopped {
        /// Characters typed before.
        typed: usize,
    },
    /// The seat failed.
    Seat {
        /// Characters typed before, as far as is known.
        typed: usize,
        /// How.
        fault: SeatFault,
    },
}

/// Uses pointer and keyboard. What it holds down is released by [`Input::release_all`], when it is dropped, and when this process
/// ends in whatever way, `SIGKILL` included.
pub trait Input: Send + Sync {
    /// Moves the pointer.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn move_to(&self, at: Point) -> Result<(), SeatFault>;

    /// Presses or releases a button where the pointer is. Pressing what is down, or releasing what is up, does nothing.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn button(&self, button: Button, down: bool) -> Result<(), SeatFault>;

    /// Turns the wheel where the pointer is.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn scroll(&self, direction: Direction, steps: u32) -> Result<(), SeatFault>;

    /// Presses or releases a modifier.
    ///
    /// # Errors
    /// [`SeatFault::Unsupported`] when the keyboard has no such key.
    fn modifier(&self, modifier: Modifier, down: bool) -> Result<(), SeatFault>;

    /// Presses or releases a key, in whatever layout is set: [`Key::Character`] is the key that gives this character without
    /// modifiers in the first layout that has it.
    ///
    /// # Errors
    /// [`SeatFault::Unsupported`] when the keyboard has no such key.
    fn key(&self, key: &Key, down: bool) -> Result<(), SeatFault>;

    /// Types a text so that it arrives exactly. `go_on` is asked before each character with the number of those typed.
    ///
    /// # Errors
    /// [`TypeFault`]; after it nothing is held down.
    fn type_text(&self, text: &str, go_on: &mut dyn FnMut(usize) -> bool) -> Result<(), TypeFault>;

    /// Releases everything that is held down by us.
    ///
    /// # Errors
    /// [`SeatFault`] when the display is gone; then nothing is held either.
    fn release_all(&self) -> Result<(), SeatFault>;

    /// Tells what is held down by us.
    fn held(&self) -> Held;

    /// Tells how long ago the person used pointer or keyboard; none when they did not since this was opened. Our own acts do
    /// not count; those of another program do.
    fn person_acted(&self) -> Option<Duration>;
}

/// The first argument by which our own program knows that it is to watch over what is held; see [`watch_main`].
pub const WATCH_ARGUMENT: &str = "__watch_keys";

/// A held key or button without release is let go after this long (spec 10.4).
pub const LONGEST_HOLD: Duration = Duration::from_secs(10);

/// Opens pointer and keyboard of a seat. What is held for [`LONGEST_HOLD`] is released.
///
/// On X11 the first press starts this very program again to watch over what is held: `main` must call
/// [`crate::helper::run_if_asked`] first thing. Without it nothing can be pressed.
///
/// # Errors
/// [`SeatFault::Unsupported`] where input is not possible, with the reason; [`SeatFault::NoDisplay`];
/// [`SeatFault::Permission`].
pub fn open(seat: &Seat) -> Result<Box<dyn Input>, SeatFault> {
    open_with(seat, LONGEST_HOLD)
}

/// Opens pointer and keyboard of a seat. What is held for `longest` is released.
///
/// # Errors
/// As [`open`].
#[cfg(target_os = "linux")]
pub fn open_with(seat: &Seat, longest: Duration) -> Result<Box<dyn Input>, SeatFault> {
    match seat.kind {
        SeatKind::X11 => Ok(Box::new(x11::X11Input::open(seat, longest)?)),
        SeatKind::Wayland => Err(unsupported("a Wayland session lets no program use pointer and keyboard in this way")),
        SeatKind::Wsl => {
            Err(unsupported("Linux inside Windows does not reach the pointer and the keyboard of Windows"))
        }
        SeatKind::None => Err(SeatFault::NoDisplay("there is no display".to_owned())),
        SeatKind::MacOs | SeatKind::Windows => Err(unsupported("this program was built for another system")),
    }
}

/// Opens pointer and keyboard of a seat. What is held for `longest` is released.
///
/// # Errors
/// As [`open`].
#[cfg(not(target_os = "linux"))]
pub fn open_with(seat: &Seat, longest: Duration) -> Result<Box<dyn Input>, SeatFault> {
    #[cfg(any(windows, target_os = "macos"))]
    if matches!(seat.kind, super::SeatKind::MacOs | super::SeatKind::Windows) {
        return Ok(Box::new(super::native::input::NativeInput::open(longest)?));
    }
    let _ = (seat, longest);
    Err(unsupported("pointer and keyboard of this system cannot be used yet"))
}

fn unsupported(why: &str) -> SeatFault {
    SeatFault::Unsupported(why.to_owned())
}

/// Watches over what another process of this program holds: releases it when that one has died. Returns when all is done.
#[cfg(target_os = "linux")]
#[must_use]
pub fn watch_main() -> ExitCode {
    x11::watch_main()
}

/// Watches over what another process of this program holds. There is nothing to hold on this system yet.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn watch_main() -> ExitCode {
    ExitCode::FAILURE
}
