//! APP_LIST and APP_LAUNCH (spec 10.7).
//!
//! An app that was started belongs to the desktop: it goes on when the bridge is raised or Drawbridge ends. Which files it opens is
//! the app's business: the folder of the chat does not confine it, which the question to the person says.

mod commands;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use drawbridge_core::computer::{AppFacts, AppLaunchOp};
use drawbridge_core::{OpError, Outcome, PayloadFault};
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::app::{Apps, Installed, Target};
use drawbridge_os::seat::window::{Owner, SeatWindow, Windows};

use super::guard::{self, App};
use super::{Inner, Job, faults};

/// Arguments of an app, and bytes of all of them.
const MAX_ARGS: usize = 256;
const MAX_ARG_BYTES: usize = 64 * 1024;

/// Apps in one list.
const MAX_LISTED: usize = 500;

/// How long a started app may take to show a window that gets the keyboard. It may show one later; then it keeps its place.
const WINDOW_LIMIT: Duration = Duration::from_secs(5);

/// How often the wait for it looks whether anybody still wants it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An app that runs, as it is put together.
struct Running {
    facts: AppFacts,
    app: App,
}

pub(super) fn list(inner: &Inner, include_background: bool, job: &Job) -> Result<Outcome, OpError> {
    const FEATURE: &str = "app.list";
    let told = |fault| faults::met(&inner.seats, FEATURE, fault);
    guard::unlocked(inner, FEATURE)?;
    let apps = inner.seats.apps().map_err(told)?;
    let windows = match inner.seats.windows() {
        Ok(windows) => windows.all().map_err(told)?,
        // Where windows cannot be seen, all apps are in the background.
        Err(SeatFault::Unsupported(_)) => Vec::new(),
        Err(fault) => return Err(told(fault)),
    };
    let mut running: BTreeMap<u32, Running> = BTreeMap::new();
    for window in windows {
        job.go_on()?;
        let Some(pid) = window.owner.pid else { continue };
        let known = guard::known(inner, window);
        let entry = running.entry(pid).or_insert_with(|| facts(pid, &known.window.owner, known.installed.as_ref(), 0));
        // Any of its windows protects the whole app.
        if known.app.may_see(&job.rules).is_err() {
            entry.app = known.app;
        }
        entry.facts.is_frontmost |= known.window.focused;
        entry.facts.window_count += u32::from(!known.window.auxiliary);
    }
    running.retain(|_, running| running.facts.window_count > 0);
    if include_background {
        for process in apps.running() {
            let owner = Owner {
                pid: Some(process.pid),
                started: None,
                class: String::new(),
                instance: String::new(),
                program: Some(process.program),
            };
            // What menus do not show is a part of the desktop or an interpreter, and no app that a person would name.
            let Some(installed) = apps.of_window(&owner).filter(|app| app.listed) else { continue };
            running.entry(process.pid).or_insert_with(|| facts(process.pid, &owner, Some(&installed), 0));
        }
    }
    let seen = running.into_values().filter(|running| running.app.may_see(&job.rules).is_ok());
    let mut listed: Vec<AppFacts> = seen.map(|running| running.facts).collect();
    // The one that has the keyboard first, then those with windows.
    listed.sort_by_key(|app| (!app.is_frontmost, app.window_count == 0, app.name.to_lowercase(), app.pid));
    listed.truncate(MAX_LISTED);
    Ok(Outcome::Apps(listed))
}

fn facts(pid: u32, owner: &Owner, installed: Option<&Installed>, window_count: u32) -> Running {
    let program = owner.program.as_deref();
    let stem = program.and_then(|program| program.file_name()?.to_str());
    let class = Some(&*owner.class).filter(|class| !class.is_empty());
    let name = installed.map(|app| &*app.name).or(class).or(stem).unwrap_or_default().to_owned();
    let facts = AppFacts {
        pid,
        name,
        bundle_id: installed.map(|app| app.id.clone()).or_else(|| class.map(str::to_owned)),
        executable_path: program.map(|program| program.to_string_lossy().into_owned()),
        is_frontmost: false,
        window_count,
    };
    Running { facts, app: App::of(owner, installed) }
}

pub(super) fn launch(inner: &Inner, op: &AppLaunchOp, job: &Job) -> Result<Outcome, OpError> {
    let told = |fault| faults::met(&inner.seats, FEATURE, fault);
    guard::unlocked(inner, FEATURE)?;
    bounded(&op.args)?;
    let apps = inner.seats.apps().map_err(told)?;
    let chosen = Chosen::of(&*apps, op, &told)?;
    chosen.allowed(job, &op.args)?;
    job.go_on()?;
    let pid = apps
        .launch(&chosen.target, &op.args)
        .map_err(|fault| if fault == SeatFault::Gone { missing(&chosen.named) } else { told(fault) })?;
    if op.activate
        && let Ok(windows) = inner.seats.windows()
        && windows.managed()
    {
        let wait = Wait { inner, job, apps: &*apps, windows: &*windows, chosen: &chosen, pid };
        wait.activated()?;
    }
    Ok(Outcome::Launched { pid })
}

const FEATURE: &str = "app.launch";

/// The app to start.
struct Chosen {
    target: Target,
    /// As the peer named it.
    named: String,
    app: App,
    installed: Option<Installed>,
    /// Why starting it counts as running a command.
    command: Option<&'static str>,
}

impl Chosen {
    fn of(apps: &dyn Apps, op: &AppLaunchOp, told: &dyn Fn(SeatFault) -> OpError) -> Result<Self, OpError> {
        match (&op.bundle_id, &op.executable_path) {
            (Some(id), _) => {
                let installed =
                    apps.find(id).map_err(|fault| if fault == SeatFault::Gone { missing(id) } else { told(fault) })?;
                let owner = nobody(installed.window_class.clone(), installed.program.as_deref());
                Ok(Self {
                    // What is started is what was looked at, also while somebody writes another entry.
                    target: Target::Found(Box::new(installed.clone())),
                    named: id.clone(),
                    app: App::of(&owner, Some(&installed)),
                    command: commands::why_of_entry(&installed),
                    installed: Some(installed),
                })
            }
            (None, Some(path)) => {
                let program = Path::new(path);
                if !program.is_absolute() || path.contains('\0') {
                    return Err(fault("executable_path", "must be an absolute path"));
                }
                if !drawbridge_os::process::is_program(program) {
                    return Err(missing(path));
                }
                let real = program.canonicalize().map_err(|_| missing(path))?;
                let installed = apps.of_program(&real);
                // Under the name that is asked for and under that of the file behind it.
                let called = program.file_name().and_then(std::ffi::OsStr::to_str).map(str::to_owned);
                let owner = nobody(called, Some(&real));
                Ok(Self {
                    // The file that was looked at, also while somebody turns the link elsewhere.
                    target: Target::Program(real.clone()),
                    named: path.clone(),
                    app: App::of(&owner, installed.as_ref()),
                    command: commands::why_of_path(program, &real, installed.as_ref()),
                    installed,
                })
            }
            (None, None) => Err(OpError::Unsupported {
                feature: FEATURE.to_owned(),
                why: "neither an app nor a program is named".to_owned(),
            }),
        }
    }

    fn allowed(&self, job: &Job, args: &[String]) -> Result<(), OpError> {
        self.app.may_use(&job.rules)?;
        match self.command.or_else(|| commands::why_of_args(args)) {
            Some(why) if !job.rules.terminals => Err(OpError::ProtectedApp {
                app: self.app.shown().to_owned(),
                reason: "terminal",
                why: format!(
                    "{why}, so starting it counts as running a command; it may be started once the person allows commands \
                     without a question and with full access"
                ),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Tells whether a window belongs to it.
    fn has(&self, window: &SeatWindow, apps: &dyn Apps, pid: Option<u32>) -> bool {
        let came = match (window.owner.pid, pid) {
            (Some(own), Some(started)) => apps.came_out_of(own, started),
            _ => false,
        };
        // An app that runs already may take the start over.
        came || self
            .installed
            .as_ref()
            .is_some_and(|app| apps.of_window(&window.owner).is_some_and(|of_window| of_window.id == app.id))
    }
}

/// The wait for the window of an app.
struct Wait<'a> {
    inner: &'a Inner,
    job: &'a Job,
    apps: &'a dyn Apps,
    windows: &'a dyn Windows,
    chosen: &'a Chosen,
    pid: Option<u32>,
}

impl Wait<'_> {
    /// Gives the app's window the keyboard once it is there. An app without a window within the limit was started all the same.
    fn activated(&self) -> Result<(), OpError> {
        // The system's own time: it is a wait for another program.
        let deadline = Instant::now() + WINDOW_LIMIT;
        let told = |fault| faults::met(&self.inner.seats, FEATURE, fault);
        loop {
            self.job.go_on()?;
            let all = self.windows.all().map_err(told)?;
            let frontmost = all.into_iter().rev().find(|window| {
                !window.auxiliary
                    && (window.visible || window.minimized)
                    && self.chosen.has(window, self.apps, self.pid)
            });
            if let Some(window) = frontmost {
                // The window manager may refuse, or the window may have gone: the app was started.
                if let Err(fault) = self.windows.focus(window.handle, true) {
                    tracing::debug!(%fault, "the window of a started app did not get the keyboard");
                }
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Ok(());
            }
            self.windows.wait(LOOK_EVERY).map_err(told)?;
        }
    }
}

/// An owner without a process, for what does not run yet.
fn nobody(class: Option<String>, program: Option<&Path>) -> Owner {
    Owner {
        pid: None,
        started: None,
        class: class.unwrap_or_default(),
        instance: String::new(),
        program: program.map(Path::to_path_buf),
    }
}

fn bounded(args: &[String]) -> Result<(), OpError> {
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err(fault("args", "must not hold a NUL"));
    }
    if args.len() > MAX_ARGS || args.iter().map(String::len).sum::<usize>() > MAX_ARG_BYTES {
        return Err(fault("args", "must be at most 256 words and 65,536 bytes"));
    }
    Ok(())
}

fn fault(field: &str, why: &str) -> OpError {
    OpError::InvalidPayload(PayloadFault { field: field.to_owned(), why: why.to_owned() })
}

fn missing(named: &str) -> OpError {
    let named = drawbridge_core::escape_outside_text(&drawbridge_core::shorten_middle(named, 200));
    OpError::Unsupported {
        feature: FEATURE.to_owned(),
        why: format!(
            "{named} is not installed on this computer; list the apps that run, or ask the person for its name"
        ),
    }
}

#[cfg(test)]
#[path = "apps_tests.rs"]
mod tests;
