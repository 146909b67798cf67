//! Why a computer has no screen for agents, and what a person can do about it.

use drawbridge_os::seat::SeatKind;

/// Nothing of the screen can be seen or used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoScreen {
    /// Permissions of the system that are missing, as PERMISSIONS_CHECK names them.
    pub(crate) permissions: Vec<&'static str>,
    /// The platform as HELLO names it.
    pub(crate) platform: &'static str,
    /// Why, in plain words.
    pub(crate) why: String,
    /// What to do.
    pub(crate) hint: &'static str,
}

impl NoScreen {
    pub(super) fn of(kind: SeatKind, why: String) -> Self {
        let permissions = match kind {
            SeatKind::MacOs => vec!["accessibility", "screen_recording"],
            SeatKind::X11 | SeatKind::Wayland | SeatKind::Wsl | SeatKind::Windows | SeatKind::None => Vec::new(),
        };
        let why = match kind {
            SeatKind::None => "no display is named".to_owned(),
            SeatKind::Wsl => "a Linux inside Windows has no screen of its own".to_owned(),
            SeatKind::X11 | SeatKind::Wayland | SeatKind::MacOs | SeatKind::Windows => why,
        };
        Self { permissions, platform: kind.platform(), why, hint: hint(kind) }
    }
}

/// Says what to do where a seat lacks something.
pub(crate) const fn hint(kind: SeatKind) -> &'static str {
    match kind {
        SeatKind::X11 => "start Drawbridge inside the desktop session, with the DISPLAY and XAUTHORITY of it",
        SeatKind::Wayland => "log in to an X11 session, or leave computer use off",
        SeatKind::Wsl => "run Drawbridge on Windows itself, or leave computer use off",
        SeatKind::MacOs => {
            "allow Drawbridge in System Settings, Privacy and Security, Accessibility and Screen Recording"
        }
        SeatKind::Windows => "start Drawbridge inside the desktop session",
        SeatKind::None => "start Drawbridge inside a desktop session, or leave computer use off",
    }
}
