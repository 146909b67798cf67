//! Computer use, as files: what each request means, and what each outcome and error looks like as a frame.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what went wrong by panicking")]

mod fixture_files;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drawbridge_core::computer::{
    AppFacts, AppLaunchOp, Button, Chord, ClipboardReason, ComputerOp, CursorPlace, Direction, DisplayFacts, InputOp,
    Modifier, PermissionState, Picture, PictureFormat, Point, Rect, ScreenArea, ScreenshotOp, WindowFacts,
    WindowListOp,
};
use drawbridge_core::{Limits, OpError, Operation, Outcome, Power, RequestId, WallMs};
use drawbridge_proto::executor::codec::{Incoming, Reply, ReplyContext, decode};
use drawbridge_proto::executor::wire::Capability;
use fixture_files::files;
use serde_json::Value;

const ID: &str = "5b0c2f6e-1111-4222-8333-444455556666";
const WINDOW: &str = "win_5b0c2f6e-1111-4222-8333-444455556666";

fn shot(monitor: i32, area: Option<ScreenArea>) -> ScreenshotOp {
    ScreenshotOp { monitor, quality: 75, area, format: PictureFormat::Jpeg, include_cursor: true }
}

fn region(x1: i32, y1: i32, x2: i32, y2: i32) -> Option<ScreenArea> {
    Some(ScreenArea::Region(Rect::new(x1, y1, x2, y2)))
}

fn click(x: i32, y: i32, button: Button, count: u8, modifiers: &[Modifier]) -> InputOp {
    InputOp::Click { at: Point::new(x, y), button, count, modifiers: modifiers.to_vec() }
}

fn scroll(at: Option<Point>, direction: Direction, amount: u32, modifiers: &[Modifier]) -> InputOp {
    InputOp::Scroll { at, direction, amount, modifiers: modifiers.to_vec() }
}

fn drag(path: &[[i32; 2]], button: Button, ms: Option<u64>) -> InputOp {
    let path = path.iter().map(|[x, y]| Point::new(*x, *y)).collect();
    InputOp::Drag { path, button, duration: ms.map(Duration::from_millis) }
}

fn hold(key: &str, ms: u64) -> InputOp {
    InputOp::HoldKey { chord: Chord::parse(key).unwrap(), duration: Duration::from_millis(ms) }
}

fn typed(text: &str, paste: bool) -> InputOp {
    InputOp::Type { text: text.to_owned(), paste, preserve_clipboard: paste }
}

fn launch(bundle_id: Option<&str>, path: Option<&str>, args: &[&str]) -> AppLaunchOp {
    AppLaunchOp {
        bundle_id: bundle_id.map(str::to_owned),
        executable_path: path.map(str::to_owned),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        activate: true,
    }
}

fn screenshots() -> Vec<(&'static str, ScreenshotOp)> {
    let png = |area| ScreenshotOp { format: PictureFormat::Png, ..shot(0, area) };
    vec![
        ("screenshot_request", shot(0, None)),
        ("screenshot_request.as-the-platform-sends-it", ScreenshotOp { include_cursor: false, ..png(None) }),
        ("screenshot_request.bare", shot(0, None)),
        ("screenshot_request.numbers-with-point", ScreenshotOp { quality: 80, ..shot(1, region(-640, 0, 0, 480)) }),
        ("screenshot_request.out-of-range-quality", ScreenshotOp { quality: 100, ..shot(1, None) }),
        ("screenshot_request.region", shot(-1, region(0, 0, 640, 480))),
        ("screenshot_request.window", png(Some(ScreenArea::Window(WINDOW.into())))),
    ]
}

fn inputs() -> Vec<(&'static str, InputOp)> {
    let chord = |text: &str| InputOp::Key(Chord::parse(text).unwrap());
    let (left, middle, right) = (Button::Left, Button::Middle, Button::Right);
    let at = Point::new(5, 5);
    let wait = |ms| InputOp::Wait { duration: Duration::from_millis(ms) };
    vec![
        ("double_click", click(-20, 300, left, 2, &[])),
        ("drag", drag(&[[0, 0], [10, 10], [20, 5]], left, Some(300))),
        ("drag.right", drag(&[[-5, 0], [5, 10]], right, None)),
        ("hold_key", hold("shift", 500)),
        ("hold_key.too-long", hold("w", 5000)),
        ("key", chord("ctrl+s")),
        ("key.command", chord("cmd+Return")),
        ("key.plus", chord("ctrl++")),
        ("left_click", click(500, 300, left, 1, &[Modifier::Shift])),
        ("left_click.numbers-with-point", click(500, 300, left, 1, &[])),
        ("middle_click", click(-20, 300, middle, 1, &[])),
        ("mouse_down", InputOp::Down { at, button: left }),
        ("mouse_down.bare", InputOp::Down { at, button: left }),
        ("mouse_move", InputOp::Move { at: Point::new(-20, 300) }),
        ("mouse_up", InputOp::Up { at, button: left }),
        ("mouse_up.right", InputOp::Up { at, button: right }),
        ("right_click", click(-20, 300, right, 1, &[])),
        ("scroll", scroll(Some(Point::new(500, 300)), Direction::Down, 3, &[])),
        ("scroll-old-spelling", scroll(None, Direction::Up, 2, &[])),
        ("scroll.bare", scroll(None, Direction::Down, 3, &[])),
        (
            "scroll.both-spellings",
            scroll(Some(Point::new(1, 2)), Direction::Left, 1, &[Modifier::Ctrl, Modifier::Super]),
        ),
        ("triple_click", click(-20, 300, left, 3, &[])),
        ("type", typed("naïve ✓", true)),
        ("type.plain", typed("a\tb\n", false)),
        ("wait", wait(1000)),
        ("wait.too-long", wait(5000)),
    ]
}

fn others() -> Vec<(&'static str, ComputerOp)> {
    let write = |text: &str| ComputerOp::ClipboardWrite { text: text.to_owned() };
    let check = |names: &[&str]| ComputerOp::PermissionsCheck { names: names.iter().map(|&n| n.to_owned()).collect() };
    let focus = || ComputerOp::WindowFocus { window_id: WINDOW.into(), raise: true };
    let list =
        WindowListOp { app: Some("com.apple.Terminal".into()), include_minimized: true, include_offscreen: false };
    vec![
        ("app_launch", ComputerOp::AppLaunch(launch(Some("com.apple.Terminal"), None, &["-n"]))),
        ("app_launch.path", ComputerOp::AppLaunch(launch(None, Some("/usr/bin/gedit"), &[]))),
        ("app_list_request", ComputerOp::AppList { include_background: false }),
        ("app_list_request.bare", ComputerOp::AppList { include_background: false }),
        ("clipboard_read", ComputerOp::ClipboardRead),
        ("clipboard_read.bare", ComputerOp::ClipboardRead),
        ("clipboard_write", write("copied")),
        ("clipboard_write.bare", write("naïve ✓")),
        ("clipboard_write.empty", write("")),
        ("cursor_position_request", ComputerOp::CursorPosition),
        ("cursor_position_request.without-payload", ComputerOp::CursorPosition),
        ("display_info_request", ComputerOp::DisplayInfo),
        ("display_info_request.without-payload", ComputerOp::DisplayInfo),
        ("permissions_check_request", check(&["screen_recording", "accessibility", "input_monitoring"])),
        ("permissions_check_request.none", check(&[])),
        ("window_focus", focus()),
        ("window_focus.bare", focus()),
        ("window_list_request", ComputerOp::WindowList(list)),
        ("window_list_request.bare", ComputerOp::WindowList(WindowListOp::default())),
    ]
}

#[test]
fn every_request_means_what_is_written_here() {
    let mut wanted: BTreeMap<String, ComputerOp> = BTreeMap::new();
    wanted.extend(screenshots().into_iter().map(|(name, op)| (name.to_owned(), ComputerOp::Screenshot(op))));
    wanted.extend(inputs().into_iter().map(|(name, op)| (format!("input_action.{name}"), ComputerOp::Input(op))));
    wanted.extend(others().into_iter().map(|(name, op)| (name.to_owned(), op)));
    let mut seen = BTreeSet::new();
    for (name, text) in files("in") {
        let Incoming::Request(request) = decode(&text) else { continue };
        if request.kind.capability() != Capability::ComputerUse {
            continue;
        }
        let operation = request.operation().unwrap_or_else(|error| panic!("{name}: {error}"));
        let meaning = wanted.get(&name).unwrap_or_else(|| panic!("nothing is written here about in/{name}"));
        // Operations show their kind alone, so a plain comparison would say little.
        assert!(operation == Operation::Computer(meaning.clone()), "in/{name} means something else");
        seen.insert(name);
    }
    assert_eq!(seen, wanted.into_keys().collect());
}

fn picture(text: &str, format: PictureFormat, size: (u32, u32), monitor: i32) -> Picture {
    use base64::Engine as _;
    Picture {
        bytes: base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        format,
        width: size.0,
        height: size.1,
        monitor,
        region: None,
        display_scale: 1.0,
        logical_size: size,
        origin: Point::default(),
        one_colour: false,
    }
}

fn display(index: i32, rect: Rect, scale: u32) -> DisplayFacts {
    let size = (rect.width(), rect.height());
    DisplayFacts {
        index,
        primary: index == 0,
        rect,
        physical_size: (size.0 * scale, size.1 * scale),
        logical_size: size,
        scale: f64::from(scale),
    }
}

fn pictures() -> Vec<(&'static str, Outcome)> {
    let jpeg = || picture("/9j/4AAQ", PictureFormat::Jpeg, (2560, 1440), 0);
    let png = |size, monitor| picture("iVBORw0KGgo=", PictureFormat::Png, size, monitor);
    let region = Picture {
        region: Some(Rect::new(-640, 0, 0, 480)),
        display_scale: 2.0,
        logical_size: (1280, 720),
        origin: Point::new(-640, 0),
        ..png((640, 480), -1)
    };
    let window =
        Picture { display_scale: 1.25, logical_size: (1920, 1080), origin: Point::new(2600, 40), ..png((800, 600), 1) };
    vec![
        ("screenshot_response", Outcome::Picture(jpeg())),
        ("screenshot_response.one-colour", Outcome::Picture(Picture { one_colour: true, ..jpeg() })),
        ("screenshot_response.region", Outcome::Picture(region)),
        ("screenshot_response.window", Outcome::Picture(window)),
    ]
}

fn answers() -> Vec<(&'static str, Outcome)> {
    let window = WindowFacts {
        window_id: WINDOW.into(),
        pid: 77,
        app_name: "Files".into(),
        app_bundle_id: None,
        title: "Home".into(),
        bounds: Rect::new(0, 0, 800, 600),
        monitor: 0,
        is_focused: true,
        is_minimized: false,
        is_fullscreen: false,
    };
    let app = AppFacts {
        pid: 77,
        name: "Files".into(),
        bundle_id: None,
        executable_path: Some("/usr/bin/nautilus".into()),
        is_frontmost: true,
        window_count: 1,
    };
    let permissions = [
        ("screen_recording", PermissionState::Granted),
        ("accessibility", PermissionState::Denied),
        ("input_monitoring", PermissionState::Unknown),
        ("camera", PermissionState::NotApplicable),
    ];
    let two =
        vec![display(0, Rect::new(0, 0, 1920, 1080), 1), display(1, Rect::at(Point::new(-1280, 100), 1280, 720), 1)];
    vec![
        ("ack", Outcome::Done),
        ("ack", Outcome::ClipboardWritten { size_bytes: 6 }),
        ("ack", Outcome::Launched { pid: None }),
        ("ack.launched", Outcome::Launched { pid: Some(4711) }),
        ("app_list_response", Outcome::Apps(vec![app])),
        ("clipboard_read_response", Outcome::Clipboard("ü".into())),
        ("cursor_position_response", Outcome::Cursor(CursorPlace { at: Point::new(12, -4), monitor: 0 })),
        ("display_info_response", Outcome::Displays(vec![display(0, Rect::new(0, 0, 2560, 1440), 2)])),
        ("display_info_response.two", Outcome::Displays(two)),
        (
            "permissions_check_response",
            Outcome::Permissions(permissions.map(|(name, state)| (name.to_owned(), state)).into()),
        ),
        ("window_list_response", Outcome::Windows { windows: vec![window], truncated: false }),
        ("window_list_response.none", Outcome::Windows { windows: Vec::new(), truncated: true }),
    ]
}

fn concealed(reason: ClipboardReason) -> OpError {
    OpError::ClipboardConcealed { reason }
}

fn errors() -> Vec<(&'static str, &'static str, OpError)> {
    let displays =
        vec![display(0, Rect::new(0, 0, 2560, 1440), 1), display(1, Rect::at(Point::new(-1280, 100), 1280, 720), 1)];
    let pending = OpError::PermissionPending {
        permission: "screen_recording",
        platform: "darwin",
        message: "the screen may not be recorded yet".into(),
        hint: "allow it in the system settings".into(),
        retry_after: None,
    };
    let person = OpError::PermissionPending {
        permission: "person_active",
        platform: "linux",
        message: "the person is typing".into(),
        hint: "wait a moment".into(),
        retry_after: Some(Duration::from_millis(1500)),
    };
    let why = "the person is typing".to_owned();
    let stopped = OpError::TypingStopped { typed: 12, total: 34, why, source: Box::new(person) };
    let (input, shot, read) = ("INPUT_ACTION", "SCREENSHOT_REQUEST", "CLIPBOARD_READ");
    let protected =
        OpError::ProtectedApp { app: "KeePassXC".into(), reason: "password_manager", why: "it holds passwords".into() };
    let often = OpError::Overloaded { what: "screenshots a minute", reason: "screenshots_per_minute", max: 10 };
    vec![
        ("capability_not_granted.protected-app", input, protected),
        ("clipboard_concealed", read, concealed(ClipboardReason::WritebackOnly { age_seconds: None })),
        (
            "clipboard_concealed.marked",
            read,
            concealed(ClipboardReason::ConcealedType { marker: "x-kde-passwordManagerHint" }),
        ),
        ("clipboard_concealed.old", read, concealed(ClipboardReason::WritebackOnly { age_seconds: Some(31.5) })),
        (
            "clipboard_concealed.overwritten",
            read,
            concealed(ClipboardReason::WritebackOverwritten { age_seconds: 2.25 }),
        ),
        (
            "feature_not_supported.cannot-type",
            input,
            OpError::CannotType { character: 'ﷺ', index: 4, why: "no key gives it".into() },
        ),
        ("feature_not_supported.clipboard-off", read, OpError::PowerOff { power: Power::Clipboard }),
        ("feature_not_supported.monitor", shot, OpError::NoSuchMonitor { asked: 3, monitors: vec![0, 1] }),
        ("input_out_of_bounds", input, OpError::OutOfBounds { requested: Point::new(9000, 10), displays }),
        ("permission_pending", shot, pending),
        ("permission_pending.typing-stopped", input, stopped),
        ("shim_overloaded.screenshots", shot, often),
        ("window_stale", "WINDOW_FOCUS", OpError::WindowStale { window_id: WINDOW.into() }),
    ]
}

/// The whole frame, read back.
fn frame(op: &'static str, result: Result<&Outcome, &OpError>) -> Value {
    let id = RequestId::parse(ID).unwrap();
    let reply = Reply::encode(&id, &ReplyContext::of_name(op), &Limits::default(), result);
    serde_json::from_str(&reply.into_frame(WallMs(1_712_345_678_250), "1.1", 3)).unwrap()
}

#[test]
fn every_outcome_and_error_is_written_as_its_file_says() {
    let files: BTreeMap<String, String> = files("out").into_iter().collect();
    let file = |name: &str| -> Value {
        serde_json::from_str(files.get(name).unwrap_or_else(|| panic!("there is no out/{name}"))).unwrap()
    };
    for (name, outcome) in pictures().into_iter().chain(answers()) {
        assert_eq!(frame("SCREENSHOT_REQUEST", Ok(&outcome)), file(name), "out/{name}");
    }
    for (name, op, error) in errors() {
        assert_eq!(frame(op, Err(&error)), file(&format!("error.{name}")), "out/error.{name}");
    }
}
