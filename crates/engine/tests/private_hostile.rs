//! A platform that wants more of private files than it may have, and one that asks models for nonsense.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::Command;
use drawbridge_practice::model::{ModelServer, Reply, Script, Step};
use drawbridge_practice::{Failure, Scope};
use drawbridge_testkit::forms;
use rig::{Rig, Wish, text};
use serde_json::{Value, json};

const SECRET: &str = "IBAN-DE44-5001-0517-5407";
const PROMPT: &str = "prompt-of-the-agent-7719";
const ANSWER: &str = "answer-of-the-model-3308";

async fn desk() -> (Rig, ModelServer, String, PathBuf) {
    let script = Script::ollama().with_models(&["small:1b"]).with_reply(Reply::pieces(&[ANSWER]));
    let server = ModelServer::start(script).await.unwrap();
    let rig = Rig::start(Wish::headless().with(Power::LocalModel, PowerMode::Allowed).at_models(&server.url())).await;
    rig.until(|picture| picture.models.servers[0].answers).await;
    let (chat, folder) = private(&rig, "papers").await;
    (rig, server, chat, folder)
}

async fn private(rig: &Rig, name: &str) -> (String, PathBuf) {
    let (chat, folder) = rig.chat_in(name).await;
    fs::write(folder.join("konto.txt"), SECRET).unwrap();
    rig.handle.send(Command::SetPrivacy { session_id: Some(chat.clone()), on: Some(true) }).await.unwrap();
    (chat, folder)
}

async fn stub(rig: &Rig, chat: &str, file: &Path) -> Result<String, Value> {
    match rig.ask(chat, "FILE_READ", json!({ "path": file, "mode": "stub" })).await {
        Ok(described) => Ok(text(&described["stub_id"])),
        Err(Failure::Refused { reply }) => Err(reply.payload),
        Err(other) => panic!("{other:?}"),
    }
}

fn turn(stubs: &[String]) -> Value {
    json!({ "model": "small:1b", "task": "Count", "stub_refs": stubs })
}

fn assert_kept(rig: &Rig) {
    for frame in rig.script.frames(0) {
        assert!(forms::found(SECRET, frame.text.as_bytes()).is_empty(), "in a {}: {}", frame.kind, frame.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_of_asking_for_a_private_file_gets_its_content() {
    let (rig, _server, chat, folder) = desk().await;
    let file = folder.join("konto.txt");
    symlink(&file, folder.join("way")).unwrap();
    let outside = rig.home.join("outside.txt");
    fs::write(&outside, SECRET).unwrap();
    symlink(&outside, folder.join("out")).unwrap();
    let reads = [
        json!({ "path": file }),
        json!({ "path": file, "mode": null }),
        json!({ "path": file, "mode": "content" }),
        json!({ "path": file, "mode": "CONTENT" }),
        json!({ "path": file, "mode": "stub " }),
        json!({ "path": file, "mode": ["content"] }),
        json!({ "path": file, "mode": { "stub": false } }),
        json!({ "path": file, "mode": "" }),
        json!({ "path": file, "encoding": "base64", "offset": 3, "length": 4 }),
        json!({ "path": file, "format": "bytes" }),
        json!({ "path": folder.join("way") }),
        json!({ "path": folder.join("./x/../konto.txt") }),
        json!({ "path": "konto.txt" }),
        json!({ "path": outside, "mode": "stub" }),
        json!({ "path": folder.join("out"), "mode": "stub" }),
        json!({ "path": "/proc/self/environ", "mode": "stub" }),
        json!({ "path": folder, "mode": "stub" }),
    ];
    for payload in reads {
        let error = rig.refused(&chat, "FILE_READ", payload.clone()).await;
        let code = text(&error["code"]);
        let known = [
            "PRIVACY_MODE_BLOCKED",
            "FEATURE_NOT_SUPPORTED",
            "INTERNAL_ERROR",
            "PATH_OUTSIDE_ALLOWED_ROOT",
            "PATH_NOT_FOUND",
        ];
        assert!(known.contains(&code.as_str()), "{payload}: {error}");
    }
    let described = rig
        .ask(
            &chat,
            "FILE_READ",
            json!({ "path": file, "mode": "stub", "schema_preview_bytes": 4096, "offset": 0, "length": 9 }),
        )
        .await
        .unwrap();
    assert_eq!(described["schema_preview"], "");
    let elsewhere = folder.join("moved.txt");
    rig.ask(&chat, "FILE_MOVE", json!({ "src": file, "dst": elsewhere })).await.unwrap();
    for (kind, payload) in [
        ("FILE_LIST", json!({ "path": folder, "recursive": true, "include_hidden": true })),
        ("FILE_STAT", json!({ "path": elsewhere })),
        ("FILE_READ", json!({ "path": elsewhere })),
    ] {
        let _ = rig.ask(&chat, kind, payload).await;
    }
    assert_kept(&rig);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn stubs_are_worth_nothing_to_other_chats_and_after_the_chat_began_anew() {
    let (rig, server, chat, folder) = desk().await;
    let (other, other_folder) = private(&rig, "others").await;
    let mine = stub(&rig, &chat, &folder.join("konto.txt")).await.unwrap();
    let theirs = stub(&rig, &other, &other_folder.join("konto.txt")).await.unwrap();
    for stubs in [vec![theirs.clone()], vec![mine.clone(), theirs], vec![mine.to_uppercase()], vec![format!("{mine} ")]]
    {
        let error = rig.refused(&chat, "LOCAL_LLM_TURN", turn(&stubs)).await;
        assert_eq!(error["code"], "STUB_STALE", "{error}");
    }
    for stubs in [json!([]), json!("x"), json!([1]), json!(vec!["x"; 65]), json!(["x".repeat(65)]), json!([""])] {
        let error = rig
            .refused(&chat, "LOCAL_LLM_TURN", json!({ "model": "small:1b", "task": "Count", "stub_refs": stubs }))
            .await;
        assert_eq!(error["code"], "INTERNAL_ERROR", "{error}");
    }
    // Sent without waiting: describe, end the chat, begin it anew, ask.
    let (script, scope, path) = (rig.script.clone(), Scope::Data(chat.clone()), folder.join("konto.txt"));
    let racing = tokio::spawn(async move {
        script
            .request(&scope, "FILE_READ", json!({ "path": path, "mode": "stub" }), None)
            .await
            .map(|reply| reply.payload)
    });
    rig.script.detach(&chat).await.unwrap();
    // Its answer may have died with the link.
    let late = tokio::time::timeout(Duration::from_secs(2), racing).await;
    rig.script.restore(&chat).await.unwrap();
    rig.script.connected(&Scope::Data(chat.clone()), true).await;
    let described = late.ok().and_then(|ended| ended.unwrap().ok());
    let old = described.map_or(mine.clone(), |described| text(&described["stub_id"]));
    for old in [mine, old] {
        let error = rig.refused(&chat, "LOCAL_LLM_TURN", turn(&[old])).await;
        assert_eq!(error["code"], "STUB_STALE", "{error}");
    }
    assert!(server.requests().iter().all(|asked| !asked.path.ends_with("/chat")));
    assert_kept(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_large_files_and_files_that_are_written_all_the_time_are_refused_in_words() {
    let (rig, server, chat, folder) = desk().await;
    let mut stubs = Vec::new();
    for number in 0..64 {
        let file = folder.join(format!("large-{number}"));
        fs::write(&file, "words ".repeat(1024 * 1024 / 6)).unwrap();
        stubs.push(stub(&rig, &chat, &file).await.unwrap());
    }
    let start = Instant::now();
    let error = rig.refused(&chat, "LOCAL_LLM_TURN", turn(&stubs)).await;
    assert_eq!(error["code"], "LOCAL_LLM_FAILED", "{error}");
    assert!(
        text(&error["message"]).contains("all files of one question") && start.elapsed() < Duration::from_secs(5),
        "{error}"
    );

    let file = folder.join("konto.txt");
    let busy = std::thread::spawn({
        let file = file.clone();
        let until = Instant::now() + Duration::from_secs(3);
        move || {
            let mut number = 0_u32;
            while Instant::now() < until {
                number = number.wrapping_add(1);
                let _ = fs::write(&file, format!("{SECRET} {number}"));
            }
        }
    });
    let (mut described, mut asked) = (0, 0);
    while !busy.is_finished() {
        match stub(&rig, &chat, &file).await {
            Ok(id) => {
                described += 1;
                match rig.ask(&chat, "LOCAL_LLM_TURN", turn(&[id])).await {
                    Ok(_) => asked += 1,
                    Err(Failure::Refused { reply }) => {
                        assert!(
                            ["STUB_STALE", "INTERNAL_ERROR"].contains(&reply.payload["code"].as_str().unwrap()),
                            "{reply:?}"
                        );
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            Err(error) => assert_eq!(error["code"], "INTERNAL_ERROR", "{error}"),
        }
    }
    busy.join().unwrap();
    assert!(described >= asked);
    for asked in server.requests().iter().filter(|asked| asked.path.ends_with("/chat")) {
        let told = asked.body.to_string();
        // Whoever writes empties the file first, and that is a whole file, too.
        assert!(told.contains(SECRET) || told.contains("konto.txt]\\n\\n["), "half a file: {told}");
    }
    assert_kept(&rig);
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_of_every_odd_kind_are_answered_and_in_no_file() {
    let (mut rig, server, chat, _) = desk().await;
    let said = |content: Value| json!([{ "role": "user", "content": content }]);
    let with = |more: Value| {
        let mut payload = json!({ "model": "small:1b", "messages": said(json!(PROMPT)) });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let odd = [
        with(json!({ "temperature": 1e308 })),
        with(json!({ "temperature": -1 })),
        with(json!({ "temperature": "NaN" })),
        with(json!({ "top_p": 1.5 })),
        with(json!({ "max_tokens": 0 })),
        with(json!({ "max_tokens": -9_223_372_036_854_775_808_i64 })),
        with(json!({ "max_tokens": 1.5 })),
        with(json!({ "max_tokens": "many" })),
        with(json!({ "stream": "yes" })),
        with(json!({ "model": "" })),
        with(json!({ "model": "x".repeat(100_000) })),
        with(json!({ "model": "small:1b\u{0}" })),
        with(json!({ "model": "../../etc/passwd" })),
        with(json!({ "messages": [] })),
        with(json!({ "messages": null })),
        with(json!({ "messages": "hi" })),
        with(json!({ "messages": said(json!([{ "type": "text", "text": PROMPT }])) })),
        with(json!({ "messages": vec![json!({ "role": "user", "content": "x" }); 10_001] })),
        with(json!({ "messages": [{ "role": "tool", "content": PROMPT }] })),
    ];
    for payload in odd {
        let error = rig.refused(&chat, "LOCAL_LLM_COMPLETION", payload.clone()).await;
        let known = ["INTERNAL_ERROR", "MODEL_NOT_AVAILABLE", "LOCAL_LLM_FAILED"];
        assert!(known.contains(&error["code"].as_str().unwrap()), "{payload}: {error}");
        assert!(error.to_string().len() < 4096, "{error}");
    }
    assert!(server.requests().iter().all(|asked| !asked.path.ends_with("/chat")));
    rig.ask(&chat, "LOCAL_LLM_COMPLETION", with(json!({ "max_tokens": i64::MAX }))).await.unwrap();
    rig.ask(
        &chat,
        "LOCAL_LLM_COMPLETION",
        with(json!({ "messages": vec![json!({ "role": "user", "content": PROMPT }); 10_000] })),
    )
    .await
    .unwrap_err();

    let start = Instant::now();
    let long = rig
        .refused(
            &chat,
            "LOCAL_LLM_COMPLETION",
            with(json!({ "messages": said(json!("a1234567 ".repeat(15 * 1024 * 1024 / 9))) })),
        )
        .await;
    assert_eq!(long["code"], "LOCAL_LLM_FAILED", "{long}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());

    // A flood: one is answered, the others hear that it is busy or that there is no room.
    server.next(Reply::Steps(vec![Step::Hold, Step::text(ANSWER), Step::finish("stop")]));
    let flood: Vec<_> = (0..40)
        .map(|_| {
            let (script, scope, payload) = (rig.script.clone(), Scope::Data(chat.clone()), with(json!({})));
            tokio::spawn(async move { script.request(&scope, "LOCAL_LLM_COMPLETION", payload, None).await })
        })
        .collect();
    server.until(|seen| (seen.holding > 0).then_some(())).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.release();
    let mut answered = 0;
    for one in flood {
        match one.await.unwrap() {
            Ok(_) => answered += 1,
            Err(Failure::Refused { reply }) => {
                let code = text(&reply.payload["code"]);
                assert!(["LOCAL_LLM_BUSY", "SHIM_OVERLOADED"].contains(&code.as_str()), "{code}");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(answered >= 1, "{answered}");
    // An error that repeats the prompt.
    server.next(Reply::status(500, &json!({ "error": format!("cannot read: {PROMPT}") }).to_string()));
    let error = rig.refused(&chat, "LOCAL_LLM_COMPLETION", with(json!({}))).await;
    assert_eq!(error["code"], "LOCAL_LLM_FAILED");

    let picture = serde_json::to_string(&*rig.handle.snapshot()).unwrap();
    rig.stop().await;
    let log = fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    for never in [PROMPT, ANSWER] {
        assert!(!log.contains(never) && !picture.contains(never), "{never}");
    }
    rig.assert_no_faults();
}
