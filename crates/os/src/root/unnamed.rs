//! Files without a name (`O_TMPFILE`) and how they get one. Both may be missing: callers have another way.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsRawFd as _;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::fault::PathFault;
use super::folder::Folder;

/// Makes a file in a folder that has no name and is gone when it is closed without getting one.
pub(super) fn create(folder: &Folder, mode: u32) -> Result<File, Errno> {
    #[cfg(test)]
    if let Some(errno) = UNNAMED_REFUSED.get() {
        return Err(errno);
    }
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder.handle(), ".", flags, Mode::from_raw_mode(mode))?))
}

/// Gives an open file of [`create`] a name in a folder, never replacing anything; false where the system does not do
/// that.
pub(super) fn link(folder: &Folder, file: &File, name: &OsStr) -> Result<bool, PathFault> {
    #[cfg(test)]
    if LINKS_REFUSED.get() {
        return Ok(false);
    }
    // The first needs a mounted /proc, the second a privilege or a recent kernel.
    let shown = format!("/proc/self/fd/{}", file.as_raw_fd());
    let first = rustix::fs::linkat(CWD, shown, folder.handle(), name, AtFlags::SYMLINK_FOLLOW);
    let linked = match first {
        Ok(()) => return Ok(true),
        Err(errno) if is_no_link(errno) => rustix::fs::linkat(file, "", folder.handle(), name, AtFlags::EMPTY_PATH),
        Err(errno) => Err(errno),
    };
    match linked {
        Ok(()) => Ok(true),
        Err(errno) if is_no_link(errno) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
thread_local! {
    static UNNAMED_REFUSED: std::cell::Cell<Option<Errno>> = const { std::cell::Cell::new(None) };
    static LINKS_REFUSED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Lets this thread do as if the file system had no files without a name.
#[cfg(test)]
pub(super) fn without_unnamed_files(errno: Option<Errno>) {
    UNNAMED_REFUSED.set(errno);
}

/// Lets this thread do as if the system gave no names to open files.
#[cfg(test)]
pub(super) fn without_links_of_open_files(refused: bool) {
    LINKS_REFUSED.set(refused);
}

/// Tells whether a system that names no open files answers so. Some of these can also mean the folder itself, which the
/// next step then finds out.
fn is_no_link(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::PERM
            | Errno::ACCESS
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::XDEV
    )
}
