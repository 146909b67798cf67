//! The local model and private files, as an agent asks for them: what is sent, what is taken part by part, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod machine;

use std::time::Duration;

use drawbridge_practice::model::{ModelServer, Script};
use drawbridge_practice::{Beside, Clocks, Failure, Heard, Practice, PracticeOptions, Scope};
use machine::*;
use serde_json::{Value, json};

const STUB: &str = "stub_5b0c2f6e-1111-4222-8333-444455556666";

fn models_hello() -> Value {
    let mut frame = hello();
    frame["payload"]["capabilities"] = json!(["files", "directory_browse", "local_llm"]);
    frame["payload"]["local_llm_models"] = json!(["llama3.2:3b"]);
    frame["payload"]["hardware_devices"] = json!([]);
    frame
}

/// A platform with a machine that offers a model, and the socket of its chat.
async fn at_work_with(clocks: Clocks) -> (Practice, Ws, Ws) {
    let p = with(clocks).await;
    let access = access(&p).await;
    let mut control = dial(&p, "", &access).await.unwrap();
    let mut frame = models_hello();
    say(&mut control, &frame).await;
    let granted = &hear(&mut control).await["payload"]["granted_capabilities"];
    assert_eq!(*granted, json!(["files", "directory_browse", "local_llm"]));
    attach(&p, &mut control, "c1").await;
    let mut socket = dial(&p, "/c1", &access).await.unwrap();
    frame["payload"]["allowed_root"] = json!("/home/ann/work");
    frame["payload"]["capabilities"] = json!(["files", "local_llm"]);
    say(&mut socket, &frame).await;
    assert_eq!(hear(&mut socket).await["payload"]["granted_capabilities"], json!(["files", "local_llm"]));
    (p, control, socket)
}

async fn at_work() -> (Practice, Ws, Ws) {
    at_work_with(Clocks::default()).await
}

fn completion() -> Value {
    json!({"model": "llama3.2:3b", "messages": [{"role": "user", "content": "Hi"}], "stream": true})
}

fn part(delta: &str, finish: Option<&str>) -> Value {
    json!({"delta": delta, "finish_reason": finish})
}

fn response(content: &str, finish: &str) -> Value {
    json!({"content": content, "finish_reason": finish, "tokens": {"prompt": 1, "completion": 2, "total": 3}, "duration_seconds": 0.5})
}

fn turn() -> Value {
    json!({"model": "llama3.2:3b", "task": "Count the rows.", "stub_refs": [STUB]})
}

fn turned(output: &str) -> Value {
    json!({"output": output, "finish_reason": "stop", "tokens_used": null, "duration_seconds": 0.5, "model": "llama3.2:3b"})
}

fn stub() -> Value {
    json!({"mode": "stub", "path": "/home/ann/work/data.csv", "size_bytes": 14, "mime_type": "text/csv",
        "sha256": "a".repeat(64), "schema_preview": "", "stub_id": STUB})
}

/// Sends frames of one request: parts without capacity, the end with it.
async fn tell(ws: &mut Ws, id: &Value, frames: &[(&str, Value)]) {
    for (kind, payload) in frames {
        let mut frame = json!({"type": kind, "id": id, "payload": payload});
        if !kind.ends_with("_CHUNK") {
            frame["pending_capacity"] = json!(4);
        }
        say(ws, &frame).await;
    }
}

const CHUNK: &str = "LOCAL_LLM_COMPLETION_CHUNK";
const RESPONSE: &str = "LOCAL_LLM_COMPLETION_RESPONSE";
const TURN_CHUNK: &str = "LOCAL_LLM_TURN_CHUNK";
const TURN_RESPONSE: &str = "LOCAL_LLM_TURN_RESPONSE";

fn whole() -> Vec<(&'static str, Value)> {
    vec![
        (CHUNK, part("Hel", None)),
        (CHUNK, part("lo", None)),
        (CHUNK, part("", Some("stop"))),
        (RESPONSE, response("Hello", "stop")),
    ]
}

/// The agent asks over HTTP, line by line; the machine answers with these frames. The lines.
async fn asked(p: &Practice, ws: &mut Ws, kind: &str, payload: &Value, frames: &[(&str, Value)]) -> Vec<Value> {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/practice/ask", p.base_url());
    let body = json!({"session_id": "c1", "type": kind, "payload": payload});
    let call = async {
        let answer = http.post(url).header("x-practice-token", p.api_token()).json(&body).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
        answer.text().await.unwrap()
    };
    let work = async {
        let got = hear(ws).await;
        assert_eq!((&got["type"], &got["payload"]), (&json!(kind), payload));
        tell(ws, &got["id"], frames).await;
    };
    let (text, ()) = tokio::join!(call, work);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_streamed_answer_comes_line_by_line_and_then_whole() {
    let (p, _control, mut ws) = at_work().await;

    let lines = asked(&p, &mut ws, "LOCAL_LLM_COMPLETION", &completion(), &whole()).await;

    let [hel, lo, last, end] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(hel["part"], part("Hel", None));
    assert_eq!(lo["part"], part("lo", None));
    assert_eq!(last["part"], part("", Some("stop")));
    assert_eq!((&end["end"]["type"], &end["end"]["payload"]), (&json!(RESPONSE), &response("Hello", "stop")));
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

#[tokio::test]
async fn an_answer_in_one_piece_has_no_parts() {
    let (p, _control, mut ws) = at_work().await;
    let mut payload = completion();
    payload["stream"] = json!(false);
    let answer = [(RESPONSE, response("Hello", "length"))];

    let lines = asked(&p, &mut ws, "LOCAL_LLM_COMPLETION", &payload, &answer).await;

    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["end"]["payload"]["content"], "Hello");
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

#[tokio::test]
async fn a_private_file_is_described_and_asked_about() {
    let (p, _control, mut ws) = at_work().await;
    let read = json!({"path": "data.csv", "mode": "stub"});

    let described = asked(&p, &mut ws, "FILE_READ", &read, &[("FILE_CONTENTS", stub())]).await;
    assert_eq!(described[0]["end"]["payload"], stub());

    let frames = [
        (TURN_CHUNK, json!({"delta": "12 "})),
        (TURN_CHUNK, json!({"delta": "rows"})),
        (TURN_RESPONSE, turned("12 rows")),
    ];
    let lines = asked(&p, &mut ws, "LOCAL_LLM_TURN", &turn(), &frames).await;
    assert_eq!((lines.len(), &lines[2]["end"]["payload"]["output"]), (3, &json!("12 rows")));
    let silent = [(TURN_RESPONSE, turned("12 rows"))];
    assert_eq!(asked(&p, &mut ws, "LOCAL_LLM_TURN", &turn(), &silent).await.len(), 1);
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

#[tokio::test]
async fn refusals_come_back_with_their_details_also_after_parts() {
    let (p, _control, mut ws) = at_work().await;
    for (kind, payload, code, details) in [
        (
            "LOCAL_LLM_COMPLETION",
            completion(),
            "MODEL_NOT_AVAILABLE",
            json!({"requested_model": "x", "available_models": ["llama3.2:3b"]}),
        ),
        ("LOCAL_LLM_COMPLETION", completion(), "LOCAL_LLM_BUSY", json!({"requested_model": "llama3.2:3b"})),
        ("LOCAL_LLM_COMPLETION", completion(), "LOCAL_LLM_FAILED", json!({"backend_error": "connection refused"})),
        ("LOCAL_LLM_TURN", turn(), "STUB_STALE", json!({"stub_id": STUB, "reason": "changed"})),
        ("FILE_READ", json!({"path": "x"}), "PRIVACY_MODE_BLOCKED", json!({"path": "x", "reason": "privacy_mode"})),
    ] {
        let error = json!({"code": code, "message": "no", "fatal": false, "details": details});
        let lines = asked(&p, &mut ws, kind, &payload, &[("ERROR", error.clone())]).await;
        assert_eq!((&lines[0]["failure"], &lines[0]["reply"]["payload"]), (&json!("refused"), &error));
    }
    let failed =
        json!({"code": "LOCAL_LLM_FAILED", "message": "no", "details": {"backend_error": "stream ended early"}});
    let frames = [(CHUNK, part("Hel", None)), ("ERROR", failed)];
    let lines = asked(&p, &mut ws, "LOCAL_LLM_COMPLETION", &completion(), &frames).await;
    assert_eq!((&lines[0]["part"]["delta"], &lines[1]["failure"]), (&json!("Hel"), &json!("refused")));
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

#[tokio::test]
async fn an_agent_waits_for_a_model_longer_than_for_anything_else() {
    let (p, _control, mut ws) = at_work_with(Clocks { data: Duration::from_millis(20), ..Clocks::default() }).await;
    let (script, chat) = (p.script(), Scope::Data("c1".to_owned()));
    let mut answer = script.ask(&chat, "LOCAL_LLM_COMPLETION", completion(), None).await.unwrap();
    let asked = hear(&mut ws).await;

    // Another request was asked later and is given up before.
    let read = script.request_once(&chat, "FILE_READ", json!({"path": "x"}), None).await;
    assert_eq!(read, Err(Failure::TimedOut));
    let _ = hear(&mut ws).await;
    for (kind, mut payload) in whole() {
        if kind == RESPONSE {
            payload["tokens"] = json!({"prompt": null, "completion": null, "total": null});
        }
        say(&mut ws, &json!({"type": kind, "id": asked["id"], "payload": payload, "pending_capacity": if kind == RESPONSE { json!(3) } else { Value::Null }})).await;
    }

    let mut parts = 0;
    let reply = loop {
        match answer.next().await.unwrap() {
            Heard::Part(_) => parts += 1,
            Heard::End(end) => break end.unwrap().reply,
        }
    };
    assert_eq!((parts, &reply.payload["content"]), (3, &json!("Hello")));
    assert!(answer.next().await.is_none());
    assert!(script.faults().is_empty(), "{:?}", script.faults());
}

#[tokio::test]
async fn a_model_that_says_nothing_is_given_up_in_the_end() {
    let (p, _control, mut ws) = at_work_with(Clocks { model: Duration::from_millis(20), ..Clocks::default() }).await;
    let (script, chat) = (p.script(), Scope::Data("c1".to_owned()));
    let answer = script.request(&chat, "LOCAL_LLM_TURN", turn(), None);
    let (answer, asked) = tokio::join!(answer, hear(&mut ws));
    assert_eq!((answer, &asked["type"]), (Err(Failure::TimedOut), &json!("LOCAL_LLM_TURN")));
}

#[tokio::test]
async fn the_end_of_the_connection_ends_an_answer() {
    let (p, _control, mut ws) = at_work().await;
    let mut answer =
        p.script().ask(&Scope::Data("c1".to_owned()), "LOCAL_LLM_COMPLETION", completion(), None).await.unwrap();
    let asked = hear(&mut ws).await;
    tell(&mut ws, &asked["id"], &[(CHUNK, part("Hel", None))]).await;
    assert_eq!(answer.next().await, Some(Heard::Part(part("Hel", None))));

    drop(ws);

    assert_eq!(answer.next().await, Some(Heard::End(Err(Failure::Disconnected))));
}

#[tokio::test]
async fn two_answers_at_once_do_not_mix() {
    let (p, _control, mut ws) = at_work().await;
    let (script, chat) = (p.script(), Scope::Data("c1".to_owned()));
    let first = script.ask(&chat, "LOCAL_LLM_COMPLETION", completion(), None).await.unwrap();
    let second = script.ask(&chat, "LOCAL_LLM_TURN", turn(), None).await.unwrap();
    let (a, b) = (hear(&mut ws).await, hear(&mut ws).await);

    tell(&mut ws, &a["id"], &[(CHUNK, part("one", None))]).await;
    tell(&mut ws, &b["id"], &[(TURN_CHUNK, json!({"delta": "two"}))]).await;
    tell(&mut ws, &a["id"], &[(CHUNK, part("", Some("stop")))]).await;
    say(&mut ws, &json!({"type": TURN_RESPONSE, "id": b["id"], "payload": turned("two"), "pending_capacity": 3})).await;
    tell(&mut ws, &a["id"], &[(RESPONSE, response("one", "stop"))]).await;

    assert_eq!(first.whole().await.unwrap().1.payload["content"], "one");
    let (parts, reply) = second.whole().await.unwrap();
    assert_eq!((parts.len(), &reply.payload["output"]), (1, &json!("two")));
    assert!(script.faults().is_empty(), "{:?}", script.faults());
}

/// A value with one member set to something else.
fn but(mut value: Value, at: &str, other: Value) -> Value {
    value[at] = other;
    value
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_parts_or_its_question_is_a_fault() {
    let (p, _control, mut ws) = at_work().await;
    let ask = "LOCAL_LLM_COMPLETION";
    let silent = but(completion(), "stream", json!(false));
    let read = json!({"path": "x"});
    let private = json!({"path": "x", "mode": "stub"});
    let content = json!({"content": "secret", "encoding": "utf-8", "size_bytes": 6, "truncated": false});
    let said = |parts: &[(&str, Option<&str>)], end: Value| {
        let mut frames: Vec<(&str, Value)> =
            parts.iter().map(|(delta, finish)| (CHUNK, part(delta, *finish))).collect();
        frames.push((RESPONSE, end));
        frames
    };
    let one = |kind: &'static str, payload: Value| vec![(kind, payload)];
    for (kind, asked_for, frames, fault) in [
        (ask, completion(), said(&[("a", None)], response("a", "stop")), "order"),
        (ask, completion(), said(&[], response("a", "stop")), "order"),
        (ask, completion(), said(&[("a", None), ("", Some("stop"))], response("b", "stop")), "parts"),
        (ask, completion(), said(&[("a", None), ("", Some("stop"))], response("a", "content_filter")), "parts"),
        (ask, completion(), said(&[("a", Some("stop")), ("b", None)], response("ab", "stop")), "order"),
        (ask, completion(), said(&[("", None), ("", Some("stop"))], response("", "stop")), "bounds"),
        (ask, completion(), said(&[("", Some("done"))], response("", "stop")), "bounds"),
        (ask, silent.clone(), said(&[("a", None), ("", Some("stop"))], response("a", "stop")), "order"),
        (ask, silent.clone(), one(RESPONSE, response("a", "over")), "bounds"),
        (ask, silent.clone(), one(RESPONSE, but(response("a", "stop"), "content", json!(null))), "bounds"),
        (ask, silent.clone(), one(RESPONSE, but(response("a", "stop"), "duration_seconds", json!("1"))), "bounds"),
        (ask, silent.clone(), one(RESPONSE, but(response("a", "stop"), "tokens", json!({}))), "bounds"),
        (
            ask,
            silent.clone(),
            one(RESPONSE, but(response("a", "stop"), "tokens", json!({"prompt": 1, "completion": 2, "total": 4}))),
            "bounds",
        ),
        (ask, silent, one(RESPONSE, but(response("a", "stop"), "prompt", json!("secret"))), "bounds"),
        ("LOCAL_LLM_TURN", turn(), vec![(TURN_CHUNK, json!({"delta": "a"})), (TURN_RESPONSE, turned("b"))], "parts"),
        ("LOCAL_LLM_TURN", turn(), vec![(TURN_CHUNK, part("a", None)), (TURN_RESPONSE, turned("a"))], "bounds"),
        ("LOCAL_LLM_TURN", turn(), one(TURN_RESPONSE, but(turned("a"), "model", json!(""))), "bounds"),
        ("FILE_READ", private.clone(), one("FILE_CONTENTS", content), "privacy"),
        ("FILE_READ", read, one("FILE_CONTENTS", stub()), "wrong_type"),
        (
            "FILE_READ",
            private.clone(),
            one("FILE_CONTENTS", but(stub(), "schema_preview", json!("AAAA".repeat(86)))),
            "bounds",
        ),
        ("FILE_READ", private.clone(), one("FILE_CONTENTS", but(stub(), "content", json!("secret"))), "bounds"),
        ("FILE_READ", private.clone(), one("FILE_CONTENTS", but(stub(), "sha256", json!("A"))), "bounds"),
        ("FILE_READ", private, one("FILE_CONTENTS", but(stub(), "stub_id", json!("stub_1"))), "bounds"),
        (
            ask,
            completion(),
            one("ERROR", json!({"code": "MODEL_NOT_AVAILABLE", "message": "x", "details": {}})),
            "bounds",
        ),
        (
            ask,
            completion(),
            one(
                "ERROR",
                json!({"code": "LOCAL_LLM_FAILED", "message": "x", "details": {"backend_error": "x".repeat(201)}}),
            ),
            "bounds",
        ),
    ] {
        p.script().clear_faults();
        let _ = asked(&p, &mut ws, kind, &asked_for, &frames).await;
        let faults = p.script().faults();
        assert!(faults.iter().any(|found| found.kind == fault), "{frames:?}: {faults:?}");
        assert!(faults.iter().all(|found| !found.text.contains("secret")), "{faults:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_reaches_no_agent() {
    let (p, _control, mut ws) = at_work().await;
    let content = json!({"content": "secret", "encoding": "utf-8", "size_bytes": 6, "truncated": false});
    let private = json!({"path": "x", "mode": "stub"});

    let lines = asked(&p, &mut ws, "FILE_READ", &private, &[("FILE_CONTENTS", content)]).await;

    assert_eq!(lines[0]["failure"], "mismatch");
    assert!(!lines[0].to_string().contains("secret"));
}

#[tokio::test]
async fn a_text_that_no_frame_holds_may_be_shorter_than_its_parts_when_it_says_so() {
    let (p, _control, mut ws) = at_work().await;
    let frames = [(CHUNK, part("abc", None)), (CHUNK, part("", Some("stop"))), (RESPONSE, response("ab", "length"))];
    asked(&p, &mut ws, "LOCAL_LLM_COMPLETION", &completion(), &frames).await;
    assert!(p.script().faults().is_empty(), "{:?}", p.script().faults());
}

#[tokio::test]
async fn a_part_with_a_capacity_is_a_fault() {
    let (p, _control, mut ws) = at_work().await;
    let asked = tokio::spawn({
        let script = p.script();
        async move { script.operate("c1", "LOCAL_LLM_COMPLETION", completion(), None).await }
    });
    let got = hear(&mut ws).await;
    let chunk = json!({"type": CHUNK, "id": got["id"], "payload": part("Hello", None), "pending_capacity": 3});
    say(&mut ws, &chunk).await;
    tell(&mut ws, &got["id"], &whole()[2..]).await;
    asked.await.unwrap().unwrap();
    assert_eq!(p.script().faults().len(), 1);
    assert_eq!(p.script().faults()[0].kind, "capacity");
}

#[tokio::test]
async fn parts_that_nobody_waits_for_cost_the_connection() {
    for (kind, payload, frames, fault) in [
        ("LOCAL_LLM_COMPLETION", completion(), [whole(), vec![(CHUNK, part("late", None))]].concat(), "stray_response"),
        ("LOCAL_LLM_COMPLETION", completion(), vec![(TURN_CHUNK, json!({"delta": "x"}))], "wrong_type"),
        ("LOCAL_LLM_TURN", turn(), vec![(CHUNK, part("x", None))], "wrong_type"),
        ("FILE_READ", json!({"path": "x"}), vec![(CHUNK, part("x", None))], "wrong_type"),
        ("LOCAL_LLM_COMPLETION", completion(), vec![(TURN_RESPONSE, turned("x"))], "wrong_type"),
    ] {
        let (p, _control, mut ws) = at_work().await;
        let _asked = p.script().ask(&Scope::Data("c1".to_owned()), kind, payload, None).await.unwrap();
        let got = hear(&mut ws).await;

        tell(&mut ws, &got["id"], &frames).await;

        p.script().connected(&Scope::Data("c1".to_owned()), false).await;
        let faults = p.script().faults();
        assert_eq!((faults.len(), faults[0].kind.as_str()), (1, fault), "{faults:?}");
    }
}

#[tokio::test]
async fn models_and_devices_of_a_greeting_are_looked_at_and_devices_are_never_granted() {
    let p = with(Clocks::default()).await;
    let access = access(&p).await;
    let device = |fields: Value| json!([fields]);
    for (capabilities, models, devices, why) in [
        (json!(["local_llm", "directory_browse"]), json!([]), json!([]), "local_llm"),
        (json!(["directory_browse"]), json!(["m"]), json!([]), "local_llm"),
        (json!(["local_llm", "directory_browse"]), json!(["m", "m"]), json!([]), "twice"),
        (json!(["local_llm", "directory_browse"]), json!(["x".repeat(201)]), json!([]), "no request could carry"),
        (json!(["hardware_gpio", "directory_browse"]), json!([]), json!([]), "hardware_gpio"),
        (
            json!(["directory_browse"]),
            json!([]),
            device(json!({"type": "gpio", "chip": "gpiochip0", "desc": "x"})),
            "hardware_gpio",
        ),
        (
            json!(["hardware_usb", "directory_browse"]),
            json!([]),
            device(json!({"type": "usb", "vid": "2341", "pid": "43", "desc": "x"})),
            "vid or pid",
        ),
        (
            json!(["hardware_serial", "directory_browse"]),
            json!([]),
            device(json!({"type": "serial", "port": "/dev/ttyUSB0", "desc": "x", "serial_number": "A1"})),
            "serial_number",
        ),
        (json!(["directory_browse"]), json!([]), device(json!({"type": "camera"})), "no known type"),
    ] {
        p.script().clear_faults();
        let mut ws = dial(&p, "", &access).await.unwrap();
        let mut frame = hello();
        frame["payload"]["capabilities"] = capabilities;
        frame["payload"]["local_llm_models"] = models;
        frame["payload"]["hardware_devices"] = devices;
        say(&mut ws, &frame).await;
        // The server takes it all the same.
        assert_eq!(hear(&mut ws).await["type"], "HELLO_ACK");
        let faults = p.script().faults();
        assert!(faults.iter().any(|found| found.kind == "offers" && found.text.contains(why)), "{why}: {faults:?}");
    }
    p.script().clear_faults();
    let mut ws = dial(&p, "", &access).await.unwrap();
    let mut frame = models_hello();
    frame["payload"]["capabilities"] =
        json!(["directory_browse", "local_llm", "hardware_serial", "hardware_usb", "hardware_gpio"]);
    frame["payload"]["hardware_devices"] = json!([
        {"type": "serial", "port": "COM3", "desc": "Arduino Uno"},
        {"type": "usb", "vid": "2341", "pid": "0043", "desc": "Arduino Uno"},
        {"type": "gpio", "chip": "gpiochip0", "desc": "header"},
    ]);
    say(&mut ws, &frame).await;
    let granted = &hear(&mut ws).await["payload"]["granted_capabilities"];
    assert_eq!(*granted, json!(["directory_browse", "local_llm"]));
    let faults = p.script().faults();
    assert!(faults.iter().all(|found| found.kind != "offers"), "{faults:?}");
}

#[tokio::test]
async fn a_practice_model_comes_along_where_it_is_wanted_and_nobody_has_one() {
    let beside = |beside| Practice::start(PracticeOptions { beside, ..PracticeOptions::default() });
    let own = ModelServer::start(Script::default()).await.unwrap();
    let nobody = {
        let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", gone.local_addr().unwrap())
    };

    assert_eq!(beside(Beside::Nothing).await.unwrap().model_url(), None);
    assert_eq!(beside(Beside::ModelUnless(own.url())).await.unwrap().model_url(), None);
    for wanted in [Beside::Model, Beside::ModelUnless(nobody), Beside::ModelUnless("no address".to_owned())] {
        let p = beside(wanted.clone()).await.unwrap();
        let url = p.model_url().unwrap();
        let tags = reqwest::Client::builder().no_proxy().build().unwrap().get(format!("{url}/api/tags"));
        let tags: Value = tags.send().await.unwrap().json().await.unwrap();
        assert_eq!(tags["models"][0]["name"], "practice-model", "{wanted:?}");
    }
}
