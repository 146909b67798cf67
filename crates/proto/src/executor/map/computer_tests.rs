use super::*;
use crate::executor::codec::{Incoming, decode};
use drawbridge_core::Operation;
use drawbridge_core::computer::Key;
use serde_json::{Value, json};

fn ask(type_name: &str, payload: &Value) -> Result<ComputerOp, OpError> {
    let text = format!(r#"{{"type": "{type_name}", "id": "a", "payload": {payload}}}"#);
    let Incoming::Request(request) = decode(&text) else { panic!("no request: {text}") };
    request.operation().map(|operation| {
        let Operation::Computer(op) = operation else { panic!("{operation:?}") };
        op
    })
}

fn shot(payload: &Value) -> ScreenshotOp {
    match ask("SCREENSHOT_REQUEST", payload) {
        Ok(ComputerOp::Screenshot(op)) => op,
        Ok(_) => panic!("another operation"),
        Err(error) => panic!("{error}"),
    }
}

fn act(payload: &Value) -> InputOp {
    match ask("INPUT_ACTION", payload) {
        Ok(ComputerOp::Input(op)) => op,
        Ok(_) => panic!("another operation"),
        Err(error) => panic!("{payload}: {error}"),
    }
}

/// The field at fault and what is wrong with it.
fn fault_of(type_name: &str, payload: &Value) -> (String, String) {
    match ask(type_name, payload) {
        Err(OpError::InvalidPayload(fault)) => (fault.field, fault.why),
        Err(error) => panic!("{payload}: {error:?}"),
        Ok(_) => panic!("{payload} was taken"),
    }
}

fn feature_of(type_name: &str, payload: &Value) -> String {
    match ask(type_name, payload) {
        Err(OpError::Unsupported { feature, .. }) => feature,
        Err(error) => panic!("{payload}: {error:?}"),
        Ok(_) => panic!("{payload} was taken"),
    }
}

#[test]
fn a_bare_screenshot_takes_the_defaults_of_the_protocol() {
    let wanted =
        ScreenshotOp { monitor: 0, quality: 75, area: None, format: PictureFormat::Jpeg, include_cursor: true };
    assert_eq!(shot(&json!({})), wanted);
    assert_eq!(shot(&json!({"monitor": null, "quality": null, "region": null, "window_id": null})), wanted);
}

#[test]
fn quality_is_clamped_however_far_it_is_out() {
    for (asked, used) in [
        (json!(0), 1),
        (json!(-5), 1),
        (json!(100), 100),
        (json!(101), 100),
        (json!(80.0), 80),
        (json!(u64::MAX), 100),
        (json!(1e300), 100),
        (json!(-1e300), 1),
    ] {
        assert_eq!(shot(&json!({"quality": asked})).quality, used, "{asked}");
    }
    assert_eq!(fault_of("SCREENSHOT_REQUEST", &json!({"quality": 75.5})).0, "quality");
    assert_eq!(fault_of("SCREENSHOT_REQUEST", &json!({"quality": "75"})).0, "quality");
}

#[test]
fn a_monitor_far_out_stays_one_that_is_not_there() {
    assert_eq!(shot(&json!({"monitor": -1})).monitor, -1);
    assert_eq!(shot(&json!({"monitor": 4e12})).monitor, i32::MAX);
    assert_eq!(shot(&json!({"monitor": i64::MIN})).monitor, i32::MIN);
}

#[test]
fn a_region_must_have_an_area_and_may_lie_left_of_the_first_screen() {
    let area = shot(&json!({"region": [-640, 0, 0.0, 480]})).area;
    assert_eq!(area, Some(ScreenArea::Region(Rect::new(-640, 0, 0, 480))));
    for empty in [[5, 5, 5, 9], [5, 5, 9, 5], [9, 0, 5, 9], [0, 9, 9, 5]] {
        let (field, why) = fault_of("SCREENSHOT_REQUEST", &json!({"region": empty}));
        assert_eq!(field, "region");
        assert!(why.starts_with("is empty"), "{why}");
    }
    for wrong in
        [json!([0, 0, 10]), json!([0, 0, 10, 10, 10]), json!("0,0,1,1"), json!([0, 0, 1.5, 2]), json!([0, 0, 3e9, 2])]
    {
        assert_eq!(fault_of("SCREENSHOT_REQUEST", &json!({"region": wrong})).0, "region", "{wrong}");
    }
}

#[test]
fn region_and_window_exclude_each_other() {
    let both = json!({"region": [0, 0, 9, 9], "window_id": "win_1"});
    assert_eq!(feature_of("SCREENSHOT_REQUEST", &both), "screenshot.window");
    assert_eq!(shot(&json!({"window_id": "win_1"})).area, Some(ScreenArea::Window("win_1".into())));
    assert_eq!(fault_of("SCREENSHOT_REQUEST", &json!({"window_id": ""})).0, "window_id");
    assert_eq!(fault_of("SCREENSHOT_REQUEST", &json!({"window_id": "w".repeat(257)})).0, "window_id");
    assert_eq!(fault_of("SCREENSHOT_REQUEST", &json!({"format": "gif"})).0, "format");
}

#[test]
fn each_click_has_its_button_and_its_count() {
    for (action, button, count) in [
        ("left_click", Button::Left, 1),
        ("right_click", Button::Right, 1),
        ("middle_click", Button::Middle, 1),
        ("double_click", Button::Left, 2),
        ("triple_click", Button::Left, 3),
    ] {
        let wanted = InputOp::Click { at: Point::new(-20, 300), button, count, modifiers: Vec::new() };
        assert!(act(&json!({"action": action, "coordinate": [-20, 300]})) == wanted, "{action}");
        let same = json!({"action": action, "coordinate": [-20, 300.0], "button": button.name()});
        assert!(act(&same) == wanted, "{action}");
        let other = if button == Button::Middle { "left" } else { "middle" };
        let confused = json!({"action": action, "coordinate": [0, 0], "button": other});
        assert_eq!(fault_of("INPUT_ACTION", &confused).0, "button", "{action}");
        assert_eq!(fault_of("INPUT_ACTION", &json!({"action": action})).0, "coordinate", "{action}");
    }
}

#[test]
fn modifiers_are_held_once_each_and_only_where_they_can_be() {
    let click = json!({"action": "left_click", "coordinate": [1, 2], "modifiers": ["Meta", "shift", "super", "ctrl"]});
    let InputOp::Click { modifiers, .. } = act(&click) else { panic!() };
    assert_eq!(modifiers, [Modifier::Ctrl, Modifier::Shift, Modifier::Super]);
    let InputOp::Scroll { modifiers, .. } = act(&json!({"action": "scroll", "modifiers": ["alt"]})) else { panic!() };
    assert_eq!(modifiers, [Modifier::Alt]);

    let unknown = json!({"action": "left_click", "coordinate": [1, 2], "modifiers": ["hyper"]});
    let (field, why) = fault_of("INPUT_ACTION", &unknown);
    assert_eq!(field, "modifiers");
    assert!(why.contains("\"hyper\""), "{why}");
    for (action, more) in [
        ("drag", json!({"path": [[0, 0], [1, 1]]})),
        ("type", json!({"text": "a"})),
        ("key", json!({"key": "s"})),
        ("mouse_down", json!({"coordinate": [1, 1]})),
        ("wait", json!({"duration_ms": 1})),
    ] {
        let mut payload = json!({"action": action, "modifiers": ["ctrl"]});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(fault_of("INPUT_ACTION", &payload).0, "modifiers", "{action}");
        payload["modifiers"] = json!([]);
        assert!(ask("INPUT_ACTION", &payload).is_ok(), "{action}");
    }
}

#[test]
fn coordinates_are_whole_numbers_of_32_bits() {
    for coordinate in [
        json!([0.5, 1]),
        json!([1, 2_147_483_648_u64]),
        json!([-2_147_483_649_i64, 0]),
        json!([u64::MAX, 0]),
        json!([1e300, 0]),
        json!([1]),
        json!([1, 2, 3]),
        json!(["1", "2"]),
        json!({"x": 1, "y": 2}),
    ] {
        let payload = json!({"action": "mouse_move", "coordinate": coordinate});
        assert_eq!(fault_of("INPUT_ACTION", &payload).0, "coordinate", "{coordinate}");
    }
    let edge = json!({"action": "mouse_move", "coordinate": [i32::MIN, i32::MAX]});
    assert!(act(&edge) == InputOp::Move { at: Point::new(i32::MIN, i32::MAX) });
    // Beyond what any number of a computer holds.
    let text = r#"{"type": "INPUT_ACTION", "id": "a", "payload": {"action": "mouse_move", "coordinate": [1e999, 0]}}"#;
    let Incoming::Request(request) = decode(text) else { panic!() };
    assert!(matches!(request.operation(), Err(OpError::InvalidPayload(fault)) if fault.field == "coordinate"));
}

#[test]
fn a_button_that_is_held_is_the_left_one_unless_another_is_named() {
    let at = Point::new(5, 6);
    let named = |action: &str, button: Value| act(&json!({"action": action, "coordinate": [5, 6], "button": button}));
    assert!(named("mouse_down", Value::Null) == InputOp::Down { at, button: Button::Left });
    assert!(named("mouse_up", json!("right")) == InputOp::Up { at, button: Button::Right });
    let wrong = json!({"action": "mouse_down", "coordinate": [5, 6], "button": "Left"});
    assert_eq!(fault_of("INPUT_ACTION", &wrong).0, "button");
}

#[test]
fn a_drag_takes_two_to_a_hundred_thousand_points() {
    let drag = |points: usize| json!({"action": "drag", "path": vec![[1, 1]; points]});
    assert!(
        act(&json!({"action": "drag", "path": [[0, 0], [10, 5.0]], "duration_ms": 300}))
            == InputOp::Drag {
                path: vec![Point::new(0, 0), Point::new(10, 5)],
                button: Button::Left,
                duration: Some(Duration::from_millis(300)),
            }
    );
    let InputOp::Drag { path, .. } = act(&drag(100_000)) else { panic!() };
    assert_eq!(path.len(), 100_000);
    for points in [0, 1, 100_001] {
        assert_eq!(fault_of("INPUT_ACTION", &drag(points)).0, "path", "{points}");
    }
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "drag", "coordinate": [1, 1]})).0, "path");
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "drag", "path": [[0, 0], [1, 0.5]]})).0, "path");
}

#[test]
fn text_to_type_is_there_and_bounded() {
    assert!(
        act(&json!({"action": "type", "text": "naïve ✓", "paste": true}))
            == InputOp::Type { text: "naïve ✓".into(), paste: true, preserve_clipboard: false }
    );
    let InputOp::Type { text, .. } = act(&json!({"action": "type", "text": "é".repeat(100_000)})) else { panic!() };
    assert_eq!(text.len(), 200_000);
    for text in [Value::Null, json!(""), json!("x".repeat(100_001)), json!(5)] {
        let (field, why) = fault_of("INPUT_ACTION", &json!({"action": "type", "text": text}));
        assert_eq!(field, "text");
        assert!(why.len() < 300, "{why}");
    }
}

#[test]
fn a_text_of_the_wrong_kind_is_refused_without_repeating_it() {
    let (field, why) = fault_of("INPUT_ACTION", &json!({"action": "type", "text": ["hunter2"]}));
    assert_eq!(field, "text");
    assert!(!why.contains("hunter2"), "{why}");
}

#[test]
fn keys_and_chords_are_known_or_named() {
    let InputOp::Key(save) = act(&json!({"action": "key", "key": "Ctrl+S"})) else { panic!() };
    assert_eq!((save.modifiers, save.key), (vec![Modifier::Ctrl], Key::Character('s')));
    for (key, named) in [("ctrl+sss", "\"sss\""), ("hyper+a", "\"hyper\""), ("ctrl+", "plus"), ("f25", "\"f25\"")] {
        let (field, why) = fault_of("INPUT_ACTION", &json!({"action": "key", "key": key}));
        assert_eq!(field, "key");
        assert!(why.contains(named), "{why}");
    }
    for key in [Value::Null, json!(""), json!("ctrl+".repeat(30))] {
        assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "key", "key": key})).0, "key", "{key}");
    }
}

#[test]
fn holding_and_waiting_last_five_seconds_at_most() {
    let hold = |ms: Value| {
        let op = act(&json!({"action": "hold_key", "key": "shift", "duration_ms": ms}));
        let InputOp::HoldKey { duration, .. } = op else { panic!() };
        duration.as_millis()
    };
    let wait = |ms: Value| {
        let InputOp::Wait { duration } = act(&json!({"action": "wait", "duration_ms": ms})) else { panic!() };
        duration.as_millis()
    };
    assert_eq!((hold(json!(500)), hold(json!(99_999)), hold(json!(0)), hold(json!(-3))), (500, 5000, 1, 1));
    assert_eq!((wait(json!(1000.0)), wait(json!(u64::MAX)), wait(json!(0)), wait(json!(-3))), (1000, 5000, 0, 0));
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "wait"})).0, "duration_ms");
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "hold_key", "key": "a"})).0, "duration_ms");
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "hold_key", "duration_ms": 5})).0, "key");
}

#[test]
fn scrolling_takes_the_first_spelling_that_is_there() {
    let scroll = |payload: Value| {
        let InputOp::Scroll { at, direction, amount, .. } = act(&payload) else { panic!() };
        (at, direction.name(), amount)
    };
    assert_eq!(scroll(json!({"action": "scroll"})), (None, "down", 3));
    assert_eq!(scroll(json!({"action": "scroll", "clicks": 2, "direction": "up"})), (None, "up", 2));
    let all = json!({"action": "scroll", "coordinate": [1, 2], "clicks": 2, "direction": "up",
        "scroll_amount": 7, "scroll_direction": "left"});
    assert_eq!(scroll(all), (Some(Point::new(1, 2)), "left", 7));
    assert_eq!(scroll(json!({"action": "scroll", "scroll_amount": 1000, "scroll_direction": "right"})).2, 1000);
    for (field, amount) in [("scroll_amount", 0), ("scroll_amount", -3), ("clicks", 1001), ("clicks", i64::MAX)] {
        let mut payload = json!({"action": "scroll"});
        payload[field] = json!(amount);
        assert_eq!(fault_of("INPUT_ACTION", &payload).0, field, "{amount}");
    }
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "scroll", "direction": "sideways"})).0, "direction");
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "scroll", "scroll_direction": ""})).0, "scroll_direction");
}

#[test]
fn an_action_that_nobody_knows_is_refused() {
    assert_eq!(fault_of("INPUT_ACTION", &json!({"action": "quadruple_click", "coordinate": [1, 1]})).0, "action");
    assert_eq!(fault_of("INPUT_ACTION", &json!({"coordinate": [1, 1]})), ("action".into(), "is missing".into()));
}

#[test]
fn requests_without_fields_may_come_without_a_payload() {
    for type_name in ["CURSOR_POSITION_REQUEST", "DISPLAY_INFO_REQUEST"] {
        let bare = format!(r#"{{"type": "{type_name}", "id": "a"}}"#);
        let Incoming::Request(request) = decode(&bare) else { panic!() };
        assert_eq!(request.operation().unwrap().name(), type_name);
        let with = format!(r#"{{"type": "{type_name}", "id": "a", "payload": []}}"#);
        let Incoming::Request(request) = decode(&with) else { panic!() };
        assert!(matches!(request.operation(), Err(OpError::InvalidPayload(fault)) if fault.field == "payload"));
    }
}

#[test]
fn windows_and_apps_are_asked_for_within_bounds() {
    assert!(ask("WINDOW_LIST_REQUEST", &json!({})).unwrap() == ComputerOp::WindowList(WindowListOp::default()));
    assert_eq!(fault_of("WINDOW_LIST_REQUEST", &json!({"app_bundle_id": ""})).0, "app_bundle_id");
    assert!(
        ask("WINDOW_FOCUS", &json!({"window_id": "win_1"})).unwrap()
            == ComputerOp::WindowFocus { window_id: "win_1".into(), raise: true }
    );
    for window_id in [Value::Null, json!(""), json!("w".repeat(257)), json!(7)] {
        assert_eq!(fault_of("WINDOW_FOCUS", &json!({"window_id": window_id})).0, "window_id");
    }
    assert!(ask("APP_LIST_REQUEST", &json!({})).unwrap() == ComputerOp::AppList { include_background: false });
}

#[test]
fn an_app_is_started_by_a_name_or_an_absolute_path() {
    let wanted = AppLaunchOp {
        bundle_id: Some("org.gnome.gedit".into()),
        executable_path: None,
        args: vec!["--new".into()],
        activate: true,
    };
    let asked = json!({"bundle_id": "org.gnome.gedit", "args": ["--new"]});
    assert!(ask("APP_LAUNCH", &asked).unwrap() == ComputerOp::AppLaunch(wanted));
    for path in ["/usr/bin/gedit", "C:\\Windows\\notepad.exe", "d:/tools/x.exe", "\\\\server\\share\\x.exe"] {
        assert!(ask("APP_LAUNCH", &json!({"executable_path": path})).is_ok(), "{path}");
    }
    assert_eq!(feature_of("APP_LAUNCH", &json!({})), "app.launch");
    for (payload, field) in [
        (json!({"executable_path": "gedit"}), "executable_path"),
        (json!({"executable_path": "./gedit"}), "executable_path"),
        (json!({"executable_path": "C:gedit"}), "executable_path"),
        (json!({"executable_path": ""}), "executable_path"),
        (json!({"executable_path": "/bin/a\0b"}), "executable_path"),
        (json!({"bundle_id": ""}), "bundle_id"),
        (json!({"bundle_id": "a\0"}), "bundle_id"),
        (json!({"bundle_id": "a", "args": ["x\0"]}), "args"),
        (json!({"bundle_id": "a", "args": vec!["x"; 257]}), "args"),
        (json!({"bundle_id": "a", "args": ["x".repeat(128 * 1024 + 1)]}), "args"),
        (json!({"bundle_id": "a", "args": "x"}), "args"),
    ] {
        assert_eq!(fault_of("APP_LAUNCH", &payload).0, field, "{payload}");
    }
}

#[test]
fn the_clipboard_takes_text_alone() {
    assert!(ask("CLIPBOARD_READ", &json!({})).unwrap() == ComputerOp::ClipboardRead);
    assert!(
        ask("CLIPBOARD_WRITE", &json!({"format": "text", "content": ""})).unwrap()
            == ComputerOp::ClipboardWrite { text: String::new() }
    );
    assert_eq!(feature_of("CLIPBOARD_READ", &json!({"format": "image"})), "clipboard.read");
    assert_eq!(feature_of("CLIPBOARD_WRITE", &json!({"format": "html", "content": "x"})), "clipboard.write");
    let (field, why) = fault_of("CLIPBOARD_WRITE", &json!({"content": {"secret": "hunter2"}}));
    assert_eq!(field, "content");
    assert!(!why.contains("hunter2"), "{why}");
    assert_eq!(fault_of("CLIPBOARD_WRITE", &json!({})).0, "content");
}

#[test]
fn permissions_are_asked_for_by_up_to_64_names() {
    let names = vec!["screen_recording".to_owned(), "camera".to_owned()];
    assert!(
        ask("PERMISSIONS_CHECK_REQUEST", &json!({"permissions": names})).unwrap()
            == ComputerOp::PermissionsCheck { names }
    );
    assert!(ask("PERMISSIONS_CHECK_REQUEST", &json!({"permissions": []})).is_ok());
    for wrong in [json!(vec!["x"; 65]), json!([""]), json!(["x".repeat(129)]), json!("accessibility"), Value::Null] {
        assert_eq!(fault_of("PERMISSIONS_CHECK_REQUEST", &json!({"permissions": wrong})).0, "permissions");
    }
}
