//! Systems whose lock cannot be told yet. What covers a locked screen there is not given to programs.

use super::super::Seat;

pub(super) fn locked(seat: &Seat) -> bool {
    let _ = seat;
    false
}
