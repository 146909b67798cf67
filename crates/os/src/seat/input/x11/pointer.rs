//! The pointer: where it goes, which number a button has, and the wheel, which is four more buttons.

use drawbridge_core::computer::{Button, Direction, Point};

use super::hand::{Hand, Part};
use crate::seat::SeatFault;

/// Moves the pointer.
pub(super) fn move_to(hand: &Hand, at: Point) -> Result<(), SeatFault> {
    let (Ok(x), Ok(y)) = (i16::try_from(at.x), i16::try_from(at.y)) else {
        return Err(SeatFault::Other(format!("({}, {}) is farther away than a display reaches", at.x, at.y)));
    };
    hand.move_to(x, y)?;
    hand.settle()
}

/// Presses or releases a button.
pub(super) fn button(hand: &Hand, button: Button, down: bool) -> Result<(), SeatFault> {
    hand.set(Part::Button(number(button)), down)?;
    hand.settle()
}

/// Turns the wheel.
pub(super) fn scroll(hand: &Hand, direction: Direction, steps: u32) -> Result<(), SeatFault> {
    let wheel = Part::Button(match direction {
        Direction::Up => 4,
        Direction::Down => 5,
        Direction::Left => 6,
        Direction::Right => 7,
    });
    for _ in 0..steps {
        hand.set(wheel, true)?;
        hand.set(wheel, false)?;
    }
    hand.settle()
}

/// Returns the button that a number means; none for the wheel.
pub(super) fn named(part: Part) -> Option<Button> {
    match part {
        Part::Button(1) => Some(Button::Left),
        Part::Button(2) => Some(Button::Middle),
        Part::Button(3) => Some(Button::Right),
        Part::Button(_) | Part::Key(_) => None,
    }
}

const fn number(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
    }
}
