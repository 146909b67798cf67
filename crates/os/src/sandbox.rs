//! Walls around a command (DESIGN §4, spec 9.1): on Linux bubblewrap and, inside it, Landlock.
//!
//! A confined command sees the file system read-only, may write only in the attached folder and in a private `/tmp`,
//! sees neither the home folder nor `/run` (where the sockets of the session live) nor our own folders, and has the
//! network it was given. Landlock is put on by a second start of our own program, see [`confine_main`]; that start also
//! checks by handle that the folder it was given is the very folder that was attached.
//!
//! Never silently weaker: a layer that is missing, or a Landlock too old to hold writes to the folder, is an error that
//! names it.
//!
//! Not walled off: sockets with a path outside home, `/run` and `/tmp`, and what files outside home can be read.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod standing;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::process::Start;

/// The first argument by which our own program knows that it is to put on the inner wall.
pub const CONFINE_ARGUMENT: &str = "__confine";

/// The program that puts on the inner wall: one of ours, which calls [`crate::helper::run_if_asked`] first thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfineHelper {
    /// Its path.
    pub program: PathBuf,
}

impl ConfineHelper {
    /// Takes the running program. Once taken it goes on to work after an update has replaced its file, or removed it.
    ///
    /// # Errors
    /// When the system does not tell where it is.
    pub fn current() -> std::io::Result<Self> {
        Ok(Self { program: system::place()? })
    }
}

/// Whether one layer works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerState {
    /// It works.
    Works,
    /// It does not, and why, for a person.
    Missing(String),
}

/// What this machine can do to confine commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxState {
    /// The program bubblewrap.
    pub bubblewrap: LayerState,
    /// Landlock of the kernel.
    pub landlock: LayerState,
    /// Name spaces for ordinary users.
    pub namespaces: LayerState,
}

impl SandboxState {
    /// Returns what is missing, in words that name the layer; none when commands can be confined.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        [("bubblewrap", &self.bubblewrap), ("name spaces", &self.namespaces), ("Landlock", &self.landlock)]
            .into_iter()
            .find_map(|(layer, state)| match state {
                LayerState::Works => None,
                LayerState::Missing(why) => Some(format!("{layer}: {why}")),
            })
    }
}

/// What a confined command may reach.
///
/// The first two both have a network of their own with nothing but a loopback in it: services of this machine and of
/// other commands are out of reach. They differ in what the command can do with that loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nothing: with Landlock 4 or later (Linux 6.7) also no TCP within the command itself. UDP on its own loopback, and
    /// TCP there on an older kernel, stay possible and reach nobody but the command.
    Nothing,
    /// A loopback of its own, for programs that talk to themselves, such as test servers.
    OwnLoopback,
    /// Everything.
    Everything,
}

/// A folder as it was checked by handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFolder {
    /// Its canonical path.
    pub path: PathBuf,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The walls around one command.
#[derive(Debug, Clone)]
pub struct Walls {
    /// The program bubblewrap; see [`find_bubblewrap`].
    pub bubblewrap: PathBuf,
    /// Our own program.
    pub helper: ConfineHelper,
    /// The attached folder.
    pub root: CheckedFolder,
    /// The folder to start in, in the root.
    pub folder: CheckedFolder,
    /// The network.
    pub reach: Reach,
    /// The home folder, hidden.
    pub home: Option<PathBuf>,
    /// Further folders to hide: ours.
    pub hidden: Vec<PathBuf>,
}

/// The reading end that tells whether the walls stood before the command began.
#[derive(Debug)]
pub struct WallReport(OwnedFd);

/// What became of the walls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WallState {
    /// They stood, and the command began.
    Stood,
    /// They stood, but the program could not be started; with the reason.
    NotStarted(String),
    /// They did not stand, so nothing was started; with the reason if it is known.
    Missing(Option<String>),
}

impl WallReport {
    /// Reads the report. To be asked after the first process ended.
    #[must_use]
    pub fn read(self) -> WallState {
        system::read_report(&self.0)
    }
}

/// Puts walls around a start: the result starts bubblewrap, which starts our own program, which starts the command.
///
/// # Errors
/// When no pipe can be made, or on a system without confinement.
pub fn confine(walls: &Walls, start: Start) -> std::io::Result<(Start, WallReport)> {
    system::confine(walls, start).map(|(start, report)| (start, WallReport(report)))
}

/// Looks for bubblewrap in the folders of the system. Not on the PATH, which others can change.
#[must_use]
pub fn find_bubblewrap() -> PathBuf {
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from("/usr/bin/bwrap"))
}

/// Tries each layer. Starts a process and waits for it.
#[must_use]
pub fn probe(bubblewrap: &std::path::Path) -> SandboxState {
    system::probe(bubblewrap)
}

/// Puts on the inner wall and becomes the command. Returns only when that failed.
#[must_use]
pub fn confine_main(args: Vec<OsString>) -> ExitCode {
    system::confine_main(args)
}
