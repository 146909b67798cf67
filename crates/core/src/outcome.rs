//! Outcomes: what came of an operation, free of any wire format.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::computer::{AppFacts, CursorPlace, DisplayFacts, PermissionState, Picture, WindowFacts};
use crate::hardware::HardwareOutcome;
use crate::model::{FileStub, ModelAnswer};
use crate::{ContentForm, SessionId, WallMs};

/// What came of an operation that succeeded.
#[derive(Clone, PartialEq)]
pub enum Outcome {
    /// Done, with nothing more to say.
    Done,
    /// Done, and something on disk changed.
    Changed(ChangeFacts),
    /// Content of a file.
    Contents(FileContents),
    /// What is at a path.
    Stat(FileStat),
    /// The entries of a folder.
    List {
        /// In the order of spec 8.
        entries: Vec<FileEntry>,
        /// At least one more entry would have matched.
        truncated: bool,
    },
    /// A command ended or was ended.
    Command(CommandResult),
    /// A page of folders.
    Directory(DirectoryPage),
    /// A folder was attached; the grant is secret text for the peer alone.
    Attached {
        /// The attachment.
        binding: Binding,
        /// The signed grant.
        root_grant: String,
    },
    /// The data link of a chat was started.
    Activated(Binding),
    /// A chat was attached again by its grant.
    Restored {
        /// The attachment.
        binding: Binding,
        /// The same grant text that came in.
        root_grant: String,
    },
    /// A picture of the screen.
    Picture(Picture),
    /// Where the pointer is.
    Cursor(CursorPlace),
    /// The displays, the primary one first.
    Displays(Vec<DisplayFacts>),
    /// Windows.
    Windows {
        /// Front to back.
        windows: Vec<WindowFacts>,
        /// Some were left out.
        truncated: bool,
    },
    /// Apps that run.
    Apps(Vec<AppFacts>),
    /// An app was started.
    Launched {
        /// Its process, if it can be told.
        pid: Option<u32>,
    },
    /// Text of the clipboard; never in a log.
    Clipboard(String),
    /// A text was put into the clipboard; how it can be told from others without showing it.
    ClipboardWritten {
        /// Its size as UTF-8.
        size_bytes: u64,
    },
    /// States of permissions by the names asked for.
    Permissions(BTreeMap<String, PermissionState>),
    /// A file described without its content.
    Stub(FileStub),
    /// The whole answer of the local model to a conversation; never in a log.
    Completion(ModelAnswer),
    /// The whole answer of the local model about private files; never in a log.
    Turn(ModelAnswer),
    /// What came of an act with a device.
    Hardware(HardwareOutcome),
}

/// Shows the kind alone: contents never reach a log (invariant 6).
impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "Done",
            Self::Changed(_) => "Changed",
            Self::Contents(_) => "Contents",
            Self::Stat(_) => "Stat",
            Self::List { .. } => "List",
            Self::Command(_) => "Command",
            Self::Directory(_) => "Directory",
            Self::Attached { .. } => "Attached",
            Self::Activated(_) => "Activated",
            Self::Restored { .. } => "Restored",
            Self::Picture(_) => "Picture",
            Self::Cursor(_) => "Cursor",
            Self::Displays(_) => "Displays",
            Self::Windows { .. } => "Windows",
            Self::Apps(_) => "Apps",
            Self::Launched { .. } => "Launched",
            Self::Clipboard(_) => "Clipboard",
            Self::ClipboardWritten { .. } => "ClipboardWritten",
            Self::Permissions(_) => "Permissions",
            Self::Stub(_) => "Stub",
            Self::Completion(_) => "Completion",
            Self::Turn(_) => "Turn",
            Self::Hardware(_) => "Hardware",
        })
    }
}

/// What a change did beyond what was asked. The peer hears only that it is done; the audit log and the window show this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeFacts {
    /// The file had further names (hard links), which keep the former bytes.
    pub link_broken: bool,
    /// The entry of the undo store that takes the change back; none when nothing was there before.
    pub undo: Option<u64>,
}

/// Content of a file, as bytes in every case; the protocol gives it its form.
#[derive(Clone, PartialEq, Eq)]
pub struct FileContents {
    /// The bytes. For [`ContentForm::Text`] they are valid UTF-8.
    pub bytes: Vec<u8>,
    /// The form asked for.
    pub form: ContentForm,
    /// Number of bytes read from disk, before any replacement of invalid text.
    pub size_bytes: u64,
    /// Bytes remain after the range.
    pub truncated: bool,
    /// Text was not UTF-8 (or the range cut a letter) and holds replacement characters.
    pub lossy: bool,
}

/// What is at a path. Times are seconds since the epoch with fraction.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStat {
    /// The canonical path, or the path it would have.
    pub path: String,
    /// What is there; none when nothing is.
    pub found: Option<FileFacts>,
}

/// Facts about something that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFacts {
    /// A regular file.
    pub is_file: bool,
    /// A folder.
    pub is_dir: bool,
    /// The named entry is a link.
    pub is_symlink: bool,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Time of the last change of content.
    pub mtime: f64,
    /// Inode change time; creation time on Windows.
    pub ctime: f64,
    /// Permission bits with set-id and sticky.
    pub mode: u32,
    /// Owner; none on Windows.
    pub owner_uid: Option<u32>,
    /// Group; none on Windows.
    pub owner_gid: Option<u32>,
    /// Guessed by extension; none for unknown ones and for everything but files.
    pub mime_type: Option<String>,
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct FileEntry {
    /// The base name.
    pub name: String,
    /// The absolute path under the root as announced.
    pub path: String,
    /// A regular file, also through a link that stays inside.
    pub is_file: bool,
    /// A folder, also through a link that stays inside.
    pub is_dir: bool,
    /// The entry is a link.
    pub is_symlink: bool,
    /// Size of the entry itself.
    pub size_bytes: u64,
    /// Time of the last change of the entry itself, in seconds since the epoch.
    pub mtime: f64,
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Standard output, invalid bytes replaced.
    pub stdout: String,
    /// Standard error, invalid bytes replaced.
    pub stderr: String,
    /// Exit status; −n after signal n; −1 after a time-out.
    pub exit_code: i32,
    /// The time limit ended it.
    pub timed_out: bool,
    /// From start to end.
    pub duration: Duration,
    /// Output was cut to its budget.
    pub output_truncated: bool,
}

/// One page of folders (spec 5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryPage {
    /// The browse.
    pub browse_id: String,
    /// The folder listed; none at the roots.
    pub current: Option<DirectoryEntry>,
    /// Its parent; none at the roots and for a root.
    pub parent_ref: Option<String>,
    /// At most 200.
    pub entries: Vec<DirectoryEntry>,
    /// More is there under this cursor.
    pub next_cursor: Option<String>,
    /// A hard bound left something out.
    pub truncated: bool,
    /// When the browse dies.
    pub expires_at: WallMs,
}

/// A folder that could be attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The reference by which the peer names it.
    pub directory_ref: String,
    /// Its last component.
    pub name: String,
    /// Its canonical path.
    pub path: String,
}

/// A folder attached to a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The chat.
    pub session: SessionId,
    /// The canonical path, the very text that went to the peer.
    pub allowed_root: String,
    /// 64 lower-case hex digits (spec 6.2).
    pub fingerprint: String,
    /// Rises with every attachment of this chat and never falls.
    pub revision: u64,
}
