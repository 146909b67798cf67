//! What can go wrong with a root and with one path in it.

use drawbridge_core::{BadPathReason, IoReason, RefusalReason};
use rustix::io::Errno;

/// Why a folder cannot be a root. Messages are for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootFault {
    /// A relative path.
    #[error("the path of the folder is not absolute")]
    NotAbsolute,
    /// Nothing is there.
    #[error("the folder does not exist")]
    Missing,
    /// The path itself is a link.
    #[error("the folder is a link; choose the folder that it points to")]
    Link,
    /// Something else than a folder.
    #[error("it is not a folder")]
    NotDirectory,
    /// The root of the file system or a place of the kernel.
    #[error("this folder belongs to the system and can never be attached")]
    Forbidden,
    /// It is a folder of Drawbridge or lies in one.
    #[error("this folder belongs to Drawbridge and can never be attached")]
    Protected,
    /// This user may not read, write or enter it.
    #[error("this user may not read, write and enter the folder")]
    NoAccess,
    /// Its canonical path is not valid text, so it could not be told to a peer.
    #[error("the path of the folder is not valid Unicode text")]
    NotUnicode,
    /// Anything else.
    #[error("the folder cannot be opened: {0}")]
    Unusable(String),
}

impl RootFault {
    pub(super) fn from_path_fault(fault: PathFault) -> Self {
        match fault {
            PathFault::NotFound => Self::Missing,
            PathFault::File { reason: IoReason::PermissionDenied, .. } => Self::NoAccess,
            PathFault::File { reason: IoReason::NotDirectory, .. } => Self::NotDirectory,
            other @ (PathFault::Refused(_)
            | PathFault::BadPath(_)
            | PathFault::ReservedName
            | PathFault::Exists
            | PathFault::NotEmpty
            | PathFault::File { .. }) => Self::Unusable(other.to_string()),
        }
    }
}

/// What went wrong with one path. It never names where a link leads: callers add the path as the peer wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// It leads out of the root or to something that may not be touched.
    #[error("it may not be touched")]
    Refused(RefusalReason),
    /// It cannot be used on this system.
    #[error("the path cannot be used")]
    BadPath(BadPathReason),
    /// A device name of Windows.
    #[error("the name is reserved for a device")]
    ReservedName,
    /// Nothing is there.
    #[error("it does not exist")]
    NotFound,
    /// Something is there already.
    #[error("it exists already")]
    Exists,
    /// A folder that holds something.
    #[error("the folder is not empty")]
    NotEmpty,
    /// A fault of the file system.
    #[error("{message}")]
    File {
        /// The kind.
        reason: IoReason,
        /// In plain words.
        message: String,
    },
}

impl PathFault {
    /// Makes a fault of the file system with plain words.
    #[must_use]
    pub fn file(reason: IoReason, message: &str) -> Self {
        Self::File { reason, message: message.to_owned() }
    }

    /// Takes the fault of a standard library call.
    #[must_use]
    pub fn from_io(fault: &std::io::Error) -> Self {
        match Errno::from_io_error(fault) {
            Some(errno) => Self::from(errno),
            None => Self::File { reason: IoReason::Io, message: fault.to_string() },
        }
    }
}

impl From<Errno> for PathFault {
    fn from(errno: Errno) -> Self {
        let reason = match errno {
            Errno::NOENT => return Self::NotFound,
            Errno::EXIST => return Self::Exists,
            Errno::NOTEMPTY => return Self::NotEmpty,
            Errno::NAMETOOLONG => return Self::BadPath(BadPathReason::TooLong),
            Errno::ISDIR => IoReason::IsDirectory,
            Errno::NOTDIR => IoReason::NotDirectory,
            Errno::ACCESS | Errno::PERM => IoReason::PermissionDenied,
            Errno::ROFS => IoReason::ReadOnly,
            Errno::NOSPC | Errno::DQUOT => IoReason::NoSpace,
            Errno::BUSY | Errno::TXTBSY => IoReason::Busy,
            Errno::NXIO => IoReason::NotRegularFile,
            // Names are opened without following, so a link here was put in place after the look.
            Errno::LOOP | Errno::STALE | Errno::AGAIN => IoReason::ChangedMeanwhile,
            _ => IoReason::Io,
        };
        Self::File { reason, message: plain(reason, errno) }
    }
}

fn plain(reason: IoReason, errno: Errno) -> String {
    match reason {
        IoReason::IsDirectory => "it is a folder",
        IoReason::NotDirectory => "it, or something on the way to it, is not a folder",
        IoReason::NotRegularFile => "it is a pipe, socket or device",
        IoReason::PermissionDenied => "this user is not permitted to do that",
        IoReason::ReadOnly => "the file system is read-only",
        IoReason::NoSpace => "the disk or the quota is full",
        IoReason::Busy => "it is in use",
        IoReason::ChangedMeanwhile => "it was changed by something else at the same time",
        IoReason::Io => return errno.to_string(),
    }
    .to_owned()
}
