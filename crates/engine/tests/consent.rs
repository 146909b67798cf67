//! Consent over real sockets: what a question shows, and that a yes holds for exactly that.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{PromptAnswer, PromptView};
use drawbridge_engine::{Command, CommandError, PROMPT_KINDS, PROMPT_LABELS, PROMPT_WALLS, Reply};
use drawbridge_practice::{Failure, Scope};
use rig::{Rig, Wish, path, read, write};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

type Asked = JoinHandle<Result<Value, Failure>>;

/// Asks for one operation in the background, as an agent would.
fn ask(rig: &Rig, chat: &str, kind: &str, payload: Value) -> Asked {
    let (script, scope, kind) = (rig.script.clone(), Scope::Data(chat.to_owned()), kind.to_owned());
    tokio::spawn(async move { script.request(&scope, &kind, payload, None).await.map(|reply| reply.payload) })
}

fn attach(rig: &Rig, chat: &str, (browse, reference): &(String, String)) -> Asked {
    let (script, machine) = (rig.script.clone(), rig.machine.clone());
    let (chat, browse, reference) = (chat.to_owned(), browse.clone(), reference.clone());
    tokio::spawn(async move { script.attach(&machine, &chat, &browse, &reference).await })
}

/// Waits for a question with a higher number than this one.
async fn question_after(rig: &Rig, number: u64) -> PromptView {
    let picture = rig.until(|picture| picture.prompts.iter().any(|prompt| prompt.id > number)).await;
    picture.prompts.into_iter().find(|prompt| prompt.id > number).unwrap()
}

async fn question(rig: &Rig) -> PromptView {
    question_after(rig, 0).await
}

async fn paint(rig: &Rig, prompt: &PromptView) {
    rig.handle.send(Command::PromptPainted { id: prompt.id, revision: prompt.revision }).await.unwrap();
}

async fn answer(rig: &Rig, prompt: &PromptView, answer: PromptAnswer) -> Result<Reply, CommandError> {
    rig.handle.send(Command::AnswerPrompt { id: prompt.id, revision: prompt.revision, answer }).await
}

async fn paint_and_answer(rig: &Rig, prompt: &PromptView, word: PromptAnswer) {
    paint(rig, prompt).await;
    answer(rig, prompt, word).await.unwrap();
}

async fn reason(asked: Asked) -> String {
    match asked.await.unwrap() {
        Err(Failure::Refused { reply }) => {
            assert_eq!(reply.payload["code"], "CAPABILITY_NOT_GRANTED", "{}", reply.payload);
            rig::text(&reply.payload["details"]["reason"])
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn detail<'a>(prompt: &'a PromptView, label: &str) -> Option<&'a str> {
    prompt.details.iter().find(|detail| detail.label == label).map(|detail| detail.value.as_str())
}

fn program(at: &Path, text: &str) {
    let new = at.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, at).unwrap();
}

fn asking(power: Power, mode: PowerMode) -> Wish {
    Wish::headless().with(power, mode).with_window()
}

/// The consent records and the acts after a record, as words.
fn story(rig: &Rig) -> Vec<String> {
    let wanted = ["CONSENT_ASKED", "CONSENT_ANSWERED", "FILE_WRITE", "EXECUTE_COMMAND", "SESSION_ALLOWED_ROOT_SET"];
    let records = rig.audit();
    let records = records.iter().filter(|record| wanted.contains(&record["op"].as_str().unwrap()));
    records
        .map(|record| match record["details"]["answer"].as_str() {
            Some(word) => word.to_owned(),
            None => rig::text(&record["op"]),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_an_overwrite_holds_for_the_file_that_was_shown() {
    let rig = Rig::start(asking(Power::Files, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let notes = folder.join("notes.txt");
    fs::write(&notes, "keep\nold line\n").unwrap();

    let asked = ask(&rig, &chat, "FILE_WRITE", write(&notes, "keep\nsecret line\n"));
    let first = question(&rig).await;
    let diff = first.diff.clone().unwrap();
    let lines: Vec<_> = diff.lines.iter().map(|line| (line.kind.as_str(), line.text.as_str())).collect();
    assert_eq!(lines, [("same", "keep"), ("removed", "old line"), ("added", "secret line")]);
    assert_eq!((diff.added, diff.removed, diff.cut), (1, 1, false));
    assert_eq!((detail(&first, "kind"), detail(&first, "size_before")), (Some("file"), Some("14")));

    // Somebody else changes the file in between, keeping its size.
    fs::write(&notes, "keep\nNEW line\n").unwrap();
    paint_and_answer(&rig, &first, PromptAnswer::AllowOnce).await;

    let second = question_after(&rig, first.id).await;
    assert_eq!(fs::read_to_string(&notes).unwrap(), "keep\nNEW line\n");
    assert!(second.diff.as_ref().unwrap().lines.iter().any(|line| line.text == "NEW line"));
    paint_and_answer(&rig, &second, PromptAnswer::AllowOnce).await;
    asked.await.unwrap().unwrap();

    assert_eq!(fs::read_to_string(&notes).unwrap(), "keep\nsecret line\n");
    assert_eq!(
        story(&rig)[1..],
        ["CONSENT_ASKED", "allow_once", "CONSENT_ASKED", "allow_once", "FILE_WRITE"],
        "asked, answered, done"
    );
    let log = fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("secret line") && !log.contains("old line"), "no contents in the log");
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_a_new_file_does_not_hold_once_there_is_one() {
    let rig = Rig::start(asking(Power::Files, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let new = folder.join("deep/er/new.txt");

    let asked = ask(&rig, &chat, "FILE_WRITE", write(&new, "mine"));
    let first = question(&rig).await;
    assert_eq!((detail(&first, "kind"), detail(&first, "new_folders")), (Some("missing"), Some("2")));
    assert_eq!((detail(&first, "size"), first.diff.as_ref()), (Some("4"), None));
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::write(&new, "theirs").unwrap();
    paint_and_answer(&rig, &first, PromptAnswer::AllowOnce).await;
    let second = question_after(&rig, first.id).await;
    paint_and_answer(&rig, &second, PromptAnswer::Deny).await;

    assert_eq!(reason(asked).await, "declined");
    assert_eq!(fs::read_to_string(&new).unwrap(), "theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_very_program_that_was_shown_is_started_and_no_other() {
    let rig = Rig::start(asking(Power::Shell, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let tool = folder.join("tool");
    program(&tool, "#!/bin/sh\necho shown\n");
    let run = json!({ "argv": ["./tool", "a b", ""], "env": { "TOKEN": "canary" } });

    let asked = ask(&rig, &chat, "EXECUTE_COMMAND", run.clone());
    let first = question(&rig).await;
    assert_eq!(first.argv, ["./tool", "a b", ""]);
    assert_eq!(detail(&first, "program"), Some(path(&tool).as_str()));
    assert_eq!(detail(&first, "working_folder"), Some(path(&folder).as_str()));
    assert_eq!((detail(&first, "environment_variable"), detail(&first, "walls")), (Some("TOKEN"), Some("full")));
    // An agent could replace a program in its own folder, so it is never allowed for always.
    assert_eq!(first.always, None);
    assert!(!serde_json::to_string(&first).unwrap().contains("canary"));

    program(&tool, "#!/bin/sh\n: > started\n");
    paint_and_answer(&rig, &first, PromptAnswer::AllowOnce).await;
    let second = question_after(&rig, first.id).await;
    paint_and_answer(&rig, &second, PromptAnswer::Deny).await;
    assert_eq!(reason(asked).await, "declined");
    assert!(!folder.join("started").exists());

    let asked = ask(&rig, &chat, "EXECUTE_COMMAND", run);
    let third = question_after(&rig, second.id).await;
    paint_and_answer(&rig, &third, PromptAnswer::AllowOnce).await;
    asked.await.unwrap().unwrap();
    assert!(folder.join("started").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn always_is_offered_for_a_plain_command_and_is_stored_before_it_runs() {
    let rig = Rig::start(asking(Power::Shell, PowerMode::AskEachTime)).await;
    let (chat, _) = rig.chat_in("project").await;
    let echo = json!({ "argv": ["echo", "hello"] });

    let asked = ask(&rig, &chat, "EXECUTE_COMMAND", echo.clone());
    let prompt = question(&rig).await;
    let always = prompt.always.clone().unwrap();
    assert_eq!((always[0].as_str(), &always[1..]), (detail(&prompt, "program").unwrap(), &["hello".to_owned()][..]));
    paint_and_answer(&rig, &prompt, PromptAnswer::AllowAlways).await;
    assert_eq!(asked.await.unwrap().unwrap()["stdout"], "hello\n");

    assert_eq!(rig.ask(&chat, "EXECUTE_COMMAND", echo).await.unwrap()["stdout"], "hello\n");
    let asked = ask(&rig, &chat, "EXECUTE_COMMAND", json!({ "argv": ["echo", "bye"] }));
    let other = question_after(&rig, prompt.id).await;
    paint_and_answer(&rig, &other, PromptAnswer::Deny).await;
    assert_eq!(reason(asked).await, "declined");
    let told = story(&rig);
    assert_eq!(told[1..5], ["CONSENT_ASKED", "allow_always", "EXECUTE_COMMAND", "EXECUTE_COMMAND"], "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_allowed_for_the_chat_in_one_answer_that_settles_what_waits() {
    let rig = Rig::start(asking(Power::Files, PowerMode::AskOncePerChat)).await;
    let (chat, folder) = rig.chat_in("project").await;
    fs::write(folder.join("a"), "a").unwrap();
    fs::write(folder.join("b"), "b").unwrap();

    let (one, two) = (
        ask(&rig, &chat, "FILE_READ", read(&folder.join("a"))),
        ask(&rig, &chat, "FILE_READ", read(&folder.join("b"))),
    );
    let prompts = rig.until(|picture| picture.prompts.len() == 2).await.prompts;
    assert!(prompts.iter().all(|prompt| prompt.can_allow_chat && prompt.always.is_none()));
    paint_and_answer(&rig, &prompts[0], PromptAnswer::AllowChat).await;

    one.await.unwrap().unwrap();
    two.await.unwrap().unwrap();
    rig.ask(&chat, "FILE_STAT", json!({ "path": folder })).await.unwrap();
    assert!(rig.handle.snapshot().prompts.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_person_attaches_another_folder_than_the_platform_asked_for() {
    let rig = Rig::start(asking(Power::Attach, PowerMode::AskEachTime)).await;
    fs::create_dir(rig.home.join("asked")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let wanted = elsewhere.path().canonicalize().unwrap();
    let chat = rig.script.new_chat(None);
    let place = rig.browse_to(&["asked"]).await;

    let asked = attach(&rig, &chat, &place);
    let first = question(&rig).await;
    assert_eq!(first.folder.as_deref(), Some(path(&rig.home.join("asked")).as_str()));
    assert!(first.can_choose_folder && !first.can_allow_chat);
    paint(&rig, &first).await;
    let choose = |path: String| rig.handle.send(Command::ChooseFolder { id: first.id, path });
    for bad in ["relative", "/nowhere/at/all", "/proc", "/etc/passwd"] {
        assert_eq!(choose(bad.to_owned()).await.unwrap_err().code, "folder_unusable", "{bad}");
    }
    assert_eq!(choose(path(&rig.state_dir())).await.unwrap_err().code, "folder_unusable");
    choose(path(&wanted)).await.unwrap();
    assert_eq!(answer(&rig, &first, PromptAnswer::AllowOnce).await.unwrap_err().code, "not_painted");
    let second = question(&rig).await;
    assert_eq!((second.id, second.revision), (first.id, first.revision + 1));
    assert_eq!((second.folder.as_deref(), detail(&second, "chosen")), (Some(path(&wanted).as_str()), Some("yes")));
    paint_and_answer(&rig, &second, PromptAnswer::AllowOnce).await;

    let attached = asked.await.unwrap().unwrap();
    assert_eq!(attached["allowed_root"], path(&wanted), "{attached}");
    // The browse is used up, as after any attachment.
    let again = rig.script.browse(&rig.machine, Some((&place.0, &place.1)), None).await;
    assert!(matches!(again, Err(Failure::Refused { .. })), "{again:?}");
    rig.script.activate(&chat).await.unwrap();
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_folder_is_the_one_that_was_shown_also_when_another_took_its_path() {
    let rig = Rig::start(asking(Power::Attach, PowerMode::AskEachTime)).await;
    let project = rig.home.join("project");
    fs::create_dir(&project).unwrap();
    let chat = rig.script.new_chat(None);
    let place = rig.browse_to(&["project"]).await;

    let asked = attach(&rig, &chat, &place);
    let first = question(&rig).await;
    fs::rename(&project, rig.home.join("moved")).unwrap();
    fs::create_dir(&project).unwrap();
    paint_and_answer(&rig, &first, PromptAnswer::AllowOnce).await;
    let second = question_after(&rig, first.id).await;
    paint_and_answer(&rig, &second, PromptAnswer::Deny).await;

    assert_eq!(reason(asked).await, "declined");
    assert!(rig.handle.snapshot().chats.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offered_folder_stands_first_and_is_used_up_by_its_attachment() {
    let rig = Rig::start(asking(Power::Attach, PowerMode::AskEachTime)).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let wanted = elsewhere.path().canonicalize().unwrap();
    let offer = |path: Option<String>| rig.handle.send(Command::OfferFolder { path });

    assert_eq!(offer(Some("/nowhere".to_owned())).await.unwrap_err().code, "folder_unusable");
    offer(Some(path(&wanted))).await.unwrap();
    offer(None).await.unwrap();
    assert_eq!(rig.handle.snapshot().offered_folder, None);
    offer(Some(path(&wanted))).await.unwrap();
    assert_eq!(rig.handle.snapshot().offered_folder, Some(path(&wanted)));

    let page = rig.script.browse(&rig.machine, None, None).await.unwrap();
    assert_eq!(page["entries"][0]["path"], path(&wanted));
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    let place = (rig::text(&page["browse_id"]), rig::text(&page["entries"][0]["directory_ref"]));
    let chat = rig.script.new_chat(None);
    let asked = attach(&rig, &chat, &place);
    let prompt = question(&rig).await;
    assert_eq!(detail(&prompt, "offered"), Some("yes"));
    paint_and_answer(&rig, &prompt, PromptAnswer::AllowOnce).await;
    asked.await.unwrap().unwrap();

    rig.until(|picture| picture.offered_folder.is_none()).await;
    let page = rig.script.browse(&rig.machine, None, None).await.unwrap();
    assert_eq!(page["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_person_says_where_agents_may_look_and_it_survives_a_restart() {
    let mut rig = Rig::start(Wish::headless()).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let added = path(&elsewhere.path().canonicalize().unwrap());
    let page = rig.script.browse(&rig.machine, None, None).await.unwrap();
    let old = (rig::text(&page["browse_id"]), rig::text(&page["entries"][0]["directory_ref"]));

    let bad = rig.handle.send(Command::AddBrowseRoot { path: "/etc/passwd".to_owned() }).await.unwrap_err();
    assert_eq!(bad.code, "folder_unusable");
    rig.handle.send(Command::AddBrowseRoot { path: added.clone() }).await.unwrap();
    rig.handle.send(Command::AddBrowseRoot { path: added.clone() }).await.unwrap();
    assert_eq!(rig.handle.snapshot().browse_roots, std::slice::from_ref(&added));
    let gone = rig.script.browse(&rig.machine, Some((&old.0, &old.1)), None).await;
    assert!(matches!(gone, Err(Failure::Refused { .. })), "{gone:?}");

    rig.stop().await;
    rig.start_again().await;
    rig.until(|picture| picture.link.state == drawbridge_engine::view::LinkState::Connected).await;
    let page = rig.script.browse(&rig.machine, None, None).await.unwrap();
    assert_eq!((&page["entries"][0]["path"], page["entries"].as_array().unwrap().len()), (&json!(added), 1));

    let unknown = rig.handle.send(Command::RemoveBrowseRoot { path: "/nowhere".to_owned() }).await.unwrap_err();
    assert_eq!(unknown.code, "unknown_root");
    rig.handle.send(Command::RemoveBrowseRoot { path: added.clone() }).await.unwrap();
    let page = rig.script.browse(&rig.machine, None, None).await.unwrap();
    assert_eq!(page["entries"][0]["path"], path(&rig.home));
    let changes: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert_eq!(changes[0]["details"]["browse_root_added"], added);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_shows_a_few_questions_and_everything_gets_an_answer() {
    let rig = Rig::start(asking(Power::Shell, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let run = |number: usize| json!({ "argv": ["touch", format!("made-{number}")] });
    let flood: Vec<Asked> = (0..200).map(|number| ask(&rig, &chat, "EXECUTE_COMMAND", run(number))).collect();

    let mut most = 0;
    while flood.iter().any(|asked| !asked.is_finished()) {
        rig.until(|picture| !picture.prompts.is_empty() || flood.iter().all(JoinHandle::is_finished)).await;
        most = most.max(rig.handle.snapshot().prompts.len());
        rig.handle.send(Command::DenyPrompts).await.unwrap();
    }

    assert!((1..=3).contains(&most), "{most}");
    for asked in flood {
        let Err(Failure::Refused { reply }) = asked.await.unwrap() else { panic!("not refused") };
        let (code, why) = (&reply.payload["code"], &reply.payload["details"]["reason"]);
        let by_a_question =
            code == "CAPABILITY_NOT_GRANTED" && (why == "declined" || why == "waiting_for_local_consent");
        assert!(by_a_question || code == "SHIM_OVERLOADED", "{}", reply.payload);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_after_the_early_reply_is_used_once_by_the_same_request() {
    let rig = Rig::start(asking(Power::Attach, PowerMode::AskEachTime)).await;
    fs::create_dir(rig.home.join("project")).unwrap();
    let chat = rig.script.new_chat(None);
    let place = rig.browse_to(&["project"]).await;

    // The platform waits ten seconds; the answer comes after eight and the question stays.
    assert_eq!(reason(attach(&rig, &chat, &place)).await, "waiting_for_local_consent");
    let prompt = question(&rig).await;
    assert_eq!(rig.until(|picture| picture.prompts[0].waiting == 0).await.prompts[0].id, prompt.id);
    paint_and_answer(&rig, &prompt, PromptAnswer::AllowOnce).await;
    attach(&rig, &chat, &place).await.unwrap().unwrap();

    let place = rig.browse_to(&["project"]).await;
    let again = attach(&rig, &chat, &place);
    let second = question_after(&rig, prompt.id).await;
    paint_and_answer(&rig, &second, PromptAnswer::Deny).await;
    assert_eq!(reason(again).await, "declined");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_detached_takes_its_question_along() {
    let rig = Rig::start(asking(Power::Attach, PowerMode::AskEachTime)).await;
    fs::create_dir(rig.home.join("project")).unwrap();
    let chat = rig.script.new_chat(None);
    let place = rig.browse_to(&["project"]).await;
    let asked = attach(&rig, &chat, &place);
    let prompt = question(&rig).await;

    let control = Scope::Control(rig.machine.clone());
    rig.script.request(&control, "DETACH_SESSION", json!({ "session_id": chat }), None).await.unwrap();

    let Err(Failure::Refused { reply }) = asked.await.unwrap() else { panic!("no answer") };
    assert_eq!(reply.payload["details"]["reason"], "cancelled");
    rig.until(|picture| picture.prompts.is_empty()).await;
    assert_eq!(answer(&rig, &prompt, PromptAnswer::AllowOnce).await.unwrap_err().code, "unknown_prompt");
    assert_eq!(story(&rig), ["CONSENT_ASKED", "withdrawn"]);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_answers_at_once_one_counts_and_a_raise_denies_what_is_open() {
    let rig = Rig::start(asking(Power::Shell, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let asked = ask(&rig, &chat, "EXECUTE_COMMAND", json!({ "argv": ["true"] }));
    let prompt = question(&rig).await;
    paint(&rig, &prompt).await;

    let (one, two) =
        tokio::join!(answer(&rig, &prompt, PromptAnswer::AllowOnce), answer(&rig, &prompt, PromptAnswer::AllowOnce));
    assert_eq!([&one, &two].iter().filter(|done| done.is_ok()).count(), 1);
    assert_eq!(one.err().or(two.err()).unwrap().code, "unknown_prompt");
    asked.await.unwrap().unwrap();

    let _asked = ask(&rig, &chat, "EXECUTE_COMMAND", json!({ "argv": ["touch", "made"] }));
    let open = question_after(&rig, prompt.id).await;
    paint(&rig, &open).await;
    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    assert_eq!(answer(&rig, &open, PromptAnswer::AllowOnce).await.unwrap_err().code, "unknown_prompt");
    assert!(!folder.join("made").exists());
    assert_eq!(story(&rig).last().map(String::as_str).unwrap_or_default(), "EXECUTE_COMMAND");
    assert!(story(&rig).contains(&"raised".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_and_a_move_say_what_they_take_away() {
    let rig = Rig::start(asking(Power::Files, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    fs::create_dir_all(folder.join("d/e")).unwrap();
    fs::write(folder.join("d/e/f"), "12345").unwrap();
    fs::write(folder.join("to"), "123").unwrap();
    fs::write(folder.join("binary"), [0_u8, 159, 146]).unwrap();
    fs::write(folder.join("large"), "x\n".repeat(200_000)).unwrap();

    let mut last = 0;
    let mut facts = Vec::new();
    for (kind, payload) in [
        ("FILE_DELETE", json!({ "path": folder.join("d"), "recursive": true })),
        ("FILE_MOVE", json!({ "src": "d/e/f", "dst": folder.join("to"), "overwrite": true })),
        ("FILE_WRITE", write(&folder.join("binary"), "text")),
        ("FILE_WRITE", write(&folder.join("large"), "x\n")),
    ] {
        let asked = ask(&rig, &chat, kind, payload);
        let prompt = question_after(&rig, last).await;
        last = prompt.id;
        paint_and_answer(&rig, &prompt, PromptAnswer::Deny).await;
        assert_eq!(reason(asked).await, "declined");
        facts.push(prompt);
    }

    assert_eq!((detail(&facts[0], "kind"), detail(&facts[0], "entries")), (Some("folder"), Some("2")));
    assert_eq!(detail(&facts[0], "recursive"), Some("yes"));
    assert_eq!(detail(&facts[1], "target"), Some(path(&folder.join("d/e/f")).as_str()));
    assert_eq!((detail(&facts[1], "size"), detail(&facts[1], "size_before")), (Some("5"), Some("3")));
    assert_eq!(detail(&facts[1], "replaces"), Some("file"));
    assert_eq!((detail(&facts[2], "content"), facts[2].diff.as_ref()), (Some("binary"), None));
    let diff = facts[3].diff.as_ref().unwrap();
    assert!(diff.cut && diff.lines.is_empty(), "too large to be compared");
    assert_eq!((detail(&facts[3], "size_before"), detail(&facts[3], "size")), (Some("400000"), Some("2")));
    assert!(folder.join("d/e/f").exists() && fs::read(folder.join("to")).unwrap() == b"123");
}

#[tokio::test(flavor = "multi_thread")]
async fn tricks_in_names_are_visible_in_every_field_and_long_texts_say_what_is_left_out() {
    let rig = Rig::start(asking(Power::Shell, PowerMode::AskEachTime).with(Power::Files, PowerMode::AskEachTime)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let odd = "a\u{202e}b\nc\u{200b}d\u{2028}e\u{e0041}f\u{1b}[2K";
    fs::create_dir(folder.join(odd)).unwrap();
    fs::write(folder.join(odd).join("old"), "x\n").unwrap();
    let long = "y".repeat(1024 * 1024);

    let mut last = 0;
    for (kind, payload) in [
        ("FILE_WRITE", write(&folder.join(odd).join(odd), odd)),
        ("FILE_WRITE", write(&folder.join(odd).join("old"), &format!("{odd}\n"))),
        ("FILE_DELETE", json!({ "path": folder.join(odd), "recursive": true })),
        ("FILE_MOVE", json!({ "src": folder.join(odd), "dst": folder.join(odd).join(odd) })),
        ("EXECUTE_COMMAND", json!({ "argv": [odd, odd], "cwd": folder.join(odd), "env": { odd: odd } })),
        ("EXECUTE_COMMAND", json!({ "command": format!("echo {odd} # {long}"), "shell": "sh" })),
    ] {
        let asked = ask(&rig, &chat, kind, payload);
        let prompt = question_after(&rig, last).await;
        last = prompt.id;
        assert_shown_safely(&serde_json::to_value(&prompt).unwrap());
        for fact in &prompt.details {
            assert!(PROMPT_LABELS.contains(&fact.label.as_str()), "{fact:?}");
            assert!(fact.value.chars().count() <= 20_000);
            match fact.label.as_str() {
                "walls" => assert!(PROMPT_WALLS.contains(&fact.value.as_str())),
                "kind" | "replaces" => assert!(PROMPT_KINDS.contains(&fact.value.as_str())),
                _ => {}
            }
        }
        if kind == "EXECUTE_COMMAND" && prompt.argv.is_empty() {
            assert!(detail(&prompt, "left_out").unwrap().parse::<u64>().unwrap() > 1_000_000);
            // What nobody could read, nobody can allow, in any way.
            assert!(prompt.cut && !prompt.can_allow_chat && prompt.always.is_none());
            paint(&rig, &prompt).await;
            let fault = answer(&rig, &prompt, PromptAnswer::AllowOnce).await.unwrap_err();
            assert_eq!(fault.code, "cut_short");
        } else {
            assert!(!prompt.cut, "{prompt:?}");
        }
        rig.handle.send(Command::DenyPrompts).await.unwrap();
        assert_eq!(reason(asked).await, "declined");
    }
}

/// Nothing in it draws otherwise than it is.
fn assert_shown_safely(value: &Value) {
    match value {
        Value::String(text) => assert_eq!(*text, drawbridge_core::escape_outside_text(text)),
        Value::Array(values) => values.iter().for_each(assert_shown_safely),
        Value::Object(fields) => fields.values().for_each(assert_shown_safely),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
