//! What the window can put on the clipboard. The page names a kind of thing, never a text.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arboard::Clipboard;
use drawbridge_engine::diagnostics::{self, Input};
use drawbridge_engine::{CommandError, EngineHandle};
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use tauri::{AppHandle, Manager as _, State};

use crate::prefs::PrefsDesk;
use crate::{doctor, outside};

/// A clipboard that another program holds answers long before this.
const WITHIN: Duration = Duration::from_secs(5);

/// On Linux what was copied comes from the program that copied it, so this must stay as long as the program does.
static CLIPBOARD: Mutex<Option<Clipboard>> = Mutex::new(None);
/// The diagnostics as the person saw them last: what was read is what is copied.
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// Copies "`diagnostics`" or "`authorize_url`".
#[tauri::command]
pub(crate) async fn copy(app: AppHandle, engine: State<'_, EngineHandle>, what: String) -> Result<(), CommandError> {
    match what.as_str() {
        "diagnostics" => {
            let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let text = match shown {
                Some(text) => text,
                None => collect(&app).await?,
            };
            put(text).await
        }
        "authorize_url" => {
            let url = engine.snapshot().account.authorize_url.clone();
            let none = || CommandError::new("no_sign_in", "No sign-in is under way. Press Sign in first.");
            put(url.ok_or_else(none)?).await
        }
        _ => Err(CommandError::new("unknown_thing", "There is nothing of this name to copy.")),
    }
}

/// Returns what "`diagnostics`" would copy, so that the person can read it first.
#[tauri::command]
pub(crate) async fn diagnostics(app: AppHandle) -> Result<String, CommandError> {
    let text = collect(&app).await?;
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
    Ok(text)
}

/// Shows the folder of the program's own log in the file manager.
#[tauri::command]
pub(crate) async fn open_logs(app: AppHandle) -> Result<(), CommandError> {
    outside::open_own_folder(&doctor::folders(&app)?.logs)
}

/// Puts a text on the clipboard.
///
/// # Errors
/// `no_clipboard` when the desktop has none, or none that answers.
pub(crate) async fn put(text: String) -> Result<(), CommandError> {
    let failed = |why: String| {
        CommandError::new("no_clipboard", format!("The clipboard did not take it ({why}). Mark the text and copy it."))
    };
    let put = tokio::task::spawn_blocking(move || put_now(text));
    match tokio::time::timeout(WITHIN, put).await {
        Ok(Ok(done)) => done.map_err(|fault| failed(fault.to_string())),
        Ok(Err(_)) => Err(failed("it broke off".to_owned())),
        Err(_) => Err(failed("it did not answer".to_owned())),
    }
}

fn put_now(text: String) -> Result<(), arboard::Error> {
    let mut kept = CLIPBOARD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut clipboard = match kept.take() {
        Some(clipboard) => clipboard,
        None => Clipboard::new()?,
    };
    // One that failed may have lost its display; the next copy begins anew.
    clipboard.set_text(text)?;
    *kept = Some(clipboard);
    Ok(())
}

async fn collect(app: &AppHandle) -> Result<String, CommandError> {
    let findings = doctor::findings(app).await?;
    let folders = doctor::folders(app)?;
    let snapshot = app.state::<EngineHandle>().snapshot();
    let prefs = app.state::<PrefsDesk>().get();
    let web_view = tauri::webview_version().unwrap_or_else(|_| "not known".to_owned());
    let facts = vec![
        ("Host", "the desktop application".to_owned()),
        ("Web view", web_view),
        ("Practice", yes_or_no(prefs.practice)),
        ("Plain drawing", yes_or_no(prefs.plain_drawing)),
        ("Language and theme", format!("{}, {}", prefs.language, prefs.theme)),
    ];
    let made = tokio::task::spawn_blocking(move || {
        let loaded = Config::load(&ConfigLayers::of_process(&folders.config, FlagOverrides::default()));
        let names = loaded.as_ref().map(diagnostics::names_of).unwrap_or_default();
        diagnostics::collect(&Input { folders, snapshot: Some(snapshot), findings, facts, names })
    });
    made.await.map_err(|_| CommandError::new("broke_off", "This broke off. Try again."))
}

fn yes_or_no(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}
