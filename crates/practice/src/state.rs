//! What the platform knows: tokens, links, chats, recorded frames and faults. One lock, one change counter to wait on.

use crate::outbox::Outbox;
use crate::parts::Progress;
use crate::{Clocks, ConsentMode, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Recorded frames kept; older ones are forgotten.
const FRAMES_KEPT: usize = 4000;
/// Bytes of text all recorded frames may hold; older ones are forgotten.
const FRAMES_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a frame kept in the record.
const FRAME_TEXT_KEPT: usize = 16 * 1024;
/// Bytes of a binary frame kept in the record.
const FRAME_BINARY_KEPT: usize = 64;
/// Faults kept; later ones are counted in the log only.
const FAULTS_KEPT: usize = 1000;
/// How long the server can still take an answer to a request, from the request or from the last part of its answer.
const CORRELATED: Duration = Duration::from_secs(900);

pub(crate) struct Shared {
    inner: Mutex<Inner>,
    changed: watch::Sender<u64>,
    /// Period of the platform's own PING frames.
    pub(crate) ping_every: watch::Sender<Option<Duration>>,
    pub(crate) port: u16,
    pub(crate) api_token: String,
    pub(crate) clocks: Clocks,
    pub(crate) started: Instant,
}

impl Shared {
    pub(crate) fn new(port: u16, api_token: String, clocks: Clocks, inner: Inner) -> Self {
        Self {
            inner: Mutex::new(inner),
            changed: watch::Sender::new(0),
            ping_every: watch::Sender::new(None),
            port,
            api_token,
            clocks,
            started: Instant::now(),
        }
    }

    /// The state, for a look that changes nothing a waiter could wait for.
    pub(crate) fn look(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes every waiter.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        let answer = act(&mut self.look());
        self.changed.send_modify(|n| *n += 1);
        answer
    }

    /// How often anything changed.
    pub(crate) fn version(&self) -> u64 {
        *self.changed.borrow()
    }

    /// The change counter.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Waits until `ready` gives a value.
    pub(crate) async fn until<T>(&self, mut ready: impl FnMut(&mut Inner) -> Option<T>) -> T {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            if let Some(value) = ready(&mut self.look()) {
                return value;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn fault(&self, link: u64, kind: &str, text: impl Into<String>) {
        self.change(|s| s.fault(link, kind, text));
    }

    pub(crate) fn record(&self, link: u64, from_machine: bool, text: &str) {
        // Only these two fields are read, so that a frame of 16 MiB is not built up a second time.
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Head {
            #[serde(rename = "type")]
            kind: Option<String>,
            id: Option<String>,
        }
        let head: Head = serde_json::from_str(text).unwrap_or_default();
        let mut end = text.len().min(FRAME_TEXT_KEPT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (kind, id) = (head.kind.unwrap_or_default(), head.id.unwrap_or_default());
        self.keep(link, from_machine, text.len(), text[..end].to_owned(), (kind, id), false);
    }

    pub(crate) fn record_binary(&self, link: u64, from_machine: bool, bytes: &[u8]) {
        let head = bytes.iter().take(FRAME_BINARY_KEPT).map(|b| format!("{b:02x}")).collect();
        self.keep(link, from_machine, bytes.len(), head, (String::new(), String::new()), true);
    }

    fn keep(
        &self,
        link: u64,
        from_machine: bool,
        bytes: usize,
        text: String,
        (kind, id): (String, String),
        binary: bool,
    ) {
        let at = self.started.elapsed().as_secs_f64();
        self.change(|s| {
            s.next_frame += 1;
            let scope = s.links.get(&link).map_or(Scope::Control(String::new()), |l| l.scope.clone());
            let cut = bytes > if binary { FRAME_BINARY_KEPT } else { text.len() };
            s.frames_bytes += text.len();
            let n = s.next_frame;
            s.frames.push_back(FrameRecord { n, link, scope, from_machine, at, kind, id, bytes, text, cut, binary });
            while s.frames.len() > FRAMES_KEPT || s.frames_bytes > FRAMES_BYTES {
                s.frames_bytes -= s.frames.pop_front().map_or(s.frames_bytes, |f| f.text.len());
            }
        });
    }
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) oauth: OAuth,
    pub(crate) links: BTreeMap<u64, Link>,
    pub(crate) next_link: u64,
    pub(crate) chats: BTreeMap<String, Chat>,
    pub(crate) frames: VecDeque<FrameRecord>,
    pub(crate) frames_bytes: usize,
    pub(crate) next_frame: u64,
    /// The platform takes nothing more.
    pub(crate) stopped: bool,
    pub(crate) faults: Vec<Fault>,
    pub(crate) switches: Switches,
    /// `Host` values that are accepted beside our own address.
    pub(crate) hosts: Vec<String>,
}

impl Inner {
    pub(crate) fn fault(&mut self, link: u64, kind: &str, text: impl Into<String>) {
        let text = text.into();
        tracing::warn!(link, kind, %text, "protocol fault");
        if self.faults.len() < FAULTS_KEPT {
            self.faults.push(Fault { link, kind: kind.to_owned(), text });
        }
    }

    /// The link of a scope that is past its handshake and not replaced.
    pub(crate) fn live(&self, scope: &Scope) -> Option<(u64, &Link)> {
        self.links.iter().rev().find(|(_, l)| l.ready && &l.scope == scope).map(|(n, l)| (*n, l))
    }
}

#[derive(Default)]
pub(crate) struct OAuth {
    pub(crate) clients: HashSet<String>,
    pub(crate) consent: ConsentMode,
    pub(crate) asking: VecDeque<(String, Asking)>,
    pub(crate) codes: HashMap<String, Code>,
    pub(crate) access: HashMap<String, Token>,
    pub(crate) refresh: HashMap<String, Token>,
    pub(crate) revoked: HashSet<String>,
}

#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) client: String,
    pub(crate) redirect: String,
    pub(crate) challenge: String,
    pub(crate) state: String,
}

pub(crate) struct Code {
    pub(crate) asked: Asking,
    pub(crate) spent_by: Option<String>,
    pub(crate) born: Instant,
}

#[derive(Clone)]
pub(crate) struct Token {
    pub(crate) family: String,
    pub(crate) client: String,
    pub(crate) expires: Instant,
    pub(crate) spent: bool,
}

/// Which socket: a machine's control socket or the data socket of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The control socket of the machine with this id (empty until its HELLO).
    Control(String),
    /// The data socket of this chat.
    Data(String),
}

pub(crate) struct Link {
    pub(crate) scope: Scope,
    pub(crate) family: String,
    pub(crate) ready: bool,
    pub(crate) out: Outbox,
    pub(crate) stalled: watch::Sender<bool>,
    pub(crate) hello: Value,
    pub(crate) granted: Vec<String>,
    pub(crate) connection_id: Option<String>,
    pub(crate) max_concurrent: u64,
    pub(crate) capacity: Option<u64>,
    pub(crate) status: Value,
    pub(crate) asked: BTreeMap<u64, Asked>,
    pub(crate) next_ask: u64,
}

impl Link {
    /// Forgets requests whose answer the server would no longer know.
    pub(crate) fn forget_old(&mut self) {
        self.asked.retain(|_, a| a.heard.elapsed() < CORRELATED);
    }
}

pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) born: Instant,
    /// When its last part came, or else when it was sent.
    pub(crate) heard: Instant,
    pub(crate) progress: Progress,
    pub(crate) answer: Option<oneshot::Sender<Result<Reply, Failure>>>,
}

/// The terminal answer of a machine to one request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reply {
    /// The type of the frame.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its payload.
    pub payload: Value,
    /// `pending_capacity` of the envelope.
    pub pending_capacity: Option<u64>,
    /// From sending to answer, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether the request was sent a second time, after the connection had ended before the first answer.
    pub retried: bool,
}

/// A chat and what it remembers of its folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Chat {
    /// The machine whose folder is attached.
    pub machine_id: Option<String>,
    /// The answer of SESSION_ATTACHED as it came: root, fingerprint, revision, grant.
    pub grant: Option<Value>,
}

/// One frame that passed.
#[derive(Debug, Clone, Serialize)]
pub struct FrameRecord {
    /// Counts from 1 over all links.
    pub n: u64,
    /// The link it passed on.
    pub link: u64,
    /// The socket.
    pub scope: Scope,
    /// Whether the machine sent it.
    pub from_machine: bool,
    /// Seconds since the platform started.
    pub at: f64,
    /// `type` of the frame, empty when unreadable.
    pub kind: String,
    /// `id` of the frame, empty when unreadable.
    pub id: String,
    /// Its length.
    pub bytes: usize,
    /// The first 16 KiB of its text; of a binary frame the first 64 bytes in hexadecimal.
    pub text: String,
    /// Whether `text` is only the beginning.
    pub cut: bool,
    /// Whether it was a binary frame.
    pub binary: bool,
}

/// Something a machine did that the protocol does not allow.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    /// The link.
    pub link: u64,
    /// `bad_hello`, `offers`, `root_mismatch`, `bad_frame`, `stray_response`, `wrong_type`, `order`, `parts`, `privacy`, `capacity`,
    /// `bounds`, `extra_key`, `record_mismatch`, `no_pong`, `broken`.
    pub kind: String,
    /// What happened, in words.
    pub text: String,
}

/// How the platform misbehaves. All off by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    /// The next upgrades are refused.
    pub refuse_upgrade: Option<Refusal>,
    /// The next token requests fail.
    pub refuse_token: Option<Refusal>,
    /// Requests to revoke a token are read and never answered.
    pub ignore_revoke: bool,
    /// Token requests must be JSON and carry `client_secret`; form bodies get 422.
    pub json_only: bool,
    /// The socket is closed right after the upgrade, with this code.
    pub close_on_accept: Option<u16>,
    /// The socket is closed instead of sending HELLO_ACK, with this code.
    pub close_on_hello: Option<u16>,
    /// HELLO is read and never answered.
    pub ignore_hello: bool,
    /// Keys laid over the HELLO_ACK payload.
    pub ack_payload: Value,
    /// Keys laid over the HELLO_ACK envelope.
    pub ack_envelope: Value,
    /// Sent as text instead of HELLO_ACK.
    pub ack_raw: Option<String>,
    /// Milliseconds between PING frames on every socket; none are sent when absent. An unanswered one ends the socket.
    pub ping_every_ms: Option<u64>,
    /// Seconds by which the `Date` of every answer is ahead of this computer's clock.
    pub clock_ahead_s: i64,
}

/// Some answers refused over HTTP.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// How many times.
    pub times: u32,
    /// Seconds of `Retry-After`.
    #[serde(default)]
    pub retry_after: Option<u32>,
}

impl Refusal {
    /// Takes one refusal from the store.
    pub(crate) fn take(slot: &mut Option<Self>) -> Option<Self> {
        let one = slot.as_mut().filter(|r| r.times > 0)?;
        one.times -= 1;
        Some(one.clone())
    }
}

/// Random text of 32 bytes.
pub(crate) fn secret() -> String {
    use base64::Engine as _;
    let mut bytes = [0_u8; 32];
    if getrandom::fill(&mut bytes).is_err() {
        // No randomness: two version-4 ids would fail the same way, so the process cannot go on honestly.
        std::process::abort();
    }
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
