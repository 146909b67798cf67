//! Running commands (spec 9).
//!
//! One [`Shell`] serves the whole machine, since its limits are the machine's. It takes the working folder from the
//! root's handle, looks programs up on the baseline PATH alone, and leaves nothing running behind a command.
//!
//! Deliberately absent: whether the shell power is on, and any question to a person; that is policy's.

mod environment;
mod limits;
mod lookup;
mod output;
mod run;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use drawbridge_core::{Clock, CommandLine, CommandOp, OpError, Operation, Outcome, Power, RefusalReason};
use drawbridge_os::process::{ProgramIdentity, Start};
use drawbridge_os::root::{Last, PathFault, Reached, Root};
use drawbridge_os::sandbox::{self, CheckedFolder, ConfineHelper, Reach, SandboxState, Walls};
use drawbridge_policy::{Network, Permit, Programs, ShellMode};
use futures_util::future::BoxFuture;

use crate::{Capability, RunCtx, Shown};
use limits::Window;

/// How commands run. Read anew at each command.
#[derive(Debug, Clone)]
pub struct ShellSettings {
    /// Confined or with full access.
    pub mode: ShellMode,
    /// What a confined command may reach.
    pub network: Network,
    /// Starts to end a command that may run to the platform's own limit 3 s early, so that the answer arrives in time.
    pub early_term: bool,
    /// Commands in any 60 seconds.
    pub per_minute: u32,
    /// Commands at once.
    pub concurrent: u32,
    /// The program that puts on the inner wall.
    pub helper: ConfineHelper,
    /// Where bubblewrap is.
    pub bubblewrap: PathBuf,
    /// Our own folders, hidden from confined commands.
    pub hidden_dirs: Vec<PathBuf>,
    /// The environment the baseline is taken from: that of the engine's process.
    pub inherited: Vec<(OsString, OsString)>,
}

impl ShellSettings {
    /// Returns the defaults: confined, no network, 60 a minute, 10 at once.
    ///
    /// # Errors
    /// When the system does not tell where the running program is.
    pub fn defaults(hidden_dirs: Vec<PathBuf>) -> std::io::Result<Self> {
        Ok(Self {
            mode: ShellMode::Confined,
            network: Network::None,
            early_term: true,
            per_minute: 60,
            concurrent: 10,
            helper: ConfineHelper::current()?,
            bubblewrap: sandbox::find_bubblewrap(),
            hidden_dirs,
            inherited: std::env::vars_os().collect(),
        })
    }
}

/// A handle on the settings, shared with whoever changes them while commands run. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ShellControl(Arc<RwLock<ShellSettings>>);

impl ShellControl {
    /// Wraps settings.
    #[must_use]
    pub fn new(settings: ShellSettings) -> Self {
        Self(Arc::new(RwLock::new(settings)))
    }

    /// Returns the settings of this moment.
    #[must_use]
    pub fn get(&self) -> ShellSettings {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the settings for commands that start from now on.
    pub fn update(&self, change: impl FnOnce(&mut ShellSettings)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What a command would start, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The program; none when it is not found.
    pub program: Option<ProgramIdentity>,
    /// The working folder.
    pub folder: CheckedFolder,
}

/// The capability.
#[derive(Debug)]
pub struct Shell {
    control: ShellControl,
    clock: Arc<dyn Clock>,
    window: Arc<Mutex<Window>>,
    sandbox: Mutex<Option<(PathBuf, SandboxState)>>,
}

impl Shell {
    /// Makes the one shell of this machine.
    #[must_use]
    pub fn new(control: ShellControl, clock: Arc<dyn Clock>) -> Self {
        Self { control, clock, window: Arc::default(), sandbox: Mutex::new(None) }
    }

    /// Returns the handle on the settings.
    #[must_use]
    pub fn control(&self) -> ShellControl {
        self.control.clone()
    }

    /// Tells what this machine can do to confine commands. Tries it once and remembers; starts a process that time.
    #[must_use]
    pub fn sandbox_state(&self) -> SandboxState {
        let path = self.control.get().bubblewrap;
        let mut known = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((tried, state)) if *tried == path => state.clone(),
            _ => {
                let state = sandbox::probe(&path);
                *known = Some((path, state.clone()));
                state
            }
        }
    }

    /// Returns what was found out before, without trying anything now.
    #[must_use]
    pub fn known_sandbox_state(&self) -> Option<SandboxState> {
        let known = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map(|(_, state)| state.clone())
    }

    /// Forgets what was tried, so that the next command or question tries again.
    pub fn try_sandbox_again(&self) {
        *self.sandbox.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Tells which program a command would start and where, without starting anything. Blocks for a moment.
    ///
    /// # Errors
    /// What the command itself would be refused with because of its working folder.
    pub fn preview(&self, op: &CommandOp, root: &Root) -> Result<Preview, OpError> {
        let path = environment::baseline_path(&self.control.get().inherited);
        let (_, folder) = working_folder(root, op.cwd.as_deref())?;
        let program = match find(op, &path, &folder) {
            Ok((program, _, _)) => identity_of(&program),
            Err(_) => None,
        };
        Ok(Preview { program, folder })
    }

    /// Finds the programs that a command means, in the very way in which it would be started. One that lies in an attached
    /// folder, where an agent can replace it, stays unknown. So do the programs of a shell text when the search path has relative
    /// parts: the shell would look there too. Reads the disk.
    #[must_use]
    pub fn programs(&self, op: &CommandOp, root: &Root, attached: &[PathBuf]) -> Programs {
        let path = environment::baseline_path(&self.control.get().inherited);
        let Ok((_, folder)) = working_folder(root, op.cwd.as_deref()) else { return Programs::unknown() };
        let trusted = |found: Result<lookup::Words, OpError>| {
            let program: PathBuf = found.ok()?.0.components().collect();
            let real = std::fs::canonicalize(&program).ok()?;
            let mut folders = attached.iter().map(PathBuf::as_path).chain([Path::new(root.path())]);
            let inside = folders.any(|folder| real.starts_with(folder) || program.starts_with(folder));
            if inside { None } else { program.into_os_string().into_string().ok() }
        };
        let sure =
            matches!(op.line, CommandLine::Argv(_)) || std::env::split_paths(&path).all(|part| part.is_absolute());
        Programs::find(
            op,
            |kind| trusted(lookup::shell(kind, "", &path)),
            |word| sure.then(|| trusted(lookup::argv(&[word.to_owned()], &path, &folder.path))).flatten(),
        )
    }

    async fn execute(self: &Shell, op: CommandOp, programs: &Programs, ctx: RunCtx) -> Result<Outcome, OpError> {
        if ctx.cancel.is_cancelled() {
            return Err(OpError::Cancelled);
        }
        let settings = self.control.get();
        let _slot = limits::admit(&self.window, self.clock.now(), settings.per_minute, settings.concurrent)?;
        let root =
            ctx.root.as_deref().ok_or_else(|| OpError::Internal("a command came without a folder".to_owned()))?;
        let (folder, place) = working_folder(root, op.cwd.as_deref())?;
        let mut env = environment::whole(&settings.inherited, &op.env);
        let path = environment::baseline_path(&settings.inherited);
        let (program, name, args) = find(&op, &path, &place)?;
        let started: PathBuf = program.components().collect();
        if programs.started().is_some_and(|permitted| Path::new(permitted) != started) {
            return Err(OpError::ChangedSinceAsked { power: Power::Shell });
        }
        if let Some(Shown::Command(shown)) = &ctx.shown {
            let now = Preview { program: identity_of(&program), folder: place.clone() };
            if now != *shown {
                return Err(OpError::ChangedSinceAsked { power: Power::Shell });
            }
        }
        let shown = name.to_string_lossy().into_owned();
        let plan = run::Plan::new(&op, &ctx.limits, settings.early_term);
        let start = Start { program, name, args, env: Vec::new(), folder: Some(folder), pass: None, wrapped: false };
        let (start, report) = match settings.mode {
            ShellMode::Full => (Start { env, ..start }, None),
            ShellMode::Confined => {
                if let Some(why) = self.sandbox_state().missing() {
                    return Err(OpError::ConfinementMissing { why });
                }
                environment::set(&mut env, "TMPDIR", "/tmp");
                let walls = walls(&settings, root, place);
                let failed = |fault: std::io::Error| OpError::ConfinementMissing { why: fault.to_string() };
                let (start, report) = sandbox::confine(&walls, Start { env, ..start }).map_err(failed)?;
                (start, Some(report))
            }
        };
        run::run(start, report, &shown, plan, &ctx.cancel).await.map(Outcome::Command)
    }
}

impl Capability for Shell {
    fn power(&self) -> Power {
        Power::Shell
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            let programs = permit.programs().clone();
            match permit.into_operation() {
                Operation::Command(op) => self.execute(op, &programs, ctx).await,
                Operation::File(_)
                | Operation::Browse(_)
                | Operation::Session(_)
                | Operation::Computer(_)
                | Operation::Model(_)
                | Operation::Hardware(_) => {
                    Err(OpError::Internal("an operation that is no command came to the shell".to_owned()))
                }
            }
        })
    }
}

/// Finds the program of a command, its own name and its arguments.
fn find(op: &CommandOp, path: &OsStr, folder: &CheckedFolder) -> Result<lookup::Words, OpError> {
    match &op.line {
        CommandLine::Shell { command, shell } => lookup::shell(*shell, command, path),
        CommandLine::Argv(words) => lookup::argv(words, path, &folder.path),
    }
}

/// Looks at a program under a path without needless dots.
fn identity_of(program: &Path) -> Option<ProgramIdentity> {
    ProgramIdentity::of(&program.components().collect::<PathBuf>()).ok()
}

fn walls(settings: &ShellSettings, root: &Root, folder: CheckedFolder) -> Walls {
    let identity = root.identity();
    Walls {
        bubblewrap: settings.bubblewrap.clone(),
        helper: settings.helper.clone(),
        root: CheckedFolder {
            path: root.path().into(),
            device: identity.device,
            // Inode numbers of Linux have 64 bits; a wider one would match nothing, so the start would be refused.
            inode: u64::try_from(identity.inode).unwrap_or(0),
        },
        folder,
        reach: match settings.network {
            Network::None => Reach::Nothing,
            Network::Loopback => Reach::OwnLoopback,
            Network::All => Reach::Everything,
        },
        home: environment::inherited(&settings.inherited, "HOME").map(PathBuf::from),
        hidden: settings.hidden_dirs.clone(),
    }
}

/// Opens the working folder below the root and tells which one it is.
fn working_folder(root: &Root, cwd: Option<&str>) -> Result<(drawbridge_os::root::Folder, CheckedFolder), OpError> {
    let asked = cwd.unwrap_or_else(|| root.path()).to_owned();
    let fault = |fault: PathFault| path_error(root, &asked, fault);
    let reached = match cwd {
        Some(path) => root.walk(path, Last::Follow),
        None => root.walk_names(&[]),
    };
    let Reached::Found(found) = reached.map_err(fault)? else {
        return Err(OpError::NotFound { path: asked });
    };
    let Some(inside) = found.inside else {
        return Err(OpError::NotFound { path: asked });
    };
    let facts = inside.folder().facts_here().map_err(fault)?;
    let place = CheckedFolder { path: root.text_of_folder(&inside).into(), device: facts.device, inode: facts.inode };
    Ok((inside.folder().clone(), place))
}

fn path_error(root: &Root, asked: &str, fault: PathFault) -> OpError {
    let path = asked.to_owned();
    match fault {
        PathFault::Refused(reason) => OpError::OutsideRoot { path, root: root.path().to_owned(), reason },
        PathFault::BadPath(reason) => OpError::BadPath { path, reason },
        PathFault::ReservedName => OpError::ReservedName { path },
        PathFault::NotFound => OpError::NotFound { path },
        PathFault::File { reason: drawbridge_core::IoReason::NotDirectory, .. } => OpError::NotFound { path },
        PathFault::File { reason, message } => OpError::File { action: "enter", path, reason, message },
        PathFault::Exists | PathFault::NotEmpty => {
            OpError::OutsideRoot { path, root: root.path().to_owned(), reason: RefusalReason::Outside }
        }
    }
}
