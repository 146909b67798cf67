//! Every frame of the protocol, as files: parse, print, compare.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what went wrong by panicking")]

mod fixture_files;

use std::collections::BTreeSet;

use drawbridge_core::{OpError, RequestId};
use drawbridge_proto::executor::codec::{Incoming, decode};
use drawbridge_proto::executor::errors::wire_code;
use drawbridge_proto::executor::wire::{Envelope, ErrorCode, FromClient, FromPlatform, Message};
use fixture_files::{files, folder};
use serde_json::Value;

/// A null member counts as absent, and 1 as 1.0.
fn meaning(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key, meaning(value))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(meaning).collect()),
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

fn round_trip<M: Message>(direction: &str) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    for (name, text) in files(direction) {
        let frame = Envelope::<M>::from_text(&text).unwrap_or_else(|fault| panic!("{direction}/{name}: {fault}"));
        seen.insert(frame.message.type_name());
        let printed: Value = serde_json::from_str(&frame.to_text()).unwrap();
        let wanted = std::fs::read_to_string(folder(direction).join(format!("{name}.printed.json"))).unwrap_or(text);
        let wanted: Value = serde_json::from_str(&wanted).unwrap();
        assert_eq!(meaning(printed), meaning(wanted), "{direction}/{name}");
    }
    seen
}

#[test]
fn every_message_of_the_platform_survives_parsing_and_printing() {
    assert_eq!(round_trip::<FromPlatform>("in"), FromPlatform::TYPES.iter().copied().collect());
}

#[test]
fn every_message_of_the_client_survives_parsing_and_printing() {
    assert_eq!(round_trip::<FromClient>("out"), FromClient::TYPES.iter().copied().collect());
}

#[test]
fn every_error_code_has_a_frame() {
    let mut seen = BTreeSet::new();
    for (_, text) in files("out") {
        if let FromClient::Error(error) = Envelope::<FromClient>::from_text(&text).unwrap().message {
            seen.insert(error.code.as_str());
        }
    }
    assert_eq!(seen, ErrorCode::ALL.iter().map(|code| code.as_str()).collect());
}

#[test]
fn the_lean_reader_knows_every_message_of_the_platform_and_serves_what_has_an_operation() {
    for (name, text) in files("in") {
        match decode(&text) {
            Incoming::Request(request) => match request.operation() {
                // The one request with two operations: the audit log tells them apart.
                Ok(operation) if operation.name() == "FILE_READ_STUB" => {
                    assert_eq!(request.kind.name(), "FILE_READ", "{name}");
                }
                Ok(operation) => assert_eq!(operation.name(), request.kind.name(), "{name}"),
                Err(OpError::Unsupported { .. } | OpError::ModelFailed { .. }) => {}
                Err(error) => panic!("{name}: {error}"),
            },
            Incoming::HelloAck { ack, .. } => assert!(ack.is_ok(), "{name}"),
            Incoming::Answer(type_name) => assert_eq!(type_name, "ERROR", "{name}"),
            Incoming::Ping { .. } | Incoming::Revoked(_) => {}
            other @ (Incoming::UnknownType(_) | Incoming::OtherMajor { .. } | Incoming::Malformed(_)) => {
                panic!("{name}: {other:?}")
            }
        }
    }
}

#[test]
fn frames_that_are_no_clean_requests_get_the_verdict_written_beside_them() {
    for (name, text) in files("rejected") {
        let file: Value = serde_json::from_str(&text).unwrap();
        let wanted = file["verdict"].as_str().unwrap();
        let frame = match file["text"].as_str() {
            Some(text) => text.to_owned(),
            None => file["frame"].to_string(),
        };
        let verdict = match decode(&frame) {
            Incoming::Malformed(_) => "malformed".to_owned(),
            Incoming::UnknownType(_) => "unknown_type".to_owned(),
            Incoming::Answer(_) => "answer".to_owned(),
            Incoming::OtherMajor { .. } => "other_major".to_owned(),
            Incoming::Request(request) => match request.operation() {
                Err(OpError::InvalidPayload(fault)) if fault.field == "payload" => "payload".to_owned(),
                Err(OpError::InvalidPayload(fault)) => format!("payload:{}", fault.field),
                Err(error) => wire_code(&error).as_str().to_owned(),
                Ok(operation) => format!("taken as {operation:?}"),
            },
            Incoming::HelloAck { .. } | Incoming::Ping { .. } | Incoming::Revoked(_) => "taken".to_owned(),
        };
        assert_eq!(verdict, wanted, "rejected/{name}");
    }
}

#[test]
fn ids_of_the_fixtures_are_ids() {
    for (name, text) in files("in").into_iter().chain(files("out")) {
        let frame: Value = serde_json::from_str(&text).unwrap();
        assert!(RequestId::parse(frame["id"].as_str().unwrap()).is_ok(), "{name}");
        assert!(text.contains(&format!("\"type\": \"{}\"", frame["type"].as_str().unwrap())), "{name}");
    }
}
