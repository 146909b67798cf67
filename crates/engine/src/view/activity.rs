//! What is shown of acts: their rows, the records behind them, the audit log, and what can be taken back.

use drawbridge_core::escape_outside_text;
use drawbridge_store::undo::{UndoEntry, UndoKind};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ExplainView, PromptDetail, WhyView};

/// One act.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ActivityRow {
    /// Counts up.
    #[ts(type = "number")]
    pub number: u64,
    /// Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The chat, if any.
    pub session_id: Option<String>,
    /// Operation or event name, as in the audit log.
    pub operation: String,
    /// What it was about, safe to show: a path, a program.
    pub subject: String,
    /// It worked.
    pub ok: bool,
    /// The error code, when it did not.
    pub error_code: Option<String>,
    /// How long it took.
    #[ts(type = "number")]
    pub duration_ms: u64,
    /// Why it was allowed or refused.
    pub why: Option<WhyView>,
    /// Number of its audit record.
    #[ts(type = "number | null")]
    pub seq: Option<u64>,
    /// Stable name of the audit file that holds the record: numbers begin anew in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub file: Option<String>,
}

/// Which acts are wanted. An empty filter wants all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ActivityFilter {
    /// Of this chat.
    pub session_id: Option<String>,
    /// Of this power.
    pub power: Option<String>,
    /// "ok" or "refused".
    pub outcome: Option<String>,
    /// With this text, in any case of letters, in the operation, the subject or the error code.
    pub text: Option<String>,
}

/// An audit record, for a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RecordView {
    /// Its number.
    #[ts(type = "number")]
    pub seq: u64,
    /// Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// Its fields, each safe to show, in the order of the file; nested ones by dotted names.
    pub fields: Vec<PromptDetail>,
    /// Why it was allowed or refused then.
    pub why: Option<WhyView>,
    /// What the decision function says about the same kind of operation now.
    pub now: Option<ExplainView>,
}

/// What checking the audit log found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct VerifyView {
    /// Nothing is wrong.
    pub sound: bool,
    /// Files looked at.
    pub files: u32,
    /// Records looked at.
    #[ts(type = "number")]
    pub records: u64,
    /// What is wrong: "kind" of the finding and the place, safe to show.
    pub findings: Vec<PromptDetail>,
}

/// State of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AuditView {
    /// Its file.
    pub path: String,
    /// Bytes in the current file.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Records in the current file.
    #[ts(type = "number")]
    pub records: u64,
    /// It cannot be written: nothing is done.
    pub unavailable: bool,
}

/// Something that an agent changed and that can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct UndoView {
    /// Number, counts up.
    #[ts(type = "number")]
    pub number: u64,
    /// Unix milliseconds.
    #[ts(type = "number")]
    pub at_ms: i64,
    /// The chat.
    pub session_id: Option<String>,
    /// "write", "delete" or "move".
    pub kind: String,
    /// The path concerned, safe to show.
    pub path: String,
    /// Where it went, for a move.
    pub moved_to: Option<String>,
    /// Bytes kept.
    #[ts(type = "number")]
    pub bytes: u64,
    /// It was taken back already.
    pub restored: bool,
}

impl From<&UndoEntry> for UndoView {
    fn from(entry: &UndoEntry) -> Self {
        let kind = match entry.kind {
            UndoKind::Created => "create",
            UndoKind::Replaced => "write",
            UndoKind::Deleted => "delete",
            UndoKind::Moved => "move",
        };
        Self {
            number: entry.number,
            at_ms: entry.at.0,
            session_id: entry.session.clone(),
            kind: kind.to_owned(),
            path: escape_outside_text(&entry.path),
            moved_to: entry.moved_to.as_deref().map(escape_outside_text),
            bytes: entry.bytes,
            restored: entry.restored,
        }
    }
}
