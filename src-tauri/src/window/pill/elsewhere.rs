//! Where the system's web view needs no help: it always paints, keeps out of the way of the keyboard, and hears presses itself.

use std::time::Instant;

use tauri::{AppHandle, WebviewWindow};

use super::PillView;

pub(super) fn settle(_: &AppHandle, _: &WebviewWindow) {}

pub(super) fn settle_shape(_: &WebviewWindow, _: f64, _: f64) {}

pub(super) fn plain(_: &AppHandle, _: &PillView, _: Instant) {}

pub(super) fn soon(app: &AppHandle, act: fn(&AppHandle)) {
    act(app);
}

pub(super) fn tell_plain(_: &AppHandle) {}

pub(super) fn close_plain() {}
