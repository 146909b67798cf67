//! The person's seat: displays, pointer, keyboard, windows, apps and clipboard, as this system offers them.
//!
//! Everything here blocks and may wait for a display server that does not answer: call it on a thread of its own, with a time
//! limit. Nothing here decides what may be seen or touched. Each part has a connection of its own, so that a part that hangs
//! takes no other with it. All points are wire units (spec 10.2); this is where systems are translated.

pub mod app;
pub mod clipboard;
pub mod input;
#[cfg(any(windows, target_os = "macos"))]
mod native;
pub mod presence;
pub mod screen;
pub mod window;
#[cfg(target_os = "linux")]
pub(crate) mod x11;

use std::ffi::OsString;

/// What kind of session a person sits at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatKind {
    /// An X server without a Wayland compositor.
    X11,
    /// A Wayland compositor.
    Wayland,
    /// Linux inside Windows.
    Wsl,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// No display.
    None,
}

impl SeatKind {
    /// Returns the platform as HELLO names it.
    #[must_use]
    pub const fn platform(self) -> &'static str {
        match self {
            Self::X11 | Self::Wayland | Self::None => "linux",
            Self::Wsl => "wsl2",
            Self::MacOs => "darwin",
            Self::Windows => "windows",
        }
    }
}

/// Which seat is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// What kind it is.
    pub kind: SeatKind,
    /// The X display, as in `DISPLAY`. None elsewhere.
    pub display: Option<OsString>,
}

impl Seat {
    /// Finds the seat that the environment names.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::named_by(|name| std::env::var_os(name), crate::machine::platform().is_ok_and(|name| name == "wsl2"))
    }

    /// Tells which seat an environment names. `variable` looks one up; `wsl` is a Linux inside Windows.
    #[must_use]
    pub fn named_by(variable: impl Fn(&str) -> Option<OsString>, wsl: bool) -> Self {
        use crate::desktop::Display;
        let kind = match Display::named_by(&variable) {
            _ if wsl => SeatKind::Wsl,
            Display::System if cfg!(target_os = "macos") => SeatKind::MacOs,
            Display::System => SeatKind::Windows,
            Display::X11 => SeatKind::X11,
            Display::WaylandAndX11 | Display::Wayland => SeatKind::Wayland,
            Display::None => SeatKind::None,
        };
        Self { kind, display: variable("DISPLAY").filter(|_| kind == SeatKind::X11) }
    }

    /// Names an X display.
    #[must_use]
    pub fn x11(display: impl Into<OsString>) -> Self {
        Self { kind: SeatKind::X11, display: Some(display.into()) }
    }
}

/// Why a part of the seat cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeatFault {
    /// There is no display, or it is gone.
    #[error("the display cannot be reached: {0}")]
    NoDisplay(String),
    /// This system or session cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A permission of the system is missing.
    #[error("the system does not allow it: {permission}")]
    Permission {
        /// Its stable name, as in PERMISSIONS_CHECK.
        permission: &'static str,
        /// What the person can do.
        hint: String,
    },
    /// What was meant is not there any more.
    #[error("it is gone")]
    Gone,
    /// Another program did not answer in time.
    #[error("{0} did not answer in time")]
    NoAnswer(&'static str),
    /// It is larger than what may be taken; with its size in bytes as far as it is known.
    #[error("it has {0} bytes, which is more than may be taken")]
    TooLarge(u64),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

#[cfg(test)]
#[path = "seat/seat_tests.rs"]
mod tests;
