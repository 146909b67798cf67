//! A bare machine for the platform's tests: real sockets, no code of the client.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::wildcard_enum_match_arm)]

use drawbridge_practice::{Clocks, ConsentMode, Failure, Practice, PracticeOptions};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::{Error, Message, client::IntoClientRequest as _};

pub type Ws = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;
pub const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-taken-0123456789";

pub async fn platform() -> Practice {
    Practice::start(PracticeOptions { consent: ConsentMode::Allow, ..PracticeOptions::default() }).await.unwrap()
}

pub async fn code(p: &Practice) -> String {
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

pub async fn token(p: &Practice, form: Value) -> (u16, Value) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = http.post(format!("{}/api/oauth/token", p.base_url())).form(&form).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

pub fn exchange(code: &str) -> Value {
    json!({"grant_type": "authorization_code", "code": code, "redirect_uri": "http://localhost:41899/callback", "client_id": "autogpt-local-executor", "code_verifier": VERIFIER})
}

pub fn refresh(token: &Value) -> Value {
    json!({"grant_type": "refresh_token", "refresh_token": token, "client_id": "autogpt-local-executor"})
}

pub async fn signed_in(p: &Practice) -> Value {
    token(p, exchange(&code(p).await)).await.1
}

pub async fn dial(p: &Practice, path: &str, access: &str) -> Result<Ws, u16> {
    let mut request = format!("{}/ws/local-executor{path}", p.ws_url()).into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {access}").parse().unwrap());
    match tokio_tungstenite::connect_async(request).await {
        Ok((ws, _)) => Ok(ws),
        Err(Error::Http(answer)) => Err(answer.status().as_u16()),
        Err(other) => panic!("{other}"),
    }
}

pub fn hello() -> Value {
    json!({"type": "HELLO", "id": "h1", "version": "1.1", "payload": {"machine_id": "m1", "platform": "linux", "arch": "x86_64", "protocol_version": "1.1", "capabilities": ["files", "hardware_usb", "directory_browse"], "hardware_devices": [{"type": "usb", "vid": "2341", "pid": "0043", "desc": "Arduino Uno"}], "allowed_root": null}})
}

pub fn roots() -> Value {
    json!({"browse_id": "b", "current": null, "parent_ref": null, "entries": [], "next_cursor": null, "truncated": false, "expires_at": 2_000_000_000.0})
}

pub async fn say(ws: &mut Ws, frame: &Value) {
    ws.send(Message::text(frame.to_string())).await.unwrap();
}

pub async fn hear(ws: &mut Ws) -> Value {
    match ws.next().await.unwrap().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        Message::Close(frame) => json!({"close": u16::from(frame.unwrap().code)}),
        other => panic!("{other:?}"),
    }
}

pub async fn up(p: &Practice, access: &str) -> Ws {
    let mut ws = dial(p, "", access).await.unwrap();
    say(&mut ws, &hello()).await;
    assert_eq!(hear(&mut ws).await["payload"]["granted_capabilities"], json!(["files", "directory_browse"]));
    ws
}

/// A platform with these clocks, which allows every sign-in.
pub async fn with(clocks: Clocks) -> Practice {
    Practice::start(PracticeOptions { clocks, consent: ConsentMode::Allow, ..PracticeOptions::default() })
        .await
        .unwrap()
}

/// Signs in; the access token.
pub async fn access(p: &Practice) -> String {
    signed_in(p).await["access_token"].as_str().unwrap().to_owned()
}

/// The record of a chat whose folder is `/home/ann/work`.
pub fn record(chat: &str) -> Value {
    json!({"session_id": chat, "allowed_root": "/home/ann/work", "fingerprint": "a".repeat(64), "revision": 1, "root_grant": "v1.a.b"})
}

/// The record as SESSION_ACTIVATED repeats it.
pub fn activated(chat: &str) -> Value {
    let mut record = record(chat);
    record.as_object_mut().unwrap().remove("root_grant");
    record
}

/// Answers the next request with this type and payload; gives the request.
pub async fn answer(ws: &mut Ws, kind: &str, payload: Value) -> Value {
    let asked = hear(ws).await;
    say(ws, &json!({"type": kind, "id": asked["id"], "payload": payload, "pending_capacity": 4})).await;
    asked
}

/// Attaches `/home/ann/work` to a new chat of that id.
pub async fn attach(p: &Practice, ws: &mut Ws, chat: &str) {
    let (script, id) = (p.script(), p.script().new_chat(Some(chat)));
    let attaching = tokio::spawn(async move { script.attach("m1", &id, "b", "d").await });
    answer(ws, "SESSION_ATTACHED", record(chat)).await;
    attaching.await.unwrap().unwrap();
}

/// Opens the data socket of a chat with the folder of [`record`].
pub async fn data(p: &Practice, access: &str, chat: &str) -> Ws {
    let mut ws = dial(p, &format!("/{chat}"), access).await.unwrap();
    let mut frame = hello();
    frame["payload"]["allowed_root"] = json!("/home/ann/work");
    say(&mut ws, &frame).await;
    assert_eq!(hear(&mut ws).await["payload"]["session_id"], chat);
    ws
}

/// Sends a request from the platform in the background.
pub fn ask<T: Send + 'static>(
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> JoinHandle<Result<T, Failure>> {
    tokio::spawn(work)
}
