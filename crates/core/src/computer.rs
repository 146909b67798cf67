//! Computer use: what may be asked of screen, pointer, keyboard, windows, apps and clipboard, and what comes of it.
//!
//! All points and rectangles lie in the one coordinate space of spec 10.2: wire units, origin at the top left of the virtual
//! desktop, which may reach into negative numbers.

mod facts;
mod geometry;
mod keys;
mod ops;

pub use facts::{
    AppFacts, ClipboardReason, CursorPlace, DisplayFacts, PermissionState, Picture, PictureFormat, WindowFacts,
};
pub use geometry::{Point, Rect};
pub use keys::{Chord, Key, Modifier, UnknownKey};
pub use ops::{AppLaunchOp, Button, ComputerOp, Direction, InputOp, ScreenArea, ScreenshotOp, WindowListOp};
