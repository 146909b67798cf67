//! What a yes is bound to: the state of everything that a question showed (DESIGN §4).
//!
//! It is taken before the facts are, and again after the answer. A yes is worthless when the two differ.

use std::io::Read as _;
use std::sync::Arc;

use drawbridge_caps::Shown;
use drawbridge_caps::computer::LaunchTarget;
use drawbridge_caps::model::ServerState;
use drawbridge_caps::shell::{Preview, Shell};
use drawbridge_core::computer::ComputerOp;
use drawbridge_core::model::ModelOp;
use drawbridge_core::{CommandOp, FileOp, IoReason, OpError, Operation, SessionOp};
use drawbridge_os::root::{DirectoryIdentity, Facts, Folder, Found, Kind, Last, PathFault, Reached, Root, Spot, Stamp};
use drawbridge_policy::{Network, PolicyState, ShellMode};
use sha2::{Digest as _, Sha256};

use crate::hardware::Devices;
use crate::models::Models;
use crate::screen::Screen;
use crate::sessions::Sessions;

/// Contents up to this size are bound byte for byte.
pub(crate) const CONTENT_BYTES: u64 = 256 * 1024;
/// Things in a folder that are counted.
pub(crate) const ENTRIES_COUNTED: u64 = 10_000;
/// Folders in folders that are counted.
const DEPTH_COUNTED: usize = 64;

/// Where a question plays.
pub(crate) struct Scene {
    pub(crate) root: Option<Arc<Root>>,
    pub(crate) policy: Arc<PolicyState>,
    pub(crate) shell: Arc<Shell>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) models: Arc<Models>,
    pub(crate) devices: Arc<Devices>,
    /// The platform's address.
    pub(crate) platform: String,
}

/// The state of everything that a question showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seal {
    root: Option<DirectoryIdentity>,
    targets: Vec<Sight>,
    command: Option<Preview>,
    walls: Option<(ShellMode, Network)>,
    folder: Option<(String, DirectoryIdentity)>,
    /// The app that would be started. A yes to any other operation on the screen is bound to the operation alone: what is on a
    /// screen changes all the time, and the question itself lies on it.
    launch: Option<LaunchTarget>,
    /// The server that would be asked, and whether what it is asked may leave this computer: a yes to one on this computer is none to
    /// another one that has a model of the same name.
    model_server: Option<(String, bool)>,
}

/// The state of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sight {
    /// Nothing is there: the folder where the way ends, and the text of the whole way.
    Missing { device: u64, inode: u64, text: String },
    /// Something is there.
    There { device: u64, inode: u64, kind: Kind, state: Option<State>, content: Option<[u8; 32]>, entries: u64 },
}

/// Size, last change of content and last change of the inode.
type State = (u64, i128, i128);

/// How closely a path is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closely {
    /// Which thing it is.
    Identity,
    /// In which state, and what is inside of a folder.
    State,
    /// And what is in a file.
    Content,
}

/// One path as it is at this moment, for the words of a question.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The absolute path that it stands for.
    pub(crate) text: String,
    /// What is there; none when nothing is.
    pub(crate) facts: Option<Facts>,
    /// What is in the file, if it was read.
    pub(crate) content: Option<Vec<u8>>,
    /// Things in the folder, if they were counted.
    pub(crate) entries: u64,
    /// Folders that are missing on the way.
    pub(crate) missing_folders: usize,
    sight: Sight,
}

/// Everything that a question shows, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Sighted {
    pub(crate) seal: Seal,
    /// The paths of an operation on files, in their order.
    pub(crate) paths: Vec<Seen>,
}

impl Sighted {
    /// Looks at everything that an operation is about. Reads the disk.
    ///
    /// # Errors
    /// What the operation would fail with whatever the person says.
    pub(crate) fn of(operation: &Operation, scene: &Scene) -> Result<Self, OpError> {
        match operation {
            Operation::File(op) => files(op, root_of(scene)?),
            Operation::Command(op) => command(op, root_of(scene)?, scene),
            Operation::Session(SessionOp::Attach { place, .. }) => {
                let folder = Some(scene.sessions.folder_of(place)?);
                Ok(Self { seal: Seal { folder, ..Seal::default() }, paths: Vec::new() })
            }
            Operation::Computer(ComputerOp::AppLaunch(op)) => {
                let launch = Some(scene.screen.computer.launch_target(op)?);
                Ok(Self { seal: Seal { launch, ..Seal::default() }, paths: Vec::new() })
            }
            Operation::Model(ModelOp::Completion(op)) => {
                let unknown = || OpError::ModelNotAvailable {
                    requested: op.model.clone(),
                    available: scene.models.model.offered(),
                };
                let found = scene.models.server_of(&op.model, false).ok_or_else(unknown)?;
                Ok(Self { seal: Seal { model_server: Some(asked_at(found)), ..Seal::default() }, paths: Vec::new() })
            }
            // What stands in its way is told by the capability, which knows it better.
            Operation::Model(ModelOp::Turn(op)) => {
                let model_server = scene.models.server_of(&op.model, true).map(asked_at);
                Ok(Self { seal: Seal { model_server, ..Seal::default() }, paths: Vec::new() })
            }
            Operation::Browse(_)
            | Operation::Computer(_)
            | Operation::Session(SessionOp::Activate { .. } | SessionOp::Restore { .. } | SessionOp::Detach { .. })
            | Operation::Model(_)
            | Operation::Hardware(_) => Ok(Self::default()),
        }
    }

    /// Returns what the capability has to find again.
    pub(crate) fn shown(&self, operation: &Operation) -> Option<Shown> {
        match operation {
            Operation::Command(_) => self.seal.command.clone().map(Shown::Command),
            Operation::File(FileOp::Write { .. }) => {
                self.paths.first().map(|seen| Shown::Write(seen.facts.as_ref().map(Stamp::from)))
            }
            Operation::Computer(_) => self.seal.launch.clone().map(Shown::Launch),
            Operation::File(_)
            | Operation::Browse(_)
            | Operation::Session(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => None,
        }
    }
}

impl Seal {
    /// Returns what a command would start, and where.
    pub(crate) fn command(&self) -> Option<&Preview> {
        self.command.as_ref()
    }

    /// Returns the folder of an attachment and which one it is.
    pub(crate) fn folder(&self) -> Option<&(String, DirectoryIdentity)> {
        self.folder.as_ref()
    }

    /// Returns the app that would be started.
    pub(crate) fn launch(&self) -> Option<&LaunchTarget> {
        self.launch.as_ref()
    }

    /// Makes the seal of a question about attaching a folder.
    pub(crate) fn of_folder(path: String, identity: DirectoryIdentity) -> Self {
        Self { folder: Some((path, identity)), ..Self::default() }
    }
}

fn asked_at((found, leaves): (ServerState, bool)) -> (String, bool) {
    (found.server.url, leaves)
}

fn root_of(scene: &Scene) -> Result<&Root, OpError> {
    scene.root.as_deref().ok_or_else(|| OpError::Internal("an operation came without a folder".to_owned()))
}

fn files(op: &FileOp, root: &Root) -> Result<Sighted, OpError> {
    let paths = match op {
        FileOp::Read { path, .. } | FileOp::List { path, .. } | FileOp::Stub { path, .. } => {
            vec![see(root, path, Last::Follow, Closely::Identity)?]
        }
        FileOp::Stat { path, follow_symlinks, .. } => {
            let last = if *follow_symlinks { Last::Follow } else { Last::Keep };
            vec![see(root, path, last, Closely::Identity)?]
        }
        FileOp::Write { path, .. } => vec![see(root, path, Last::Follow, Closely::Content)?],
        FileOp::Delete { path, .. } => vec![see(root, path, Last::Keep, Closely::State)?],
        FileOp::Move { src, dst, .. } => {
            vec![see(root, src, Last::Keep, Closely::Identity)?, see(root, dst, Last::Keep, Closely::State)?]
        }
    };
    let targets = paths.iter().map(|seen| seen.sight.clone()).collect();
    Ok(Sighted { seal: Seal { root: Some(root.identity()), targets, ..Seal::default() }, paths })
}

fn command(op: &CommandOp, root: &Root, scene: &Scene) -> Result<Sighted, OpError> {
    let (mode, network) = (scene.policy.shell_mode, scene.policy.shell_network);
    if mode == ShellMode::Confined
        && let Some(why) = scene.shell.sandbox_state().missing()
    {
        return Err(OpError::ConfinementMissing { why });
    }
    let seal = Seal {
        root: Some(root.identity()),
        command: Some(scene.shell.preview(op, root)?),
        walls: Some((mode, network)),
        ..Seal::default()
    };
    Ok(Sighted { seal, paths: Vec::new() })
}

fn see(root: &Root, path: &str, last: Last, closely: Closely) -> Result<Seen, OpError> {
    let told = |fault| told(root, path, fault);
    match root.walk(path, last).map_err(told)? {
        Reached::Missing(missing) => {
            let here = missing.at.folder().facts_here().map_err(told)?;
            let mut text = root.text_of(&missing.at.trail, &missing.at.name);
            for part in &missing.rest {
                text.push('/');
                text.push_str(&match part {
                    drawbridge_os::root::Component::Name(name) => name.to_string_lossy().into_owned(),
                    drawbridge_os::root::Component::Parent => "..".to_owned(),
                });
            }
            let sight = Sight::Missing { device: here.device, inode: here.inode, text: text.clone() };
            let missing_folders = missing.rest.len();
            Ok(Seen { text, facts: None, content: None, entries: 0, missing_folders, sight })
        }
        Reached::Found(found) => {
            let text = found.at.as_ref().map_or_else(|| root.path().to_owned(), |at| root.text_of(&at.trail, &at.name));
            there(found, text, closely).map_err(told)
        }
    }
}

fn there(found: Found, text: String, closely: Closely) -> Result<Seen, PathFault> {
    let mut facts = found.facts;
    let mut content = None;
    if let (Closely::Content, Kind::File, Some(at)) = (closely, facts.kind, &found.at) {
        (content, facts) = read(at)?;
    }
    let entries = match (closely, &found.inside) {
        (Closely::State, Some(inside)) if facts.kind == Kind::Folder => count(inside.folder()),
        _ => 0,
    };
    let state = (closely != Closely::Identity).then_some((facts.size_bytes, facts.mtime_ns, facts.ctime_ns));
    let sight = Sight::There {
        device: facts.device,
        inode: facts.inode,
        kind: facts.kind,
        state,
        content: content.as_ref().map(|bytes| Sha256::digest(bytes).into()),
        entries,
    };
    Ok(Seen { text, facts: Some(facts), content, entries, missing_folders: 0, sight })
}

/// Reads a small file and tells in which state it was before. A file that may not be read is no fault: it is told by its
/// size.
fn read(at: &Spot) -> Result<(Option<Vec<u8>>, Facts), PathFault> {
    let (file, facts) = match at.folder().open_file(&at.name) {
        Ok(opened) => opened,
        Err(PathFault::File { reason: IoReason::PermissionDenied, .. }) => return Ok((None, at.facts()?)),
        Err(fault) => return Err(fault),
    };
    if facts.size_bytes > CONTENT_BYTES {
        return Ok((None, facts));
    }
    let mut bytes = Vec::new();
    // One byte more shows a file that grew meanwhile; its new state is seen at the next look.
    file.take(CONTENT_BYTES + 1).read_to_end(&mut bytes).map_err(|fault| PathFault::from_io(&fault))?;
    Ok(((bytes.len() as u64 <= CONTENT_BYTES).then_some(bytes), facts))
}

/// Counts the things in a folder, up to a bound.
fn count(folder: &Folder) -> u64 {
    fn step(folder: &Folder, depth: usize, sum: &mut u64) -> Result<(), PathFault> {
        folder.for_each(|name, kind| {
            if *sum >= ENTRIES_COUNTED {
                return Err(PathFault::NotEmpty);
            }
            *sum += 1;
            if matches!(kind, Some(Kind::Folder) | None)
                && depth < DEPTH_COUNTED
                && let Ok(inner) = folder.child(name)
            {
                step(&inner, depth + 1, sum)?;
            }
            Ok(())
        })
    }
    let mut sum = 0;
    // Ends early at the bound, and at what cannot be read: the count is for a person.
    let _ = step(folder, 0, &mut sum);
    sum
}

fn told(root: &Root, path: &str, fault: PathFault) -> OpError {
    let path = path.to_owned();
    match fault {
        PathFault::Refused(reason) => OpError::OutsideRoot { path, root: root.path().to_owned(), reason },
        PathFault::BadPath(reason) => OpError::BadPath { path, reason },
        PathFault::ReservedName => OpError::ReservedName { path },
        PathFault::NotFound => OpError::NotFound { path },
        PathFault::Exists => OpError::Exists { path },
        PathFault::NotEmpty => OpError::NotEmpty { path },
        PathFault::File { reason, message } => OpError::File { action: "look at", path, reason, message },
    }
}
