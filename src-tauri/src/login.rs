//! The switch "start at login" of the window.

use drawbridge_engine::CommandError;
use serde::Serialize;

/// How starting at login stands.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LoginStart {
    /// It is on.
    on: bool,
    /// This system can do it.
    available: bool,
    /// The file or entry concerned, safe to show.
    place: String,
    /// What is odd about it, in words: it starts another program, for example.
    problem: Option<String>,
}

/// Tells whether the program starts with the session.
#[tauri::command]
pub(crate) async fn login_start() -> Result<LoginStart, CommandError> {
    Ok(LoginStart { on: false, available: false, place: String::new(), problem: None })
}

/// Switches it on or off.
#[tauri::command]
pub(crate) async fn set_login_start(on: bool) -> Result<LoginStart, CommandError> {
    let _ = on;
    Err(CommandError::new("not_built", "This version cannot do that yet."))
}
