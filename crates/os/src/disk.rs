//! What the check-up asks about a place on the disk: how much fits in, who may enter, whether it can be written.
//!
//! Looks only; what is there stays as it is. A place on a network that went away can keep a caller waiting.

use std::io;
use std::path::{Path, PathBuf};

/// What is known of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderFacts {
    /// This user may make files in it, and its file system takes them.
    pub writable: bool,
    /// It belongs to this user. True where the system has no owners.
    pub ours: bool,
    /// Others than its owner may look into it. False where nobody can tell.
    pub open_to_others: bool,
}

/// Looks at a folder.
///
/// # Errors
/// The fault of the file system; `NotADirectory` when something else stands there.
pub fn folder(path: &Path) -> io::Result<FolderFacts> {
    let facts = std::fs::metadata(path)?;
    if !facts.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok(FolderFacts {
            writable: rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok(),
            ours: facts.uid() == rustix::process::geteuid().as_raw(),
            open_to_others: facts.mode() & 0o077 != 0,
        })
    }
    #[cfg(not(unix))]
    Ok(FolderFacts { writable: !facts.permissions().readonly(), ours: true, open_to_others: false })
}

/// Tells whether other people on this computer can read a file by its permissions. False where a system has no such bits.
///
/// # Errors
/// The fault of the file system.
pub fn readable_by_others(path: &Path) -> io::Result<bool> {
    let facts = std::fs::metadata(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok(facts.mode() & 0o044 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = facts;
        Ok(false)
    }
}

/// Returns the bytes that this user may still write at a place, which need not be there yet: then the nearest folder above
/// counts. None where the system does not tell.
///
/// # Errors
/// The fault of the file system.
pub fn free_bytes(path: &Path) -> io::Result<Option<u64>> {
    let there = nearest(path).ok_or(io::ErrorKind::NotFound)?;
    #[cfg(unix)]
    {
        let facts = rustix::fs::statvfs(&there)?;
        // Some file systems without a size of their own, such as those of other programs, tell nothing but zeros.
        Ok((facts.f_blocks > 0).then(|| facts.f_bavail.saturating_mul(facts.f_frsize)))
    }
    #[cfg(not(unix))]
    {
        let _ = there;
        Ok(None)
    }
}

/// Returns the folder itself, or the nearest one above it that is there.
#[must_use]
pub fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|place| place.is_dir()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_not_there_yet_counts_as_the_folder_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("a/b/c");

        assert_eq!(nearest(&later), Some(dir.path().to_owned()));
        assert!(free_bytes(&later).unwrap().is_none_or(|free| free > 0));
    }

    #[test]
    fn a_file_is_no_folder_and_what_is_missing_says_so() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();

        assert_eq!(folder(&dir.path().join("file")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert_eq!(folder(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    #[cfg(unix)]
    fn who_may_read_a_file_is_told() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let with = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            readable_by_others(&path).unwrap()
        };

        assert_eq!([0o600, 0o644, 0o640, 0o604, 0o622].map(with), [false, true, true, true, false]);
        assert!(readable_by_others(&dir.path().join("none")).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn who_may_enter_a_folder_is_told() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let with = |mode| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            folder(dir.path()).unwrap()
        };

        assert_eq!(with(0o700), FolderFacts { writable: true, ours: true, open_to_others: false });
        assert!(with(0o750).open_to_others);
    }
}
