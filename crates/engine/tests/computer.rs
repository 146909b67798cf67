//! Screen, windows, apps and clipboard of a display of the test's own, through a whole engine and a platform.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use base64::Engine as _;
use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{PromptAnswer, ScreenView, Snapshot};
use drawbridge_engine::{Command, CommandError, Reply};
use drawbridge_os::seat::Seat;
use drawbridge_practice::{Failure, Scope};
use drawbridge_testkit::display::Display;
use rig::{Rig, Wish, text};
use serde_json::{Value, json};

/// A display, and a seat at it.
fn desk() -> (Display, Seat) {
    let mut display = Display::start(640, 480).unwrap();
    display.manage_windows().unwrap();
    let seat = Seat::x11(display.name());
    (display, seat)
}

fn allowed(seat: Seat) -> Wish {
    Wish::headless().on(seat).with(Power::ComputerUse, PowerMode::Allowed)
}

/// What the newest HELLO of a chat said.
fn hello(rig: &Rig, chat: &str) -> Value {
    let state = rig.script.state(0, 0);
    let links = state["links"].as_array().unwrap();
    let mine = links.iter().rev().find(|link| link["scope"].to_string().contains(chat)).unwrap();
    mine["hello"].clone()
}

fn names(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(text).collect()
}

async fn set(rig: &Rig, power: &str, mode: &str) -> Result<Reply, CommandError> {
    rig.handle.send(Command::SetPower { power: power.to_owned(), mode: mode.to_owned() }).await
}

/// Asks until the link is there again and has the answer that is meant: a HELLO anew takes a moment.
async fn until_answered(rig: &Rig, chat: &str, kind: &str, fits: impl Fn(&Result<Value, Value>) -> bool) -> Value {
    let mut last = None;
    for _ in 0..200 {
        let answer = match rig.ask(chat, kind, json!({})).await {
            Ok(payload) => Ok(payload),
            Err(Failure::Refused { reply }) => Err(reply.payload),
            Err(_) => {
                rig.script.connected(&Scope::Data(chat.to_owned()), true).await;
                continue;
            }
        };
        if fits(&answer) {
            return answer.unwrap_or_else(|error| error);
        }
        last = Some(answer);
    }
    panic!("{kind} never had the answer that was meant: {last:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hello_says_what_the_display_can_do_and_pictures_are_told_to_the_person() {
    let (_display, seat) = desk();
    let rig = Rig::start(allowed(seat)).await;
    let (chat, _) = rig.chat_in("project").await;

    let hello = hello(&rig, &chat);
    assert!(names(&hello["capabilities"]).contains(&"computer_use".to_owned()), "{hello}");
    assert_eq!(hello["screen_resolution"], json!([640, 480]));
    let coarse = names(&hello["computer_use_features_coarse"]);
    assert!(coarse.contains(&"screenshot".to_owned()) && !coarse.contains(&"clipboard".to_owned()), "{coarse:?}");
    let fine = names(&hello["computer_use_features"]);
    assert!(fine.contains(&"display.info".to_owned()), "{fine:?}");
    assert!(!fine.iter().any(|name| name.starts_with("clipboard")), "{fine:?}");

    assert_eq!(rig.handle.snapshot().screen.in_use, None);
    let displays = rig.ask(&chat, "DISPLAY_INFO_REQUEST", json!({})).await.unwrap();
    assert_eq!(displays["monitors"][0]["physical_size"], json!([640, 480]));
    assert_eq!(rig.handle.snapshot().screen.in_use, None);

    let shot = rig.ask(&chat, "SCREENSHOT_REQUEST", json!({"format": "png"})).await.unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text(&shot["image_base64"])).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && shot["width"] == 640, "{}", shot["width"]);
    let used = |screen: &ScreenView| screen.in_use.as_ref().is_some_and(|used| used.pictures == 1);
    let picture = rig.until(|picture| used(&picture.screen)).await;
    assert_eq!(picture.screen.in_use.unwrap().session_id.as_deref(), Some(chat.as_str()));
    assert_eq!(picture.screen.seat, "x11");
    assert!(picture.screen.features.contains(&"screenshot".to_owned()));

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    let after = rig.handle.snapshot();
    assert_eq!((after.screen.in_use.clone(), after.screen.features.len()), (None, 0));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn switches_reach_the_next_hello_and_the_other_half_says_why_not() {
    let (_display, seat) = desk();
    let rig = Rig::start(Wish::headless().on(seat)).await;
    let (chat, _) = rig.chat_in("project").await;
    assert!(!names(&hello(&rig, &chat)["capabilities"]).contains(&"computer_use".to_owned()));
    assert_eq!(rig.handle.snapshot().screen.features, [] as [String; 0]);

    set(&rig, "clipboard", "allowed").await.unwrap();
    let refused = until_answered(
        &rig,
        &chat,
        "DISPLAY_INFO_REQUEST",
        |answer| matches!(answer, Err(error) if error["code"] == "FEATURE_NOT_SUPPORTED"),
    )
    .await;
    assert_eq!(refused["details"]["feature"], "display.info");
    assert!(text(&refused["details"]["reason"]).contains("computer_use"), "{refused}");
    let written = rig.ask(&chat, "CLIPBOARD_WRITE", json!({"format": "text", "content": "a naïve ✓"})).await.unwrap();
    assert_eq!(written["ok"], true);
    let read = rig.ask(&chat, "CLIPBOARD_READ", json!({})).await.unwrap();
    assert_eq!(read["content"], "a naïve ✓");
    // The clipboard is not the screen.
    assert_eq!(rig.handle.snapshot().screen.in_use, None);

    set(&rig, "computer_use", "allowed").await.unwrap();
    until_answered(&rig, &chat, "DISPLAY_INFO_REQUEST", Result::is_ok).await;
    set(&rig, "computer_use", "off").await.unwrap();
    set(&rig, "clipboard", "off").await.unwrap();
    let refused = until_answered(
        &rig,
        &chat,
        "DISPLAY_INFO_REQUEST",
        |answer| matches!(answer, Err(error) if error["code"] == "CAPABILITY_NOT_GRANTED"),
    )
    .await;
    assert_eq!(refused["code"], "CAPABILITY_NOT_GRANTED");
    assert_eq!(rig.handle.snapshot().screen.features, [] as [String; 0]);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_shows_each_word_of_a_start_and_no_chat_is_free_to_start_more() {
    let (_display, seat) = desk();
    let wish = Wish::headless().on(seat).with(Power::ComputerUse, PowerMode::AskOncePerChat).with_window();
    let rig = Rig::start(wish).await;
    let (chat, folder) = rig.chat_in("project").await;
    let asked = |operation: &'static str| {
        move |picture: &Snapshot| picture.prompts.iter().any(|prompt| prompt.operation == operation)
    };
    let answer = async |operation: &'static str, answer: PromptAnswer| {
        let picture = rig.until(asked(operation)).await;
        let prompt = picture.prompts.into_iter().find(|prompt| prompt.operation == operation).unwrap();
        let (id, revision) = (prompt.id, prompt.revision);
        rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
        rig.handle.send(Command::AnswerPrompt { id, revision, answer }).await.unwrap();
        prompt
    };

    let (listed, prompt) = tokio::join!(
        rig.ask(&chat, "WINDOW_LIST_REQUEST", json!({})),
        answer("WINDOW_LIST_REQUEST", PromptAnswer::AllowChat)
    );
    listed.unwrap();
    assert!(prompt.can_allow_chat);
    // Free from here on, without a question.
    rig.ask(&chat, "CURSOR_POSITION_REQUEST", json!({})).await.unwrap();

    let note = folder.join("a note.txt");
    std::fs::write(&note, "x").unwrap();
    let start = json!({"executable_path": "/usr/bin/l3afpad", "args": [note, "--tab"], "activate": false});
    let (started, prompt) = tokio::join!(rig.ask(&chat, "APP_LAUNCH", start), answer("APP_LAUNCH", PromptAnswer::Deny));
    assert!(started.is_err());
    assert!(!prompt.can_allow_chat && !prompt.cut, "{prompt:?}");
    assert_eq!(prompt.argv[0], "/usr/bin/l3afpad");
    assert!(prompt.argv.ends_with(&[rig::path(&note), "--tab".to_owned()]), "{:?}", prompt.argv);
    let missing = json!({"bundle_id": "org.example.Missing"});
    let refused = rig.refused(&chat, "APP_LAUNCH", missing).await;
    assert_eq!(refused["code"], "FEATURE_NOT_SUPPORTED", "{refused}");
    assert_eq!(rig.handle.snapshot().prompts, []);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_says_of_apps_is_kept_and_counts_at_once() {
    let (display, seat) = desk();
    let mut rig = Rig::start(allowed(seat)).await;
    let (chat, _) = rig.chat_in("project").await;
    let _window = display.record(&["--title", "Quarterly figures"]).unwrap();
    let seen = async |rig: &Rig, chat: &str| {
        let list = rig.ask(chat, "WINDOW_LIST_REQUEST", json!({})).await.unwrap();
        list["windows"].as_array().unwrap().len()
    };
    assert_eq!(seen(&rig, &chat).await, 1);

    let none = Command::SetScreen {
        only_apps: Some(vec![" nobody ".to_owned(), "Nobody".to_owned()]),
        never_apps: vec!["mail".to_owned()],
        full_resolution: true,
    };
    rig.handle.send(none).await.unwrap();

    assert_eq!(seen(&rig, &chat).await, 0);
    let bad = Command::SetScreen { only_apps: None, never_apps: vec!["a\u{7}b".to_owned()], full_resolution: false };
    assert_eq!(rig.handle.send(bad).await.unwrap_err().code, "bad_app_name");
    rig.handle.send(Command::SetClipboardForeign { on: true }).await.unwrap();
    let told: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    assert!(told.iter().any(|record| record["details"]["screen"]["only_apps"] == "nobody"), "{told:?}");
    assert!(told.iter().any(|record| record["details"]["clipboard_foreign"] == true), "{told:?}");

    rig.stop().await;
    rig.start_again().await;
    let screen = rig.until(|picture| !picture.screen.features.is_empty()).await.screen;
    assert_eq!(screen.only_apps, Some(vec!["nobody".to_owned()]));
    assert_eq!(
        (screen.never_apps, screen.full_resolution, screen.clipboard_foreign),
        (vec!["mail".to_owned()], true, true)
    );
}
