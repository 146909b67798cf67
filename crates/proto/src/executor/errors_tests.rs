use std::time::Duration;

use drawbridge_core::computer::{Point, Rect};
use drawbridge_core::{FileOp, IoReason, Operation, PayloadFault, SessionId};

use super::*;

fn context() -> ReplyContext {
    ReplyContext::of_name("EXECUTE_COMMAND")
}

fn details(error: &OpError) -> Value {
    error_details(error, &context())
}

#[test]
fn a_refused_consent_tells_the_model_what_to_do() {
    let power = Power::Shell;
    let cases = [
        (OpError::PowerOff { power }, "switched_off"),
        (OpError::WaitingForConsent { power, retry_after: Duration::from_secs(5) }, "waiting_for_local_consent"),
        (OpError::Declined { power }, "declined"),
        (OpError::ChangedSinceAsked { power }, "changed_meanwhile"),
        (OpError::NoUi { power }, "no_ui"),
        (OpError::Raised { power }, "stopped"),
    ];
    for (error, reason) in cases {
        assert_eq!(wire_code(&error), ErrorCode::CapabilityNotGranted);
        let details = details(&error);
        assert_eq!(details["reason"], reason);
        assert_eq!(details["capability"], "shell");
        assert_eq!(details["required_capability"], "shell");
        assert_eq!(details["op"], "EXECUTE_COMMAND");
        assert_eq!(details.get("retry_after_ms").is_some(), reason == "waiting_for_local_consent");
    }
    let waiting = OpError::WaitingForConsent { power, retry_after: Duration::from_secs(5) };
    assert_eq!(details(&waiting)["retry_after_ms"], 5000);
}

#[test]
fn a_path_outside_names_the_path_and_why_but_never_where_it_leads() {
    let outside = |reason| OpError::OutsideRoot { path: "../x".into(), root: "/w".into(), reason };
    assert_eq!(details(&outside(RefusalReason::Outside)), json!({"path": "../x", "op": "EXECUTE_COMMAND"}));
    for (reason, name) in [
        (RefusalReason::RootItself, "root_itself"),
        (RefusalReason::RootChanged, "root_changed"),
        (RefusalReason::Protected, "protected"),
    ] {
        assert_eq!(details(&outside(reason))["reason"], name);
        assert_eq!(wire_code(&outside(reason)), ErrorCode::PathOutsideAllowedRoot);
    }
}

#[test]
fn a_move_names_both_ends() {
    let op = Operation::File(FileOp::Move { src: "a".into(), dst: "b".into(), overwrite: false });
    let details = error_details(&OpError::Exists { path: "b".into() }, &ReplyContext::of(&op));
    assert_eq!(details, json!({"path": "b", "src": "a", "dst": "b", "op": "FILE_MOVE"}));
}

#[test]
fn the_keys_that_the_platform_looks_for_are_there() {
    let session = SessionId::parse("chat-1").unwrap();
    let cases = [
        (
            OpError::TooLarge { what: "the file", max_bytes: 10, attempted_bytes: 11 },
            "FILE_TOO_LARGE",
            json!({"max_file_size_bytes": 10, "attempted_bytes": 11}),
        ),
        (
            OpError::ShellNotAvailable { requested: "zsh".into() },
            "SHELL_NOT_AVAILABLE",
            json!({"requested_shell": "zsh"}),
        ),
        (OpError::RevisionMismatch { current: 4 }, "SESSION_REVISION_MISMATCH", json!({"current_revision": 4})),
        (
            OpError::Overloaded { what: "active chats", reason: "active_sessions", max: 8 },
            "SHIM_OVERLOADED",
            json!({"reason": "active_sessions", "max_active_sessions": 8}),
        ),
        (
            OpError::Overloaded { what: "commands", reason: "commands_at_once", max: 10 },
            "SHIM_OVERLOADED",
            json!({"reason": "commands_at_once", "max_concurrent": 10}),
        ),
        (
            OpError::InvalidPayload(PayloadFault { field: "argv".into(), why: "is missing".into() }),
            "INTERNAL_ERROR",
            json!({"reason": "invalid_payload", "field": "argv"}),
        ),
        (
            OpError::File { action: "read", path: "d".into(), reason: IoReason::IsDirectory, message: "x".into() },
            "INTERNAL_ERROR",
            json!({"path": "d", "reason": "is_directory"}),
        ),
        (OpError::AuditUnavailable, "INTERNAL_ERROR", json!({"reason": "audit_unavailable"})),
        (
            OpError::GrantInvalid { why: "it was taken back", reason: Some("revoked_locally") },
            "ROOT_GRANT_INVALID",
            json!({"reason": "revoked_locally"}),
        ),
        (OpError::NotAttached { session: session.clone() }, "SESSION_NOT_ATTACHED", json!({"session_id": "chat-1"})),
        (OpError::AlreadyActive { session }, "SESSION_ALREADY_ACTIVE", json!({"session_id": "chat-1"})),
        (OpError::ReferenceInvalid, "DIRECTORY_REFERENCE_INVALID", json!({})),
    ];
    for (error, code, mut wanted) in cases {
        assert_eq!(wire_code(&error).as_str(), code);
        wanted["op"] = json!("EXECUTE_COMMAND");
        assert_eq!(details(&error), wanted, "{error}");
    }
}

#[test]
fn the_cause_of_a_fault_of_ours_goes_into_the_message_alone() {
    assert_eq!(details(&OpError::Internal("lock poisoned".into()))["reason"], "internal");
}

/// The code and the details of an error about `op`, without the name of the operation, which must be there.
fn told(error: &OpError, op: &'static str) -> (&'static str, Value) {
    let mut details = error_details(error, &ReplyContext::of_name(op));
    assert_eq!(details.as_object_mut().unwrap().remove("op"), Some(json!(op)));
    (wire_code(error).as_str(), details)
}

fn screen(index: i32, rect: Rect) -> DisplayFacts {
    let size = (rect.width() * 2, rect.height() * 2);
    DisplayFacts { index, primary: index == 0, rect, physical_size: size, logical_size: (1, 1), scale: 2.0 }
}

#[test]
fn faults_of_the_screen_say_what_there_is_instead() {
    let displays = vec![screen(0, Rect::new(0, 0, 2560, 1440)), screen(1, Rect::new(-1280, 100, 0, 820))];
    let outside = OpError::OutOfBounds { requested: Point::new(9000, -10), displays };
    let wanted = json!({"requested_coordinate": [9000, -10], "displays": [
        {"index": 0, "origin": [0, 0], "size": [2560, 1440]},
        {"index": 1, "origin": [-1280, 100], "size": [1280, 720]},
    ]});
    assert_eq!(told(&outside, "INPUT_ACTION"), ("INPUT_OUT_OF_BOUNDS", wanted));

    let missing = OpError::NoSuchMonitor { asked: 3, monitors: vec![0, 1] };
    let wanted = json!({"feature": "screenshot.monitor", "reason": "no_such_monitor", "monitors": [0, 1]});
    assert_eq!(told(&missing, "SCREENSHOT_REQUEST"), ("FEATURE_NOT_SUPPORTED", wanted));

    let stale = OpError::WindowStale { window_id: "win_1".into() };
    let wanted = json!({"window_id": "win_1", "hint": "re-list windows"});
    assert_eq!(told(&stale, "WINDOW_FOCUS"), ("WINDOW_STALE", wanted));
}

fn pending(retry_after: Option<Duration>) -> OpError {
    OpError::PermissionPending {
        permission: "person_active",
        platform: "linux",
        message: "the person is typing".into(),
        hint: "wait a moment".into(),
        retry_after,
    }
}

#[test]
fn what_stands_in_the_way_says_when_to_come_back_if_time_helps() {
    let wanted = json!({"permission": "person_active", "platform": "linux", "hint": "wait a moment"});
    assert_eq!(told(&pending(None), "INPUT_ACTION"), ("PERMISSION_PENDING", wanted.clone()));
    let mut later = wanted;
    later["retry_after_ms"] = json!(1500);
    assert_eq!(told(&pending(Some(Duration::from_millis(1500))), "INPUT_ACTION"), ("PERMISSION_PENDING", later));
}

#[test]
fn typing_says_how_far_it_came_and_why_no_further() {
    let cannot = OpError::CannotType { character: 'ﷺ', index: 4, why: "no key gives it".into() };
    let wanted = json!({"feature": "input.type", "reason": "no key gives it", "character": "ﷺ", "index": 4});
    assert_eq!(told(&cannot, "INPUT_ACTION"), ("FEATURE_NOT_SUPPORTED", wanted));

    let source = Box::new(pending(Some(Duration::from_secs(2))));
    let stopped = OpError::TypingStopped { typed: 12, total: 34, why: "the person is typing".into(), source };
    let wanted = json!({"typed": 12, "total": 34, "permission": "person_active", "platform": "linux",
        "hint": "wait a moment", "retry_after_ms": 2000});
    assert_eq!(told(&stopped, "INPUT_ACTION"), ("PERMISSION_PENDING", wanted));
}

#[test]
fn a_protected_app_is_named_with_its_reason() {
    let app =
        OpError::ProtectedApp { app: "KeePassXC".into(), reason: "password_manager", why: "it holds passwords".into() };
    let wanted = json!({"capability": "computer_use", "required_capability": "computer_use",
        "reason": "password_manager", "app": "KeePassXC"});
    assert_eq!(told(&app, "INPUT_ACTION"), ("CAPABILITY_NOT_GRANTED", wanted));
}

#[test]
fn a_clipboard_without_its_switch_is_no_feature_of_this_machine() {
    let off = OpError::PowerOff { power: Power::Clipboard };
    for (op, feature) in [("CLIPBOARD_READ", "clipboard.read"), ("CLIPBOARD_WRITE", "clipboard.write")] {
        let wanted = json!({"feature": feature, "reason": "switched_off"});
        assert_eq!(told(&off, op), ("FEATURE_NOT_SUPPORTED", wanted));
    }
    let declined = OpError::Declined { power: Power::Clipboard };
    let wanted = json!({"capability": "computer_use", "required_capability": "computer_use", "reason": "declined"});
    assert_eq!(told(&declined, "CLIPBOARD_READ"), ("CAPABILITY_NOT_GRANTED", wanted));
    let screen = OpError::PowerOff { power: Power::ComputerUse };
    assert_eq!(told(&screen, "SCREENSHOT_REQUEST").0, "CAPABILITY_NOT_GRANTED");
}

#[test]
fn a_concealed_clipboard_says_by_what_and_how_old_our_own_text_is() {
    for (reason, wanted) in [
        (
            ClipboardReason::ConcealedType { marker: "x-kde-passwordManagerHint" },
            json!({"reason": "concealed_type", "marker": "x-kde-passwordManagerHint"}),
        ),
        (
            ClipboardReason::WritebackOnly { age_seconds: None },
            json!({"reason": "writeback_only", "writeback_age_seconds": null}),
        ),
        (
            ClipboardReason::WritebackOnly { age_seconds: Some(31.5) },
            json!({"reason": "writeback_only", "writeback_age_seconds": 31.5}),
        ),
        (
            ClipboardReason::WritebackOverwritten { age_seconds: 2.25 },
            json!({"reason": "writeback_overwritten", "writeback_age_seconds": 2.25}),
        ),
    ] {
        assert_eq!(told(&OpError::ClipboardConcealed { reason }, "CLIPBOARD_READ"), ("CLIPBOARD_CONCEALED", wanted));
    }
}

#[test]
fn limits_of_pictures_name_what_is_over() {
    let often = OpError::Overloaded { what: "screenshots a minute", reason: "screenshots_per_minute", max: 10 };
    let wanted = json!({"reason": "screenshots_per_minute", "max_per_minute": 10});
    assert_eq!(told(&often, "SCREENSHOT_REQUEST"), ("SHIM_OVERLOADED", wanted));
    let large = OpError::TooLarge { what: "the picture", max_bytes: 10, attempted_bytes: 11 };
    let wanted = json!({"max_file_size_bytes": 10, "attempted_bytes": 11});
    assert_eq!(told(&large, "SCREENSHOT_REQUEST"), ("FILE_TOO_LARGE", wanted));
    let unsupported = OpError::Unsupported { feature: "screenshot.window".into(), why: "window_not_visible".into() };
    let wanted = json!({"feature": "screenshot.window", "reason": "window_not_visible"});
    assert_eq!(told(&unsupported, "SCREENSHOT_REQUEST"), ("FEATURE_NOT_SUPPORTED", wanted));
}

fn asked() -> ReplyContext {
    ReplyContext::of_name("LOCAL_LLM_COMPLETION")
}

#[test]
fn a_model_that_is_not_here_is_named_beside_those_that_are() {
    let error = OpError::ModelNotAvailable { requested: "gpt-9".into(), available: vec!["llama3.2:3b".into()] };
    assert_eq!(wire_code(&error), ErrorCode::ModelNotAvailable);
    let wanted = json!({
        "requested_model": "gpt-9", "available_models": ["llama3.2:3b"], "op": "LOCAL_LLM_COMPLETION",
    });
    assert_eq!(error_details(&error, &asked()), wanted);
    assert_eq!(error.to_string(), "the model gpt-9 is not available on this computer; these are: llama3.2:3b");

    let none = OpError::ModelNotAvailable { requested: "gpt-9".into(), available: Vec::new() };
    assert_eq!(error_details(&none, &asked())["available_models"], json!([]));
    assert_eq!(none.to_string(), "the model gpt-9 is not available on this computer");
}

#[test]
fn a_server_with_thousands_of_models_fills_no_error() {
    let available: Vec<String> = (0..5000).map(|n| format!("m{n}-{}", "x".repeat(100))).collect();
    let error = OpError::ModelNotAvailable { requested: "y".repeat(100_000), available };
    let details = error_details(&error, &asked());

    assert_eq!(details["available_models"].as_array().unwrap().len(), 64);
    assert_eq!(details["more_models"], 4936);
    assert!(details.to_string().len() < 64 * 1024);
    let short =
        OpError::ModelNotAvailable { requested: "y".into(), available: (0..25).map(|n| format!("m{n}")).collect() };
    assert!(short.to_string().ends_with("m18, m19 and 5 more"), "{short}");
    assert_eq!(error_details(&short, &asked()).get("more_models"), None);
}

#[test]
fn a_busy_model_says_when_to_come_back() {
    let error = OpError::ModelBusy { model: "m".into() };
    assert_eq!(wire_code(&error), ErrorCode::LocalLlmBusy);
    let wanted = json!({"requested_model": "m", "retry_after_ms": 1000, "op": "LOCAL_LLM_COMPLETION"});
    assert_eq!(error_details(&error, &asked()), wanted);
}

#[test]
fn a_failed_model_tells_what_its_back_end_said() {
    let error = OpError::ModelFailed { why: "connection refused".into() };
    assert_eq!(wire_code(&error), ErrorCode::LocalLlmFailed);
    let wanted = json!({"backend_error": "connection refused", "op": "LOCAL_LLM_COMPLETION"});
    assert_eq!(error_details(&error, &asked()), wanted);
    assert_eq!(error.to_string(), "the local model failed: connection refused");
}

#[test]
fn a_stub_that_no_longer_holds_says_which_and_what_to_do() {
    let context = ReplyContext::of_name("LOCAL_LLM_TURN");
    for reason in ["unknown", "changed", "gone"] {
        let error = OpError::StubStale { stub_id: "stub_1".into(), reason, why: "the file has changed" };
        assert_eq!(wire_code(&error), ErrorCode::StubStale);
        let wanted = json!({"stub_id": "stub_1", "reason": reason, "op": "LOCAL_LLM_TURN"});
        assert_eq!(error_details(&error, &context), wanted);
        assert!(error.to_string().contains("read the file as a stub again"), "{error}");
    }
}

#[test]
fn a_reading_that_privacy_holds_back_says_what_to_ask_for_instead() {
    let error = OpError::PrivacyMode { path: "taxes.csv".into() };
    assert_eq!(wire_code(&error), ErrorCode::PrivacyModeBlocked);
    let details = error_details(&error, &ReplyContext::of_name("FILE_READ"));
    assert_eq!(details, json!({"path": "taxes.csv", "reason": "privacy_mode", "op": "FILE_READ"}));
    let text = error.to_string();
    assert!(text.contains("taxes.csv") && text.contains("mode \"stub\""), "{text}");
}

#[test]
fn an_error_about_a_description_names_the_request_as_it_was_sent() {
    let op = Operation::File(FileOp::Stub { path: "x".into(), preview_bytes: 0 });
    let details = error_details(&OpError::NotFound { path: "x".into() }, &ReplyContext::of(&op));
    assert_eq!(details, json!({"path": "x", "op": "FILE_READ"}));
}

#[test]
fn devices_tell_a_reason_and_never_whether_an_unshared_one_is_there() {
    let context = ReplyContext::of_name("SERIAL_OPEN");
    let unshared = OpError::DeviceNotShared { device: "serial:/dev/ttyUSB0".into() };
    assert_eq!(wire_code(&unshared), ErrorCode::CapabilityNotGranted);
    let details = error_details(&unshared, &context);
    assert_eq!((&details["reason"], &details["device"]), (&json!("not_shared"), &json!("serial:/dev/ttyUSB0")));
}
