//! The loopback listener of one sign-in: ports and a tiny HTTP/1.1 reader (spec 1.2).
//!
//! It answers GET alone, reads no body, caps what it reads, and never repeats anything that a visitor sent.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The registered redirect ports.
pub(crate) const PORTS: std::ops::RangeInclusive<u16> = 41899..=41910;
/// The longest request line, in bytes.
const LINE_LIMIT_BYTES: usize = 8 * 1024;
/// The longest request head, in bytes.
const HEAD_LIMIT_BYTES: usize = 32 * 1024;
/// The longest wait for a request head, and for its answer to be taken.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Visitors served at once. One more sends the one away that has been silent the longest, so that nobody can keep the
/// person's browser out by holding connections.
const MAX_VISITORS: usize = 64;

/// What the visitor's browser shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    SignedIn,
    Denied,
    Failed,
    WrongState,
    NotFound,
    OnlyGet,
    TooLong,
    Over,
}

/// A visit with the right form: the judge answers with a page.
pub(super) struct Knock {
    pub(super) target: String,
    pub(super) answer: oneshot::Sender<Page>,
}

/// The bound sockets.
#[derive(Debug)]
pub(super) struct Listener {
    v4: TcpListener,
    v6: Option<TcpListener>,
    port: u16,
    room: Arc<Room>,
}

/// The visitors that can be sent away, the oldest first.
#[derive(Debug, Default)]
struct Room(Mutex<Guests>);

#[derive(Debug, Default)]
struct Guests {
    silent: BTreeMap<u64, CancellationToken>,
    /// All that are here, also those that are being judged.
    count: usize,
    next: u64,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the room.
struct Place {
    room: Arc<Room>,
    number: u64,
    sent_away: CancellationToken,
}

impl Place {
    /// Takes one; none where all that are here are being judged.
    fn take(room: &Arc<Room>) -> Option<Self> {
        let mut guests = room.lock();
        if guests.count >= MAX_VISITORS {
            guests.silent.pop_first()?.1.cancel();
        }
        guests.count += 1;
        drop(guests);
        let mut place = Self { room: room.clone(), number: 0, sent_away: CancellationToken::new() };
        place.silent(true);
        Some(place)
    }

    /// Says whether the visitor may be sent away from now on.
    fn silent(&mut self, silent: bool) {
        let mut guests = self.room.lock();
        guests.silent.remove(&self.number);
        if silent {
            guests.next += 1;
            self.number = guests.next;
            guests.silent.insert(self.number, self.sent_away.clone());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut guests = self.room.lock();
        guests.silent.remove(&self.number);
        guests.count -= 1;
    }
}

impl Listener {
    /// Binds the first port of the range that is free on both address families.
    pub(super) async fn bind() -> Option<Self> {
        for port in PORTS {
            let Ok(v4) = TcpListener::bind(("127.0.0.1", port)).await else { continue };
            let v6 = match TcpListener::bind(("::1", port)).await {
                Ok(v6) => Some(v6),
                // Somebody else would get the visits of a browser that prefers IPv6.
                Err(err) if err.kind() == io::ErrorKind::AddrInUse => continue,
                // This machine has no IPv6.
                Err(_) => None,
            };
            return Some(Self { v4, v6, port, room: Arc::default() });
        }
        None
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The redirect address, which must say `localhost` (spec 1.1).
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://localhost:{}{}", self.port, super::callback::CALLBACK_PATH)
    }

    /// Waits for the next visitor.
    pub(super) async fn accept(&self) -> Visitor {
        loop {
            let accepted = match &self.v6 {
                Some(v6) => tokio::select! {
                    accepted = self.v4.accept() => accepted,
                    accepted = v6.accept() => accepted,
                },
                None => self.v4.accept().await,
            };
            // Nothing is awaited once somebody has come in: they would be lost when this is dropped.
            match accepted {
                Ok((stream, _)) => {
                    if let Some(place) = Place::take(&self.room) {
                        return Visitor { stream, place };
                    }
                }
                // Out of file handles, or the visitor is gone already: others may come.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// A connection that has not said anything yet.
pub(super) struct Visitor {
    stream: TcpStream,
    place: Place,
}

impl Visitor {
    /// Reads one request, asks the judge, answers, closes.
    pub(super) async fn serve(mut self, judge: mpsc::Sender<Knock>) {
        let sent_away = self.place.sent_away.clone();
        let read = tokio::select! {
            () = sent_away.cancelled() => return,
            read = timeout(CLIENT_TIMEOUT, read_target(&mut self.stream)) => read,
        };
        self.place.silent(false);
        let page = match read {
            Ok(Ok(Request::Get(target))) => {
                let (answer, page) = oneshot::channel();
                match judge.send(Knock { target, answer }).await {
                    Ok(()) => page.await.unwrap_or(Page::Over),
                    Err(_) => Page::Over,
                }
            }
            Ok(Ok(Request::Refused(page))) => page,
            // Nothing that could be answered.
            Ok(Err(_)) | Err(_) => return,
        };
        self.place.silent(true);
        tokio::select! {
            () = sent_away.cancelled() => {}
            // A visitor who does not take the answer loses it.
            _ = timeout(CLIENT_TIMEOUT, self.answer(page)) => {}
        }
    }

    async fn answer(&mut self, page: Page) -> io::Result<()> {
        self.stream.write_all(render(page).as_bytes()).await?;
        self.stream.shutdown().await?;
        // Closing with unread bytes would reset the connection and lose the answer on the way.
        let mut rest = [0_u8; 4096];
        let mut left = 16;
        while left > 0 && self.stream.read(&mut rest).await? > 0 {
            left -= 1;
        }
        Ok(())
    }
}

enum Request {
    Get(String),
    Refused(Page),
}

async fn read_target(stream: &mut TcpStream) -> io::Result<Request> {
    let mut head = Vec::with_capacity(1024);
    let mut chunk = [0_u8; 2048];
    loop {
        let line_end = find(&head, b"\r\n");
        if line_end.unwrap_or(head.len()) > LINE_LIMIT_BYTES {
            return Ok(Request::Refused(Page::TooLong));
        }
        if let Some(line_end) = line_end
            && find(&head, b"\r\n\r\n").is_some()
        {
            return Ok(parse_line(&head[..line_end]));
        }
        if head.len() > HEAD_LIMIT_BYTES {
            return Ok(Request::Refused(Page::TooLong));
        }
        match stream.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&chunk[..count]),
        }
    }
}

fn parse_line(line: &[u8]) -> Request {
    let words: Vec<&str> = std::str::from_utf8(line).unwrap_or_default().split(' ').collect();
    match words.as_slice() {
        ["GET", target, version] if version.starts_with("HTTP/1.") => Request::Get((*target).to_owned()),
        [_, _, version] if version.starts_with("HTTP/1.") => Request::Refused(Page::OnlyGet),
        _ => Request::Refused(Page::NotFound),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn render(page: Page) -> String {
    let (status, title, text) = match page {
        Page::SignedIn => ("200 OK", "You are signed in", "You can close this page and go back to Drawbridge."),
        Page::Denied => {
            ("200 OK", "Not signed in", "The platform did not give access. You can close this page and try again.")
        }
        Page::Failed => (
            "200 OK",
            "Not signed in",
            "The platform could not finish the sign-in. Drawbridge shows why. You can close this page and try again.",
        ),
        Page::WrongState => (
            "400 Bad Request",
            "Another sign-in",
            "This page belongs to another sign-in attempt. Use the page that Drawbridge opened last.",
        ),
        Page::NotFound => ("404 Not Found", "Nothing here", "There is nothing at this address."),
        Page::OnlyGet => ("405 Method Not Allowed", "Nothing here", "This address can only be read."),
        Page::TooLong => ("414 URI Too Long", "Too long", "The address is too long."),
        Page::Over => ("410 Gone", "Over", "This sign-in has ended. Start it again in Drawbridge."),
    };
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>{title}</title><body style=\"font:1.1rem system-ui;margin:15vh auto;max-width:32rem;padding:0 1rem\">\
         <h1>{title}</h1><p>{text}</p></body></html>\n"
    );
    let allow = if page == Page::OnlyGet { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n{allow}\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
