//! Dials against real sockets: a WebSocket server, a TLS server with a root of its own, a proxy that demands a password.

use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::net::NetSettings;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/root.pem");
const CERTIFICATE: &[u8] = include_bytes!("../tests/tls/platform.pem");
const KEY: &[u8] = include_bytes!("../tests/tls/platform.key");

fn bearer() -> SecretString {
    SecretString::from("the-bearer")
}

/// A TLS WebSocket server; returns its port and where it notes the Authorization headers.
async fn tls_platform() -> (u16, Arc<Mutex<Vec<String>>>) {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(mut tls) = acceptor.accept(tcp).await else { continue };
            let head = read_head(&mut tls).await;
            log.lock().unwrap().push(head_value(&head, "authorization"));
            tls.write_all(&accept_upgrade(&head)).await.unwrap();
            tokio::spawn(async move { tls.read_u8().await });
        }
    });
    (port, seen)
}

/// A CONNECT proxy that leads every host to one port of this machine and wants `user:secret`.
async fn proxy(target: u16) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(String::new()));
    let log = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let head = read_head(&mut client).await;
            log.lock().unwrap().push_str(&head);
            if head_value(&head, "proxy-authorization") != "Basic dXNlcjpzZWNyZXQ=" {
                client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.unwrap();
                continue;
            }
            let log = log.clone();
            tokio::spawn(async move {
                let mut platform = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                let mut bytes = vec![0; 4096];
                // The first flight of the client, noted as the proxy sees it.
                let count = client.read(&mut bytes).await.unwrap();
                log.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
                platform.write_all(&bytes[..count]).await.unwrap();
                tokio::io::copy_bidirectional(&mut client, &mut platform).await
            });
        }
    });
    (port, seen)
}

async fn read_head(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn head_value(head: &str, name: &str) -> String {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
    line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

fn accept_upgrade(head: &str) -> Vec<u8> {
    let key = head_value(head, "sec-websocket-key");
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n")
        .into_bytes()
}

/// Answers one upgrade with the given text.
async fn plain_platform(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    port
}

fn net(proxy: Option<String>, root: bool) -> NetConfig {
    let settings = NetSettings {
        proxy: Some(proxy.unwrap_or("none".into())),
        no_proxy: None,
        extra_roots: root.then(|| ROOT.into()),
    };
    NetConfig::with_environment(&settings, |_| None).unwrap()
}

#[tokio::test]
async fn the_bearer_reaches_the_platform_through_a_proxy_that_never_sees_it() {
    let (platform, authorized) = tls_platform().await;
    let (proxy, seen) = proxy(platform).await;
    let net = net(Some(format!("http://user:secret@127.0.0.1:{proxy}")), true);

    dial("wss://platform.example/ws/local-executor", &bearer(), &net).await.unwrap();

    assert_eq!(*authorized.lock().unwrap(), ["Bearer the-bearer"]);
    let seen = seen.lock().unwrap();
    assert!(seen.starts_with("CONNECT platform.example:443 HTTP/1.1\r\n"), "{seen}");
    assert!(!seen.contains("the-bearer") && !seen.contains("local-executor"));
}

#[tokio::test]
async fn a_wrong_password_for_the_proxy_is_named() {
    let (proxy, _) = proxy(1).await;
    for user in ["", "user:wrong@"] {
        let net = net(Some(format!("http://{user}127.0.0.1:{proxy}")), true);

        let err = dial("wss://platform.example/ws", &bearer(), &net).await.unwrap_err();

        assert_eq!((err.step, err.status, err.upgrade_status()), (DialStep::Proxy, Some(407), None));
        assert!(err.message.contains("proxy refused (407)") && !err.message.contains("wrong@"), "{err}");
    }
}

#[tokio::test]
async fn a_certificate_of_an_unknown_root_fails_at_the_tls_step() {
    let (platform, authorized) = tls_platform().await;
    let (proxy, _) = proxy(platform).await;
    let net = net(Some(format!("http://user:secret@127.0.0.1:{proxy}")), false);

    let err = dial("wss://platform.example/ws", &bearer(), &net).await.unwrap_err();

    assert_eq!(err.step, DialStep::Tls, "{err}");
    assert!(authorized.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_platforms_answer_to_the_upgrade_is_kept_with_its_wish_to_wait() {
    let refused = plain_platform("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n").await;
    let busy = plain_platform("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n").await;
    let long = plain_platform("HTTP/1.1 429 Slow\r\nRetry-After: 90000\r\nContent-Length: 0\r\n\r\n").await;
    let direct = NetConfig::direct();
    let mut ends = Vec::new();
    for port in [refused, busy, long] {
        let err = dial(&format!("ws://127.0.0.1:{port}/ws"), &bearer(), &direct).await.unwrap_err();
        ends.push((err.step, err.upgrade_status(), err.retry_after.map(|wait| wait.as_secs())));
    }

    assert_eq!(
        ends,
        [
            (DialStep::Upgrade, Some(401), None),
            (DialStep::Upgrade, Some(503), Some(7)),
            (DialStep::Upgrade, Some(429), Some(300)),
        ]
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let port = plain_platform("HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n").await;

    let err = dial(&format!("ws://127.0.0.1:{port}/ws"), &bearer(), &NetConfig::direct()).await.unwrap_err();

    assert_eq!((err.step, err.status), (DialStep::Upgrade, Some(302)));
}

#[tokio::test]
async fn earlier_steps_name_themselves() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let direct = NetConfig::direct();
    let step = async |url: &str| dial(url, &bearer(), &direct).await.unwrap_err().step;

    assert_eq!(step(&format!("ws://{closed}/ws")).await, DialStep::Tcp);
    assert_eq!(step("ws://platform.example/ws").await, DialStep::Address);
    assert_eq!(step("https://127.0.0.1/ws").await, DialStep::Address);
    assert_eq!(step("nonsense").await, DialStep::Address);
}
