//! The engine's pen for the audit log: every event of spec 3.3 goes through here.
//!
//! When the log cannot be written, that is remembered and shown, and nothing more is done (invariant 5).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drawbridge_core::{Power, SessionId};
use drawbridge_proto::executor::machine::{End, MachineConfig, Negotiated, Pace, Revoked, Role};
use drawbridge_store::audit::{Appended, AuditFault, AuditLog, Record, RecordResult};
use serde_json::{Map, Value, json};

use crate::board::Board;
use crate::consent::Ledger;
use crate::view::{AuditView, Notice};

/// The pen.
pub(crate) struct Journal {
    log: AuditLog,
    path: PathBuf,
    latched: AtomicBool,
    board: Arc<Board>,
}

impl Journal {
    pub(crate) fn new(log: AuditLog, path: PathBuf, board: Arc<Board>) -> Self {
        Self { log, path, latched: AtomicBool::new(false), board }
    }

    /// Tells whether the log has failed: then nothing may be done.
    pub(crate) fn is_latched(&self) -> bool {
        self.latched.load(Ordering::Acquire)
    }

    /// Writes one record. False when it could not be written.
    pub(crate) fn write(
        &self,
        session: Option<&SessionId>,
        request: Option<&str>,
        op: impl Into<Cow<'static, str>>,
        details: Map<String, Value>,
        result: RecordResult,
    ) -> bool {
        self.append(session, request, op, details, result).is_some()
    }

    /// Writes one record and tells which it is. None when it could not be written.
    pub(crate) fn append(
        &self,
        session: Option<&SessionId>,
        request: Option<&str>,
        op: impl Into<Cow<'static, str>>,
        details: Map<String, Value>,
        result: RecordResult,
    ) -> Option<Appended> {
        let record = Record {
            session_id: session.cloned(),
            request_id: request.map(str::to_owned),
            op: op.into(),
            details,
            result,
        };
        self.log.append(record).inspect_err(|fault| self.latch(fault)).ok()
    }

    /// Writes an event that simply happened.
    pub(crate) fn event(&self, session: Option<&SessionId>, op: &'static str, details: Value) -> bool {
        self.write(session, None, op, object(details), RecordResult::happened())
    }

    /// Writes that something was refused which ends this program with an exit code.
    pub(crate) fn refused(&self, session: Option<&SessionId>, op: &'static str, details: Value, exit_code: u8) -> bool {
        let result = RecordResult { ok: false, exit_code: Some(exit_code.into()), duration_ms: 0, error_code: None };
        self.write(session, None, op, object(details), result)
    }

    pub(crate) fn ws_connected(&self, session: Option<&SessionId>, url: &str) {
        self.event(session, "WS_CONNECTED", json!({ "url": url }));
    }

    pub(crate) fn ws_disconnected(&self, session: Option<&SessionId>, end: &End) {
        self.event(session, "WS_DISCONNECTED", json!({ "reason": reason_of(end) }));
    }

    pub(crate) fn session_revoked(&self, session: Option<&SessionId>, revoked: &Revoked) {
        let mut details = object(json!({ "reason": revoked.reason, "source": revoked.source.name() }));
        if let Some(code) = revoked.close_code {
            details.insert("close_code".to_owned(), json!(code));
        }
        if let Some(machine) = &revoked.new_shim_machine_id {
            details.insert("new_shim_machine_id".to_owned(), json!(machine));
        }
        self.write(session, None, "SESSION_REVOKED", details, RecordResult::happened());
    }

    pub(crate) fn hello(&self, session: Option<&SessionId>, config: &MachineConfig) {
        let mut capabilities: Vec<&str> = config.hello.capabilities.iter().map(|one| one.name()).collect();
        let allowed_root = match &config.role {
            Role::Control => {
                capabilities.push("directory_browse");
                None
            }
            Role::Data { allowed_root, .. } => Some(allowed_root),
        };
        let details = json!({
            "platform": config.hello.platform,
            "arch": config.hello.arch,
            "capabilities": capabilities,
            "allowed_root": allowed_root,
        });
        self.event(session, "HELLO", details);
    }

    pub(crate) fn hello_ack(&self, session: Option<&SessionId>, negotiated: &Negotiated) {
        let granted: Vec<&str> = negotiated.granted.iter().map(|one| one.name()).collect();
        let details = json!({
            "granted_capabilities": granted,
            "max_concurrent": negotiated.limits.max_concurrent,
            "max_file_size_bytes": negotiated.limits.max_file_size_bytes,
            "command_timeout_seconds": negotiated.limits.command_timeout.as_secs(),
        });
        self.event(session, "HELLO_ACK", details);
        self.event(session, "CONFIG_RELOADED", json!({ "granted_capabilities": granted }));
    }

    /// Syncs the log and writes its head down. Blocks.
    pub(crate) fn close(&self) {
        self.log.close();
    }

    /// Returns the size of the current file.
    pub(crate) fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// Returns the log itself, for rotation and pruning.
    pub(crate) fn log(&self) -> &AuditLog {
        &self.log
    }

    /// Returns what the window shows.
    pub(crate) fn view(&self) -> AuditView {
        AuditView {
            path: self.path.display().to_string(),
            bytes: self.log.bytes(),
            records: self.log.records(),
            unavailable: self.is_latched(),
        }
    }

    fn latch(&self, fault: &AuditFault) {
        if !self.latched.swap(true, Ordering::AcqRel) {
            tracing::error!(%fault, "the audit log failed");
            self.board.set_trouble(Some(Notice { code: "audit_unavailable".to_owned(), message: fault.to_string() }));
        }
    }
}

impl Ledger for Journal {
    fn asked(&self, session: Option<&SessionId>, power: Power, operation: &str) -> bool {
        self.event(session, "CONSENT_ASKED", json!({ "operation": operation, "power": power.name() }))
    }

    fn answered(&self, session: Option<&SessionId>, power: Power, operation: &str, answer: &str) -> bool {
        let details = json!({ "operation": operation, "power": power.name(), "answer": answer });
        self.event(session, "CONSENT_ANSWERED", details)
    }
}

/// Puts the end of a connection into the words of spec 3.3.
fn reason_of(end: &End) -> String {
    match end {
        End::Stopped => "clean_exit".to_owned(),
        End::Retry(retry) => match (retry.close_code, retry.pace) {
            (Some(1000), _) => "clean_exit".to_owned(),
            (Some(code), _) => format!("ws_closed_{code}"),
            (None, Pace::Base | Pace::Grow) => "loop_error: connection_lost".to_owned(),
        },
        End::Halt(_) => "loop_error: halted".to_owned(),
        End::Revoked(revoked) => match revoked.close_code {
            Some(code) => format!("ws_closed_{code}_{}", revoked.reason),
            None => "ws_closed_4428_session_revoked".to_owned(),
        },
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
