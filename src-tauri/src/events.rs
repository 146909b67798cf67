//! Pushes each new picture to the pages, and opens the windows when somebody must answer or wants to see.

use std::sync::Arc;

use drawbridge_engine::view::Snapshot;
use tauri::{AppHandle, Emitter, Manager};
use tokio::sync::watch;

use crate::rescue;
use crate::window::{self, PILL, pill, prompt::Asker};

/// Name of the event that carries a whole snapshot.
const SNAPSHOT: &str = "snapshot";

/// Follows the engine's pictures until it ends.
pub(crate) fn follow(app: AppHandle, mut snapshots: watch::Receiver<Arc<Snapshot>>) {
    // A question may be there already.
    snapshots.mark_changed();
    tauri::async_runtime::spawn(async move {
        let mut asker = Asker::default();
        // A second start may have asked while this one was still starting.
        let mut wanted = 0;
        while snapshots.changed().await.is_ok() {
            let snapshot = snapshots.borrow_and_update().clone();
            show_in_pages(&app, &snapshot);
            pill::follow(&app, &snapshot);
            asker.follow(&app, &snapshot);
            if rescue::by_dialogs(&app) && !snapshot.prompts.is_empty() {
                rescue::ask(&app);
            }
            if snapshot.window_wanted > wanted {
                window::open(&app);
            }
            wanted = snapshot.window_wanted;
        }
    });
}

fn show_in_pages(app: &AppHandle, snapshot: &Snapshot) {
    // Writing the picture out costs something, and in the tray alone nobody reads it. The pill is told its own words.
    if !app.webview_windows().keys().any(|label| label != PILL) {
        return;
    }
    if let Err(error) = app.emit(SNAPSHOT, snapshot) {
        tracing::warn!(%error, "the pages did not get the newest picture");
    }
}
