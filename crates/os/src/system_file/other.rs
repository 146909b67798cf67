//! A system on which this version cannot prove who wrote a file. One that is there counts as untrusted.

use std::path::PathBuf;

use super::{SystemFile, SystemFileFault};

pub(super) fn root() -> PathBuf {
    PathBuf::from(r"C:\ProgramData")
}

pub(super) fn read(place: &SystemFile) -> Result<Option<Vec<u8>>, SystemFileFault> {
    let path = place.path();
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SystemFileFault::Unreadable { path, error }),
        Ok(_) => Err(SystemFileFault::Untrusted {
            path,
            why: "cannot be used yet: this version cannot prove on this system that an administrator wrote it",
        }),
    }
}
