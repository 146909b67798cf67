//! What is shown of how agents see and use screen, input and clipboard.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How agents see and use screen, input and clipboard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ScreenView {
    /// "x11", "wayland", "wsl", "macos", "windows" or "none".
    pub seat: String,
    /// What can be done here, as HELLO names it. Empty while both powers are off.
    pub features: Vec<String>,
    /// What cannot be done here, and why.
    pub missing: Vec<MissingView>,
    /// Only these apps may be seen and used; none means all that are not protected.
    pub only_apps: Option<Vec<String>>,
    /// These apps may never be seen or used, on top of the protected ones.
    pub never_apps: Vec<String>,
    /// Pictures of scaled displays keep all their pixels.
    pub full_resolution: bool,
    /// The clipboard power also covers what others put there.
    pub clipboard_foreign: bool,
    /// An agent sees or uses the screen now, or did a moment ago.
    pub in_use: Option<ScreenUseView>,
}

/// Something that cannot be done here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct MissingView {
    /// The feature, as HELLO names it.
    pub feature: String,
    /// Why, and what to do about it; safe to show.
    pub why: String,
}

/// An agent that sees or uses the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ScreenUseView {
    /// The chat that did so last.
    pub session_id: Option<String>,
    /// Since when, Unix milliseconds.
    #[ts(type = "number")]
    pub since_ms: i64,
    /// Pictures taken since then.
    #[ts(type = "number")]
    pub pictures: u64,
    /// Clicks, keys, texts and other acts since then.
    #[ts(type = "number")]
    pub acts: u64,
    /// The person uses pointer or keyboard, so the agent's input waits.
    pub person_active: bool,
}
