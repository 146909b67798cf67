//! Pushes each new picture to the tray and the page, and brings the window up when somebody must answer.

use std::sync::Arc;

use drawbridge_engine::view::Snapshot;
use tauri::{AppHandle, Emitter};
use tokio::sync::watch;

use crate::shell;
use crate::window;

/// Name of the event that carries a whole snapshot.
const SNAPSHOT: &str = "snapshot";

pub(crate) fn follow(app: AppHandle, mut snapshots: watch::Receiver<Arc<Snapshot>>) {
    tauri::async_runtime::spawn(async move {
        let mut newest_prompt = 0;
        let mut asking = false;
        while snapshots.changed().await.is_ok() {
            let snapshot = snapshots.borrow_and_update().clone();
            shell::show_in_tray(&app, Arc::clone(&snapshot));
            if let Err(error) = app.emit(SNAPSHOT, snapshot.as_ref()) {
                tracing::warn!(%error, "the page did not get the newest picture");
            }
            let newest = snapshot.prompts.iter().map(|prompt| prompt.id).max().unwrap_or(0);
            if newest > newest_prompt {
                newest_prompt = newest;
                window::open_for_question(&app);
                asking = true;
            } else if asking && snapshot.prompts.is_empty() {
                asking = false;
                window::calm(&app);
            }
        }
    });
}
