use serde_json::json;

use super::*;
use crate::audit::RecordResult;

fn key() -> AuditKey {
    let mut bytes = [0_u8; 32];
    for (at, byte) in (0_u8..).zip(bytes.iter_mut()) {
        *byte = at;
    }
    AuditKey::new(bytes)
}

const FIRST: &str = "265e0e9299a051ade1e6d1a8bf6318013bb4007588b4da70e1c071d258cb5f8b";

fn record(op: &'static str, details: Value, error: Option<&'static str>) -> Record {
    let Value::Object(details) = details else { panic!("details are an object") };
    let result =
        RecordResult { ok: error.is_none(), exit_code: None, duration_ms: 0, error_code: error.map(Into::into) };
    Record { session_id: None, request_id: None, op: op.into(), details, result }
}

fn frame(seq: u64, ts_ms: i64, prev_hmac: Option<&str>) -> Frame<'_> {
    Frame { machine_id: "m-1", shim_version: "0.1.0", seq, ts_ms, prev_hmac }
}

#[test]
fn the_published_records_get_the_published_macs() {
    let mut line = Vec::new();
    let details = json!({ "code": "PATH_OUTSIDE_ALLOWED_ROOT", "path": "/etc/pässwd" });
    let first = record("JAIL_VIOLATION", details, Some("PATH_OUTSIDE_ALLOWED_ROOT"));

    let mac = write_line(&mut line, &keyed(&key()), first, &frame(1, 1_712_345_678_123, None));
    assert_eq!(mac, FIRST);

    let ts = stamp(1_712_345_679_000, 1_712_345_678_123);
    let second = record("TOKEN_REFRESHED", json!({}), None);
    let mac = write_line(&mut line, &keyed(&key()), second, &frame(2, ts, Some(FIRST)));
    assert_eq!(mac, "ac348b428a295db0563c66c9bdafc4304e365613b126f33af0d08a5f9ba82d97");
}

#[test]
fn only_numbers_that_look_the_same_everywhere_stay_numbers() {
    let Value::Object(details) = json!({
        "a": 9_007_199_254_740_991_u64, "b": 9_007_199_254_740_992_u64, "c": 1.0, "d": 0.5, "e": 1e-7, "f": 1e300,
    }) else {
        panic!("an object")
    };

    assert_eq!(
        Value::Object(fit(details)),
        json!({ "a": 9_007_199_254_740_991_u64, "b": "9007199254740992", "c": 1, "d": 0.5, "e": "1e-7",
            "f": format!("{}", 1e300) })
    );
}

#[test]
fn no_line_is_longer_than_64_kib() {
    for text in ["x".repeat(1 << 20), "\u{1}".repeat(1 << 20), "ü".repeat(1 << 20)] {
        let details = json!({ "command": text, "argv": vec![text.clone(); 100], "env_keys": vec!["K"; 50_000] });
        let mut line = Vec::new();

        write_line(&mut line, &keyed(&key()), record("EXECUTE_COMMAND", details, None), &frame(1, 1, None));

        assert!(line.len() < 64 * 1024, "{}", line.len());
    }
}
