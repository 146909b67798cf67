//! The audit log: one JSON record a line, chained by a keyed MAC (spec 3).
//!
//! [`AuditLog`] writes; [`verify`], [`show`], [`Tail`], [`Index`] and [`export`] read, also while another process writes. Records
//! never hold contents, typed text, environment values, tokens or grants; the callers see to that, since only they know.
//! What no log of this kind can do stands in [`HONEST_LIMIT`].

mod bundle;
mod canonical;
mod compat;
mod files;
mod head;
mod open;
mod options;
mod query;
mod read;
mod report;
mod verify;
mod writer;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use drawbridge_core::SessionId;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

pub use bundle::{Exported, export};
pub use options::{AuditOptions, SyncMode};
pub use query::{Glance, GlanceResult, Hit, Index, Page, find};
pub use read::{Found, Tail, show};
pub use report::{FileReport, Finding, FindingKind, Report};
pub use verify::{HeadCopy, verify, verify_all};
pub use writer::AuditLog;

/// What `verify` must always say beside its result.
pub const HONEST_LIMIT: &str = "A sound log shows that nobody without the audit key changed it. A program that runs as the same user and can read \
     the keychain or the passphrase could forge all of it.";

/// The key of the log's MACs: 32 bytes from the secret store. Never shown by `Debug`.
#[derive(Clone)]
pub struct AuditKey(Zeroizing<[u8; 32]>);

impl AuditKey {
    /// Takes the bytes of a key.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Reads 64 hex digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        drawbridge_core::hex::decode_into(text, &mut bytes[..]).ok()?;
        Some(Self(bytes))
    }

    /// Returns 64 lower-case hex digits. For the secret store and `audit key --show` alone.
    #[must_use]
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(drawbridge_core::hex::encode(&self.0[..]))
    }

    /// Returns the bytes, for the key of grants.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditKey(<redacted>)")
    }
}

/// Where the log and what guards it are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPaths {
    /// The current file, `audit.log`. Rotated ones stand beside it.
    pub log: PathBuf,
    /// Holds the head file, outside the log folder where the two differ.
    pub state_dir: PathBuf,
}

/// One thing to write down.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The chat, if there is one.
    pub session_id: Option<SessionId>,
    /// The id of the request; none for internal events.
    pub request_id: Option<String>,
    /// Name of the operation or event (spec 3.3).
    pub op: Cow<'static, str>,
    /// What about it. Long texts are cut at 4 KiB; numbers are brought into the form of spec 3.5.
    pub details: Map<String, Value>,
    /// How it ended.
    pub result: RecordResult,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordResult {
    /// Whether it did what was asked.
    pub ok: bool,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The protocol's error code.
    pub error_code: Option<Cow<'static, str>>,
}

impl RecordResult {
    /// The result of an event that simply happened.
    #[must_use]
    pub const fn happened() -> Self {
        Self { ok: true, exit_code: None, duration_ms: 0, error_code: None }
    }
}

/// A record is with the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Its number in its file.
    pub seq: u64,
    /// Stable name of that file, as [`Hit::file`].
    pub file: Arc<str>,
}

/// The log cannot be written or opened. Nothing may be done without it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuditFault {
    /// Another process writes it.
    #[error("the audit log {} is being written by another Drawbridge{}", .path.display(), .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    InUse {
        /// The log.
        path: PathBuf,
        /// The writer, if known.
        pid: Option<u32>,
    },
    /// It cannot be written. After the first such fault every append is refused until the program starts again.
    #[error("the audit log {} cannot be written ({why}), so nothing is done; make room or fix the folder's permissions, then start Drawbridge again", .path.display())]
    Unavailable {
        /// The log.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
