//! Starting with the session (spec 16.2, FB-43): the desktop application by the session's own list of programs, the engine
//! without a window by the service manager.
//!
//! The texts are made by pure functions for every system, so that all of them are tested everywhere. Deliberately runs no
//! command of the system: what has to be run is named, and the person runs it.

mod desktop_entry;
mod launchd;
mod place;
mod program;
mod task;
mod unit;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use drawbridge_core::escape_outside_text;

use place::Place;

/// Where packages and administrators put units for every person.
const UNIT_DIRS: [&str; 4] =
    ["/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user"];

/// The kind of system whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Autostart entries and systemd user units.
    Linux,
    /// Launch agents.
    MacOs,
    /// The Run key and the Task Scheduler.
    Windows,
}

/// What starts at login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The desktop application, with its tray icon alone where there is a tray.
    App,
    /// The engine without a window, under the service manager.
    Headless,
}

/// What of the process and its session matters here. A test sets it; programs take [`Around::of_process`].
#[derive(Debug, Clone)]
pub struct Around {
    /// Whose rules hold.
    pub system: System,
    /// The running program, as the system names it.
    pub exe: Option<PathBuf>,
    /// `APPIMAGE`: the file that the person started, where the program came out of an AppImage.
    pub appimage: Option<PathBuf>,
    /// `APPDIR`: where that AppImage is mounted for the moment.
    pub appdir: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// The person's folder of settings, `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// The system's folders of settings, `XDG_CONFIG_DIRS`, the most important first.
    pub config_dirs: Vec<PathBuf>,
    /// The system's folders of units for every person, the most important first.
    pub unit_dirs: Vec<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// `LOCALAPPDATA`.
    pub local_data: Option<PathBuf>,
    /// A display is there to draw on.
    pub display: bool,
}

/// One way of starting at login: what is started, and where that is written.
#[derive(Debug, Clone)]
pub struct Autostart {
    kind: Kind,
    system: System,
    program: PathBuf,
    place: Place,
    /// The system's own entries of the same name, which the person's one overrides.
    shared: Vec<PathBuf>,
}

/// How a way of starting at login stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing starts.
    Off,
    /// This program starts.
    On,
    /// The entry starts another program.
    Elsewhere {
        /// It.
        program: PathBuf,
    },
    /// The entry starts a program that is not there any more.
    Gone {
        /// It.
        program: PathBuf,
    },
    /// The entry is there, and the desktop or the service manager has it switched off.
    Disabled,
    /// Something of that name is there that Drawbridge has not written.
    Foreign,
}

/// The state in words, for the window and the check-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How it stands.
    pub state: State,
    /// What starts, or would.
    pub kind: Kind,
    /// The file or entry concerned, safe to show.
    pub place: String,
    /// What is odd about it and what to do, safe to show; none when nothing is.
    pub problem: Option<String>,
}

/// Why starting at login cannot be changed or read.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// This person has no folder for such entries.
    #[error("this user has no home folder, so nothing can start at login")]
    NoHome,
    /// No program to start was found.
    #[error("{0}")]
    NoProgram(String),
    /// The program's path cannot be written into such an entry.
    #[error("the path {} {why}, which an entry for starting at login cannot hold; move Drawbridge to another folder", escape_outside_text(&.path.to_string_lossy()))]
    OddPath {
        /// The path.
        path: PathBuf,
        /// What is odd about it.
        why: &'static str,
    },
    /// Somebody else wrote what is there.
    #[error(
        "{0} was not written by Drawbridge, so it was left alone; rename or remove it if Drawbridge should use that name"
    )]
    Foreign(String),
    /// The system refused.
    #[error("{place} cannot be {what}: {error}; nothing has changed")]
    Io {
        /// The file or entry, safe to show.
        place: String,
        /// "read", "written" or "removed".
        what: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// What an entry says, whatever its form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Parsed {
    /// The program that it starts.
    program: Option<PathBuf>,
    /// Drawbridge wrote it.
    ours: bool,
    /// It is switched off.
    disabled: bool,
}

impl Around {
    /// Takes what holds for this process.
    #[must_use]
    pub fn of_process() -> Self {
        let named = |key| std::env::var_os(key).filter(|value| !value.is_empty());
        let folder = |key| named(key).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = std::env::home_dir().filter(|path| path.is_absolute());
        let dirs = named("XDG_CONFIG_DIRS").unwrap_or_else(|| "/etc/xdg".into());
        Self {
            system: this_system(),
            exe: std::env::current_exe().ok(),
            appimage: folder("APPIMAGE"),
            appdir: folder("APPDIR"),
            path: named("PATH"),
            config_home: folder("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config"))),
            config_dirs: std::env::split_paths(&dirs).filter(|path| path.is_absolute()).collect(),
            unit_dirs: UNIT_DIRS.map(PathBuf::from).to_vec(),
            home,
            local_data: folder("LOCALAPPDATA"),
            display: cfg!(any(windows, target_vendor = "apple"))
                || named("DISPLAY").or(named("WAYLAND_DISPLAY")).is_some(),
        }
    }

    /// Tells which kind fits: the application where it is installed and has a display, else the engine without a window.
    #[must_use]
    pub fn fitting(&self) -> Kind {
        let app = program::of(self, Kind::App).is_ok();
        if app && (self.display || self.own_appimage().is_some()) { Kind::App } else { Kind::Headless }
    }
}

/// Tells how starting at login stands on this computer: of the application, or where that does not start but the engine
/// without a window does, of that.
///
/// # Errors
/// [`Fault`] where nobody can tell.
pub fn state() -> Result<Report, Fault> {
    let around = Around::of_process();
    let mut first = None;
    for kind in [Kind::App, Kind::Headless] {
        // A computer without the application has no way of starting it.
        let Ok(way) = Autostart::new(&around, kind) else { continue };
        let report = way.report()?;
        if report.state != State::Off {
            return Ok(report);
        }
        first = first.or(Some(report));
    }
    first.ok_or(Fault::NoHome)
}

impl Autostart {
    /// Finds the program and the place for a kind.
    ///
    /// # Errors
    /// [`Fault::NoProgram`], [`Fault::NoHome`].
    pub fn new(around: &Around, kind: Kind) -> Result<Self, Fault> {
        Self::starting(around, kind, program::of(around, kind)?)
    }

    /// Finds the place for a kind, also where its program is gone: for removing what was written.
    ///
    /// # Errors
    /// [`Fault::NoHome`].
    pub fn left_behind(around: &Around, kind: Kind) -> Result<Self, Fault> {
        let program = program::of(around, kind);
        Self::starting(around, kind, program.unwrap_or_else(|_| program::file_name(around.system, kind).into()))
    }

    fn starting(around: &Around, kind: Kind, program: PathBuf) -> Result<Self, Fault> {
        let place = Place::of(around, kind)?;
        let shared = match (around.system, kind) {
            (System::Linux, Kind::App) => {
                around.config_dirs.iter().map(|dir| dir.join("autostart").join(desktop_entry::NAME)).collect()
            }
            (System::Linux, Kind::Headless) => around.unit_dirs.iter().map(|dir| dir.join(unit::NAME)).collect(),
            (System::MacOs | System::Windows, _) => Vec::new(),
        };
        Ok(Self { kind, system: around.system, program, place, shared })
    }

    /// Returns the program that is started.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the file or entry that is written, safe to show.
    #[must_use]
    pub fn place(&self) -> String {
        self.place.shown()
    }

    /// Tells whether an entry of the person's own is there, whatever it says.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !matches!(self.place.read(), Ok(None))
    }

    /// Makes the text of the entry.
    ///
    /// # Errors
    /// [`Fault::OddPath`].
    pub fn render(&self) -> Result<String, Fault> {
        let odd = |why| Fault::OddPath { path: self.program.clone(), why };
        let program = self.program.to_str().ok_or_else(|| odd("is not valid text"))?;
        if program.chars().any(char::is_control) {
            return Err(odd("holds a control character"));
        }
        // XML can hold neither, in any spelling.
        if program.contains(['\u{FFFE}', '\u{FFFF}']) {
            return Err(odd("holds a sign that is no letter"));
        }
        match (self.system, self.kind) {
            (System::Linux, Kind::App) if program.contains('=') => {
                Err(odd("holds the sign =, by which desktops take it for something else"))
            }
            (System::Linux, Kind::App) => Ok(desktop_entry::render(program)),
            (System::Linux, Kind::Headless) if program.contains(unit::REFUSED) => {
                Err(odd("holds a quotation mark or a backslash"))
            }
            (System::Linux, Kind::Headless) => Ok(unit::render(program)),
            (System::MacOs, kind) => Ok(launchd::render(program, kind)),
            (System::Windows, _) if program.contains('"') => Err(odd("holds a quotation mark")),
            (System::Windows, Kind::App) => Ok(task::run_value(program)),
            (System::Windows, Kind::Headless) => Ok(task::render(program)),
        }
    }

    /// Tells how it stands.
    ///
    /// # Errors
    /// [`Fault::Io`] when the entry cannot be read.
    pub fn state(&self) -> Result<State, Fault> {
        let Some(text) = self.place.read()? else { return Ok(self.shared_state()) };
        let mut parsed = self.parse(&text);
        parsed.disabled |= self.place.switched_off();
        Ok(self.judge(&parsed))
    }

    /// Tells how it stands, with words for what is odd.
    ///
    /// # Errors
    /// As [`Autostart::state`].
    pub fn report(&self) -> Result<Report, Fault> {
        let state = self.state()?;
        let problem = self.problem(&state);
        Ok(Report { kind: self.kind, place: self.place(), problem, state })
    }

    /// Switches it on or off. Whatever starts then starts at the next login.
    ///
    /// # Errors
    /// [`Fault`]; nothing has changed then.
    pub fn set(&self, on: bool) -> Result<(), Fault> {
        let there = self.place.read()?;
        if there.as_deref().is_some_and(|text| !self.is_ours(&self.parse(text))) {
            return Err(Fault::Foreign(self.place()));
        }
        if on {
            if !self.program.is_file() {
                return Err(Fault::NoProgram(format!(
                    "{} is not there, so it cannot be started at login",
                    escape_outside_text(&self.program.to_string_lossy())
                )));
            }
            return self.place.write(&self.render()?);
        }
        let by_command = self.kind == Kind::Headless;
        if by_command || matches!(self.shared_state(), State::Off | State::Disabled) {
            return if there.is_some() { self.place.remove() } else { Ok(()) };
        }
        // The system's own entry would start it for everybody; only an entry of one's own says no to that.
        self.place.write(&desktop_entry::switched_off())
    }

    /// Names the commands that the person has to run after [`Autostart::set`], in order; none where that is all.
    #[must_use]
    pub fn commands(&self, on: bool) -> Vec<String> {
        match (self.system, self.kind) {
            (System::Linux, Kind::Headless) => unit::commands(on),
            (System::MacOs, _) => launchd::commands(&self.place(), on),
            (System::Windows, Kind::Headless) => task::commands(&self.place(), on),
            (System::Linux | System::Windows, Kind::App) => Vec::new(),
        }
    }

    fn parse(&self, text: &str) -> Parsed {
        match (self.system, self.kind) {
            (System::Linux, Kind::App) => desktop_entry::parse(text),
            (System::Linux, Kind::Headless) => unit::parse(text),
            (System::MacOs, _) => launchd::parse(text),
            (System::Windows, Kind::App) => task::parse_run_value(text),
            (System::Windows, Kind::Headless) => task::parse(text),
        }
    }

    fn judge(&self, parsed: &Parsed) -> State {
        let Some(program) = parsed.program.as_ref().filter(|_| self.is_ours(parsed)) else { return State::Foreign };
        if parsed.disabled {
            State::Disabled
        } else if self.is_mine(program) {
            State::On
        } else if program.is_file() {
            State::Elsewhere { program: program.clone() }
        } else {
            State::Gone { program: program.clone() }
        }
    }

    /// Drawbridge wrote it, or somebody wrote it for this very program.
    fn is_ours(&self, parsed: &Parsed) -> bool {
        parsed.ours || parsed.program.as_deref().is_some_and(|program| self.is_mine(program))
    }

    fn is_mine(&self, program: &Path) -> bool {
        // A name alone is looked for by the session itself.
        let name_alone = program.components().count() == 1 && program.file_name() == self.program.file_name();
        name_alone || same(program, &self.program)
    }

    /// How it stands where the person has no entry of their own.
    fn shared_state(&self) -> State {
        let text = self.shared.iter().find_map(|path| std::fs::read_to_string(path).ok());
        let parsed = text.map(|text| {
            let parsed = self.parse(&text);
            Parsed { disabled: parsed.disabled || self.place.switched_off(), ..parsed }
        });
        match parsed.map(|parsed| self.judge(&parsed)) {
            // A package brings it switched off; to the person that is simply off.
            None | Some(State::Disabled | State::Foreign) => State::Off,
            Some(state) => state,
        }
    }

    fn problem(&self, state: &State) -> Option<String> {
        let place = self.place();
        let shown = |path: &Path| escape_outside_text(&path.to_string_lossy());
        match state {
            State::Off | State::On => None,
            State::Elsewhere { program } => Some(format!(
                "{place} starts {}, not this program ({}). Switch it on anew to start this one.",
                shown(program),
                shown(&self.program)
            )),
            State::Gone { program } => Some(format!(
                "{place} starts {}, which is not there any more, so nothing starts at login. Switch it on anew to repair it.",
                shown(program)
            )),
            State::Disabled => Some(format!(
                "{place} is there but switched off outside Drawbridge, so nothing starts at login. {}",
                match self.commands(true).last() {
                    Some(command) => format!("Switch it on with: {command}"),
                    None => "Switch it on anew if you want it.".to_owned(),
                }
            )),
            State::Foreign => Some(format!(
                "{place} was not written by Drawbridge, so it is left alone. Rename or remove it to switch this on here."
            )),
        }
    }
}

/// Tells whether two paths lead to one program, links followed.
fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

const fn this_system() -> System {
    if cfg!(target_os = "macos") {
        System::MacOs
    } else if cfg!(target_os = "windows") {
        System::Windows
    } else {
        System::Linux
    }
}

#[cfg(test)]
#[path = "autostart_tests.rs"]
mod tests;
