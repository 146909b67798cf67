//! A platform that wants to do harm by how it sends, not by what it asks for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod rig;

use std::sync::Arc;
use std::time::Duration;

use drawbridge_engine::view::LinkState;
use drawbridge_engine::{Command, Engine, EngineOptions, Reply};
use futures_util::{SinkExt as _, StreamExt as _};
use rig::{Rig, Wish, until};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

const TOKENS: &str = r#"{"token_type":"Bearer","access_token":"a","refresh_token":"r","expires_in":3600}"#;

type Link = WebSocketStream<TcpStream>;

/// Gives tokens to everybody, shakes hands, and hands each open link over.
async fn platform() -> (String, mpsc::Receiver<Link>) {
    let socket = TcpSocket::new_v4().unwrap();
    // Little lies on the way to somebody who does not read.
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(16).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (links, opened) = mpsc::channel(8);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, links.clone()));
        }
    });
    (url, opened)
}

async fn answer(mut stream: TcpStream, links: mpsc::Sender<Link>) {
    let mut first = [0_u8; 4];
    while stream.peek(&mut first).await.unwrap() < first.len() {}
    if &first == b"POST" {
        let mut request = [0_u8; 4096];
        let _ = stream.read(&mut request).await;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", TOKENS.len());
        stream.write_all(format!("{head}{TOKENS}").as_bytes()).await.unwrap();
        return;
    }
    let mut link = tokio_tungstenite::accept_async(stream).await.unwrap();
    let hello: Value = serde_json::from_str(link.next().await.unwrap().unwrap().to_text().unwrap()).unwrap();
    let ack = json!({ "type": "HELLO_ACK", "id": hello["id"], "ts": 1.0, "version": "1.1", "payload": {
        "session_id": null, "connection_id": "c-1", "protocol_version": "1.1",
        "granted_capabilities": hello["payload"]["capabilities"], "max_concurrent": 4 } });
    link.send(Message::text(ack.to_string())).await.unwrap();
    let _ = links.send(link).await;
}

fn ping(number: usize) -> Message {
    Message::text(
        json!({ "type": "PING", "id": format!("p-{number}"), "ts": 1.0, "version": "1.1", "payload": {} }).to_string(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_asks_and_does_not_listen_is_not_read_any_more() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.stop().await;
    let (url, mut opened) = platform().await;
    let state = tempfile::TempDir::new().unwrap();
    let mut options = EngineOptions { platform_url: url, ..rig.options() };
    options.folders.state = state.path().join("state");
    options.folders.logs = state.path().join("state");
    let engine = Engine::start(options).await.unwrap();
    let handle = engine.handle();
    let Reply::AuthorizeUrl { url } = handle.send(Command::SignIn).await.unwrap() else { panic!("no page") };
    let page = reqwest::Url::parse(&url).unwrap();
    let value = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let back = format!("{}?code=x&state={}", value("redirect_uri"), value("state"));
    reqwest::get(&back).await.unwrap();
    let (mut write, mut read) = opened.recv().await.unwrap().split();
    until(&handle, |picture| picture.link.state == LinkState::Connected).await;

    // What the two systems keep on the way is some megabytes; the rest would lie in our memory.
    let mut sent = 0_usize;
    while tokio::time::timeout(Duration::from_secs(2), write.send(ping(sent))).await.is_ok_and(|sent| sent.is_ok()) {
        sent += 1;
        assert!(sent < 400_000, "all of it was taken in");
    }

    // Once it listens, every sign of life has its answer.
    let taken = Arc::new(tokio::sync::Mutex::new(0_usize));
    let count = taken.clone();
    let reader = tokio::spawn(async move {
        while let Some(Ok(frame)) = read.next().await {
            *count.lock().await += usize::from(frame.to_text().is_ok_and(|text| text.contains("\"PONG\"")));
        }
    });
    tokio::time::timeout(Duration::from_secs(60), async {
        while *taken.lock().await < sent {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(handle.snapshot().link.state, LinkState::Connected);
    engine.stop();
    engine.wait().await;
    reader.abort();
}
