//! Windows: which there are, in which order they lie, which one has the keyboard.

#[cfg(target_os = "linux")]
pub(super) mod process;
#[cfg(target_os = "linux")]
mod text;
#[cfg(target_os = "linux")]
mod x11;

use std::time::Duration;

use drawbridge_core::computer::{Point, Rect};

use super::{Seat, SeatFault};

/// The system's own number of a window. Systems use numbers again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowHandle(pub u64);

/// Whose window it is. Enough to tell whether a handle still means the same window (spec 10.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The process, if the window tells.
    pub pid: Option<u32>,
    /// When that process started, in the system's own count.
    pub started: Option<u64>,
    /// Class of the window: the second part of `WM_CLASS` on X11, the class name on Windows, the bundle identifier on macOS.
    pub class: String,
    /// Instance name: the first part of `WM_CLASS`; empty elsewhere.
    pub instance: String,
    /// The program of that process, if it can be told.
    pub program: Option<std::path::PathBuf>,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatWindow {
    /// Its handle.
    pub handle: WindowHandle,
    /// Whose it is.
    pub owner: Owner,
    /// Its title as it is; from outside.
    pub title: String,
    /// Where it lies with its frame, in wire units.
    pub bounds: Rect,
    /// It has the keyboard.
    pub focused: bool,
    /// It is minimised.
    pub minimized: bool,
    /// It fills its screen.
    pub fullscreen: bool,
    /// It is drawn: mapped, on the current desktop, at least partly on a display.
    pub visible: bool,
    /// A menu, tooltip or panel rather than a window that a person would list.
    pub auxiliary: bool,
    /// The parts of the screen on which nothing behind it can be seen, in wire units. Empty for what may be see-through.
    pub covers: Vec<Rect>,
}

/// Looks at windows and gives them the keyboard.
pub trait Windows: Send + Sync {
    /// Returns everything that is drawn, also menus and panels, the hindmost first; then what is minimised or elsewhere.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn all(&self) -> Result<Vec<SeatWindow>, SeatFault>;

    /// Returns the window behind a handle.
    ///
    /// # Errors
    /// [`SeatFault::Gone`].
    fn one(&self, handle: WindowHandle) -> Result<SeatWindow, SeatFault>;

    /// Returns the window that has the keyboard, if one has.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn focused(&self) -> Result<Option<SeatWindow>, SeatFault>;

    /// Returns every window that may get what is typed now: the one that the system gives keys to, and the one that counts as
    /// active, which can differ.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn keyboard(&self) -> Result<Vec<SeatWindow>, SeatFault>;

    /// Returns a number that differs as soon as a window came, went, moved or changed its place in the order, or the keyboard
    /// went to another one. Cheap: may be asked before each character.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn mark(&self) -> Result<u64, SeatFault>;

    /// Waits until [`Windows::mark`] could differ, at most this long.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn wait(&self, limit: Duration) -> Result<(), SeatFault>;

    /// Returns the frontmost window at a point, also a menu or a panel.
    ///
    /// # Errors
    /// [`SeatFault`].
    fn at(&self, point: Point) -> Result<Option<SeatWindow>, SeatFault>;

    /// Gives a window the keyboard and waits until it has it. `raise` brings it to the front.
    ///
    /// # Errors
    /// [`SeatFault::Gone`]; [`SeatFault::Unsupported`] when nobody here manages windows, or the one who does refuses.
    fn focus(&self, handle: WindowHandle, raise: bool) -> Result<(), SeatFault>;

    /// Tells whether windows can be listed with their state and given the keyboard: on X11 a window manager that follows EWMH.
    fn managed(&self) -> bool;
}

/// Opens the windows of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where windows cannot be seen, with the reason; [`SeatFault::NoDisplay`].
pub fn open(seat: &Seat) -> Result<Box<dyn Windows>, SeatFault> {
    #[cfg(target_os = "linux")]
    if seat.kind == super::SeatKind::X11 {
        return Ok(Box::new(x11::X11Windows::open(seat)?));
    }
    #[cfg(any(windows, target_os = "macos"))]
    if matches!(seat.kind, super::SeatKind::MacOs | super::SeatKind::Windows) {
        return Ok(Box::new(super::native::window::NativeWindows));
    }
    Err(SeatFault::Unsupported(format!("windows of {:?} cannot be listed", seat.kind)))
}
