//! PERMISSIONS_CHECK (spec 10.9).

use drawbridge_core::Outcome;
use drawbridge_os::seat::presence;

use super::seats::Seats;

pub(super) fn check(seats: &Seats, names: &[String]) -> Outcome {
    Outcome::Permissions(names.iter().map(|name| (name.clone(), presence::permission(seats.seat(), name))).collect())
}
