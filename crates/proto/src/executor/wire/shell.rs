//! Command messages (spec 9).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The shells a platform may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    /// The usual one of the system.
    #[default]
    Auto,
    /// bash.
    Bash,
    /// sh.
    Sh,
    /// zsh.
    Zsh,
    /// PowerShell Core.
    Pwsh,
    /// Windows PowerShell.
    PowerShell,
    /// The Windows command interpreter.
    Cmd,
}

/// EXECUTE_COMMAND: exactly one of `command` and `argv`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExecuteCommand {
    /// Text for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Words for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Default `auto`; ignored with `argv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<Shell>,
    /// Default: the attached folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Default and ceiling: the negotiated limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i64>,
    /// Variables on top of the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
}

/// COMMAND_RESULT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandResult {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// −n after signal n, −1 after a time-out.
    pub exit_code: i32,
    /// The time limit ended it.
    pub timed_out: bool,
    /// Rounded to milliseconds.
    pub duration_seconds: f64,
    /// Output was cut.
    pub output_truncated: bool,
}
