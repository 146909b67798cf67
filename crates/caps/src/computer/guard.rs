//! Whose window it is, and whether the agent may see or touch it.
//!
//! Password managers, Drawbridge's own windows, questions of the system for secrets and lock screens never; terminals only where
//! commands run freely; and what the person listed.

use drawbridge_core::OpError;
use drawbridge_core::computer::{Point, Rect};

use super::{Inner, Job};

/// A piece of a picture, in the order of painting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    /// Where, in wire units.
    pub(super) rect: Rect,
    /// The agent may see it.
    pub(super) shown: bool,
}

/// Refuses everything while the screen is locked.
pub(super) fn unlocked(inner: &Inner) -> Result<(), OpError> {
    let _ = inner;
    Ok(())
}

/// Refuses to touch a point whose frontmost window is protected.
pub(super) fn may_touch(inner: &Inner, job: &Job, at: Point) -> Result<(), OpError> {
    let _ = (inner, job, at);
    Ok(())
}

/// Refuses to type when the window with the keyboard is protected.
pub(super) fn may_type(inner: &Inner, job: &Job) -> Result<(), OpError> {
    let _ = (inner, job);
    Ok(())
}

/// Returns what covers a rectangle of the screen, the hindmost first: pixels of what is not shown must be painted over, unless
/// something in front of it is shown there.
pub(super) fn layers(inner: &Inner, job: &Job, area: Rect) -> Result<Vec<Layer>, OpError> {
    let _ = (inner, job, area);
    Ok(Vec::new())
}
