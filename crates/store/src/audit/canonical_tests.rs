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

/// RFC 8785 written a second time, from its text alone, so that the log does not depend on one reading of it.
mod second {
    use serde_json::Value;

    pub(super) fn write(value: &Value) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::Bool(on) => on.to_string(),
            Value::Number(number) => self::number(number.as_f64().unwrap()),
            Value::String(text) => string(text),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(write).collect();
                format!("[{}]", items.join(","))
            }
            Value::Object(map) => {
                let mut pairs: Vec<(Vec<u16>, String)> = map
                    .iter()
                    .map(|(key, value)| (key.encode_utf16().collect(), format!("{}:{}", string(key), write(value))))
                    .collect();
                pairs.sort();
                let pairs: Vec<String> = pairs.into_iter().map(|(_, pair)| pair).collect();
                format!("{{{}}}", pairs.join(","))
            }
        }
    }

    fn string(text: &str) -> String {
        let mut out = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\u{8}' => out.push_str("\\b"),
                '\u{9}' => out.push_str("\\t"),
                '\u{a}' => out.push_str("\\n"),
                '\u{c}' => out.push_str("\\f"),
                '\u{d}' => out.push_str("\\r"),
                c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
                c => out.push(c),
            }
        }
        out.push('"');
        out
    }

    /// `Number::toString` of ECMAScript: k digits, the point after n of them.
    pub(super) fn number(value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let sign = if value < 0.0 { "-" } else { "" };
        // So many digits as are needed, and of those the nearest: in a tie the even one.
        let shortest = format!("{:e}", value.abs());
        let count = shortest.split('e').next().unwrap().bytes().filter(u8::is_ascii_digit).count();
        let text = format!("{:.*e}", count - 1, value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap();
        let digits = mantissa.replace('.', "");
        let k = digits.len() as i32;
        let n = exponent.parse::<i32>().unwrap() + 1;
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap());
        let shown = if k <= n && n <= 21 {
            format!("{digits}{}", zeros(n - k))
        } else if 0 < n && n <= 21 {
            let (whole, part) = digits.split_at(n as usize);
            format!("{whole}.{part}")
        } else if -6 < n && n <= 0 {
            format!("0.{}{digits}", zeros(-n))
        } else {
            let exponent = if n > 0 { format!("+{}", n - 1) } else { format!("-{}", 1 - n) };
            let (first, rest) = digits.split_at(1);
            if rest.is_empty() { format!("{first}e{exponent}") } else { format!("{first}.{rest}e{exponent}") }
        };
        format!("{sign}{shown}")
    }
}

mod properties {
    use proptest::prelude::*;

    use super::super::super::compat::{Rule, Token};
    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1000_i64..1000).prop_map(Value::from),
            any::<f64>().prop_filter("JSON knows no infinity", |number| number.is_finite()).prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            any::<String>().prop_map(Value::String),
            "[\\x00-\\x20\"\\\\/a-c\u{7f}\u{2028}\u{e000}\u{10000}]{0,12}".prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_the_second_implementation_does(value in any_json()) {
            let mut out = Vec::new();
            canonical(&mut out, &value);
            prop_assert_eq!(String::from_utf8(out).unwrap(), second::write(&value));
        }

        #[test]
        fn a_verifier_with_an_ordinary_parser_gets_the_same_mac(
            details in prop::collection::btree_map(any::<String>(), any_json(), 0..8),
            request_id in proptest::option::of(any::<String>()),
            op in any::<String>(),
            exit_code in proptest::option::of(any::<i32>()),
            duration_ms in any::<u64>(),
            ts_ms in 1_i64..8_000_000_000_000,
            seq in 1_u64..(1 << 53),
        ) {
            let result = RecordResult { ok: exit_code.is_none(), exit_code, duration_ms, error_code: None };
            let record = Record {
                session_id: None,
                request_id,
                op: op.into(),
                details: details.into_iter().collect(),
                result,
            };
            let mut line = Vec::new();

            let mac = write_line(&mut line, &keyed(&key()), record, &frame(seq, stamp(ts_ms, 0), Some(FIRST)));

            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let mut read: Map<String, Value> = serde_json::from_slice(&line).unwrap();
            prop_assert_eq!(read.remove("hmac").unwrap(), mac.as_str());
            let signed = second::write(&Value::Object(read));
            let mut own = keyed(&key());
            own.update(signed.as_bytes());
            prop_assert_eq!(drawbridge_core::hex::encode(own.finalize().into_bytes()), mac);

            // And our own verifier, which never rounds a number.
            let text = std::str::from_utf8(&line).unwrap().trim_end();
            let Some(Token::Map(mut map)) = Token::parse(text) else { panic!("no record: {text}") };
            map.remove("hmac");
            let mut out = Vec::new();
            Token::Map(map).write(&mut out, Rule::Strict);
            prop_assert_eq!(String::from_utf8(out).unwrap(), signed);
        }
    }
}

#[test]
fn numbers_look_as_in_the_standard() {
    for (value, written) in [
        (0.0, "0"),
        (-0.0, "0"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9_007_199_254_740_992.0, "9007199254740992"),
        (295_147_905_179_352_830_000.0, "295147905179352830000"),
        (1e21, "1e+21"),
        (9.999_999_999_999_997e22, "9.999999999999997e+22"),
        (333_333_333.333_333_3, "333333333.3333333"),
        (1e-27, "1e-27"),
        (0.000_001, "0.000001"),
        (0.000_000_1, "1e-7"),
        (-0.000_003_333_333_333_333_333_3, "-0.0000033333333333333333"),
        (1_424_953_923_781_206.2, "1424953923781206.2"),
    ] {
        let mut out = Vec::new();
        canonical(&mut out, &Value::from(value));
        assert_eq!(String::from_utf8(out).unwrap(), written);
        assert_eq!(second::number(value), written);
    }
}
