//! Looks at everything that Drawbridge needs (spec 10.9), for the window and the command line alike.
//!
//! It reads, binds a port for a moment, tries the sandbox and the network, and changes nothing. Each finding that matters says
//! how to mend it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How a check went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// As it should be.
    Ok,
    /// A fact, neither good nor bad.
    #[default]
    Info,
    /// Something will be missing.
    Warn,
    /// Drawbridge cannot do its work like this.
    Fail,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Finding {
    /// A stable name.
    pub check: String,
    /// How it went.
    pub state: FindingState,
    /// What was found, safe to show, in English.
    pub text: String,
    /// What to do, safe to show, if there is something to do.
    pub fix: Option<String>,
    /// What the window can do about it at once: a stable name (see [`ACTIONS`]).
    pub action: Option<String>,
}

/// What the window can do about findings.
pub const ACTIONS: &[&str] = &[];
