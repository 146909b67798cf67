//! Displays and what is on them.

use drawbridge_core::computer::{Point, Rect};

use super::{Seat, SeatFault};

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
    /// of that monitor: `scale` times as many each way.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when the rectangle is on no display any more.
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
}

/// Opens the displays of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where nothing can be seen by this way, with the reason; [`SeatFault::NoDisplay`].
pub fn open(seat: &Seat) -> Result<Box<dyn Screen>, SeatFault> {
    Err(SeatFault::Unsupported(format!("pictures of {:?} cannot be taken", seat.kind)))
}
