//! Clicks, and buttons that stay down between two operations.
//!
//! Toolkits count clicks by time and place: GTK and Qt take what follows within 400 ms (and within 800 ms of the first for a third
//! one), Windows within 500 ms. So the clicks of one operation follow each other quickly, and those of two operations are kept
//! apart by [`APART`] where they would be counted together. Where a person has set a slower pace than that, two single clicks in
//! one place can still count as a double one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::OpError;
use drawbridge_core::computer::{Button, Modifier, Point};

use super::hands::Hands;
use crate::computer::guard;

/// How long a button is down.
const BUTTON_DOWN: Duration = Duration::from_millis(15);
/// Between the clicks of a double or triple one.
const BETWEEN: Duration = Duration::from_millis(40);
/// Clicks this far apart in time are never counted together.
const APART: Duration = Duration::from_millis(500);
/// Clicks this far apart on the screen are never counted together, in wire units.
const FAR: u32 = 10;

/// What later operations must know of earlier ones.
#[derive(Debug, Default)]
pub(in super::super) struct Memory(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    last: Option<LastClick>,
    /// Buttons that an operation left down.
    down: Vec<Button>,
}

/// The last click.
#[derive(Debug, Clone, Copy)]
struct LastClick {
    at: Point,
    button: Button,
    /// When another one does not count together with it any more.
    over: Instant,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, at: Point, button: Button, count: u8, first_pressed: Instant) {
        // A third click is counted from the first one, for twice as long.
        let over = first_pressed + if count == 2 { APART * 2 } else { APART + BETWEEN * 4 };
        self.lock().last = Some(LastClick { at, button, over });
    }

    /// Returns how long a click has to wait so that it is one of its own.
    fn apart(&self, at: Point, button: Button, now: Instant) -> Duration {
        let near = |last: &LastClick| at.x.abs_diff(last.at.x) < FAR && at.y.abs_diff(last.at.y) < FAR;
        let last = self.lock().last;
        let last = last.filter(|last| last.button == button && near(last));
        last.map_or(Duration::ZERO, |last| last.over.saturating_duration_since(now))
    }
}

impl Hands<'_> {
    pub(super) fn click(&self, at: Point, button: Button, count: u8, modifiers: &[Modifier]) -> Result<(), OpError> {
        self.is_up(button)?;
        guard::may_touch(self.inner, self.job, at)?;
        self.apart(at, button)?;
        self.input.move_to(at).map_err(|fault| self.told(fault))?;
        let mut pressed = self.pressing();
        pressed.modifiers(modifiers)?;
        let first = Instant::now();
        for number in 0..count {
            if number > 0 {
                self.wait(BETWEEN, &mut || Ok(()))?;
            }
            self.press(at, button)?;
            self.stay(BUTTON_DOWN)?;
            self.release(button)?;
        }
        self.inner.input.note(at, button, count, first);
        pressed.release()
    }

    pub(super) fn down(&self, at: Point, button: Button) -> Result<(), OpError> {
        self.is_up(button)?;
        guard::may_touch(self.inner, self.job, at)?;
        self.apart(at, button)?;
        self.input.move_to(at).map_err(|fault| self.told(fault))?;
        self.press(at, button)?;
        self.inner.input.note(at, button, 1, Instant::now());
        self.inner.input.lock().down.push(button);
        Ok(())
    }

    pub(super) fn up(&self, at: Point, button: Button) -> Result<(), OpError> {
        let expected = {
            let mut memory = self.inner.input.lock();
            let before = memory.down.len();
            memory.down.retain(|down| *down != button);
            memory.down.len() < before
        };
        if expected && !self.input.held().buttons.contains(&button) {
            return Err(self.refused(format!(
                "the {} button was let go meanwhile: it was down for 10 seconds, or the person used the pointer; begin again, or use drag",
                button.name()
            )));
        }
        guard::may_touch(self.inner, self.job, at)?;
        self.input.move_to(at).map_err(|fault| self.told(fault))?;
        self.release(button)
    }

    /// Presses a button where the pointer is, after a last look at what is there.
    pub(super) fn press(&self, at: Point, button: Button) -> Result<(), OpError> {
        self.go_on()?;
        guard::may_touch(self.inner, self.job, at)?;
        self.input.button(button, true).map_err(|fault| self.told(fault))
    }

    /// Releases a button.
    pub(super) fn release(&self, button: Button) -> Result<(), OpError> {
        self.input.button(button, false).map_err(|fault| self.told(fault))
    }

    /// Refuses to press what is down.
    pub(super) fn is_up(&self, button: Button) -> Result<(), OpError> {
        if !self.input.held().buttons.contains(&button) {
            self.inner.input.lock().down.retain(|down| *down != button);
            return Ok(());
        }
        Err(self.refused(format!("the {} button was still down from mouse_down; it is released now", button.name())))
    }

    /// Waits until a click is not counted together with the one before.
    pub(super) fn apart(&self, at: Point, button: Button) -> Result<(), OpError> {
        let time = self.inner.input.apart(at, button, Instant::now());
        self.wait(time, &mut || Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clicks_that_would_be_counted_together_wait() {
        let (memory, now) = (Memory::default(), Instant::now());
        let at = Point::new(100, 100);
        assert_eq!(memory.apart(at, Button::Left, now), Duration::ZERO);

        memory.note(at, Button::Left, 1, now);

        assert!(memory.apart(Point::new(104, 97), Button::Left, now) >= APART);
        assert_eq!(memory.apart(Point::new(100, 110), Button::Left, now), Duration::ZERO);
        assert_eq!(memory.apart(at, Button::Right, now), Duration::ZERO);
        assert_eq!(memory.apart(at, Button::Left, now + APART * 2), Duration::ZERO);
    }

    #[test]
    fn after_a_double_click_a_third_one_waits_longer() {
        let (memory, now) = (Memory::default(), Instant::now());

        memory.note(Point::new(0, 0), Button::Left, 2, now);

        assert_eq!(memory.apart(Point::new(0, 0), Button::Left, now), APART * 2);
    }
}
