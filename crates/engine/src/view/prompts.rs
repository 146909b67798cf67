//! What is shown of a question, and the answers to it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
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
    /// Rises when what is shown changes, and each change must be painted before an answer counts.
    #[ts(type = "number")]
    pub revision: u64,
    /// Exact facts, each safe to show: label and value.
    pub details: Vec<PromptDetail>,
    /// The words of a command, each safe to show, the program first. Empty for a text that a shell parses.
    pub argv: Vec<String>,
    /// What an overwrite changes.
    pub diff: Option<DiffView>,
    /// The folder that would be attached, safe to show.
    pub folder: Option<String>,
    /// The person may pick another folder.
    pub can_choose_folder: bool,
    /// Not all of what was asked for is shown, so it can only be denied.
    pub cut: bool,
    /// "Allow for this chat" may be offered.
    pub can_allow_chat: bool,
    /// The command that "Always allow" would allow from then on, word by word; none when that may not be offered.
    pub always: Option<Vec<String>>,
    /// Requests that wait for this answer.
    pub waiting: u32,
    /// Nothing has painted it for three seconds: it must be brought before the person in another way.
    pub unseen: bool,
    /// When it is denied by itself, Unix milliseconds.
    #[ts(type = "number")]
    pub expires_at_ms: i64,
}

/// What an overwrite changes, line by line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DiffView {
    /// Changed lines with some around them.
    pub lines: Vec<DiffLine>,
    /// Lines added in all.
    pub added: u32,
    /// Lines removed in all.
    pub removed: u32,
    /// Not everything is shown.
    pub cut: bool,
}

/// One line of a difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DiffLine {
    /// "same", "added", "removed" or "skipped".
    pub kind: String,
    /// Number in the old file, from 1.
    pub old: Option<u32>,
    /// Number in the new file, from 1.
    pub new: Option<u32>,
    /// The line, safe to show.
    pub text: String,
}

/// One fact of a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
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
    /// This very command in this and every later chat, until the rule is removed.
    AllowAlways,
    /// No.
    Deny,
}
