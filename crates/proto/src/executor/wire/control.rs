//! Messages of a control link: folders and chats (spec 5, 6.3).

use serde::{Deserialize, Serialize};

/// DIRECTORY_LIST_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DirectoryListRequest {
    /// The browse; none starts one.
    pub browse_id: Option<String>,
    /// The folder; none for the roots.
    pub directory_ref: Option<String>,
    /// The page after an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A folder that could be attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryEntry {
    /// Opaque reference.
    pub directory_ref: String,
    /// Its last component.
    pub name: String,
    /// Its canonical path.
    pub path: String,
}

/// DIRECTORY_LIST_RESPONSE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectoryListResponse {
    /// The browse.
    pub browse_id: String,
    /// The folder listed; null at the roots.
    pub current: Option<DirectoryEntry>,
    /// Its parent; null at the roots and for a root.
    pub parent_ref: Option<String>,
    /// At most 200.
    pub entries: Vec<DirectoryEntry>,
    /// More is there under this cursor.
    pub next_cursor: Option<String>,
    /// A hard bound left something out.
    pub truncated: bool,
    /// End of the browse, Unix seconds.
    pub expires_at: f64,
}

/// ATTACH_SESSION.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AttachSession {
    /// The chat.
    pub session_id: String,
    /// The browse.
    pub browse_id: String,
    /// The folder.
    pub directory_ref: String,
    /// Ignored by us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_connection_id: Option<String>,
}

/// ACTIVATE_SESSION.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ActivateSession {
    /// The chat.
    pub session_id: String,
    /// The revision the platform believes in.
    pub revision: u64,
}

/// RESTORE_SESSION.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RestoreSession {
    /// The chat.
    pub session_id: String,
    /// The grant made earlier.
    pub root_grant: String,
}

/// DETACH_SESSION.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DetachSession {
    /// The chat.
    pub session_id: String,
}

/// SESSION_ATTACHED and SESSION_RESTORED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionGranted {
    /// The chat.
    pub session_id: String,
    /// The canonical folder.
    pub allowed_root: String,
    /// 64 lower-case hex digits.
    pub fingerprint: String,
    /// Rises with every attachment.
    pub revision: u64,
    /// The signed grant.
    pub root_grant: String,
}

/// SESSION_ACTIVATED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionActivated {
    /// The chat.
    pub session_id: String,
    /// The canonical folder.
    pub allowed_root: String,
    /// 64 lower-case hex digits.
    pub fingerprint: String,
    /// The revision that is active.
    pub revision: u64,
}
