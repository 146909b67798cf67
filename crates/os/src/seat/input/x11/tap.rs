//! What the keyboard is built on: key events that are counted, and changes that are put back whatever happens.
//!
//! Whoever changes something on the display says so here *before* the change, since the watchdog (see [`super::watch`]) can put
//! back only what it knows of. Nothing here knows layouts or characters; that is [`super::keyboard`].

use x11rb::rust_connection::RustConnection;

use crate::seat::SeatFault;

/// State of the keyboard that is changed for a while and put back afterwards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Locked {
    /// The locked group (layout), from 0.
    pub(super) group: u8,
    /// The locked modifiers (caps lock, num lock), as a mask of the core protocol.
    pub(super) modifiers: u8,
}

/// Presses keys and remembers what must be undone.
pub(super) trait Tap {
    /// The connection on which events are sent. Changes of the keyboard go through the same one, so that they keep their order.
    fn x(&self) -> &RustConnection;

    /// Presses or releases a key by its code, through XTEST. It is sent with the next flush or the next request that waits.
    /// Pressing what is down, or releasing what is up, does nothing.
    ///
    /// # Errors
    /// [`SeatFault`] when nothing was pressed: no display, or nothing that would release it if this program died.
    fn key(&self, code: u8, down: bool) -> Result<(), SeatFault>;

    /// Says which keys' entries of the keyboard map are on loan: all of them, each time; an empty list when the last one was put
    /// back. To be called before an entry is changed and after it is put back. Only keys without any symbol may be borrowed: an
    /// entry is put back by making it empty.
    ///
    /// # Errors
    /// [`SeatFault`]; then nothing may be changed.
    fn borrowed(&self, codes: &[u8]) -> Result<(), SeatFault>;

    /// Says what group and locked modifiers must be put back to. To be called before they are changed, and with none after they
    /// are put back.
    ///
    /// # Errors
    /// [`SeatFault`]; then nothing may be changed.
    fn locked(&self, before: Option<Locked>) -> Result<(), SeatFault>;
}
