//! Starting a command and ending all of it (DESIGN §7, spec 9.5).
//!
//! A command gets a session of its own, no terminal, no input, no inherited handle above 2 and exactly the environment
//! that is given. A [`Tree`] is everything that came out of it, also what left its process group or session.
//!
//! The process that hosts the engine calls [`adopt_orphans`] once, first thing: from then on whatever a command leaves
//! behind becomes a child of this process, so it can be found, ended and reaped. A stray is told from the children of
//! other parts of the program by its session: commands never share ours. So other parts may start programs as they
//! like, but must not give them a session of their own, unless they start them with `start_apart`.
//!
//! Deliberately absent: what may be run, with which limits; that is decided by the callers.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod unix;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(all(unix, not(target_os = "linux")))]
use unix as system;

use std::ffi::OsString;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};

use crate::root::Folder;

/// The variable by which everything that a command starts is recognised.
pub const MARKER_VARIABLE: &str = "DRAWBRIDGE_COMMAND";

/// The value of that variable in apps that were started for the desktop: they belong to no command, and no stop ends them.
pub(crate) const APP_MARK: &str = "app";

/// How often ended orphans are looked for while a command runs.
const REAP_EVERY: Duration = Duration::from_millis(100);

/// The number at which a program finds the handle that it was passed.
pub const PASSED_NUMBER: RawFd = 3;

/// What to start and how.
#[derive(Debug)]
pub struct Start {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// What the program sees as its own name.
    pub name: OsString,
    /// The arguments after the name.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The folder to start in, as a handle; none for a program that finds its own.
    pub folder: Option<Folder>,
    /// A handle that the program gets at [`PASSED_NUMBER`].
    pub pass: Option<OwnedFd>,
    /// The program is the wall around the command (two processes deep) and must not be asked to end before it.
    pub wrapped: bool,
}

/// A command that was started.
#[derive(Debug)]
pub struct Running {
    /// Its standard output.
    pub stdout: Option<ChildStdout>,
    /// Its standard error.
    pub stderr: Option<ChildStderr>,
    child: system::Child,
    tree: Tree,
}

impl Running {
    /// Waits for the first process and returns its status: −n after signal n. Safe to drop and call again.
    ///
    /// # Errors
    /// When the system does not tell.
    pub async fn wait(&mut self) -> std::io::Result<i32> {
        loop {
            tokio::select! {
                code = self.child.wait() => return code,
                () = tokio::time::sleep(REAP_EVERY) => {
                    // Orphans that end while a long command runs are ours to reap: unreaped they fill the process table.
                    let _ = tokio::task::spawn_blocking(system::reap_strays).await;
                }
            }
        }
    }

    /// Returns the handle on everything that the command started.
    #[must_use]
    pub fn tree(&self) -> Tree {
        self.tree.clone()
    }

    /// Closes the books when the first process was waited for and nothing else is left. Cheap. When this says no,
    /// [`Running::end`] is due.
    #[must_use]
    pub fn settle_if_quiet(&mut self) -> bool {
        let quiet = matches!(self.child.try_wait(), Ok(Some(_))) && self.tree.is_quiet();
        if quiet {
            self.tree.forget();
        }
        quiet
    }

    /// Ends what is left and takes the first process out of the process table.
    ///
    /// # Errors
    /// [`StillAlive`] when something could not be ended.
    pub async fn end(&mut self) -> Result<(), StillAlive> {
        let tree = self.tree();
        let ended = tokio::task::spawn_blocking(move || tree.kill()).await;
        let _ = self.child.wait().await;
        self.tree.forget();
        ended.unwrap_or(Err(StillAlive { count: 1 }))
    }
}

/// A command whose owner is gone must be gone, too.
impl Drop for Running {
    fn drop(&mut self) {
        if self.tree.is_forgotten() {
            return;
        }
        let tree = self.tree.clone();
        let unwaited = self.child.unwaited();
        // A thread and not a task: the runtime may be on its way down.
        let spawned = std::thread::Builder::new().name("end-command".to_owned()).spawn(move || {
            let _ = tree.kill();
            system::reap_left(unwaited);
            tree.forget();
        });
        if spawned.is_err() {
            let _ = self.tree.kill();
            system::reap_left(unwaited);
            self.tree.forget();
        }
    }
}

/// Something survived every attempt to end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{count} processes of the command could not be ended")]
pub struct StillAlive {
    /// How many.
    pub count: usize,
}

/// Everything that came out of one command.
#[derive(Debug, Clone)]
pub struct Tree(system::Tree);

impl Tree {
    /// Asks all of it to end. Blocks for a moment.
    pub fn terminate(&self) {
        self.0.terminate();
    }

    /// Ends all of it and makes sure that nothing is left. Blocks, usually for milliseconds, at most two seconds.
    ///
    /// # Errors
    /// [`StillAlive`] when something is left after that, for example a process in an uninterruptible wait.
    pub fn kill(&self) -> Result<(), StillAlive> {
        self.0.kill()
    }

    /// Tells whether nothing is left besides the first process, and reaps what has ended. Cheap.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }

    /// Lists the ids of all living processes of it. Walks the process table; for checks and tests.
    #[must_use]
    pub fn members(&self) -> Vec<i32> {
        self.0.members()
    }

    fn forget(&self) {
        self.0.forget();
    }

    fn is_forgotten(&self) -> bool {
        self.0.is_forgotten()
    }
}

/// Tells whether a path is a file that this user may execute.
#[must_use]
pub fn is_program(path: &std::path::Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Which program a path leads to, and in which state: enough to see that another one took its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramIdentity {
    /// The absolute path that it was found at.
    pub path: PathBuf,
    /// The device of the file that the path leads to.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Last change of its content, in nanoseconds since the epoch.
    pub mtime_ns: i128,
    /// Last change of its inode, in nanoseconds since the epoch: nobody can set that one back.
    pub ctime_ns: i128,
}

impl ProgramIdentity {
    /// Looks at a program, links followed.
    ///
    /// # Errors
    /// What the file system says.
    pub fn of(path: &std::path::Path) -> std::io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let facts = std::fs::metadata(path)?;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Ok(Self {
            path: path.to_path_buf(),
            device: facts.dev(),
            inode: facts.ino(),
            size_bytes: facts.size(),
            mtime_ns: nanoseconds(facts.mtime(), facts.mtime_nsec()),
            ctime_ns: nanoseconds(facts.ctime(), facts.ctime_nsec()),
        })
    }
}

/// Makes orphans of commands children of this process. Called once by the process that hosts the engine, before the
/// first command; on systems without such a thing it does nothing.
///
/// # Errors
/// When the system refuses.
pub fn adopt_orphans() -> std::io::Result<()> {
    system::adopt_orphans()
}

/// Starts an app for the desktop: no command counts it as its own, also not what it leaves behind. `start` starts it as the first
/// process of a session of its own, with [`APP_MARK`], and returns its number.
///
/// # Errors
/// What `start` says.
#[cfg(target_os = "linux")]
pub(crate) fn start_apart(start: impl FnOnce() -> std::io::Result<u32>) -> std::io::Result<u32> {
    system::start_apart(start)
}

/// Starts a command. Must be called within a tokio runtime.
///
/// # Errors
/// What the system says: not found, not executable, out of processes.
pub fn spawn(start: Start) -> std::io::Result<Running> {
    let (child, stdout, stderr, tree) = system::spawn(start, random_marker()?)?;
    Ok(Running { stdout: Some(stdout), stderr: Some(stderr), child, tree: Tree(tree) })
}

/// Whose commands this process starts; part of every mark, so that a later run can tell what an earlier one left behind.
static OWNER: OnceLock<String> = OnceLock::new();

/// Names whose commands this process starts, and ends what an earlier run of the same owner left behind when it was killed.
/// Returns how many processes that were. The owner is a short word of letters and digits; the caller makes sure that
/// no other process acts for it. Blocks, at most two seconds. To be called once, before the first command.
#[must_use]
pub fn take_over(owner: &str) -> usize {
    let _ = OWNER.set(owner.to_owned());
    system::end_left_behind(&format!("{owner}-"))
}

fn random_marker() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
    let random = drawbridge_core::hex::encode(bytes);
    Ok(OWNER.get().map_or_else(|| random.clone(), |owner| format!("{owner}-{random}")))
}
