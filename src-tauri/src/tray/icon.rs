//! Which icon the tray shows, and its picture for the panel's ground.

use drawbridge_engine::view::{AccountState, LinkState, Snapshot};

/// What the icon shows, from the most to the least urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Icon {
    /// Somebody must answer or repair something.
    Attention,
    /// Nothing may act.
    Raised,
    /// An agent sees the screen or uses mouse and keyboard.
    ScreenShared,
    /// No account.
    SignedOut,
    /// A request runs.
    Working,
    /// Ready.
    Lowered,
}

/// The ground of the panel that the icon stands on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Ground {
    /// Nobody says; the picture must be readable on both.
    #[default]
    Any,
    /// A light panel.
    Light,
    /// A dark panel.
    Dark,
}

/// Side of the pictures, in pixels.
pub(crate) const SIDE: u32 = 48;

/// Says which icon a snapshot wants.
pub(crate) fn icon(snapshot: &Snapshot) -> Icon {
    let broken = snapshot.trouble.is_some()
        || snapshot.audit.unavailable
        || snapshot.link.state == LinkState::Halted
        || matches!(snapshot.account.state, AccountState::Refused | AccountState::Expired);
    // Without an engine nothing else in the picture means anything.
    if snapshot.gate.is_some() || !snapshot.prompts.is_empty() || (broken && !snapshot.raised) {
        Icon::Attention
    } else if snapshot.raised {
        Icon::Raised
    } else if snapshot.screen.in_use.is_some() {
        Icon::ScreenShared
    } else if snapshot.account.state != AccountState::SignedIn {
        Icon::SignedOut
    } else if snapshot.chats.iter().any(|chat| chat.in_flight > 0) {
        Icon::Working
    } else {
        Icon::Lowered
    }
}

/// The picture: red, green, blue and opacity of each pixel, [`SIDE`] times [`SIDE`].
pub(crate) const fn picture(icon: Icon, ground: Ground) -> &'static [u8] {
    macro_rules! set {
        ($folder:literal) => {
            match icon {
                Icon::Attention => include_bytes!(concat!("../../../icons/tray/", $folder, "/attention.rgba")),
                Icon::Raised => include_bytes!(concat!("../../../icons/tray/", $folder, "/raised.rgba")),
                Icon::ScreenShared => include_bytes!(concat!("../../../icons/tray/", $folder, "/screen_shared.rgba")),
                Icon::SignedOut => include_bytes!(concat!("../../../icons/tray/", $folder, "/signed_out.rgba")),
                Icon::Working => include_bytes!(concat!("../../../icons/tray/", $folder, "/working.rgba")),
                Icon::Lowered => include_bytes!(concat!("../../../icons/tray/", $folder, "/lowered.rgba")),
            }
        };
    }
    match ground {
        Ground::Any => set!("any"),
        Ground::Light => set!("light"),
        Ground::Dark => set!("dark"),
    }
}

#[cfg(test)]
#[path = "icon_tests.rs"]
mod tests;
