//! What the keyboard needs of the one who presses: keys that are tracked, and a note of what must be put back.

use super::super::super::SeatFault;

/// What the keyboard has changed on the server and must put back, also when this process dies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Debt {
    /// Key codes with an entry of ours, to be emptied.
    pub(super) codes: Vec<u8>,
    /// The layout group (from 0) that was locked before, while we have locked another one.
    pub(super) group: Option<u8>,
    /// Modifiers (as in `ModMask`) that were locked before, while we have unlocked them.
    pub(super) locks: u8,
}

/// Presses keys for the keyboard. The one who implements it knows what is held.
pub(super) trait Tap {
    /// Presses or releases a key by XTEST: it is tracked, released when this process dies, and not taken for the person's.
    /// Sending is enough; [`Tap::flush`] waits.
    ///
    /// # Errors
    /// [`SeatFault::NoDisplay`] when the connection is gone.
    fn key(&self, code: u8, down: bool) -> Result<(), SeatFault>;

    /// Waits until the server has handled every key that was sent.
    ///
    /// # Errors
    /// [`SeatFault::NoDisplay`] when the connection is gone.
    fn flush(&self) -> Result<(), SeatFault>;

    /// Notes, before it is done, what has to be put back if this process dies. Each call replaces the note before it; an empty
    /// one means that nothing is owed.
    ///
    /// # Errors
    /// [`SeatFault`] when nobody could put it back; then it must not be done.
    fn owe(&self, debt: &Debt) -> Result<(), SeatFault>;

    /// Tells which key codes are held down by us.
    fn held_codes(&self) -> Vec<u8>;
}
