//! Local models on scripted servers, through a whole engine and a platform.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod agents;
mod keys;
#[path = "../rig/mod.rs"]
mod rig;
mod servers;
mod tries;

use std::time::Duration;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{ModelServerView, PromptAnswer, Snapshot, TrialView};
use drawbridge_engine::{Command, CommandError, ConfiguredModels, Engine, Reply};
use drawbridge_practice::model::{ModelServer, Reply as Answers, Script, ScriptModel, Step};
use drawbridge_practice::{Failure, FrameRecord, Scope};
use rig::{Rig, Wish, text};
use serde_json::{Value, json};

const QUESTION: &str = "what is the secret of the harbour";

/// An engine whose configuration names this server.
async fn rig_with(server: &ModelServer, mode: PowerMode) -> Rig {
    let rig = rig_of(Wish::headless().with(Power::LocalModel, mode).at_models(&server.url())).await;
    if mode != PowerMode::Off {
        // On a busy machine the first HELLO may go without it.
        rig.until(|picture| server_views(picture)[0].answers).await;
    }
    rig
}

async fn rig_of(wish: Wish) -> Rig {
    Rig::start(wish).await
}

async fn ollama(models: &[&str]) -> ModelServer {
    ModelServer::start(Script::ollama().with_models(models)).await.unwrap()
}

fn ask_for(model: &str, stream: bool) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": QUESTION }], "stream": stream })
}

/// The newest HELLO of a link.
fn hello_of(rig: &Rig, scope: &Scope) -> Value {
    let frames = rig.script.frames(0);
    let hello = frames.iter().rev().find(|frame| frame.kind == "HELLO" && frame.scope == *scope).unwrap();
    serde_json::from_str::<Value>(&hello.text).unwrap()["payload"].clone()
}

fn offers_models(hello: &Value) -> bool {
    hello["capabilities"].as_array().unwrap().contains(&json!("local_llm"))
}

/// Looks at the servers and waits until the chat's link has said HELLO with these models.
async fn until_hello_says(rig: &Rig, chat: &str, models: &[&str]) {
    let scope = Scope::Data(chat.to_owned());
    let says = |frame: &FrameRecord| {
        frame.from_machine && frame.kind == "HELLO" && frame.scope == scope && {
            let hello: Value = serde_json::from_str(&frame.text).unwrap();
            hello["payload"]["local_llm_models"] == json!(models)
        }
    };
    let after = rig.script.frames(0).last().map_or(0, |frame| frame.n);
    rig.handle.send(Command::LookAtModels).await.unwrap();
    let hello = rig.script.frame(after, says).await;
    let payload = serde_json::from_str::<Value>(&hello.text).unwrap()["payload"].clone();
    assert_eq!(offers_models(&payload), !models.is_empty(), "{payload}");
    rig.script.connected(&scope, true).await;
}

/// Asks until the link is there again: a HELLO anew takes a moment.
async fn answered(rig: &Rig, chat: &str, payload: Value) -> Result<Value, Value> {
    for _ in 0..100 {
        match rig.ask(chat, "LOCAL_LLM_COMPLETION", payload.clone()).await {
            Ok(payload) => return Ok(payload),
            Err(Failure::Refused { reply }) => return Err(reply.payload),
            Err(_) => rig.script.connected(&Scope::Data(chat.to_owned()), true).await,
        }
    }
    panic!("the link never came back")
}

async fn set_power(rig: &Rig, mode: &str) -> Result<Reply, CommandError> {
    rig.handle.send(Command::SetPower { power: "local_model".to_owned(), mode: mode.to_owned() }).await
}

fn server_views(picture: &Snapshot) -> &[ModelServerView] {
    &picture.models.servers
}

async fn trial(rig: &Rig, id: u64) -> TrialView {
    let Reply::TrialText { trial } = rig.handle.send(Command::TrialText { id }).await.unwrap() else {
        panic!("no text")
    };
    trial
}

/// Waits until a try stands as wanted.
async fn until_trial(rig: &Rig, id: u64, fits: impl Fn(&TrialView) -> bool) -> TrialView {
    for _ in 0..3000 {
        let now = trial(rig, id).await;
        if fits(&now) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the try never stood so: {:?}", trial(rig, id).await)
}

async fn try_model(rig: &Rig, model: &str, text: &str) -> Result<u64, CommandError> {
    let command = Command::TryModel { model: model.to_owned(), text: text.to_owned() };
    match rig.handle.send(command).await? {
        Reply::Trial { id } => Ok(id),
        other => panic!("not a try: {other:?}"),
    }
}

/// Waits until the chat can ask: its link says HELLO anew after the switch.
async fn answered_in_time(rig: &Rig, chat: &str) -> bool {
    for _ in 0..200 {
        if answered(rig, chat, ask_for("a:1b", false)).await.is_ok() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
