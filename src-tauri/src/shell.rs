//! Puts the parts together and keeps the program alive while its tray is there.

use std::cell::RefCell;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drawbridge_engine::view::Snapshot;
use drawbridge_engine::{Command, EngineHandle};
use serde::Serialize;
use tauri::{AppHandle, Manager, RunEvent};
use tokio::sync::watch;

use crate::host::{self, Hosted, NoEngine};
use crate::{commands, events, tray, window};

/// What the page must know of the desktop around it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DesktopView {
    /// The tray icon is on the session bus. False: closing the window would leave no sign of the program.
    pub(crate) tray: bool,
}

/// What the desktop shell keeps between events.
pub(crate) struct Shell {
    tray: AtomicBool,
    ended: watch::Receiver<Option<u8>>,
}

thread_local! {
    /// The system's tray is bound to the thread that made it: the main one.
    static TRAY: RefCell<Option<tray::Adapter>> = const { RefCell::new(None) };
}

impl Shell {
    pub(crate) fn has_tray(&self) -> bool {
        self.tray.load(Ordering::Acquire)
    }
}

/// Shows a snapshot in the tray. Works from any thread.
pub(crate) fn show_in_tray(app: &AppHandle, snapshot: Arc<Snapshot>) {
    let asked = app.run_on_main_thread(move || {
        TRAY.with_borrow_mut(|tray| {
            if let Some(adapter) = tray {
                adapter.show(&snapshot);
            }
        });
    });
    if let Err(error) = asked {
        tracing::warn!(%error, "the tray did not get the newest picture");
    }
}

/// Runs the application around the engine that `start` gives, until the person quits.
pub fn run(start: impl Future<Output = Result<Hosted, NoEngine>>) -> ExitCode {
    let hosted = match tauri::async_runtime::block_on(start) {
        Ok(hosted) => hosted,
        Err(reason) => return tell(&reason),
    };
    let engine = hosted.handle.clone();
    let app = tauri::Builder::default()
        .manage(engine.clone())
        .manage(Shell { tray: AtomicBool::new(false), ended: hosted.ended })
        .invoke_handler(tauri::generate_handler![
            commands::snapshot,
            commands::send,
            commands::desktop,
            commands::open_authorize_page,
            commands::open_platform,
        ])
        .setup(move |app| {
            begin(app.handle(), &engine);
            Ok(())
        })
        .build(tauri::generate_context!("tauri.conf.json"));
    let app = match app {
        Ok(app) => app,
        Err(error) => {
            tracing::error!(%error, "the desktop shell cannot start");
            return ExitCode::FAILURE;
        }
    };
    let code = app.run_return(|app, event| {
        if let RunEvent::ExitRequested { code: None, api, .. } = event {
            // The last window closed. With a tray that is normal; without one the program would live on unseen.
            api.prevent_exit();
            if !app.state::<Shell>().has_tray() {
                quit(app);
            }
        }
    });
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Says why there is no engine: in a dialog, and where the program was started.
fn tell(reason: &NoEngine) -> ExitCode {
    tracing::error!(title = reason.title, "{}", reason.message);
    rfd::MessageDialog::new()
        .set_level(if reason.exit == 0 { rfd::MessageLevel::Info } else { rfd::MessageLevel::Error })
        .set_title(&reason.title)
        .set_description(&reason.message)
        .show();
    ExitCode::from(reason.exit)
}

fn begin(app: &AppHandle, engine: &EngineHandle) {
    let first = engine.snapshot();
    match tray::Adapter::build(app, &first) {
        Ok(adapter) => {
            TRAY.set(Some(adapter));
            app.state::<Shell>().tray.store(tray::is_shown(), Ordering::Release);
        }
        Err(error) => tracing::warn!(%error, "no tray: the window stays open"),
    }
    window::open(app);
    events::follow(app.clone(), engine.subscribe());
    follow_the_end(app);
}

/// Ends the engine in order, then the program.
pub(crate) fn quit(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        let ended = app.state::<Shell>().ended.clone();
        host::end(&engine, ended).await;
        app.exit(0);
    });
}

/// Ends the program when its engine has ended, or when the session does.
fn follow_the_end(app: &AppHandle) {
    let (inner, mut ended) = (app.clone(), app.state::<Shell>().ended.clone());
    tauri::async_runtime::spawn(async move {
        let code = ended.wait_for(Option::is_some).await.ok().and_then(|code| *code);
        inner.exit(i32::from(code.unwrap_or(1)));
    });
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        match host::told_to_end() {
            Ok(told) => {
                told.await;
                quit(&app);
            }
            Err(error) => tracing::warn!(%error, "signals cannot be heard"),
        }
    });
}

/// Sends a command for the tray, where nobody waits for the answer.
pub(crate) fn send(app: &AppHandle, command: Command) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        if let Err(error) = engine.send(command).await {
            tracing::warn!(code = error.code, "a command from the tray was refused");
        }
    });
}
