//! What the platform knows: tokens, links, chats, recorded frames and faults. One lock, one change counter to wait on.

use crate::{Clocks, ConsentMode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot, watch};

/// Recorded frames kept; older ones are forgotten.
const FRAMES_KEPT: usize = 4000;
/// Characters of a frame kept in the record.
const FRAME_TEXT_KEPT: usize = 16 * 1024;

pub(crate) struct Shared {
    inner: Mutex<Inner>,
    changed: watch::Sender<u64>,
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
        let text = text.into();
        tracing::warn!(link, kind, %text, "protocol fault");
        self.change(|s| s.faults.push(Fault { link, kind: kind.to_owned(), text }));
    }

    pub(crate) fn record(&self, link: u64, scope: &Scope, from_machine: bool, text: &str) {
        let at = self.started.elapsed().as_secs_f64();
        let kept: String = text.chars().take(FRAME_TEXT_KEPT).collect();
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        let field = |name: &str| parsed.as_ref().and_then(|v| v[name].as_str()).unwrap_or_default().to_owned();
        let (kind, id) = (field("type"), field("id"));
        self.change(|s| {
            s.next_frame += 1;
            let frame = FrameRecord {
                n: s.next_frame,
                link,
                scope: scope.clone(),
                from_machine,
                at,
                kind,
                id,
                bytes: text.len(),
                text: kept,
            };
            s.frames.push_back(frame);
            if s.frames.len() > FRAMES_KEPT {
                s.frames.pop_front();
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
    pub(crate) next_frame: u64,
    pub(crate) faults: Vec<Fault>,
    pub(crate) switches: Switches,
}

impl Inner {
    /// The link of a scope that is past its handshake and not replaced.
    pub(crate) fn live(&self, scope: &Scope) -> Option<(u64, &Link)> {
        self.links.iter().rev().find(|(_, l)| l.ready && &l.scope == scope).map(|(n, l)| (*n, l))
    }
}

#[derive(Default)]
pub(crate) struct OAuth {
    pub(crate) clients: HashSet<String>,
    pub(crate) consent: ConsentMode,
    pub(crate) asking: HashMap<String, Asking>,
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

pub(crate) enum Out {
    Text(String),
    Binary(Vec<u8>),
    Close(u16, String),
    Drop,
}

pub(crate) struct Link {
    pub(crate) scope: Scope,
    pub(crate) family: String,
    pub(crate) ready: bool,
    pub(crate) out: mpsc::UnboundedSender<Out>,
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

pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) born: Instant,
    pub(crate) answer: Option<oneshot::Sender<Reply>>,
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
    /// Its text, cut after 16,384 characters.
    pub text: String,
}

/// Something a machine did that the protocol does not allow.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    /// The link.
    pub link: u64,
    /// `bad_frame`, `stray_response`, `wrong_type`, `capacity`, `record_mismatch`, `root_mismatch`, `duplicate_sign_in`.
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
