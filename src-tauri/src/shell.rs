//! Puts the parts together and keeps the program alive while its tray is there.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drawbridge_core::escape_outside_text;
use drawbridge_engine::prefs::{Prefs, PrefsFile};
use drawbridge_engine::view::TrayState;
use drawbridge_engine::{Command, EngineHandle};
use drawbridge_os::again;
use serde::Serialize;
use tauri::{AppHandle, Manager, RunEvent};
use tokio::sync::watch;

use crate::host::{self, Hosted, NoEngine};
use crate::prefs::PrefsDesk;
use crate::rescue::{self, Rescue};
use crate::window::{self, crash::Crashes, paint::Births, pill::PillDesk};
use crate::words::Language;
use crate::{around, commands, copy, doctor, events, hotkey, login, updates};

/// A page must be painted so soon after it was loaded (FB-41).
const PAINT_WITHIN: Duration = Duration::from_secs(5);
/// The same for pages that a program drives: no person waits there.
const DRIVEN_PAINT_WITHIN: Duration = Duration::from_secs(60);
/// Tells a program that it was started again by itself.
const AGAIN: &str = "DRAWBRIDGE_STARTED_AGAIN";
/// What the former program left needs no longer to end.
const COLLECT_WITHIN: Duration = Duration::from_secs(1);
/// Exit code for what the person has to change around the program (`cli.md`).
const NO_DISPLAY: u8 = 78;
/// With the tray alone.
const HIDDEN: &str = "--hidden";

/// How the shell is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The folder that remembers how the window looks.
    pub state: PathBuf,
    /// With the tray alone, where one is shown.
    pub hidden: bool,
    /// What is tried out.
    pub trial: Trial,
}

/// What a test tries out; a program for people changes none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// The pages stay blank.
    pub blank: bool,
    /// A page must be painted so soon after it was loaded.
    pub paint_within: Duration,
}

impl Launch {
    /// Starts as people do.
    #[must_use]
    pub fn new(state: PathBuf, hidden: bool) -> Self {
        // The variable by which tauri lets a program drive the pages. Starting again would cut that program off.
        let driven = std::env::var_os("TAURI_WEBVIEW_AUTOMATION").is_some();
        let paint_within = if driven { DRIVEN_PAINT_WITHIN } else { PAINT_WITHIN };
        Self { state, hidden, trial: Trial { blank: false, paint_within } }
    }
}

/// What the page must know of the desktop around it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DesktopView {
    /// The tray icon is on the session bus. False: closing the window would leave no sign of the program.
    tray: bool,
    /// The keys that raise from anywhere.
    hot_key: Option<String>,
    /// The language of the desktop, as a tag.
    language: String,
    /// The person's home folder, safe to show: the page writes it as ~.
    home: Option<String>,
}

/// What the desktop shell keeps between events.
pub(crate) struct Shell {
    pub(crate) trial: Trial,
    tray: AtomicBool,
    ended: watch::Receiver<Option<u8>>,
    way: Way,
    /// The loop of the windows was told to end.
    left: AtomicBool,
}

/// Whether the program is on its way out, and what comes then.
#[derive(Default)]
struct Way {
    ending: AtomicBool,
    /// The program starts again once it has ended.
    again: AtomicBool,
}

impl Way {
    /// The program ends, also one that was about to start again.
    fn end(&self) {
        self.again.store(false, Ordering::Release);
        self.ending.store(true, Ordering::Release);
    }

    /// The program ends and starts again; false when it is ending already, and then it stays as it is.
    fn start_again(&self) -> bool {
        let first = !self.ending.swap(true, Ordering::AcqRel);
        if first {
            self.again.store(true, Ordering::Release);
        }
        first
    }
}

impl Shell {
    pub(crate) fn has_tray(&self) -> bool {
        self.tray.load(Ordering::Acquire)
    }

    /// What the page must know of the desktop.
    pub(crate) fn view(&self) -> DesktopView {
        DesktopView {
            tray: self.has_tray(),
            hot_key: hotkey::shown(),
            language: Language::chosen("system").tag().to_owned(),
            home: std::env::home_dir().map(|home| escape_outside_text(&home.to_string_lossy())),
        }
    }
}

/// Runs the application around the engine that `start` gives, until the person quits. Must come before any thread.
pub fn run<F>(launch: Launch, start: impl FnOnce(Prefs) -> F) -> ExitCode
where
    F: Future<Output = Result<Hosted, NoEngine>>,
{
    if let Err(reason) = display() {
        // Without a display there is no dialog either.
        tracing::error!("{reason}");
        return ExitCode::from(NO_DISPLAY);
    }
    if std::env::var_os(AGAIN).is_some() {
        again::collect_former_children(COLLECT_WITHIN);
    }
    let prefs = PrefsFile::of(&launch.state).load();
    if prefs.plain_drawing && !rescue::draws_plainly() {
        let args: Vec<OsString> = std::env::args_os().skip(1).collect();
        let error = again::start_again(&args, &[(rescue::PLAIN_DRAWING, "1")]);
        tracing::warn!(%error, "plain drawing cannot be switched on");
    }
    let hosted = match tauri::async_runtime::block_on(start(prefs)) {
        Ok(hosted) => hosted,
        Err(reason) => return tell(&reason),
    };
    let app = match build(&launch, hosted) {
        Ok(app) => app,
        Err(error) => {
            tracing::error!(%error, "the desktop shell cannot start");
            return ExitCode::FAILURE;
        }
    };
    let handle = app.handle().clone();
    let code = app.run_return(on_event);
    if handle.state::<Shell>().way.again.load(Ordering::Acquire) {
        let error = again::start_again(&flags_again(std::env::args_os().skip(1)), &environment_again(&handle));
        tracing::error!(%error, "Drawbridge could not start itself again; start it by hand");
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Tells whether windows and tray icons have a place here.
#[cfg(not(any(windows, target_vendor = "apple")))]
fn display() -> Result<(), &'static str> {
    let named = |key| std::env::var_os(key).is_some_and(|value| !value.is_empty());
    if !named("DISPLAY") && !named("WAYLAND_DISPLAY") {
        return Err("There is no display here, so no window can open. Without one, use: drawbridge start --headless");
    }
    // The library below ends the whole program where the display does not let it in.
    gtk::init().map_err(|_| {
        "The display that DISPLAY or WAYLAND_DISPLAY names cannot be opened, so no window can open. Start Drawbridge from the \
         desktop that you sit at, or use: drawbridge start --headless"
    })
}

/// Tells whether windows and tray icons have a place here: always, on this system.
#[cfg(any(windows, target_vendor = "apple"))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can be without")]
fn display() -> Result<(), &'static str> {
    Ok(())
}

fn build(launch: &Launch, hosted: Hosted) -> tauri::Result<tauri::App> {
    let (engine, hidden) = (hosted.handle.clone(), launch.hidden);
    let shell = Shell {
        trial: launch.trial,
        tray: AtomicBool::new(false),
        ended: hosted.ended,
        way: Way::default(),
        left: AtomicBool::new(false),
    };
    tauri::Builder::default()
        .manage(engine.clone())
        .manage(shell)
        .manage(PrefsDesk::open(&launch.state))
        .manage(updates::UpdateDesk::new())
        .manage(Births::default())
        .manage(Crashes::default())
        .manage(Rescue::default())
        .manage(PillDesk::default())
        .invoke_handler(tauri::generate_handler![
            commands::snapshot,
            commands::send,
            commands::desktop,
            commands::prefs,
            commands::set_prefs,
            commands::painted,
            commands::choose_folder,
            commands::offer_folder,
            commands::add_browse_root,
            commands::export_audit,
            commands::open_folder,
            commands::set_practice,
            commands::open_authorize_page,
            commands::open_platform,
            copy::copy,
            copy::diagnostics,
            copy::open_logs,
            doctor::doctor,
            doctor::doctor_fix,
            login::login_start,
            login::set_login_start,
            updates::updates,
            updates::check_updates,
            updates::install_update,
            updates::open_release,
            commands::use_account,
            commands::pill,
            commands::show_main,
        ])
        .on_window_event(window::on_event)
        .setup(move |app| {
            begin(app.handle(), &engine, hidden);
            Ok(())
        })
        .build(tauri::generate_context!("tauri.conf.json"))
}

fn on_event(app: &AppHandle, event: RunEvent) {
    let RunEvent::ExitRequested { code, api, .. } = event else { return };
    if code.is_some() {
        return window::keep_sizes(app);
    }
    // The last window closed. With a tray that is normal; without one the program would live on unseen.
    api.prevent_exit();
    if !app.state::<Shell>().has_tray() {
        quit(app);
    }
}

/// Says why there is no engine: in a dialog, and where the program was started.
pub fn tell(reason: &NoEngine) -> ExitCode {
    let NoEngine::Told { title, message, exit } = reason else {
        tracing::info!("Drawbridge was running already; it shows its window");
        return ExitCode::SUCCESS;
    };
    tracing::error!(title, "{message}");
    rfd::MessageDialog::new()
        .set_level(if *exit == 0 { rfd::MessageLevel::Info } else { rfd::MessageLevel::Error })
        .set_title(title)
        .set_description(message)
        .show();
    ExitCode::from(*exit)
}

fn begin(app: &AppHandle, engine: &EngineHandle, hidden: bool) {
    if !hidden {
        window::open(app);
    }
    follow_the_tray(app, around::start(app, engine), hidden);
    events::follow(app.clone(), engine.subscribe());
    follow_the_end(app);
    updates::follow(app);
}

/// Takes in whether the tray icon can be seen, from the first answer of the desktop on.
fn follow_the_tray(app: &AppHandle, mut tray: watch::Receiver<TrayState>, hidden: bool) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        // Nobody asked for a window yet, but without a tray it is the only sign of the program.
        let mut unseen = hidden;
        loop {
            let state = *tray.borrow_and_update();
            // The icon goes with the engine, and the program right after it: nobody misses it then.
            if app.state::<Shell>().way.ending.load(Ordering::Acquire) {
                return;
            }
            if state != TrayState::Unknown {
                let shown = state == TrayState::Shown;
                tray_is(&app, shown);
                if std::mem::take(&mut unseen) && !shown {
                    window::open(&app);
                }
            }
            if tray.changed().await.is_err() {
                return;
            }
        }
    });
}

/// Takes in whether the tray icon can be seen. Without it the window is the only sign of the program, so it opens.
fn tray_is(app: &AppHandle, shown: bool) {
    let was = app.state::<Shell>().tray.swap(shown, Ordering::AcqRel);
    if was && !shown {
        tracing::warn!("the tray icon is not shown any more; the window opens");
        window::open(app);
    }
    let tray = if shown { TrayState::Shown } else { TrayState::None };
    send(app, Command::ReportTray { tray });
}

/// Ends the engine in order, then the program: also one that is just about to start again.
pub(crate) fn quit(app: &AppHandle) {
    app.state::<Shell>().way.end();
    end(app);
}

fn end(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        let ended = app.state::<Shell>().ended.clone();
        host::end(&engine, ended).await;
        leave(&app, 0);
    });
}

/// Ends the loop of the windows, once. Told a second time while the first one is carried out, Tauri finds no loop any more and ends the
/// process on the spot, which may be just about to start itself again.
fn leave(app: &AppHandle, code: i32) {
    if !app.state::<Shell>().left.swap(true, Ordering::AcqRel) {
        app.exit(code);
    }
}

/// Ends the engine in order, then starts the program again in its own place, with its window. A program that is ending stays ended.
pub(crate) fn start_again(app: &AppHandle) {
    if app.state::<Shell>().way.start_again() {
        end(app);
    }
}

/// The person has just acted in a window, so the program comes back with one.
fn flags_again(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    args.filter(|argument| argument != HIDDEN).collect()
}

fn environment_again(app: &AppHandle) -> Vec<(&'static str, &'static str)> {
    let mut environment = vec![(AGAIN, "1")];
    if app.state::<PrefsDesk>().get().plain_drawing {
        environment.push((rescue::PLAIN_DRAWING, "1"));
    }
    environment
}

/// Ends the program when its engine has ended, or when the session does.
fn follow_the_end(app: &AppHandle) {
    let (inner, mut ended) = (app.clone(), app.state::<Shell>().ended.clone());
    tauri::async_runtime::spawn(async move {
        let code = ended.wait_for(Option::is_some).await.ok().and_then(|code| *code);
        leave(&inner, i32::from(code.unwrap_or(1)));
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

/// Sends a command where nobody waits for the answer.
pub(crate) fn send(app: &AppHandle, command: Command) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        if let Err(error) = engine.send(command).await {
            tracing::warn!(code = error.code, "a command from the tray was refused");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_ends_the_program_ends_it_also_during_a_restart() {
        let (restarts, ends) = (Way::default(), Way::default());

        assert!(restarts.start_again() && restarts.again.load(Ordering::Acquire));
        assert!(!restarts.start_again() && restarts.again.load(Ordering::Acquire));
        restarts.end();
        assert!(restarts.ending.load(Ordering::Acquire) && !restarts.again.load(Ordering::Acquire));

        ends.end();
        assert!(!ends.start_again() && !ends.again.load(Ordering::Acquire));
    }

    #[test]
    fn a_restart_keeps_the_flags_but_comes_back_with_its_window() {
        let flags = ["--hidden", "--blank"].map(OsString::from);
        assert_eq!(flags_again(flags.into_iter()), ["--blank"].map(OsString::from));
    }
}
