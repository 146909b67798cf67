//! The undo store: former contents, deleted trees and moves, kept so that a person can take a change back (invariant 7).
//!
//! A private folder holds `journal.jsonl`, one line for each state of an entry, and `kept/`, one file or tree for each
//! entry that has content. A line is durable before the change it speaks of happens; what a crash leaves half done is
//! put right when the store is opened. Deleted trees are renamed in where possible, so they keep modes, times and links.
//!
//! Deliberately absent: any decision who may restore, and any path that is not reached through an attached folder.

mod aside;
mod entries;
mod journal;
mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_core::{Clock, IoReason, SessionId, WallMs};
use drawbridge_os::root::{
    Change, Facts, Folder, Overwrite, PathFault, RenameFault, Replaced, Root, RootFault, Spot, Stamp, copy_contents,
    copy_tree, remove_own_tree, remove_tree, survey, temporary_name,
};

pub use entries::UndoCounts;

use entries::Entries;
use journal::{Entry, Former, Journal, Left, Line, Place, State, names_of, tag};

const KEPT: &str = "kept";

/// What the store may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoLimits {
    /// Bytes of all kept content together; the oldest entries go first.
    pub total_bytes: u64,
    /// Older entries are dropped.
    pub age: Duration,
    /// More entries than this are not held; the oldest go first.
    pub entries: usize,
}

impl Default for UndoLimits {
    fn default() -> Self {
        Self { total_bytes: 2 * 1024 * 1024 * 1024, age: Duration::from_secs(30 * 24 * 60 * 60), entries: 10_000 }
    }
}

/// What an entry takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoKind {
    /// A file appeared where nothing was.
    Created,
    /// A file got new content.
    Replaced,
    /// A file, link or folder was deleted.
    Deleted,
    /// Something was moved.
    Moved,
}

/// One change that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoEntry {
    /// Its number; rises and is never used again.
    pub number: u64,
    /// When the change happened.
    pub at: WallMs,
    /// The chat that made it; none for a copy that a restore made.
    pub session: Option<String>,
    /// What happened.
    pub kind: UndoKind,
    /// Where, as an absolute path.
    pub path: String,
    /// Where it went, for a move.
    pub moved_to: Option<String>,
    /// Bytes kept.
    pub bytes: u64,
    /// It was taken back already.
    pub restored: bool,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The path that is back.
    pub path: String,
    /// What stood there and was newer, kept as entries of their own.
    pub saved: Vec<u64>,
}

/// Why something cannot be kept or restored. Messages are for people.
#[derive(Debug, thiserror::Error)]
pub enum UndoFault {
    /// No such entry, or it was dropped for age or space.
    #[error("there is no undo entry {0} any more")]
    Unknown(u64),
    /// It was taken back already.
    #[error("undo entry {0} was taken back already")]
    AlreadyRestored(u64),
    /// The folder cannot be opened.
    #[error("the folder of this change cannot be used: {0}")]
    Root(#[from] RootFault),
    /// Another folder stands at its path now.
    #[error("another folder stands where the change was made; nothing was restored")]
    OtherRoot,
    /// A new file is there no more, or something else took its place.
    #[error("the new file is no longer at {0}; nothing was taken away")]
    Gone(String),
    /// What was moved is no longer where it went.
    #[error("what was moved is no longer at {0}; nothing was restored")]
    MovedOn(String),
    /// A fault of the file system.
    #[error("the change could not be taken back: {0}")]
    Path(#[from] PathFault),
}

/// The store.
#[derive(Debug)]
pub struct UndoStore {
    folder: Folder,
    kept: Folder,
    limits: UndoLimits,
    clock: Arc<dyn Clock>,
    /// Never held while content is copied or a tree is removed.
    inner: Mutex<Inner>,
    restoring: Mutex<()>,
    set_aside: Option<PathBuf>,
}

#[derive(Debug)]
struct Inner {
    journal: Journal,
    entries: Entries,
    next: u64,
    /// Never dropped while they are being restored or taken over.
    in_use: BTreeSet<u64>,
    /// Bytes that are on their way in, for numbers that have no entry yet.
    arriving: BTreeMap<u64, u64>,
}

impl UndoStore {
    /// Opens the store in a folder of ours, making it with mode 0700, and puts right what a crash left half done. What a
    /// journal that cannot be read speaks of is set aside whole: see [`UndoStore::set_aside`].
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, PathFault> {
        Self::open_with(dir, clock, UndoLimits::default())
    }

    /// As [`UndoStore::open`], with other limits.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open_with(dir: &Path, clock: Arc<dyn Clock>, limits: UndoLimits) -> Result<Self, PathFault> {
        let folder = Folder::open_private(dir)?;
        let kept = Folder::open_private(&dir.join(KEPT))?;
        let found = journal::read(&folder)?;
        let lost = found.lines == 0 && !kept.is_empty()?;
        let why = found.fault.or_else(|| lost.then_some("it is gone, and what was kept is not"));
        let fresh = why.map(|why| aside::set_aside(dir, &folder, kept.clone(), &found, why)).transpose()?;
        let (kept, entries, next, set_aside) = match fresh {
            Some(fresh) => (fresh.kept, BTreeMap::new(), fresh.next, Some(fresh.path)),
            None => {
                let mut entries = found.entries;
                entries.retain(|_, entry| is_whole(entry, &kept));
                sweep(&kept, &entries)?;
                // Without a line there is nothing to tell which numbers were given before something was set aside.
                let next = if found.lines == 0 { aside::first_free(&folder, &kept, found.next)? } else { found.next };
                (kept, entries, next, None)
            }
        };
        let journal = Journal::rewrite(&folder, &entries, next)?;
        let (in_use, arriving) = (BTreeSet::new(), BTreeMap::new());
        let entries = Entries::new(entries);
        let inner = Mutex::new(Inner { journal, entries, next, in_use, arriving });
        let store = Self { folder, kept, limits, clock, inner, restoring: Mutex::new(()), set_aside };
        let gone = store.make_room(&mut store.lock(), 0)?;
        store.clear(&gone)?;
        Ok(store)
    }

    /// Returns where the journal (or, where that is gone, what was kept) now is, when this opening found a journal that
    /// it could not read: damaged, or of a newer version. The store then starts empty; nothing was removed, and what was
    /// kept is beside the journal in `kept.broken-N`.
    #[must_use]
    pub fn set_aside(&self) -> Option<PathBuf> {
        self.set_aside.clone()
    }

    /// Returns the entries of one chat, or all, newest first.
    #[must_use]
    pub fn list(&self, session: Option<&SessionId>) -> Vec<UndoEntry> {
        let inner = self.lock();
        let wanted = |entry: &&Entry| session.is_none_or(|session| entry.session.as_deref() == Some(session.as_str()));
        inner.entries.all().values().rev().filter(wanted).map(Entry::shown).collect()
    }

    /// Returns how many changes of a chat can be taken back. Counted as they come and go, so asking is cheap.
    #[must_use]
    pub fn counts(&self, session: &SessionId) -> UndoCounts {
        self.lock().entries.counts_of(session.as_str())
    }

    /// Keeps what a change takes away, durably, and returns the number of the entry; none when it was cancelled. For
    /// [`Change::Delete`] the thing is taken over and no longer in its place afterwards; in all other cases everything
    /// stays as it is.
    ///
    /// # Errors
    /// What the file system says, [`IoReason::NoSpace`] when it is larger than everything that may be kept; then, as
    /// when cancelled, nothing was kept and nothing has moved.
    pub fn keep(
        &self,
        session: Option<&SessionId>,
        change: &Change<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, PathFault> {
        let bytes = match change {
            Change::Replace { former, .. } | Change::Move { replaced: Some(Replaced::File(former)), .. } => {
                Facts::of_file(former)?.size_bytes
            }
            Change::Delete { root, at } => survey(root, at)?.bytes,
            Change::Create { .. } | Change::Move { .. } => 0,
        };
        let (number, gone) = {
            let mut inner = self.lock();
            let gone = self.make_room(&mut inner, bytes)?;
            let number = inner.next;
            inner.next += 1;
            inner.in_use.insert(number);
            inner.arriving.insert(number, bytes);
            (number, gone)
        };
        let kept = self.clear(&gone).and_then(|()| self.keep_as(number, session, change, cancelled));
        let mut inner = self.lock();
        inner.in_use.remove(&number);
        inner.arriving.remove(&number);
        kept.map(|done| done.map(|()| number))
    }

    fn keep_as(
        &self,
        number: u64,
        session: Option<&SessionId>,
        change: &Change<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<()>, PathFault> {
        let at_ms = self.clock.wall().0;
        let start = |root: &Root, at: &Spot, kind| Entry::new(number, at_ms, session, root, at, kind);
        match change {
            Change::Create { root, at, made_folders } => {
                let mut entry = start(root, at, journal::Kind::Created);
                entry.made_folders = *made_folders;
                self.add(entry).map(Some)
            }
            Change::Replace { root, at, former } => {
                let mut entry = start(root, at, journal::Kind::Replaced);
                let kept = self.keep_content(&mut entry, former, cancelled)?;
                kept.map(|()| self.add(entry)).transpose()
            }
            Change::Move { root, from, to, replaced } => {
                let mut entry = start(root, from, journal::Kind::Moved);
                entry.to = Some(Place::of(root, to));
                match replaced {
                    None => {}
                    Some(Replaced::File(file)) => match self.keep_content(&mut entry, file, cancelled)? {
                        Some(()) => {}
                        None => return Ok(None),
                    },
                    Some(Replaced::EmptyFolder(facts)) => {
                        (entry.former, entry.former_folder) = (Some(Former::from(*facts)), true);
                    }
                    Some(Replaced::Link(target)) => entry.former_link = Some(tag(target)),
                }
                self.add(entry).map(Some)
            }
            Change::Delete { root, at } => {
                let mut entry = start(root, at, journal::Kind::Deleted);
                entry.bytes = self.lock().arriving.get(&number).copied().unwrap_or(0);
                self.take_over(entry, at, cancelled)
            }
        }
    }

    /// Notes what a change left in place, so that a restore can tell whether somebody worked on since.
    pub fn changed(&self, number: u64, left: Option<Stamp>) {
        let mut inner = self.lock();
        let Some(mut entry) = inner.entries.all().get(&number).cloned() else { return };
        entry.state = State::Done;
        entry.left = left.map(Left::from);
        // Without this line a restore saves what is there as if it were newer: nothing is lost.
        let _ = self.update(&mut inner, entry);
    }

    /// Forgets an entry whose change did not happen.
    pub fn forget(&self, number: u64) {
        let mut inner = self.lock();
        if inner.entries.all().get(&number).is_some_and(|entry| entry.kind != journal::Kind::Deleted) {
            // What stays behind after a fault here is one entry too many, which restores what is there anyway.
            let dropped = Self::drop_entry(&mut inner, number);
            drop(inner);
            if dropped.is_ok() {
                let _ = self.clear(&[number]);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the content of a file in; none when cancelled.
    fn keep_content(
        &self,
        entry: &mut Entry,
        former: &File,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<()>, PathFault> {
        let facts = Facts::of_file(former)?;
        let name = kept_name(entry.number);
        let kept = self.kept.create_file(&name, 0o600)?;
        let copied = copy_contents(former, &kept, cancelled).and_then(|copied| {
            if copied.is_some() {
                kept.sync_all().map_err(|fault| PathFault::from_io(&fault))?;
                self.kept.sync()?;
            }
            Ok(copied)
        });
        if !matches!(copied, Ok(Some(_))) {
            let _ = self.kept.remove_file(&name);
        }
        Ok(copied?.map(|bytes| (entry.bytes, entry.former) = (bytes, Some(Former::from(&facts)))))
    }

    /// Writes the line of a new entry; on a fault what was kept for it goes again.
    fn add(&self, entry: Entry) -> Result<(), PathFault> {
        let number = entry.number;
        let added = {
            let mut inner = self.lock();
            inner.arriving.remove(&number);
            self.update(&mut inner, entry)
        };
        if added.is_err() {
            let _ = remove_own_tree(&self.kept, &kept_name(number));
        }
        added
    }

    fn update(&self, inner: &mut Inner, entry: Entry) -> Result<(), PathFault> {
        inner.journal.append(&Line::Entry(Box::new(entry.clone())))?;
        inner.entries.insert(entry);
        if inner.journal.is_stale(inner.entries.all().len()) {
            // The old one stays good when this fails.
            match Journal::rewrite(&self.folder, inner.entries.all(), inner.next) {
                Ok(fresh) => inner.journal = fresh,
                Err(fault) => tracing::warn!(%fault, "the undo journal could not be written anew"),
            }
        }
        Ok(())
    }

    /// Takes a deleted thing over. The line goes first: a crash right after the rename must not lose track of it.
    fn take_over(&self, mut entry: Entry, at: &Spot, cancelled: &dyn Fn() -> bool) -> Result<Option<()>, PathFault> {
        let number = entry.number;
        let parked = temporary_name()?;
        entry.parked = Some(tag(&parked));
        self.add(entry)?;
        let name = kept_name(number);
        let moved = match at.folder().rename(&at.name, &self.kept, &name, Overwrite::Never) {
            Ok(()) => Ok(Some(())),
            Err(RenameFault::OtherDevice) => self.take_over_by_copy(at, &parked, &name, cancelled),
            Err(RenameFault::Path(fault)) => Err(fault),
        };
        if !matches!(moved, Ok(Some(()))) {
            Self::drop_entry(&mut self.lock(), number)?;
            return moved;
        }
        // It is away and kept; a folder that cannot be synced is no reason to say otherwise.
        let _ = self.kept.sync();
        let _ = at.folder().sync();
        Ok(Some(()))
    }

    /// Takes it from its name first, so that the change is one step for everybody else, then copies it. Put back under its
    /// name on a fault and when cancelled.
    fn take_over_by_copy(
        &self,
        at: &Spot,
        parked: &OsStr,
        name: &OsStr,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<()>, PathFault> {
        let park = at.folder().rename(&at.name, at.folder(), parked, Overwrite::Never);
        park.map_err(RenameFault::into_path_fault)?;
        let part = OsString::from(format!("{}.part", name.to_string_lossy()));
        let copied = copy_tree(at.folder(), parked, &self.kept, &part, cancelled).and_then(|copied| {
            if copied.is_some() {
                let named = self.kept.rename(&part, &self.kept, name, Overwrite::Never);
                named.map_err(RenameFault::into_path_fault)?;
            }
            Ok(copied)
        });
        if !matches!(copied, Ok(Some(()))) {
            if self.kept.exists(&part).unwrap_or(true) {
                let _ = remove_own_tree(&self.kept, &part);
            }
            let back = at.folder().rename(parked, at.folder(), &at.name, Overwrite::Never);
            back.map_err(RenameFault::into_path_fault)?;
            return copied;
        }
        self.kept.sync()?;
        // The copy is whole and durable; what cannot be removed here stays under a name that says whose it is.
        let _ = remove_tree(at.folder(), parked);
        Ok(Some(()))
    }

    /// Drops what is too old and the oldest beyond the limits, so that `bytes` more fit in one more entry. Returns the
    /// numbers whose content is to be removed with [`UndoStore::clear`] once the lock is given back.
    fn make_room(&self, inner: &mut Inner, bytes: u64) -> Result<Vec<u64>, PathFault> {
        if bytes > self.limits.total_bytes {
            return Err(PathFault::file(IoReason::NoSpace, "it is larger than everything that undo may keep"));
        }
        let oldest_ms = self.clock.wall().0 - i64::try_from(self.limits.age.as_millis()).unwrap_or(i64::MAX);
        let arriving: u64 = inner.arriving.values().sum();
        let mut total = inner.entries.all().values().map(|entry| entry.bytes).sum::<u64>().saturating_add(arriving);
        let mut count = inner.entries.all().len();
        let mut gone = Vec::new();
        for entry in inner.entries.all().values() {
            if inner.in_use.contains(&entry.number) {
                continue;
            }
            let needs_room = total.saturating_add(bytes) > self.limits.total_bytes && entry.bytes > 0;
            if entry.at_ms < oldest_ms || needs_room || count >= self.limits.entries {
                total = total.saturating_sub(entry.bytes);
                count -= 1;
                gone.push(entry.number);
            }
        }
        for number in &gone {
            Self::drop_entry(inner, *number)?;
        }
        Ok(gone)
    }

    /// Drops the line alone. A crash before the content is removed leaves a stranger, which the next start removes.
    fn drop_entry(inner: &mut Inner, number: u64) -> Result<(), PathFault> {
        inner.journal.append(&Line::Gone { number, next: inner.next })?;
        inner.entries.remove(number);
        Ok(())
    }

    /// Removes the content of dropped entries. Without the lock: it may be a large tree.
    fn clear(&self, numbers: &[u64]) -> Result<(), PathFault> {
        for number in numbers {
            let name = kept_name(*number);
            if self.kept.exists(&name)? {
                remove_own_tree(&self.kept, &name)?;
            }
        }
        Ok(())
    }
}

/// Removes what no entry of a sound journal speaks of: a crash came between the content and its line.
fn sweep(kept: &Folder, entries: &BTreeMap<u64, Entry>) -> Result<(), PathFault> {
    let mut strangers = Vec::new();
    kept.for_each(|name, _| {
        let known = name.to_str().and_then(|text| text.parse().ok()).is_some_and(|n: u64| entries.contains_key(&n));
        if !known {
            strangers.push(name.to_os_string());
        }
        Ok(())
    })?;
    strangers.iter().try_for_each(|name| remove_own_tree(kept, name))
}

fn kept_name(number: u64) -> OsString {
    OsString::from(number.to_string())
}

/// Tells whether an entry has what it needs. A deleted thing on another file system may still be parked in its folder.
fn is_whole(entry: &Entry, kept: &Folder) -> bool {
    let there = kept.exists(&kept_name(entry.number)).unwrap_or(false);
    match (entry.state, entry.kind) {
        (State::Restored, _) => true,
        (State::Begun, journal::Kind::Deleted) => there || entry.parked.is_some(),
        (State::Begun | State::Done, journal::Kind::Created) => true,
        (State::Begun | State::Done, journal::Kind::Moved) => there || entry.former.is_none() || entry.former_folder,
        (State::Begun | State::Done, _) => there,
    }
}

#[cfg(test)]
#[allow(
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "tests that say what they skip"
)]
#[path = "undo_tests.rs"]
mod tests;
