//! The main job: a folder is attached to a chat, and the platform works in it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod rig;

use std::fs;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{LinkState, PromptAnswer};
use drawbridge_engine::{Command, ExitKind};
use drawbridge_practice::{Failure, Scope};
use rig::{Rig, Wish, path, read, text, write};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_read_listed_moved_and_deleted_in_the_attached_folder() {
    let mut rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let (notes, moved) = (folder.join("sub/notes.txt"), folder.join("kept.txt"));

    rig.ask(&chat, "FILE_WRITE", write(&notes, "zwölf\r\n")).await.unwrap();
    let contents = rig.ask(&chat, "FILE_READ", read(&notes)).await.unwrap();
    let stat = rig.ask(&chat, "FILE_STAT", json!({ "path": notes })).await.unwrap();
    let listed = rig.ask(&chat, "FILE_LIST", json!({ "path": folder, "recursive": true })).await.unwrap();
    rig.ask(&chat, "FILE_MOVE", json!({ "src": notes, "dst": moved })).await.unwrap();
    rig.ask(&chat, "FILE_DELETE", json!({ "path": folder.join("sub"), "recursive": true })).await.unwrap();

    assert_eq!(contents, json!({ "content": "zwölf\r\n", "encoding": "utf-8", "size_bytes": 8, "truncated": false }));
    assert_eq!((&stat["exists"], &stat["size_bytes"], text(&stat["path"])), (&json!(true), &json!(8), path(&notes)));
    let names: Vec<_> = listed["entries"].as_array().unwrap().iter().map(|entry| text(&entry["name"])).collect();
    assert_eq!(names, ["sub", "notes.txt"]);
    assert_eq!(fs::read(&moved).unwrap(), "zwölf\r\n".as_bytes());
    assert!(!folder.join("sub").exists());
    rig.assert_no_faults();

    assert_eq!(rig.stop().await, ExitKind::Stopped);
    let ops = rig.audit_ops();
    let wanted = [
        "SHIM_START",
        "WS_CONNECTED",
        "HELLO",
        "HELLO_ACK",
        "CONFIG_RELOADED",
        "DIRECTORY_LIST",
        "DIRECTORY_LIST",
        "SESSION_ALLOWED_ROOT_SET",
        "ACTIVATE_SESSION",
        "FILE_WRITE",
        "FILE_READ",
        "FILE_STAT",
        "FILE_LIST",
        "FILE_MOVE",
        "FILE_DELETE",
        "WS_DISCONNECTED",
        "SHIM_STOP",
    ];
    let mut rest = ops.iter();
    for op in wanted {
        assert!(rest.any(|found| found == op), "{op} is missing or out of order in {ops:?}");
    }
    let log = fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("zwölf"), "contents are never in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_outside_is_refused_and_told() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let secret = rig.home.join("project-secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("loot"), "gold").unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("way-out")).unwrap();

    for place in [secret.join("loot"), folder.join("../project-secret/loot"), folder.join("way-out/loot")] {
        let error = rig.refused(&chat, "FILE_READ", read(&place)).await;
        assert_eq!(error["code"], "PATH_OUTSIDE_ALLOWED_ROOT", "{error}");
        let error = rig.refused(&chat, "FILE_WRITE", write(&place, "mine")).await;
        assert_eq!(error["code"], "PATH_OUTSIDE_ALLOWED_ROOT", "{error}");
    }

    assert_eq!(fs::read_to_string(secret.join("loot")).unwrap(), "gold");
    let ops = rig.audit_ops();
    assert_eq!(ops.iter().filter(|op| *op == "JAIL_VIOLATION").count(), 6, "{ops:?}");
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_only_once_shell_is_switched_on() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let command = json!({ "argv": ["sh", "-c", "pwd; echo $MY_VAR >&2; exit 3"], "env": { "MY_VAR": "shown" } });

    let refused = rig.refused(&chat, "EXECUTE_COMMAND", command.clone()).await;
    let (power, mode) = ("shell".to_owned(), "allowed".to_owned());
    rig.handle.send(Command::SetPower { power, mode }).await.unwrap();
    // What is offered has changed, so the link says HELLO again; the platform waits for it as for any new one.
    rig.script
        .frame(0, |frame| {
            frame.from_machine
                && frame.kind == "HELLO"
                && frame.scope == Scope::Data(chat.clone())
                && frame.text.contains("\"shell\"")
        })
        .await;
    rig.script.connected(&Scope::Data(chat.clone()), true).await;
    let result = rig.ask(&chat, "EXECUTE_COMMAND", command).await.unwrap();

    assert_eq!(refused["code"], "CAPABILITY_NOT_GRANTED");
    assert_eq!(result["stdout"], format!("{}\n", path(&folder)));
    assert_eq!((&result["stderr"], &result["exit_code"]), (&json!("shown\n"), &json!(3)));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn raising_ends_everything_and_survives_a_restart() {
    let mut rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::Allowed)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let (script, scope) = (rig.script.clone(), Scope::Data(chat.clone()));
    let started = folder.join("started");
    let line = "setsid sleep 987654 & : > started; sleep 987654";
    let running = tokio::spawn(async move {
        script.request(&scope, "EXECUTE_COMMAND", json!({ "command": line, "shell": "sh" }), None).await
    });
    rig.until(|_| started.exists()).await;

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();

    assert!(matches!(running.await.unwrap(), Err(Failure::Disconnected | Failure::NotConnected)));
    assert!(!processes().contains("987654"), "{}", processes());
    let picture = rig.until(|picture| picture.raised && picture.link.state == LinkState::Off).await;
    assert!(picture.chats.iter().all(|chat| !chat.active));

    rig.stop().await;
    rig.start_again().await;
    assert!(rig.handle.snapshot().raised);
    rig.handle.send(Command::Connect).await.unwrap_err();
    rig.handle.send(Command::SetRaised { raised: false }).await.unwrap();
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
    rig.script.restore(&chat).await.unwrap();
    rig.ask(&chat, "FILE_STAT", json!({ "path": started })).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_before_a_folder_is_attached() {
    let rig = Rig::start(Wish::headless().with(Power::Attach, PowerMode::AskEachTime).with_window()).await;
    fs::create_dir(rig.home.join("project")).unwrap();
    let chat = rig.script.new_chat(None);
    let (browse, reference) = rig.browse_to(&["project"]).await;
    let attach = |script: drawbridge_practice::Script| {
        let (machine, chat, browse, reference) = (rig.machine.clone(), chat.clone(), browse.clone(), reference.clone());
        tokio::spawn(async move { script.attach(&machine, &chat, &browse, &reference).await })
    };

    let first = attach(rig.script.clone());
    let prompt = rig.until(|picture| !picture.prompts.is_empty()).await.prompts.remove(0);
    let answer = |answer| Command::AnswerPrompt { id: prompt.id, revision: prompt.revision, answer };
    let early = rig.handle.send(answer(PromptAnswer::AllowOnce)).await.unwrap_err();
    rig.handle.send(Command::PromptPainted { id: prompt.id, revision: prompt.revision }).await.unwrap();
    rig.handle.send(answer(PromptAnswer::Deny)).await.unwrap();
    let Err(Failure::Refused { reply }) = first.await.unwrap() else { panic!("not refused") };

    let second = attach(rig.script.clone());
    let again = rig.until(|picture| picture.prompts.iter().any(|one| one.id != prompt.id)).await.prompts.remove(0);
    rig.handle.send(Command::PromptPainted { id: again.id, revision: again.revision }).await.unwrap();
    rig.handle
        .send(Command::AnswerPrompt { id: again.id, revision: again.revision, answer: PromptAnswer::AllowOnce })
        .await
        .unwrap();

    assert_eq!(early.code, "not_painted");
    assert_eq!(reply.payload["code"], "CAPABILITY_NOT_GRANTED");
    assert_eq!(reply.payload["details"]["reason"], "declined");
    assert_eq!(prompt.details[0].value, path(&rig.home.join("project")));
    second.await.unwrap().unwrap();
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_chat_cannot_be_restored_by_its_grant() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, _) = rig.chat_in("project").await;

    rig.script.detach(&chat).await.unwrap();
    rig.script.restore(&chat).await.unwrap();
    rig.handle.send(Command::Forget { session_id: chat.clone() }).await.unwrap();
    let refused = rig.script.restore(&chat).await;

    let Err(Failure::Refused { reply }) = refused else { panic!("{refused:?}") };
    assert_eq!(reply.payload["code"], "ROOT_GRANT_INVALID");
    assert_eq!(reply.payload["details"]["reason"], "revoked_locally");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ninth_live_chat_is_refused() {
    let rig = Rig::start(Wish::headless()).await;
    for number in 0..8 {
        rig.chat_in(&format!("project-{number}")).await;
    }
    fs::create_dir(rig.home.join("ninth")).unwrap();
    let chat = rig.script.new_chat(None);
    let (browse, reference) = rig.browse_to(&["ninth"]).await;
    rig.script.attach(&rig.machine, &chat, &browse, &reference).await.unwrap();

    let Err(Failure::Refused { reply }) = rig.script.activate(&chat).await else { panic!("not refused") };

    assert_eq!(reply.payload["code"], "SHIM_OVERLOADED");
    assert_eq!(reply.payload["details"]["reason"], "active_sessions");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_taken_back() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    fs::write(folder.join("a.txt"), "mine").unwrap();
    fs::create_dir(folder.join("d")).unwrap();
    fs::write(folder.join("d/b.txt"), "deep").unwrap();
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("a.txt"), "theirs")).await.unwrap();
    rig.ask(&chat, "FILE_DELETE", json!({ "path": folder.join("d"), "recursive": true })).await.unwrap();

    let undo = rig.handle.send(Command::UndoList { session_id: Some(chat.clone()) }).await.unwrap();
    let drawbridge_engine::Reply::Undo { entries } = undo else { panic!("{undo:?}") };
    let numbers = entries.iter().map(|entry| entry.number).collect();
    rig.handle.send(Command::UndoRestore { numbers }).await.unwrap();

    assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(folder.join("d/b.txt")).unwrap(), "deep");
}

/// Every command line on this machine.
fn processes() -> String {
    let mut all = String::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if let Ok(line) = fs::read(entry.path().join("cmdline")) {
            all.push_str(&String::from_utf8_lossy(&line).replace('\0', " "));
            all.push('\n');
        }
    }
    all
}
