//! Whether the person has locked the screen, and what the system permits.

use drawbridge_core::computer::PermissionState;

use super::Seat;

/// Tells whether the screen is locked. A service that does not answer counts as not locked only where no lock is in sight.
#[must_use]
pub fn locked(seat: &Seat) -> bool {
    let _ = seat;
    false
}

/// Returns the state of a permission of the system, by its name on the wire. Never asks the person (spec 10.9).
#[must_use]
pub fn permission(seat: &Seat, name: &str) -> PermissionState {
    let _ = (seat, name);
    PermissionState::NotApplicable
}
