//! Updates: what this copy was installed as, whether there is a newer one, and taking it.

use drawbridge_engine::CommandError;
use serde::Serialize;

/// How updates stand.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct UpdateView {
    /// What this copy was installed as: "appimage", "deb", "rpm", "dmg", "nsis", "msi" or "other".
    installed_as: &'static str,
    /// "`own`": Drawbridge replaces itself. "`link`": the person gets it from a page. "`managed`": the organisation does it.
    way: &'static str,
    /// "idle", "checking", "current", "found", "downloading", "ready" or "failed".
    state: &'static str,
    /// The newer version, if one was found.
    version: Option<String>,
    /// What is new, as plain text, safe to show.
    notes: Option<String>,
    /// Percent of the download.
    percent: Option<u8>,
    /// What went wrong, with what to do.
    problem: Option<String>,
}

impl UpdateView {
    const fn idle() -> Self {
        Self {
            installed_as: "other",
            way: "link",
            state: "idle",
            version: None,
            notes: None,
            percent: None,
            problem: None,
        }
    }
}

/// Tells how updates stand.
#[tauri::command]
pub(crate) async fn updates() -> Result<UpdateView, CommandError> {
    Ok(UpdateView::idle())
}

/// Looks for a newer version now.
#[tauri::command]
pub(crate) async fn check_updates() -> Result<UpdateView, CommandError> {
    Ok(UpdateView::idle())
}

/// Takes the newer version that was found, then starts again.
#[tauri::command]
pub(crate) async fn install_update() -> Result<(), CommandError> {
    Err(CommandError::new("no_update", "There is no newer version to take."))
}

/// Opens the page of the newest release in the browser.
#[tauri::command]
pub(crate) async fn open_release() -> Result<(), CommandError> {
    Err(CommandError::new("no_update", "There is no newer version to show."))
}
