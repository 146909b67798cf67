//! Servers that want a key, and models that are listed and not there.

use std::path::{Path, PathBuf};

use drawbridge_engine::Passphrase;
use drawbridge_testkit::forms;

use super::*;

const KEY: &str = "sk-KEY-marker-5d3e";

fn set_key(url: &str, key: Option<&str>) -> Command {
    Command::SetModelKey { url: url.to_owned(), key: key.map(|key| Passphrase::new(key.to_owned())) }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

/// The key is in no frame, no picture and no file of the state folder, in no form in which it could hide.
fn assert_kept_secret(rig: &Rig, pictures: &[Snapshot]) {
    for frame in rig.script.frames(0) {
        assert!(forms::found(KEY, frame.text.as_bytes()).is_empty(), "it crossed the wire in a {}", frame.kind);
    }
    for picture in pictures {
        assert!(forms::found(KEY, &serde_json::to_vec(picture).unwrap()).is_empty(), "it is in a picture");
        assert!(!format!("{picture:?}").contains(KEY));
    }
    let kept = files_below(&rig.state_dir());
    assert!(kept.iter().any(|file| file.ends_with("audit.log")), "{kept:?}");
    for file in kept {
        let found = forms::found(KEY, &std::fs::read(&file).unwrap_or_default());
        assert!(found.is_empty(), "as {found:?} in {}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_set_used_kept_over_a_restart_and_forgotten_and_seen_nowhere() {
    let script = Script { key: Some(KEY.to_owned()), ..Script::openai().with_models(&["a:1b"]) };
    let server = ModelServer::start(script).await.unwrap();
    let wish = Wish::headless().with(Power::LocalModel, PowerMode::Allowed).at_models(&server.url());
    let mut rig = rig_of(wish.in_a_file()).await;
    let wanted = rig.until(|picture| server_views(picture)[0].trouble.is_some()).await;
    assert!(server_views(&wanted)[0].trouble.as_ref().unwrap().contains("wants a key"), "{wanted:?}");
    let url = format!("{}/v1/", server.url());
    let refused = async |command: Command| rig.handle.send(command).await.unwrap_err();
    assert_eq!(refused(set_key("http://127.0.0.1:2", Some(KEY))).await.code, "unknown_server");
    assert_eq!(refused(set_key("http://me:pw@127.0.0.1:2", None)).await.code, "bad_server");
    // The server of a key may have left the configuration.
    rig.handle.send(set_key("http://127.0.0.1:2", None)).await.unwrap();
    for bad in ["", "sk two", "sk-\u{e9}", "sk-KEY\r\nX: y"] {
        let told = refused(set_key(&url, Some(bad))).await;
        assert!(told.code == "bad_key" && !told.message.contains("sk-"), "{told:?}");
    }
    rig.handle.send(set_key(&url, Some("sk-wrong"))).await.unwrap();
    let wrong = |picture: &Snapshot| {
        server_views(picture)[0].trouble.as_ref().is_some_and(|why| why.contains("refused the key"))
    };
    let told = rig.until(wrong).await;
    assert!(server_views(&told)[0].has_key);

    rig.handle.send(set_key(&url, Some(KEY))).await.unwrap();

    let right = rig.until(|picture| server_views(picture)[0].answers).await;
    assert!(server_views(&right)[0].has_key);
    let (chat, _) = rig.chat_in("project").await;
    assert!(answered_in_time(&rig, &chat).await);
    let bearer = format!("Bearer {KEY}");
    assert!(server.requests().iter().all(|asked| asked.authorization.as_ref() == Some(&bearer)));
    let repeated = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } }).to_string();
    server.next(Answers::status(400, &repeated));
    let failed = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await;
    assert_eq!(failed["code"], "LOCAL_LLM_FAILED");
    let noted: Vec<Value> = rig.audit().into_iter().map(|record| record["details"]["model_key"].clone()).collect();
    assert!(noted.contains(&json!({ "url": server.url(), "set": true })), "{noted:?}");
    assert!(!format!("{:?}", set_key(&url, Some(KEY))).contains(KEY));

    rig.stop().await;
    rig.start_again().await;
    let again = rig.until(|picture| server_views(picture)[0].answers).await;
    rig.handle.send(set_key(&server.url(), None)).await.unwrap();
    let without = rig.until(|picture| server_views(picture)[0].trouble.is_some()).await;
    assert!(!server_views(&without)[0].has_key, "{without:?}");
    rig.stop().await;
    assert_kept_secret(&rig, &[told, right, again, without]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_to_no_other_computer_in_the_clear_and_leaves_with_its_server() {
    let script = Script { key: Some(KEY.to_owned()), ..Script::openai().with_models(&["a:1b"]) };
    let server = ModelServer::start(script).await.unwrap();
    let rig = rig_of(Wish::headless().with(Power::LocalModel, PowerMode::Allowed)).await;
    let add = |url: &str, far: bool| Command::AddModelServer {
        url: url.to_owned(),
        api: "auto".to_owned(),
        far,
        parallel: 1,
    };
    rig.handle.send(add("http://192.0.2.9:8080", true)).await.unwrap();
    let clear = rig.handle.send(set_key("http://192.0.2.9:8080", Some(KEY))).await.unwrap_err();
    assert!(clear.code == "key_in_clear" && clear.message.contains("https"), "{clear:?}");
    rig.handle.send(add("https://192.0.2.9", true)).await.unwrap();
    rig.handle.send(set_key("https://192.0.2.9", Some(KEY))).await.unwrap();

    rig.handle.send(add(&server.url(), false)).await.unwrap();
    rig.handle.send(set_key(&server.url(), Some(KEY))).await.unwrap();
    rig.until(|picture| server_views(picture).iter().any(|one| one.answers && one.has_key)).await;
    rig.handle.send(Command::RemoveModelServer { url: server.url() }).await.unwrap();
    rig.handle.send(add(&server.url(), false)).await.unwrap();

    let own = server.url();
    let of = |picture: &Snapshot| server_views(picture).iter().find(|one| one.url == own).cloned();
    let anew = rig.until(|picture| of(picture).is_some_and(|one| one.trouble.is_some())).await;
    assert!(!of(&anew).unwrap().has_key, "{anew:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_listed_and_not_there_makes_links_say_hello_once() {
    let server = ollama(&["a:1b", "b:2b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    let hellos = |rig: &Rig| {
        let frames = rig.script.frames(0);
        frames.iter().filter(|frame| frame.kind == "HELLO" && frame.scope == scope).count()
    };
    let before = hellos(&rig);
    server.next(Answers::status(404, "{}"));
    let gone = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await;
    assert_eq!(
        (&gone["code"], &gone["details"]["available_models"]),
        (&json!("MODEL_NOT_AVAILABLE"), &json!(["b:2b"]))
    );
    let told = |frame: &FrameRecord| {
        frame.kind == "HELLO" && frame.scope == scope && frame.text.contains("\"local_llm_models\":[\"b:2b\"]")
    };
    rig.script.frame(0, told).await;
    rig.script.connected(&scope, true).await;

    // The first look by hand is worth another try, which fails as well; after that nothing changes any more.
    for _ in 0..2 {
        rig.handle.send(Command::LookAtModels).await.unwrap();
        server.next(Answers::status(404, "{}"));
        let _ = answered(&rig, &chat, ask_for("a:1b", false)).await;
    }
    until_quiet(&rig, &chat, &["b:2b"]).await;
    let settled = hellos(&rig);
    assert!(settled - before <= 3, "{before} to {settled}");
    for _ in 0..10 {
        rig.handle.send(Command::LookAtModels).await.unwrap();
        let refused = answered(&rig, &chat, ask_for("a:1b", false)).await.unwrap_err();
        assert_eq!(refused["code"], "MODEL_NOT_AVAILABLE");
    }
    assert_eq!(hellos(&rig), settled, "a look made a link say HELLO anew");
    let view = rig.handle.snapshot().models.servers[0].models[0].clone();
    assert!(view.missing && !view.offered, "{view:?}");

    server.change(|script| script.models.push(ScriptModel::named("c:3b")));
    until_hello_says(&rig, &chat, &["a:1b", "b:2b", "c:3b"]).await;
    rig.assert_no_faults();
}

/// Waits until the newest HELLO of a chat says these models.
async fn until_quiet(rig: &Rig, chat: &str, models: &[&str]) {
    let scope = Scope::Data(chat.to_owned());
    for _ in 0..500 {
        if hello_of(rig, &scope)["local_llm_models"] == json!(models) {
            rig.script.connected(&scope, true).await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", hello_of(rig, &scope))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_told_as_busy_and_not_as_down() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let busy = Answers::Plain {
        status: 429,
        headers: vec![("retry-after".to_owned(), "9".to_owned())],
        body: "{}".to_owned(),
    };
    server.change(|script| (script.reply, script.listing) = (busy.clone(), busy));

    let refused = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await;
    assert_eq!(refused["code"], "LOCAL_LLM_FAILED");
    assert_eq!(refused["details"]["backend_error"], "the model server is busy; ask again in 9 seconds");
    let id = try_model(&rig, "a:1b", "hello").await.unwrap();
    let tried = until_trial(&rig, id, |now| now.state != "running").await;
    assert_eq!(tried.problem.as_deref(), Some("The model server is busy; ask again in 9 seconds."));
    rig.handle.send(Command::LookAtModels).await.unwrap();

    let picture = rig.handle.snapshot();
    assert!(server_views(&picture)[0].answers && server_views(&picture)[0].models[0].offered, "{picture:?}");
    assert!(offers_models(&hello_of(&rig, &Scope::Data(chat))));
}
