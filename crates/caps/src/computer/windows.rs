//! WINDOW_LIST and WINDOW_FOCUS, and the ids that stand for windows (spec 10.6).

use drawbridge_core::computer::WindowListOp;
use drawbridge_core::{OpError, Outcome, SessionId};
use drawbridge_os::seat::window::SeatWindow;

use super::{Inner, Job};

/// The windows that each chat was told about since its last HELLO.
#[derive(Debug, Default)]
pub(super) struct Registry {}

impl Registry {
    pub(super) fn forget(&self, session: &SessionId) {
        let _ = session;
    }
}

pub(super) fn list(inner: &Inner, op: &WindowListOp, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, op, job);
    Err(OpError::Unsupported { feature: "window.list".to_owned(), why: "this version cannot do it".to_owned() })
}

/// Finds the window behind an id, after its owner was verified; refuses one that the agent may not see.
pub(super) fn bounds_of(inner: &Inner, window_id: &str, job: &Job) -> Result<SeatWindow, OpError> {
    let _ = (inner, job);
    Err(OpError::WindowStale { window_id: window_id.to_owned() })
}

pub(super) fn focus(inner: &Inner, window_id: &str, raise: bool, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, window_id, raise, job);
    Err(OpError::Unsupported { feature: "window.focus".to_owned(), why: "this version cannot do it".to_owned() })
}
