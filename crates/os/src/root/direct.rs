//! The short way: one call of the kernel for a whole path where nothing on it needs a closer look (spec 7.3).
//!
//! The kernel itself keeps the way below the root handle (`openat2` with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and
//! RESOLVE_NO_XDEV). Whatever it refuses or does not have (`..` out of the root, absolute links, mounts, kernels and
//! filters without the call) is left to the walk, which decides and finds the right words. So a fault here is never an
//! answer, only a detour. Roots with a folder of Drawbridge inside never take the short way: only the walk sees each
//! folder on it.
//!
//! The `_if_cached` forms never wait for a disk, so they can be used where nothing may block: names, inode and content
//! must all be in memory, on a local disk.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use drawbridge_core::IoReason;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::ReadWriteFlags;

use super::Root;
use super::fault::PathFault;
use super::folder::{Facts, Folder, Kind, look_with, open_guarded};
use super::lexical::{Component, below_spelling, components, shape};
use super::walk::{Found, Last, Reached};

impl Root {
    /// Opens a regular file for reading, links that lead inside followed. Never waits for a pipe and never opens a
    /// device.
    ///
    /// # Errors
    /// As [`Root::walk`] and [`Folder::open_file`].
    pub fn open_file(&self, raw: &str) -> Result<(File, Facts), PathFault> {
        if self.still_in_place()
            && let Some(opened) = self.open_directly(raw, ResolveFlags::empty())
        {
            return Ok(opened);
        }
        match self.walk(raw, Last::Follow)? {
            Reached::Missing(_) => Err(PathFault::NotFound),
            Reached::Found(Found { at: Some(at), .. }) => at.folder().open_file(&at.name),
            Reached::Found(Found { at: None, .. }) => Err(PathFault::file(IoReason::IsDirectory, "it is a folder")),
        }
    }

    /// As [`Root::open_file`], without waiting for any disk; none says nothing but that the other way is to be taken.
    #[must_use]
    pub fn open_file_if_cached(&self, raw: &str) -> Option<(File, Facts)> {
        if !self.never_waits || !self.is_in_place_cached() {
            return None;
        }
        self.open_directly(raw, ResolveFlags::CACHED)
    }

    /// Returns the canonical path and the facts of something that is reached by plain names without any link, without
    /// waiting for any disk; none says nothing but that the other way is to be taken.
    #[must_use]
    pub fn look_if_cached(&self, raw: &str) -> Option<(String, Facts)> {
        if !self.never_waits || !self.is_in_place_cached() {
            return None;
        }
        let names = self.plain_names(raw)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let guard = ResolveFlags::CACHED | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let handle = open_guarded(self.folder.handle(), names.as_os_str(), flags, guard).ok()?;
        let facts = look_with(handle.as_fd(), OsStr::new(""), AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC).ok()?;
        (facts.kind != Kind::Link).then(|| (format!("{}/{}", self.path, names.to_string_lossy()), facts))
    }

    /// What is opened by content is the very thing that was looked at: its handle is opened again, not its name.
    fn open_directly(&self, raw: &str, how: ResolveFlags) -> Option<(File, Facts)> {
        let names = self.plain_names(raw)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let touched = open_guarded(self.folder.handle(), names.as_os_str(), flags, how | ResolveFlags::NO_XDEV).ok()?;
        let sync = if how.is_empty() { AtFlags::empty() } else { AtFlags::STATX_DONT_SYNC };
        let facts = look_with(touched.as_fd(), OsStr::new(""), AtFlags::EMPTY_PATH | sync).ok()?;
        if facts.kind != Kind::File {
            return None;
        }
        Some((File::from(open_again(&touched)?), facts))
    }

    fn is_in_place_cached(&self) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat2(CWD, self.path.as_str(), flags, Mode::empty(), ResolveFlags::CACHED)
            .ok()
            .and_then(|handle| look_with(handle.as_fd(), OsStr::new(""), AtFlags::EMPTY_PATH).ok())
            .is_some_and(|facts| self.is(&facts))
    }

    /// The way below the root as one text, if it is made of names alone.
    fn plain_names(&self, raw: &str) -> Option<OsString> {
        if self.protects_inside {
            return None;
        }
        let rules = self.rules();
        let text = shape(raw, &rules).ok()?;
        let steps = if text.starts_with('/') { below_spelling(&text, rules.spellings)? } else { components(&text) };
        let mut names = OsString::with_capacity(text.len());
        for step in steps {
            let Component::Name(name) = step else { return None };
            if !names.is_empty() {
                names.push("/");
            }
            names.push(name);
        }
        (!names.is_empty()).then_some(names)
    }
}

/// Opens what a handle stands for, for reading.
fn open_again(touched: &OwnedFd) -> Option<OwnedFd> {
    let place = format!("/proc/self/fd/{}", touched.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, place, flags, Mode::empty()).ok()
}

/// Reads exactly `count` bytes from a place in a file without waiting for a disk; none when not all of them are in
/// memory.
#[must_use]
pub fn read_if_cached(file: &File, offset: u64, count: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; count];
    if count == 0 {
        return Some(bytes);
    }
    let read = rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut bytes)], offset, ReadWriteFlags::NOWAIT).ok()?;
    (read == count).then_some(bytes)
}

/// Tells whether names and inodes in memory can be used without asking anybody: true for the usual local disks alone.
pub(super) fn is_local_disk(folder: &Folder) -> bool {
    const EXT: i128 = 0xef53;
    const XFS: i128 = 0x5846_5342;
    const BTRFS: i128 = 0x9123_683e;
    const F2FS: i128 = 0xf2f5_2010;
    const TMPFS: i128 = 0x0102_1994;
    rustix::fs::fstatfs(folder.handle())
        .is_ok_and(|fs| matches!(i128::from(fs.f_type), EXT | XFS | BTRFS | F2FS | TMPFS))
}

/// Tells whether a folder of ours is or could come to be inside of a root. A yes in doubt.
pub(super) fn could_be_inside(own: &Path, root: &Facts) -> bool {
    let mut path = PathBuf::from(own);
    loop {
        match std::fs::canonicalize(&path) {
            Ok(there) => {
                return Folder::open_ambient(&there)
                    .map_or(true, |folder| folder.ancestors().iter().any(|above| above.same_as(root)));
            }
            // Something is there that leads nowhere yet.
            Err(_) if std::fs::symlink_metadata(&path).is_ok() => return true,
            Err(_) => {}
        }
        if !path.pop() {
            return true;
        }
    }
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
