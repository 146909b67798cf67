//! APP_LIST and APP_LAUNCH (spec 10.7).

use drawbridge_core::computer::AppLaunchOp;
use drawbridge_core::{OpError, Outcome};

use super::{Inner, Job};

pub(super) fn list(inner: &Inner, include_background: bool, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, include_background, job);
    Err(OpError::Unsupported { feature: "app.list".to_owned(), why: "this version cannot do it".to_owned() })
}

pub(super) fn launch(inner: &Inner, op: &AppLaunchOp, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, op, job);
    Err(OpError::Unsupported { feature: "app.launch".to_owned(), why: "this version cannot do it".to_owned() })
}
