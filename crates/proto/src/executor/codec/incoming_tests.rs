use proptest::prelude::*;

use super::*;

fn request(text: &str) -> Request<'_> {
    let Incoming::Request(request) = decode(text) else { panic!("no request: {text}") };
    request
}

#[test]
fn a_request_is_known_before_its_payload_is_read() {
    let request = request(r#"{"type": "FILE_READ", "id": "a", "ts": "not a time", "payload": {"path": 5}}"#);
    assert_eq!(request.kind, RequestKind::FileRead);
    assert_eq!(request.kind.capability(), Capability::Files);
    assert!(request.operation().is_err());
}

#[test]
fn versions_within_our_major_or_unreadable_ones_are_let_through() {
    for version in ["\"1.0\"", "\"1.9\"", "null", "\"next\"", "11", "{}"] {
        let text = format!(r#"{{"type": "FILE_STAT", "id": "a", "version": {version}, "payload": {{"path": "x"}}}}"#);
        assert!(request(&text).operation().is_ok(), "{version}");
    }
    for version in ["0.9", "2.0", "10.1"] {
        let text = format!(r#"{{"type": "FILE_STAT", "id": "a", "version": "{version}", "payload": {{"path": "x"}}}}"#);
        assert!(matches!(decode(&text), Incoming::OtherMajor { .. }), "{version}");
    }
}

#[test]
fn versions_are_two_plain_numbers() {
    assert_eq!(parse_version("1.1"), Some((1, 1)));
    assert_eq!(parse_version("12.034"), Some((12, 34)));
    for bad in ["", "1", "1.", ".1", "1.1.1", "+1.1", "1.-1", " 1.1", "1.a", "99999999999.0"] {
        assert_eq!(parse_version(bad), None, "{bad}");
    }
}

#[test]
fn a_revocation_counts_whatever_its_payload() {
    for payload in ["{}", "[]", "null", r#"{"reason": 4}"#] {
        let text = format!(r#"{{"type": "SESSION_REVOKED", "id": "a", "payload": {payload}}}"#);
        let Incoming::Revoked(revoked) = decode(&text) else { panic!() };
        assert_eq!(revoked.reason, "unspecified");
    }
    assert!(matches!(decode(r#"{"type": "SESSION_REVOKED", "id": "a"}"#), Incoming::Revoked(_)));
}

#[test]
fn what_goes_to_the_log_is_short_whatever_comes_in() {
    let text = format!(r#"{{"type": "{}", "id": "a"}}"#, "é".repeat(100_000));
    let Incoming::UnknownType(name) = decode(&text) else { panic!() };
    assert!(name.len() <= 200);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "\\PC{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map(field(), inner, 0..6)
                .prop_map(|map| { serde_json::Value::Object(map.into_iter().collect()) }),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    let names = [
        "path",
        "content",
        "encoding",
        "format",
        "offset",
        "length",
        "mode",
        "command",
        "argv",
        "env",
        "shell",
        "cwd",
        "timeout_seconds",
        "session_id",
        "browse_id",
        "directory_ref",
        "cursor",
        "revision",
        "root_grant",
        "src",
        "dst",
    ];
    prop_oneof![proptest::sample::select(names.to_vec()).prop_map(str::to_owned), "\\PC{0,6}"]
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_fail_badly(text in "\\PC{0,200}") {
        let _ = decode(&text);
    }

    #[test]
    fn no_payload_makes_a_request_fail_badly(kind in proptest::sample::select(crate::executor::wire::FromPlatform::TYPES), payload in json(), pretty in any::<bool>()) {
        let frame = serde_json::json!({"type": kind, "id": "a", "payload": payload});
        let text = if pretty { serde_json::to_string_pretty(&frame).unwrap() } else { frame.to_string() };
        if let Incoming::Request(request) = decode(&text) {
            let _ = request.operation();
        }
    }
}
