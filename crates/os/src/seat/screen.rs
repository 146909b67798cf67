//! Displays and what is on them.

use drawbridge_core::computer::{Point, Rect};

use super::{Seat, SeatFault, SeatKind};

#[cfg(target_os = "linux")]
mod pixel_format;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod x11;

/// One display, as the system tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Monitor {
    /// The system's name for it, for logs.
    pub name: String,
    /// It is the primary one.
    pub primary: bool,
    /// Where it lies, in wire units.
    pub rect: Rect,
    /// In hardware pixels.
    pub physical_size: (u32, u32),
    /// In its own units.
    pub logical_size: (u32, u32),
    /// Hardware pixels per unit.
    pub scale: f64,
}

/// Pixels, row by row from the top, four bytes each: blue, green, red, and one that means nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `4 * width * height` bytes.
    pub bgrx: Vec<u8>,
}

/// What is on the screen never reaches a log.
impl std::fmt::Debug for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pixels({} × {})", self.width, self.height)
    }
}

/// The pointer as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorImage {
    /// The point that it points at, in wire units.
    pub at: Point,
    /// Where that point is in the image, in hardware pixels from its top left.
    pub hot_spot: (u32, u32),
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Four bytes a pixel: blue, green, red, alpha; colours are multiplied by alpha already.
    pub bgra: Vec<u8>,
}

/// Looks at the displays.
pub trait Screen: Send + Sync {
    /// Returns the displays that are on at this moment, in the system's order.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn monitors(&self) -> Result<Vec<Monitor>, SeatFault>;

    /// Takes the pixels of a rectangle that lies inside one monitor (X11: anywhere on the virtual desktop), in hardware pixels
    /// of that monitor: `scale` times as many each way, so exactly the rectangle's size on X11.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when a part of the rectangle is on no display any more, or it is empty.
    fn grab(&self, area: Rect) -> Result<Pixels, SeatFault>;

    /// Returns the pointer's image; none when the system shows none.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn cursor(&self) -> Result<Option<CursorImage>, SeatFault>;

    /// Returns where the pointer is.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn pointer(&self) -> Result<Point, SeatFault>;

    /// Tells whether the system has switched the displays off, or shows nothing in order to spare them.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn asleep(&self) -> Result<bool, SeatFault>;
}

/// Opens the displays of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where nothing can be seen by this way, with the reason; [`SeatFault::NoDisplay`].
pub fn open(seat: &Seat) -> Result<Box<dyn Screen>, SeatFault> {
    match seat.kind {
        #[cfg(target_os = "linux")]
        SeatKind::X11 => Ok(Box::new(x11::X11Screen::open(seat)?)),
        #[cfg(not(target_os = "linux"))]
        SeatKind::X11 => Err(SeatFault::Unsupported("this system has no X server that this version can use".to_owned())),
        SeatKind::Wayland => Err(SeatFault::Unsupported(
            "this is a Wayland session, where programs see the screen through the desktop's portal alone, which this version \
             does not use; sign in to an X11 session instead"
                .to_owned(),
        )),
        SeatKind::Wsl => Err(SeatFault::Unsupported(
            "Linux inside Windows does not see the screen of Windows; run Drawbridge for Windows instead".to_owned(),
        )),
        #[cfg(any(windows, target_os = "macos"))]
        SeatKind::MacOs | SeatKind::Windows => Ok(Box::new(super::native::screen::NativeScreen::open()?)),
        #[cfg(not(any(windows, target_os = "macos")))]
        SeatKind::MacOs | SeatKind::Windows => {
            Err(SeatFault::Unsupported("this version cannot take pictures on this system".to_owned()))
        }
        SeatKind::None => Err(SeatFault::NoDisplay("no display is named; start Drawbridge in a desktop session".to_owned())),
    }
}
