//! SCREENSHOT_REQUEST, CURSOR_POSITION and DISPLAY_INFO (spec 10.3, 10.5).

use drawbridge_core::computer::ScreenshotOp;
use drawbridge_core::{OpError, Outcome};

use super::seats::Seats;
use super::{Inner, Job};

/// The pictures of the last minute, over all chats.
#[derive(Debug, Default)]
pub(super) struct Shots {}

pub(super) fn take(inner: &Inner, op: &ScreenshotOp, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, op, job);
    Err(unbuilt("screenshot.capture"))
}

pub(super) fn cursor_position(seats: &Seats) -> Result<Outcome, OpError> {
    let _ = seats;
    Err(unbuilt("cursor.position"))
}

pub(super) fn display_info(seats: &Seats) -> Result<Outcome, OpError> {
    let _ = seats;
    Err(unbuilt("display.info"))
}

fn unbuilt(feature: &str) -> OpError {
    OpError::Unsupported { feature: feature.to_owned(), why: "this version cannot do it".to_owned() }
}
