//! Apps: which run, which can be started.

use std::path::{Path, PathBuf};

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
    /// It runs in a terminal.
    pub in_terminal: bool,
}

/// An app to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By identifier.
    Id(String),
    /// By program, absolute.
    Program(PathBuf),
}

/// Looks at apps and starts them.
pub trait Apps: Send + Sync {
    /// Finds an installed app by its identifier.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when it is not installed.
    fn find(&self, id: &str) -> Result<Installed, SeatFault>;

    /// Returns the name of the app that a program belongs to, and its identifier, if it is an installed one.
    fn of_program(&self, program: &Path) -> Option<Installed>;

    /// Starts an app, never through a shell. It belongs to the desktop from then on and outlives us. Returns its process, if it
    /// can be told.
    ///
    /// # Errors
    /// [`SeatFault::Gone`] when it is not installed.
    fn launch(&self, target: &Target, args: &[String]) -> Result<Option<u32>, SeatFault>;
}

/// Opens the apps of a seat.
///
/// # Errors
/// [`SeatFault::Unsupported`] where there are none, with the reason.
pub fn open(seat: &Seat) -> Result<Box<dyn Apps>, SeatFault> {
    Err(SeatFault::Unsupported(format!("apps of {:?} cannot be started", seat.kind)))
}
