//! What comes of computer use (spec 10.3 to 10.9).

use super::geometry::{Point, Rect};

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
}

impl PictureFormat {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Png => "png",
        }
    }

    /// Returns the media type.
    #[must_use]
    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
        }
    }
}

/// A picture of the screen.
#[derive(Clone, PartialEq)]
pub struct Picture {
    /// The encoded picture; never in a log.
    pub bytes: Vec<u8>,
    /// Its format.
    pub format: PictureFormat,
    /// In picture pixels.
    pub width: u32,
    /// In picture pixels.
    pub height: u32,
    /// The display; −1 when stitched.
    pub monitor: i32,
    /// The region asked for.
    pub region: Option<Rect>,
    /// Picture pixels per wire unit.
    pub display_scale: f64,
    /// Size of the display (all of them when stitched) in its own units.
    pub logical_size: (u32, u32),
    /// Where the top left pixel of the picture lies, in wire units.
    pub origin: Point,
    /// What the system gave has one single colour: nothing is shown there, or it cannot be seen.
    pub one_colour: bool,
}

/// Where the pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPlace {
    /// The point.
    pub at: Point,
    /// The display, 0 when none contains it.
    pub monitor: i32,
}

/// One display.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplayFacts {
    /// Its index: the primary one is 0, the others follow by origin.
    pub index: i32,
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

/// One window, as the peer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFacts {
    /// `win_` and a UUID, never used again.
    pub window_id: String,
    /// Its process; 0 when it does not tell.
    pub pid: u32,
    /// Its app.
    pub app_name: String,
    /// Its app's identifier.
    pub app_bundle_id: Option<String>,
    /// Its title, at most 512 characters.
    pub title: String,
    /// Where it lies, in wire units.
    pub bounds: Rect,
    /// The display that shows most of it.
    pub monitor: i32,
    /// It has the keyboard.
    pub is_focused: bool,
    /// It is minimised.
    pub is_minimized: bool,
    /// It fills the screen.
    pub is_fullscreen: bool,
}

/// One app that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppFacts {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its identifier.
    pub bundle_id: Option<String>,
    /// Its program.
    pub executable_path: Option<String>,
    /// It has the keyboard.
    pub is_frontmost: bool,
    /// Its windows.
    pub window_count: u32,
}

/// State of a permission of the system (spec 10.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionState {
    /// Given.
    Granted,
    /// Refused.
    Denied,
    /// Cannot be told.
    Unknown,
    /// This system has no such permission.
    NotApplicable,
}

impl PermissionState {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Unknown => "unknown",
            Self::NotApplicable => "not_applicable",
        }
    }
}

/// Why the clipboard may not be read (spec 10.8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClipboardReason {
    /// Its owner marked it as secret.
    ConcealedType {
        /// The mark.
        marker: &'static str,
    },
    /// Nothing was written by the agent lately, and what others put there is not to be read.
    WritebackOnly {
        /// Seconds since the last write, if there was one.
        age_seconds: Option<f64>,
    },
    /// Somebody else has put something there since.
    WritebackOverwritten {
        /// Seconds since the last write.
        age_seconds: f64,
    },
}

impl ClipboardReason {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ConcealedType { .. } => "concealed_type",
            Self::WritebackOnly { .. } => "writeback_only",
            Self::WritebackOverwritten { .. } => "writeback_overwritten",
        }
    }
}
