//! Whole-or-nothing replacement of one file: a second file in the same folder, then one rename (invariant 7).
//!
//! The second file has no name while it is written, so a program that is killed leaves nothing of it. It gets a name when
//! all of it is on the disk: that of a new file at once, else a temporary one that the rename follows directly. Where the
//! file system has no files without a name, it has a temporary name from the start.
//!
//! The temporary file is never wider than what it replaces, not even for an instant: it starts with mode 0600 and gets
//! owner, extended attributes (access control lists among them) and at last the mode of the file it replaces. Set-id
//! bits and file capabilities are dropped, as the kernel does when content is written. For a new file the system applies
//! the user's mask and the folder's default list by itself.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};

use drawbridge_core::IoReason;
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::fault::PathFault;
use super::folder::{Facts, Folder, Overwrite};
use super::unnamed;

/// How much is written or copied between two looks at the cancel flag.
const CHUNK_BYTES: usize = 1024 * 1024;

/// A file without a name or under a temporary one. Dropped without [`Pending::publish`], it is gone.
#[derive(Debug)]
pub struct Pending {
    folder: Folder,
    file: File,
    /// The temporary name, while it has one.
    temporary: Option<OsString>,
}

impl Pending {
    /// Starts a file in a folder: one that takes the place of `former`, or a new one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn start(folder: &Folder, former: Option<&Facts>) -> Result<Self, PathFault> {
        let mode = if former.is_some() { 0o600 } else { 0o666 };
        if let Some(file) = start_unnamed(folder, mode) {
            return Ok(Self { folder: folder.clone(), file, temporary: None });
        }
        let (name, file) = under_free_name(|name| folder.create_file(name, mode))?;
        Ok(Self { folder: folder.clone(), file, temporary: Some(name) })
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes content, looking at `cancelled` in between.
    ///
    /// # Errors
    /// What the file system says; none when cancelled.
    pub fn write(&mut self, content: &[u8], cancelled: &dyn Fn() -> bool) -> Result<Option<()>, PathFault> {
        for chunk in content.chunks(CHUNK_BYTES) {
            if cancelled() {
                return Ok(None);
            }
            self.file.write_all(chunk).map_err(|fault| PathFault::from_io(&fault))?;
        }
        Ok(Some(()))
    }

    /// Takes over owner, extended attributes and mode of the file that is replaced.
    ///
    /// # Errors
    /// What the file system says. An owner or group that this user may not give is left out, and the group then gets no
    /// more than others have.
    pub fn dress_like(&self, former: &File, facts: &Facts) -> Result<(), PathFault> {
        let mine = Facts::of_file(&self.file)?;
        let mut mode = facts.mode & 0o1777;
        if mine.uid != facts.uid {
            give(&self.file, Some(facts.uid), None)?;
        }
        if mine.gid != facts.gid && !give(&self.file, None, Some(facts.gid))? {
            mode = (mode & !0o070) | (mode & 0o070 & ((mode & 0o007) << 3));
        }
        copy_attributes(former, &self.file)?;
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))?)
    }

    /// Makes the file readable and writable for this user alone.
    ///
    /// # Errors
    /// What the file system says.
    pub fn make_private(&self) -> Result<(), PathFault> {
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(0o600))?)
    }

    /// Gives the file an earlier owner, mode and times.
    ///
    /// # Errors
    /// What the file system says. As in [`Pending::dress_like`], an owner or group may be left out.
    pub fn dress_as(&self, former: &Facts) -> Result<(), PathFault> {
        dress_as(&self.file, former, former.mode & 0o1777)
    }

    /// Gives the file its name, after making its content durable, and makes the name durable.
    ///
    /// # Errors
    /// [`PathFault::Exists`] with [`Overwrite::Never`], or what the file system says.
    pub fn publish(mut self, name: &OsStr, overwrite: Overwrite) -> Result<Facts, PathFault> {
        sync(&self.file)?;
        let had_no_name = self.temporary.is_none();
        let named = had_no_name && overwrite == Overwrite::Never && unnamed::link(&self.folder, &self.file, name)?;
        if !named {
            let temporary = match &self.temporary {
                Some(temporary) => temporary.clone(),
                None => self.take_temporary_name()?,
            };
            let renamed = self.folder.rename(&temporary, &self.folder, name, overwrite);
            renamed.map_err(super::folder::RenameFault::into_path_fault)?;
            self.temporary = None;
        }
        if had_no_name {
            // Some file systems (Btrfs) have put the content of a nameless file on the disk, but not what leads to it.
            sync(&self.file)?;
        }
        self.folder.sync()?;
        Facts::of_file(&self.file)
    }

    /// Gives the finished file a temporary name; as a copy where the system does not name open files.
    fn take_temporary_name(&mut self) -> Result<OsString, PathFault> {
        let (name, linked) = under_free_name(|name| unnamed::link(&self.folder, &self.file, name))?;
        if linked {
            self.temporary = Some(name.clone());
            return Ok(name);
        }
        let (name, copy) = under_free_name(|name| self.folder.create_file(name, 0o600))?;
        self.temporary = Some(name.clone());
        let facts = Facts::of_file(&self.file)?;
        copy_contents(&self.file, &copy, &|| false)?;
        copy_attributes(&self.file, &copy)?;
        dress_as(&copy, &facts, facts.mode & 0o1777)?;
        sync(&copy)?;
        self.file = copy;
        Ok(name)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            // Nothing can be done about a failure here; the name says whose file it is.
            let _ = self.folder.remove_file(name);
        }
    }
}

/// Makes a file without a name; none where that is not possible, and then the way with a name tells what is wrong.
fn start_unnamed(folder: &Folder, mode: u32) -> Option<File> {
    let file = unnamed::create(folder, mode).ok()?;
    // Before Linux 6.0 the user's mask was forgotten for such files where there are no access control lists. A mode that
    // came out unchanged may be such a case, so the named way, which is always right, is taken.
    let forgotten = mode & 0o077 != 0 && Facts::of_file(&file).ok()?.mode & 0o777 == mode;
    (!forgotten).then_some(file)
}

/// Does something with a temporary name that nothing has yet.
fn under_free_name<T>(mut make: impl FnMut(&OsStr) -> Result<T, PathFault>) -> Result<(OsString, T), PathFault> {
    for _ in 0..16 {
        let name = temporary_name()?;
        match make(&name) {
            Ok(made) => return Ok((name, made)),
            Err(PathFault::Exists) => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(PathFault::file(IoReason::Io, "no free name for a temporary file"))
}

fn sync(file: &File) -> Result<(), PathFault> {
    file.sync_all().map_err(|fault| PathFault::from_io(&fault))
}

/// Copies content between open files, holes kept where the system can, looking at `cancelled` in between.
///
/// # Errors
/// What the file system says; none when cancelled.
pub fn copy_contents(from: &File, to: &File, cancelled: &dyn Fn() -> bool) -> Result<Option<u64>, PathFault> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(Some(Facts::of_file(to)?.size_bytes));
    }
    let mut offset = 0_u64;
    let mut buffer = vec![0_u8; CHUNK_BYTES];
    let mut to = to;
    let mut reader = Positioned { file: from, offset: &mut offset };
    loop {
        if cancelled() {
            return Ok(None);
        }
        let count = reader.read(&mut buffer).map_err(|fault| PathFault::from_io(&fault))?;
        if count == 0 {
            break;
        }
        let chunk = buffer.get(..count).unwrap_or_default();
        to.write_all(chunk).map_err(|fault| PathFault::from_io(&fault))?;
    }
    Ok(Some(offset))
}

/// Reads at a place of its own, so that the position of a shared handle does not matter.
struct Positioned<'a> {
    file: &'a File,
    offset: &'a mut u64,
}

impl std::io::Read for Positioned<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = std::os::unix::fs::FileExt::read_at(self.file, buffer, *self.offset)?;
        *self.offset += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}

/// Gives a file or folder an earlier owner and times, and a mode.
pub(super) fn dress_as(file: &File, former: &Facts, mode: u32) -> Result<(), PathFault> {
    let mine = Facts::of_file(file)?;
    let mut mode = mode;
    if mine.uid != former.uid {
        give(file, Some(former.uid), None)?;
    }
    if mine.gid != former.gid && !give(file, None, Some(former.gid))? {
        mode = (mode & !0o2070) | (mode & 0o070 & ((mode & 0o007) << 3));
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    set_times(file, former)
}

/// Sets access and change times of a file.
pub(super) fn set_times(file: &File, facts: &Facts) -> Result<(), PathFault> {
    Ok(rustix::fs::futimens(file, &times_of(facts))?)
}

pub(super) fn times_of(facts: &Facts) -> Timestamps {
    Timestamps { last_access: timespec(facts.atime_ns), last_modification: timespec(facts.mtime_ns) }
}

fn timespec(ns: i128) -> Timespec {
    let seconds = i64::try_from(ns.div_euclid(1_000_000_000)).unwrap_or(0);
    let rest = i64::try_from(ns.rem_euclid(1_000_000_000)).unwrap_or(0);
    Timespec { tv_sec: seconds, tv_nsec: rest }
}

/// Returns false when this user may not give it away.
pub(super) fn give(file: &File, uid: Option<u32>, gid: Option<u32>) -> Result<bool, PathFault> {
    match rustix::fs::fchown(file, uid.map(Uid::from_raw), gid.map(Gid::from_raw)) {
        Ok(()) => Ok(true),
        Err(Errno::PERM | Errno::INVAL | Errno::NOTSUP) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Makes the extended attributes of `to` those of `from`, as far as this user and the file system can.
pub(super) fn copy_attributes(from: &File, to: &File) -> Result<(), PathFault> {
    let wanted = attribute_names(from)?;
    for name in attribute_names(to)? {
        if !wanted.contains(&name) && name == c"system.posix_acl_access".to_bytes() {
            tolerate(with_name(&name, |name| rustix::fs::fremovexattr(to, name)))?;
        }
    }
    for name in wanted {
        if name == b"security.capability" {
            continue;
        }
        let value = match with_name(&name, |name| grown(|buffer| rustix::fs::fgetxattr(from, name, buffer))) {
            Ok(value) => value,
            Err(Errno::NODATA | Errno::NOTSUP | Errno::PERM | Errno::ACCESS) => continue,
            Err(errno) => return Err(errno.into()),
        };
        tolerate(with_name(&name, |name| rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty())))?;
    }
    Ok(())
}

/// Returns an extended attribute; none when there is no such or the file system keeps none. Only tests need it.
#[doc(hidden)]
#[must_use]
pub fn attribute(file: &File, name: &CStr) -> Option<Vec<u8>> {
    grown(|buffer| rustix::fs::fgetxattr(file, name, buffer)).ok()
}

/// Sets an extended attribute; false when that is not possible. Only tests need it.
#[doc(hidden)]
#[must_use]
pub fn set_attribute(file: &File, name: &CStr, value: &[u8]) -> bool {
    rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()).is_ok()
}

/// Reads into a buffer that grows until everything fits. (Asking for the size first gives 0 with these bindings.)
fn grown(mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0_u8; 1024];
    loop {
        match read(&mut buffer) {
            Ok(size) => {
                buffer.truncate(size);
                return Ok(buffer);
            }
            // The kernel holds no more than 64 KiB of either.
            Err(Errno::RANGE) if buffer.len() < 1024 * 1024 => buffer.resize(buffer.len() * 4, 0),
            Err(errno) => return Err(errno),
        }
    }
}

fn attribute_names(file: &File) -> Result<Vec<Vec<u8>>, PathFault> {
    let list = match grown(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Ok(list) => list,
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(errno) => return Err(errno.into()),
    };
    Ok(list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

fn with_name<T>(name: &[u8], call: impl FnOnce(&CStr) -> Result<T, Errno>) -> Result<T, Errno> {
    let name = std::ffi::CString::new(name).map_err(|_| Errno::INVAL)?;
    call(&name)
}

fn tolerate(result: Result<(), Errno>) -> Result<(), PathFault> {
    match result {
        Ok(()) | Err(Errno::NOTSUP | Errno::PERM | Errno::ACCESS | Errno::NODATA) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns a name that nobody guesses and that says whose file this is.
///
/// # Errors
/// When the system has no randomness.
pub fn temporary_name() -> Result<OsString, PathFault> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|fault| PathFault::file(IoReason::Io, &fault.to_string()))?;
    Ok(OsString::from(format!(".drawbridge-{}", drawbridge_core::hex::encode(random))))
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
