use drawbridge_core::model::TokenCounts;
use drawbridge_core::{FRAME_LIMIT_BYTES, Limits, Outcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::executor::codec::{Reply, ReplyContext};

const WALL: WallMs = WallMs(1_712_345_678_123);

fn id() -> RequestId {
    RequestId::parse("r-1").unwrap()
}

fn answer(content: &str) -> ModelAnswer {
    ModelAnswer {
        model: "llama3.2:3b".into(),
        content: content.into(),
        finish: FinishReason::Stop,
        tokens: TokenCounts { prompt: Some(42), completion: Some(384) },
        duration: Duration::from_micros(4_199_500),
    }
}

fn frame_of(outcome: &Outcome) -> (String, bool) {
    let reply = Reply::encode(&id(), &ReplyContext::of_name("LOCAL_LLM_COMPLETION"), &Limits::default(), Ok(outcome));
    assert_eq!(reply.error_code(), None);
    let was_cut = reply.output_cut();
    (reply.into_frame(WALL, "1.1", 3), was_cut)
}

fn payload_of(outcome: &Outcome) -> Value {
    let frame: Value = serde_json::from_str(&frame_of(outcome).0).unwrap();
    frame["payload"].clone()
}

fn sent(op: &str, piece: &Piece) -> Vec<Value> {
    parts(op, &id(), piece, WALL, "1.1").iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

#[test]
fn an_answer_tells_text_end_tokens_and_time_to_the_millisecond() {
    let payload = payload_of(&Outcome::Completion(answer("a \"quoted\"\nline ✓")));
    let wanted = json!({
        "content": "a \"quoted\"\nline ✓",
        "finish_reason": "stop",
        "tokens": {"prompt": 42, "completion": 384, "total": 426},
        "duration_seconds": 4.2,
    });
    assert_eq!(payload, wanted);
    let (frame, was_cut) = frame_of(&Outcome::Completion(answer("")));
    assert!(frame.contains("\"duration_seconds\":4.200}"), "{frame}");
    assert!(!was_cut);
}

#[test]
fn an_answer_about_files_names_its_model() {
    let payload = payload_of(&Outcome::Turn(answer("12 rows")));
    let wanted = json!({
        "output": "12 rows",
        "finish_reason": "stop",
        "tokens_used": 426,
        "duration_seconds": 4.2,
        "model": "llama3.2:3b",
    });
    assert_eq!(payload, wanted);
}

#[test]
fn tokens_that_nobody_counted_are_null_and_make_no_total() {
    for (prompt, completion) in [(None, None), (Some(1), None), (None, Some(1)), (Some(u64::MAX), Some(1))] {
        let answer = ModelAnswer { tokens: TokenCounts { prompt, completion }, ..answer("x") };
        let payload = payload_of(&Outcome::Completion(answer.clone()));
        assert_eq!(payload["tokens"], json!({"prompt": prompt, "completion": completion, "total": null}));
        assert_eq!(payload_of(&Outcome::Turn(answer))["tokens_used"], Value::Null);
    }
}

#[test]
fn every_end_has_its_name() {
    for (finish, name) in [
        (FinishReason::Stop, "stop"),
        (FinishReason::Length, "length"),
        (FinishReason::ContentFilter, "content_filter"),
    ] {
        let answer = ModelAnswer { finish, ..answer("x") };
        assert_eq!(payload_of(&Outcome::Completion(answer.clone()))["finish_reason"], name);
        assert_eq!(payload_of(&Outcome::Turn(answer))["finish_reason"], name);
        let [part] = &sent("LOCAL_LLM_COMPLETION", &Piece::Finish(finish))[..] else { panic!("no last part") };
        assert_eq!(part["payload"], json!({"delta": "", "finish_reason": name}));
    }
}

#[test]
fn an_answer_that_no_frame_holds_is_cut_and_says_so() {
    for outcome in [Outcome::Completion, Outcome::Turn] {
        // Each takes six bytes in JSON.
        let long = ModelAnswer { finish: FinishReason::ContentFilter, ..answer(&"\u{1}".repeat(3_000_000)) };
        let (frame, was_cut) = frame_of(&outcome(long));

        assert!(was_cut);
        assert!(frame.len() <= FRAME_LIMIT_BYTES && frame.len() > FRAME_LIMIT_BYTES - 64, "{}", frame.len());
        let frame: Value = serde_json::from_str(&frame).unwrap();
        let payload = &frame["payload"];
        assert_eq!(payload["finish_reason"], "length");
        let text = payload["content"].as_str().or(payload["output"].as_str()).unwrap();
        assert!(text.chars().all(|c| c == '\u{1}') && text.len() > 2_790_000, "{}", text.len());
    }
}

#[test]
fn an_answer_that_just_fits_is_whole() {
    let room = 1000;
    let fixed = completion(&id(), &answer(""), room).0.len();
    let (body, was_cut) = completion(&id(), &answer(&"x".repeat(room - fixed)), room);
    assert!(!was_cut && body.len() == room);
    let (body, was_cut) = completion(&id(), &answer(&"x".repeat(room - fixed + 1)), room);
    assert!(was_cut && body.len() == room, "{}", body.len());
}

#[test]
fn a_part_holds_its_text_and_says_that_it_is_not_the_last() {
    let [part] = &parts("LOCAL_LLM_COMPLETION", &id(), &Piece::Delta("a\"\n✓".into()), WALL, "1.1")[..] else {
        panic!()
    };
    assert_eq!(
        part,
        "{\"type\":\"LOCAL_LLM_COMPLETION_CHUNK\",\"id\":\"r-1\",\"payload\":{\"delta\":\"a\\\"\\n✓\",\"finish_reason\":null},\
         \"ts\":1712345678.123,\"version\":\"1.1\"}"
    );
    let [part] = &sent("LOCAL_LLM_TURN", &Piece::Delta("x".into()))[..] else { panic!() };
    assert_eq!((&part["type"], &part["payload"]), (&json!("LOCAL_LLM_TURN_CHUNK"), &json!({"delta": "x"})));
}

#[test]
fn nothing_to_say_is_no_part() {
    assert!(sent("LOCAL_LLM_COMPLETION", &Piece::Delta(String::new())).is_empty());
    assert!(sent("LOCAL_LLM_TURN", &Piece::Finish(FinishReason::Stop)).is_empty());
    for op in ["FILE_READ", "EXECUTE_COMMAND", ""] {
        assert!(sent(op, &Piece::Delta("x".into())).is_empty());
        assert!(sent(op, &Piece::Finish(FinishReason::Stop)).is_empty());
    }
}

#[test]
fn a_very_long_part_becomes_several_that_make_the_same_text() {
    let text = "ü\u{1}\"x".repeat(700_000);
    for op in ["LOCAL_LLM_COMPLETION", "LOCAL_LLM_TURN"] {
        let frames = parts(op, &id(), &Piece::Delta(text.clone()), WALL, "1.1");
        assert!(frames.len() > 1);
        let mut whole = String::new();
        for frame in frames {
            assert!(frame.len() < PART_MAX + 256);
            let frame: Value = serde_json::from_str(&frame).unwrap();
            assert_eq!(frame["payload"].get("finish_reason").unwrap_or(&Value::Null), &Value::Null);
            whole.push_str(frame["payload"]["delta"].as_str().unwrap());
        }
        assert!(whole == text);
    }
}

#[test]
fn a_description_shows_no_content() {
    let stub = FileStub {
        path: "/w/data.csv".into(),
        size_bytes: 10_485_760,
        mime_type: None,
        sha256: "a".repeat(64),
        stub_id: "stub_5b0c2f6e-1111-4222-8333-444455556666".into(),
        preview: Vec::new(),
    };
    let wanted = json!({
        "mode": "stub", "path": "/w/data.csv", "size_bytes": 10_485_760, "mime_type": null, "sha256": "a".repeat(64),
        "schema_preview": "", "stub_id": "stub_5b0c2f6e-1111-4222-8333-444455556666",
    });
    assert_eq!(payload_of(&Outcome::Stub(stub.clone())), wanted);

    let told = FileStub { preview: b"name,sum\n".to_vec(), ..stub };
    assert!(!format!("{told:?}").contains("name,sum"));
    assert_eq!(payload_of(&Outcome::Stub(told))["schema_preview"], "bmFtZSxzdW0K");
}

proptest! {
    #[test]
    fn whatever_a_model_says_arrives_as_it_was_said(text in any::<String>(), room in 300_usize..2000) {
        let frames = sent("LOCAL_LLM_COMPLETION", &Piece::Delta(text.clone()));
        let told: String = frames.iter().map(|frame| frame["payload"]["delta"].as_str().unwrap()).collect();
        prop_assert_eq!(&told, &text);

        let (body, was_cut) = completion(&id(), &answer(&text), room);
        prop_assert!(body.len() <= room);
        let frame: Value = serde_json::from_str(&format!("{body}}}")).unwrap();
        let content = frame["payload"]["content"].as_str().unwrap();
        prop_assert!(text.starts_with(content));
        prop_assert_eq!(was_cut, content.len() < text.len());
    }
}
