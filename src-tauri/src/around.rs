//! Everything of the program that is not a window: the tray, notifications, the key that raises.

use drawbridge_engine::EngineHandle;
use drawbridge_engine::view::TrayState;
use tauri::{AppHandle, Manager};
use tokio::sync::watch;

use crate::prefs::PrefsDesk;
use crate::{hotkey, notify, rescue, tray, window};

/// Starts all of it. What comes back says whether the tray icon can be seen.
pub(crate) fn start(app: &AppHandle, engine: &EngineHandle) -> watch::Receiver<TrayState> {
    let prefs = app.state::<PrefsDesk>().subscribe();
    let hot_key = hotkey::start(app, prefs.clone());
    let notifications_broken = notify::start(app, engine, prefs.clone());
    tray::start(app, engine, tray::Follows { prefs, hot_key, notifications_broken })
}

/// Brings the question that waits to the person, if one still does.
pub(crate) fn show_question(app: &AppHandle) {
    if app.state::<EngineHandle>().snapshot().prompts.is_empty() {
        return;
    }
    if rescue::by_dialogs(app) {
        rescue::ask(app);
    } else {
        window::prompt::raise(app);
    }
}
