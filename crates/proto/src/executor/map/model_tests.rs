use serde_json::json;

use super::*;
use crate::executor::codec::{Incoming, decode};
use drawbridge_core::Operation;

fn operation_of(type_name: &str, payload: &Value) -> Result<ModelOp, OpError> {
    let text = json!({"type": type_name, "id": "a", "payload": payload}).to_string();
    let Incoming::Request(request) = decode(&text) else { panic!("no request: {text}") };
    request.operation().map(|operation| {
        let Operation::Model(op) = operation else { panic!("{operation:?}") };
        op
    })
}

fn completion_of(payload: &Value) -> Completion {
    match operation_of("LOCAL_LLM_COMPLETION", payload) {
        Ok(ModelOp::Completion(op)) => op,
        Ok(_) => panic!("no completion"),
        Err(error) => panic!("{payload}: {error}"),
    }
}

fn turn_of(payload: &Value) -> Turn {
    match operation_of("LOCAL_LLM_TURN", payload) {
        Ok(ModelOp::Turn(op)) => op,
        Ok(_) => panic!("no turn"),
        Err(error) => panic!("{payload}: {error}"),
    }
}

fn fault_of(type_name: &str, payload: &Value) -> String {
    match operation_of(type_name, payload) {
        Err(OpError::InvalidPayload(fault)) => fault.field,
        Err(other) => panic!("{payload}: {other}"),
        Ok(_) => panic!("{payload}: taken"),
    }
}

fn with(base: &Value, field: &str, value: Value) -> Value {
    let mut payload = base.clone();
    payload[field] = value;
    payload
}

fn asked() -> Value {
    json!({"model": "llama3.2:3b", "messages": [{"role": "user", "content": "Hi"}]})
}

fn turned() -> Value {
    json!({"model": "llama3.2:3b", "task": "Count the rows.", "stub_refs": ["stub_1"]})
}

fn said(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage { role, content: content.to_owned() }
}

#[test]
fn a_bare_completion_takes_the_defaults_of_the_protocol() {
    let op = completion_of(&asked());

    assert!(op.stream);
    assert_eq!(op.model, "llama3.2:3b");
    assert!(op.messages == [said(ChatRole::User, "Hi")]);
    assert_eq!(op.sampling.max_tokens, 1024);
    assert_eq!(op.sampling.temperature.get(), 0.0);
    assert_eq!(op.sampling.top_p.get(), 1.0);
}

#[test]
fn what_was_asked_for_arrives_in_either_spelling_of_numbers() {
    for (tokens, temperature, top_p) in [(json!(7), json!(1), json!(1)), (json!(7.0), json!(1.0), json!(1.0))] {
        let mut payload = with(&asked(), "stream", json!(false));
        payload["max_tokens"] = tokens;
        payload["temperature"] = temperature;
        payload["top_p"] = top_p;

        let op = completion_of(&payload);

        assert!(!op.stream);
        assert_eq!((op.sampling.max_tokens, op.sampling.temperature.get(), op.sampling.top_p.get()), (7, 1.0, 1.0));
    }
    let nulls = json!({"model": "m", "messages": asked()["messages"], "max_tokens": null, "temperature": null,
        "top_p": null, "stream": null});
    let op = completion_of(&nulls);
    assert!(op.stream);
    assert_eq!(op.sampling.max_tokens, 1024);
}

#[test]
fn a_limit_of_tokens_beyond_reason_counts_as_a_million() {
    for tokens in [json!(1_000_001), json!(5_000_000_000_u64), json!(u64::MAX), json!(1e300)] {
        assert_eq!(completion_of(&with(&asked(), "max_tokens", tokens)).sampling.max_tokens, 1_000_000);
    }
}

#[test]
fn messages_of_roles_that_come_later_are_left_out_whatever_they_hold() {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "tool", "content": [{"type": "result", "value": 42}], "tool_call_id": "t"},
        {"role": "developer"},
        {"role": "User", "content": "not a role"},
        {"role": "user", "content": "", "name": "extra fields are ignored"},
        {"role": "assistant", "content": "\u{0}\u{1f600} as it was sent\r\n"},
    ]);

    let op = completion_of(&with(&asked(), "messages", messages));

    assert!(
        op.messages
            == [
                said(ChatRole::System, "Be brief."),
                said(ChatRole::User, ""),
                said(ChatRole::Assistant, "\u{0}\u{1f600} as it was sent\r\n"),
            ]
    );
}

#[test]
fn a_conversation_without_a_known_role_fails_as_the_model_would() {
    for messages in [json!([]), json!([{"role": "tool", "content": "42"}])] {
        let result = operation_of("LOCAL_LLM_COMPLETION", &with(&asked(), "messages", messages));
        let Err(OpError::ModelFailed { why }) = result else { panic!("taken") };
        assert!(why.contains("system, user, assistant") && why.len() <= 200, "{why}");
    }
}

#[test]
fn content_of_a_known_role_that_is_no_text_is_named_by_its_place() {
    for content in [json!(null), json!(7), json!([{"type": "text", "text": "secret"}])] {
        let messages = json!([{"role": "system", "content": "x"}, {"role": "user", "content": content}]);
        assert_eq!(fault_of("LOCAL_LLM_COMPLETION", &with(&asked(), "messages", messages)), "messages[1].content");
    }
}

#[test]
fn every_bound_names_its_field() {
    let long = "m".repeat(201);
    for (field, value) in [
        ("model", json!("")),
        ("model", json!(long)),
        ("model", json!("llama\n3")),
        ("model", json!(3)),
        ("messages", json!("Hi")),
        ("messages", json!({"role": "user", "content": "Hi"})),
        ("messages", json!(["Hi"])),
        ("max_tokens", json!(0)),
        ("max_tokens", json!(-1)),
        ("max_tokens", json!(1.5)),
        ("max_tokens", json!("many")),
        ("temperature", json!(-0.1)),
        ("temperature", json!(2.01)),
        ("temperature", json!("warm")),
        ("top_p", json!(-0.1)),
        ("top_p", json!(1.01)),
        ("stream", json!("yes")),
    ] {
        assert_eq!(fault_of("LOCAL_LLM_COMPLETION", &with(&asked(), field, value.clone())), field, "{value}");
    }
    let many: Vec<Value> = vec![json!({"role": "user", "content": ""}); 10_001];
    assert_eq!(fault_of("LOCAL_LLM_COMPLETION", &with(&asked(), "messages", json!(many))), "messages");
    assert_eq!(completion_of(&with(&asked(), "messages", json!(many[..10_000]))).messages.len(), 10_000);
    for (field, value) in
        [("temperature", json!(0)), ("temperature", json!(2)), ("top_p", json!(0)), ("max_tokens", json!(1))]
    {
        completion_of(&with(&asked(), field, value));
    }
    completion_of(&with(&asked(), "model", json!("ü".repeat(200))));
}

#[test]
fn numbers_that_no_float_holds_are_refused() {
    for number in ["1e999", "-1e999"] {
        let text = format!(
            r#"{{"type":"LOCAL_LLM_COMPLETION","id":"a","payload":{{"model":"m","messages":[],"temperature":{number}}}}}"#
        );
        let Incoming::Request(request) = decode(&text) else { panic!("{number}") };
        let Err(OpError::InvalidPayload(fault)) = request.operation() else { panic!("{number}: taken") };
        assert_eq!(fault.field, "temperature");
    }
}

#[test]
fn a_fault_never_repeats_what_was_said() {
    let messages = json!([{"role": "user", "content": ["the secret plan"]}]);
    let Err(error) = operation_of("LOCAL_LLM_COMPLETION", &with(&asked(), "messages", messages)) else {
        panic!("taken")
    };
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn a_turn_looks_at_the_files_again_unless_told_otherwise() {
    let op = turn_of(&turned());

    assert!(op.verify);
    assert_eq!(op.context, None);
    assert_eq!(op.stubs, ["stub_1"]);
    assert_eq!(op.task, "Count the rows.");
    assert_eq!((op.sampling.max_tokens, op.sampling.temperature.get(), op.sampling.top_p.get()), (1024, 0.0, 1.0));
    assert!(turn_of(&with(&turned(), "verify_sha256", json!(null))).verify);
    assert!(!turn_of(&with(&turned(), "verify_sha256", json!(false))).verify);
}

#[test]
fn a_turn_is_bounded_in_every_field() {
    let stubs = |count: usize| json!(vec!["stub_1"; count]);
    for (field, value) in [
        ("model", json!("")),
        ("task", json!("")),
        ("task", json!(" \n")),
        ("task", json!("x".repeat(100_001))),
        ("stub_refs", stubs(0)),
        ("stub_refs", stubs(65)),
        ("stub_refs", json!([""])),
        ("stub_refs", json!(["s".repeat(65)])),
        ("stub_refs", json!("stub_1")),
        ("stub_refs", json!([1])),
        ("context", json!(["x"])),
        ("max_tokens", json!(0)),
        ("temperature", json!(3)),
        ("verify_sha256", json!("no")),
    ] {
        assert_eq!(fault_of("LOCAL_LLM_TURN", &with(&turned(), field, value.clone())), field, "{value}");
    }
    assert_eq!(turn_of(&with(&turned(), "stub_refs", stubs(64))).stubs.len(), 64);
    assert_eq!(turn_of(&with(&turned(), "task", json!("x".repeat(100_000)))).task.len(), 100_000);
    assert_eq!(turn_of(&with(&turned(), "context", json!("c"))).context.as_deref(), Some("c"));
}

#[test]
fn a_request_without_its_fields_names_the_first_that_is_missing() {
    assert_eq!(fault_of("LOCAL_LLM_COMPLETION", &json!({})), "model");
    assert_eq!(fault_of("LOCAL_LLM_COMPLETION", &json!({"model": "m"})), "messages");
    assert_eq!(fault_of("LOCAL_LLM_TURN", &json!({"model": "m", "task": "t"})), "stub_refs");
    assert_eq!(fault_of("LOCAL_LLM_TURN", &json!({"model": "m", "stub_refs": ["s"]})), "task");
}
