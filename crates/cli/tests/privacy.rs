//! Private files with the real program: what the command line says and does, and that no log ever holds their bytes.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where its ground is missing"
)]

mod rig;

use std::process::Stdio;

use drawbridge_practice::Scope;
use drawbridge_practice::model::{ModelServer, Reply, Script};
use drawbridge_testkit::forms;
use rig::{Rig, Started, files_below, said, text, within};
use serde_json::{Value, json};

const SECRETS: [&str; 2] = ["IBAN-DE44-5001-0517", "Kontostand «8817,4711» übrig"];

async fn told(rig: &Rig) -> Value {
    serde_json::from_str(&rig.expect(0, &["privacy", "--json"]).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_no_engine_runs_the_stored_settings_are_shown_and_changed() {
    let rig = Rig::new().await;
    let nothing = json!({ "all": false, "review": false, "preview_bytes": 0, "fixed": false, "chats": [] });
    assert_eq!(told(&rig).await, nothing);
    assert!(!rig.state().exists(), "looking makes nothing");

    rig.expect(0, &["privacy", "on"]).await;
    rig.expect(0, &["privacy", "review", "on"]).await;
    let kept = json!({ "all": true, "review": true, "preview_bytes": 0, "fixed": false, "chats": [] });
    assert_eq!(told(&rig).await, kept);
    let words = rig.expect(0, &["privacy"]).await;
    assert!(words.contains("stay on this computer in every chat") && words.contains("you have read it"), "{words}");
    assert!(!words.contains("first bytes"), "{words}");
    rig.expect(0, &["privacy", "off"]).await;
    rig.expect(0, &["privacy", "review", "off"]).await;
    assert_eq!(told(&rig).await, nothing);

    for words in [&["privacy", "on", "--chat", "nobody"][..], &["privacy", "off", "--chat", "a/b"]] {
        let output = rig.run(words).await;
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(said(&output).contains("no chat"), "{}", said(&output));
    }
    for words in
        [&["privacy", "perhaps"][..], &["privacy", "review"], &["privacy", "follow"], &["privacy", "review", "so"]]
    {
        let output = rig.run(words).await;
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_configuration_keeps_is_kept_whatever_is_stored() {
    let rig = Rig::new().await;
    rig.configure("[privacy]\nall = true\npreview_bytes = 64");
    let shown = told(&rig).await;
    assert_eq!((&shown["all"], &shown["preview_bytes"]), (&json!(true), &json!(64)));
    let words = rig.expect(0, &["privacy"]).await;
    assert!(words.contains("up to 64 first bytes of a private file leave"), "{words}");

    let output = rig.run(&["privacy", "off"]).await;

    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output).contains("[privacy] all = true"), "{}", said(&output));
    assert_eq!(told(&rig).await["all"], true);
}

/// Starts the engine so that it tells everything that it ever tells.
async fn start(rig: &Rig, server: &ModelServer) -> Started {
    let mut command = rig.command(&["start", "--headless", "--enable-local-llm"]);
    command
        .env("DRAWBRIDGE_LOG", "trace,tungstenite=trace,hyper=trace,rustls=trace")
        .env("DRAWBRIDGE_OLLAMA_URL", server.url())
        .stdout(rig.log())
        .stderr(rig.log());
    let child = command.stdin(Stdio::null()).spawn().unwrap();
    let machine = within(rig.script.machine()).await;
    Started { child, machine }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_engine_keeps_contents_by_the_command_line_and_lets_them_go_by_the_window_alone() {
    let script = Script::ollama().with_models(&["small:1b"]).with_reply(Reply::pieces(&["There is ", "one account."]));
    let server = ModelServer::start(script).await.unwrap();
    let rig = Rig::signed_in().await;
    let started = start(&rig, &server).await;
    let (chat, folder) = rig.chat_in(&started, "papers").await;
    let scope = Scope::Data(chat.clone());
    let hello = |frame: &drawbridge_practice::FrameRecord| {
        frame.scope == scope && frame.kind == "HELLO" && frame.text.contains("small:1b")
    };
    within(rig.script.frame(0, hello)).await;
    within(rig.script.connected(&scope, true)).await;
    let file = folder.join("konto.txt");
    std::fs::write(&file, SECRETS.join("\n")).unwrap();

    rig.expect(0, &["privacy", "on", "--chat", &chat]).await;
    let blocked = rig.refused(&chat, "FILE_READ", json!({ "path": file, "encoding": "utf-8" })).await;
    assert_eq!(blocked["code"], "PRIVACY_MODE_BLOCKED");
    let stub = rig.ask(&chat, "FILE_READ", json!({ "path": file, "encoding": "utf-8", "mode": "stub" })).await.unwrap();
    let turn = json!({ "model": "small:1b", "task": "Count the accounts", "stub_refs": [stub["stub_id"]] });
    assert_eq!(rig.ask(&chat, "LOCAL_LLM_TURN", turn).await.unwrap()["output"], "There is one account.");

    for words in [
        &["privacy", "off", "--chat", &chat][..],
        &["privacy", "off"],
        &["privacy", "follow", "--chat", &chat],
        &["privacy", "review", "off"],
    ] {
        let output = rig.run(words).await;
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(said(&output).contains("where there is no window, end Drawbridge"), "{}", said(&output));
    }
    let shown = within(async {
        loop {
            let now = told(&rig).await;
            if now["chats"][0]["asked"][0]["turns"] == 1 {
                return now;
            }
        }
    });
    let shown = shown.await;
    assert_eq!((&shown["chats"][0]["private"], &shown["all"]), (&json!(true), &json!(false)));
    assert_eq!(shown["chats"][0]["asked"][0]["path"], file.to_str().unwrap());
    let printed = [
        rig.expect(0, &["status", "--json"]).await,
        rig.expect(0, &["diagnostics"]).await,
        rig.expect(0, &["privacy"]).await,
    ];
    assert!(printed[2].contains("described once, asked about once"), "{}", printed[2]);
    // A failure, so that there is something to tell.
    server.next(Reply::status(500, &SECRETS.join("\n")));
    let turn = json!({ "model": "small:1b", "task": "Again", "stub_refs": [stub["stub_id"]] });
    assert_eq!(rig.refused(&chat, "LOCAL_LLM_TURN", turn).await["code"], "LOCAL_LLM_FAILED");
    let after = rig.script.frames(0).last().unwrap().n;
    rig.script.cut(&started.control()).unwrap();
    within(rig.script.frame(after, |frame| frame.kind == "HELLO_ACK")).await;
    assert_eq!(started.stop().await, Some(0));

    assert!(server.requests().iter().any(|asked| asked.body.to_string().contains(SECRETS[0])), "the model was told");
    let frames = rig.script.frames(0);
    assert!(
        frames.iter().all(|frame| !frame.cut) && frames.iter().any(|frame| frame.kind == "LOCAL_LLM_TURN_RESPONSE")
    );
    let log = rig.dir.path().join("engine.log");
    assert!(!std::fs::read(&log).unwrap().is_empty(), "the failure was told");
    let mut files = files_below(&rig.state());
    files.push(log);
    for secret in SECRETS {
        for file in &files {
            let found = forms::found(secret, &std::fs::read(file).unwrap());
            assert!(found.is_empty(), "{secret} as {found:?} in {}", file.display());
        }
        for frame in &frames {
            assert!(forms::found(secret, frame.text.as_bytes()).is_empty(), "{secret} in a {}", frame.kind);
        }
        assert!(printed.iter().all(|text| forms::found(secret, text.as_bytes()).is_empty()));
    }
    let asked: Vec<String> = rig
        .audit()
        .iter()
        .map(|record| text(&record["op"]))
        .filter(|op| op.contains("STUB") || op.contains("TURN"))
        .collect();
    assert_eq!(asked, ["FILE_READ_STUB", "LOCAL_LLM_TURN", "LOCAL_LLM_TURN"]);

    // What was said for the chat is kept, and can be taken back where no engine runs.
    assert_eq!(told(&rig).await["chats"], json!([{ "session_id": chat, "private": true, "own": true, "asked": [] }]));
    rig.expect(0, &["privacy", "follow", "--chat", &chat]).await;
    assert_eq!(told(&rig).await["chats"], json!([]));
    assert_eq!(rig.audit().last().unwrap()["op"], "POLICY_CHANGED");
}
