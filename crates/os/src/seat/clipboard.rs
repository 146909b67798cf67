//! The clipboard.
//!
//! Who may read what is not decided here: a look tells whose content it is and whether it is marked as secret, and content that is
//! marked is never asked for by [`Clipboard::read_text`]. The primary selection of X11 and Wayland (what is selected) is left alone.

#[cfg(target_os = "linux")]
mod text;
#[cfg(target_os = "linux")]
mod wayland;
#[cfg(target_os = "linux")]
mod x11;

use std::sync::Arc;
use std::time::Duration;

use super::{Seat, SeatFault, SeatKind};

/// The mark of password managers on Linux; our own writes carry it, too, so that clipboard histories leave them out.
pub const KDE_MARK: &str = "x-kde-passwordManagerHint";

/// What the clipboard says about itself before anybody reads its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The formats offered, as the system names them. Empty: there is nothing.
    pub formats: Vec<String>,
    /// Text is among them.
    pub has_text: bool,
    /// The mark by which somebody else says that it is secret (spec 10.8). None for what we wrote: that carries the mark only to
    /// stay out of histories.
    pub concealed: Option<&'static str>,
    /// The count of changes: the system's, or since this was opened.
    pub counter: Option<u64>,
    /// What it holds is a text that we wrote. What we put back is not.
    pub ours: bool,
}

/// A text and what the clipboard said about itself at that very moment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The look that belongs to the text.
    pub look: Look,
    /// None when there is no text, or when it is marked as secret: then nobody asked for it.
    pub text: Option<String>,
}

/// What others put there never reaches a log.
impl std::fmt::Debug for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Found({:?}, {} bytes)", self.look, self.text.as_ref().map_or(0, String::len))
    }
}

/// One format of what was in the clipboard.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptFormat {
    /// The format, as the system names it.
    pub name: String,
    /// The type under which it was handed out; on most systems the format again.
    pub kind: String,
    /// Bits of one unit: 8, 16 or 32.
    pub unit_bits: u8,
    /// The content.
    pub bytes: Arc<[u8]>,
}

/// Everything that was in the clipboard, to be put back. Never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Each format; marks for secrets are among them.
    pub formats: Vec<KeptFormat>,
    /// It was a text that we wrote.
    pub ours: bool,
}

/// What others put there never reaches a log.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({} formats)", self.formats.len())
    }
}

/// What came of putting back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutBack {
    /// It is there again, with the count of changes after it.
    Done {
        /// As in [`Look::counter`].
        counter: Option<u64>,
    },
    /// Somebody else has put something there since our write, so it was left alone.
    Changed,
}

/// Who has read what we wrote since [`Clipboard::expect_reader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The program with the keyboard, to the end.
    Target,
    /// Another program, to the end, and the one with the keyboard did not. It may have done so for it.
    Another,
    /// Somebody who is still at it.
    Reading,
    /// Nobody.
    Nobody,
    /// This system does not tell.
    Unknown,
}

/// Reads and writes the clipboard. What was written stays there as long as this lives, and beyond where a clipboard manager or the
/// system keeps it. Dropping it may take two seconds, while a clipboard manager takes over.
pub trait Clipboard: Send + Sync {
    /// Looks without reading content.
    ///
    /// # Errors
    /// [`SeatFault::NoAnswer`] when the owner hangs.
    fn look(&self) -> Result<Look, SeatFault>;

    /// Reads the text, unless it is marked as secret by somebody else. What is not valid in its own encoding is replaced by
    /// U+FFFD, zero bytes at the end are cut off.
    ///
    /// # Errors
    /// [`SeatFault::TooLarge`], before memory is used for it; [`SeatFault::NoAnswer`]; [`SeatFault::Gone`] when the owner goes away
    /// in the middle; [`SeatFault::Other`] when what it sends is no text.
    fn read_text(&self, max_bytes: u64) -> Result<Found, SeatFault>;

    /// Puts a text there, marked so that clipboard histories leave it out, and returns once another program could read it, with the
    /// count of changes after it.
    ///
    /// # Errors
    /// [`SeatFault`] when it is not there then.
    fn write_text(&self, text: &str) -> Result<Option<u64>, SeatFault>;

    /// Takes everything that is there, in all formats, also what is marked as secret.
    ///
    /// # Errors
    /// [`SeatFault::TooLarge`], [`SeatFault::NoAnswer`]: then nothing can be put back.
    fn keep(&self, max_bytes: u64) -> Result<Kept, SeatFault>;

    /// Puts back what was kept, in all formats with their marks, or clears the clipboard when there was nothing; but only if what
    /// it holds is still the text that we wrote last, or if `seen` is the present count of changes: at that count the caller has
    /// found that very text in the hands of another program. Some editors take over what is pasted into them.
    ///
    /// # Errors
    /// [`SeatFault`]; then what we wrote is still there.
    fn put_back(&self, kept: &Kept, seen: Option<u64>) -> Result<PutBack, SeatFault>;

    /// Begins to watch who reads what we wrote; right before the paste chord.
    ///
    /// # Errors
    /// [`SeatFault::NoDisplay`].
    fn expect_reader(&self) -> Result<(), SeatFault>;

    /// Waits until the program that has the keyboard has read it to its end, for `limit` at most, and tells how far it is.
    ///
    /// # Errors
    /// [`SeatFault::NoDisplay`].
    fn await_reader(&self, limit: Duration) -> Result<Reader, SeatFault>;
}

/// Opens the clipboard of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where there is none, with the reason; [`SeatFault::NoDisplay`].
pub fn open(seat: &Seat) -> Result<Box<dyn Clipboard>, SeatFault> {
    match seat.kind {
        #[cfg(target_os = "linux")]
        SeatKind::X11 => Ok(Box::new(x11::X11Clipboard::open(seat)?)),
        #[cfg(not(target_os = "linux"))]
        SeatKind::X11 => Err(SeatFault::Unsupported("X11 is used on Linux only".to_owned())),
        #[cfg(target_os = "linux")]
        SeatKind::Wayland => Ok(Box::new(wayland::WaylandClipboard::open()?)),
        #[cfg(not(target_os = "linux"))]
        SeatKind::Wayland => Err(SeatFault::Unsupported("Wayland is used on Linux only".to_owned())),
        SeatKind::Wsl => Err(SeatFault::Unsupported("a Linux inside Windows has no clipboard of its own".to_owned())),
        #[cfg(any(windows, target_os = "macos"))]
        SeatKind::MacOs | SeatKind::Windows => Ok(Box::new(super::native::clipboard::NativeClipboard::open()?)),
        #[cfg(not(any(windows, target_os = "macos")))]
        SeatKind::MacOs | SeatKind::Windows => {
            Err(SeatFault::Unsupported("this version cannot use the clipboard of this system".to_owned()))
        }
        SeatKind::None => Err(SeatFault::Unsupported("there is no display, so there is no clipboard".to_owned())),
    }
}
