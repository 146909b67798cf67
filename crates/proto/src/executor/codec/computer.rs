//! Answers of computer use (spec 10.3 to 10.9). Pictures and clipboard text are written straight into the frame.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawbridge_core::RequestId;
use drawbridge_core::computer::{AppFacts, DisplayFacts, PermissionState, Picture, WindowFacts};

use super::escape::{escaped_len, push_string};
use super::reply::{TooLong, open};
use crate::executor::wire;

pub(super) fn picture(id: &RequestId, picture: &Picture, room: usize) -> Result<String, TooLong> {
    let tail = picture_tail(picture);
    let len = picture.bytes.len().div_ceil(3) * 4;
    let mut body = open(id, "SCREENSHOT_RESPONSE", 0);
    body.push_str("{\"image_base64\":\"");
    let total = body.len() + len + tail.len();
    if total > room {
        return Err(TooLong(total));
    }
    body.reserve_exact(len + tail.len() + 128);
    STANDARD.encode_string(&picture.bytes, &mut body);
    body.push_str(&tail);
    Ok(body)
}

/// From the quote that ends the picture to the end of the payload.
fn picture_tail(picture: &Picture) -> String {
    let Picture { bytes: _, format, width, height, monitor, region, display_scale, logical_size, origin, one_colour } =
        picture;
    // An addition of ours, there only when it says something.
    let flag = if *one_colour { ",\"one_colour\":true" } else { "" };
    let region = region.map_or_else(|| "null".to_owned(), |region| format!("{:?}", region.edges()));
    let mut tail = format!(
        "\",\"mime_type\":\"{}\",\"width\":{width},\"height\":{height},\"monitor\":{monitor},\"region\":{region},\
         \"display_scale\":",
        format.mime_type()
    );
    push_scale(&mut tail, *display_scale);
    // Writing into a String cannot fail.
    let _ = write!(
        tail,
        ",\"logical_size\":[{},{}],\"meta\":{{\"origin\":[{},{}],\"display_id\":{monitor}{flag}}}}}",
        logical_size.0, logical_size.1, origin.x, origin.y
    );
    tail
}

/// A scale is a JSON number with a point, as the protocol shows it.
fn push_scale(out: &mut String, scale: f64) {
    // Not a number and infinity have no JSON form; no screen reports them.
    let _ = if scale.is_finite() { write!(out, "{scale:?}") } else { write!(out, "1.0") };
}

pub(super) fn clipboard(id: &RequestId, text: &str, room: usize) -> Result<String, TooLong> {
    let tail = format!(",\"size_bytes\":{}}}", text.len());
    let mut body = open(id, "CLIPBOARD_READ_RESPONSE", 0);
    body.push_str("{\"format\":\"text\",\"content\":");
    let total = body.len() + "\"\"".len() + escaped_len(text) + tail.len();
    if total > room {
        return Err(TooLong(total));
    }
    body.reserve_exact(total - body.len() + 128);
    push_string(&mut body, text);
    body.push_str(&tail);
    Ok(body)
}

pub(super) fn displays(displays: &[DisplayFacts]) -> wire::DisplayInfo {
    let monitor = |display: &DisplayFacts| wire::Monitor {
        index: display.index,
        primary: display.primary,
        physical_size: display.physical_size.into(),
        logical_size: display.logical_size.into(),
        scale: if display.scale.is_finite() { display.scale } else { 1.0 },
        origin: [display.rect.x1, display.rect.y1],
    };
    wire::DisplayInfo { monitors: displays.iter().map(monitor).collect() }
}

pub(super) fn windows(windows: &[WindowFacts], truncated: bool) -> wire::WindowList {
    let window = |window: &WindowFacts| wire::Window {
        window_id: window.window_id.clone(),
        pid: window.pid,
        app_name: window.app_name.clone(),
        app_bundle_id: window.app_bundle_id.clone(),
        title: window.title.clone(),
        bounds: window.bounds.edges(),
        monitor: window.monitor,
        is_focused: window.is_focused,
        is_minimized: window.is_minimized,
        is_fullscreen: window.is_fullscreen,
    };
    wire::WindowList { windows: windows.iter().map(window).collect(), truncated }
}

pub(super) fn apps(apps: &[AppFacts]) -> wire::AppList {
    let app = |app: &AppFacts| wire::App {
        pid: app.pid,
        name: app.name.clone(),
        bundle_id: app.bundle_id.clone(),
        executable_path: app.executable_path.clone(),
        is_frontmost: app.is_frontmost,
        window_count: app.window_count,
    };
    wire::AppList { apps: apps.iter().map(app).collect() }
}

pub(super) const fn permission(state: PermissionState) -> wire::PermissionState {
    match state {
        PermissionState::Granted => wire::PermissionState::Granted,
        PermissionState::Denied => wire::PermissionState::Denied,
        PermissionState::Unknown => wire::PermissionState::Unknown,
        PermissionState::NotApplicable => wire::PermissionState::NotApplicable,
    }
}

#[cfg(test)]
#[path = "computer_tests.rs"]
mod tests;
