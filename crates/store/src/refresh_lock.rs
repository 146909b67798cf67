//! One refresh of tokens at a time over all processes of a state folder (spec 1.4).
//!
//! Refresh tokens rotate: a second use of an old one signs the person out everywhere. After taking the lock, read the
//! secrets again before refreshing.

use std::path::Path;

use drawbridge_os::lockfile::{LockFault, LockFile};

/// The right to refresh. Dropping it gives the turn on; a killed process gives it on as well.
#[derive(Debug)]
pub struct RefreshLock {
    _lock: LockFile,
}

impl RefreshLock {
    /// Waits for the turn, as long as a refresh elsewhere takes. For a thread that may block.
    ///
    /// # Errors
    /// [`LockFault::Io`] when the lock file cannot be used.
    pub fn acquire(state_dir: &Path) -> Result<Self, LockFault> {
        LockFile::acquire(&state_dir.join("refresh.lock")).map(|lock| Self { _lock: lock })
    }

    /// Takes the turn if nobody has it.
    ///
    /// # Errors
    /// [`LockFault`].
    pub fn try_acquire(state_dir: &Path) -> Result<Self, LockFault> {
        LockFile::try_acquire(&state_dir.join("refresh.lock")).map(|lock| Self { _lock: lock })
    }
}
