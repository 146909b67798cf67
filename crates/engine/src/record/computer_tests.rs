use drawbridge_core::computer::{AppFacts, Direction, DisplayFacts, PictureFormat, Rect, WindowListOp};
use drawbridge_core::{OpError, Operation};

use super::super::{Facts, facts, sentence};
use super::*;

/// What the log says before and after, without what policy adds.
fn logged(op: ComputerOp, outcome: Option<Outcome>) -> Facts {
    let mut facts = facts(&Operation::Computer(op), 30);
    if let Some(outcome) = outcome {
        facts.complete(&Ok(outcome));
    }
    facts
}

fn input_of(op: InputOp) -> Facts {
    logged(ComputerOp::Input(op), None)
}

/// The details of an input that say something.
fn said(op: InputOp) -> Value {
    let details = input_of(op).details;
    for key in ["coordinate", "key", "direction", "clicks", "text_length", "modifiers", "button", "paste"] {
        assert!(details.contains_key(key), "{key} belongs into every record of an input");
    }
    Value::Object(details.into_iter().filter(|(key, value)| key != "action" && !value.is_null()).collect())
}

fn key(text: &str) -> InputOp {
    InputOp::Key(Chord::parse(text).unwrap())
}

fn typed(text: &str) -> InputOp {
    InputOp::Type { text: text.to_owned(), paste: true, preserve_clipboard: false }
}

fn picture() -> Picture {
    Picture {
        bytes: b"secret pixels".to_vec(),
        format: PictureFormat::Jpeg,
        width: 640,
        height: 480,
        monitor: 0,
        region: None,
        display_scale: 1.0,
        logical_size: (640, 480),
        origin: Point::new(0, 0),
        one_colour: false,
    }
}

fn shot(monitor: i32, area: Option<ScreenArea>) -> ComputerOp {
    ComputerOp::Screenshot(ScreenshotOp {
        monitor,
        quality: 75,
        area,
        format: PictureFormat::Jpeg,
        include_cursor: true,
    })
}

fn launch(bundle_id: Option<&str>, args: &[&str]) -> ComputerOp {
    ComputerOp::AppLaunch(AppLaunchOp {
        bundle_id: bundle_id.map(str::to_owned),
        executable_path: Some("/usr/bin/gedit".into()),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        activate: true,
    })
}

#[test]
fn a_picture_is_told_by_what_was_asked_and_by_its_size() {
    let region = shot(0, Some(ScreenArea::Region(Rect::new(-640, 0, 0, 480))));
    let facts = logged(region, Some(Outcome::Picture(picture())));
    let wanted = json!({"monitor": 0, "quality": 75, "region": [-640, 0, 0, 480], "window_id": null, "format": "jpeg",
        "image_bytes_returned": 13, "width": 640, "height": 480});
    assert_eq!(Value::Object(facts.details.clone()), wanted);
    assert_eq!(facts.subject(), "region -640, 0, 0, 480");

    let blank = logged(shot(-1, None), Some(Outcome::Picture(Picture { one_colour: true, ..picture() })));
    assert_eq!(blank.details["one_colour"], true);
    assert_eq!(blank.subject(), "all displays");
    assert_eq!(logged(shot(1, None), None).subject(), "display 1");
    assert_eq!(logged(shot(0, Some(ScreenArea::Window("win_1".into()))), None).subject(), "win_1");
}

#[test]
fn a_failed_picture_says_what_was_asked_alone() {
    let mut facts = facts(&Operation::Computer(shot(0, None)), 30);
    facts.complete(&Err(OpError::Cancelled));
    assert!(!facts.details.contains_key("width") && !facts.details.contains_key("image_bytes_returned"));
}

#[test]
fn input_is_told_without_its_text() {
    let at = Point::new(500, -3);
    let click = InputOp::Click { at, button: Button::Right, count: 1, modifiers: vec![Modifier::Ctrl] };
    assert_eq!(said(click.clone()), json!({"coordinate": [500, -3], "button": "right", "modifiers": ["ctrl"]}));
    assert_eq!(input_of(click).subject(), "ctrl+right_click 500, -3");

    assert_eq!(said(typed("naïve ✓")), json!({"text_length": 10, "paste": true}));
    assert_eq!(input_of(typed("naïve ✓")).subject(), "type 10 bytes");

    let path = vec![Point::new(0, 0), Point::new(9, 9), Point::new(20, 5)];
    let drag = InputOp::Drag { path, button: Button::Left, duration: Some(Duration::from_millis(300)) };
    let wanted =
        json!({"coordinate": [0, 0], "coordinate_to": [20, 5], "path_points": 3, "button": "left", "duration_ms": 300});
    assert_eq!(said(drag.clone()), wanted);
    assert_eq!(input_of(drag).subject(), "drag 0, 0 -> 20, 5 300 ms");

    let scroll = InputOp::Scroll { at: None, direction: Direction::Up, amount: 3, modifiers: Vec::new() };
    assert_eq!(said(scroll.clone()), json!({"direction": "up", "clicks": 3, "modifiers": []}));
    assert_eq!(input_of(scroll).subject(), "scroll up 3");

    let wait = InputOp::Wait { duration: Duration::from_millis(1000) };
    assert_eq!(said(wait.clone()), json!({"duration_ms": 1000}));
    assert_eq!(input_of(wait).subject(), "wait 1000 ms");
    let down = InputOp::Down { at, button: Button::Left };
    assert_eq!(input_of(down).subject(), "mouse_down 500, -3");
}

#[test]
fn a_key_that_types_a_character_is_never_named() {
    for text in ["a", "Z", "7", "+", "$", "space", "shift+a", "shift+plus", "shift+space"] {
        assert_eq!(said(key(text)), json!({"key": "character"}), "{text}");
        assert_eq!(
            sentence(&Operation::Computer(ComputerOp::Input(key(text)))),
            "The agent wants to press a character key"
        );
    }
    for (text, named) in [
        ("Ctrl+S", "ctrl+s"),
        ("cmd+shift+3", "shift+super+3"),
        ("ctrl++", "ctrl+plus"),
        ("alt+space", "alt+space"),
        ("RETURN", "enter"),
        ("shift+tab", "shift+tab"),
        ("f12", "f12"),
        ("shift", "shift"),
    ] {
        assert_eq!(said(key(text)), json!({"key": named}), "{text}");
    }
    let hold = InputOp::HoldKey { chord: Chord::parse("w").unwrap(), duration: Duration::from_millis(500) };
    assert_eq!(said(hold), json!({"key": "character", "duration_ms": 500}));
}

#[test]
fn clipboard_text_is_told_by_its_size_and_a_tag_that_only_this_run_can_make() {
    let write = |text: &str| logged(ComputerOp::ClipboardWrite { text: text.to_owned() }, None).details;
    let written = write("hunter2 ✓");
    let read = logged(ComputerOp::ClipboardRead, Some(Outcome::Clipboard("hunter2 ✓".into())));
    assert_eq!(read.details, written);
    assert_eq!(read.subject(), "text, 11 bytes");
    assert_eq!((&written["format"], &written["size_bytes"]), (&json!("text"), &json!(11)));
    let tag = written["sha256_keyed_prefix"].as_str().unwrap();
    assert!(tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit()), "{tag}");

    assert_ne!(write("hunter3 ✓")["sha256_keyed_prefix"], tag);
    // Who guesses the text cannot confirm it by the plain digest.
    let plain = drawbridge_core::hex::encode(&Sha256::digest("hunter2 ✓")[..4]);
    assert_ne!(plain, tag);
    assert_eq!(logged(ComputerOp::ClipboardRead, None).subject(), "text");
}

#[test]
fn windows_apps_displays_and_permissions_are_counted_and_named() {
    let display = DisplayFacts {
        index: 0,
        primary: true,
        rect: Rect::new(0, 0, 9, 9),
        physical_size: (9, 9),
        logical_size: (9, 9),
        scale: 1.0,
    };
    let displays = logged(ComputerOp::DisplayInfo, Some(Outcome::Displays(vec![display])));
    assert_eq!(Value::Object(displays.details.clone()), json!({"monitor_count": 1}));

    let list = WindowListOp { app: None, include_minimized: true, include_offscreen: false };
    let windows = Outcome::Windows { windows: Vec::new(), truncated: false };
    let wanted =
        json!({"app_bundle_id": null, "include_minimized": true, "include_offscreen": false, "windows_returned": 0});
    let windows = logged(ComputerOp::WindowList(list), Some(windows));
    assert_eq!(Value::Object(windows.details.clone()), wanted);
    assert_eq!(windows.subject(), "0 windows");

    let focus = logged(ComputerOp::WindowFocus { window_id: "win_1".into(), raise: true }, Some(Outcome::Done));
    assert_eq!(Value::Object(focus.details.clone()), json!({"window_id": "win_1", "raise": true}));

    let app = AppFacts {
        pid: 7,
        name: "x".into(),
        bundle_id: None,
        executable_path: None,
        is_frontmost: true,
        window_count: 1,
    };
    let apps = logged(ComputerOp::AppList { include_background: true }, Some(Outcome::Apps(vec![app])));
    assert_eq!(Value::Object(apps.details.clone()), json!({"include_background": true, "apps_returned": 1}));

    let started = logged(launch(None, &["/home/ann/secret.txt"]), Some(Outcome::Launched { pid: Some(4711) }));
    let wanted =
        json!({"bundle_id": null, "executable_path": "/usr/bin/gedit", "args_count": 1, "activate": true, "pid": 4711});
    assert_eq!(Value::Object(started.details.clone()), wanted);
    assert_eq!(started.subject(), "/usr/bin/gedit");

    let check = logged(ComputerOp::PermissionsCheck { names: vec!["a".into(), "b".into()] }, None);
    assert_eq!(Value::Object(check.details.clone()), json!({"permissions": ["a", "b"]}));
    assert_eq!(check.subject(), "a, b");
    assert_eq!(Value::Object(logged(ComputerOp::CursorPosition, None).details), json!({}));
}

#[test]
fn the_person_is_asked_in_plain_sentences() {
    let say = |op: ComputerOp| sentence(&Operation::Computer(op));
    let input = |op: InputOp| say(ComputerOp::Input(op));
    let at = Point::new(500, 300);
    let click =
        |button, count, modifiers: &[Modifier]| InputOp::Click { at, button, count, modifiers: modifiers.to_vec() };
    let part = Some(ScreenArea::Region(Rect::new(10, 20, 650, 500)));
    for (told, wanted) in [
        (say(shot(0, None)), "take a picture of the screen"),
        (say(shot(-1, None)), "take a picture of all screens"),
        (say(shot(1, None)), "take a picture of screen 2"),
        (say(shot(0, part)), "take a picture of a part of the screen, 640 by 480 at 10, 20"),
        (input(click(Button::Left, 1, &[])), "click at 500, 300"),
        (input(click(Button::Left, 2, &[Modifier::Ctrl])), "double-click at 500, 300 with ctrl held"),
        (input(click(Button::Right, 1, &[])), "right-click at 500, 300"),
        (input(typed(&"é".repeat(34))), "type 34 characters"),
        (input(typed("x")), "type 1 character"),
        (input(key("ctrl+s")), "press ctrl+s"),
        (input(InputOp::Wait { duration: Duration::from_secs(2) }), "wait for 2 seconds"),
        (
            input(InputOp::Scroll { at: Some(at), direction: Direction::Down, amount: 1, modifiers: Vec::new() }),
            "scroll down 1 step at 500, 300",
        ),
        (say(launch(Some("org.gnome.gedit"), &[])), "start org.gnome.gedit"),
        (say(launch(None, &["a", "b"])), "start /usr/bin/gedit with 2 arguments"),
        (say(launch(Some("a\u{202e}b"), &[])), "start a\\u{202E}b"),
        (say(ComputerOp::ClipboardRead), "read the text in the clipboard"),
        (say(ComputerOp::ClipboardWrite { text: "ab".into() }), "put 2 characters into the clipboard"),
        (say(ComputerOp::ClipboardWrite { text: String::new() }), "empty the clipboard"),
        (say(ComputerOp::WindowFocus { window_id: "w".into(), raise: true }), "bring a window to the front"),
    ] {
        assert_eq!(told, format!("The agent wants to {wanted}"));
    }
}

#[test]
fn a_record_without_details_has_no_subject() {
    for op in ["SCREENSHOT_REQUEST", "INPUT_ACTION", "CLIPBOARD_WRITE", "APP_LAUNCH", "WINDOW_LIST_REQUEST"] {
        assert_eq!(subject(op, &Map::new()).as_deref(), Some(""), "{op}");
    }
    assert_eq!(subject("FILE_READ", &Map::new()), None);
}

#[test]
fn nothing_of_a_text_is_in_any_record_or_sentence() {
    let secret = "correct horse battery";
    for op in [ComputerOp::Input(typed(secret)), ComputerOp::ClipboardWrite { text: secret.to_owned() }] {
        let operation = Operation::Computer(op);
        let facts = facts(&operation, 30);
        let all = format!("{} {} {}", Value::Object(facts.details.clone()), facts.subject(), sentence(&operation));
        assert!(secret.split(' ').all(|word| !all.contains(word)), "{all}");
    }
}
