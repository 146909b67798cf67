//! The switch "start at login" of the window.

use drawbridge_core::escape_outside_text;
use drawbridge_engine::CommandError;
use drawbridge_os::autostart::{Around, Autostart, Fault, Kind, State};
use serde::Serialize;
use tauri::{AppHandle, Manager as _};

use crate::prefs::PrefsDesk;

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
    /// "off", "on", "elsewhere", "gone", "disabled", "foreign", "practice", "no_program", `odd_path` or
    /// "unknown": the page has words for each.
    state: &'static str,
    /// The program that the entry starts in place of this one, safe to show.
    program: Option<String>,
}

/// Tells whether the program starts with the session.
#[tauri::command]
pub(crate) async fn login_start(app: AppHandle) -> Result<LoginStart, CommandError> {
    if practises(&app) {
        return Ok(LoginStart::cannot("practice", None));
    }
    aside(|| Ok(look())).await
}

/// Switches it on or off.
#[tauri::command]
pub(crate) async fn set_login_start(app: AppHandle, on: bool) -> Result<LoginStart, CommandError> {
    if practises(&app) {
        let message =
            "On the practice platform nothing is set up for the next login. Go back to the real platform first.";
        return Err(CommandError::new("login_practice", message));
    }
    aside(move || {
        way().and_then(|way| way.set(on)).map_err(|fault| refused(&fault))?;
        Ok(look())
    })
    .await
}

impl LoginStart {
    fn cannot(state: &'static str, problem: Option<String>) -> Self {
        Self { on: false, available: false, place: String::new(), problem, state, program: None }
    }
}

/// A trial is for looking, and leaves nothing behind that starts by itself.
fn practises(app: &AppHandle) -> bool {
    app.state::<PrefsDesk>().get().practice
}

fn way() -> Result<Autostart, Fault> {
    Autostart::new(&Around::of_process(), Kind::App)
}

fn look() -> LoginStart {
    let report = match way().and_then(|way| way.report()) {
        Ok(report) => report,
        Err(fault) => return LoginStart::cannot(why_not(&fault), Some(fault.to_string())),
    };
    let shown = |path: &std::path::Path| Some(escape_outside_text(&path.to_string_lossy()));
    let (state, program) = match &report.state {
        State::Off => ("off", None),
        State::On => ("on", None),
        State::Elsewhere { program } => ("elsewhere", shown(program)),
        State::Gone { program } => ("gone", shown(program)),
        State::Disabled => ("disabled", None),
        State::Foreign => ("foreign", None),
    };
    LoginStart { on: state == "on", available: true, place: report.place, problem: report.problem, state, program }
}

fn why_not(fault: &Fault) -> &'static str {
    match fault {
        Fault::NoProgram(_) => "no_program",
        Fault::OddPath { .. } => "odd_path",
        Fault::NoHome | Fault::Foreign(_) | Fault::Io { .. } => "unknown",
    }
}

fn refused(fault: &Fault) -> CommandError {
    let code = match fault {
        Fault::Foreign(_) => "login_foreign",
        Fault::NoHome | Fault::NoProgram(_) | Fault::OddPath { .. } => "login_no_program",
        Fault::Io { .. } => "login_not_written",
    };
    CommandError::new(code, format!("{fault}."))
}

/// Files may lie on a disk that takes its time.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<T, CommandError> {
    let broke_off = |_| CommandError::new("broke_off", "This broke off. Try again.");
    tokio::task::spawn_blocking(work).await.map_err(broke_off)?
}
