//! The folder that holds everything kept, and its one owner (DESIGN §6).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use drawbridge_os::lockfile::{LockFault, LockFile};
use drawbridge_os::private;
use sha2::{Digest as _, Sha256};

/// The state folder: mode 0700, made when missing. No path inside it is stored anywhere, so it can be copied.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
}

/// The state folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the state folder {} cannot be used: {error}", .path.display())]
pub struct StateDirFault {
    /// The folder.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

/// Proof that this process owns the state folder: it alone may run the engine. Ends with the process, or with its last clone.
#[derive(Debug, Clone)]
pub struct Owner {
    _lock: Arc<LockFile>,
}

/// Why this process does not own the state folder.
#[derive(Debug, thiserror::Error)]
pub enum OwnerFault {
    /// Another one does.
    #[error(
        "Drawbridge is already running with the state folder {}{}; stop that one first, or set DRAWBRIDGE_STATE_DIR to another folder",
        .path.display(), .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Owned {
        /// The folder.
        path: PathBuf,
        /// The owner's process, if known.
        pid: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(LockFault),
}

impl StateDir {
    /// Opens the folder, and makes it when it is missing.
    ///
    /// # Errors
    /// [`StateDirFault`] when it cannot be made, is no folder, or belongs to somebody else.
    pub fn open(path: &Path) -> Result<Self, StateDirFault> {
        let fault = |error| StateDirFault { path: path.to_owned(), error };
        let path = std::path::absolute(path).map_err(fault)?;
        private::create_folder(&path).map_err(fault)?;
        Ok(Self { path })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Becomes the owner. Never waits; a dead process owns nothing.
    ///
    /// # Errors
    /// [`OwnerFault::Owned`] with the owner's process id.
    pub fn lock(&self) -> Result<Owner, OwnerFault> {
        match LockFile::try_acquire(&self.owner_path()) {
            Ok(lock) => Ok(Owner { _lock: Arc::new(lock) }),
            Err(LockFault::Held { pid, .. }) => Err(OwnerFault::Owned { path: self.path.clone(), pid }),
            Err(fault @ (LockFault::LookedAt { .. } | LockFault::Io { .. })) => Err(OwnerFault::Lock(fault)),
        }
    }

    /// Tells whether some process owns the folder at this moment.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        LockFile::is_held(&self.owner_path())
    }

    /// Tells since when some process owns the folder; none when none does.
    #[must_use]
    pub fn owned_since(&self) -> Option<SystemTime> {
        // The owner writes its process id when it takes the lock, and never again.
        let written = std::fs::metadata(self.owner_path()).and_then(|facts| facts.modified()).ok();
        written.filter(|_| self.is_owned())
    }

    /// Returns where the owner listens for the command line. Short enough for the system, also where the folder's own
    /// path is not.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        let digest = Sha256::digest(self.path.as_os_str().as_encoded_bytes());
        let tag = drawbridge_core::hex::encode(&digest[..8]);
        private::socket_path(&self.path, "control.sock", &tag)
    }

    fn owner_path(&self) -> PathBuf {
        self.path.join("owner.lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time_and_the_second_learns_who() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("state")).unwrap();
        let owner = state.lock().unwrap();

        let refused = state.lock().unwrap_err();
        assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(state.is_owned() && state.owned_since().is_some_and(|since| since <= SystemTime::now()));

        drop(owner);
        assert!(!state.is_owned() && state.owned_since().is_none());
        state.lock().unwrap();
    }

    #[test]
    fn a_file_in_its_place_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        std::fs::write(&path, "x").unwrap();

        assert!(StateDir::open(&path).is_err());
    }

    #[test]
    fn the_socket_path_fits_the_system_even_for_a_deep_folder() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("d".repeat(110))).unwrap();

        assert!(state.control_socket().as_os_str().len() <= 107);
    }
}
