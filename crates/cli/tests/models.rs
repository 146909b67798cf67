//! Local models from the command line: with an engine that runs, and without one.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where its ground is missing"
)]

mod rig;

use std::process::Stdio;

use drawbridge_practice::model::{ModelServer, Reply, Script, Step};
use rig::{Rig, Started, finish, said, within};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn server() -> ModelServer {
    ModelServer::start(Script::ollama().with_models(&["a:1b", "b:2b"])).await.unwrap()
}

/// A rig whose configuration names this server, with an engine that may ask it.
async fn started(server: &ModelServer) -> (Rig, Started) {
    let rig = Rig::signed_in().await;
    rig.configure(&format!("ollama_url = \"{}\"", server.url()));
    let started = rig.start(&["--enable-local-llm"]).await;
    (rig, started)
}

/// The first HELLO on the control link that names models: on a busy machine one may go before it without any.
async fn hello_with_models(rig: &Rig, started: &Started) -> Value {
    let scope = started.control();
    let named = rig.script.frame(0, |frame| {
        frame.kind == "HELLO" && frame.scope == scope && !frame.text.contains("\"local_llm_models\":[]")
    });
    serde_json::from_str(&within(named).await.text).unwrap()
}

fn only(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_engine_tells_what_its_servers_have_and_who_asked() {
    let server = server().await;
    server.next(Reply::pieces(&["one\n", "two"]));
    let (rig, started) = started(&server).await;
    let hello = hello_with_models(&rig, &started).await;
    assert_eq!(hello["payload"]["local_llm_models"], json!(["a:1b", "b:2b"]));

    let answer = rig.expect(0, &["models", "try", "a:1b", "say two lines"]).await;
    assert_eq!(answer, "one\ntwo\n");

    let told = only(&rig.expect(0, &["models", "--json"]).await);
    assert_eq!((&told["running"], &told["power"], &told["stop"]), (&json!(true), &json!("allowed"), &json!("lowered")));
    assert_eq!(told["servers"][0]["url"], server.url());
    assert_eq!(told["servers"][0]["models"][1]["name"], "b:2b");
    assert_eq!((&told["uses"][0]["model"], &told["uses"][0]["session_id"]), (&json!("a:1b"), &Value::Null));
    let words = rig.expect(0, &["models"]).await;
    assert!(words.contains(&server.url()) && words.contains("b:2b") && words.contains("used: a:1b by you"), "{words}");
    assert!(rig.ops().contains(&"LOCAL_LLM_COMPLETION".to_owned()));
    rig.assert_nothing_in_clear(&["say two lines"], words.as_bytes());
    let doctor = rig.expect(0, &["doctor"]).await;
    assert!(doctor.contains("OK    local_model_server"), "{doctor}");

    // Servers are added in the window while an engine runs; removing only takes away.
    let refused = rig.run(&["models", "add", "http://127.0.0.1:1"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("window"), "{}", said(&refused));
    let unknown = rig.run(&["models", "remove", &server.url()]).await;
    assert_eq!(unknown.status.code(), Some(1));
    assert!(said(&unknown).contains("configuration"), "{}", said(&unknown));
    rig.expect(0, &["models", "find", "--json"]).await;
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_may_come_by_standard_input_and_a_failure_is_told() {
    let server = server().await;
    server.next(Reply::Steps(vec![Step::text("half"), Step::Cut]));
    let (rig, started) = started(&server).await;

    let mut child = rig.command(&["models", "try", "a:1b", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all("what is\nin here".as_bytes()).await.unwrap();
    drop(stdin);
    let output = within(child.wait_with_output()).await.unwrap();

    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(String::from_utf8(output.stdout.clone()).unwrap(), "half\n");
    assert!(!said(&output).is_empty());
    let chat = server.requests().into_iter().find(|asked| asked.path == "/api/chat").unwrap();
    assert_eq!(chat.body["messages"], json!([{ "role": "user", "content": "what is\nin here" }]));

    let unknown = rig.run(&["models", "try", "zebra", "hello"]).await;
    assert_eq!(unknown.status.code(), Some(1));
    assert!(said(&unknown).contains("zebra"), "{}", said(&unknown));
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_stops_the_try_at_the_server() {
    let server = server().await;
    server.next(Reply::Steps(vec![Step::text("begun"), Step::Hold, Step::finish("stop")]));
    let (rig, started) = started(&server).await;

    let mut child = rig.command(&["models", "try", "a:1b", "hello"]).spawn().unwrap();
    let mut printed = [0_u8; 5];
    within(child.stdout.as_mut().unwrap().read_exact(&mut printed)).await.unwrap();
    assert_eq!(&printed, b"begun");
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = within(child.wait_with_output()).await.unwrap();

    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("stopped"), "{}", said(&output));
    within(server.until_hung_up(1)).await;
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_nobody_is_asked_and_servers_are_kept_for_the_next_one() {
    let server = server().await;
    let rig = Rig::signed_in().await;
    rig.configure("ollama_url = \"http://127.0.0.1:1\"");
    let own = server.url();
    let told = rig.expect(3, &["models"]).await;
    assert!(told.contains("not running") && told.contains("http://127.0.0.1:1"), "{told}");
    for words in [&["models", "find"][..], &["models", "try", "a:1b", "hello"]] {
        assert_eq!(rig.run(words).await.status.code(), Some(1), "{words:?}");
    }

    rig.expect(0, &["models", "add", &format!("{own}/"), "--api", "ollama", "--parallel", "2"]).await;
    let refused = rig.run(&["models", "add", "http://192.0.2.1:8080"]).await;
    assert!(refused.status.code() == Some(1) && said(&refused).contains("another computer"), "{}", said(&refused));
    assert!(said(&refused).contains("--far"), "{}", said(&refused));
    let unsaid = rig.run(&["models", "add", "http://192.0.2.1:8080", "--far"]).await;
    assert!(unsaid.status.code() == Some(1) && said(&unsaid).contains("--yes"), "{}", said(&unsaid));
    rig.expect(0, &["models", "add", "http://192.0.2.1:8080", "--far", "--yes"]).await;
    for wrong in [&["models", "add", "http://127.0.0.1:1", "--parallel", "99"][..], &["models", "add"]] {
        assert_eq!(rig.run(wrong).await.status.code(), Some(2), "{wrong:?}");
    }
    let told = only(&rig.expect(3, &["models", "--json"]).await);
    let servers: Vec<_> = told["servers"].as_array().unwrap().iter().map(|one| (&one["url"], &one["far"])).collect();
    let (first, own_url, far) = (json!("http://127.0.0.1:1"), json!(own), json!("http://192.0.2.1:8080"));
    assert_eq!(servers, [(&first, &json!(false)), (&own_url, &json!(false)), (&far, &json!(true))]);
    assert_eq!((&told["running"], &told["servers"][1]["parallel"]), (&json!(false), &json!(2)));
    assert_eq!(server.requests(), []);

    rig.expect(0, &["models", "remove", "http://192.0.2.1:8080/"]).await;
    assert_eq!(rig.run(&["models", "remove", "http://192.0.2.1:8080"]).await.status.code(), Some(1));
    let started = rig.start(&["--enable-local-llm"]).await;
    let hello = hello_with_models(&rig, &started).await;
    assert_eq!(hello["payload"]["local_llm_models"], json!(["a:1b", "b:2b"]));
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_the_first_server_and_the_file_further_ones() {
    let (first, second) = (server().await, ModelServer::start(Script::openai().with_models(&["c"])).await.unwrap());
    let rig = Rig::signed_in().await;
    rig.configure(&format!("[models]\nfar = [\"{}\"]", second.url()));
    let mut command = rig.command(&["start", "--headless", "--enable-local-llm"]);
    command.env("DRAWBRIDGE_OLLAMA_URL", first.url()).stdout(Stdio::null()).stderr(rig.log());
    let child = command.spawn().unwrap();
    let machine = within(rig.script.machine()).await;
    let started = Started { child, machine };

    let hello = hello_with_models(&rig, &started).await;

    assert_eq!(hello["payload"]["local_llm_models"], json!(["a:1b", "b:2b", "c"]));
    assert!(hello["payload"]["capabilities"].as_array().unwrap().contains(&json!("local_llm")));
    assert_eq!(started.stop().await, Some(0));
    let mut doctor = rig.command(&["doctor"]);
    doctor.env("DRAWBRIDGE_OLLAMA_URL", first.url());
    let output = finish(doctor).await;
    // The power is a flag of that start alone, so the check-up asks nobody.
    assert!(!String::from_utf8_lossy(&output.stdout).contains("local_model_server"));
}

const KEY: &str = "sk-KEY-marker-77d0";

/// An engine that writes everything into its log that it and its libraries ever tell.
async fn started_telling_all(rig: &Rig) -> Started {
    let mut command = rig.command(&["start", "--headless", "--enable-local-llm"]);
    command.env("DRAWBRIDGE_LOG", "trace,hyper=trace,hyper_util=trace").stdout(Stdio::null()).stderr(rig.log());
    let child = command.spawn().unwrap();
    let machine = within(rig.script.machine()).await;
    Started { child, machine }
}

/// Runs the program with this on its standard input.
async fn told(rig: &Rig, words: &[&str], input: &str) -> std::process::Output {
    let mut child = rig.command(words).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may end without reading it.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    within(child.wait_with_output()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_from_standard_input_to_its_server_and_into_nothing_that_can_be_read() {
    let script = Script { key: Some(KEY.to_owned()), ..Script::openai().with_models(&["a:1b"]) };
    let server = ModelServer::start(script).await.unwrap();
    let url = server.url();
    let rig = Rig::signed_in().await;
    rig.configure("ollama_url = \"http://127.0.0.1:1\"");
    let mut printed = Vec::new();
    let refused = [
        (&["models", "key", &url, "--stdin"][..], KEY, "Add it first"),
        (&["models", "add", &url, "--key-stdin"], "sk two words", "blanks"),
        (&["models", "add", &url, "--key-stdin"], "", "No key"),
        (&["models", "add", "http://192.0.2.1:1", "--far", "--yes", "--key-stdin"], KEY, "https"),
    ];
    for (words, input, why) in refused {
        let output = told(&rig, words, input).await;
        assert!(output.status.code() == Some(1) && said(&output).contains(why), "{words:?}: {}", said(&output));
        printed.extend(output.stderr);
    }
    assert_eq!(
        only(&rig.expect(3, &["models", "--json"]).await)["servers"].as_array().unwrap().len(),
        1,
        "none was added"
    );

    let added = told(&rig, &["models", "add", &url, "--key-stdin"], &format!("{KEY}\n")).await;
    assert_eq!(added.status.code(), Some(0), "{}", said(&added));
    let changed = told(&rig, &["models", "key", &url, "--stdin"], "sk-another").await;
    assert_eq!(changed.status.code(), Some(0), "{}", said(&changed));
    let started = started_telling_all(&rig).await;
    let wrong = rig.expect(0, &["models"]).await;
    assert!(wrong.contains("a key is set") && wrong.contains("refused the key"), "{wrong}");
    let in_window = told(&rig, &["models", "key", &url, "--stdin"], KEY).await;
    assert!(in_window.status.code() == Some(1) && said(&in_window).contains("window"), "{}", said(&in_window));
    assert_eq!(started.stop().await, Some(0));

    assert_eq!(told(&rig, &["models", "key", &url, "--stdin"], KEY).await.status.code(), Some(0));
    let started = started_telling_all(&rig).await;
    let words = rig.expect(0, &["models"]).await;
    assert!(words.contains("a:1b") && !words.contains("refused"), "{words}");
    rig.expect(0, &["models", "try", "a:1b", "hello"]).await;
    let bearer = format!("Bearer {KEY}");
    assert!(server.requests().iter().all(|asked| asked.authorization.as_ref() == Some(&bearer)));
    let picture = rig.expect(0, &["models", "--json"]).await;
    assert_eq!(only(&picture)["servers"][1]["has_key"], json!(true));

    // Taking back only narrows, so the command line may, also while the engine runs.
    rig.expect(0, &["models", "key", &url, "--forget"]).await;
    let without = rig.expect(0, &["models"]).await;
    assert!(without.contains("wants a key") && !without.contains("a key is set"), "{without}");
    assert_eq!(started.stop().await, Some(0));
    for output in [&added, &changed, &in_window] {
        printed.extend([output.stdout.as_slice(), output.stderr.as_slice()].concat());
    }
    printed.extend([wrong, words, picture, without].concat().into_bytes());
    rig.assert_nothing_in_clear(&[KEY, "sk-another", "sk two words"], &printed);
    assert!(rig.audit().iter().any(|record| record["details"]["model_key"] == json!({ "url": url, "set": true })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_removed_takes_its_key_along() {
    let script = Script { key: Some(KEY.to_owned()), ..Script::openai().with_models(&["a:1b"]) };
    let server = ModelServer::start(script).await.unwrap();
    let url = server.url();
    let rig = Rig::signed_in().await;
    rig.configure("ollama_url = \"http://127.0.0.1:1\"");
    for running in [false, true] {
        assert_eq!(told(&rig, &["models", "add", &url, "--key-stdin"], KEY).await.status.code(), Some(0));
        let started = if running { Some(rig.start(&["--enable-local-llm"]).await) } else { None };
        rig.expect(0, &["models", "remove", &url]).await;
        if let Some(started) = started {
            assert_eq!(started.stop().await, Some(0));
        }
        rig.expect(0, &["models", "add", &url]).await;
        let started = rig.start(&["--enable-local-llm"]).await;
        let words = rig.expect(0, &["models"]).await;
        assert!(words.contains("wants a key") && !words.contains("a key is set"), "{running}: {words}");
        assert_eq!(started.stop().await, Some(0));
        rig.expect(0, &["models", "remove", &url]).await;
    }
}
