//! Pointer and keyboard (spec 10.4).

use drawbridge_core::computer::InputOp;
use drawbridge_core::{OpError, Outcome};

use super::{Inner, Job};

pub(super) fn act(inner: &Inner, op: &InputOp, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, job);
    Err(OpError::Unsupported { feature: op.action().to_owned(), why: "this version cannot do it".to_owned() })
}
