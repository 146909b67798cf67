//! How a record becomes bytes (spec 3.5): strict RFC 8785, with numbers that look the same in every implementation.

use std::io::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Number, Value};
use sha2::Sha256;

use super::{AuditKey, Record};

pub(super) type Keyed = Hmac<Sha256>;

/// The longest text of a detail, in bytes.
const STRING_LIMIT: usize = 4096;
/// What all details together may take, so that a line stays below 64 KiB.
const DETAILS_LIMIT: usize = 48 * 1024;
/// The detail that says why an operation was allowed or refused.
const DECISION: &str = "decision";
const SAFE_INTEGER: u64 = (1 << 53) - 1;

/// What the writer adds to a record.
pub(super) struct Frame<'a> {
    pub(super) machine_id: &'a str,
    pub(super) shim_version: &'a str,
    pub(super) seq: u64,
    pub(super) ts_ms: i64,
    pub(super) prev_hmac: Option<&'a str>,
}

/// Returns a MAC state with the key set.
pub(super) fn keyed(key: &AuditKey) -> Keyed {
    match Keyed::new_from_slice(key.bytes()) {
        Ok(keyed) => keyed,
        // HMAC takes a key of any length.
        Err(_) => unreachable!("HMAC refused a key"),
    }
}

/// Writes the whole line of a record into `line` and returns its MAC in hex.
pub(super) fn write_line(line: &mut Vec<u8>, mac: &Keyed, record: Record, frame: &Frame<'_>) -> String {
    const NO_MAC: &[u8; 64] = &[b'0'; 64];
    let Record { session_id, request_id, op, details, result } = record;
    line.clear();
    // Keys in their sorted order; "hmac" stands between the first two and is left out of what is signed.
    line.extend_from_slice(b"{\"details\":");
    canonical(line, &Value::Object(fit(details)));
    let first_end = line.len();
    line.extend_from_slice(b",\"hmac\":\"");
    let mac_at = line.len();
    line.extend_from_slice(NO_MAC);
    line.push(b'"');
    let second_start = line.len();
    line.extend_from_slice(b",\"machine_id\":");
    text(line, frame.machine_id);
    line.extend_from_slice(b",\"op\":");
    text(line, &op);
    line.extend_from_slice(b",\"prev_hmac\":");
    optional(line, frame.prev_hmac);
    line.extend_from_slice(b",\"request_id\":");
    optional(line, request_id.as_deref().map(|id| cut(id, STRING_LIMIT).0));
    // Writing into a Vec cannot fail, here and below.
    let _ = write!(line, ",\"result\":{{\"duration_ms\":{},\"error_code\":", result.duration_ms.min(SAFE_INTEGER));
    optional(line, result.error_code.as_deref());
    line.extend_from_slice(b",\"exit_code\":");
    let _ = match result.exit_code {
        Some(code) => write!(line, "{code}"),
        None => line.write_all(b"null"),
    };
    let _ = write!(line, ",\"ok\":{}}},\"seq\":{},\"session_id\":", result.ok, frame.seq);
    text(line, session_id.as_ref().map_or("-", |id| id.as_str()));
    line.extend_from_slice(b",\"shim_version\":");
    text(line, frame.shim_version);
    line.extend_from_slice(b",\"ts\":");
    seconds(line, frame.ts_ms);
    line.push(b'}');

    let mut mac = mac.clone();
    mac.update(&line[..first_end]);
    mac.update(&line[second_start..]);
    let mac = drawbridge_core::hex::encode(mac.finalize().into_bytes());
    line[mac_at..mac_at + 64].copy_from_slice(mac.as_bytes());
    line.push(b'\n');
    mac
}

/// Returns the time of a record: never on a whole second, never before the record before.
pub(super) fn stamp(now_ms: i64, last_ms: i64) -> i64 {
    let at = now_ms.max(last_ms).max(1);
    if at % 1000 == 0 { at + 1 } else { at }
}

fn seconds(line: &mut Vec<u8>, ts_ms: i64) {
    let _ = write!(line, "{}.{:03}", ts_ms / 1000, ts_ms % 1000);
    while line.last() == Some(&b'0') {
        line.pop();
    }
}

pub(super) fn canonical(out: &mut Vec<u8>, value: &Value) {
    let start = out.len();
    if serde_json_canonicalizer::to_writer(value, out).is_err() {
        // Cannot happen with text keys and finite numbers; null is valid and shows that something is missing.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        canonical(out, &Value::String(text.to_owned()));
    }
}

fn optional(out: &mut Vec<u8>, value: Option<&str>) {
    match value {
        Some(value) => text(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// Brings details into the form of spec 3.5 and below the limits of spec 3.4.
pub(super) fn fit(mut details: Map<String, Value>) -> Map<String, Value> {
    let mut left = DETAILS_LIMIT;
    // Why it was allowed must not be what a long command leaves no room for.
    let decision = details.remove(DECISION).map(|decision| fit_value(decision, &mut left));
    let mut details = fit_object(details, &mut left);
    details.extend(decision.map(|decision| (DECISION.to_owned(), decision)));
    details
}

fn fit_object(object: Map<String, Value>, left: &mut usize) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in object {
        let key = if key.is_ascii() { key } else { key.escape_default().to_string() };
        if *left < key.len() + 16 {
            out.insert("cut".to_owned(), Value::Bool(true));
            break;
        }
        *left -= key.len() + 4;
        let value = fit_value(value, left);
        out.insert(key, value);
    }
    out
}

fn fit_value(value: Value, left: &mut usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) => {
            *left = left.saturating_sub(6);
            value
        }
        Value::Number(number) => {
            *left = left.saturating_sub(24);
            fit_number(&number)
        }
        Value::String(text) => {
            let room = STRING_LIMIT.min(left.saturating_sub(64));
            let (kept, encoded) = cut(&text, room);
            *left = left.saturating_sub(encoded + 3);
            if kept.len() == text.len() {
                return Value::String(text);
            }
            *left = left.saturating_sub(48);
            Value::String(format!("{kept}…[cut, {} bytes in all]", text.len()))
        }
        Value::Array(items) => {
            let count = items.len();
            let mut out = Vec::new();
            for item in items {
                if *left < 128 {
                    out.push(Value::String(format!("…[cut, {count} entries in all]")));
                    *left = left.saturating_sub(48);
                    break;
                }
                out.push(fit_value(item, left));
            }
            Value::Array(out)
        }
        Value::Object(object) => Value::Object(fit_object(object, left)),
    }
}

/// Returns as much of a text as takes `room` bytes once written as JSON, and that number of bytes.
fn cut(text: &str, room: usize) -> (&str, usize) {
    let mut encoded = 0;
    for (at, c) in text.char_indices() {
        let size = match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        if encoded + size > room {
            return (&text[..at], encoded);
        }
        encoded += size;
    }
    (text, encoded)
}

/// Integers up to 2^53 − 1 and decimals with a fraction of moderate size stay numbers; all else becomes text.
fn fit_number(number: &Number) -> Value {
    if let Some(whole) = number.as_i64() {
        if whole.unsigned_abs() <= SAFE_INTEGER {
            return Value::Number(whole.into());
        }
        return Value::String(whole.to_string());
    }
    if let Some(whole) = number.as_u64() {
        return Value::String(whole.to_string());
    }
    let Some(float) = number.as_f64() else { return Value::String(number.to_string()) };
    let size = float.abs();
    if float.fract() == 0.0 {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        if size <= SAFE_INTEGER as f64 {
            return Value::Number((float as i64).into());
        }
        return Value::String(format!("{float}"));
    }
    if (1e-4..1e16).contains(&size) { Value::Number(number.clone()) } else { Value::String(format!("{float:e}")) }
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
