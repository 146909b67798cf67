use super::*;
use crate::executor::codec::{Incoming, decode};

fn operation_of(type_name: &str, payload: &str) -> Result<Operation, OpError> {
    let text = format!(r#"{{"type": "{type_name}", "id": "a", "payload": {payload}}}"#);
    let Incoming::Request(request) = decode(&text) else { panic!("no request: {text}") };
    request.operation()
}

fn file(type_name: &str, payload: &str) -> FileOp {
    match operation_of(type_name, payload) {
        Ok(Operation::File(op)) => op,
        other => panic!("{other:?}"),
    }
}

fn fault_of(type_name: &str, payload: &str) -> (String, String) {
    match operation_of(type_name, payload) {
        Err(OpError::InvalidPayload(fault)) => (fault.field, fault.why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_fields_take_the_defaults_of_the_protocol() {
    assert!(matches!(
        file("FILE_READ", r#"{"path": "x"}"#),
        FileOp::Read { form: ContentForm::Text, offset: 0, length: None, .. }
    ));
    assert!(matches!(
        file("FILE_WRITE", r#"{"path": "x", "content": "y"}"#),
        FileOp::Write { form: ContentForm::Text, create_parents: false, .. }
    ));
    assert!(matches!(file("FILE_STAT", r#"{"path": "x"}"#), FileOp::Stat { follow_symlinks: true, .. }));
    assert!(matches!(
        file("FILE_LIST", r#"{"path": "x", "glob": null}"#),
        FileOp::List { glob: None, recursive: false, include_hidden: false, max_entries: 1000, .. }
    ));
    assert!(matches!(
        file("FILE_DELETE", r#"{"path": "x"}"#),
        FileOp::Delete { recursive: false, missing_ok: false, .. }
    ));
    assert!(matches!(file("FILE_MOVE", r#"{"src": "x", "dst": "y"}"#), FileOp::Move { overwrite: false, .. }));
    let Ok(Operation::Command(command)) = operation_of("EXECUTE_COMMAND", r#"{"command": "ls"}"#) else { panic!() };
    assert!(command.cwd.is_none() && command.timeout.is_none() && command.env.is_empty());
    assert_eq!(command.line, CommandLine::Shell { command: "ls".into(), shell: ShellKind::Auto });
}

#[test]
fn bytes_win_when_either_spelling_asks_for_them() {
    for payload in [
        r#"{"path": "x", "encoding": "base64"}"#,
        r#"{"path": "x", "format": "bytes"}"#,
        r#"{"path": "x", "format": "text", "encoding": "base64"}"#,
        r#"{"path": "x", "format": "bytes", "encoding": "utf-8"}"#,
    ] {
        assert!(matches!(file("FILE_READ", payload), FileOp::Read { form: ContentForm::Bytes, .. }), "{payload}");
    }
}

#[test]
fn content_arrives_as_it_was_sent() {
    let FileOp::Write { content, .. } = file("FILE_WRITE", r#"{"path": "x", "content": "a\u0000\n\ud83d\ude00 ✓"}"#)
    else {
        panic!()
    };
    assert_eq!(content, "a\0\n😀 ✓".as_bytes());
    let FileOp::Write { content, .. } =
        file("FILE_WRITE", r#"{"path": "x", "content": "AP8HCA==", "encoding": "base64"}"#)
    else {
        panic!()
    };
    assert_eq!(content, [0, 255, 7, 8]);
}

#[test]
fn a_request_for_a_stub_is_never_answered_with_content() {
    for (payload, wanted) in [
        (r#"{"path": "x", "mode": "stub"}"#, 0),
        (r#"{"path": "x", "mode": "stub", "schema_preview_bytes": 0}"#, 0),
        (r#"{"path": "x", "mode": "stub", "schema_preview_bytes": 9}"#, 9),
        (
            r#"{"path": "x", "mode": "stub", "schema_preview_bytes": 256, "format": "bytes", "offset": 7, "length": 0}"#,
            256,
        ),
        (r#"{"path": "x", "mode": "stub", "schema_preview_bytes": 18446744073709551615}"#, 256),
    ] {
        let FileOp::Stub { path, preview_bytes } = file("FILE_READ", payload) else { panic!("{payload}") };
        assert_eq!((path.as_str(), preview_bytes), ("x", wanted), "{payload}");
    }
    for mode in ["", "CONTENT", "Stub", "preview"] {
        let payload = format!(r#"{{"path": "x", "mode": "{mode}"}}"#);
        assert!(matches!(operation_of("FILE_READ", &payload), Err(OpError::Unsupported { .. })), "{mode}");
    }
    for payload in [r#"{"path": "x", "mode": "content"}"#, r#"{"path": "x", "mode": null}"#] {
        assert!(matches!(file("FILE_READ", payload), FileOp::Read { .. }), "{payload}");
    }
}

#[test]
fn a_fault_names_its_field_in_compact_and_in_pretty_frames() {
    assert_eq!(fault_of("FILE_READ", "{}"), ("path".to_owned(), "is missing".to_owned()));
    assert_eq!(fault_of("FILE_READ", r#"{"path":"a","path":"b"}"#).0, "path");
    for payload in [
        r#"{"path":"x","offset":"zero","length":3}"#,
        "{\n  \"path\": \"x\",\n  \"offset\": \"zero\",\n  \"length\": 3\n}",
        "{\"length\":3,\n\"path\":\"é\",\"offset\":\n-1}",
    ] {
        let (field, why) = fault_of("FILE_READ", payload);
        assert_eq!(field, "offset", "{payload}");
        assert!(why.starts_with("does not fit: ") && !why.contains("line"), "{why}");
    }
    assert_eq!(fault_of("EXECUTE_COMMAND", r#"{"env":{"A":{"deep":1}},"command":"ls"}"#).0, "env");
}

#[test]
fn a_fault_never_repeats_a_value_of_the_environment_and_stays_short() {
    let (_, why) = fault_of("EXECUTE_COMMAND", "{\"command\": \"ls\", \"env\": {\"TOKEN\": \"s3cret\\u0000\"}}");
    assert!(!why.contains("s3cret"));
    let long = format!(r#"{{"path": "x", "encoding": "{}"}}"#, "y".repeat(100_000));
    assert!(fault_of("FILE_READ", &long).1.len() < 300);
}

#[test]
fn listings_are_bounded() {
    assert!(matches!(
        file("FILE_LIST", r#"{"path": "x", "max_entries": 10001}"#),
        FileOp::List { max_entries: 10_000, .. }
    ));
    assert!(matches!(
        file("FILE_LIST", r#"{"path": "x", "max_entries": 9223372036854775807}"#),
        FileOp::List { max_entries: 10_000, .. }
    ));
}

#[test]
fn the_environment_has_room_for_256_variables_and_128_kibibytes() {
    let env = |count: usize, len: usize| {
        let map: BTreeMap<String, String> = (0..count).map(|n| (format!("V{n:03}"), "x".repeat(len))).collect();
        operation_of(
            "EXECUTE_COMMAND",
            &format!(r#"{{"argv": ["env"], "env": {}}}"#, serde_json::to_string(&map).unwrap()),
        )
    };
    assert!(env(256, 0).is_ok());
    assert!(env(257, 0).is_err());
    assert!(env(1, 128 * 1024 - 4).is_ok());
    assert!(env(1, 128 * 1024 - 3).is_err());
}

#[test]
fn a_browse_needs_both_references_or_none() {
    assert!(matches!(
        operation_of("DIRECTORY_LIST_REQUEST", "{}"),
        Ok(Operation::Browse(BrowseOp { place: None, cursor: None }))
    ));
    let both = r#"{"browse_id": "b", "directory_ref": "d", "cursor": "c"}"#;
    assert!(matches!(operation_of("DIRECTORY_LIST_REQUEST", both), Ok(Operation::Browse(_))));
    for half in [r#"{"browse_id": "b"}"#, r#"{"directory_ref": "d"}"#, r#"{"cursor": "c"}"#] {
        assert!(matches!(operation_of("DIRECTORY_LIST_REQUEST", half), Err(OpError::ReferenceInvalid)), "{half}");
    }
}
