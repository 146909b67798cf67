//! Operations: one thing asked for, free of any wire format.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::computer::ComputerOp;
use crate::hardware::HardwareOp;
use crate::model::ModelOp;
use crate::{Power, SessionId};

/// One thing a peer asks for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Work on files in the attached folder.
    File(FileOp),
    /// Run a command.
    Command(CommandOp),
    /// List folders that could be attached.
    Browse(BrowseOp),
    /// Attach, activate, restore or detach a chat.
    Session(SessionOp),
    /// Use screen, pointer, keyboard, windows, apps or clipboard.
    Computer(ComputerOp),
    /// Ask the local model.
    Model(ModelOp),
    /// Use a device.
    Hardware(HardwareOp),
}

impl Operation {
    /// Returns the power that covers this operation. Detaching needs none: it only takes away.
    #[must_use]
    pub const fn power(&self) -> Option<Power> {
        match self {
            Self::File(_) => Some(Power::Files),
            Self::Command(_) => Some(Power::Shell),
            Self::Browse(_) => Some(Power::Attach),
            Self::Session(op) => match op {
                SessionOp::Attach { .. } | SessionOp::Activate { .. } | SessionOp::Restore { .. } => {
                    Some(Power::Attach)
                }
                SessionOp::Detach { .. } => None,
            },
            Self::Computer(op) => Some(op.power()),
            Self::Model(_) => Some(Power::LocalModel),
            Self::Hardware(_) => Some(Power::Hardware),
        }
    }

    /// Returns the name under which the audit log and the window know this operation (spec 3.3).
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::File(op) => match op {
                FileOp::Read { .. } => "FILE_READ",
                FileOp::Write { .. } => "FILE_WRITE",
                FileOp::Stat { .. } => "FILE_STAT",
                FileOp::List { .. } => "FILE_LIST",
                FileOp::Delete { .. } => "FILE_DELETE",
                FileOp::Move { .. } => "FILE_MOVE",
                FileOp::Stub { .. } => "FILE_READ_STUB",
            },
            Self::Command(_) => "EXECUTE_COMMAND",
            Self::Browse(_) => "DIRECTORY_LIST",
            Self::Session(op) => match op {
                SessionOp::Attach { .. } => "ATTACH_SESSION",
                SessionOp::Activate { .. } => "ACTIVATE_SESSION",
                SessionOp::Restore { .. } => "RESTORE_SESSION",
                SessionOp::Detach { .. } => "DETACH_SESSION",
            },
            Self::Computer(op) => op.name(),
            Self::Model(op) => op.name(),
            Self::Hardware(op) => op.name(),
        }
    }
}

/// Shows the kind alone: contents, environment values and grants never reach a log (invariant 6).
impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How file content travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentForm {
    /// As UTF-8 text.
    Text,
    /// As bytes.
    Bytes,
}

/// An operation on files. Paths are as the peer wrote them; only the directory handle decides what they mean.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum FileOp {
    /// Reads a file or a range of it.
    Read {
        /// The path asked for.
        path: String,
        /// How the content is to travel.
        form: ContentForm,
        /// First byte.
        offset: u64,
        /// Number of bytes, at least 1; none means up to the end.
        length: Option<u64>,
    },
    /// Replaces or makes a file, whole or not at all.
    Write {
        /// The path asked for.
        path: String,
        /// The new content.
        content: Vec<u8>,
        /// How the content travelled.
        form: ContentForm,
        /// Makes missing parent folders.
        create_parents: bool,
    },
    /// Tells what is at a path.
    Stat {
        /// The path asked for.
        path: String,
        /// Describes the target of a link rather than the link.
        follow_symlinks: bool,
    },
    /// Lists a folder.
    List {
        /// The path asked for.
        path: String,
        /// A pattern for base names.
        glob: Option<String>,
        /// Descends into folders.
        recursive: bool,
        /// Lists names that start with a dot, too.
        include_hidden: bool,
        /// At most so many entries, 1 to 10 000.
        max_entries: u32,
    },
    /// Moves a file, link or folder to the undo store.
    Delete {
        /// The path asked for.
        path: String,
        /// Needed for a folder that is not empty.
        recursive: bool,
        /// A missing path is fine.
        missing_ok: bool,
    },
    /// Renames.
    Move {
        /// From here.
        src: String,
        /// To here.
        dst: String,
        /// Replaces what is at `dst`.
        overwrite: bool,
    },
    /// Describes a file without its content (privacy mode, spec 13).
    Stub {
        /// The path asked for.
        path: String,
        /// How many of its first bytes are to be told at most. Policy lowers it to what the person lets leave, so what is permitted is
        /// what is done.
        preview_bytes: u16,
    },
}

impl FileOp {
    /// Returns the path that names this operation for a person: the source of a move.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::Stat { path, .. }
            | Self::List { path, .. }
            | Self::Delete { path, .. }
            | Self::Stub { path, .. } => path,
            Self::Move { src, .. } => src,
        }
    }

    /// Tells whether the operation can change anything.
    #[must_use]
    pub const fn changes(&self) -> bool {
        match self {
            Self::Write { .. } | Self::Delete { .. } | Self::Move { .. } => true,
            Self::Read { .. } | Self::Stat { .. } | Self::List { .. } | Self::Stub { .. } => false,
        }
    }
}

/// A command to run.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CommandOp {
    /// What to run.
    pub line: CommandLine,
    /// Working directory as the peer wrote it; none means the attached folder.
    pub cwd: Option<String>,
    /// The time limit asked for; the link's ceiling holds in any case.
    pub timeout: Option<Duration>,
    /// Variables on top of the baseline. Values never reach a log.
    pub env: BTreeMap<String, String>,
}

/// Either a text for a shell or words for a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// A text that a shell parses.
    Shell {
        /// The text.
        command: String,
        /// Which shell.
        shell: ShellKind,
    },
    /// A program and its arguments; no shell sees them. Never empty.
    Argv(Vec<String>),
}

/// The shells a peer may name (spec 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellKind {
    /// bash, else sh; `cmd.exe` on Windows.
    Auto,
    /// bash.
    Bash,
    /// sh.
    Sh,
    /// zsh.
    Zsh,
    /// PowerShell Core.
    Pwsh,
    /// Windows PowerShell.
    PowerShell,
    /// The Windows command interpreter.
    Cmd,
}

impl ShellKind {
    /// Every shell.
    pub const ALL: [Self; 7] = [Self::Auto, Self::Bash, Self::Sh, Self::Zsh, Self::Pwsh, Self::PowerShell, Self::Cmd];

    /// Returns the protocol's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Zsh => "zsh",
            Self::Pwsh => "pwsh",
            Self::PowerShell => "powershell",
            Self::Cmd => "cmd",
        }
    }
}

/// A step through the folders that may be attached (spec 5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BrowseOp {
    /// The browse and the folder in it; none starts a new browse at the roots.
    pub place: Option<BrowsePlace>,
    /// The page after an earlier one.
    pub cursor: Option<String>,
}

/// A folder that this machine named earlier.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BrowsePlace {
    /// The browse.
    pub browse_id: String,
    /// The folder.
    pub directory_ref: String,
}

/// What a control link may do with chats (spec 6.3).
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum SessionOp {
    /// Attaches the folder behind a reference to a chat.
    Attach {
        /// The chat.
        session: SessionId,
        /// The folder.
        place: BrowsePlace,
    },
    /// Starts the data link of an attached chat.
    Activate {
        /// The chat.
        session: SessionId,
        /// The revision the peer believes in.
        revision: u64,
    },
    /// Attaches again by a grant made earlier, and starts the data link.
    Restore {
        /// The chat.
        session: SessionId,
        /// The grant as text.
        root_grant: String,
    },
    /// Stops the data link and forgets the attachment.
    Detach {
        /// The chat.
        session: SessionId,
    },
}

impl SessionOp {
    /// Returns the chat concerned.
    #[must_use]
    pub const fn session(&self) -> &SessionId {
        match self {
            Self::Attach { session, .. }
            | Self::Activate { session, .. }
            | Self::Restore { session, .. }
            | Self::Detach { session } => session,
        }
    }
}
