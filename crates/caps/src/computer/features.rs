//! What this seat can do, found by trying and never assumed (spec 10.1).

use super::ClipboardRule;
use super::seats::Seats;

/// Feature lists for HELLO, in an order that does not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    /// Fine features.
    pub fine: Vec<&'static str>,
    /// Coarse buckets; one is there only when all of its tools work.
    pub coarse: Vec<&'static str>,
    /// Size of the primary display in wire units.
    pub screen_resolution: Option<(u32, u32)>,
    /// Why what is missing is missing: feature or bucket and reason, for the check-up and for errors.
    pub missing: Vec<(&'static str, String)>,
}

pub(super) fn probe(seats: &Seats, clipboard: ClipboardRule) -> Features {
    let _ = (seats, clipboard);
    Features::default()
}
