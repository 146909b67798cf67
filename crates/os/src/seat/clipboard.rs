//! The clipboard.

use super::{Seat, SeatFault};

/// What the clipboard says about itself before anybody reads its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The formats offered, as the system names them. Empty: there is nothing.
    pub formats: Vec<String>,
    /// Text is among them.
    pub has_text: bool,
    /// The mark by which its owner says that it is secret (spec 10.8).
    pub concealed: Option<&'static str>,
    /// The system's count of changes, where it has one.
    pub counter: Option<u64>,
    /// What it holds was put there by us.
    pub ours: bool,
}

/// Everything that was in the clipboard, to be put back. Never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Each format with its bytes.
    pub formats: Vec<(String, Vec<u8>)>,
}

/// What others put there never reaches a log.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({} formats)", self.formats.len())
    }
}

/// Reads and writes the clipboard. What was written stays there as long as this lives, and beyond where a clipboard manager or the
/// system keeps it.
pub trait Clipboard: Send + Sync {
    /// Looks without reading content.
    ///
    /// # Errors
    /// [`SeatFault::NoAnswer`] when the owner hangs.
    fn look(&self) -> Result<Look, SeatFault>;

    /// Reads the text.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when there is no text; [`SeatFault::TooLarge`]; [`SeatFault::NoAnswer`].
    fn read_text(&self, max_bytes: u64) -> Result<String, SeatFault>;

    /// Puts a text there, marked so that clipboard histories leave it out, and returns once another program could read it.
    ///
    /// # Errors
    /// [`SeatFault`] when it is not there then.
    fn write_text(&self, text: &str) -> Result<(), SeatFault>;

    /// Takes everything that is there, in all formats.
    ///
    /// # Errors
    /// [`SeatFault::TooLarge`], [`SeatFault::NoAnswer`]: then nothing can be put back.
    fn keep(&self, max_bytes: u64) -> Result<Kept, SeatFault>;

    /// Puts back what was kept, in all formats, or clears the clipboard when there was nothing.
    ///
    /// # Errors
    /// [`SeatFault`]; then what we wrote is still there.
    fn put_back(&self, kept: &Kept) -> Result<(), SeatFault>;
}

/// Opens the clipboard of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where there is none, with the reason; [`SeatFault::NoDisplay`].
pub fn open(seat: &Seat) -> Result<Box<dyn Clipboard>, SeatFault> {
    Err(SeatFault::Unsupported(format!("the clipboard of {:?} cannot be used", seat.kind)))
}
