//! A proxy of the kind that companies run: HTTP CONNECT, a password, names that only it can find. It notes every byte
//! that passes it, so that a test can look for what must never be there.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Bytes of a request's head.
const HEAD_LIMIT_BYTES: usize = 16 * 1024;

/// How it behaves towards the next connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    /// As a proxy should.
    Serve,
    /// Says this after the request, then closes.
    Say(Vec<u8>),
    /// Says this at once and then nothing more; the connection stays.
    Greet(Vec<u8>),
    /// Opens the tunnel and sends these bytes of its own before the other side's.
    Prepend(Vec<u8>),
    /// Reads and never answers.
    Silent,
    /// Closes each connection at once.
    Close,
}

/// A running proxy on 127.0.0.1. It ends when dropped, with its tunnels.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    /// The value of `Proxy-Authorization` that it wants.
    wanted: Option<String>,
    /// The names that it can find, each a port of 127.0.0.1.
    names: BTreeMap<String, u16>,
    state: Mutex<State>,
    /// How many tunnels were ever opened.
    opened: watch::Sender<usize>,
    /// Changes when the tunnels are cut.
    cut: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    manner: Manner,
    seen: Vec<u8>,
}

impl Proxy {
    /// Starts one that wants a user and password, if given, and knows these names.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(password: Option<(&str, &str)>, names: &[(&str, u16)]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            wanted: password.map(|(user, word)| format!("Basic {}", STANDARD.encode(format!("{user}:{word}")))),
            names: names.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect(),
            state: Mutex::new(State { manner: Manner::Serve, seen: Vec::new() }),
            opened: watch::Sender::new(0),
            cut: watch::Sender::new(()),
        });
        let server = tokio::spawn(serve(listener, shared.clone()));
        Ok(Self { port, shared, server })
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Behaves differently from now on; open tunnels stay.
    pub fn behave(&self, manner: Manner) {
        self.shared.state().manner = manner;
    }

    /// Cuts every open tunnel.
    pub fn cut(&self) {
        self.shared.cut.send_replace(());
    }

    /// Everything that passed it in either direction so far, requests and tunnels alike.
    #[must_use]
    pub fn seen(&self) -> Vec<u8> {
        self.shared.state().seen.clone()
    }

    /// Tells whether this text ever passed it in clear.
    #[must_use]
    pub fn saw(&self, text: &str) -> bool {
        self.shared.state().seen.windows(text.len()).any(|part| part == text.as_bytes())
    }

    /// Waits until so many tunnels were opened since its start.
    pub async fn opened(&self, count: usize) {
        let mut opened = self.shared.opened.subscribe();
        let _ = opened.wait_for(|now| *now >= count).await;
    }

    /// How many tunnels were opened since its start.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.shared.opened.borrow()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, bytes: &[u8]) {
        self.state().seen.extend_from_slice(bytes);
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let shared = shared.clone();
        let mut cut = shared.cut.subscribe();
        connections.spawn(async move {
            tokio::select! {
                _ = cut.changed() => {}
                _ = attend(client, &shared) => {}
            }
        });
    }
}

/// One connection from its request to its end.
async fn attend(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let manner = shared.state().manner.clone();
    match &manner {
        Manner::Close => return Ok(()),
        Manner::Greet(greeting) => client.write_all(greeting).await?,
        Manner::Serve | Manner::Say(_) | Manner::Prepend(_) | Manner::Silent => {}
    }
    let head = read_head(&mut client).await?;
    shared.note(head.as_bytes());
    let before = match manner {
        Manner::Say(answer) => return client.write_all(&answer).await,
        Manner::Silent | Manner::Greet(_) => return std::future::pending().await,
        Manner::Prepend(bytes) => bytes,
        Manner::Serve | Manner::Close => Vec::new(),
    };
    if shared.wanted.is_some() && value_of(&head, "proxy-authorization") != shared.wanted {
        let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\n\
                      Content-Length: 0\r\n\r\n";
        return client.write_all(answer.as_bytes()).await;
    }
    let Some(port) = target(&head).and_then(|host| shared.names.get(&host)) else {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await;
    };
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    client.write_all(&before).await?;
    shared.opened.send_modify(|count| *count += 1);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(carry(from_client, to_server, shared), carry(from_server, to_client, shared)).map(|_| ())
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        shared.note(&bytes[..count]);
        to.write_all(&bytes[..count]).await?;
    }
}

async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_LIMIT_BYTES {
        head.push(stream.read_u8().await?);
    }
    String::from_utf8(head).map_err(io::Error::other)
}

/// The host that a CONNECT request names.
fn target(head: &str) -> Option<String> {
    let authority = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    authority.rsplit_once(':').map(|(host, _)| host.to_owned())
}

fn value_of(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}
