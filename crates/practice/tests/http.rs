//! The script over HTTP, as a test of a binary in another process and the console page use it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::wildcard_enum_match_arm, missing_docs)]

mod machine;

use drawbridge_practice::{ConsentMode, Practice, PracticeOptions};
use futures_util::StreamExt as _;
use machine::*;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

/// One call; status and answer.
async fn call(p: &Practice, name: &str, body: Value) -> (u16, Value) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/practice/{name}", p.base_url());
    let answer = http.post(url).header("x-practice-token", p.api_token()).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn get(p: &Practice, path: &str) -> Value {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/practice/{path}", p.base_url());
    http.get(url).header("x-practice-token", p.api_token()).send().await.unwrap().json().await.unwrap()
}

/// Makes a call while the machine answers with this.
async fn answered(p: &Practice, ws: &mut Ws, name: &str, body: Value, kind: &str, payload: Value) -> (u16, Value) {
    let ((), answer) = tokio::join!(async { drop(answer(ws, kind, payload).await) }, call(p, name, body));
    answer
}

#[tokio::test]
async fn a_whole_chat_can_be_played_over_http() {
    let p = platform().await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    let control = json!({"control": "m1"});
    assert_eq!(call(&p, "connected", json!({"scope": control, "up": true})).await, (200, json!({})));
    assert_eq!(call(&p, "chat", json!({"session_id": "c1"})).await, (200, json!({"session_id": "c1"})));

    let page = answered(&p, &mut ws, "browse", json!({"machine_id": "m1"}), "DIRECTORY_LIST_RESPONSE", roots()).await;
    assert_eq!(page, (200, roots()));
    let attach = json!({"machine_id": "m1", "session_id": "c1", "browse_id": "b", "directory_ref": "d"});
    let attached = answered(&p, &mut ws, "attach", attach, "SESSION_ATTACHED", record("c1")).await;
    assert_eq!(attached, (200, record("c1")));
    let mut socket = data(&p, &access, "c1").await;
    let id = json!({"session_id": "c1"});
    let active = answered(&p, &mut ws, "activate", id.clone(), "SESSION_ACTIVATED", activated("c1")).await;
    assert_eq!(active, (200, activated("c1")));
    let restored = answered(&p, &mut ws, "restore", id.clone(), "SESSION_RESTORED", record("c1")).await;
    assert_eq!(restored, (200, record("c1")));

    let read = json!({"scope": {"data": "c1"}, "type": "FILE_READ", "payload": {"path": "a"}, "retry": false});
    let (status, reply) = answered(&p, &mut socket, "request", read, "FILE_CONTENTS", json!({"content": "x"})).await;
    assert_eq!((status, &reply["type"], &reply["payload"]["content"]), (200, &json!("FILE_CONTENTS"), &json!("x")));
    assert_eq!(reply["pending_capacity"], 4);
    let write =
        json!({"session_id": "c1", "type": "FILE_WRITE", "payload": {"path": "a", "content": "y".repeat(5_000_000)}});
    let refusal = json!({"code": "CAPABILITY_NOT_GRANTED", "message": "no"});
    let (status, reply) = answered(&p, &mut socket, "operate", write, "ERROR", refusal).await;
    assert_eq!((status, &reply["failure"]), (409, &json!("refused")));
    assert_eq!(reply["reply"]["payload"]["code"], "CAPABILITY_NOT_GRANTED");

    let (status, reply) = answered(&p, &mut ws, "detach", id, "ACK", json!({})).await;
    assert_eq!((status, &reply["type"]), (200, &json!("ACK")));
    let (status, reply) = answered(&p, &mut ws, "ping", json!({"scope": control}), "PONG", json!({})).await;
    assert_eq!((status, &reply["type"]), (200, &json!("PONG")));
    let state = get(&p, "state?since=0&max=2").await;
    assert_eq!(state["chats"]["c1"]["grant"], record("c1"));
    assert_eq!(state["frames"].as_array().unwrap().len(), 2);
    assert_eq!(state["faults"], json!([]));
}

#[tokio::test]
async fn sockets_are_driven_over_http() {
    let p = platform().await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    let scope = json!({"control": "m1"});
    let done = (200, json!({}));
    assert_eq!(call(&p, "send", json!({"scope": scope, "text": "{"})).await, done);
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::text("{"));
    assert_eq!(call(&p, "send", json!({"scope": scope, "base64": "AQID"})).await, done);
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::binary(vec![1, 2, 3]));
    assert_eq!(call(&p, "send", json!({"scope": scope, "base64": "?"})).await.0, 409);

    assert_eq!(call(&p, "stall", json!({"scope": scope, "on": true})).await, done);
    assert_eq!(call(&p, "stall", json!({"scope": scope, "on": false})).await, done);
    let after = get(&p, "state").await["last_frame"].clone();
    let wait = json!({"after": after, "scope": scope, "from_machine": true, "type": "STATUS", "id": "s9"});
    let status = json!({"type": "STATUS", "id": "s9", "payload": {"pending_capacity": 4}});
    let ((), (code, frame)) = tokio::join!(say(&mut ws, &status), call(&p, "frame", wait));
    assert_eq!((code, &frame["kind"], &frame["binary"]), (200, &json!("STATUS"), &json!(false)));
    let never = call(&p, "frame", json!({"type": "NEVER", "limit_ms": 10})).await;
    assert_eq!(never, (409, json!({"failure": "timed_out"})));

    assert_eq!(call(&p, "close", json!({"scope": scope, "code": 4500, "reason": "fault"})).await, done);
    assert_eq!(hear(&mut ws).await["close"], 4500);
    assert_eq!(call(&p, "connected", json!({"scope": scope, "up": false})).await, done);
    assert_eq!(call(&p, "cut", json!({"scope": scope})).await, (409, json!({"failure": "not_connected"})));
    let mut ws = up(&p, &access).await;
    assert_eq!(call(&p, "cut", json!({"scope": scope})).await, done);
    while let Some(Ok(message)) = ws.next().await {
        assert!(!message.is_close());
    }

    let mut ws = up(&p, &access).await;
    assert_eq!(call(&p, "expire", json!({})).await, done);
    assert_eq!(hear(&mut ws).await["close"], 4401);
    let mut ws = up(&p, &machine::access(&p).await).await;
    assert_eq!(call(&p, "revoke_all", json!({})).await, done);
    assert_eq!(hear(&mut ws).await["payload"]["reason"], "user_revoked");
}

#[tokio::test]
async fn switches_and_faults_are_set_and_cleared_over_http() {
    let p = platform().await;
    assert_eq!(call(&p, "switches", json!({"close_on_accept": 4500})).await.0, 200);
    let mut ws = dial(&p, "", &access(&p).await).await.unwrap();
    assert_eq!(hear(&mut ws).await["close"], 4500);
    let (status, wrong) = call(&p, "switches", json!({"close_on_except": 4500})).await;
    assert_eq!((status, &wrong["failure"]), (409, &json!("unknown")));
    assert_eq!(call(&p, "switches", json!({})).await.0, 200);
    assert_eq!(get(&p, "state").await["switches"]["close_on_accept"], Value::Null);

    let mut ws = dial(&p, "", &access(&p).await).await.unwrap();
    say(&mut ws, &json!({"type": "HELLO", "id": "1", "payload": {}})).await;
    assert_eq!(hear(&mut ws).await["close"], 4400);
    assert_eq!(get(&p, "state").await["faults"][0]["kind"], "bad_hello");
    assert_eq!(call(&p, "clear_faults", json!({})).await.0, 200);
    assert_eq!(get(&p, "state").await["faults"], json!([]));
    assert_eq!(call(&p, "no_such_call", json!({})).await.0, 409);
}

#[tokio::test]
async fn events_answer_at_once_when_something_changed_meanwhile() {
    let p = platform().await;
    let version = get(&p, "state").await["version"].as_u64().unwrap();
    p.script().new_chat(Some("c1"));
    let state = get(&p, &format!("events?since=0&version={version}")).await;
    assert_eq!(state["chats"]["c1"]["machine_id"], Value::Null);
    assert!(state["version"].as_u64().unwrap() > version);
}

#[tokio::test]
async fn the_sign_in_page_asks_once_and_carries_the_answer_back() {
    let p = Practice::start(PracticeOptions::default()).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let url = format!(
        "{}/auth/authorize?response_type=code&client_id=autogpt-local-executor&redirect_uri=http://localhost:41901/callback&scope=USE_TOOLS&code_challenge={}&code_challenge_method=S256&state=s%261",
        p.base_url(),
        "x".repeat(43)
    );
    let ask = || async {
        let page = http.get(&url).send().await.unwrap();
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self' http://localhost:*"));
        let text = page.text().await.unwrap();
        text.split("name=\"ticket\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let decide = |ticket: String, decision: &'static str| {
        let form = json!({"ticket": ticket, "decision": decision});
        http.post(format!("{}/auth/decide", p.base_url())).form(&form).send()
    };

    let ticket = ask().await;
    let denied = decide(ticket.clone(), "deny").await.unwrap();
    let to = "http://localhost:41901/callback?error=access_denied&state=s%261";
    assert_eq!((denied.status().as_u16(), denied.headers()["location"].to_str().unwrap()), (303, to));
    assert_eq!(decide(ticket, "allow").await.unwrap().status(), 400);
    let allowed = decide(ask().await, "allow").await.unwrap();
    assert!(allowed.headers()["location"].to_str().unwrap().starts_with("http://localhost:41901/callback?code="));

    let elsewhere = url.replace("localhost:41901", "localhost:8080");
    assert_eq!(http.get(elsewhere).send().await.unwrap().status(), 400);
    p.script().consent(ConsentMode::Deny);
    let refused = http.get(&url).send().await.unwrap();
    assert_eq!(refused.headers()["location"].to_str().unwrap(), to);
}

#[tokio::test]
async fn the_console_works_at_its_bare_address() {
    let p =
        Practice::start(PracticeOptions { api_token: Some("a\"b<c".to_owned()), ..Default::default() }).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let page = http.get(p.base_url()).send().await.unwrap();
    assert_eq!(page.headers()["cache-control"], "no-store");
    assert!(page.text().await.unwrap().contains("content=\"a&quot;b&lt;c\""));
    let scripts =
        ["console.js", "answers.js", "folders.js", "files.js", "screen.js", "desk.js", "models.js", "operations.js"];
    for (path, kind) in scripts.map(|s| (s, "text/javascript")).into_iter().chain([("console.css", "text/css")]) {
        let answer = http.get(format!("{}/{path}", p.base_url())).send().await.unwrap();
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with(kind));
    }
    assert_eq!(http.get(format!("{}/no-such.js", p.base_url())).send().await.unwrap().status(), 404);
    let away = http.get(p.base_url()).header("host", format!("rebound.example:{}", 80)).send().await.unwrap();
    assert_eq!(away.status(), 403);
}

#[tokio::test]
async fn it_answers_to_a_further_host_name_and_tells_the_time_it_is_told_to() {
    let extra_hosts = vec!["platform.test".to_owned()];
    let p = Practice::start(PracticeOptions { extra_hosts, ..Default::default() }).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |host: &str, origin: &str| {
        let request = http.get(p.base_url()).header("host", host).header("origin", origin);
        request.send().await.unwrap()
    };
    let clock_of = |answer: &reqwest::Response| {
        let date = answer.headers()["date"].to_str().unwrap();
        jiff::fmt::rfc2822::parse(date).unwrap().timestamp().as_second() - jiff::Timestamp::now().as_second()
    };

    let right = ask("platform.test", "https://platform.test").await;
    assert_eq!(right.status(), 200);
    assert!(clock_of(&right).abs() <= 60);
    for (host, origin) in [
        ("elsewhere.test", "https://elsewhere.test"),
        ("platform.test", "http://platform.test"),
        ("platform.test", "https://elsewhere.test"),
        ("platform.test:80", "https://platform.test"),
    ] {
        assert_eq!(ask(host, origin).await.status(), 403, "{host} {origin}");
    }

    assert_eq!(call(&p, "switches", json!({ "clock_ahead_s": 86_400 })).await.0, 200);
    let wrong = ask("platform.test", "https://platform.test").await;
    assert!((clock_of(&wrong) - 86_400).abs() <= 60);
}
