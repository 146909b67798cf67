//! What a machine is told at its birth, and what it asks for.

use std::collections::BTreeSet;
use std::fmt;

use drawbridge_core::{ConnectionId, Limits, Operation, RequestId, SessionId};

use crate::executor::wire::{Capability, ErrorCode, HardwareDevice};

/// Which of the two kinds of connection this is (spec 4.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The machine's own link: folders and chats.
    Control,
    /// The link of one chat: its folder, its commands.
    Data {
        /// The chat.
        session: SessionId,
        /// The attached folder, the very text that the platform knows.
        allowed_root: String,
    },
}

/// What HELLO says about this machine. Probed before each dial, then fixed for the connection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HelloFacts {
    /// Spec 2.3.
    pub machine_id: String,
    /// For example `drawbridge-0.1.0`.
    pub shim_version: String,
    /// "darwin", "linux", "windows" or "wsl2".
    pub platform: String,
    /// `x86_64` or "arm64".
    pub arch: String,
    /// Shown in the platform's folder picker.
    pub display_name: String,
    /// Size of the primary display, with computer use.
    pub screen_resolution: Option<[u32; 2]>,
    /// What is offered. `directory_browse` is added or left out by the role, `recording` never leaves.
    pub capabilities: BTreeSet<Capability>,
    /// Fine feature names (spec 10.1).
    pub computer_use_features: Vec<String>,
    /// Coarse feature names (spec 10.1).
    pub computer_use_features_coarse: Vec<String>,
    /// Models of the local backend.
    pub local_llm_models: Vec<String>,
    /// Devices that the person shared.
    pub hardware_devices: Vec<HardwareDevice>,
}

/// Everything fixed about one connection.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineConfig {
    /// The kind of connection.
    pub role: Role,
    /// What HELLO says.
    pub hello: HelloFacts,
    /// The local ceilings; never those of an earlier connection.
    pub local: Limits,
}

/// Facts for STATUS that only the engine knows. Set them whenever they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusFacts {
    /// Size of the current audit file.
    pub audit_log_bytes: u64,
    /// Requests of this connection that are admitted but not running.
    pub queue_depth: u32,
}

/// What the handshake settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// Capabilities granted.
    pub granted: BTreeSet<Capability>,
    /// The lower of ours and the platform's.
    pub limits: Limits,
    /// Same major, smaller minor, for example "1.1".
    pub version: String,
    /// The platform's name for this presence; always there on a control link.
    pub connection_id: Option<ConnectionId>,
}

/// What the caller must do, in order.
pub enum Effect {
    /// Send this text frame.
    Send(String),
    /// Send one of two text frames, whichever may leave when their turn comes.
    SendEither {
        /// The answer.
        frame: String,
        /// What is said in its place when it may not leave any more.
        instead: String,
    },
    /// The machine itself refuses a request; the ERROR frame is the next `Send`. Write the audit record first.
    Refused {
        /// The request.
        id: RequestId,
        /// Its type.
        op: &'static str,
        /// Why.
        code: ErrorCode,
    },
    /// Begin this operation. Answer with [`super::Machine::on_reply`].
    Start {
        /// The request.
        id: RequestId,
        /// What is asked.
        operation: Operation,
        /// The negotiated limits.
        limits: Limits,
    },
    /// End this operation; its reply is no longer wanted.
    Abort(RequestId),
    /// The handshake is done.
    Ready(Negotiated),
    /// Send a WebSocket ping; hand the answer to [`super::Machine::on_pong`].
    WsPing,
    /// Close the WebSocket. Nothing is sent after this.
    Close {
        /// The close code.
        code: u16,
        /// At most 123 bytes.
        reason: String,
    },
    /// This connection is over. Always the last effect, and only once.
    Ended(End),
    /// For the log.
    Note(Note),
}

/// Contents never reach a log: frames and operations show their kind alone.
impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(text) => write!(f, "Send({} bytes)", text.len()),
            Self::SendEither { frame, instead } => {
                write!(f, "SendEither({} bytes, {} bytes)", frame.len(), instead.len())
            }
            Self::Refused { id, op, code } => write!(f, "Refused({id}, {op}, {})", code.as_str()),
            Self::Start { id, operation, .. } => write!(f, "Start({id}, {operation:?})"),
            Self::Abort(id) => write!(f, "Abort({id})"),
            Self::Ready(negotiated) => write!(f, "Ready({negotiated:?})"),
            Self::WsPing => f.write_str("WsPing"),
            Self::Close { code, reason } => write!(f, "Close({code}, {reason})"),
            Self::Ended(end) => write!(f, "Ended({end:?})"),
            Self::Note(note) => write!(f, "Note({note:?})"),
        }
    }
}

/// How a connection ended, and whether another may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Dial again after a wait.
    Retry(Retry),
    /// Do not dial until the person acts.
    Halt(Halt),
    /// The platform revoked this session (audit SESSION_REVOKED). Do not dial until the person acts.
    Revoked(Revoked),
    /// We ended it.
    Stopped,
}

/// Another connection may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// How long to wait.
    pub pace: Pace,
    /// Renew the access token first.
    pub refresh_first: bool,
    /// The platform answered HELLO with something else; five in a row are the end (spec 4.3 row 1).
    pub bad_handshake: bool,
    /// The close code, if the peer gave one.
    pub close_code: Option<u16>,
    /// Stable name of the reason.
    pub code: &'static str,
    /// For people.
    pub reason: String,
}

/// How long to wait before the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The usual growing wait.
    Grow,
    /// The base wait: the peer closed in order (1000).
    Base,
}

/// What kind of halt it is; decides the exit code (spec 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HaltKind {
    /// Version, handshake, revoked: 76.
    Protocol,
    /// Authentication or authorization: 77.
    Auth,
}

impl HaltKind {
    /// Returns the exit code of a program started by hand.
    #[must_use]
    pub const fn exit_code(self) -> i32 {
        match self {
            Self::Protocol => 76,
            Self::Auth => 77,
        }
    }
}

/// The end until the person acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// The kind.
    pub kind: HaltKind,
    /// Stable name of the reason.
    pub code: &'static str,
    /// For people: what happened, what it means, what to do.
    pub reason: String,
}

/// The platform revoked this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// The platform's word, or the label of the close code in lower case.
    pub reason: String,
    /// Where it was said.
    pub source: RevokedSource,
    /// The close code, when that was the source.
    pub close_code: Option<u16>,
    /// The machine that took over.
    pub new_shim_machine_id: Option<String>,
}

/// Where a revocation was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokedSource {
    /// In a SESSION_REVOKED frame.
    Frame,
    /// By a close code.
    WsCloseCode,
}

impl RevokedSource {
    /// Returns the word for the audit log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::WsCloseCode => "ws_close_code",
        }
    }
}

/// Something for the log. Never holds content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Frames that were no frames; said at most once a minute.
    MalformedFrames {
        /// So many since the connection opened.
        count: u64,
        /// What was wrong with the latest.
        latest: String,
    },
    /// A type that this version does not know was dropped.
    UnknownType(String),
    /// An answer type came from the platform and was dropped.
    AnswerFromPlatform(String),
    /// A frame of another major version was dropped. Say it loudly.
    OtherMajor {
        /// The version named.
        version: String,
    },
    /// A request with the id of a running one was dropped.
    DuplicateId(RequestId),
    /// A reply came for a request that is not running: already ended, or never asked.
    ReplyWithoutRequest(RequestId),
    /// A request ran longer than any may.
    RanTooLong(RequestId),
    /// The wall clock jumped, or the machine slept.
    ClockJump {
        /// By so many seconds, as seen.
        seconds: i64,
    },
    /// HELLO was too long and lost this many models and devices.
    HelloTrimmed {
        /// Models left out.
        models: usize,
        /// Devices left out.
        devices: usize,
    },
}
