//! A file that only the administrator of this computer can have written, and reading it with proof of that.
//!
//! Where it lies is fixed: no environment variable and no setting of the person can move it. A file under its name that
//! somebody else could change is a fault, never an absent one: what it forbids must not vanish because it was tampered with.

#[cfg(unix)]
#[path = "system_file/unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "system_file/other.rs"]
mod system;

use std::io;
use std::path::{Path, PathBuf};

/// More than anybody writes by hand; keeps a wrong file from filling the memory.
pub(crate) const MOST_BYTES: u64 = 1024 * 1024;

/// The place of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFile {
    /// Trusted as it is; what lies below is looked at.
    root: PathBuf,
    /// Folders and the file's own name.
    parts: &'static [&'static str],
    /// Whom everything must belong to: a user number, where users have one.
    owner: u32,
}

/// Why what lies there cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SystemFileFault {
    /// Somebody who is no administrator could have written it.
    #[error("{} {why}", .path.display())]
    Untrusted {
        /// The file, or the folder on the way to it.
        path: PathBuf,
        /// What is wrong and how it must be.
        why: &'static str,
    },
    /// It is there and cannot be read.
    #[error("{} cannot be read: {error}", .path.display())]
    Unreadable {
        /// The file, or the folder on the way to it.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl SystemFileFault {
    /// Returns the file or folder concerned.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Untrusted { path, .. } | Self::Unreadable { path, .. } => path,
        }
    }
}

impl SystemFile {
    /// Names the place of the organisation's policy on this computer: `/etc/drawbridge/policy.toml`,
    /// `/Library/Application Support/Drawbridge/policy.toml`, or `Drawbridge\policy.toml` in the system's folder for data of
    /// programs.
    #[must_use]
    pub fn policy() -> Self {
        Self { root: system::root(), parts: POLICY, owner: 0 }
    }

    /// Names the same place below another root, whose files belong to this user. For tests: nothing that a person can set
    /// leads here.
    #[must_use]
    pub fn policy_below(root: &Path, owner: u32) -> Self {
        Self { root: root.to_owned(), parts: POLICY, owner }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.parts.iter().fold(self.root.clone(), |path, part| path.join(part))
    }

    /// Reads it; none when there is no such file. Everything on the way below the root must belong to the administrator and
    /// be writable by nobody else, and nothing may be a link.
    ///
    /// # Errors
    /// [`SystemFileFault`].
    pub fn read(&self) -> Result<Option<Vec<u8>>, SystemFileFault> {
        system::read(self)
    }
}

#[cfg(target_os = "macos")]
const POLICY: &[&str] = &["Library", "Application Support", "Drawbridge", "policy.toml"];
#[cfg(target_os = "windows")]
const POLICY: &[&str] = &["Drawbridge", "policy.toml"];
#[cfg(not(any(target_os = "macos", target_os = "windows")))]
const POLICY: &[&str] = &["etc", "drawbridge", "policy.toml"];

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "system_file/tests.rs"]
mod tests;
