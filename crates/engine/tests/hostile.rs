//! A platform that wants to do harm by how it sends, not by what it asks for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod rig;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drawbridge_engine::view::{AccountState, LinkState};
use drawbridge_engine::{Command, Engine, EngineOptions, Reply};
use futures_util::{SinkExt as _, StreamExt as _};
use rig::{Rig, Wish, until};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;

const TOKENS: &str = r#"{"token_type":"Bearer","access_token":"a","refresh_token":"r","expires_in":3600}"#;

type Link = WebSocketStream<TcpStream>;

/// What the token address answers, one after the other; tokens afterwards. And what token a link must bring.
#[derive(Default)]
struct Manner {
    token_answers: Mutex<VecDeque<&'static str>>,
    wants: Mutex<Option<&'static str>>,
    asked: AtomicUsize,
}

/// Gives tokens, shakes hands, and hands each open link over.
fn platform(manner: Arc<Manner>) -> (String, mpsc::Receiver<Link>) {
    let socket = TcpSocket::new_v4().unwrap();
    // Little lies on the way to somebody who does not read.
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(16).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (links, opened) = mpsc::channel(8);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, manner.clone(), links.clone()));
        }
    });
    (url, opened)
}

async fn answer(mut stream: TcpStream, manner: Arc<Manner>, links: mpsc::Sender<Link>) {
    let mut first = [0_u8; 4];
    while stream.peek(&mut first).await.unwrap() < first.len() {}
    if &first == b"POST" {
        let mut request = [0_u8; 4096];
        let _ = stream.read(&mut request).await;
        manner.asked.fetch_add(1, Ordering::SeqCst);
        let ours = manner.token_answers.lock().unwrap().pop_front();
        let whole = || {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", TOKENS.len());
            format!("{head}{TOKENS}")
        };
        stream.write_all(ours.map_or_else(whole, str::to_owned).as_bytes()).await.unwrap();
        return;
    }
    #[expect(clippy::result_large_err, reason = "the library wants it so")]
    let judge = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        let wanted = *manner.wants.lock().unwrap();
        match wanted {
            Some(token) if request.headers()["Authorization"] != format!("Bearer {token}") => {
                let mut refused = ErrorResponse::new(None);
                *refused.status_mut() = StatusCode::UNAUTHORIZED;
                Err(refused)
            }
            Some(_) | None => Ok(response),
        }
    };
    let Ok(mut link) = tokio_tungstenite::accept_hdr_async(stream, judge).await else { return };
    let hello: Value = serde_json::from_str(link.next().await.unwrap().unwrap().to_text().unwrap()).unwrap();
    let ack = json!({ "type": "HELLO_ACK", "id": hello["id"], "ts": 1.0, "version": "1.1", "payload": {
        "session_id": null, "connection_id": "c-1", "protocol_version": "1.1",
        "granted_capabilities": hello["payload"]["capabilities"], "max_concurrent": 4 } });
    link.send(Message::text(ack.to_string())).await.unwrap();
    let _ = links.send(link).await;
}

/// An engine that is signed in at such a platform.
struct Desk {
    engine: Engine,
    opened: mpsc::Receiver<Link>,
    _state: TempDir,
}

impl Desk {
    async fn open(manner: Arc<Manner>) -> Self {
        let mut rig = Rig::start(Wish::headless()).await;
        rig.stop().await;
        let (url, opened) = platform(manner);
        let state = TempDir::new().unwrap();
        let mut options = EngineOptions { platform_url: url, ..rig.options() };
        options.folders.state = state.path().join("state");
        options.folders.logs = state.path().join("state");
        let engine = Engine::start(options).await.unwrap();
        let Reply::AuthorizeUrl { url } = engine.handle().send(Command::SignIn).await.unwrap() else {
            panic!("no page")
        };
        let page = reqwest::Url::parse(&url).unwrap();
        let value = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
        let back = format!("{}?code=x&state={}", value("redirect_uri"), value("state"));
        reqwest::get(&back).await.unwrap();
        Self { engine, opened, _state: state }
    }
}

fn ping(number: usize) -> Message {
    Message::text(
        json!({ "type": "PING", "id": format!("p-{number}"), "ts": 1.0, "version": "1.1", "payload": {} }).to_string(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_asks_and_does_not_listen_is_not_read_any_more() {
    let mut desk = Desk::open(Arc::default()).await;
    let handle = desk.engine.handle();
    let (mut write, mut read) = desk.opened.recv().await.unwrap().split();
    until(&handle, |picture| picture.link.state == LinkState::Connected).await;

    // What the two systems keep on the way is some megabytes; the rest would lie in our memory.
    let mut sent = 0_usize;
    while tokio::time::timeout(Duration::from_secs(2), write.send(ping(sent))).await.is_ok_and(|sent| sent.is_ok()) {
        sent += 1;
        assert!(sent < 400_000, "all of it was taken in");
    }

    // Once it listens, every sign of life has its answer.
    let (count, mut taken) = tokio::sync::watch::channel(0_usize);
    let reader = tokio::spawn(async move {
        while let Some(Ok(frame)) = read.next().await {
            let signs = usize::from(frame.to_text().is_ok_and(|text| text.contains("\"PONG\"")));
            count.send_modify(|all| *all += signs);
        }
    });
    tokio::time::timeout(Duration::from_secs(60), taken.wait_for(|all| *all >= sent)).await.unwrap().unwrap();
    assert_eq!(handle.snapshot().link.state, LinkState::Connected);
    desk.engine.stop();
    desk.engine.wait().await;
    reader.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_address_that_fails_for_a_while_signs_nobody_out() {
    let manner = Arc::new(Manner::default());
    manner.token_answers.lock().unwrap().push_back(
        "HTTP/1.1 200 OK\r\nContent-Length: 55\r\n\r\n{\"access_token\":\"old\",\"refresh_token\":\"r0\",\"x\":\"12345\"}",
    );
    let mut desk = Desk::open(manner.clone()).await;
    let handle = desk.engine.handle();
    let link = desk.opened.recv().await.unwrap();
    until(&handle, |picture| picture.link.state == LinkState::Connected).await;

    // The access token ends while the token address is not well in all the ways that pass.
    *manner.wants.lock().unwrap() = Some("a");
    manner.token_answers.lock().unwrap().extend([
        "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 429 Slow\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"access_token\":",
        "HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n<title>Back soon.</title>",
        "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
        "",
    ]);
    drop(link);

    desk.opened.recv().await.unwrap();
    let now = until(&handle, |picture| picture.link.state == LinkState::Connected).await;
    assert_eq!(now.account.state, AccountState::SignedIn);
    assert_eq!(manner.asked.load(Ordering::SeqCst), 8);
    desk.engine.stop();
    desk.engine.wait().await;
}
