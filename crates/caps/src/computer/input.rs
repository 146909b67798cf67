//! Pointer and keyboard (spec 10.4).
//!
//! In this order: every point lies on a display; the screen is not locked; the person does not use pointer or keyboard right now;
//! and right before each press, the window that gets it is one that may be used. An operation that ends in any way but well leaves
//! nothing held, also what an earlier one left down. `wait` never comes here.
//!
//! The person goes first. While they act the agent's input waits a little and then gives up with `person_active`; typing, dragging and
//! holding stop at once. The order of checks and presses leaves one gap that no program can close: a window that comes up in the
//! moment between the look and the press.

mod clicks;
mod drag;
mod hands;
mod text;

use drawbridge_core::computer::{Chord, Direction, InputOp, Modifier, Point};
use drawbridge_core::{OpError, Outcome};

use super::seats::Seats;
use super::space::Space;
use super::{Inner, Job, faults, guard};
use hands::{Hands, KEY_DOWN};

pub(super) use clicks::Memory;

/// Steps of the wheel between two looks at what is beneath the pointer.
const SCROLL_AT_ONCE: u32 = 10;

/// Does one use of pointer or keyboard.
pub(super) fn act(inner: &Inner, op: &InputOp, job: &Job) -> Result<Outcome, OpError> {
    let mut letting_go = LettingGo { seats: &inner.seats, wanted: true };
    on_displays(inner, op)?;
    guard::unlocked(inner, op.feature())?;
    let hands = Hands::free(inner, job, op.feature())?;
    match op {
        InputOp::Click { at, button, count, modifiers } => hands.click(*at, *button, *count, modifiers),
        InputOp::Move { at } => hands.move_to(*at),
        InputOp::Down { at, button } => hands.down(*at, *button),
        InputOp::Up { at, button } => hands.up(*at, *button),
        InputOp::Drag { path, button, duration } => hands.drag(path, *button, *duration),
        InputOp::Type { text, paste, preserve_clipboard } => hands.write(text, paste.then_some(*preserve_clipboard)),
        InputOp::Key(chord) => hands.chord(chord, KEY_DOWN),
        InputOp::HoldKey { chord, duration } => hands.hold(chord, *duration),
        InputOp::Scroll { at, direction, amount, modifiers } => hands.scroll(*at, *direction, *amount, modifiers),
        InputOp::Wait { .. } => Ok(()),
    }?;
    letting_go.wanted = false;
    Ok(Outcome::Done)
}

/// Checks every point before anything is touched.
fn on_displays(inner: &Inner, op: &InputOp) -> Result<(), OpError> {
    let points = op.points();
    if points.is_empty() {
        return Ok(());
    }
    let told = |fault| faults::met(&inner.seats, op.feature(), fault);
    let monitors = inner.seats.screen().map_err(told)?.monitors().map_err(told)?;
    Space::of(monitors).check_all(&points)
}

/// Lets go of everything unless the operation ended well; also when it breaks off in the middle of our own code.
struct LettingGo<'a> {
    seats: &'a Seats,
    wanted: bool,
}

impl Drop for LettingGo<'_> {
    fn drop(&mut self) {
        if self.wanted {
            self.seats.release_all();
        }
    }
}

impl Hands<'_> {
    /// Moves the pointer. With a button down that is a drag, which ends wherever the button is let go, on whatever way: so it goes only
    /// where it may be let go.
    fn move_to(&self, at: Point) -> Result<(), OpError> {
        if !self.input.held().buttons.is_empty() {
            guard::may_touch(self.inner, self.job, at)?;
        }
        self.input.move_to(at).map_err(|fault| self.told(fault))
    }

    /// Presses a chord and releases it after a moment.
    fn chord(&self, chord: &Chord, down_for: std::time::Duration) -> Result<(), OpError> {
        guard::may_type(self.inner, self.job)?;
        let mut pressed = self.pressing();
        pressed.modifiers(&chord.modifiers)?;
        pressed.key(chord.key)?;
        self.stay(down_for)?;
        pressed.release()
    }

    /// Holds a chord. It repeats meanwhile like under a finger, so the window that gets it is looked at again and again.
    fn hold(&self, chord: &Chord, duration: std::time::Duration) -> Result<(), OpError> {
        guard::may_type(self.inner, self.job)?;
        let mut pressed = self.pressing();
        pressed.modifiers(&chord.modifiers)?;
        pressed.key(chord.key)?;
        self.wait(duration, &mut || guard::may_type(self.inner, self.job))?;
        pressed.release()
    }

    fn scroll(
        &self,
        at: Option<Point>,
        direction: Direction,
        amount: u32,
        modifiers: &[Modifier],
    ) -> Result<(), OpError> {
        let at = match at {
            Some(at) => {
                self.move_to(at)?;
                at
            }
            None => self.inner.seats.screen().and_then(|screen| screen.pointer()).map_err(|fault| self.told(fault))?,
        };
        guard::may_touch(self.inner, self.job, at)?;
        let mut pressed = self.pressing();
        pressed.modifiers(modifiers)?;
        let mut left = amount;
        while left > 0 {
            self.go_on()?;
            guard::may_touch(self.inner, self.job, at)?;
            let steps = left.min(SCROLL_AT_ONCE);
            self.input.scroll(direction, steps).map_err(|fault| self.told(fault))?;
            left -= steps;
        }
        pressed.release()
    }
}
