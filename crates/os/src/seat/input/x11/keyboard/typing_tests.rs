use std::cell::Cell;

use drawbridge_testkit::display::Display;
use x11rb::protocol::xproto::{ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::super::super::tap::Debt;
use super::*;
use crate::seat::Seat;
use crate::seat::x11::{Connection, PATIENCE, connect};

/// Sets another layout right before a press, after everything was looked at.
struct Switching<'a> {
    x: Connection,
    display: &'a Display,
    presses: Cell<u32>,
    before: u32,
    layouts: &'a str,
}

impl Tap for Switching<'_> {
    fn key(&self, code: u8, down: bool) -> Result<(), SeatFault> {
        if down && self.presses.replace(self.presses.get() + 1) == self.before {
            self.display.layout(self.layouts).unwrap();
        }
        let kind = if down { KEY_PRESS_EVENT } else { KEY_RELEASE_EVENT };
        self.x.xtest_fake_input(kind, code, 0, x11rb::NONE, 0, 0, 0)?;
        Ok(())
    }

    fn flush(&self) -> Result<(), SeatFault> {
        self.x.get_input_focus()?.reply()?;
        Ok(())
    }

    fn owe(&self, _: &Debt) -> Result<(), SeatFault> {
        Ok(())
    }

    fn held_codes(&self) -> Vec<u8> {
        Vec::new()
    }
}

#[test]
fn a_layout_that_changes_between_the_look_and_the_press_is_told_where_it_makes_another_character() {
    for (text, layouts, typed) in [
        // On the key of z there is y on a German keyboard; the rest is where it was.
        ("aaza", "de", Some(2)),
        ("aaaa", "de", None),
        // An entry of our own goes with the keymap that it was in.
        ("aa\u{4e2d}a", "de", Some(2)),
        ("aa\u{4e2d}a", "us", Some(2)),
    ] {
        let display = Display::start(64, 48).unwrap();
        display.layout("us").unwrap();
        let seat = Seat::x11(display.name());
        let (x, _) = connect(&seat, Some(PATIENCE)).unwrap();
        let mut keyboard = Keyboard::new(&seat).unwrap();
        let tap = Switching { x, display: &display, presses: Cell::new(0), before: 2, layouts };

        let outcome = keyboard.type_text(text, &tap, &mut |_| true);

        match (outcome, typed) {
            (Ok(()), None) => {}
            (Err(TypeFault::Seat { typed: told, fault }), Some(typed)) => {
                assert_eq!(told, typed, "{text:?} {layouts}");
                assert!(fault.to_string().contains("layout"), "{fault}");
            }
            other => panic!("{text:?} {layouts}: {other:?}"),
        }
        // What comes next is typed as the layout is now.
        assert_eq!(keyboard.type_text("z\u{4e2d}", &tap, &mut |_| true), Ok(()));
    }
}
