//! Local models on scripted servers, through a whole engine and a platform.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod rig;

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
    rig_of(Wish::headless().with(Power::LocalModel, mode).at_models(&server.url())).await
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

#[tokio::test(flavor = "multi_thread")]
async fn hello_follows_servers_that_come_and_go_and_models_that_are_gained_and_lost() {
    let server = ollama(&["a:1b", "b:2b"]).await;
    let port = server.port();
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let hello = hello_of(&rig, &Scope::Data(chat.clone()));
    assert_eq!(hello["local_llm_models"], json!(["a:1b", "b:2b"]));
    assert!(offers_models(&hello));

    server.change(|script| *script = Script::ollama().with_models(&["a:1b", "b:2b", "c:3b"]));
    until_hello_says(&rig, &chat, &["a:1b", "b:2b", "c:3b"]).await;
    server.change(|script| *script = Script::ollama().with_models(&["c:3b"]));
    until_hello_says(&rig, &chat, &["c:3b"]).await;
    drop(server);
    until_hello_says(&rig, &chat, &[]).await;
    let refused = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("c:3b", false)).await;
    assert_eq!(refused["code"], "CAPABILITY_NOT_GRANTED", "{refused}");
    let down = rig.handle.snapshot();
    assert!(server_views(&down)[0].trouble.is_some() && !server_views(&down)[0].answers, "{down:?}");

    let _again = again_at(port, Script::ollama().with_models(&["d:4b"])).await;
    until_hello_says(&rig, &chat, &["d:4b"]).await;
    assert!(answered(&rig, &chat, ask_for("d:4b", false)).await.is_ok());
    rig.assert_no_faults();
}

/// Starts a server at a port that one has just left.
async fn again_at(port: u16, script: Script) -> ModelServer {
    for _ in 0..500 {
        if let Ok(server) = ModelServer::start_at(port, script.clone()).await {
            return server;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("port {port} is never free")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_recorded_counted_and_shown_without_a_word_of_it() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::pieces(&["The answer ", "is sealed."]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let answer = answered(&rig, &chat, ask_for("a:1b", true)).await.unwrap();

    assert_eq!((&answer["content"], &answer["finish_reason"]), (&json!("The answer is sealed."), &json!("stop")));
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    let details = &record["details"];
    assert_eq!(details["model"], "a:1b");
    assert_eq!(details["prompt_chars"], QUESTION.chars().count());
    assert_eq!(details["response_chars"], "The answer is sealed.".len());
    assert_eq!((&details["finish_reason"], &details["stream"]), (&json!("stop"), &json!(true)));
    for (counted, wired) in
        [("tokens_prompt", "prompt"), ("tokens_completion", "completion"), ("tokens_total", "total")]
    {
        assert_eq!(details[counted], answer["tokens"][wired], "{counted}");
        assert!(details.as_object().unwrap().contains_key(counted));
    }
    assert_eq!(record["result"]["ok"], true);

    let used = rig.until(|picture| !picture.models.uses.is_empty()).await;
    let one = &used.models.uses[0];
    assert_eq!((one.model.as_str(), one.session_id.as_deref()), ("a:1b", Some(chat.as_str())));
    assert_eq!((one.completions, one.turns), (1, 0));
    assert_eq!(one.tokens, details["tokens_total"].as_u64().unwrap_or_default());
    let row = used.activity.iter().find(|row| row.operation == "LOCAL_LLM_COMPLETION").unwrap();
    assert_eq!((row.subject.as_str(), row.ok), ("a:1b", true));
    let log = std::fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("harbour") && !log.contains("sealed"));
    let picture = serde_json::to_string(&used).unwrap();
    assert!(!picture.contains("harbour") && !picture.contains("sealed"));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_nobody_told_are_null_in_the_record() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("x"), Step::FinishUncounted("length".to_owned())]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let answer = answered(&rig, &chat, ask_for("a:1b", false)).await.unwrap();

    assert_eq!(answer["finish_reason"], "length");
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    let details = record["details"].as_object().unwrap();
    for name in ["tokens_prompt", "tokens_completion", "tokens_total"] {
        assert_eq!(details.get(name), Some(&Value::Null), "{name}");
    }
    assert_eq!((&details["finish_reason"], &details["stream"]), (&json!("length"), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_went_since_hello_is_refused_with_those_that_are_there() {
    let server = ollama(&["a:1b", "b:2b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let unknown = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("zebra", false)).await;
    assert_eq!(unknown["code"], "MODEL_NOT_AVAILABLE");
    assert_eq!(unknown["details"]["requested_model"], "zebra");
    assert_eq!(unknown["details"]["available_models"], json!(["a:1b", "b:2b"]));

    server.change(|script| *script = Script::ollama().with_models(&["b:2b"]));
    let gone = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", true)).await;

    assert_eq!((&gone["code"], &gone["details"]["requested_model"]), (&json!("MODEL_NOT_AVAILABLE"), &json!("a:1b")));
    assert!(gone["details"]["available_models"].as_array().unwrap().contains(&json!("b:2b")), "{gone}");
    let failed: Vec<_> = rig
        .audit()
        .into_iter()
        .filter(|record| record["op"] == "LOCAL_LLM_COMPLETION")
        .map(|record| record["result"]["error_code"].clone())
        .collect();
    assert_eq!(failed, [json!("MODEL_NOT_AVAILABLE"), json!("MODEL_NOT_AVAILABLE")]);
    assert!(rig.handle.snapshot().models.uses.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_power_is_off_or_the_bridge_is_raised_nobody_is_asked() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Off).await;
    let (chat, _) = rig.chat_in("project").await;
    assert!(!offers_models(&hello_of(&rig, &Scope::Data(chat.clone()))));
    assert_eq!(
        rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await["code"],
        "CAPABILITY_NOT_GRANTED"
    );
    for command in [Command::LookAtModels, Command::FindModelServers] {
        assert_eq!(rig.handle.send(command).await.unwrap_err().code, "power_off");
    }
    assert_eq!(try_model(&rig, "a:1b", "hello").await.unwrap_err().code, "power_off");
    assert_eq!(server.requests(), []);
    let off = rig.handle.snapshot();
    assert_eq!(server_views(&off).len(), 1);
    assert!(!server_views(&off)[0].answers && server_views(&off)[0].models.is_empty());

    // Switched on, servers are looked at and HELLO says so by itself.
    set_power(&rig, "allowed").await.unwrap();
    assert!(answered_in_time(&rig, &chat).await);
    let on = rig.until(|picture| server_views(picture)[0].answers).await;
    assert!(server_views(&on)[0].models[0].offered, "{on:?}");

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    let asked = server.requests().len();
    assert_eq!(rig.handle.send(Command::LookAtModels).await.unwrap_err().code, "raised");
    assert_eq!(try_model(&rig, "a:1b", "hello").await.unwrap_err().code, "raised");
    assert!(!server_views(&rig.handle.snapshot())[0].answers);
    assert_eq!(server.requests().len(), asked);
    rig.handle.send(Command::SetRaised { raised: false }).await.unwrap();
    rig.until(|picture| server_views(picture)[0].answers).await;
    rig.assert_no_faults();
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

#[tokio::test(flavor = "multi_thread")]
async fn a_raise_in_the_middle_of_an_answer_ends_it_at_the_server() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("one "), Step::Hold, Step::text("two"), Step::finish("stop")]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let asked = rig.ask(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", true));
    let raised = async {
        server.until_holding(1).await;
        rig.until(|picture| server_views(picture)[0].running == 1).await;
        rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
        server.until_hung_up(1).await;
    };
    let (answer, ()) = tokio::join!(asked, raised);

    assert!(answer.is_err());
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    assert_eq!((&record["result"]["ok"], record["details"].get("response_chars")), (&json!(false), None));
    assert!(rig.handle.snapshot().models.uses.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_is_told_that_the_server_is_busy() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::Hold, Step::text("done"), Step::finish("stop")]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let first = rig.ask(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false));
    let second = async {
        server.until_holding(1).await;
        let busy = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await;
        server.release();
        busy
    };
    let (first, busy) = tokio::join!(first, second);

    assert_eq!(busy["code"], "LOCAL_LLM_BUSY", "{busy}");
    assert_eq!(first.unwrap()["content"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_shows_who_would_read_what_and_the_last_message_whole() {
    let server = ollama(&["a:1b"]).await;
    let wish = Wish::headless().with(Power::LocalModel, PowerMode::AskEachTime).with_window();
    let rig = rig_of(wish.at_models(&server.url())).await;
    let (chat, _) = rig.chat_in("project").await;
    let conversation = json!({
        "model": "a:1b", "max_tokens": 77,
        "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "Say\u{202e} it." }],
    });
    let answer = async |answer: PromptAnswer| {
        let picture = rig.until(|picture| !picture.prompts.is_empty()).await;
        let prompt = picture.prompts[0].clone();
        let (id, revision) = (prompt.id, prompt.revision);
        rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
        rig.handle.send(Command::AnswerPrompt { id, revision, answer }).await.unwrap();
        prompt
    };

    let (answered, prompt) =
        tokio::join!(rig.ask(&chat, "LOCAL_LLM_COMPLETION", conversation.clone()), answer(PromptAnswer::AllowOnce));
    answered.unwrap();
    assert_eq!(prompt.operation, "LOCAL_LLM_COMPLETION");
    assert!(prompt.summary.contains("a:1b"), "{}", prompt.summary);
    let facts: Vec<_> = prompt.details.iter().map(|fact| (fact.label.as_str(), fact.value.as_str())).collect();
    assert_eq!(
        facts,
        [
            ("model", "a:1b"),
            ("model_server", server.url().as_str()),
            ("messages", "2"),
            ("messages_length", "17"),
            ("last_message", "Say\\u{202E} it."),
            ("max_tokens", "77"),
        ]
    );
    assert!(!prompt.cut);

    let (refused, _) =
        tokio::join!(rig.ask(&chat, "LOCAL_LLM_COMPLETION", conversation.clone()), answer(PromptAnswer::Deny));
    let Err(Failure::Refused { reply }) = refused else { panic!("{refused:?}") };
    assert_eq!(reply.payload["details"]["reason"], "declined");

    // What nobody could read whole can only be denied.
    let long = json!({ "model": "a:1b", "messages": [{ "role": "user", "content": "x".repeat(50_000) }] });
    let (_, prompt) = tokio::join!(rig.ask(&chat, "LOCAL_LLM_COMPLETION", long), answer(PromptAnswer::Deny));
    assert!(prompt.cut);
    // A model that is not there is refused without a question.
    let unknown = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("zebra", false)).await;
    assert_eq!(unknown["code"], "MODEL_NOT_AVAILABLE");
    assert_eq!(rig.handle.snapshot().prompts, []);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_persons_own_try_is_decided_recorded_and_read_while_it_comes() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![
        Step::text("line one\n"),
        Step::Hold,
        Step::text("line two"),
        Step::finish("stop"),
    ]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    rig.until(|picture| server_views(picture)[0].answers).await;

    let id = try_model(&rig, "a:1b", QUESTION).await.unwrap();
    let part = until_trial(&rig, id, |now| !now.text.is_empty()).await;
    assert_eq!((part.text.as_str(), part.state.as_str()), ("line one\n", "running"));
    let picture = serde_json::to_string(&*rig.handle.snapshot()).unwrap();
    assert!(!picture.contains("line one") && !picture.contains("harbour"));
    server.release();
    let done = until_trial(&rig, id, |now| now.state != "running").await;
    assert_eq!((done.text.as_str(), done.state.as_str()), ("line one\nline two", "done"));
    assert_eq!((done.finish.as_deref(), done.problem), (Some("stop"), None));

    let records: Vec<_> = rig.audit().into_iter().filter(|record| record["op"] == "LOCAL_LLM_COMPLETION").collect();
    assert_eq!(records.len(), 1);
    assert_eq!((&records[0]["session_id"], &records[0]["request_id"]), (&json!("-"), &json!(format!("try-{id}"))));
    assert_eq!(records[0]["details"]["decision"]["rule"], "mode");
    let log = std::fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("harbour") && !log.contains("line two"));
    let used = rig.until(|picture| !picture.models.uses.is_empty()).await;
    assert_eq!((used.models.uses[0].session_id.clone(), used.models.uses[0].completions), (None, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_is_stopped_by_hand_by_a_raise_and_never_more_than_two_run() {
    let mut script = Script::ollama().with_models(&["a:1b"]);
    script.reply = Answers::Steps(vec![Step::text("begun"), Step::Hold, Step::finish("stop")]);
    let server = ModelServer::start(script).await.unwrap();
    let rig = rig_of(Wish::headless().with(Power::LocalModel, PowerMode::Allowed)).await;
    let add = |parallel| Command::AddModelServer { url: server.url(), api: "ollama".to_owned(), far: false, parallel };
    rig.handle.send(add(4)).await.unwrap();
    rig.until(|picture| server_views(picture).iter().any(|one| one.answers)).await;

    assert_eq!(try_model(&rig, "a:1b", "  \n").await.unwrap_err().code, "empty_text");
    assert_eq!(try_model(&rig, "a:1b", &"x".repeat(70_000)).await.unwrap_err().code, "text_too_long");
    assert_eq!(rig.handle.send(Command::StopTrial { id: 7 }).await.unwrap_err().code, "unknown_trial");
    let one = try_model(&rig, "a:1b", "hello").await.unwrap();
    let two = try_model(&rig, "a:1b", "hello").await.unwrap();
    server.until_holding(2).await;
    assert_eq!(try_model(&rig, "a:1b", "hello").await.unwrap_err().code, "busy");
    until_trial(&rig, one, |now| now.text == "begun").await;
    rig.handle.send(Command::StopTrial { id: one }).await.unwrap();
    assert_eq!(until_trial(&rig, one, |now| now.state != "running").await.state, "stopped");
    server.until_hung_up(1).await;

    // The finished one makes room, and is forgotten.
    let three = try_model(&rig, "a:1b", "hello").await.unwrap();
    assert_eq!(rig.handle.send(Command::TrialText { id: one }).await.unwrap_err().code, "unknown_trial");
    server.until_holding(2).await;
    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    for id in [two, three] {
        assert_eq!(trial(&rig, id).await.state, "stopped");
    }
    server.until_hung_up(3).await;
    let failed = try_model(&rig, "a:1b", "hello").await.unwrap_err();
    assert_eq!(failed.code, "raised");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_that_fails_says_why() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("half"), Step::Cut]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    rig.until(|picture| server_views(picture)[0].answers).await;

    let id = try_model(&rig, "a:1b", "hello").await.unwrap();
    let failed = until_trial(&rig, id, |now| now.state != "running").await;
    assert_eq!((failed.state.as_str(), failed.text.as_str()), ("failed", "half"));
    assert!(failed.problem.is_some(), "{failed:?}");

    let id = try_model(&rig, "zebra", "hello").await.unwrap();
    let failed = until_trial(&rig, id, |now| now.state != "running").await;
    assert!(failed.problem.as_ref().unwrap().contains("zebra"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_added_once_kept_and_taken_away_and_far_ones_only_by_a_word() {
    let server = ModelServer::start(Script::openai().with_models(&["m"])).await.unwrap();
    let mut rig = rig_of(Wish::headless().with(Power::LocalModel, PowerMode::Allowed)).await;
    let add = |url: &str, far: bool| Command::AddModelServer {
        url: url.to_owned(),
        api: "auto".to_owned(),
        far,
        parallel: 2,
    };
    let refused = async |command: Command| rig.handle.send(command).await.unwrap_err().code;
    assert_eq!(refused(add("http://192.0.2.9:8080", false)).await, "far_server");
    assert_eq!(refused(add("http://me:secret@127.0.0.1:1", false)).await, "bad_server");
    assert_eq!(
        refused(Command::RemoveModelServer { url: "http://127.0.0.1:1".to_owned() }).await,
        "server_from_config"
    );
    assert_eq!(refused(Command::RemoveModelServer { url: "http://127.0.0.1:2".to_owned() }).await, "unknown_server");

    rig.handle.send(add(&format!("{}/v1/", server.url()), false)).await.unwrap();
    rig.handle.send(add(&server.url(), false)).await.unwrap();
    rig.handle.send(add("http://192.0.2.9:8080", true)).await.unwrap();
    let picture = rig.until(|picture| server_views(picture).iter().any(|one| one.answers)).await;
    let seen: Vec<_> = server_views(&picture).iter().map(|one| (one.url.as_str(), one.from_config, one.far)).collect();
    let own = server.url();
    assert_eq!(
        seen,
        [("http://127.0.0.1:1", true, false), (own.as_str(), false, false), ("http://192.0.2.9:8080", false, true)]
    );
    assert_eq!((server_views(&picture)[1].api.as_str(), server_views(&picture)[1].parallel), ("openai", 2));
    let told: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    let far = json!({ "url": "http://192.0.2.9:8080", "far": true });
    assert!(told.iter().any(|record| record["details"]["model_server"] == far), "{told:?}");

    rig.handle.send(Command::RemoveModelServer { url: "http://192.0.2.9:8080/".to_owned() }).await.unwrap();
    rig.stop().await;
    rig.start_again().await;
    let again = rig.until(|picture| server_views(picture).iter().any(|one| one.answers)).await;
    assert_eq!(server_views(&again).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_without_a_window_names_servers_in_its_configuration() {
    let (near, other) = (ollama(&["a:1b", "shared"]).await, ollama(&["shared", "b:2b"]).await);
    let models = ConfiguredModels {
        ollama_url: "http://192.0.2.9:11434".to_owned(),
        servers: vec![near.url(), format!("{}/", near.url())],
        far: vec![other.url()],
    };
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed);
    wish.models = models;
    let rig = rig_of(wish).await;
    let (chat, _) = rig.chat_in("project").await;

    assert_eq!(hello_of(&rig, &Scope::Data(chat.clone()))["local_llm_models"], json!(["a:1b", "shared", "b:2b"]));
    let picture = rig.until(|picture| server_views(picture).iter().filter(|one| one.answers).count() == 2).await;
    let [far, first, second] = server_views(&picture) else { panic!("{:?}", picture.models) };
    assert!(far.far && !far.answers && far.trouble.as_ref().unwrap().contains("not on this computer"), "{far:?}");
    assert!(first.from_config && second.from_config);
    let offered: Vec<_> = second.models.iter().map(|model| (model.name.as_str(), model.offered)).collect();
    assert_eq!(offered, [("shared", false), ("b:2b", true)]);
    answered(&rig, &chat, ask_for("shared", false)).await.unwrap();
    assert!(near.requests().iter().any(|asked| asked.path == "/api/chat"));
    assert!(!other.requests().iter().any(|asked| asked.path == "/api/chat"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_holds_up_neither_the_start_nor_the_others() {
    let mut script = Script::ollama();
    script.listing = Answers::Silent;
    let (hung, good) = (ModelServer::start(script).await.unwrap(), ollama(&["a:1b"]).await);
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed);
    wish.models = ConfiguredModels { ollama_url: hung.url(), servers: vec![good.url()], far: Vec::new() };

    // The rig waits for the link, which a look of two seconds must not hold up.
    let rig = rig_of(wish).await;
    let first = rig.script.frame(0, |frame| frame.kind == "HELLO").await;
    assert!(matches!(first.scope, Scope::Control(_)), "{:?}", first.scope);
    let (chat, _) = rig.chat_in("project").await;
    rig.handle.send(Command::LookAtModels).await.unwrap();
    assert!(answered_in_time(&rig, &chat).await);
    let picture = rig.handle.snapshot();
    assert!(!server_views(&picture)[0].answers && server_views(&picture)[1].answers, "{picture:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organisation_keeps_models_near() {
    use drawbridge_engine::managed::ManagedOptions;
    use drawbridge_store::managed::Managed;

    let server = ollama(&["a:1b"]).await;
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed).at_models(&server.url());
    let policy = Managed { organisation: Some("Example".to_owned()), near_models: true, ..Managed::default() };
    wish.managed = ManagedOptions { policy: Some(policy), ..ManagedOptions::default() };
    wish.models.far = vec!["http://192.0.2.9:8080".to_owned()];
    let rig = rig_of(wish).await;

    let picture = rig.until(|picture| server_views(picture)[0].answers).await;
    let kept_out = server_views(&picture)[1].trouble.as_ref().unwrap();
    assert!(kept_out.contains("Example"), "{kept_out}");
    let add = Command::AddModelServer {
        url: "http://192.0.2.10:8080".to_owned(),
        api: "auto".to_owned(),
        far: true,
        parallel: 1,
    };
    let refused = rig.handle.send(add).await.unwrap_err();
    assert!(refused.code == "managed" && refused.message.contains("Example"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_a_server_here_passes_on_is_offered_only_where_questions_may_leave() {
    let server = ollama(&["a:1b"]).await;
    server.change(|script| script.models.push(ScriptModel::passed_on("mine")));
    let wish = Wish::headless().with_window().with(Power::LocalModel, PowerMode::AskEachTime).at_models(&server.url());
    let rig = rig_of(wish).await;
    let picture = rig.until(|picture| server_views(picture)[0].answers).await;
    let (chat, _) = rig.chat_in("project").await;
    assert_eq!(hello_of(&rig, &Scope::Data(chat.clone()))["local_llm_models"], json!(["a:1b"]));
    let shown: Vec<_> = server_views(&picture)[0].models.iter().map(|one| (one.elsewhere, one.offered)).collect();
    assert_eq!(shown, [(false, true), (true, false)]);
    let refused = answered(&rig, &chat, ask_for("mine", true)).await.unwrap_err();
    assert_eq!(refused["code"], "MODEL_NOT_AVAILABLE", "{refused}");

    let far = Command::AddModelServer { url: server.url(), api: "auto".to_owned(), far: true, parallel: 1 };
    rig.handle.send(far).await.unwrap();
    until_hello_says(&rig, &chat, &["a:1b", "mine"]).await;
    let (script, scope) = (rig.script.clone(), Scope::Data(chat.clone()));
    let asking =
        tokio::spawn(async move { script.request(&scope, "LOCAL_LLM_COMPLETION", ask_for("mine", true), None).await });
    let prompt = rig.until(|picture| !picture.prompts.is_empty()).await.prompts[0].clone();
    let elsewhere = prompt.details.iter().find(|detail| detail.label == "model_elsewhere");
    assert!(elsewhere.is_some_and(|detail| detail.value == "yes"), "{prompt:?}");
    asking.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn found_servers_are_told_and_not_asked_before_somebody_adds_them() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;

    let Reply::ModelServers { servers } = rig.handle.send(Command::FindModelServers).await.unwrap() else {
        panic!("no servers")
    };

    // What runs at the usual ports of this machine is not the test's; the one in use is never among them.
    assert!(servers.iter().all(|one| one.url != server.url() && !one.from_config), "{servers:?}");
    assert_eq!(server_views(&rig.handle.snapshot()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_whose_mode_is_off_hears_of_no_model() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    assert!(offers_models(&hello_of(&rig, &scope)));
    let after = rig.script.frames(0).last().unwrap().n;

    let off = Command::SetChatPower {
        session_id: chat.clone(),
        power: "local_model".to_owned(),
        mode: Some("off".to_owned()),
    };
    rig.handle.send(off).await.unwrap();
    let hello = rig.script.frame(after, |frame| frame.kind == "HELLO" && frame.scope == scope).await;

    let payload = serde_json::from_str::<Value>(&hello.text).unwrap()["payload"].clone();
    assert!(!offers_models(&payload) && payload["local_llm_models"] == json!([]), "{payload}");
    assert_eq!(text(&payload["display_name"]), "desk");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_engine_ends_what_is_asked() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("one"), Step::Hold, Step::finish("stop")]));
    let mut rig = rig_with(&server, PowerMode::Allowed).await;
    rig.until(|picture| server_views(picture)[0].answers).await;
    try_model(&rig, "a:1b", "hello").await.unwrap();
    server.until_holding(1).await;

    rig.stop().await;

    server.until_hung_up(1).await;
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    assert_eq!(record["result"]["ok"], false);
    let engine = Engine::start(rig.options()).await.unwrap();
    engine.stop();
    engine.wait().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_elsewhere_speaks_tls_and_is_asked_only_where_it_is_trusted() {
    use drawbridge_engine::net::NetSettings;
    use drawbridge_testkit::tls::TlsFront;

    let pem = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name);
    let server = ollama(&["a:1b"]).await;
    let waiting = TlsFront::bind().await.unwrap();
    let url = format!("https://localhost:{}", waiting.port().unwrap());
    let _front = waiting.lead_to(server.port(), &pem("platform.pem"), &pem("platform.key")).unwrap();
    let mut wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed);
    wish.models = ConfiguredModels { far: vec![url.clone()], ..ConfiguredModels::default() };
    let mut rig = rig_of(wish).await;

    let distrusted = rig.until(|picture| server_views(picture)[0].trouble.is_some()).await;
    assert!(server_views(&distrusted)[0].trouble.as_ref().unwrap().contains("unknown issuer"), "{distrusted:?}");
    assert_eq!(server.requests(), []);

    rig.stop().await;
    rig.options_mut().net = NetSettings { extra_roots: Some(pem("root.pem")), ..NetSettings::default() };
    rig.start_again().await;
    let trusted = rig.until(|picture| server_views(picture)[0].answers).await;
    assert_eq!(server_views(&trusted)[0].models[0].name, "a:1b");
    let id = try_model(&rig, "a:1b", "hello").await.unwrap();
    assert_eq!(until_trial(&rig, id, |now| now.state != "running").await.state, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_went_without_a_word_is_noticed_by_the_next_question() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    assert!(offers_models(&hello_of(&rig, &scope)));
    // A look that is younger than two seconds is not repeated for one failure; the real clock decides here.
    let after = rig.script.frames(0).last().unwrap().n;
    drop(server);

    let gone = |frame: &FrameRecord| {
        frame.kind == "HELLO" && frame.scope == scope && frame.text.contains("\"local_llm_models\":[]")
    };
    let noticed = rig.script.frame(after, gone);
    let asking = async {
        loop {
            match rig.ask(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await {
                Err(Failure::Refused { reply }) if reply.payload["code"] == "LOCAL_LLM_FAILED" => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                other => break other,
            }
        }
    };
    let (hello, _) = tokio::join!(noticed, asking);
    assert!(!hello.text.contains("\"local_llm\""), "{}", hello.text);
}
