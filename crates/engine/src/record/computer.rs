//! What the audit log and the window say about computer use (spec 3.3, 3.4).
//!
//! Typed text and clipboard text stay out, and so does a single character that is pressed as a key: a password can be typed key
//! by key. A chord is named when another modifier than Shift is held, and so is a key that types nothing by itself. The spec wants a SHA-256
//! prefix of clipboard text; a plain one of a short secret can be guessed, so ours is taken together with a random key that
//! lives as long as this program: equal texts of one run can be told to be equal, and nothing else can be told.

use std::sync::OnceLock;
use std::time::Duration;

use drawbridge_core::computer::{
    AppLaunchOp, Button, Chord, ComputerOp, InputOp, Key, Modifier, Picture, Point, ScreenArea, ScreenshotOp,
};
use drawbridge_core::{Outcome, escape_outside_text};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::shown;

/// Stands for a key that types a character.
const CHARACTER: &str = "character";

/// Returns the details that are known before it runs.
pub(super) fn details(op: &ComputerOp) -> Value {
    match op {
        ComputerOp::Screenshot(op) => screenshot(op),
        ComputerOp::Input(op) => input(op),
        ComputerOp::CursorPosition | ComputerOp::DisplayInfo => json!({}),
        ComputerOp::WindowList(op) => json!({
            "app_bundle_id": op.app,
            "include_minimized": op.include_minimized,
            "include_offscreen": op.include_offscreen,
        }),
        ComputerOp::WindowFocus { window_id, raise } => json!({ "window_id": window_id, "raise": raise }),
        ComputerOp::AppList { include_background } => json!({ "include_background": include_background }),
        ComputerOp::AppLaunch(AppLaunchOp { bundle_id, executable_path, args, activate }) => json!({
            "bundle_id": bundle_id,
            "executable_path": executable_path,
            "args_count": args.len(),
            "activate": activate,
        }),
        ComputerOp::ClipboardRead => json!({ "format": "text" }),
        ComputerOp::ClipboardWrite { text } => {
            let mut details = json!({ "format": "text" });
            extend(&mut details, clipboard_text(text));
            details
        }
        ComputerOp::PermissionsCheck { names } => json!({ "permissions": names }),
    }
}

/// Returns the details that are known only afterwards.
pub(super) fn afterwards(outcome: &Outcome) -> Option<Value> {
    Some(match outcome {
        Outcome::Picture(Picture { bytes, width, height, one_colour, .. }) => {
            let mut details = json!({ "image_bytes_returned": bytes.len(), "width": width, "height": height });
            if *one_colour {
                extend(&mut details, json!({ "one_colour": true }));
            }
            details
        }
        Outcome::Displays(displays) => json!({ "monitor_count": displays.len() }),
        Outcome::Windows { windows, .. } => json!({ "windows_returned": windows.len() }),
        Outcome::Apps(apps) => json!({ "apps_returned": apps.len() }),
        Outcome::Launched { pid } => json!({ "pid": pid }),
        Outcome::Clipboard(text) => clipboard_text(text),
        Outcome::Done
        | Outcome::Changed(_)
        | Outcome::Contents(_)
        | Outcome::Stat(_)
        | Outcome::List { .. }
        | Outcome::Command(_)
        | Outcome::Directory(_)
        | Outcome::Attached { .. }
        | Outcome::Activated(_)
        | Outcome::Restored { .. }
        | Outcome::Cursor(_)
        | Outcome::ClipboardWritten { .. }
        | Outcome::Permissions(_)
        | Outcome::Stub(_)
        | Outcome::Completion(_)
        | Outcome::Turn(_)
        | Outcome::Hardware(_) => return None,
    })
}

fn screenshot(op: &ScreenshotOp) -> Value {
    let (region, window_id) = match &op.area {
        None => (None, None),
        Some(ScreenArea::Region(region)) => (Some(region.edges()), None),
        Some(ScreenArea::Window(window_id)) => (None, Some(window_id)),
    };
    json!({
        "monitor": op.monitor,
        "quality": op.quality,
        "region": region,
        "window_id": window_id,
        "format": op.format.name(),
    })
}

/// Every key of the table is there for every action; three of ours come where they say something.
fn input(op: &InputOp) -> Value {
    let mut details = json!({
        "action": op.action(),
        "coordinate": null,
        "key": null,
        "direction": null,
        "clicks": null,
        "text_length": null,
        "modifiers": null,
        "button": null,
        "paste": null,
    });
    let more = match op {
        InputOp::Click { at, button, count: _, modifiers } => {
            json!({ "coordinate": pair(*at), "button": button.name(), "modifiers": names(modifiers) })
        }
        InputOp::Move { at } => json!({ "coordinate": pair(*at) }),
        InputOp::Down { at, button } | InputOp::Up { at, button } => {
            json!({ "coordinate": pair(*at), "button": button.name() })
        }
        InputOp::Drag { path, button, duration } => json!({
            "coordinate": path.first().copied().map(pair),
            "coordinate_to": path.last().copied().map(pair),
            "path_points": path.len(),
            "button": button.name(),
            "duration_ms": duration.map(milliseconds),
        }),
        InputOp::Type { text, paste, preserve_clipboard: _ } => json!({ "text_length": text.len(), "paste": paste }),
        InputOp::Key(chord) => json!({ "key": chord_name(chord) }),
        InputOp::HoldKey { chord, duration } => {
            json!({ "key": chord_name(chord), "duration_ms": milliseconds(*duration) })
        }
        InputOp::Scroll { at, direction, amount, modifiers } => json!({
            "coordinate": at.map(pair),
            "direction": direction.name(),
            "clicks": amount,
            "modifiers": names(modifiers),
        }),
        InputOp::Wait { duration } => json!({ "duration_ms": milliseconds(*duration) }),
    };
    extend(&mut details, more);
    details
}

fn clipboard_text(text: &str) -> Value {
    json!({ "size_bytes": text.len(), "sha256_keyed_prefix": keyed_prefix(text) })
}

/// Eight hex digits; none when the system gives no random key.
fn keyed_prefix(text: &str) -> Option<String> {
    static KEY: OnceLock<Option<[u8; 32]>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok().map(|()| key)
    });
    let digest = Sha256::new().chain_update(key.as_ref()?).chain_update(text).finalize();
    Some(drawbridge_core::hex::encode(&digest[..4]))
}

/// Names a chord, but not which character it types.
fn chord_name(chord: &Chord) -> String {
    let held = chord.modifiers.iter().any(|modifier| *modifier != Modifier::Shift);
    let key = match chord.key {
        Key::Character(_) | Key::Space if !held => return CHARACTER.to_owned(),
        Key::Character('+') => "plus".to_owned(),
        Key::Character(character) => character.to_string(),
        Key::Modifier(modifier) => modifier.name().to_owned(),
        Key::Function(number) => format!("f{number}"),
        Key::Enter => "enter".to_owned(),
        Key::Tab => "tab".to_owned(),
        Key::Escape => "esc".to_owned(),
        Key::Space => "space".to_owned(),
        Key::Up => "up".to_owned(),
        Key::Down => "down".to_owned(),
        Key::Left => "left".to_owned(),
        Key::Right => "right".to_owned(),
        Key::PageUp => "pageup".to_owned(),
        Key::PageDown => "pagedown".to_owned(),
        Key::Home => "home".to_owned(),
        Key::End => "end".to_owned(),
        Key::Backspace => "backspace".to_owned(),
        Key::Delete => "delete".to_owned(),
        Key::Insert => "insert".to_owned(),
        Key::CapsLock => "capslock".to_owned(),
    };
    let mut parts = names(&chord.modifiers);
    parts.push(&key);
    parts.join("+")
}

fn names(modifiers: &[Modifier]) -> Vec<&str> {
    modifiers.iter().map(|modifier| modifier.name()).collect()
}

const fn pair(point: Point) -> [i32; 2] {
    [point.x, point.y]
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn extend(details: &mut Value, more: Value) {
    if let (Value::Object(details), Value::Object(more)) = (details, more) {
        details.extend(more);
    }
}

/// Returns what a record of computer use is about, as its details say; none for another operation, and for one whose
/// details have a subject of their own.
pub(super) fn subject(op: &str, details: &Map<String, Value>) -> Option<String> {
    let number = |key: &str| details.get(key).and_then(Value::as_i64);
    let text = |key: &str| details.get(key).and_then(Value::as_str);
    let count = |key: &str, what: &str| number(key).map(|number| format!("{number} {what}")).unwrap_or_default();
    Some(match op {
        "SCREENSHOT_REQUEST" => match (text("window_id"), numbers(details, "region")) {
            (Some(window_id), _) => window_id.to_owned(),
            (None, Some(region)) => format!("region {region}"),
            (None, None) if number("monitor") == Some(-1) => "all displays".to_owned(),
            (None, None) => number("monitor").map(|monitor| format!("display {monitor}")).unwrap_or_default(),
        },
        "INPUT_ACTION" => input_subject(details),
        "DISPLAY_INFO_REQUEST" => count("monitor_count", "displays"),
        "WINDOW_LIST_REQUEST" => match text("app_bundle_id") {
            Some(app) => app.to_owned(),
            None => count("windows_returned", "windows"),
        },
        "WINDOW_FOCUS" => text("window_id").unwrap_or_default().to_owned(),
        "APP_LIST_REQUEST" => count("apps_returned", "apps"),
        "APP_LAUNCH" => text("bundle_id").or_else(|| text("executable_path")).unwrap_or_default().to_owned(),
        "CLIPBOARD_READ" | "CLIPBOARD_WRITE" => match number("size_bytes") {
            Some(bytes) => format!("text, {bytes} bytes"),
            None => text("format").unwrap_or_default().to_owned(),
        },
        "PERMISSIONS_CHECK_REQUEST" => {
            let names = details.get("permissions").and_then(Value::as_array);
            let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
            names.join(", ")
        }
        _ => return None,
    })
}

fn input_subject(details: &Map<String, Value>) -> String {
    let text = |key: &str| details.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str, unit: &str| Some(format!("{}{unit}", details.get(key)?.as_i64()?));
    let modifiers = details.get("modifiers").and_then(Value::as_array).into_iter().flatten();
    let held: Vec<String> = modifiers.filter_map(Value::as_str).map(|name| format!("{name}+")).collect();
    let at = match (numbers(details, "coordinate"), numbers(details, "coordinate_to")) {
        (Some(from), Some(to)) => Some(format!("{from} -> {to}")),
        (at, _) => at,
    };
    let parts = [
        Some(held.concat() + &text("action").unwrap_or_default()),
        text("key"),
        text("direction"),
        number("clicks", ""),
        number("text_length", " bytes"),
        at,
        number("duration_ms", " ms"),
    ];
    parts.into_iter().flatten().collect::<Vec<String>>().join(" ")
}

/// A list of numbers as text: "500, 300".
fn numbers(details: &Map<String, Value>, key: &str) -> Option<String> {
    let numbers: Vec<String> =
        details.get(key)?.as_array()?.iter().filter_map(Value::as_i64).map(|n| n.to_string()).collect();
    Some(numbers.join(", "))
}

/// Says what the agent wants to do, after "The agent wants to".
pub(super) fn wish(op: &ComputerOp) -> String {
    match op {
        ComputerOp::Screenshot(op) => screenshot_wish(op),
        ComputerOp::Input(op) => input_wish(op),
        ComputerOp::CursorPosition => "see where the mouse pointer is".to_owned(),
        ComputerOp::DisplayInfo => "see which screens there are".to_owned(),
        ComputerOp::WindowList(op) => match &op.app {
            None => "see which windows are open".to_owned(),
            Some(app) => format!("see which windows of {} are open", shown(app)),
        },
        ComputerOp::WindowFocus { raise: true, .. } => "bring a window to the front".to_owned(),
        ComputerOp::WindowFocus { raise: false, .. } => "give the keyboard to another window".to_owned(),
        ComputerOp::AppList { .. } => "see which apps are running".to_owned(),
        ComputerOp::AppLaunch(op) => {
            let app = op.bundle_id.as_ref().or(op.executable_path.as_ref()).map(String::as_str).unwrap_or_default();
            let files = match op.args.len() {
                0 => String::new(),
                1 => " with 1 argument".to_owned(),
                more => format!(" with {more} arguments"),
            };
            format!("start {}{files}", shown(app))
        }
        ComputerOp::ClipboardRead => "read the text in the clipboard".to_owned(),
        ComputerOp::ClipboardWrite { text } if text.is_empty() => "empty the clipboard".to_owned(),
        ComputerOp::ClipboardWrite { text } => format!("put {} into the clipboard", characters(text)),
        ComputerOp::PermissionsCheck { .. } => "see which permissions of the system Drawbridge has".to_owned(),
    }
}

fn screenshot_wish(op: &ScreenshotOp) -> String {
    match &op.area {
        Some(ScreenArea::Region(region)) => {
            let (width, height) = (region.width(), region.height());
            format!("take a picture of a part of the screen, {width} by {height} at {}, {}", region.x1, region.y1)
        }
        Some(ScreenArea::Window(_)) => "take a picture of a window".to_owned(),
        None if op.monitor == -1 => "take a picture of all screens".to_owned(),
        None if op.monitor == 0 => "take a picture of the screen".to_owned(),
        None => format!("take a picture of screen {}", i64::from(op.monitor) + 1),
    }
}

fn input_wish(op: &InputOp) -> String {
    match op {
        InputOp::Click { at, button, count, modifiers } => {
            let click = match (count, button) {
                (2, _) => "double-click",
                (3, _) => "triple-click",
                (_, Button::Left) => "click",
                (_, Button::Middle) => "middle-click",
                (_, Button::Right) => "right-click",
            };
            format!("{click} at {}, {}{}", at.x, at.y, held(modifiers))
        }
        InputOp::Move { at } => format!("move the mouse pointer to {}, {}", at.x, at.y),
        InputOp::Down { at, button } => {
            format!("press and hold the {} mouse button at {}, {}", button.name(), at.x, at.y)
        }
        InputOp::Up { at, button } => format!("release the {} mouse button at {}, {}", button.name(), at.x, at.y),
        InputOp::Drag { path, .. } => {
            let (from, to) = (path.first().copied().unwrap_or_default(), path.last().copied().unwrap_or_default());
            format!("drag from {}, {} to {}, {}", from.x, from.y, to.x, to.y)
        }
        InputOp::Type { text, .. } => format!("type {}", characters(text)),
        InputOp::Key(chord) => format!("press {}", key_wish(chord)),
        InputOp::HoldKey { chord, duration } => format!("hold {} for {}", key_wish(chord), time(*duration)),
        InputOp::Scroll { at, direction, amount, modifiers } => {
            let place = at.map(|at| format!(" at {}, {}", at.x, at.y)).unwrap_or_default();
            let steps = if *amount == 1 { "step" } else { "steps" };
            format!("scroll {} {amount} {steps}{place}{}", direction.name(), held(modifiers))
        }
        InputOp::Wait { duration } => format!("wait for {}", time(*duration)),
    }
}

fn key_wish(chord: &Chord) -> String {
    match chord_name(chord).as_str() {
        CHARACTER => "a character key".to_owned(),
        // A character without a shape of its own is none of ours, but what is shown is escaped in any case.
        name => escape_outside_text(name),
    }
}

fn held(modifiers: &[Modifier]) -> String {
    if modifiers.is_empty() { String::new() } else { format!(" with {} held", names(modifiers).join("+")) }
}

fn characters(text: &str) -> String {
    match text.chars().count() {
        1 => "1 character".to_owned(),
        more => format!("{more} characters"),
    }
}

fn time(duration: Duration) -> String {
    match duration.as_millis() {
        1000 => "1 second".to_owned(),
        ms if ms % 1000 == 0 => format!("{} seconds", ms / 1000),
        ms => format!("{ms} milliseconds"),
    }
}

#[cfg(test)]
#[path = "computer_tests.rs"]
mod tests;
