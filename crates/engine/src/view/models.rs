//! What is shown of local models, of the person's own tries, and of private files.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Servers of local models, and what used them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ModelsView {
    /// Servers that may be asked, best first.
    pub servers: Vec<ModelServerView>,
    /// Who asked what in this run, the latest first.
    pub uses: Vec<ModelUseView>,
    /// Contents of files stay here in every chat for which nothing else is said.
    pub private_all: bool,
    /// The person reads what a model answers about private files before it leaves.
    pub review: bool,
    /// So many first bytes may leave with the description of a private file.
    #[serde(default)]
    pub preview_bytes: u16,
}

/// A server of local models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ModelServerView {
    /// Its base address, which also names it.
    pub url: String,
    /// "ollama", "openai", or "auto" while nobody knows.
    pub api: String,
    /// What it calls itself, safe to show.
    pub name: Option<String>,
    /// The configuration names it, so it cannot be removed here.
    pub from_config: bool,
    /// It may be on another computer.
    pub far: bool,
    /// Requests it takes at once.
    pub parallel: u32,
    /// It has answered. Nobody is asked while the power is off, so then it says nothing.
    pub answers: bool,
    /// Why it cannot be asked, with what to do; safe to show.
    pub trouble: Option<String>,
    /// Its models.
    pub models: Vec<ModelView>,
    /// Requests that run there now.
    pub running: u32,
    /// A key is set for it. The key itself is in no picture.
    pub has_key: bool,
}

/// A model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ModelView {
    /// Its name, safe to show.
    pub name: String,
    /// Size on disk in bytes, where the server tells.
    #[ts(type = "number | null")]
    pub size_bytes: Option<u64>,
    /// Tokens that it can read, where the server tells.
    #[ts(type = "number | null")]
    pub context_tokens: Option<u64>,
    /// The server passes what it is asked on to another computer.
    pub elsewhere: bool,
    /// The server lists it and said that it does not have it when it was asked.
    pub missing: bool,
    /// It can be asked by this name: another server has not taken it before, it is not missing, and it is here or questions may leave.
    pub offered: bool,
}

/// Who asked a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ModelUseView {
    /// The model, safe to show.
    pub model: String,
    /// The chat; none for the person's own tries.
    pub session_id: Option<String>,
    /// Conversations that were continued.
    #[ts(type = "number")]
    pub completions: u64,
    /// Questions about private files.
    #[ts(type = "number")]
    pub turns: u64,
    /// Tokens read and written, as far as servers told.
    #[ts(type = "number")]
    pub tokens: u64,
    /// When it was asked last, Unix milliseconds.
    #[ts(type = "number")]
    pub last_ms: i64,
}

/// How an answer to the person's own try stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct TrialView {
    /// What came so far, safe to show.
    pub text: String,
    /// "running", "done", "stopped" or "failed".
    pub state: String,
    /// Why it failed, with what to do.
    pub problem: Option<String>,
    /// Why the model ended.
    pub finish: Option<String>,
    /// Tokens of the answer, where the server tells.
    #[ts(type = "number | null")]
    pub tokens: Option<u64>,
    /// How long it took so far, in milliseconds.
    #[ts(type = "number")]
    pub duration_ms: u64,
}

/// Whether contents of files of a chat stay here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChatPrivacyView {
    /// They do.
    pub on: bool,
    /// What was said for this chat; none follows the setting for all.
    pub own: Option<bool>,
    /// Other chats with a folder that holds the same files, in which contents may leave.
    pub open_elsewhere: Vec<String>,
    /// Files that were asked about in this run, the latest first, at most 100.
    pub asked: Vec<AskedFileView>,
}

/// A file that was asked about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct AskedFileView {
    /// Its path, safe to show.
    pub path: String,
    /// So often it was described.
    #[ts(type = "number")]
    pub stubs: u64,
    /// So many questions were about it.
    #[ts(type = "number")]
    pub turns: u64,
    /// When it was asked about last, Unix milliseconds.
    #[ts(type = "number")]
    pub last_ms: i64,
}
