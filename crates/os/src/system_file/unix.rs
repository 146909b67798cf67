//! Walks down from the root by directory handles, so that what is checked is what is read.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat};
use rustix::io::Errno;

use super::{MOST_BYTES, SystemFile, SystemFileFault};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe under the file's name would keep us waiting for ever.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(super) fn root() -> PathBuf {
    PathBuf::from("/")
}

pub(super) fn read(place: &SystemFile) -> Result<Option<Vec<u8>>, SystemFileFault> {
    let mut path = place.root.clone();
    let Some((name, folders)) = place.parts.split_last() else { return Ok(None) };
    // The root itself may be a link in a test, and is the system's own in a program.
    let opened = open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let Some(mut folder) = there(opened, &path)? else { return Ok(None) };
    // A folder of somebody else is told of only if the file is there: many computers have neither.
    let mut fault = None;
    for part in folders {
        path.push(part);
        let Some(next) = there(openat(&folder, *part, FOLDER, Mode::empty()), &path)? else { return Ok(None) };
        fault = fault.or(wrong(&facts(&next, &path)?, place.owner).map(|why| (path.clone(), why)));
        folder = next;
    }
    path.push(name);
    let Some(file) = there(openat(&folder, *name, FILE, Mode::empty()), &path)? else { return Ok(None) };
    let stat = facts(&file, &path)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(SystemFileFault::Untrusted { path, why: "must be a regular file" });
    }
    fault = fault.or(wrong(&stat, place.owner).map(|why| (path.clone(), why)));
    if let Some((path, why)) = fault {
        return Err(SystemFileFault::Untrusted { path, why });
    }
    contents(file).map(Some).map_err(|error| SystemFileFault::Unreadable { path, error })
}

fn contents(file: OwnedFd) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::from(file).take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}

fn there(opened: Result<OwnedFd, Errno>, path: &Path) -> Result<Option<OwnedFd>, SystemFileFault> {
    let path = path.to_owned();
    match opened {
        Ok(handle) => Ok(Some(handle)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::MLINK) => Err(SystemFileFault::Untrusted { path, why: LINK }),
        // So Linux names a link where a folder was wanted.
        Err(Errno::NOTDIR) if path.is_symlink() => Err(SystemFileFault::Untrusted { path, why: LINK }),
        Err(error) => Err(SystemFileFault::Unreadable { path, error: error.into() }),
    }
}

const LINK: &str = "must be there itself and not as a link to another place";

fn facts(handle: &OwnedFd, path: &Path) -> Result<Stat, SystemFileFault> {
    fstat(handle).map_err(|error| SystemFileFault::Unreadable { path: path.to_owned(), error: error.into() })
}

fn wrong(stat: &Stat, owner: u32) -> Option<&'static str> {
    if stat.st_uid != owner {
        return Some("must belong to the administrator (root)");
    }
    let others_write = Mode::WGRP | Mode::WOTH;
    Mode::from_raw_mode(stat.st_mode).intersects(others_write).then_some("must be writable by its owner alone")
}
