//! The audit log, the stop, chats and undo: the same commands beside a running engine and on a stopped one.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use std::fs;
use std::io::Read as _;

use drawbridge_practice::Scope;
use hmac::{KeyInit as _, Mac as _};
use rig::{Rig, said, text, within};
use serde_json::{Value, json};
use sha2::Digest as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};

fn lines(printed: &str) -> Vec<Value> {
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_read_turned_over_and_pruned_with_and_without_an_engine() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let rotated = rig.expect(0, &["audit", "rotate"]).await;
    let name = std::path::Path::new(rotated.trim()).file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("audit.log.20") && rig.state().join(&name).is_file(), "{rotated}");
    let key = rig.expect(0, &["audit", "key", "--show"]).await;
    assert!(key.trim().len() == 64 && key.trim().bytes().all(|byte| byte.is_ascii_hexdigit()));
    rig.expect(0, &["audit", "verify-all"]).await;
    rig.expect(0, &["audit", "prune", "--older-than", "1d"]).await;
    assert_eq!(started.stop().await, Some(0));

    rig.expect(0, &["audit", "rotate"]).await;
    rig.expect(0, &["audit", "verify"]).await;
    rig.expect(0, &["audit", "verify-all"]).await;
    let one = rig.run(&["audit", "show", "1"]).await;
    assert_eq!(lines(&String::from_utf8(one.stdout.clone()).unwrap())[0]["op"], "LOG_OPENED");
    assert!(said(&one).contains(&name), "{}", said(&one));
    let old: Value = serde_json::from_str(&rig.expect(0, &["audit", "show", "1", "--file", &name]).await).unwrap();
    assert_eq!(old["seq"], 1);
    rig.expect(1, &["audit", "show", "99999"]).await;
    let newest = lines(&rig.expect(0, &["audit", "tail", "-n", "1", "--no-follow"]).await);
    assert_eq!(newest.len(), 1);

    let pruned = rig.expect(0, &["audit", "prune", "--older-than", "0s"]).await;
    assert!(pruned.lines().any(|line| line == name), "{pruned}");
    assert!(!rig.state().join(&name).exists());
    rig.expect(0, &["audit", "verify-all"]).await;
    assert!(rig.ops().iter().any(|op| op == "LOG_PRUNED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tampered_a_cut_and_a_missing_log_are_found() {
    let rig = Rig::signed_in().await;
    rig.expect(1, &["audit", "verify"]).await;
    assert_eq!(rig.start(&[]).await.stop().await, Some(0));
    let log = rig.state().join("audit.log");
    let good = fs::read_to_string(&log).unwrap();
    rig.expect(0, &["audit", "verify"]).await;

    fs::write(&log, good.replacen("HELLO", "HELL0", 1)).unwrap();
    assert!(rig.expect(1, &["audit", "verify"]).await.contains("hmac_mismatch"));
    rig.expect(1, &["audit", "verify-all"]).await;

    let cut: Vec<&str> = good.lines().collect();
    fs::write(&log, cut[..cut.len() - 2].join("\n") + "\n").unwrap();
    assert!(rig.expect(1, &["audit", "verify"]).await.contains("head_mismatch"));

    fs::remove_file(&log).unwrap();
    rig.expect(1, &["audit", "verify"]).await;
    fs::write(&log, &good).unwrap();
    rig.expect(0, &["audit", "verify"]).await;
    let mut locked = rig.command(&["audit", "verify"]);
    locked.env("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", "wrong");
    assert_eq!(rig::finish(locked).await.status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_can_be_checked_by_whoever_has_the_key() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let bundle = rig.dir.path().join("bundle.zip");
    rig.expect(0, &["audit", "export", "--output", bundle.to_str().unwrap()]).await;
    rig.expect(1, &["audit", "export", "--output", bundle.to_str().unwrap()]).await;
    let key = rig.expect(0, &["audit", "key", "--show"]).await;
    assert_eq!(started.stop().await, Some(0));

    let mut zip = zip::ZipArchive::new(fs::File::open(&bundle).unwrap()).unwrap();
    let mut member = |name: &str| {
        let mut bytes = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let (log, manifest, signature) = (member("audit.log"), member("manifest.json"), member("manifest.sig"));
    let key = drawbridge_core::hex::decode(key.trim()).unwrap();
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    mac.update(&manifest);
    assert_eq!(drawbridge_core::hex::encode(mac.finalize().into_bytes()), String::from_utf8(signature).unwrap());
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["files"][0]["sha256"], json!(drawbridge_core::hex::encode(sha2::Sha256::digest(&log))));
    assert_eq!(manifest["files"][0]["size"], json!(log.len()));
}

#[tokio::test(flavor = "multi_thread")]
async fn tail_follows_across_rotation_until_it_is_ended() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let mut tail = rig.command(&["audit", "tail", "-n", "1"]).spawn().unwrap();
    let mut shown = BufReader::new(tail.stdout.take().unwrap()).lines();
    within(shown.next_line()).await.unwrap().unwrap();

    rig.expect(0, &["audit", "rotate"]).await;
    rig.script.browse(&started.machine, None, None).await.unwrap();
    loop {
        let record: Value = serde_json::from_str(&within(shown.next_line()).await.unwrap().unwrap()).unwrap();
        if record["op"] == "DIRECTORY_LIST" {
            break;
        }
    }
    std::process::Command::new("kill").args(["-TERM", &tail.id().unwrap().to_string()]).status().unwrap();
    assert_eq!(within(tail.wait()).await.unwrap().code(), Some(0));
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn raising_stops_everything_and_survives_a_restart() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&["--enable-shell"]).await;
    let (chat, folder) = rig.chat_in(&started, "busy").await;
    let pipe = folder.join("pid");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (script, data) = (rig.script.clone(), Scope::Data(chat.clone()));
    let asked = tokio::spawn(async move {
        let line = "echo $$ > pid; exec sleep 600";
        script.request(&data, "EXECUTE_COMMAND", json!({ "command": line, "shell": "sh" }), None).await
    });
    let running = within(tokio::task::spawn_blocking(move || fs::read_to_string(pipe).unwrap())).await.unwrap();

    rig.expect(0, &["raise"]).await;

    assert!(!std::path::Path::new(&format!("/proc/{}", running.trim())).exists(), "raise answers when all has ended");
    within(rig.script.connected(&started.control(), false)).await;
    within(rig.script.connected(&Scope::Data(chat), false)).await;
    assert!(asked.await.unwrap().is_err());
    let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
    assert_eq!((&status["stop"], &status["connected"]), (&json!("raised"), &json!(false)));
    assert_eq!(started.stop().await, Some(0));

    let status: Value = serde_json::from_str(&rig.expect(3, &["status", "--json"]).await).unwrap();
    assert_eq!(status["stop"], "raised");
    let frames = rig.script.frames(0).len();
    let mut command = rig.command(&["start", "--headless", "--enable-shell"]);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    // It listens for the command line once it runs; until then it owns the folder and is waited for.
    rig.expect(0, &["policy", "list"]).await;
    assert_eq!(rig.script.frames(0).len(), frames, "a raised bridge dials nobody");
    rig.expect(0, &["lower"]).await;
    within(rig.script.machine()).await;
    std::process::Command::new("kill").args(["-TERM", &child.id().unwrap().to_string()]).status().unwrap();
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(0));
    let stops: Vec<bool> = rig
        .audit()
        .iter()
        .filter(|record| record["op"] == "STOP_ALL")
        .map(|record| record["details"]["raised"].as_bool().unwrap())
        .collect();
    assert_eq!(stops, [true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_engine_is_raised_and_lowered_even_without_a_passphrase() {
    let rig = Rig::new().await;
    let stop = async || {
        let status: Value = serde_json::from_str(&rig.expect(3, &["status", "--json"]).await).unwrap();
        text(&status["stop"])
    };
    let mut raise = rig.command(&["raise"]);
    raise.env_remove("DRAWBRIDGE_KEYCHAIN_PASSPHRASE");
    assert_eq!(rig::finish(raise).await.status.code(), Some(0));
    assert_eq!(stop().await, "raised");
    rig.expect(0, &["lower"]).await;
    assert_eq!(stop().await, "lowered");
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_are_listed_and_forgotten_and_changes_taken_back_without_an_engine() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let (chat, folder) = rig.chat_in(&started, "work").await;
    let file = folder.join("a.txt");
    fs::write(&file, "before").unwrap();
    let write = json!({ "path": file, "content": "after", "encoding": "utf-8" });
    rig.ask(&chat, "FILE_WRITE", write).await.unwrap();
    rig.ask(&chat, "FILE_DELETE", json!({ "path": file })).await.unwrap();
    let running = lines(&rig.expect(0, &["undo", "list", "--json", "--chat", &chat]).await);
    assert_eq!(lines(&rig.expect(0, &["chats", "--json"]).await)[0]["active"], true);
    assert_eq!(started.stop().await, Some(0));

    let stopped = lines(&rig.expect(0, &["undo", "list", "--json"]).await);
    assert_eq!(stopped, running);
    let numbers: Vec<String> = stopped.iter().map(|entry| entry["number"].to_string()).collect();
    let mut words = vec!["undo", "restore"];
    words.extend(numbers.iter().map(String::as_str));
    rig.expect(0, &words).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    rig.expect(1, &["undo", "restore", "4711"]).await;

    let chats = lines(&rig.expect(0, &["chats", "--json"]).await);
    assert_eq!((&chats[0]["session_id"], &chats[0]["active"]), (&json!(chat), &json!(false)));
    rig.expect(1, &["forget", "unknown"]).await;
    rig.expect(0, &["forget", &chat]).await;
    assert!(rig.expect(0, &["chats", "--json"]).await.is_empty());
    rig.expect(0, &["audit", "verify-all"]).await;
    let ops = rig.ops();
    assert!(["UNDO_RESTORED", "POLICY_CHANGED"].iter().all(|op| ops.iter().any(|found| found == op)), "{ops:?}");

    let started = rig.start(&[]).await;
    assert!(rig.script.restore(&chat).await.is_err(), "a forgotten chat's grant is worthless");
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_chat_is_taken_back_beside_an_engine_and_without_one_and_what_cannot_be_is_told() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let (chat, folder) = rig.chat_in(&started, "work").await;
    let at = |name: &str| folder.join(name);
    let write = |name: &str| json!({ "path": at(name), "content": "by the agent", "encoding": "utf-8" });
    fs::write(at("kept"), "before").unwrap();
    fs::write(at("here"), "moved").unwrap();
    rig.ask(&chat, "FILE_WRITE", write("kept")).await.unwrap();
    assert_eq!(rig.expect(0, &["undo", "restore", "--chat", &chat]).await, "1 taken back\n");
    assert_eq!(fs::read_to_string(at("kept")).unwrap(), "before");

    rig.ask(&chat, "FILE_WRITE", write("kept")).await.unwrap();
    rig.ask(&chat, "FILE_MOVE", json!({ "src": at("here"), "dst": at("there") })).await.unwrap();
    rig.ask(&chat, "FILE_WRITE", write("new")).await.unwrap();
    assert_eq!(started.stop().await, Some(0));
    fs::remove_file(at("there")).unwrap();
    assert_eq!(rig.expect(1, &["undo", "restore", "--chat", &chat]).await, "2 taken back\n");

    assert_eq!(fs::read_to_string(at("kept")).unwrap(), "before");
    assert!(!at("new").exists());
    rig.expect(2, &["undo", "restore"]).await;
    rig.expect(2, &["undo", "restore", "1", "--chat", &chat]).await;
    rig.expect(1, &["undo", "restore", "--chat", "no/chat"]).await;
    rig.expect(0, &["audit", "verify-all"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_at_the_terminal_answers_with_the_one_time_secret() {
    let rig = Rig::signed_in().await;
    rig.configure("[consent]\nattach = \"ask\"\nanswer_from_cli = true");
    let secret = rig.dir.path().join("answer-secret");
    let started = rig.start(&["--secret-file", secret.to_str().unwrap()]).await;
    let folder = rig.home().join("asked");
    fs::create_dir(&folder).unwrap();
    let chat = rig.script.new_chat(None);
    let page = rig.script.browse(&started.machine, None, None).await.unwrap();
    let (browse, top) = (text(&page["browse_id"]), text(&page["entries"][0]["directory_ref"]));
    let page = rig.script.browse(&started.machine, Some((&browse, &top)), None).await.unwrap();
    let at =
        text(&page["entries"].as_array().unwrap().iter().find(|one| one["name"] == "asked").unwrap()["directory_ref"]);
    let before = rig.audit().len();
    let (script, machine, its_chat) = (rig.script.clone(), started.machine.clone(), chat.clone());
    let asked = tokio::spawn(async move { script.attach(&machine, &its_chat, &browse, &at).await });
    let id = within(async {
        loop {
            if let Some(prompt) = lines(&rig.expect(0, &["prompts", "--json"]).await).first() {
                break prompt["id"].to_string();
            }
        }
    })
    .await;

    let wrong = rig.dir.path().join("wrong");
    fs::write(&wrong, "0000\n").unwrap();
    rig.expect(1, &["answer", &id, "allow-once", "--secret-file", wrong.to_str().unwrap()]).await;
    // A state of the question that nobody can have read.
    rig.expect(1, &["answer", &format!("{id}.9"), "allow-once", "--secret-file", secret.to_str().unwrap()]).await;
    rig.expect(0, &["answer", &id, "allow-once", "--secret-file", secret.to_str().unwrap()]).await;

    assert_eq!(asked.await.unwrap().unwrap()["allowed_root"], json!(folder));
    assert!(rig.audit()[before..].iter().any(|record| record["op"] == "CONSENT_ANSWERED"));
    let told = fs::read_to_string(&secret).unwrap();
    rig.assert_nothing_in_clear(&[told.trim()], b"");
    assert_eq!(started.stop().await, Some(0));
    assert!(!secret.exists(), "a secret that is worth nothing goes away");
}
