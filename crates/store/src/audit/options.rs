//! What the writer of the log is given.

use std::sync::Arc;

use drawbridge_core::Clock;

use super::{AuditKey, AuditPaths};
use crate::secrets::SecretStore;

/// When a record is synced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Within 100 ms, many records at once.
    #[default]
    Interval,
    /// Each record before its append returns.
    Record,
}

/// What a log needs.
#[derive(Debug)]
pub struct AuditOptions {
    /// Where.
    pub paths: AuditPaths,
    /// The key.
    pub key: AuditKey,
    /// As in HELLO.
    pub machine_id: String,
    /// Name and version of this program, as in HELLO.
    pub shim_version: String,
    /// When to sync.
    pub sync: SyncMode,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Keeps a copy of the head, out of reach of whoever can only write files.
    pub secrets: Option<Arc<dyn SecretStore>>,
}
