//! Whether the person has locked the screen, and what the system permits.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as system;

use drawbridge_core::computer::PermissionState;

use super::{Seat, SeatKind};
use crate::permissions::{self, Permission};

/// The permissions that a peer may ask about (spec 10.9).
pub const NAMES: [&str; 3] = ["screen_recording", "accessibility", "input_monitoring"];

/// Tells whether the screen is locked, as far as the system's services tell; windows that lock the screen are seen among the
/// windows. A service that does not answer within 300 ms says nothing. What was told holds for a second.
#[must_use]
pub fn locked(seat: &Seat) -> bool {
    system::locked(seat)
}

/// Returns the state of a permission of the system, by its name on the wire. Never asks the person (spec 10.9).
#[must_use]
pub fn permission(seat: &Seat, name: &str) -> PermissionState {
    if !NAMES.contains(&name) {
        return PermissionState::NotApplicable;
    }
    match seat.kind {
        SeatKind::X11 | SeatKind::Wsl | SeatKind::None => PermissionState::NotApplicable,
        // Only a portal could give it, and none is used.
        SeatKind::Wayland => PermissionState::Denied,
        SeatKind::Windows => PermissionState::Granted,
        SeatKind::MacOs => of_mac(name),
    }
}

fn of_mac(name: &str) -> PermissionState {
    let permission = match name {
        "screen_recording" => Permission::ScreenRecording,
        "accessibility" => Permission::Accessibility,
        // The system tells nobody without asking the person.
        _ => return PermissionState::Unknown,
    };
    match permissions::state(permissions::of_system().as_ref(), permission) {
        permissions::PermissionState::Granted => PermissionState::Granted,
        permissions::PermissionState::Denied | permissions::PermissionState::Stale => PermissionState::Denied,
        permissions::PermissionState::NotApplicable => PermissionState::NotApplicable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_told_by_the_kind_of_session() {
        use PermissionState::{Denied, Granted, NotApplicable};
        for (kind, state) in [
            (SeatKind::X11, NotApplicable),
            (SeatKind::Wayland, Denied),
            (SeatKind::Wsl, NotApplicable),
            (SeatKind::None, NotApplicable),
            (SeatKind::Windows, Granted),
        ] {
            let seat = Seat { kind, display: None };
            for name in NAMES {
                assert_eq!(permission(&seat, name), state, "{kind:?} {name}");
            }
            assert_eq!(permission(&seat, "camera"), NotApplicable, "{kind:?}");
            assert_eq!(permission(&seat, ""), NotApplicable, "{kind:?}");
        }
        let mac = Seat { kind: SeatKind::MacOs, display: None };
        assert_eq!(permission(&mac, "input_monitoring"), PermissionState::Unknown);
    }
}
