use drawbridge_core::model::{ChatMessage, ChatRole, FinishReason, Knob, Sampling, TokenCounts};
use drawbridge_policy::ModelApi;
use serde_json::{Value, json};

use super::{Line, Question, Said, clean_words, fault_words, of, usable};
use crate::model::ModelFacts;

#[test]
fn ollama_is_asked_as_its_interface_says() {
    let call = of(ModelApi::Ollama).unwrap().question(&question(&messages(), None));

    let body: Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
    let expected = json!({
        "model": "llama3.2:3b", "stream": true,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say \"hi\"\n"}],
        "options": {"temperature": 0.25, "top_p": 1.0, "num_predict": 100},
    });
    assert_eq!((call.path, body), ("/api/chat", expected));
}

#[test]
fn a_prompt_that_must_not_be_cut_gets_a_window_and_no_leave_to_cut() {
    let call = of(ModelApi::Ollama).unwrap().question(&question(&messages(), Some(8192)));

    let body: Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
    assert_eq!(body["options"]["num_ctx"], 8192);
    assert_eq!((&body["truncate"], &body["shift"]), (&json!(false), &json!(false)));
}

#[test]
fn the_shared_interface_is_asked_with_counts() {
    let call = of(ModelApi::OpenAi).unwrap().question(&question(&messages(), Some(8192)));

    let body: Value = serde_json::from_slice(&call.body.unwrap()).unwrap();
    let expected = json!({
        "model": "llama3.2:3b", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say \"hi\"\n"}],
        "temperature": 0.25, "top_p": 1.0, "max_tokens": 100,
    });
    assert_eq!((call.path, body), ("/v1/chat/completions", expected));
}

#[test]
fn lines_of_ollama_are_understood() {
    let line = |line: &str| of(ModelApi::Ollama).unwrap().line(line.as_bytes());
    let ends = |reason: &str| format!(r#"{{"message":{{"content":""}},"done":true,"done_reason":{reason}}}"#);

    assert_eq!(line(r#"{"model":"m","message":{"role":"assistant","content":"Hé\n"},"done":false}"#), text("Hé\n"));
    assert_eq!(line(r#"{"message":{"content":"","thinking":"hm"},"done":false}"#), text(""));
    assert_eq!(line(&ends("\"length\"")), end(FinishReason::Length));
    for odd in ["\"load\"", "\"\"", "null", "7", "[\"stop\"]"] {
        assert_eq!(line(&ends(odd)), end(FinishReason::Stop), "{odd}");
    }
    let counted = r#"{"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":-1}"#;
    let tokens = TokenCounts { prompt: Some(26), completion: None };
    let expected = Said { finish: Some(FinishReason::Stop), tokens, last: true, ..Said::default() };
    assert_eq!(line(counted), Line::Said(expected));
    assert_eq!(line(r#"{"error":"out of memory"}"#), Line::Failed(Some("out of memory".to_owned())));
    assert_eq!(line(""), Line::Nothing);
    for broken in ["{", "nonsense", "[]", "{}", r#"{"message":"text"}"#, "\u{0}", r#"{"message":{"content":"\ud83d"}}"#]
    {
        assert_eq!(line(broken), Line::Malformed, "{broken}");
    }
}

#[test]
fn events_of_the_shared_interface_are_understood() {
    let line = |line: &str| of(ModelApi::OpenAi).unwrap().line(line.as_bytes());
    let ends = |reason: &str| format!(r#"data: {{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#);
    let finished = |finish| Line::Said(Said { finish: Some(finish), ..Said::default() });

    for same in ["data: ", "data:"] {
        let said = format!(r#"{same}{{"choices":[{{"index":0,"delta":{{"content":"Hé"}},"finish_reason":null}}]}}"#);
        assert_eq!(line(&said), text("Hé"));
    }
    assert_eq!(line(r#"data: {"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}"#), text(""));
    assert_eq!(line(&ends("\"content_filter\"")), finished(FinishReason::ContentFilter));
    assert_eq!(line(&ends("\"eos\"")), finished(FinishReason::Stop));
    assert_eq!(line(&ends("\"\"")), text(""), "an empty reason is none yet");
    let tokens = TokenCounts { prompt: Some(9), completion: Some(3) };
    assert_eq!(
        line(r#"data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}"#),
        Line::Said(Said { tokens, ..Said::default() })
    );
    assert_eq!(line("data: [DONE]"), Line::Said(Said { last: true, ..Said::default() }));
    for nothing in ["", ": ping", "event: message", "id: 7", "retry: 100"] {
        assert_eq!(line(nothing), Line::Nothing, "{nothing}");
    }
    for broken in ["data", "data: {", "data: []", "data: {}", "hello", "data: {\"choices\":[{\"delta\":7}]}"] {
        assert_eq!(line(broken), Line::Malformed, "{broken}");
    }
}

#[test]
fn a_server_that_does_not_stream_or_fails_with_a_good_status_is_understood() {
    let line = |line: &str| of(ModelApi::OpenAi).unwrap().line(line.as_bytes());

    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    let expected = Said { text: "Hi".to_owned(), finish: Some(FinishReason::Stop), last: true, ..Said::default() };
    assert_eq!(line(whole), Line::Said(expected));
    let failed = Line::Failed(Some("Unexpected endpoint".to_owned()));
    assert_eq!(line(r#"{"error":"Unexpected endpoint"}"#), failed);
    assert_eq!(line(r#"data: {"error":{"message":"Unexpected endpoint","code":500}}"#), failed);
}

#[test]
fn the_words_of_a_fault_are_found_wherever_servers_put_them() {
    let told = [
        json!({"error": "model requires more memory"}),
        json!({"error": {"message": "model requires more memory", "code": 500}}),
        json!({"object": "error", "message": "model requires more memory"}),
        json!({"detail": "model requires more memory"}),
        json!({"error": "{\"error\":{\"code\":400,\"message\":\"model requires more memory\"}}"}),
    ];

    for body in told {
        assert_eq!(fault_words(&body).as_deref(), Some("model requires more memory"), "{body}");
    }
    assert_eq!(fault_words(&json!({"error": 7})), None);
    assert_eq!(fault_words(&json!([1])), None);
    assert_eq!(clean_words("a\n\u{1b}[31m b\u{202e}c\u{0}"), Some("a [31m b c".to_owned()));
    assert_eq!(clean_words(&"é".repeat(500)).unwrap().chars().count(), 160);
    assert_eq!(clean_words(" \n"), None);
}

#[test]
fn names_that_cannot_be_told_to_a_peer_are_left_out() {
    let names = ["", "  ", "llama3", "ev\u{202e}il", "two\nlines", "llama3", "ünï/7b:q4", "tab\there"];
    let long = "x".repeat(201);
    let listed = names.iter().copied().chain([long.as_str()]).map(facts);

    let taken: Vec<String> = usable(listed).into_iter().map(|model| model.name).collect();

    assert_eq!(taken, ["llama3", "ünï/7b:q4"]);
    assert_eq!(usable((0..10_000).map(|number| facts(&number.to_string()))).len(), 500);
}

fn facts(name: &str) -> ModelFacts {
    ModelFacts { name: name.to_owned(), size_bytes: None, context_tokens: None, elsewhere: false, missing: false }
}

fn messages() -> Vec<ChatMessage> {
    let said = |role, content: &str| ChatMessage { role, content: content.to_owned() };
    vec![said(ChatRole::System, "Be brief."), said(ChatRole::User, "Say \"hi\"\n")]
}

fn question(messages: &[ChatMessage], window: Option<u64>) -> Question<'_> {
    let knob = |value| Knob::new(value).unwrap();
    let sampling = Sampling { max_tokens: 100, temperature: knob(0.25), top_p: knob(1.0) };
    Question { model: "llama3.2:3b", messages, sampling, window, whole: window.is_some() }
}

fn text(text: &str) -> Line {
    Line::Said(Said { text: text.to_owned(), ..Said::default() })
}

fn end(finish: FinishReason) -> Line {
    Line::Said(Said { finish: Some(finish), last: true, ..Said::default() })
}
