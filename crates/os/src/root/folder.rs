//! A folder by its handle, and what can be done with one name in it. Nothing here follows a link.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use drawbridge_core::IoReason;
use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Statx, StatxFlags, StatxTimestamp,
};
use rustix::io::Errno;

use super::fault::PathFault;
use super::replace::dress_as;

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// What the file system says about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime_ns: i128,
    /// Last change of the inode, in nanoseconds since the epoch.
    pub ctime_ns: i128,
    /// Last access, in nanoseconds since the epoch.
    pub atime_ns: i128,
    /// Permission bits with set-id and sticky.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of names.
    pub links: u32,
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// The mount it is on; 0 where the system does not tell.
    pub mount: u64,
}

impl Facts {
    /// Looks at a path of this machine itself, without following its last component.
    pub(super) fn of_path(path: &Path) -> Result<Self, PathFault> {
        look(CWD, path.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Looks at what a path of this machine leads to.
    pub(super) fn through_path(path: &Path) -> Result<Self, PathFault> {
        look(CWD, path.as_os_str(), AtFlags::empty())
    }

    /// Looks at an open file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn of_file(file: &File) -> Result<Self, PathFault> {
        look(file.as_fd(), OsStr::new(""), AtFlags::EMPTY_PATH)
    }

    /// Tells whether both are the same file, folder or link.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

impl From<Statx> for Facts {
    fn from(raw: Statx) -> Self {
        let kind = match FileType::from_raw_mode(u32::from(raw.stx_mode)) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Other,
        };
        let told = raw.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self {
            kind,
            size_bytes: raw.stx_size,
            mtime_ns: nanoseconds(raw.stx_mtime),
            ctime_ns: nanoseconds(raw.stx_ctime),
            atime_ns: nanoseconds(raw.stx_atime),
            mode: u32::from(raw.stx_mode) & 0o7777,
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            links: raw.stx_nlink,
            device: rustix::fs::makedev(raw.stx_dev_major, raw.stx_dev_minor),
            inode: raw.stx_ino,
            mount: if told { raw.stx_mnt_id } else { 0 },
        }
    }
}

/// Whether a rename may replace what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Never; the check cannot race.
    Never,
    /// In one atomic step.
    Allowed,
}

/// A folder by its handle. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Folder {
    handle: Arc<OwnedFd>,
}

impl Folder {
    /// Opens a folder of this machine by its path, the last component not followed. For roots and our own folders,
    /// never for a path of a peer.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open_ambient(path: &Path) -> Result<Self, PathFault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self::from_handle(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder of our own, making it with mode 0700 if it is missing.
    ///
    /// # Errors
    /// What the file system says; [`IoReason::PermissionDenied`] when others may enter it and that cannot be changed.
    pub fn open_private(path: &Path) -> Result<Self, PathFault> {
        use std::os::unix::fs::DirBuilderExt as _;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|fault| PathFault::from_io(&fault))?;
        let folder = Self::open_ambient(path)?;
        if folder.facts_here()?.mode & 0o077 != 0 {
            rustix::fs::chmodat(folder.handle(), ".", Mode::RWXU, AtFlags::empty())?;
        }
        Ok(folder)
    }

    pub(super) fn from_handle(handle: OwnedFd) -> Self {
        Self { handle: Arc::new(handle) }
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Tells whether this user can read, write and enter the folder.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let access = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::accessat(self.handle(), ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Opens whatever has this name, without following it and without opening its content.
    pub(super) fn touch(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        open_beneath(self.handle(), name, flags, Mode::empty())
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// [`IoReason::NotDirectory`] for anything else, links included.
    pub fn child(&self, name: &OsStr) -> Result<Self, PathFault> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::from_handle(open_beneath(self.handle(), name, flags, Mode::empty())?))
    }

    /// Tells whether something has this name.
    ///
    /// # Errors
    /// What the file system says.
    pub fn exists(&self, name: &OsStr) -> Result<bool, PathFault> {
        match self.facts(name) {
            Ok(_) => Ok(true),
            Err(PathFault::NotFound) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Returns the facts of an entry, a link's own where it is one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn facts(&self, name: &OsStr) -> Result<Facts, PathFault> {
        look(self.handle(), name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns the facts of the folder itself.
    ///
    /// # Errors
    /// What the file system says.
    pub fn facts_here(&self) -> Result<Facts, PathFault> {
        look(self.handle(), OsStr::new(""), AtFlags::EMPTY_PATH)
    }

    /// Opens a regular file for reading. Never waits for a pipe and never opens a device.
    ///
    /// # Errors
    /// [`IoReason::IsDirectory`] or [`IoReason::NotRegularFile`] for other things, [`IoReason::ChangedMeanwhile`] when a
    /// link took the name.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, Facts), PathFault> {
        regular(&self.facts(name)?)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(open_beneath(self.handle(), name, flags, Mode::empty())?);
        let facts = Facts::of_file(&file)?;
        regular(&facts)?;
        Ok((file, facts))
    }

    /// Checks that this user may write the content of an entry.
    ///
    /// # Errors
    /// What the file system says.
    pub fn check_writable(&self, name: &OsStr) -> Result<(), PathFault> {
        Ok(rustix::fs::accessat(self.handle(), name, Access::WRITE_OK, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Makes a file that does not exist yet.
    ///
    /// # Errors
    /// [`PathFault::Exists`], or what the file system says.
    pub fn create_file(&self, name: &OsStr, mode: u32) -> Result<File, PathFault> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(self.handle(), name, flags, Mode::from_raw_mode(mode))?))
    }

    /// Opens our own file for reading and adding at its end, making it with mode 0600 if needed.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open_own_file(&self, name: &OsStr) -> Result<File, PathFault> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(self.handle(), name, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Makes a folder; the system takes away what the user's mask says.
    ///
    /// # Errors
    /// [`PathFault::Exists`], or what the file system says.
    pub fn make_folder(&self, name: &OsStr, mode: u32) -> Result<(), PathFault> {
        Ok(rustix::fs::mkdirat(self.handle(), name, Mode::from_raw_mode(mode))?)
    }

    /// Makes a folder with an earlier owner, mode and times.
    ///
    /// # Errors
    /// [`PathFault::Exists`], or what the file system says. An owner or group that this user may not give is left out,
    /// and the group then gets no more than others have.
    pub fn make_folder_as(&self, name: &OsStr, former: &Facts) -> Result<(), PathFault> {
        self.make_folder(name, 0o700)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = File::from(open_beneath(self.handle(), name, flags, Mode::empty())?);
        dress_as(&open, former, former.mode)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// [`PathFault::Exists`], or what the file system says.
    pub fn make_link(&self, name: &OsStr, target: &OsStr) -> Result<(), PathFault> {
        Ok(rustix::fs::symlinkat(target, self.handle(), name)?)
    }

    /// Returns where a link points, as text.
    ///
    /// # Errors
    /// What the file system says.
    pub fn read_link(&self, name: &OsStr) -> Result<OsString, PathFault> {
        Ok(OsString::from_vec(rustix::fs::readlinkat(self.handle(), name, Vec::new())?.into_bytes()))
    }

    /// Renames an entry into another folder of the same file system.
    ///
    /// # Errors
    /// [`PathFault::Exists`] when something is there and [`Overwrite::Never`] holds; [`Folder::is_other_device`] tells
    /// the case that needs a copy.
    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr, overwrite: Overwrite) -> Result<(), RenameFault> {
        let flags = match overwrite {
            Overwrite::Never => RenameFlags::NOREPLACE,
            Overwrite::Allowed => RenameFlags::empty(),
        };
        match rustix::fs::renameat_with(self.handle(), name, to.handle(), new, flags) {
            Ok(()) => Ok(()),
            Err(Errno::XDEV) => Err(RenameFault::OtherDevice),
            // Some file systems cannot rename without replacing; a link and a removal come to the same for files.
            Err(Errno::INVAL | Errno::NOSYS) if overwrite == Overwrite::Never => self.rename_by_link(name, to, new),
            Err(errno) => Err(RenameFault::Path(errno.into())),
        }
    }

    fn rename_by_link(&self, name: &OsStr, to: &Self, new: &OsStr) -> Result<(), RenameFault> {
        if self.facts(name)?.kind == Kind::Folder {
            match to.facts(new) {
                Ok(_) => return Err(RenameFault::Path(PathFault::Exists)),
                Err(PathFault::NotFound) => {}
                Err(fault) => return Err(RenameFault::Path(fault)),
            }
            // At worst an empty folder made this instant is replaced: nothing can be lost.
            return rustix::fs::renameat(self.handle(), name, to.handle(), new)
                .map_err(|errno| RenameFault::Path(errno.into()));
        }
        rustix::fs::linkat(self.handle(), name, to.handle(), new, AtFlags::empty()).map_err(PathFault::from)?;
        Ok(self.remove_file(name)?)
    }

    /// Removes a file, link, pipe or socket.
    ///
    /// # Errors
    /// What the file system says.
    pub fn remove_file(&self, name: &OsStr) -> Result<(), PathFault> {
        Ok(rustix::fs::unlinkat(self.handle(), name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// [`PathFault::NotEmpty`], or what the file system says.
    pub fn remove_folder(&self, name: &OsStr) -> Result<(), PathFault> {
        Ok(rustix::fs::unlinkat(self.handle(), name, AtFlags::REMOVEDIR)?)
    }

    /// Calls `each` for every entry in disk order, with its kind where the disk tells it. Needs no memory of its own.
    ///
    /// # Errors
    /// What the file system says, or what `each` returns.
    pub fn for_each<F>(&self, mut each: F) -> Result<(), PathFault>
    where
        F: FnMut(&OsStr, Option<Kind>) -> Result<(), PathFault>,
    {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(self.handle(), ".", flags, Mode::empty())?;
        for entry in Dir::new(open)? {
            let entry = entry?;
            let name: &CStr = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::RegularFile => Some(Kind::File),
                FileType::Directory => Some(Kind::Folder),
                FileType::Symlink => Some(Kind::Link),
                FileType::Unknown => None,
                FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => {
                    Some(Kind::Other)
                }
            };
            each(OsStr::from_bytes(name.to_bytes()), kind)?;
        }
        Ok(())
    }

    /// Tells whether nothing is in this folder.
    ///
    /// # Errors
    /// What the file system says.
    pub fn is_empty(&self) -> Result<bool, PathFault> {
        match self.for_each(|_, _| Err(PathFault::NotEmpty)) {
            Ok(()) => Ok(true),
            Err(PathFault::NotEmpty) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Makes the entries of this folder durable.
    ///
    /// # Errors
    /// What the file system says. A folder that may not be read cannot be synced and counts as done.
    pub fn sync(&self) -> Result<(), PathFault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::openat(self.handle(), ".", flags, Mode::empty()) {
            Ok(open) => match rustix::fs::fsync(open) {
                Ok(()) | Err(Errno::INVAL) => Ok(()),
                Err(errno) => Err(errno.into()),
            },
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Returns this folder and everything above it, nearest first.
    pub(super) fn ancestors(&self) -> Vec<Facts> {
        let mut found = Vec::new();
        let mut here = self.clone();
        while let Ok(facts) = here.facts_here() {
            if found.last().is_some_and(|last: &Facts| last.same_as(&facts)) {
                break;
            }
            found.push(facts);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match rustix::fs::openat(here.handle(), "..", flags, Mode::empty()) {
                Ok(above) => here = Self::from_handle(above),
                Err(_) => break,
            }
        }
        found
    }

    /// Tells whether this folder shows the kernel rather than a disk.
    pub(super) fn is_kernel_file_system(&self) -> bool {
        const PROC: i128 = 0x9fa0;
        const SYSFS: i128 = 0x6265_6572;
        rustix::fs::fstatfs(self.handle()).is_ok_and(|fs| matches!(i128::from(fs.f_type), PROC | SYSFS))
    }
}

/// Why a rename did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenameFault {
    /// The target is on another file system or mount: copy instead.
    OtherDevice,
    /// Anything else.
    Path(PathFault),
}

impl From<PathFault> for RenameFault {
    fn from(fault: PathFault) -> Self {
        Self::Path(fault)
    }
}

impl RenameFault {
    /// Returns this as a path fault, for places where another device is no case of its own.
    #[must_use]
    pub fn into_path_fault(self) -> PathFault {
        match self {
            Self::OtherDevice => PathFault::file(IoReason::Io, "it is on another file system"),
            Self::Path(fault) => fault,
        }
    }
}

/// Exchanges two names of this machine in one step. Only tests of containment need it.
///
/// # Errors
/// What the file system says.
#[doc(hidden)]
pub fn exchange(one: &Path, other: &Path) -> Result<(), PathFault> {
    Ok(rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Opens one name below a handle. The kernel's own guard is used where it exists; without it a single name that is never
/// followed cannot lead anywhere else either.
fn open_beneath(at: BorrowedFd<'_>, name: &OsStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    match open_guarded_with(at, name, flags, mode, ResolveFlags::empty()) {
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(at, name, flags, mode),
        other => other,
    }
}

/// Opens a way below a handle that the kernel keeps below it.
pub(super) fn open_guarded(
    at: BorrowedFd<'_>,
    way: &OsStr,
    flags: OFlags,
    further: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    open_guarded_with(at, way, flags, Mode::empty(), further)
}

fn open_guarded_with(
    at: BorrowedFd<'_>,
    way: &OsStr,
    flags: OFlags,
    mode: Mode,
    further: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    #[cfg(test)]
    if let Some(errno) = REFUSED.get() {
        return Err(errno);
    }
    let guard = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(at, way, flags, mode, guard | further)
}

#[cfg(test)]
thread_local! {
    static REFUSED: std::cell::Cell<Option<Errno>> = const { std::cell::Cell::new(None) };
}

/// Lets this thread do as if the kernel refused `openat2`.
#[cfg(test)]
pub(super) fn without_openat2(errno: Option<Errno>) {
    REFUSED.set(errno);
}

fn look(at: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> Result<Facts, PathFault> {
    Ok(look_with(at, name, flags)?)
}

pub(super) fn look_with(at: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> Result<Facts, Errno> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    Ok(Facts::from(rustix::fs::statx(at, name, flags | AtFlags::NO_AUTOMOUNT, wanted)?))
}

fn regular(facts: &Facts) -> Result<(), PathFault> {
    match facts.kind {
        Kind::File => Ok(()),
        Kind::Folder => Err(PathFault::file(IoReason::IsDirectory, "it is a folder")),
        Kind::Link => Err(PathFault::file(IoReason::ChangedMeanwhile, "a link took its place at the same time")),
        Kind::Other => Err(PathFault::file(IoReason::NotRegularFile, "it is a pipe, socket or device")),
    }
}

fn nanoseconds(time: StatxTimestamp) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}
