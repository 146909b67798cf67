//! Answers of computer use, as the protocol describes them (spec 10.3 to 10.9). A picture must be what it says it is: of its
//! type, and of its size.

use super::{Checked, text};
use base64::Engine as _;
use serde_json::Value;

/// Characters of a title of a window.
const TITLE_MAX: usize = 512;
const STATES: [&str; 4] = ["granted", "denied", "unknown", "not_applicable"];

pub(super) fn answer(kind: &str, p: &Value) -> Checked {
    match kind {
        "SCREENSHOT_RESPONSE" => picture(p),
        "CURSOR_POSITION_RESPONSE" => ["x", "y", "monitor"].iter().try_for_each(|name| whole(p, name)),
        "DISPLAY_INFO_RESPONSE" => each(p, "monitors", monitor),
        "WINDOW_LIST_RESPONSE" => each(p, "windows", window).and_then(|()| flag(p, "truncated")),
        "APP_LIST_RESPONSE" => each(p, "apps", app),
        "CLIPBOARD_READ_RESPONSE" => clipboard(p),
        "PERMISSIONS_CHECK_RESPONSE" => permissions(p),
        "ERROR" => error(p),
        _ => Ok(()),
    }
}

fn fits(name: &str, ok: bool) -> Checked {
    if ok { Ok(()) } else { Err(format!("{name} is not as the protocol says")) }
}

fn whole(p: &Value, name: &str) -> Checked {
    fits(name, p[name].is_i64())
}

fn count(p: &Value, name: &str) -> Checked {
    fits(name, p[name].is_u64())
}

fn flag(p: &Value, name: &str) -> Checked {
    fits(name, p[name].is_boolean())
}

fn text_or_null(p: &Value, name: &str) -> Checked {
    fits(name, p[name].is_null() || p[name].is_string())
}

fn above_zero(p: &Value, name: &str) -> Checked {
    fits(name, p[name].as_f64().is_some_and(|number| number > 0.0))
}

fn numbers(p: &Value, name: &str, many: usize) -> Checked {
    let list = p[name].as_array();
    fits(name, list.is_some_and(|list| list.len() == many && list.iter().all(Value::is_i64)))
}

fn size(p: &Value, name: &str) -> Checked {
    numbers(p, name, 2)?;
    fits(name, p[name].as_array().into_iter().flatten().all(|side| side.as_u64().is_some_and(|side| side > 0)))
}

fn each(p: &Value, name: &str, check: fn(&Value) -> Checked) -> Checked {
    let list = p[name].as_array().ok_or_else(|| format!("{name} is no list"))?;
    list.iter().try_for_each(check)
}

fn picture(p: &Value) -> Checked {
    let bytes = p["image_base64"].as_str().and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    let bytes = bytes.ok_or("image_base64 is not base64")?;
    let real = match p["mime_type"].as_str() {
        Some("image/png") => png_size(&bytes),
        Some("image/jpeg") => jpeg_size(&bytes),
        Some(_) | None => return fits("mime_type", false),
    };
    let (width, height) = real.ok_or("image_base64 is no picture of its mime_type")?;
    fits("width", p["width"].as_u64() == Some(width.into()))?;
    fits("height", p["height"].as_u64() == Some(height.into()))?;
    whole(p, "monitor")?;
    if !p["region"].is_null() {
        numbers(p, "region", 4)?;
    }
    above_zero(p, "display_scale")?;
    size(p, "logical_size")?;
    numbers(&p["meta"], "origin", 2)?;
    whole(&p["meta"], "display_id")
}

/// Width and height of a PNG.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let head = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?.get(4..16)?;
    let number = |part: &[u8]| Some(u32::from_be_bytes(part.try_into().ok()?));
    if head.get(..4)? != b"IHDR" {
        return None;
    }
    Some((number(head.get(4..8)?)?, number(head.get(8..12)?)?))
}

/// Width and height of a JPEG: they stand in the segment that begins the frame.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        let [0xff, marker, long, short, ..] = *rest else { return None };
        let segment = rest.get(4..)?;
        let number = |at: usize| Some(u32::from(u16::from_be_bytes(segment.get(at..at + 2)?.try_into().ok()?)));
        // All that begin a frame, which leaves out tables (C4), extensions (C8) and conditions (CC).
        if matches!(marker, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) {
            return Some((number(3)?, number(1)?));
        }
        rest = rest.get(2 + usize::from(u16::from_be_bytes([long, short]))..)?;
    }
}

fn monitor(p: &Value) -> Checked {
    whole(p, "index")?;
    flag(p, "primary")?;
    size(p, "physical_size")?;
    size(p, "logical_size")?;
    above_zero(p, "scale")?;
    numbers(p, "origin", 2)
}

fn window(p: &Value) -> Checked {
    let id = p["window_id"].as_str().and_then(|id| id.strip_prefix("win_"));
    fits("window_id", id.is_some_and(|id| uuid::Uuid::parse_str(id).is_ok()))?;
    count(p, "pid")?;
    fits("app_name", p["app_name"].is_string())?;
    text_or_null(p, "app_bundle_id")?;
    fits("title", p["title"].as_str().is_some_and(|title| title.chars().count() <= TITLE_MAX))?;
    numbers(p, "bounds", 4)?;
    whole(p, "monitor")?;
    ["is_focused", "is_minimized", "is_fullscreen"].iter().try_for_each(|name| flag(p, name))
}

fn app(p: &Value) -> Checked {
    count(p, "pid")?;
    fits("name", p["name"].is_string())?;
    text_or_null(p, "bundle_id")?;
    text_or_null(p, "executable_path")?;
    flag(p, "is_frontmost")?;
    count(p, "window_count")
}

fn clipboard(p: &Value) -> Checked {
    fits("format", p["format"] == "text")?;
    let content = p["content"].as_str().ok_or("content is no text")?;
    fits("size_bytes", p["size_bytes"].as_u64() == u64::try_from(content.len()).ok())
}

fn permissions(p: &Value) -> Checked {
    let states = p["permissions"].as_object().ok_or("permissions is no object")?;
    fits("permissions", states.values().all(|state| state.as_str().is_some_and(|state| STATES.contains(&state))))
}

/// The details that the protocol gives to the errors of computer use.
fn error(p: &Value) -> Checked {
    let details = &p["details"];
    match p["code"].as_str() {
        Some("INPUT_OUT_OF_BOUNDS") => {
            numbers(details, "requested_coordinate", 2)?;
            each(details, "displays", |display| {
                whole(display, "index")?;
                numbers(display, "origin", 2)?;
                size(display, "size")
            })
        }
        Some("WINDOW_STALE") => {
            text(details, "window_id", 256)?;
            fits("hint", details["hint"] == "re-list windows")
        }
        Some("PERMISSION_PENDING") => {
            ["permission", "platform", "hint"].iter().try_for_each(|name| text(details, name, 4096))
        }
        Some("CLIPBOARD_CONCEALED") => match details["reason"].as_str() {
            Some("concealed_type") => text(details, "marker", 256),
            Some("writeback_only") => {
                let age = &details["writeback_age_seconds"];
                fits("writeback_age_seconds", age.is_null() || age.is_number())
            }
            Some("writeback_overwritten") => {
                fits("writeback_age_seconds", details["writeback_age_seconds"].is_number())
            }
            Some(_) | None => fits("reason", false),
        },
        Some(_) | None => Ok(()),
    }
}
