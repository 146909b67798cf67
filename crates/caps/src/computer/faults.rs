//! Faults of the seat in the peer's terms.

use drawbridge_core::OpError;
use drawbridge_os::seat::{Seat, SeatFault};

use super::seats::Seats;

/// The same as [`told`], and forgets the connections when the display is gone, so that the next operation makes new ones.
pub(super) fn met(seats: &Seats, feature: &str, fault: SeatFault) -> OpError {
    if matches!(fault, SeatFault::NoDisplay(_)) {
        seats.forget();
    }
    told(seats.seat(), feature, fault)
}

/// Turns a fault of the seat into the error for the peer. `feature` is the feature of the operation (spec 10.1).
pub(super) fn told(seat: &Seat, feature: &str, fault: SeatFault) -> OpError {
    match fault {
        SeatFault::Permission { permission, hint } => OpError::PermissionPending {
            permission,
            platform: seat.kind.platform(),
            message: format!("the system does not let Drawbridge do this: the permission {permission} is missing"),
            hint,
            retry_after: None,
        },
        SeatFault::NoDisplay(_)
        | SeatFault::Unsupported(_)
        | SeatFault::Gone
        | SeatFault::NoAnswer(_)
        | SeatFault::TooLarge(_)
        | SeatFault::Other(_) => OpError::Unsupported { feature: feature.to_owned(), why: fault.to_string() },
    }
}
