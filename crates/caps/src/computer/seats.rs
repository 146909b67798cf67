//! The parts of the seat, each opened when it is first needed and again after its display was lost.

use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_os::seat::app::Apps;
use drawbridge_os::seat::clipboard::Clipboard;
use drawbridge_os::seat::input::Input;
use drawbridge_os::seat::screen::Screen;
use drawbridge_os::seat::window::Windows;
use drawbridge_os::seat::{self, Seat, SeatFault};

type Open<T> = fn(&Seat) -> Result<Box<T>, SeatFault>;

/// One part of the seat.
struct Part<T: ?Sized> {
    open: Open<T>,
    opened: Mutex<Option<Arc<T>>>,
}

impl<T: ?Sized> Part<T> {
    fn new(open: Open<T>) -> Self {
        Self { open, opened: Mutex::new(None) }
    }

    fn get(&self, seat: &Seat) -> Result<Arc<T>, SeatFault> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = &*opened {
            return Ok(part.clone());
        }
        let part: Arc<T> = Arc::from((self.open)(seat)?);
        Ok(opened.insert(part).clone())
    }

    fn opened(&self) -> Option<Arc<T>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn forget(&self) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The parts of one seat.
pub(super) struct Seats {
    seat: Seat,
    screen: Part<dyn Screen>,
    input: Part<dyn Input>,
    windows: Part<dyn Windows>,
    apps: Part<dyn Apps>,
    clipboard: Part<dyn Clipboard>,
}

impl Seats {
    pub(super) fn new(seat: Seat) -> Self {
        Self {
            seat,
            screen: Part::new(seat::screen::open),
            input: Part::new(seat::input::open),
            windows: Part::new(seat::window::open),
            apps: Part::new(seat::app::open),
            clipboard: Part::new(seat::clipboard::open),
        }
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }

    pub(super) fn screen(&self) -> Result<Arc<dyn Screen>, SeatFault> {
        self.screen.get(&self.seat)
    }

    pub(super) fn input(&self) -> Result<Arc<dyn Input>, SeatFault> {
        self.input.get(&self.seat)
    }

    pub(super) fn windows(&self) -> Result<Arc<dyn Windows>, SeatFault> {
        self.windows.get(&self.seat)
    }

    pub(super) fn apps(&self) -> Result<Arc<dyn Apps>, SeatFault> {
        self.apps.get(&self.seat)
    }

    pub(super) fn clipboard(&self) -> Result<Arc<dyn Clipboard>, SeatFault> {
        self.clipboard.get(&self.seat)
    }

    /// Releases what is held, without opening anything for it.
    pub(super) fn release_all(&self) {
        if let Some(input) = self.input.opened()
            && let Err(fault) = input.release_all()
        {
            tracing::debug!(%fault, "nothing could be released: the display is gone");
        }
    }

    /// Tells how long ago the person used pointer or keyboard, as far as somebody looks already.
    pub(super) fn person_acted(&self) -> Option<std::time::Duration> {
        self.input.opened()?.person_acted()
    }

    /// Closes what looks at the seat, after a quiet time. The clipboard stays: what was written there would go with it.
    pub(super) fn rest(&self) {
        self.input.forget();
        self.windows.forget();
        self.screen.forget();
    }

    /// Forgets every connection after a display was lost, so that the next operation makes new ones. Not the clipboard's: as long
    /// as that one works, what was put there must not go with it.
    pub(super) fn forget(&self) {
        self.screen.forget();
        self.input.forget();
        self.windows.forget();
        self.apps.forget();
    }

    /// Gives up the clipboard: what we hold goes to a clipboard manager if there is one. Takes two seconds at most.
    pub(super) fn forget_clipboard(&self) {
        self.clipboard.forget();
    }
}
