//! Computer use, as an agent asks for it over HTTP: what is sent, what is taken as an answer, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod machine;

use drawbridge_practice::Practice;
use machine::*;
use serde_json::{Value, json};

const WINDOW: &str = "win_5b0c2f6e-1111-4222-8333-444455556666";
/// One white pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAG7buVgAAAABJRU5ErkJggg==";

/// Three grey pixels in two rows.
const JPEG: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////////////////////////////wAALCAACAAMBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z";

/// A platform with a machine that offers screen and input, and the socket of its chat.
async fn at_work() -> (Practice, Ws, Ws) {
    let p = platform().await;
    let access = access(&p).await;
    let mut control = dial(&p, "", &access).await.unwrap();
    let mut frame = hello();
    frame["payload"]["capabilities"] = json!(["files", "directory_browse", "computer_use"]);
    frame["payload"]["hardware_devices"] = json!([]);
    frame["payload"]["computer_use_features"] = json!(["screenshot.region", "cursor.position", "display.info"]);
    frame["payload"]["computer_use_features_coarse"] = json!(["screenshot", "input"]);
    say(&mut control, &frame).await;
    assert_eq!(
        hear(&mut control).await["payload"]["granted_capabilities"],
        json!(["files", "directory_browse", "computer_use"])
    );
    attach(&p, &mut control, "c1").await;
    let mut socket = dial(&p, "/c1", &access).await.unwrap();
    frame["payload"]["allowed_root"] = json!("/home/ann/work");
    frame["payload"]["capabilities"] = json!(["files", "computer_use"]);
    say(&mut socket, &frame).await;
    assert_eq!(hear(&mut socket).await["payload"]["granted_capabilities"], json!(["files", "computer_use"]));
    (p, control, socket)
}

/// One call over HTTP; status and answer.
async fn call(p: &Practice, name: &str, body: Value) -> (u16, Value) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/practice/{name}", p.base_url());
    let answer = http.post(url).header("x-practice-token", p.api_token()).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// The agent asks, the machine answers; what the machine got, and what the agent got.
async fn exchange(p: &Practice, ws: &mut Ws, asked: (&str, Value), answered: (&str, Value)) -> (Value, u16, Value) {
    let body = json!({"session_id": "c1", "type": asked.0, "payload": asked.1});
    let (got, (status, reply)) = tokio::join!(answer(ws, answered.0, answered.1), call(p, "operate", body));
    (got, status, reply)
}

fn picture() -> Value {
    json!({"image_base64": PNG, "mime_type": "image/png", "width": 1, "height": 1, "monitor": 0, "region": null,
        "display_scale": 1.0, "logical_size": [1280, 720], "meta": {"origin": [0, 0], "display_id": 0}})
}

fn jpeg() -> Value {
    let mut jpeg = picture();
    for (key, value) in
        [("image_base64", json!(JPEG)), ("mime_type", json!("image/jpeg")), ("width", json!(3)), ("height", json!(2))]
    {
        jpeg[key] = value;
    }
    jpeg
}

fn window() -> Value {
    json!({"window_id": WINDOW, "pid": 7, "app_name": "Editor", "app_bundle_id": null, "title": "<b>notes</b>",
        "bounds": [-5, 0, 800, 600], "monitor": 0, "is_focused": true, "is_minimized": false, "is_fullscreen": false})
}

fn app() -> Value {
    json!({"pid": 7, "name": "Editor", "bundle_id": "org.gnome.TextEditor", "executable_path": null,
        "is_frontmost": true, "window_count": 1})
}

fn display() -> Value {
    json!({"index": 0, "primary": true, "physical_size": [1280, 720], "logical_size": [1280, 720], "scale": 1.0,
        "origin": [0, 0]})
}

#[tokio::test]
async fn an_agent_can_ask_for_everything_and_gets_whole_answers() {
    let (p, _control, mut ws) = at_work().await;
    let done = json!({"ok": true});
    for (asked, payload, answered, reply) in [
        ("SCREENSHOT_REQUEST", json!({"format": "png", "include_cursor": false}), "SCREENSHOT_RESPONSE", picture()),
        ("SCREENSHOT_REQUEST", json!({}), "SCREENSHOT_RESPONSE", jpeg()),
        ("INPUT_ACTION", json!({"action": "type", "text": "naïve ✓", "paste": false}), "ACK", done.clone()),
        ("INPUT_ACTION", json!({"action": "drag", "path": [[0, 0], [5, 5]]}), "ACK", done.clone()),
        ("CURSOR_POSITION_REQUEST", json!({}), "CURSOR_POSITION_RESPONSE", json!({"x": -4, "y": 2, "monitor": 0})),
        ("DISPLAY_INFO_REQUEST", json!({}), "DISPLAY_INFO_RESPONSE", json!({"monitors": [display()]})),
        (
            "WINDOW_LIST_REQUEST",
            json!({"include_minimized": true}),
            "WINDOW_LIST_RESPONSE",
            json!({"windows": [window()], "truncated": false}),
        ),
        ("WINDOW_FOCUS", json!({"window_id": WINDOW}), "ACK", done.clone()),
        ("APP_LIST_REQUEST", json!({}), "APP_LIST_RESPONSE", json!({"apps": [app()]})),
        ("APP_LAUNCH", json!({"bundle_id": "org.gnome.TextEditor"}), "ACK", json!({"ok": true, "pid": 4711})),
        ("CLIPBOARD_WRITE", json!({"format": "text", "content": "ü"}), "ACK", done),
        (
            "CLIPBOARD_READ",
            json!({"format": "text"}),
            "CLIPBOARD_READ_RESPONSE",
            json!({"format": "text", "content": "ü", "size_bytes": 2}),
        ),
        (
            "PERMISSIONS_CHECK_REQUEST",
            json!({"permissions": ["accessibility"]}),
            "PERMISSIONS_CHECK_RESPONSE",
            json!({"permissions": {"accessibility": "not_applicable"}}),
        ),
    ] {
        let (got, status, told) = exchange(&p, &mut ws, (asked, payload.clone()), (answered, reply.clone())).await;
        assert_eq!((got["type"].as_str(), &got["payload"]), (Some(asked), &payload));
        assert_eq!((status, told["type"].as_str(), &told["payload"]), (200, Some(answered), &reply), "{asked}");
    }
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

#[tokio::test]
async fn the_state_shows_what_the_computer_says_it_can_do() {
    let (p, _control, _ws) = at_work().await;
    let state = p.script().state(0, 0);
    let links = state["links"].as_array().unwrap();
    let data = links.iter().find(|link| link["scope"] == json!({"data": "c1"})).unwrap();
    assert_eq!(data["hello"]["computer_use_features_coarse"], json!(["screenshot", "input"]));
    assert_eq!(data["hello"]["computer_use_features"], json!(["screenshot.region", "cursor.position", "display.info"]));
    assert_eq!(data["granted"], json!(["files", "computer_use"]));
}

#[tokio::test]
async fn a_refusal_comes_back_with_its_details() {
    let (p, _control, mut ws) = at_work().await;
    let displays = json!([{"index": 0, "origin": [0, 0], "size": [1280, 720]}]);
    for (code, details) in [
        ("INPUT_OUT_OF_BOUNDS", json!({"requested_coordinate": [9000, 1], "displays": displays})),
        ("WINDOW_STALE", json!({"window_id": WINDOW, "hint": "re-list windows"})),
        ("PERMISSION_PENDING", json!({"permission": "person_active", "platform": "linux", "hint": "wait"})),
        ("CLIPBOARD_CONCEALED", json!({"reason": "concealed_type", "marker": "x-kde-passwordManagerHint"})),
        ("CLIPBOARD_CONCEALED", json!({"reason": "writeback_only", "writeback_age_seconds": null})),
        ("CLIPBOARD_CONCEALED", json!({"reason": "writeback_overwritten", "writeback_age_seconds": 1.5})),
        ("SHIM_OVERLOADED", json!({"reason": "screenshots_per_minute", "max_per_minute": 10})),
    ] {
        let error = json!({"code": code, "message": "no", "fatal": false, "details": details});
        let (_, status, told) =
            exchange(&p, &mut ws, ("INPUT_ACTION", json!({"action": "wait"})), ("ERROR", error.clone())).await;
        assert_eq!((status, &told["failure"]), (409, &json!("refused")), "{code}");
        assert_eq!(told["reply"]["payload"], error);
    }
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

/// `value` with one member at a path of names set to something else.
fn with(mut value: Value, at: &str, other: Value) -> Value {
    *value.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = other;
    value
}

#[tokio::test]
async fn an_answer_that_is_not_as_the_protocol_says_is_a_fault() {
    let (p, _control, mut ws) = at_work().await;
    let windows = || json!({"windows": [window()], "truncated": false});
    let apps = || json!({"apps": [app()]});
    let text = || json!({"format": "text", "content": "ü", "size_bytes": 2});
    let stale =
        || json!({"code": "WINDOW_STALE", "message": "x", "details": {"window_id": "w", "hint": "re-list windows"}});
    let shot = "SCREENSHOT_REQUEST";
    for (asked, answered, reply) in [
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/image_base64", json!("?"))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/image_base64", json!("AAAA"))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/mime_type", json!("image/jpeg"))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/mime_type", json!("text/html"))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/width", json!(2))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/display_scale", json!("1.0"))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/meta/origin", json!([0]))),
        (shot, "SCREENSHOT_RESPONSE", with(picture(), "/region", json!([0, 0, 1]))),
        ("CURSOR_POSITION_REQUEST", "CURSOR_POSITION_RESPONSE", json!({"x": 1.5, "y": 2, "monitor": 0})),
        ("DISPLAY_INFO_REQUEST", "DISPLAY_INFO_RESPONSE", json!({"monitors": {}})),
        (
            "DISPLAY_INFO_REQUEST",
            "DISPLAY_INFO_RESPONSE",
            json!({"monitors": [with(display(), "/physical_size", json!([0, 720]))]}),
        ),
        ("WINDOW_LIST_REQUEST", "WINDOW_LIST_RESPONSE", with(windows(), "/windows/0/window_id", json!("win_7"))),
        ("WINDOW_LIST_REQUEST", "WINDOW_LIST_RESPONSE", with(windows(), "/windows/0/title", json!("x".repeat(513)))),
        ("WINDOW_LIST_REQUEST", "WINDOW_LIST_RESPONSE", with(windows(), "/windows/0/pid", json!(-1))),
        ("WINDOW_LIST_REQUEST", "WINDOW_LIST_RESPONSE", with(windows(), "/truncated", Value::Null)),
        ("APP_LIST_REQUEST", "APP_LIST_RESPONSE", with(apps(), "/apps/0/window_count", json!("1"))),
        ("CLIPBOARD_READ", "CLIPBOARD_READ_RESPONSE", with(text(), "/size_bytes", json!(1))),
        ("CLIPBOARD_READ", "CLIPBOARD_READ_RESPONSE", with(text(), "/format", json!("html"))),
        (
            "PERMISSIONS_CHECK_REQUEST",
            "PERMISSIONS_CHECK_RESPONSE",
            json!({"permissions": {"accessibility": "perhaps"}}),
        ),
        ("WINDOW_FOCUS", "ERROR", with(stale(), "/details/hint", json!("try again"))),
        ("CLIPBOARD_READ", "ERROR", json!({"code": "CLIPBOARD_CONCEALED", "details": {"reason": "secret"}})),
        ("INPUT_ACTION", "ERROR", json!({"code": "INPUT_OUT_OF_BOUNDS", "details": {}})),
        ("INPUT_ACTION", "ERROR", json!({"code": "PERMISSION_PENDING", "details": {"permission": "x"}})),
    ] {
        p.script().clear_faults();
        let (_, status, told) = exchange(&p, &mut ws, (asked, json!({})), (answered, reply.clone())).await;
        assert_eq!((status, &told["failure"]), (409, &json!("mismatch")), "{reply}");
        let kinds: Vec<String> = p.script().faults().into_iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, ["bounds"], "{reply}");
    }
}

#[tokio::test]
async fn an_answer_of_another_type_costs_the_connection() {
    let (p, _control, mut ws) = at_work().await;
    let body = json!({"session_id": "c1", "type": "INPUT_ACTION", "payload": {"action": "wait", "duration_ms": 1}});
    let (_, (status, _)) =
        tokio::join!(answer(&mut ws, "CURSOR_POSITION_RESPONSE", json!({})), call(&p, "operate", body));
    assert_eq!(status, 409);
    assert_eq!(p.script().faults()[0].kind, "wrong_type");
    assert_eq!(hear(&mut ws).await["close"], 1008);
}
