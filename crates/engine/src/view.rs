//! What the window, the tray and the command line show: whole view models, never deltas.
//!
//! Everything here is serialised for the page (its TypeScript types are generated from these) and for the control
//! socket. Every text that came from outside has been made safe to show already (invariant 4).

use drawbridge_core::escape_outside_text;
use drawbridge_store::undo::{UndoEntry, UndoKind};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The whole picture at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Snapshot {
    /// Version of the program.
    pub version: String,
    /// Nothing may act: the stored stop.
    pub raised: bool,
    /// Why everything is refused or nothing can start, if so, with what to do.
    pub trouble: Option<Notice>,
    /// The account at the platform.
    pub account: AccountView,
    /// The control link, or the one data link of a legacy session.
    pub link: LinkView,
    /// Chats with a folder, newest use first.
    pub chats: Vec<ChatView>,
    /// The person's switches.
    pub powers: Vec<PowerView>,
    /// How commands run.
    pub shell: ShellView,
    /// Questions that wait for an answer, oldest first.
    pub prompts: Vec<PromptView>,
    /// The latest acts, newest first, at most 200.
    pub activity: Vec<ActivityRow>,
    /// How the audit log is.
    pub audit: AuditView,
}

/// A message for the person: what happened, what it means, what to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct Notice {
    /// A stable name.
    pub code: String,
    /// The message.
    pub message: String,
}

/// State of the sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    /// No tokens.
    SignedOut,
    /// A browser page is open and waits for the person.
    SigningIn,
    /// Tokens are here.
    SignedIn,
    /// The platform refused the tokens; sign in again.
    Refused,
}

/// The account at the platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct AccountView {
    /// Its state.
    pub state: AccountState,
    /// The platform's address.
    pub platform_url: String,
    /// The page to open in a browser while signing in.
    pub authorize_url: Option<String>,
    /// The last thing that went wrong, in words.
    pub problem: Option<String>,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// Not wanted: signed out or raised.
    Off,
    /// Dialling or shaking hands.
    Connecting,
    /// Acknowledged.
    Connected,
    /// Waiting to dial again.
    Waiting,
    /// Ended for good until the person acts.
    Halted,
}

/// One connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct LinkView {
    /// Its state.
    pub state: LinkState,
    /// Why it waits or halted, in words.
    pub reason: Option<String>,
}

/// A chat with a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ChatView {
    /// The chat's id.
    pub session_id: String,
    /// The folder, safe to show.
    pub folder: String,
    /// Revision of the attachment.
    #[ts(type = "number")]
    pub revision: u64,
    /// A data link runs.
    pub active: bool,
    /// State of the data link; off when there is none.
    pub link: LinkState,
    /// Requests running now.
    pub in_flight: u32,
    /// Requests answered since the program started.
    #[ts(type = "number")]
    pub requests: u64,
    /// The person took the grant back.
    pub revoked: bool,
    /// Last use, Unix milliseconds.
    #[ts(type = "number")]
    pub last_used_ms: i64,
}

/// One switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PowerView {
    /// Stable name, for example "shell".
    pub power: String,
    /// "off", `ask_each_time`, `ask_once_per_chat` or "allowed".
    pub mode: String,
    /// Who switched it off for good, if somebody did.
    pub locked_by: Option<String>,
    /// This version can really do it.
    pub built: bool,
}

/// How commands run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct ShellView {
    /// "confined" or "full".
    pub mode: String,
    /// "none", "loopback" or "all".
    pub network: String,
    /// Why this machine cannot confine commands, if so.
    pub confinement_missing: Option<String>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptView {
    /// Number of the question.
    #[ts(type = "number")]
    pub id: u64,
    /// The power concerned.
    pub power: String,
    /// The platform's address.
    pub platform: String,
    /// The chat.
    pub session_id: Option<String>,
    /// Operation name.
    pub operation: String,
    /// One plain sentence.
    pub summary: String,
    /// Exact facts, each safe to show: label and value.
    pub details: Vec<PromptDetail>,
    /// "Allow for this chat" may be offered.
    pub can_allow_chat: bool,
    /// When it is denied by itself, Unix milliseconds.
    #[ts(type = "number")]
    pub expires_at_ms: i64,
}

/// One fact of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct PromptDetail {
    /// What it is: "argument", "folder", "program"…
    pub label: String,
    /// Its value, made safe to show.
    pub value: String,
}

/// The answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum PromptAnswer {
    /// This operation, once.
    AllowOnce,
    /// This power, as long as the chat has this folder.
    AllowChat,
    /// No.
    Deny,
}

/// One act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
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
    pub why: Option<String>,
}

/// State of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
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

/// What policy says about a kind of operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExplainView {
    /// Name of the operation, as in the audit log.
    pub operation: String,
    /// The power that covers it; none when it only takes away.
    pub power: Option<String>,
    /// "allow", "ask" or "deny".
    pub decision: String,
    /// Stable name of the rule that won.
    pub rule: String,
    /// The reason in words.
    pub why: String,
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
