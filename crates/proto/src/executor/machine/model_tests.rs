//! The local model on a link: what starts, and the parts of an answer on their way.

use drawbridge_core::model::{FinishReason, ModelAnswer, ModelOp, TokenCounts};
use drawbridge_core::{FileOp, Operation};

use super::*;

fn asked() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
}

fn turned() -> Value {
    json!({"model": "m", "task": "Count.", "stub_refs": ["stub_1"]})
}

/// A data link on which a completion and a turn run.
fn at_work() -> Link {
    let mut link = link_with(Capability::LocalLlm);
    for (type_name, id, payload) in [("LOCAL_LLM_COMPLETION", "c", asked()), ("LOCAL_LLM_TURN", "t", turned())] {
        let effects = link.request(type_name, id, &payload);
        assert!(matches!(&effects[..], [Effect::Start { operation: Operation::Model(_), .. }]), "{effects:?}");
    }
    link
}

fn piece(link: &mut Link, id: &str, piece: &Piece) -> Vec<Effect> {
    link.machine.on_piece(&rid(id), piece, link.wall)
}

fn delta(text: &str) -> Piece {
    Piece::Delta(text.to_owned())
}

fn answer() -> ModelAnswer {
    ModelAnswer {
        model: "m".into(),
        content: "Hello".into(),
        finish: FinishReason::Stop,
        tokens: TokenCounts::default(),
        duration: Duration::from_millis(4200),
    }
}

fn answered(link: &mut Link, id: &str, result: Result<&Outcome, &OpError>) -> Vec<Effect> {
    let reply = Reply::encode(&rid(id), &ReplyContext::of_name("LOCAL_LLM_COMPLETION"), &Limits::default(), result);
    link.machine.on_reply(reply, link.now, link.wall)
}

#[test]
fn what_the_model_is_asked_starts_when_it_is_granted_and_a_bad_payload_names_its_field() {
    let mut link = at_work();
    assert_eq!(link.machine.running(), [rid("c"), rid("t")]);

    let (code, frame) = refusal(&link.request("LOCAL_LLM_COMPLETION", "x", &json!({"model": "m", "messages": 3})));
    assert_eq!(code, ErrorCode::InternalError);
    let wanted = json!({"reason": "invalid_payload", "field": "messages", "op": "LOCAL_LLM_COMPLETION"});
    assert_eq!(frame["payload"]["details"], wanted);
    assert_eq!(frame["pending_capacity"], 2);
}

#[test]
fn a_person_who_reads_an_answer_first_does_not_eat_the_time_of_the_model() {
    let mut link = at_work();
    let aborted = |effects: &[Effect]| effects.iter().filter(|effect| matches!(effect, Effect::Abort(_))).count();

    assert_eq!(aborted(&link.live(839)), 0, "ten minutes of the model and what a person is asked around them");
    assert_eq!(aborted(&link.live(1)), 2, "and still before the platform forgets it");
}

#[test]
fn a_conversation_that_nobody_can_continue_is_refused_as_a_failure_of_the_model() {
    let mut link = link_with(Capability::LocalLlm);
    let (code, frame) = refusal(&link.request("LOCAL_LLM_COMPLETION", "x", &json!({"model": "m", "messages": []})));
    assert_eq!(code, ErrorCode::LocalLlmFailed);
    assert!(frame["payload"]["details"]["backend_error"].as_str().unwrap().contains("none of the messages"), "{frame}");
    assert!(link.machine.running().is_empty());
}

#[test]
fn a_description_needs_files_and_a_question_needs_the_model() {
    let mut files = link_with(Capability::Files);
    let effects = files.request("FILE_READ", "s", &json!({"path": "x", "mode": "stub"}));
    let [Effect::Start { operation: Operation::File(FileOp::Stub { path, .. }), .. }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(path, "x");
    for (type_name, payload) in [("LOCAL_LLM_COMPLETION", asked()), ("LOCAL_LLM_TURN", turned())] {
        let (code, frame) = refusal(&files.request(type_name, "m", &payload));
        assert_eq!(code, ErrorCode::CapabilityNotGranted);
        assert_eq!(frame["payload"]["details"]["required_capability"], "local_llm");
    }

    let mut model = link_with(Capability::LocalLlm);
    let effects = model.request("LOCAL_LLM_TURN", "t", &turned());
    assert!(matches!(&effects[..], [Effect::Start { operation: Operation::Model(ModelOp::Turn(_)), .. }]));
    let (code, frame) = refusal(&model.request("FILE_READ", "s", &json!({"path": "x", "mode": "stub"})));
    assert_eq!(code, ErrorCode::CapabilityNotGranted);
    assert_eq!(frame["payload"]["details"]["required_capability"], "files");
}

#[test]
fn parts_go_out_in_their_order_without_capacity_and_the_answer_ends_them() {
    let mut link = at_work();
    let mut effects = Vec::new();
    for part in [delta("Hel"), delta("lo"), Piece::Finish(FinishReason::Stop)] {
        effects.extend(piece(&mut link, "c", &part));
    }
    effects.extend(answered(&mut link, "c", Ok(&Outcome::Completion(answer()))));

    let [hel, lo, last, response] = &sent(&effects)[..] else { panic!("{effects:?}") };
    for (frame, payload) in [
        (hel, json!({"delta": "Hel", "finish_reason": null})),
        (lo, json!({"delta": "lo", "finish_reason": null})),
        (last, json!({"delta": "", "finish_reason": "stop"})),
    ] {
        let wanted = json!({
            "type": "LOCAL_LLM_COMPLETION_CHUNK", "id": "c", "ts": 1_712_345_678.0, "version": "1.1", "payload": payload,
        });
        assert_eq!(*frame, wanted);
    }
    assert_eq!(response["type"], "LOCAL_LLM_COMPLETION_RESPONSE");
    assert_eq!(response["pending_capacity"], 3);

    assert!(piece(&mut link, "c", &delta("late")).is_empty());
    assert!(piece(&mut link, "c", &Piece::Finish(FinishReason::Stop)).is_empty());
}

#[test]
fn a_turn_has_parts_of_its_own_and_no_last_one() {
    let mut link = at_work();
    let [frame] = &sent(&piece(&mut link, "t", &delta("12 rows")))[..] else { panic!("no part") };
    assert_eq!(frame["type"], "LOCAL_LLM_TURN_CHUNK");
    assert_eq!(frame["payload"], json!({"delta": "12 rows"}));
    assert_eq!(frame.get("pending_capacity"), None);
    assert!(piece(&mut link, "t", &Piece::Finish(FinishReason::Stop)).is_empty());
}

#[test]
fn an_error_ends_the_parts_as_an_answer_does() {
    let mut link = at_work();
    assert_eq!(piece(&mut link, "c", &delta("Hel")).len(), 1);
    let failed = OpError::ModelFailed { why: "stream ended early".into() };
    let effects = answered(&mut link, "c", Err(&failed));

    assert_eq!(sent(&effects)[0]["payload"]["code"], "LOCAL_LLM_FAILED");
    assert!(piece(&mut link, "c", &delta("lo")).is_empty());
}

#[test]
fn parts_without_a_request_and_of_requests_without_parts_go_nowhere() {
    let mut link = Link::ready();
    let _ = link.read("r");
    for id in ["r", "nobody"] {
        assert!(piece(&mut link, id, &delta("text")).is_empty(), "{id}");
    }
    let mut shaking = Link::data();
    let _ = shaking.open();
    assert!(piece(&mut shaking, "c", &delta("text")).is_empty());
}

#[test]
fn fourteen_minutes_end_an_answer_that_still_grows() {
    let mut link = at_work();
    let mut all = link.live(839);
    assert_eq!(piece(&mut link, "c", &delta("still")).len(), 1);

    all.extend(link.live(1));

    for id in ["c", "t"] {
        assert!(all.iter().any(|effect| matches!(effect, Effect::Abort(aborted) if *aborted == rid(id))), "{id}");
        assert!(piece(&mut link, id, &delta("more")).is_empty(), "{id}");
    }
    assert!(answered(&mut link, "c", Ok(&Outcome::Completion(answer()))).iter().all(|e| matches!(e, Effect::Note(_))));
}

#[test]
fn the_end_of_a_link_ends_the_parts() {
    for end in [0, 1] {
        let mut link = at_work();
        let effects = match end {
            0 => link.machine.on_stop(link.now),
            _ => link.machine.on_closed(Some(1006), "", link.now),
        };
        assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Abort(_))).count(), 2, "{effects:?}");
        assert!(piece(&mut link, "c", &delta("late")).is_empty());
    }
}

#[test]
fn a_part_of_an_answer_shows_nothing_in_a_log() {
    let mut link = at_work();
    let effects = piece(&mut link, "c", &delta("the secret"));
    assert!(!format!("{effects:?} {:?}", delta("the secret")).contains("secret"));
}

#[test]
fn an_answer_that_may_have_to_stay_comes_with_what_is_said_in_its_place() {
    let mut link = at_work();
    let context = ReplyContext::of_name("LOCAL_LLM_TURN");
    let encode = |result: Result<&Outcome, &OpError>| Reply::encode(&rid("t"), &context, &Limits::default(), result);
    let (reply, no) = (encode(Ok(&Outcome::Turn(answer()))), OpError::PrivacyMode { path: "/r/a".into() });

    let effects = link.machine.on_reply_or(reply, encode(Err(&no)), link.now, link.wall);

    let [Effect::SendEither { frame, instead }] = &effects[..] else { panic!("{effects:?}") };
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (frame, instead) = (read(frame), read(instead));
    assert_eq!(
        (&frame["type"], &instead["payload"]["code"]),
        (&json!("LOCAL_LLM_TURN_RESPONSE"), &json!("PRIVACY_MODE_BLOCKED"))
    );
    for key in ["id", "ts", "version", "pending_capacity"] {
        assert_eq!(frame[key], instead[key], "{key}");
    }
    assert_eq!(link.machine.running(), [rid("c")]);
    assert!(!format!("{effects:?}").contains("Hello"));
}
