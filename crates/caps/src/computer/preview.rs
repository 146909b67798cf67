//! What a question about computer use can show besides the operation itself: which app would be started, and whose window an
//! operation would reach. Looks and touches nothing; whether it may be touched is [`super::guard`]'s question.

use std::path::{Path, PathBuf};

use drawbridge_core::OpError;
use drawbridge_core::computer::{AppLaunchOp, ComputerOp, InputOp};
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::app::Installed;
use drawbridge_os::seat::window::SeatWindow;

use super::faults::told;
use super::seats::Seats;

/// An app to start, as it is found at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchTarget {
    /// Its identifier, if it is an installed app.
    pub id: Option<String>,
    /// Its name for a person; from outside.
    pub name: Option<String>,
    /// The program that it starts, if it can be told.
    pub program: Option<PathBuf>,
    /// The file that the program's path leads to.
    pub real: Option<PathBuf>,
    /// The words that start it, before any argument; empty for a program that is named itself.
    pub words: Vec<String>,
    /// The file that says all this.
    pub entry: Option<PathBuf>,
    /// It runs in a terminal.
    pub in_terminal: bool,
}

/// Whose window an operation would reach at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reached {
    /// The app; from outside.
    pub app: String,
    /// The window's title; from outside.
    pub title: String,
}

/// Finds what would be started.
pub(super) fn launch_target(seats: &Seats, op: &AppLaunchOp) -> Result<LaunchTarget, OpError> {
    const FEATURE: &str = "app.launch";
    let missing = |what: &str| OpError::Unsupported {
        feature: FEATURE.to_owned(),
        why: format!("{what} is not installed on this computer"),
    };
    let apps = seats.apps().map_err(|fault| told(seats.seat(), FEATURE, fault))?;
    match (&op.bundle_id, &op.executable_path) {
        (Some(id), _) => match apps.find(id) {
            Ok(installed) => Ok(of_installed(installed)),
            Err(SeatFault::Gone) => Err(missing(id)),
            Err(fault) => Err(told(seats.seat(), FEATURE, fault)),
        },
        (None, Some(path)) => {
            let program = Path::new(path);
            let real = program.canonicalize().map_err(|_| missing(path))?;
            let installed = apps.of_program(program).map(of_installed).unwrap_or_default();
            Ok(LaunchTarget { program: Some(program.to_owned()), real: Some(real), words: Vec::new(), ..installed })
        }
        (None, None) => Err(OpError::Unsupported { feature: FEATURE.to_owned(), why: "no app is named".to_owned() }),
    }
}

fn of_installed(installed: Installed) -> LaunchTarget {
    let Installed { id, name, program, words, in_terminal, file, listed: _, window_class: _ } = installed;
    let real = program.as_ref().and_then(|program| program.canonicalize().ok());
    LaunchTarget { id: Some(id), name: Some(name), program, real, words, entry: file, in_terminal }
}

/// Finds the window under an operation's first point, or else the one with the keyboard. None when that cannot be told: then a
/// person is shown the operation alone.
pub(super) fn reached(seats: &Seats, op: &ComputerOp) -> Option<Reached> {
    let ComputerOp::Input(op) = op else { return None };
    let windows = seats.windows().ok()?;
    if matches!(op, InputOp::Wait { .. }) {
        return None;
    }
    let found = match op.points().first() {
        Some(point) => windows.at(*point),
        None => windows.focused(),
    };
    found.ok()?.map(|SeatWindow { owner, title, .. }| Reached { app: owner.class, title })
}
