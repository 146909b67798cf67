//! The platform's own checks, seen by a bare client over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::wildcard_enum_match_arm, missing_docs)]

use drawbridge_practice::{Clocks, ConsentMode, Failure, Practice, PracticeOptions, Refusal, Scope, Switches};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_tungstenite::tungstenite::{Error, Message, client::IntoClientRequest as _};

type Ws = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;
const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-taken-0123456789";

async fn platform() -> Practice {
    Practice::start(PracticeOptions { consent: ConsentMode::Allow, ..PracticeOptions::default() }).await.unwrap()
}

async fn code(p: &Practice) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(VERIFIER));
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let url = format!(
        "{}/auth/authorize?response_type=code&client_id=autogpt-local-executor&redirect_uri=http://localhost:41899/callback&scope=USE_TOOLS&code_challenge={challenge}&code_challenge_method=S256&state=s1",
        p.base_url()
    );
    let answer = http.get(url).send().await.unwrap();
    assert_eq!(answer.status(), 303);
    let to = answer.headers()["location"].to_str().unwrap().to_owned();
    to.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned()
}

async fn token(p: &Practice, form: Value) -> (u16, Value) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = http.post(format!("{}/api/oauth/token", p.base_url())).form(&form).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

fn exchange(code: &str) -> Value {
    json!({"grant_type": "authorization_code", "code": code, "redirect_uri": "http://localhost:41899/callback", "client_id": "autogpt-local-executor", "code_verifier": VERIFIER})
}

fn refresh(token: &Value) -> Value {
    json!({"grant_type": "refresh_token", "refresh_token": token, "client_id": "autogpt-local-executor"})
}

async fn signed_in(p: &Practice) -> Value {
    token(p, exchange(&code(p).await)).await.1
}

async fn dial(p: &Practice, path: &str, access: &str) -> Result<Ws, u16> {
    let mut request = format!("{}/ws/local-executor{path}", p.ws_url()).into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {access}").parse().unwrap());
    match tokio_tungstenite::connect_async(request).await {
        Ok((ws, _)) => Ok(ws),
        Err(Error::Http(answer)) => Err(answer.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

fn hello() -> Value {
    json!({"type": "HELLO", "id": "h1", "version": "1.1", "payload": {"machine_id": "m1", "platform": "linux", "arch": "x86_64", "protocol_version": "1.1", "capabilities": ["files", "hardware_usb", "directory_browse"], "allowed_root": null}})
}

fn roots() -> Value {
    json!({"browse_id": "b", "current": null, "parent_ref": null, "entries": [], "next_cursor": null, "truncated": false, "expires_at": 2_000_000_000.0})
}

async fn say(ws: &mut Ws, frame: &Value) {
    ws.send(Message::text(frame.to_string())).await.unwrap();
}

async fn hear(ws: &mut Ws) -> Value {
    match ws.next().await.unwrap().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        Message::Close(frame) => json!({"close": u16::from(frame.unwrap().code)}),
        other => panic!("{other:?}"),
    }
}

async fn up(p: &Practice, access: &str) -> Ws {
    let mut ws = dial(p, "", access).await.unwrap();
    say(&mut ws, &hello()).await;
    assert_eq!(hear(&mut ws).await["payload"]["granted_capabilities"], json!(["files", "directory_browse"]));
    ws
}

#[tokio::test]
async fn a_code_is_used_once_and_needs_its_verifier() {
    let p = platform().await;
    let mut wrong = exchange(&code(&p).await);
    wrong["code_verifier"] = json!("x".repeat(50));
    assert_eq!(token(&p, wrong).await.0, 400);
    let right = exchange(&code(&p).await);
    assert_eq!(token(&p, right.clone()).await.0, 200);
    assert_eq!(token(&p, right).await.0, 400);
}

#[tokio::test]
async fn an_old_refresh_token_ends_the_family_and_its_sockets() {
    let p = platform().await;
    let first = signed_in(&p).await;
    let mut ws = up(&p, first["access_token"].as_str().unwrap()).await;
    let (status, second) = token(&p, refresh(&first["refresh_token"])).await;
    assert_eq!(status, 200);
    assert_eq!(token(&p, refresh(&first["refresh_token"])).await.0, 400);
    assert_eq!(hear(&mut ws).await["payload"]["reason"], "user_revoked");
    assert_eq!(hear(&mut ws).await["close"], 4428);
    assert_eq!(token(&p, refresh(&second["refresh_token"])).await.0, 400);
}

#[tokio::test]
async fn upgrades_are_refused_by_token_chat_and_script() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    assert_eq!(dial(&p, "", "nonsense").await.unwrap_err(), 401);
    assert_eq!(dial(&p, "/no-such-chat", &access).await.unwrap_err(), 403);
    p.script().switches(Switches {
        refuse_upgrade: Some(Refusal { status: 429, times: 1, retry_after: Some(7) }),
        ..Switches::default()
    });
    assert_eq!(dial(&p, "", &access).await.unwrap_err(), 429);
    up(&p, &access).await;
}

#[tokio::test]
async fn each_wrong_hello_is_closed_with_its_code() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    let mut cases = vec![(json!("not an object"), 4400), (json!({"type": "PONG", "id": "1", "payload": {}}), 4400)];
    for (key, value, code) in [
        ("allowed_root", json!("/x"), 4400),
        ("arch", json!("vax"), 4400),
        ("protocol_version", json!("2.0"), 4426),
        ("protocol_version", json!("1.0"), 4426),
        ("capabilities", json!(["files"]), 4426),
        ("shim_version", json!("x".repeat(70_000)), 4400),
    ] {
        let mut frame = hello();
        frame["payload"][key] = value;
        cases.push((frame, code));
    }
    for (frame, code) in cases {
        let mut ws = dial(&p, "", &access).await.unwrap();
        say(&mut ws, &frame).await;
        assert_eq!(hear(&mut ws).await["close"], code, "{}", frame.to_string().chars().take(200).collect::<String>());
    }
}

#[tokio::test]
async fn silence_instead_of_hello_is_closed_with_4408() {
    let clocks = Clocks { hello: Duration::from_millis(20), ..Clocks::default() };
    let p = Practice::start(PracticeOptions { clocks, consent: ConsentMode::Allow, ..PracticeOptions::default() })
        .await
        .unwrap();
    let mut ws = dial(&p, "", signed_in(&p).await["access_token"].as_str().unwrap()).await.unwrap();
    assert_eq!(hear(&mut ws).await["close"], 4408);
}

#[tokio::test]
async fn the_older_connection_of_a_machine_is_evicted() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    let mut old = up(&p, &access).await;
    let _new = up(&p, &access).await;
    assert_eq!(hear(&mut old).await["payload"]["reason"], "another_shim_connected");
    assert_eq!(hear(&mut old).await["close"], 4427);
}

#[tokio::test]
async fn an_answer_is_matched_and_a_second_one_is_a_fault() {
    let p = platform().await;
    let mut ws = up(&p, signed_in(&p).await["access_token"].as_str().unwrap()).await;
    let script = p.script();
    let machine = script.machine().await;
    let asking = tokio::spawn(async move { script.browse(&machine, None, None).await });
    let asked = hear(&mut ws).await;
    let answer =
        json!({"type": "DIRECTORY_LIST_RESPONSE", "id": asked["id"], "payload": roots(), "pending_capacity": 4});
    say(&mut ws, &answer).await;
    assert_eq!(asking.await.unwrap().unwrap()["entries"], json!([]));
    assert!(p.script().faults().is_empty());
    say(&mut ws, &answer).await;
    p.script().connected(&Scope::Control("m1".to_owned()), false).await;
    assert_eq!(p.script().faults()[0].kind, "stray_response");
}

#[tokio::test]
async fn a_wrong_capacity_is_a_fault() {
    let p = platform().await;
    let mut ws = up(&p, signed_in(&p).await["access_token"].as_str().unwrap()).await;
    let script = p.script();
    let asking = tokio::spawn(async move { script.browse("m1", None, None).await });
    let asked = hear(&mut ws).await;
    say(
        &mut ws,
        &json!({"type": "ERROR", "id": asked["id"], "payload": {"code": "INTERNAL_ERROR"}, "pending_capacity": 3}),
    )
    .await;
    assert!(matches!(asking.await.unwrap(), Err(Failure::Refused { .. })));
    p.script().machine().await;
    assert_eq!(p.script().faults().iter().filter(|f| f.kind == "capacity").count(), 1);
}

#[tokio::test]
async fn expired_tokens_close_sockets_with_4401() {
    let p = platform().await;
    let mut ws = up(&p, signed_in(&p).await["access_token"].as_str().unwrap()).await;
    p.script().expire_access_tokens();
    assert_eq!(hear(&mut ws).await["close"], 4401);
}

#[tokio::test]
async fn foreign_pages_and_calls_without_the_token_are_refused() {
    let p = platform().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = || http.post(format!("{}/api/practice/chat", p.base_url())).body("{}");
    assert_eq!(call().send().await.unwrap().status(), 401);
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        let answer = call().header("origin", origin).header("x-practice-token", p.api_token()).send().await.unwrap();
        assert_eq!(answer.status(), 403, "{origin}");
    }
    assert_eq!(
        call().header("host", "evil.example").header("x-practice-token", p.api_token()).send().await.unwrap().status(),
        403
    );
    assert_eq!(call().header("x-practice-token", p.api_token()).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_data_socket_must_name_the_folder_of_the_grant() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    let mut ws = up(&p, &access).await;
    let chat = p.script().new_chat(Some("chat-1"));
    let script = p.script();
    let attaching = tokio::spawn(async move { script.attach("m1", &chat, "b", "d").await });
    let asked = hear(&mut ws).await;
    let record = json!({"session_id": "chat-1", "allowed_root": "/home/ann/work", "fingerprint": "a".repeat(64), "revision": 1, "root_grant": "v1.a.b"});
    say(&mut ws, &json!({"type": "SESSION_ATTACHED", "id": asked["id"], "payload": record, "pending_capacity": 4}))
        .await;
    attaching.await.unwrap().unwrap();
    let mut frame = hello();
    frame["payload"]["allowed_root"] = json!("/home/ann/other");
    let mut data = dial(&p, "/chat-1", &access).await.unwrap();
    say(&mut data, &frame).await;
    assert_eq!(hear(&mut data).await["close"], 4403);
    assert_eq!(p.script().faults()[0].kind, "root_mismatch");
    frame["payload"]["allowed_root"] = json!("/home/ann/work");
    let mut data = dial(&p, "/chat-1", &access).await.unwrap();
    say(&mut data, &frame).await;
    assert_eq!(hear(&mut data).await["payload"]["session_id"], "chat-1");
}
