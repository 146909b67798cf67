//! Answers of a local model on their way through a link: a real model server, a whole engine, and a platform that listens.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::Command;
use drawbridge_practice::model::{ModelServer, Reply, Script, Step};
use drawbridge_practice::{Answer, Failure, Heard, Scope};
use rig::{Rig, Wish, text};
use serde_json::{Value, json};

const MODEL: &str = "practice-model";
const COMPLETION: &str = "LOCAL_LLM_COMPLETION";

/// An engine that may ask this server, and a chat.
async fn at_work(server: &ModelServer) -> (Rig, String) {
    let wish = Wish::headless().at_models(&server.url()).with(Power::LocalModel, PowerMode::Allowed);
    let rig = Rig::start(wish).await;
    // On a busy machine the first HELLO may go without it.
    rig.until(|picture| picture.models.servers[0].answers).await;
    let (chat, _) = rig.chat_in("project").await;
    (rig, chat)
}

async fn server_with(steps: Vec<Step>) -> ModelServer {
    ModelServer::start(Script::ollama().with_reply(Reply::Steps(steps))).await.unwrap()
}

/// "one ", then a wait, then the rest.
fn held() -> Vec<Step> {
    vec![Step::text("one "), Step::Hold, Step::text("two"), Step::finish("stop")]
}

fn question(stream: bool) -> Value {
    json!({"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "stream": stream})
}

async fn asking(rig: &Rig, chat: &str) -> Answer {
    rig.script.ask(&Scope::Data(chat.to_owned()), COMPLETION, question(true), None).await.unwrap()
}

async fn part(answer: &mut Answer) -> Value {
    match answer.next().await.unwrap() {
        Heard::Part(part) => part,
        Heard::End(end) => panic!("{end:?}"),
    }
}

/// The types of what the machine sent in this chat, PONG and STATUS aside.
fn sent(rig: &Rig, chat: &str) -> Vec<String> {
    let scope = Scope::Data(chat.to_owned());
    let frames = rig.script.frames(0).into_iter().filter(|frame| frame.from_machine && frame.scope == scope);
    frames.map(|frame| frame.kind).filter(|kind| kind.starts_with("LOCAL_LLM") || kind == "ERROR").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_arrive_while_the_model_still_speaks_and_the_whole_comes_last() {
    let server = server_with(held()).await;
    let (rig, chat) = at_work(&server).await;
    let mut answer = asking(&rig, &chat).await;

    // The model stands still, and its first words are there.
    assert_eq!(part(&mut answer).await, json!({"delta": "one ", "finish_reason": null}));
    server.until_holding(1).await;
    server.release();
    let (rest, reply) = answer.whole().await.unwrap();

    assert_eq!(rest, [json!({"delta": "two", "finish_reason": null}), json!({"delta": "", "finish_reason": "stop"})]);
    assert_eq!((&reply.payload["content"], &reply.payload["finish_reason"]), (&json!("one two"), &json!("stop")));
    let chunk = "LOCAL_LLM_COMPLETION_CHUNK";
    assert_eq!(sent(&rig, &chat), [chunk, chunk, chunk, "LOCAL_LLM_COMPLETION_RESPONSE"]);
    assert_eq!(reply.pending_capacity, Some(4));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_one_piece_comes_without_parts() {
    let server = ModelServer::start(Script::ollama().with_reply(Reply::pieces(&["one ", "two"]))).await.unwrap();
    let (rig, chat) = at_work(&server).await;

    let payload = rig.ask(&chat, COMPLETION, question(false)).await.unwrap();

    assert_eq!(payload["content"], "one two");
    assert_eq!(sent(&rig, &chat), ["LOCAL_LLM_COMPLETION_RESPONSE"]);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_breaks_off_ends_the_parts_with_an_error() {
    let server = server_with(vec![Step::text("one "), Step::Hold, Step::Cut]).await;
    let (rig, chat) = at_work(&server).await;
    let mut answer = asking(&rig, &chat).await;
    part(&mut answer).await;
    server.release();

    let Some(Heard::End(Err(Failure::Refused { reply }))) = answer.next().await else { panic!("no refusal") };

    assert_eq!(reply.payload["code"], "LOCAL_LLM_FAILED");
    assert!(!text(&reply.payload["details"]["backend_error"]).is_empty());
    assert_eq!(sent(&rig, &chat), ["LOCAL_LLM_COMPLETION_CHUNK", "ERROR"]);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_lost_ends_the_question() {
    let server = server_with(held()).await;
    let (rig, chat) = at_work(&server).await;
    let mut answer = asking(&rig, &chat).await;
    part(&mut answer).await;

    rig.script.cut(&Scope::Data(chat.clone())).unwrap();

    server.until_hung_up(1).await;
    assert_eq!(answer.next().await, Some(Heard::End(Err(Failure::Disconnected))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_detached_asks_no_further_and_says_no_more() {
    let server = server_with(held()).await;
    let (rig, chat) = at_work(&server).await;
    let mut answer = asking(&rig, &chat).await;
    part(&mut answer).await;

    rig.script.detach(&chat).await.unwrap();

    server.until_hung_up(1).await;
    assert_eq!(answer.next().await, Some(Heard::End(Err(Failure::Disconnected))));
    assert_eq!(sent(&rig, &chat), ["LOCAL_LLM_COMPLETION_CHUNK"]);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raised_bridge_ends_the_question_and_lets_nothing_more_out() {
    let server = server_with(held()).await;
    let (rig, chat) = at_work(&server).await;
    let mut answer = asking(&rig, &chat).await;
    part(&mut answer).await;

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();

    server.until_hung_up(1).await;
    assert_eq!(answer.next().await, Some(Heard::End(Err(Failure::Disconnected))));
    assert_eq!(sent(&rig, &chat), ["LOCAL_LLM_COMPLETION_CHUNK"]);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_question_is_refused_as_busy_and_the_first_goes_on() {
    let server = server_with(held()).await;
    let (rig, chat) = at_work(&server).await;
    let (other, _) = rig.chat_in("other").await;
    let mut first = asking(&rig, &chat).await;
    part(&mut first).await;

    for asker in [&chat, &other] {
        let busy = rig.refused(asker, COMPLETION, question(true)).await;
        assert_eq!((&busy["code"], &busy["details"]["requested_model"]), (&json!("LOCAL_LLM_BUSY"), &json!(MODEL)));
    }

    server.release();
    assert_eq!(first.whole().await.unwrap().1.payload["content"], "one two");
    // Free again.
    let mut third = asking(&rig, &other).await;
    part(&mut third).await;
    server.release();
    third.whole().await.unwrap();
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_does_not_listen_is_waited_for_and_loses_nothing() {
    const PIECES: usize = 3000;
    let piece = "0123456789abcdef".repeat(256);
    let steps = std::iter::repeat_with(|| Step::text(&piece)).take(PIECES).chain([Step::finish("stop")]).collect();
    let server = server_with(steps).await;
    let (rig, chat) = at_work(&server).await;
    let scope = Scope::Data(chat.clone());
    rig.script.stall(&scope, true).unwrap();
    let mut answer = asking(&rig, &chat).await;
    server.until(|seen| (seen.questions == 1).then_some(())).await;
    rig.script.stall(&scope, false).unwrap();

    let mut told = String::new();
    let reply = loop {
        match answer.next().await.unwrap() {
            Heard::Part(part) => told.push_str(part["delta"].as_str().unwrap()),
            Heard::End(end) => break end.unwrap().reply,
        }
    };

    assert!(told.len() == piece.len() * PIECES && reply.payload["content"] == told, "{}", told.len());
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_that_is_raised_while_nobody_listens_ends_the_question_too() {
    let piece = "x".repeat(64 * 1024);
    let mut steps: Vec<Step> = std::iter::repeat_with(|| Step::text(&piece)).take(200).collect();
    steps.extend([Step::Hold, Step::finish("stop")]);
    let server = server_with(steps).await;
    let (rig, chat) = at_work(&server).await;
    let scope = Scope::Data(chat.clone());
    rig.script.stall(&scope, true).unwrap();
    let answer = asking(&rig, &chat).await;
    server.until(|seen| (seen.questions == 1).then_some(())).await;

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();

    server.until_hung_up(1).await;
    rig.script.stall(&scope, false).unwrap_or_default();
    assert!(matches!(answer.whole().await, Err(Failure::Disconnected)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_no_frame_holds_is_cut_and_still_comes() {
    // Each character takes six bytes on the wire.
    let steps = vec![Step::text(&"\u{1}".repeat(100_000)); 30].into_iter().chain([Step::finish("stop")]).collect();
    let server = server_with(steps).await;
    let (rig, chat) = at_work(&server).await;

    let (_, reply) = asking(&rig, &chat).await.whole().await.unwrap();

    assert_eq!(reply.payload["finish_reason"], "length");
    assert!(reply.payload["content"].as_str().unwrap().len() > 2_000_000);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_without_privacy_has_no_stubs_and_no_questions_about_them() {
    let server = ModelServer::start(Script::ollama()).await.unwrap();
    let (rig, chat) = at_work(&server).await;
    std::fs::write(rig.home.join("project/data.csv"), "a,b\n1,2\n").unwrap();
    let turn = json!({"model": MODEL, "task": "Count.", "stub_refs": ["stub_1"]});

    for (kind, payload, feature) in [
        ("FILE_READ", json!({"path": "data.csv", "mode": "stub"}), "FILE_READ.mode"),
        ("LOCAL_LLM_TURN", turn, "LOCAL_LLM_TURN"),
    ] {
        let refused = rig.refused(&chat, kind, payload).await;
        assert_eq!(
            (&refused["code"], &refused["details"]["feature"]),
            (&json!("FEATURE_NOT_SUPPORTED"), &json!(feature))
        );
        assert_eq!(refused["details"]["op"], kind);
    }
    let whole = rig.ask(&chat, "FILE_READ", json!({"path": "data.csv", "mode": "content"})).await.unwrap();
    assert_eq!(whole["content"], "a,b\n1,2\n");
    assert_eq!(server.requests().iter().filter(|asked| asked.path == "/api/chat").count(), 0);
    rig.assert_no_faults();
}
