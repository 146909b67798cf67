//! Completions and turns with the real program: what was asked and answered stands in no file that it keeps and in nothing that it prints.

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
use drawbridge_practice::model::{ModelServer, Reply, Script, Step};
use drawbridge_testkit::forms;
use rig::{Rig, Started, files_below, within};
use serde_json::json;

/// What the agent asks, what the task is, what the model answers, and what is in the file.
const WORDS: [&str; 4] =
    ["prompt-of-the-agent-7719", "task-of-the-agent-1207", "answer-of-the-model-3308", "IBAN-DE44-5001-0517"];

/// Tells everything that it ever tells, and is shown a proxy that nobody can use.
async fn start(rig: &Rig, server: &ModelServer) -> Started {
    let mut command = rig.command(&["start", "--headless", "--enable-local-llm"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:1");
    }
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
async fn what_is_asked_and_answered_stands_in_no_log_and_no_proxy_is_asked() {
    let [prompt, task, answer, content] = WORDS;
    let server = Script::ollama().with_models(&["small:1b"]).with_reply(Reply::pieces(&[answer, " and more"]));
    let server = ModelServer::start(server).await.unwrap();
    let rig = Rig::signed_in().await;
    let started = start(&rig, &server).await;
    let (chat, folder) = rig.chat_in(&started, "papers").await;
    let scope = Scope::Data(chat.clone());
    within(rig.script.frame(0, |frame| frame.scope == scope && frame.text.contains("small:1b"))).await;
    within(rig.script.connected(&scope, true)).await;
    std::fs::write(folder.join("konto.txt"), content).unwrap();
    let completion = json!({ "model": "small:1b", "messages": [{ "role": "user", "content": prompt }] });

    let reply = rig.ask(&chat, "LOCAL_LLM_COMPLETION", completion.clone()).await.unwrap();
    assert!(reply["content"].as_str().unwrap().contains(answer));
    server.next(Reply::status(500, &json!({ "error": format!("cannot read {prompt}") }).to_string()));
    server.next(Reply::Steps(vec![Step::text(answer), Step::Error(format!("at {prompt}")), Step::Cut]));
    server.next(Reply::Steps(vec![Step::text(answer), Step::raw(format!("{{\"{prompt}\n")), Step::Cut]));
    for _ in 0..3 {
        assert_eq!(rig.refused(&chat, "LOCAL_LLM_COMPLETION", completion.clone()).await["code"], "LOCAL_LLM_FAILED");
    }
    // A frame that is no JSON, and one of a kind that nobody knows.
    rig.script
        .send_text(&scope, format!("{{\"type\": \"LOCAL_LLM_COMPLETION\", \"x\": \"\\ud800{prompt}\"}}"))
        .unwrap();
    rig.script
        .send_text(&scope, json!({ "type": "LOCAL_LLM_DREAM", "id": "d1", "payload": { "x": prompt } }).to_string())
        .unwrap();
    rig.expect(0, &["privacy", "on", "--chat", &chat]).await;
    let file = json!({ "path": folder.join("konto.txt"), "mode": "stub" });
    let stub = rig.ask(&chat, "FILE_READ", file).await.unwrap();
    let turn = json!({ "model": "small:1b", "task": task, "context": prompt, "stub_refs": [stub["stub_id"]] });
    rig.ask(&chat, "LOCAL_LLM_TURN", turn.clone()).await.unwrap();
    rig.expect(0, &["privacy", "review", "on"]).await;
    assert_eq!(rig.refused(&chat, "LOCAL_LLM_TURN", turn).await["details"]["reason"], "no_ui");
    let mut printed = Vec::new();
    for words in [
        &["status", "--json"][..],
        &["diagnostics"],
        &["privacy", "--json"],
        &["models", "--json"],
        &["prompts", "--json"],
    ] {
        printed.push(rig.expect(0, words).await);
    }
    assert_eq!(started.stop().await, Some(0));

    let log = rig.dir.path().join("engine.log");
    assert!(std::fs::read_to_string(&log).unwrap().contains("frame"), "the odd frames were told of");
    let files: Vec<_> = files_below(&rig.state()).into_iter().chain([log]).collect();
    for word in WORDS {
        for file in &files {
            let found = forms::found(word, &std::fs::read(file).unwrap());
            assert!(found.is_empty(), "{word} as {found:?} in {}", file.display());
        }
        for text in &printed {
            assert!(forms::found(word, text.as_bytes()).is_empty(), "{word} in {text}");
        }
    }
}
