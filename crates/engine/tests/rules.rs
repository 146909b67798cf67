//! Rules over real sockets: what is allowed always or for one chat, how far it goes, and how it is taken back.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::fs;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{LinkState, PromptAnswer, PromptView};
use drawbridge_engine::{Command, CommandError, Reply};
use drawbridge_practice::{Failure, Scope};
use rig::{Rig, Wish};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

fn ask(rig: &Rig, chat: &str, payload: Value) -> JoinHandle<Result<Value, Failure>> {
    let (script, scope) = (rig.script.clone(), Scope::Data(chat.to_owned()));
    tokio::spawn(
        async move { script.request(&scope, "EXECUTE_COMMAND", payload, None).await.map(|reply| reply.payload) },
    )
}

async fn question(rig: &Rig) -> PromptView {
    let picture = rig.until(|picture| !picture.prompts.is_empty()).await;
    rig.handle
        .send(Command::PromptPainted { id: picture.prompts[0].id, revision: picture.prompts[0].revision })
        .await
        .unwrap();
    picture.prompts[0].clone()
}

async fn answer(rig: &Rig, answer: PromptAnswer) {
    let prompt = question(rig).await;
    rig.handle.send(Command::AnswerPrompt { id: prompt.id, revision: prompt.revision, answer }).await.unwrap();
}

/// Runs a command that must lead to a question, and denies it.
async fn is_asked_about(rig: &Rig, chat: &str, payload: Value) {
    let asked = ask(rig, chat, payload);
    answer(rig, PromptAnswer::Deny).await;
    assert!(asked.await.unwrap().is_err());
}

/// Makes a rule out of a command by answering its question.
async fn always(rig: &Rig, chat: &str, payload: Value) {
    let asked = ask(rig, chat, payload);
    answer(rig, PromptAnswer::AllowAlways).await;
    asked.await.unwrap().unwrap();
}

async fn set_rule(rig: &Rig, id: &str, words: &[&str], any_more: bool) -> Result<Reply, CommandError> {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    rig.handle.send(Command::SetRule { id: id.to_owned(), words, any_more }).await
}

async fn set_chat(rig: &Rig, chat: &str, power: &str, mode: Option<&str>) -> Result<Reply, CommandError> {
    let (session_id, power) = (chat.to_owned(), power.to_owned());
    rig.handle.send(Command::SetChatPower { session_id, power, mode: mode.map(str::to_owned) }).await
}

/// Returns the modes of a chat, once the picture shows it.
async fn modes(rig: &Rig, chat: &str) -> Vec<(String, String)> {
    let picture = rig.until(|picture| picture.chats.iter().any(|view| view.session_id == chat)).await;
    let view = picture.chats.iter().find(|view| view.session_id == chat).unwrap();
    view.modes.iter().map(|mode| (mode.power.clone(), mode.mode.clone())).collect()
}

/// Waits for a HELLO of a chat that offers what is wanted, and for the link behind it. Returns how many frames there were.
async fn offered_anew(rig: &Rig, chat: &str, after: u64, shell: bool) {
    rig.script
        .frame(after, |frame| {
            frame.from_machine
                && frame.kind == "HELLO"
                && frame.scope == Scope::Data(chat.to_owned())
                && frame.text.contains("\"shell\"") == shell
        })
        .await;
    rig.script.connected(&Scope::Data(chat.to_owned()), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_survives_a_restart_goes_no_further_than_it_says_and_is_taken_back() {
    let wish = Wish::headless().with(Power::Shell, PowerMode::AskEachTime).with_window();
    let mut rig = Rig::start(wish).await;
    let (chat, _) = rig.chat_in("project").await;
    always(&rig, &chat, json!({ "argv": ["echo", "hello"] })).await;
    rig.stop().await;
    rig.start_again().await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;

    let rules = rig.handle.snapshot().rules.clone();
    assert_eq!((rules.len(), rules[0].id.as_str(), rules[0].origin.as_str()), (1, "r-1", "answered"));
    assert_eq!((rules[0].words.as_slice(), rules[0].any_more), (["hello".to_owned()].as_slice(), false));
    let (other, _) = rig.chat_in("other").await;
    let run = |payload: Value| rig.ask(&other, "EXECUTE_COMMAND", payload);
    assert_eq!(run(json!({ "argv": ["echo", "hello"] })).await.unwrap()["stdout"], "hello\n");
    let text = json!({ "command": "echo hello && echo 'hello'", "shell": "bash" });
    assert_eq!(run(text).await.unwrap()["stdout"], "hello\nhello\n");
    for smuggled in [
        json!({ "argv": ["echo", "hello", "more"] }),
        json!({ "argv": ["echo", "hello"], "env": { "X": "y" } }),
        json!({ "command": "echo hello; id", "shell": "bash" }),
        json!({ "command": "echo hello > x", "shell": "bash" }),
        json!({ "command": "echo $(id)", "shell": "bash" }),
        // The same words in a shell that reads start files, which the agent may have written.
        json!({ "command": "echo hello", "shell": "zsh" }),
    ] {
        is_asked_about(&rig, &other, smuggled).await;
    }

    set_rule(&rig, "r-1", &[], true).await.unwrap();
    assert_eq!(rig.handle.snapshot().rules[0].origin, "window");
    assert_eq!(run(json!({ "argv": ["echo", "a", "b"] })).await.unwrap()["stdout"], "a b\n");
    rig.handle.send(Command::RemoveRule { id: "r-1".to_owned() }).await.unwrap();
    assert!(rig.handle.snapshot().rules.is_empty());
    is_asked_about(&rig, &other, json!({ "argv": ["echo", "hello"] })).await;
    let gone = rig.handle.send(Command::RemoveRule { id: "r-1".to_owned() }).await.unwrap_err();
    assert_eq!(gone.code, "unknown_rule");
    // A name is never given again.
    always(&rig, &other, json!({ "argv": ["echo", "hello"] })).await;
    assert_eq!(rig.handle.snapshot().rules[0].id, "r-2");

    let changes: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    assert_eq!(changes.len(), 4, "{changes:?}");
    assert!(changes.iter().all(|change| !change.to_string().contains("hello")), "{changes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_would_allow_everything_is_refused_with_the_reason() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::AskEachTime).with_window()).await;
    let (chat, _) = rig.chat_in("project").await;
    always(&rig, &chat, json!({ "argv": ["sh", "-c", "echo x"] })).await;

    for (words, any_more, code) in [
        (&["-c", "*"][..], false, "rule_too_open"),
        (&["-c"][..], true, "rule_too_open"),
        (&["-c", "a\nb"][..], false, "rule_unshowable"),
        (&["x"; 101][..], false, "rule_too_long"),
    ] {
        assert_eq!(set_rule(&rig, "r-1", words, any_more).await.unwrap_err().code, code);
    }
    let open = set_rule(&rig, "r-1", &["*"], false).await.unwrap_err();
    assert!(open.message.contains("run other programs"), "{}", open.message);
    assert_eq!(set_rule(&rig, "r-7", &[], false).await.unwrap_err().code, "unknown_rule");
    assert_eq!(rig.handle.snapshot().rules[0].words, ["-c", "echo x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_has_a_mode_of_its_own_and_no_way_around_it() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::Allowed)).await;
    let (chat, _) = rig.chat_in("project").await;
    let (other, _) = rig.chat_in("other").await;
    let echo = json!({ "argv": ["echo", "x"] });

    set_chat(&rig, &chat, "shell", Some("off")).await.unwrap();
    offered_anew(&rig, &chat, 0, false).await;
    assert_eq!(rig.refused(&chat, "EXECUTE_COMMAND", echo.clone()).await["code"], "CAPABILITY_NOT_GRANTED");
    assert_eq!(rig.ask(&other, "EXECUTE_COMMAND", echo.clone()).await.unwrap()["stdout"], "x\n");
    assert_eq!(modes(&rig, &chat).await, [("shell".to_owned(), "off".to_owned())]);
    assert_eq!(modes(&rig, &other).await, []);
    let explain = Command::Explain { operations: vec!["EXECUTE_COMMAND".to_owned()], session_id: Some(chat.clone()) };
    let Reply::Explained { explanations } = rig.handle.send(explain).await.unwrap() else { panic!("no explanation") };
    assert_eq!((explanations[0].rule.as_str(), explanations[0].rules.len()), ("chat_mode", 1));

    // Stricter modes outlive a detach: the platform can restore a chat by itself.
    rig.handle.send(Command::Detach { session_id: chat.clone() }).await.unwrap();
    rig.script.restore(&chat).await.unwrap();
    assert_eq!(modes(&rig, &chat).await, [("shell".to_owned(), "off".to_owned())]);
    assert_eq!(rig.refused(&chat, "EXECUTE_COMMAND", echo.clone()).await["code"], "CAPABILITY_NOT_GRANTED");

    let frames = rig.script.frames(0).last().unwrap().n;
    set_chat(&rig, &chat, "shell", None).await.unwrap();
    offered_anew(&rig, &chat, frames, true).await;
    assert_eq!(rig.ask(&chat, "EXECUTE_COMMAND", echo).await.unwrap()["stdout"], "x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn looser_modes_end_with_the_attachment_and_with_the_power() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::AskEachTime)).await;
    let (chat, _) = rig.chat_in("project").await;
    let echo = json!({ "argv": ["echo", "x"] });
    let power = |mode: &str| Command::SetPower { power: "shell".to_owned(), mode: mode.to_owned() };

    set_chat(&rig, &chat, "shell", Some("allowed")).await.unwrap();
    assert_eq!(rig.ask(&chat, "EXECUTE_COMMAND", echo.clone()).await.unwrap()["stdout"], "x\n");
    rig.handle.send(Command::Detach { session_id: chat.clone() }).await.unwrap();
    rig.script.restore(&chat).await.unwrap();
    assert_eq!(modes(&rig, &chat).await, []);
    assert_eq!(rig.refused(&chat, "EXECUTE_COMMAND", echo).await["details"]["reason"], "no_ui");

    set_chat(&rig, &chat, "shell", Some("allowed")).await.unwrap();
    rig.handle.send(power("off")).await.unwrap();
    assert_eq!(modes(&rig, &chat).await, []);
    assert_eq!(set_chat(&rig, &chat, "shell", Some("allowed")).await.unwrap_err().code, "power_off");
    assert_eq!(set_chat(&rig, &chat, "hardware", Some("allowed")).await.unwrap_err().code, "power_off");
    assert_eq!(set_chat(&rig, &chat, "flight", Some("off")).await.unwrap_err().code, "unknown_power");
    assert_eq!(set_chat(&rig, &chat, "shell", Some("sometimes")).await.unwrap_err().code, "unknown_mode");
    assert_eq!(set_chat(&rig, "nobody", "shell", Some("off")).await.unwrap_err().code, "unknown_chat");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_read_are_set_aside_by_the_persons_wish_alone() {
    let mut rig = Rig::start(Wish::headless()).await;
    let sound = rig.handle.send(Command::SettingsAfresh).await.unwrap_err();
    assert_eq!(sound.code, "settings_sound");
    rig.stop().await;
    let settings = rig.state_dir().join("settings.json");
    fs::write(&settings, "{\"v\":99}").unwrap();
    rig.start_again().await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
    assert!(rig.handle.snapshot().trouble.is_some());

    let frames = rig.script.frames(0).last().unwrap().n;
    rig.handle.send(Command::SettingsAfresh).await.unwrap();
    // Something is offered again, so the control link says so.
    let hello = rig.script.frame(frames, |frame| frame.from_machine && frame.kind == "HELLO").await;
    assert!(hello.text.contains("\"files\""), "{}", hello.text);
    rig.script.connected(&hello.scope, true).await;

    assert_eq!(rig.handle.snapshot().trouble, None);
    assert_eq!(fs::read_to_string(settings.with_file_name("settings.json.broken-1")).unwrap(), "{\"v\":99}");
    let (chat, folder) = rig.chat_in("project").await;
    rig.ask(&chat, "FILE_STAT", json!({ "path": folder })).await.unwrap();
    rig.handle.send(Command::SetPower { power: "shell".to_owned(), mode: "allowed".to_owned() }).await.unwrap();
}
