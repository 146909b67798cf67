//! Advisory locks that end with the process that holds them, also after `kill -9`.
//!
//! The file stays; only the lock on it counts. It keeps the holder's process id for the message to the second comer.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::private::{self, Links};

/// A looker has the lock for a moment; one that a busy machine keeps waiting has it for longer.
const LOOKS_WITHIN: Duration = Duration::from_secs(2);
/// How long to leave a looker alone.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// A held lock. Dropping it lets go.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    path: PathBuf,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockFault {
    /// Another process has it.
    #[error("{} is in use by another Drawbridge{}", .path.display(), holder(*.pid))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// The holder, if the file tells.
        pid: Option<u32>,
    },
    /// Nobody has it, and somebody only looks at it for much longer than a look takes.
    #[error(
        "the lock {} belongs to nobody, but some program reads it under a lock of its own and does not let go; end that program \
         and try again",
        .path.display()
    )]
    LookedAt {
        /// The lock file.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error("the lock {} cannot be used: {error}", .path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

impl LockFile {
    /// Takes the lock if it is free. Somebody who only looks whether it is held does not keep it from that: waits for such a
    /// looker, two seconds at most. For a thread that may block so long.
    ///
    /// # Errors
    /// [`LockFault::Held`] when another process, or another handle of this one, has it; [`LockFault::LookedAt`] when a looker does not
    /// go.
    pub fn try_acquire(path: &Path) -> Result<Self, LockFault> {
        let io_fault = |error| LockFault::Io { path: path.to_owned(), error };
        let file = open(path).map_err(io_fault)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Self::taken(file, path),
                Err(TryLockError::WouldBlock) if !only_looked_at(&file).map_err(io_fault)? => {
                    return Err(Self::held(file, path));
                }
                Err(TryLockError::WouldBlock) if began.elapsed() < LOOKS_WITHIN => std::thread::sleep(LOOK_AGAIN),
                // What the file says of its last holder is long past.
                Err(TryLockError::WouldBlock) => return Err(LockFault::LookedAt { path: path.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(io_fault(error)),
            }
        }
    }

    fn held(file: File, path: &Path) -> LockFault {
        let mut text = String::new();
        // Without the text the message only names no process.
        let _ = file.take(32).read_to_string(&mut text);
        LockFault::Held { path: path.to_owned(), pid: text.trim().parse().ok() }
    }

    /// Takes the lock, waiting for its holder as long as it takes. For a thread that may block.
    ///
    /// # Errors
    /// [`LockFault::Io`].
    pub fn acquire(path: &Path) -> Result<Self, LockFault> {
        let io_fault = |error| LockFault::Io { path: path.to_owned(), error };
        let file = open(path).map_err(io_fault)?;
        file.lock().map_err(io_fault)?;
        Self::taken(file, path)
    }

    /// Tells whether some process holds the lock at this moment.
    #[must_use]
    pub fn is_held(path: &Path) -> bool {
        path.exists() && matches!(Self::peek(path), Err(TryLockError::WouldBlock))
    }

    fn peek(path: &Path) -> Result<(), TryLockError> {
        // Shared, so that two lookers do not see each other. Whatever stands there by this name, looking must not wait for it.
        let file = private::open_regular(path, File::options().read(true), Links::Followed);
        file.map_err(TryLockError::Error)?.try_lock_shared()
    }

    /// Returns the path of the lock.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn taken(mut file: File, path: &Path) -> Result<Self, LockFault> {
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        if let Err(error) = written {
            // A full disk must not keep anybody from stopping things; the lock itself holds.
            tracing::debug!(%error, "the process id was not written to the lock file");
        }
        Ok(Self { file, path: path.to_owned() })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Closing lets go as well.
        let _ = self.file.unlock();
    }
}

/// Tells whether those who have the lock are lookers: they share it, and a holder shares it with nobody.
fn only_looked_at(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    private::open_regular(path, options.read(true).write(true).create(true).truncate(false), Links::Refused)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn the_second_comer_learns_who_holds_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("owner.lock");
        let first = LockFile::try_acquire(&path).unwrap();

        let second = LockFile::try_acquire(&path).unwrap_err();
        assert!(matches!(second, LockFault::Held { pid: Some(pid), .. } if pid == std::process::id()), "{second}");
        assert!(LockFile::is_held(&path));

        drop(first);
        assert!(!LockFile::is_held(&path));
        LockFile::try_acquire(&path).unwrap();
    }

    #[test]
    fn lookers_keep_nobody_from_taking_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("owner.lock");
        drop(LockFile::try_acquire(&path).unwrap());
        let looks = AtomicU32::new(0);
        let look = || {
            while looks.fetch_add(1, Relaxed) < 20_000 {
                std::hint::black_box(LockFile::is_held(&path));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(look);
            scope.spawn(look);
            while looks.load(Relaxed) < 20_000 {
                LockFile::try_acquire(&path).unwrap();
            }
        });
    }

    #[test]
    fn a_looker_that_does_not_go_is_no_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("owner.lock");
        std::fs::write(&path, "999999").unwrap();
        let looker = File::open(&path).unwrap();
        looker.lock_shared().unwrap();

        assert!(!LockFile::is_held(&path));
        let refused = LockFile::try_acquire(&path).unwrap_err();
        assert!(matches!(refused, LockFault::LookedAt { .. }) && !refused.to_string().contains("999999"), "{refused}");
        drop(looker);
        LockFile::try_acquire(&path).unwrap();
    }

    #[test]
    fn a_lock_file_left_by_a_dead_process_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("owner.lock");
        std::fs::write(&path, "999999").unwrap();

        LockFile::try_acquire(&path).unwrap();
    }
}
