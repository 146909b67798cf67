//! A platform that is broken, hostile, slow, or gone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod rig;

use std::fs;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::Command;
use drawbridge_engine::view::{AccountState, LinkState};
use drawbridge_practice::{Failure, Refusal, Scope, Switches};
use rig::{Rig, Wish, read, text, write};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_no_requests_cost_nothing() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());

    for nonsense in [
        "",
        "null",
        "[]",
        "{",
        "\u{0}",
        "{\"type\":5,\"id\":\"a\"}",
        "{\"type\":\"FILE_READ\"}",
        "{\"type\":\"FILE_READ\",\"id\":\"\"}",
        "{\"type\":\"NEW_THING\",\"id\":\"a\",\"payload\":{}}",
        "{\"type\":\"FILE_CONTENTS\",\"id\":\"a\",\"payload\":{}}",
        "{\"type\":\"FILE_READ\",\"id\":\"b\",\"version\":\"2.0\",\"payload\":{\"path\":\"/etc/passwd\"}}",
    ] {
        rig.script.send_text(&scope, nonsense).unwrap();
    }
    rig.script.send_binary(&scope, vec![0xFF, 0xFE, 0x00]).unwrap();
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("a"), "still here")).await.unwrap();

    assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "still here");
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_payloads_are_named_by_field() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::Allowed)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let file = folder.join("a");
    let cases = [
        ("FILE_READ", json!({}), "path"),
        ("FILE_READ", json!({ "path": file, "offset": -1 }), "offset"),
        ("FILE_READ", json!({ "path": file, "length": 0 }), "length"),
        ("FILE_READ", json!({ "path": file, "encoding": "latin-1" }), "encoding"),
        ("FILE_WRITE", json!({ "path": file }), "content"),
        ("FILE_LIST", json!({ "path": folder, "max_entries": 0 }), "max_entries"),
        ("EXECUTE_COMMAND", json!({ "command": "true", "timeout_seconds": 0 }), "timeout_seconds"),
        ("EXECUTE_COMMAND", json!({ "command": "true", "shell": "fish" }), "shell"),
    ];

    for (kind, payload, field) in cases {
        let error = rig.refused(&chat, kind, payload.clone()).await;
        assert_eq!(
            (&error["code"], &error["details"]["reason"]),
            (&json!("INTERNAL_ERROR"), &json!("invalid_payload")),
            "{payload}: {error}"
        );
        assert!(text(&error["details"]["field"]).contains(field), "{payload}: {error}");
    }
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn control_and_data_requests_stay_apart() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;

    let on_control = rig.script.request(&Scope::Control(rig.machine.clone()), "FILE_READ", read(&folder), None).await;
    let on_data = rig.refused(&chat, "DIRECTORY_LIST_REQUEST", json!({})).await;
    let screen = rig.refused(&chat, "SCREENSHOT_REQUEST", json!({})).await;

    let Err(Failure::Refused { reply }) = on_control else { panic!("{on_control:?}") };
    assert_eq!(reply.payload["code"], "FEATURE_NOT_SUPPORTED");
    assert_eq!(on_data["code"], "CAPABILITY_NOT_GRANTED");
    assert_eq!(
        (&screen["code"], &screen["details"]["required_capability"]),
        (&json!("CAPABILITY_NOT_GRANTED"), &json!("computer_use"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_the_limit_is_refused_and_the_link_stays() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let limit = 10 * 1024 * 1024;
    fs::write(folder.join("exact"), vec![b'a'; limit]).unwrap();
    fs::write(folder.join("over"), vec![b'a'; limit + 1]).unwrap();
    // Six characters of JSON for each byte: within the limit on disk, far over it in a frame.
    fs::write(folder.join("controls"), vec![1_u8; 4 * 1024 * 1024]).unwrap();

    let exact = rig.ask(&chat, "FILE_READ", read(&folder.join("exact"))).await.unwrap();
    let over = rig.refused(&chat, "FILE_READ", read(&folder.join("over"))).await;
    let controls = rig.refused(&chat, "FILE_READ", read(&folder.join("controls"))).await;
    let part = rig
        .ask(&chat, "FILE_READ", json!({ "path": folder.join("over"), "offset": limit, "length": 10 }))
        .await
        .unwrap();

    assert_eq!(exact["size_bytes"], limit);
    assert_eq!((&over["code"], &over["details"]["attempted_bytes"]), (&json!("FILE_TOO_LARGE"), &json!(limit + 1)));
    assert_eq!(controls["code"], "FILE_TOO_LARGE");
    assert_eq!((&part["content"], &part["size_bytes"]), (&json!("a"), &json!(1)));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_beyond_the_slots_are_refused_at_once() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::Allowed)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    let gate = folder.join("gate");
    for number in 0..6 {
        let frame = json!({
            "type": "EXECUTE_COMMAND", "id": format!("r{number}"), "ts": 0.0,
            "payload": { "command": "while [ ! -e gate ]; do sleep 0.05; done; echo done", "shell": "sh" },
        });
        // Raw frames: the platform itself would wait for a free slot.
        rig.script.send_text(&scope, frame.to_string()).unwrap();
    }

    let error =
        rig.script.frame(0, |frame| frame.from_machine && frame.kind == "ERROR" && frame.id.starts_with('r')).await;
    fs::write(&gate, "").unwrap();

    let error: Value = serde_json::from_str(&error.text).unwrap();
    assert_eq!(error["payload"]["code"], "SHIM_OVERLOADED");
    assert_eq!((&error["pending_capacity"], &error["payload"]["details"]["max_concurrent"]), (&json!(0), &json!(4)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_breaks_is_dialled_again_and_its_commands_die() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::Allowed)).await;
    let (chat, folder) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    let (script, asked) = (rig.script.clone(), scope.clone());
    let running = tokio::spawn(async move {
        let line = json!({ "command": "echo $$ > pid; sleep 876543", "shell": "sh" });
        script.request(&asked, "EXECUTE_COMMAND", line, None).await
    });
    rig.until(|_| fs::read_to_string(folder.join("pid")).is_ok_and(|pid| pid.ends_with('\n'))).await;

    rig.script.cut(&scope).unwrap();
    running.await.unwrap().unwrap_err();
    rig.script.connected(&scope, true).await;

    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).join("exe").exists());
    rig.ask(&chat, "FILE_STAT", json!({ "path": folder })).await.unwrap();
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn closes_that_mean_stop_are_not_dialled_again_until_the_person_asks() {
    for (code, revoked) in [(4427, true), (4428, true), (4429, true), (4426, true), (4400, false), (4403, false)] {
        let rig = Rig::start(Wish::headless()).await;
        rig.script.close(&Scope::Control(rig.machine.clone()), code, "test").unwrap();
        let picture = rig.until(|picture| picture.link.state == LinkState::Halted).await;

        assert!(picture.link.reason.is_some(), "{code}: a halt says why");
        let ops = rig.audit_ops();
        assert_eq!(ops.iter().any(|op| op == "SESSION_REVOKED"), revoked, "{code}: {ops:?}");
        rig.handle.send(Command::Connect).await.unwrap();
        rig.until(|picture| picture.link.state == LinkState::Connected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_is_renewed_once_and_the_links_come_back() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;

    rig.script.expire_access_tokens();
    rig.script.connected(&Scope::Control(rig.machine.clone()), true).await;
    rig.until(|_| rig.audit_ops().iter().any(|op| op == "TOKEN_REFRESHED")).await;
    rig.script.connected(&Scope::Data(chat.clone()), true).await;

    rig.ask(&chat, "FILE_STAT", json!({ "path": folder })).await.unwrap();
    assert_eq!(rig.audit_ops().iter().filter(|op| *op == "TOKEN_REFRESHED").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_in_is_said_and_ends_the_dialling() {
    let rig = Rig::start(Wish::headless()).await;

    rig.script.switches(Switches {
        refuse_upgrade: Some(Refusal { status: 401, times: 50, retry_after: None }),
        ..Switches::default()
    });
    rig.script.cut(&Scope::Control(rig.machine.clone())).unwrap();

    let picture = rig.until(|picture| picture.link.state == LinkState::Halted).await;
    assert_eq!(picture.account.state, AccountState::Refused);
    assert!(picture.account.problem.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversize_frame_closes_with_1009_and_the_link_returns() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());

    rig.script.send_text(&scope, "x".repeat(17 * 1024 * 1024)).unwrap();
    rig.until(|_| rig.audit_ops().iter().any(|op| op == "WS_DISCONNECTED")).await;
    rig.script.connected(&scope, true).await;

    rig.ask(&chat, "FILE_STAT", json!({ "path": folder })).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_swapped_is_refused_at_once() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    fs::rename(&folder, rig.home.join("elsewhere")).unwrap();
    fs::create_dir(&folder).unwrap();

    let error = rig.refused(&chat, "FILE_WRITE", write(&folder.join("a"), "x")).await;
    rig.script.detach(&chat).await.unwrap();
    let Err(Failure::Refused { reply }) = rig.script.restore(&chat).await else { panic!("restored") };

    assert_eq!(
        (&error["code"], &error["details"]["reason"]),
        (&json!("PATH_OUTSIDE_ALLOWED_ROOT"), &json!("root_changed"))
    );
    assert_eq!(reply.payload["code"], "ROOT_GRANT_INVALID");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_references_and_revisions_are_refused() {
    let rig = Rig::start(Wish::headless()).await;
    fs::create_dir(rig.home.join("project")).unwrap();
    let chat = rig.script.new_chat(None);
    let (browse, reference) = rig.browse_to(&["project"]).await;
    let control = Scope::Control(rig.machine.clone());
    rig.script.attach(&rig.machine, &chat, &browse, &reference).await.unwrap();
    let code = |result: Result<_, Failure>| match result {
        Err(Failure::Refused { reply }) => text(&reply.payload["code"]),
        other => panic!("{:?}", other.map(|_: Value| ())),
    };

    assert_eq!(code(rig.script.attach(&rig.machine, &chat, &browse, &reference).await), "DIRECTORY_REFERENCE_INVALID");
    let stale = json!({ "session_id": chat, "revision": 7 });
    let stale = rig.script.request(&control, "ACTIVATE_SESSION", stale, None).await.map(|reply| reply.payload);
    assert_eq!(code(stale), "SESSION_REVISION_MISMATCH");
    let unknown = json!({ "session_id": "nobody", "revision": 1 });
    let unknown = rig.script.request(&control, "ACTIVATE_SESSION", unknown, None).await.map(|reply| reply.payload);
    assert_eq!(code(unknown), "SESSION_NOT_ATTACHED");
    rig.script.activate(&chat).await.unwrap();
    let (browse, reference) = rig.browse_to(&["project"]).await;
    assert_eq!(code(rig.script.attach(&rig.machine, &chat, &browse, &reference).await), "SESSION_ALREADY_ACTIVE");
}
