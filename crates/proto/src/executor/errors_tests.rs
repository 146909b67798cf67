use std::time::Duration;

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
