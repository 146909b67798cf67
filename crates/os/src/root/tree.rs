//! Whole trees by handles: looking over, copying, removing. Links are taken as links, and no mount point is crossed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use drawbridge_core::{IoReason, RefusalReason};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::Root;
use super::fault::PathFault;
use super::folder::{Facts, Folder, Kind};
use super::replace::{copy_attributes, copy_contents, give, set_times, times_of};
use super::walk::Spot;

/// Trees deeper than this are refused: each level needs a handle.
pub const TREE_DEPTH_LIMIT: usize = 400;

/// What a tree holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Entries, the top itself included.
    pub entries: u64,
    /// Bytes of regular files.
    pub bytes: u64,
}

/// Looks over a tree.
///
/// # Errors
/// [`IoReason::Busy`] when another file system is mounted inside, [`RefusalReason::Protected`] when a folder of
/// Drawbridge is inside, [`IoReason::Io`] when it is too deep, or what the file system says.
pub fn survey(root: &Root, at: &Spot) -> Result<Survey, PathFault> {
    let facts = at.facts()?;
    let home = at.folder().facts_here()?;
    if facts.mount != home.mount || facts.device != home.device {
        return Err(mounted());
    }
    let mut sum = Survey::default();
    if facts.kind == Kind::Folder && root.holds_protected(&at.folder().child(&at.name)?) {
        return Err(PathFault::Refused(RefusalReason::Protected));
    }
    look_over(at.folder(), &at.name, &facts, &facts, 0, &mut sum)?;
    Ok(sum)
}

fn look_over(
    parent: &Folder,
    name: &OsStr,
    facts: &Facts,
    top: &Facts,
    depth: usize,
    sum: &mut Survey,
) -> Result<(), PathFault> {
    sum.entries += 1;
    if facts.kind == Kind::File {
        sum.bytes = sum.bytes.saturating_add(facts.size_bytes);
    }
    if facts.kind != Kind::Folder {
        return Ok(());
    }
    let folder = enter(parent, name, depth)?;
    folder.for_each(|name, _| {
        let facts = folder.facts(name)?;
        same_mount(&facts, top)?;
        look_over(&folder, name, &facts, top, depth + 1, sum)
    })
}

/// Removes a file, link or whole tree.
///
/// # Errors
/// As [`survey`]; what was removed before the fault stays removed.
pub fn remove_tree(parent: &Folder, name: &OsStr) -> Result<(), PathFault> {
    let top = parent.facts(name)?;
    remove(parent, name, &top, &Removal { top, own: false }, 0)
}

/// Removes a tree in a folder that is ours alone, also where its modes forbid that.
///
/// # Errors
/// As [`remove_tree`].
pub fn remove_own_tree(parent: &Folder, name: &OsStr) -> Result<(), PathFault> {
    let top = parent.facts(name)?;
    remove(parent, name, &top, &Removal { top, own: true }, 0)
}

struct Removal {
    top: Facts,
    own: bool,
}

fn remove(parent: &Folder, name: &OsStr, facts: &Facts, how: &Removal, depth: usize) -> Result<(), PathFault> {
    if facts.kind != Kind::Folder {
        return parent.remove_file(name);
    }
    if how.own && facts.mode & 0o700 != 0o700 {
        rustix::fs::chmodat(parent.handle(), name, Mode::RWXU, AtFlags::empty())?;
    }
    let folder = enter(parent, name, depth)?;
    // The names come first: removing while reading may skip entries on some file systems.
    for name in names(&folder)? {
        let facts = folder.facts(&name)?;
        same_mount(&facts, &how.top)?;
        remove(&folder, &name, &facts, how, depth + 1)?;
    }
    parent.remove_folder(name)
}

/// Copies a file, link or whole tree under a new name, with modes, times, owners and attributes as far as this user can
/// give them. The copy is synced.
///
/// # Errors
/// As [`survey`]; [`PathFault::Exists`] when the new name is taken. The caller removes what was made before the fault.
pub fn copy_tree(
    parent: &Folder,
    name: &OsStr,
    to: &Folder,
    new: &OsStr,
    cancelled: &dyn Fn() -> bool,
) -> Result<Option<()>, PathFault> {
    let top = parent.facts(name)?;
    copy(&Pair { from: parent, to, top: &top, cancelled }, name, new, 0)
}

struct Pair<'a> {
    from: &'a Folder,
    to: &'a Folder,
    top: &'a Facts,
    cancelled: &'a dyn Fn() -> bool,
}

fn copy(pair: &Pair<'_>, name: &OsStr, new: &OsStr, depth: usize) -> Result<Option<()>, PathFault> {
    if (pair.cancelled)() {
        return Ok(None);
    }
    let facts = pair.from.facts(name)?;
    same_mount(&facts, pair.top)?;
    match facts.kind {
        Kind::File => {
            let (source, facts) = pair.from.open_file(name)?;
            let target = pair.to.create_file(new, 0o600)?;
            if copy_contents(&source, &target, pair.cancelled)?.is_none() {
                return Ok(None);
            }
            dress(&source, &target, &facts)?;
            target.sync_all().map_err(|fault| PathFault::from_io(&fault))?;
        }
        Kind::Link => {
            pair.to.make_link(new, &pair.from.read_link(name)?)?;
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let (uid, gid) = (Uid::from_raw(facts.uid), Gid::from_raw(facts.gid));
            match rustix::fs::chownat(pair.to.handle(), new, Some(uid), Some(gid), flags) {
                Ok(()) | Err(Errno::PERM | Errno::NOTSUP) => {}
                Err(errno) => return Err(errno.into()),
            }
            rustix::fs::utimensat(pair.to.handle(), new, &times_of(&facts), flags)?;
        }
        Kind::Folder => {
            let source = enter(pair.from, name, depth)?;
            pair.to.make_folder(new, 0o700)?;
            let target = pair.to.child(new)?;
            for name in names(&source)? {
                let inner = Pair { from: &source, to: &target, ..*pair };
                if copy(&inner, &name, &name, depth + 1)?.is_none() {
                    return Ok(None);
                }
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let source = File::from(rustix::fs::openat(source.handle(), ".", flags, Mode::empty())?);
            let target_file = File::from(rustix::fs::openat(target.handle(), ".", flags, Mode::empty())?);
            dress(&source, &target_file, &facts)?;
            target.sync()?;
        }
        Kind::Other => {
            let kind = FileType::Fifo;
            let source = Facts { ..facts };
            if !is_fifo(pair.from, name)? {
                return Err(PathFault::file(
                    IoReason::NotRegularFile,
                    "it holds a socket or device, which cannot be copied",
                ));
            }
            rustix::fs::mknodat(pair.to.handle(), new, kind, Mode::from_raw_mode(source.mode & 0o777), 0)?;
        }
    }
    Ok(Some(()))
}

/// Gives a copy owner, attributes, mode and times. Set-id bits stay only if the owner could be kept.
fn dress(source: &File, target: &File, facts: &Facts) -> Result<(), PathFault> {
    let mine = Facts::of_file(target)?;
    let kept = (mine.uid == facts.uid || give(target, Some(facts.uid), None)?)
        & (mine.gid == facts.gid || give(target, None, Some(facts.gid))?);
    copy_attributes(source, target)?;
    let mode =
        if kept { facts.mode } else { (facts.mode & 0o1707) | (facts.mode & 0o070 & ((facts.mode & 0o007) << 3)) };
    rustix::fs::fchmod(target, Mode::from_raw_mode(mode))?;
    set_times(target, facts)
}

fn is_fifo(folder: &Folder, name: &OsStr) -> Result<bool, PathFault> {
    let stat = rustix::fs::statat(folder.handle(), name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}

fn names(folder: &Folder) -> Result<Vec<OsString>, PathFault> {
    let mut names = Vec::new();
    folder.for_each(|name, _| {
        names.push(name.to_os_string());
        Ok(())
    })?;
    names.sort_by(|left, right| left.as_bytes().cmp(right.as_bytes()));
    Ok(names)
}

fn enter(parent: &Folder, name: &OsStr, depth: usize) -> Result<Folder, PathFault> {
    if depth >= TREE_DEPTH_LIMIT {
        return Err(PathFault::file(IoReason::Io, "the folders in it are nested too deep"));
    }
    parent.child(name)
}

fn same_mount(facts: &Facts, top: &Facts) -> Result<(), PathFault> {
    if facts.mount == top.mount && facts.device == top.device { Ok(()) } else { Err(mounted()) }
}

fn mounted() -> PathFault {
    PathFault::file(IoReason::Busy, "another file system is mounted in it")
}
