//! The clipboard: text through `arboard`; its count of changes, its marks and all of its formats through the system's own list.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[cfg(target_os = "macos")]
use arboard::SetExtApple as _;
#[cfg(windows)]
use arboard::SetExtWindows as _;

use crate::seat::SeatFault;
use crate::seat::clipboard::{Clipboard, Found, Kept, Look, PutBack, Reader};

#[cfg(target_os = "macos")]
#[path = "clipboard/macos.rs"]
mod system;
#[cfg(windows)]
#[path = "clipboard/windows.rs"]
mod system;

/// The clipboard of this computer.
pub(in crate::seat) struct NativeClipboard {
    /// The count of changes after our last write; none before, and none once it was put back.
    ours: Mutex<Option<u64>>,
}

impl NativeClipboard {
    pub(in crate::seat) fn open() -> Result<Self, SeatFault> {
        arboard::Clipboard::new().map_err(|fault| told(&fault))?;
        Ok(Self { ours: Mutex::default() })
    }

    fn is_ours(&self, counter: Option<u64>) -> bool {
        counter.is_some() && *self.ours.lock().unwrap_or_else(PoisonError::into_inner) == counter
    }

    fn set_ours(&self, counter: Option<u64>) {
        *self.ours.lock().unwrap_or_else(PoisonError::into_inner) = counter;
    }
}

fn told(fault: &arboard::Error) -> SeatFault {
    match fault {
        arboard::Error::ContentNotAvailable => SeatFault::Gone,
        arboard::Error::ClipboardOccupied => SeatFault::NoAnswer("the program that uses the clipboard"),
        other => SeatFault::Other(other.to_string()),
    }
}

impl Clipboard for NativeClipboard {
    fn look(&self) -> Result<Look, SeatFault> {
        let mut look = system::look()?;
        look.ours = self.is_ours(look.counter);
        if look.ours {
            look.concealed = None;
        }
        Ok(look)
    }

    fn read_text(&self, max_bytes: u64) -> Result<Found, SeatFault> {
        let look = self.look()?;
        if look.concealed.is_some() || !look.has_text {
            return Ok(Found { look, text: None });
        }
        system::text_fits(max_bytes)?;
        let text =
            arboard::Clipboard::new().and_then(|mut clipboard| clipboard.get_text()).map_err(|fault| told(&fault))?;
        // What came in between has marks of its own, which were not looked at.
        if system::look()?.counter != look.counter {
            return Err(SeatFault::Gone);
        }
        match u64::try_from(text.len()) {
            Ok(size) if size <= max_bytes => Ok(Found { look, text: Some(text) }),
            size => Err(SeatFault::TooLarge(size.unwrap_or(u64::MAX))),
        }
    }

    fn write_text(&self, text: &str) -> Result<Option<u64>, SeatFault> {
        let mut clipboard = arboard::Clipboard::new().map_err(|fault| told(&fault))?;
        let set = clipboard.set().exclude_from_history();
        #[cfg(windows)]
        let set = set.exclude_from_cloud();
        set.text(text).map_err(|fault| told(&fault))?;
        let counter = system::look()?.counter;
        self.set_ours(counter);
        Ok(counter)
    }

    fn keep(&self, max_bytes: u64) -> Result<Kept, SeatFault> {
        let ours = self.look()?.ours;
        Ok(Kept { formats: system::keep(max_bytes)?, ours })
    }

    fn put_back(&self, kept: &Kept, seen: Option<u64>) -> Result<PutBack, SeatFault> {
        let now = system::look()?.counter;
        if !self.is_ours(now) && (seen.is_none() || seen != now) {
            return Ok(PutBack::Changed);
        }
        system::put_back(&kept.formats)?;
        let counter = system::look()?.counter;
        self.set_ours(counter.filter(|_| kept.ours));
        Ok(PutBack::Done { counter })
    }

    fn expect_reader(&self) -> Result<(), SeatFault> {
        Ok(())
    }

    fn await_reader(&self, limit: Duration) -> Result<Reader, SeatFault> {
        // Nobody tells who reads. The program gets the time that it could need.
        std::thread::sleep(limit.min(Duration::from_millis(500)));
        Ok(Reader::Unknown)
    }
}
