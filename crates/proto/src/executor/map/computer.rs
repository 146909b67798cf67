//! Computer-use requests become operations (spec 10.3 to 10.9).
//!
//! Where the protocol document is silent: what an action has no use for is ignored, but modifiers that would be dropped in
//! silence are refused, since a drag without the Ctrl that was asked for is another act. An amount to scroll of 0, below or
//! above 1,000 is refused, durations are clamped. An empty text to type is refused, an empty text for the clipboard clears it.
//! Whether a point, a display or a window is there, only the screen knows.

use std::time::Duration;

use drawbridge_core::OpError;
use drawbridge_core::computer::{
    AppLaunchOp, Button, Chord, ComputerOp, Direction, InputOp, Modifier, PictureFormat, Point, Rect, ScreenArea,
    ScreenshotOp, WindowListOp,
};

use super::{fault, unsupported};
use crate::executor::codec::cut_at;
use crate::executor::wire::{
    AppLaunch, ClipboardRead, ClipboardWrite, ImageFormat, InputAction, InputKind, PermissionsCheckRequest,
    ScreenshotRequest, WindowFocus, WindowListRequest,
};

const QUALITY_DEFAULT: i64 = 75;
/// Longest `wait`, `hold_key` and spread of a drag (spec 0).
const LONGEST_MS: i64 = 5000;
const SCROLL_DEFAULT: i64 = 3;
const SCROLL_MAX: i64 = 1000;
const PATH_POINTS_MAX: usize = 100_000;
const TEXT_CHARS_MAX: usize = 100_000;
const CHORD_CHARS_MAX: usize = 128;
const ID_CHARS_MAX: usize = 256;
const NAME_CHARS_MAX: usize = 1024;
const PROGRAM_CHARS_MAX: usize = 32_767;
const ARGS_MAX_COUNT: usize = 256;
const ARGS_MAX_BYTES: usize = 128 * 1024;
const PERMISSIONS_MAX_COUNT: usize = 64;
const PERMISSION_CHARS_MAX: usize = 128;

pub(super) fn screenshot(request: ScreenshotRequest) -> Result<ComputerOp, OpError> {
    let ScreenshotRequest { monitor, quality, region, window_id, format, include_cursor } = request;
    let area = match (region, window_id) {
        (Some(_), Some(_)) => {
            return Err(unsupported(
                "screenshot.window",
                "region and window_id exclude each other: set one of the two",
            ));
        }
        (Some([x1, y1, x2, y2]), None) => {
            let region = Rect::new(x1, y1, x2, y2);
            if region.is_empty() {
                return Err(fault("region", "is empty: in [x1, y1, x2, y2], x2 must be above x1 and y2 above y1"));
            }
            Some(ScreenArea::Region(region))
        }
        (None, Some(window_id)) => {
            bounded("window_id", &window_id, ID_CHARS_MAX)?;
            Some(ScreenArea::Window(window_id))
        }
        (None, None) => None,
    };
    let quality = u8::try_from(quality.unwrap_or(QUALITY_DEFAULT).clamp(1, 100)).unwrap_or(100);
    let format = match format.unwrap_or(ImageFormat::Jpeg) {
        ImageFormat::Jpeg => PictureFormat::Jpeg,
        ImageFormat::Png => PictureFormat::Png,
    };
    Ok(ComputerOp::Screenshot(ScreenshotOp {
        monitor: saturated(monitor.unwrap_or(0)),
        quality,
        area,
        format,
        include_cursor: include_cursor.unwrap_or(true),
    }))
}

pub(super) fn input(request: InputAction) -> Result<InputOp, OpError> {
    let action = request.action;
    let modifiers = modifiers(&request)?;
    if !modifiers.is_empty() && !takes_modifiers(action) {
        return Err(fault(
            "modifiers",
            "are held for clicks and scroll alone; a chord is written in key, as in ctrl+s",
        ));
    }
    let at = request.coordinate.map(|[x, y]| Point::new(x, y));
    let at_point = || at.ok_or_else(|| fault("coordinate", "is missing: this action needs [x, y]"));
    let pressed = || Ok::<_, OpError>(button(request.button.as_deref())?.unwrap_or(Button::Left));
    Ok(match action {
        InputKind::LeftClick => click(at_point()?, Button::Left, 1, modifiers, &request)?,
        InputKind::RightClick => click(at_point()?, Button::Right, 1, modifiers, &request)?,
        InputKind::MiddleClick => click(at_point()?, Button::Middle, 1, modifiers, &request)?,
        InputKind::DoubleClick => click(at_point()?, Button::Left, 2, modifiers, &request)?,
        InputKind::TripleClick => click(at_point()?, Button::Left, 3, modifiers, &request)?,
        InputKind::MouseMove => InputOp::Move { at: at_point()? },
        InputKind::MouseDown => InputOp::Down { at: at_point()?, button: pressed()? },
        InputKind::MouseUp => InputOp::Up { at: at_point()?, button: pressed()? },
        InputKind::Drag => {
            let button = pressed()?;
            let duration = request.duration_ms.map(|ms| milliseconds(ms, 0));
            InputOp::Drag { path: path(request.path)?, button, duration }
        }
        InputKind::Type => InputOp::Type {
            text: text(request.text)?,
            paste: request.paste.unwrap_or(false),
            preserve_clipboard: request.preserve_clipboard.unwrap_or(false),
        },
        InputKind::Key => InputOp::Key(chord(request.key.as_deref())?),
        InputKind::HoldKey => {
            let chord = chord(request.key.as_deref())?;
            InputOp::HoldKey { chord, duration: milliseconds(how_long(request.duration_ms)?, 1) }
        }
        InputKind::Scroll => {
            InputOp::Scroll { at, direction: direction(&request)?, amount: scroll_amount(&request)?, modifiers }
        }
        InputKind::Wait => InputOp::Wait { duration: milliseconds(how_long(request.duration_ms)?, 0) },
    })
}

const fn takes_modifiers(action: InputKind) -> bool {
    match action {
        InputKind::LeftClick
        | InputKind::RightClick
        | InputKind::DoubleClick
        | InputKind::MiddleClick
        | InputKind::TripleClick
        | InputKind::Scroll => true,
        InputKind::MouseMove
        | InputKind::MouseDown
        | InputKind::MouseUp
        | InputKind::Drag
        | InputKind::Type
        | InputKind::Key
        | InputKind::HoldKey
        | InputKind::Wait => false,
    }
}

/// `button` may only confirm what the action says itself.
fn click(
    at: Point,
    own: Button,
    count: u8,
    modifiers: Vec<Modifier>,
    request: &InputAction,
) -> Result<InputOp, OpError> {
    match button(request.button.as_deref())? {
        Some(named) if named != own => {
            let why = format!("says {}, but this action presses the {} button", named.name(), own.name());
            Err(fault("button", &why))
        }
        Some(_) | None => Ok(InputOp::Click { at, button: own, count, modifiers }),
    }
}

fn button(name: Option<&str>) -> Result<Option<Button>, OpError> {
    Ok(match name {
        None => None,
        Some("left") => Some(Button::Left),
        Some("middle") => Some(Button::Middle),
        Some("right") => Some(Button::Right),
        Some(other) => return Err(unknown("button", other, "left, middle or right")),
    })
}

/// In the order in which they are pressed, each once.
fn modifiers(request: &InputAction) -> Result<Vec<Modifier>, OpError> {
    let mut held = [false; Modifier::ALL.len()];
    for name in request.modifiers.iter().flatten() {
        let modifier =
            Modifier::from_name(name).ok_or_else(|| unknown("modifiers", name, "shift, ctrl, alt, super or meta"))?;
        for (known, held) in Modifier::ALL.iter().zip(&mut held) {
            *held |= *known == modifier;
        }
    }
    Ok(Modifier::ALL.into_iter().zip(held).filter_map(|(modifier, held)| held.then_some(modifier)).collect())
}

fn path(points: Option<Vec<[i32; 2]>>) -> Result<Vec<Point>, OpError> {
    let points = points.ok_or_else(|| fault("path", "is missing: a drag needs at least 2 points"))?;
    if !(2..=PATH_POINTS_MAX).contains(&points.len()) {
        return Err(fault("path", &format!("has {} points, and a drag takes 2 to {PATH_POINTS_MAX}", points.len())));
    }
    Ok(points.into_iter().map(|[x, y]| Point::new(x, y)).collect())
}

fn text(text: Option<String>) -> Result<String, OpError> {
    let text = text.ok_or_else(|| fault("text", "is missing"))?;
    bounded("text", &text, TEXT_CHARS_MAX)?;
    Ok(text)
}

fn chord(text: Option<&str>) -> Result<Chord, OpError> {
    let text = text.ok_or_else(|| fault("key", "is missing"))?;
    bounded("key", text, CHORD_CHARS_MAX)?;
    Chord::parse(text).map_err(|unknown| fault("key", &unknown.to_string()))
}

fn how_long(duration_ms: Option<i64>) -> Result<i64, OpError> {
    duration_ms.ok_or_else(|| fault("duration_ms", "is missing"))
}

fn milliseconds(ms: i64, least: i64) -> Duration {
    Duration::from_millis(ms.clamp(least, LONGEST_MS).unsigned_abs())
}

fn direction(request: &InputAction) -> Result<Direction, OpError> {
    let (field, name) = match (&request.scroll_direction, &request.direction) {
        (Some(name), _) => ("scroll_direction", name.as_str()),
        (None, Some(name)) => ("direction", name.as_str()),
        (None, None) => return Ok(Direction::Down),
    };
    Ok(match name {
        "up" => Direction::Up,
        "down" => Direction::Down,
        "left" => Direction::Left,
        "right" => Direction::Right,
        other => return Err(unknown(field, other, "up, down, left or right")),
    })
}

fn scroll_amount(request: &InputAction) -> Result<u32, OpError> {
    let (field, amount) = match (request.scroll_amount, request.clicks) {
        (Some(amount), _) => ("scroll_amount", amount),
        (None, Some(clicks)) => ("clicks", clicks),
        (None, None) => ("scroll_amount", SCROLL_DEFAULT),
    };
    if !(1..=SCROLL_MAX).contains(&amount) {
        return Err(fault(field, "must be 1 to 1000 steps of the wheel; the direction says which way"));
    }
    u32::try_from(amount).map_err(|_| fault(field, "must be 1 to 1000 steps of the wheel"))
}

pub(super) fn window_list(request: WindowListRequest) -> Result<ComputerOp, OpError> {
    let WindowListRequest { app_bundle_id, include_minimized, include_offscreen } = request;
    if let Some(app) = &app_bundle_id {
        bounded("app_bundle_id", app, NAME_CHARS_MAX)?;
    }
    Ok(ComputerOp::WindowList(WindowListOp {
        app: app_bundle_id,
        include_minimized: include_minimized.unwrap_or(false),
        include_offscreen: include_offscreen.unwrap_or(false),
    }))
}

pub(super) fn window_focus(request: WindowFocus) -> Result<ComputerOp, OpError> {
    let WindowFocus { window_id, raise } = request;
    bounded("window_id", &window_id, ID_CHARS_MAX)?;
    Ok(ComputerOp::WindowFocus { window_id, raise: raise.unwrap_or(true) })
}

pub(super) fn app_launch(request: AppLaunch) -> Result<ComputerOp, OpError> {
    let AppLaunch { bundle_id, executable_path, args, activate } = request;
    let args = args.unwrap_or_default();
    if bundle_id.is_none() && executable_path.is_none() {
        return Err(unsupported("app.launch", "neither bundle_id nor executable_path says which app"));
    }
    if let Some(bundle_id) = &bundle_id {
        name_of_app("bundle_id", bundle_id, NAME_CHARS_MAX)?;
    }
    if let Some(path) = &executable_path {
        name_of_app("executable_path", path, PROGRAM_CHARS_MAX)?;
        if !absolute(path) {
            return Err(fault("executable_path", "must be an absolute path"));
        }
    }
    if args.len() > ARGS_MAX_COUNT || args.iter().map(String::len).sum::<usize>() > ARGS_MAX_BYTES {
        return Err(fault("args", "are more than 256 or larger than 128 KiB"));
    }
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err(fault("args", "hold a NUL character"));
    }
    Ok(ComputerOp::AppLaunch(AppLaunchOp { bundle_id, executable_path, args, activate: activate.unwrap_or(true) }))
}

fn name_of_app(field: &str, name: &str, most: usize) -> Result<(), OpError> {
    bounded(field, name, most)?;
    if name.contains('\0') { Err(fault(field, "holds a NUL character")) } else { Ok(()) }
}

/// By the spelling alone, of every system: whether this one has such a path, its own part says.
fn absolute(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(['/', '\\'])
}

pub(super) fn clipboard_read(request: &ClipboardRead) -> Result<ComputerOp, OpError> {
    text_alone("clipboard.read", request.format.as_deref())?;
    Ok(ComputerOp::ClipboardRead)
}

pub(super) fn clipboard_write(request: ClipboardWrite) -> Result<ComputerOp, OpError> {
    let ClipboardWrite { format, content } = request;
    text_alone("clipboard.write", format.as_deref())?;
    Ok(ComputerOp::ClipboardWrite { text: content })
}

fn text_alone(feature: &str, format: Option<&str>) -> Result<(), OpError> {
    match format {
        None | Some("text") => Ok(()),
        Some(_) => Err(unsupported(feature, "only the format text is supported")),
    }
}

pub(super) fn permissions(request: PermissionsCheckRequest) -> Result<ComputerOp, OpError> {
    let PermissionsCheckRequest { permissions: names } = request;
    if names.len() > PERMISSIONS_MAX_COUNT {
        return Err(fault("permissions", "has more than 64 names"));
    }
    names.iter().try_for_each(|name| bounded("permissions", name, PERMISSION_CHARS_MAX))?;
    Ok(ComputerOp::PermissionsCheck { names })
}

fn bounded(field: &str, text: &str, most: usize) -> Result<(), OpError> {
    if text.is_empty() || text.chars().nth(most).is_some() {
        return Err(fault(field, &format!("must have 1 to {most} characters")));
    }
    Ok(())
}

fn unknown(field: &str, name: &str, known: &str) -> OpError {
    fault(field, &format!("names {:?}, which is none of {known}", cut_at(name, 100)))
}

fn saturated(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}

#[cfg(test)]
#[path = "computer_tests.rs"]
mod tests;
