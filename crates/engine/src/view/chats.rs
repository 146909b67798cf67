//! What is shown of a chat.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{ChatPrivacyView, LinkState};

/// A chat with a folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChatView {
    /// The chat's id.
    pub session_id: String,
    /// The folder, safe to show.
    pub folder: String,
    /// Revision of the attachment.
    #[ts(type = "number")]
    pub revision: u64,
    /// It has its folder. If not, the platform may still open it again by its grant, until the person forgets it.
    pub attached: bool,
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
    /// When the folder was attached, Unix milliseconds.
    #[ts(type = "number")]
    pub attached_ms: i64,
    /// Name of the last operation of this run.
    pub last_operation: Option<String>,
    /// Changes that can be taken back.
    pub changes: ChangeCounts,
    /// Powers that the chat has used in this run.
    pub powers_used: Vec<String>,
    /// Modes that hold for this chat alone.
    pub modes: Vec<ChatModeView>,
    /// Whether contents of files stay here, and what was asked about them.
    #[serde(default)]
    pub privacy: ChatPrivacyView,
}

/// How many changes of a chat can be taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChangeCounts {
    /// New files.
    #[ts(type = "number")]
    pub created: u64,
    /// Files with new content.
    #[ts(type = "number")]
    pub written: u64,
    /// Things moved.
    #[ts(type = "number")]
    pub moved: u64,
    /// Things deleted.
    #[ts(type = "number")]
    pub deleted: u64,
}

/// The mode of a power for one chat alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ChatModeView {
    /// The power.
    pub power: String,
    /// Its mode.
    pub mode: String,
}
