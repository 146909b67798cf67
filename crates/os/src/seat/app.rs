//! Apps: which run, which can be started.

#[cfg(target_os = "linux")]
mod entry;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod scope;
#[cfg(target_os = "linux")]
mod start;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::window::Owner;
use super::{Seat, SeatFault};

/// An app that could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its identifier: the name of a desktop entry without its ending, a bundle identifier.
    pub id: String,
    /// Its name for a person.
    pub name: String,
    /// The program that it starts, if it can be told.
    pub program: Option<PathBuf>,
    /// The words that start it, before any argument, the program first.
    pub words: Vec<String>,
    /// It runs in a terminal.
    pub in_terminal: bool,
    /// Menus show it.
    pub listed: bool,
    /// The class of its windows, where it tells.
    pub window_class: Option<String>,
    /// The file that says all this.
    pub file: Option<PathBuf>,
}

/// An app to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By identifier.
    Id(String),
    /// An app that was found, as long as it is still told in the same words.
    Found(Box<Installed>),
    /// By program, absolute.
    Program(PathBuf),
}

/// A process that belongs to an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its program.
    pub program: PathBuf,
}

/// Looks at apps and starts them.
pub trait Apps: Send + Sync {
    /// Finds an installed app by its identifier.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when it is not installed.
    fn find(&self, id: &str) -> Result<Installed, SeatFault>;

    /// Returns the installed app that a program belongs to.
    fn of_program(&self, program: &Path) -> Option<Installed>;

    /// Returns the installed app that a window belongs to, by its class or its program.
    fn of_window(&self, owner: &Owner) -> Option<Installed>;

    /// Returns this user's processes whose program is that of an installed app, of several of one program that started each
    /// other the first one.
    fn running(&self) -> Vec<Process>;

    /// Tells whether a process is another one or came out of it.
    fn came_out_of(&self, pid: u32, ancestor: u32) -> bool;

    /// Starts an app, never through a shell. It belongs to the desktop from then on: it outlives us, and no stop ends it.
    /// Returns its process, if it can be told.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when it is not installed; [`SeatFault::Unsupported`] when it cannot be started like this.
    fn launch(&self, target: &Target, args: &[String]) -> Result<Option<u32>, SeatFault>;
}

/// Tells whether the user of this program could change a file, so that it is not known to be what its installer put there.
#[must_use]
pub fn user_can_change(file: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return start::user_can_change(file);
    #[cfg(not(target_os = "linux"))]
    return std::fs::metadata(file).is_ok_and(|facts| !facts.permissions().readonly());
}

/// Opens the apps of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where there are none, with the reason.
pub fn open(seat: &Seat) -> Result<Box<dyn Apps>, SeatFault> {
    open_in(seat, std::env::vars_os().collect())
}

/// Opens the apps of a seat as an environment names them; apps are started with it.
///
/// # Errors
/// [`SeatFault::Unsupported`] where there are none, with the reason.
pub fn open_in(seat: &Seat, environment: Vec<(OsString, OsString)>) -> Result<Box<dyn Apps>, SeatFault> {
    #[cfg(target_os = "linux")]
    if matches!(seat.kind, super::SeatKind::X11 | super::SeatKind::Wayland) {
        return Ok(Box::new(linux::DesktopApps::new(seat, environment)));
    }
    #[cfg(any(windows, target_os = "macos"))]
    if matches!(seat.kind, super::SeatKind::MacOs | super::SeatKind::Windows) {
        return Ok(Box::new(super::native::app::NativeApps));
    }
    let _ = environment;
    Err(SeatFault::Unsupported(format!("apps of {:?} cannot be started", seat.kind)))
}
