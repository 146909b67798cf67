//! Listing a folder (spec 8, FILE_LIST): depth first, each folder sorted by name bytes, in bounded memory.
//!
//! A folder of any size needs memory only for the entries that can still be reported: the lowest names are kept, the
//! others are counted as left out.

use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use drawbridge_core::{FileEntry, IoReason, OpError, Outcome, PayloadFault};
use drawbridge_os::root::{Facts, Found, Kind, Last, PathFault, Reached, Trail};

use super::Job;
use super::glob::{Pattern, pattern};
use super::stat::{kind_through, seconds};

/// Never more entries than this, whatever is asked for.
const ENTRIES_CEILING: u32 = 10_000;
/// The listing ends before its frame passes this.
const FRAME_BUDGET_BYTES: usize = 12 * 1024 * 1024;
/// What an entry needs on the wire besides name and path.
const ENTRY_FRAME_BYTES: usize = 200;
/// Folders nested deeper are listed, not entered: each level needs a handle.
const DEPTH_LIMIT: usize = 200;
/// The cancel flag is looked at after so many names of a folder.
const NAMES_PER_LOOK: usize = 4096;

/// What is to be listed.
pub(super) struct Wish {
    pub(super) glob: Option<String>,
    pub(super) recursive: bool,
    pub(super) include_hidden: bool,
    pub(super) max_entries: u32,
}

struct Listing<'a> {
    job: &'a Job,
    glob: Option<Pattern>,
    recursive: bool,
    include_hidden: bool,
    max: usize,
    frame_bytes: usize,
    entries: Vec<FileEntry>,
    truncated: bool,
    cancelled: bool,
}

impl Job {
    pub(super) fn list(&self, path: &str, wish: Wish) -> Result<Outcome, OpError> {
        if wish.max_entries < 1 {
            let why = "must be at least 1".to_owned();
            return Err(OpError::InvalidPayload(PayloadFault { field: "max_entries".to_owned(), why }));
        }
        let glob = wish.glob.as_deref().map(pattern).transpose().map_err(OpError::InvalidPayload)?;
        let trail = match self.root.walk(path, Last::Follow).map_err(|fault| self.fault("list", path, fault))? {
            Reached::Missing(_) => return Err(OpError::NotFound { path: path.to_owned() }),
            Reached::Found(Found { inside: Some(trail), .. }) => trail,
            Reached::Found(_) => {
                return Err(self.fault("list", path, PathFault::file(IoReason::NotDirectory, "it is not a folder")));
            }
        };
        let mut listing = Listing {
            job: self,
            glob,
            recursive: wish.recursive,
            include_hidden: wish.include_hidden,
            max: wish.max_entries.min(ENTRIES_CEILING) as usize,
            frame_bytes: 0,
            entries: Vec::new(),
            truncated: false,
            cancelled: false,
        };
        let listed = listing.folder(&trail, 0);
        self.go_on()?;
        listed.map_err(|fault| self.fault("list", path, fault))?;
        Ok(Outcome::List { entries: listing.entries, truncated: listing.truncated })
    }
}

/// One name of a folder that is worth a closer look.
#[derive(PartialEq, Eq)]
struct Candidate {
    name: OsString,
    matches: bool,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.as_bytes().cmp(other.name.as_bytes())
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Listing<'_> {
    fn folder(&mut self, trail: &Trail, depth: usize) -> Result<(), PathFault> {
        let folder_text = self.job.root.text_of_folder(trail);
        for candidate in self.candidates(trail)? {
            if self.done() {
                return Ok(());
            }
            // A name that vanished since it was read is simply not there any more.
            let Ok(facts) = trail.folder().facts(&candidate.name) else { continue };
            if candidate.matches && !self.report(trail, &folder_text, &candidate.name, &facts) {
                return Ok(());
            }
            if self.recursive && facts.kind == Kind::Folder {
                self.descend(trail, &candidate.name, depth);
            }
        }
        Ok(())
    }

    /// Unreadable and protected folders are skipped.
    fn descend(&mut self, trail: &Trail, name: &OsStr, depth: usize) {
        if depth >= DEPTH_LIMIT {
            self.truncated = true;
            return;
        }
        if let Ok(Reached::Found(Found { inside: Some(inside), .. })) = self.job.root.walk_from(trail, name, Last::Keep)
        {
            let _ = self.folder(&inside, depth + 1);
        }
    }

    /// The names to look at, sorted. Of those that match, one more than can be reported, so that the rest is noticed.
    fn candidates(&mut self, trail: &Trail) -> Result<Vec<Candidate>, PathFault> {
        let room = self.max - self.entries.len().min(self.max) + 1;
        let mut matching = BinaryHeap::new();
        let mut others = Vec::new();
        let mut seen = 0_usize;
        let cancel = &self.job.cancel;
        let cancelled = &mut self.cancelled;
        let (glob, recursive, include_hidden) = (&self.glob, self.recursive, self.include_hidden);
        trail.folder().for_each(|name, kind| {
            seen += 1;
            if seen.is_multiple_of(NAMES_PER_LOOK) && cancel.is_cancelled() {
                *cancelled = true;
                return Err(PathFault::file(IoReason::Io, "cancelled"));
            }
            if !include_hidden && name.as_bytes().starts_with(b".") {
                return Ok(());
            }
            let matches = glob.as_ref().is_none_or(|glob| glob.is_match(name));
            if matches {
                if matching.len() == room
                    && matching.peek().is_some_and(|top: &Candidate| top.name.as_bytes() <= name.as_bytes())
                {
                    return Ok(());
                }
                matching.push(Candidate { name: name.to_os_string(), matches });
                if matching.len() > room {
                    matching.pop();
                }
            } else if recursive && kind.is_none_or(|kind| kind == Kind::Folder) {
                others.push(Candidate { name: name.to_os_string(), matches });
            }
            Ok(())
        })?;
        let mut all = matching.into_vec();
        all.append(&mut others);
        all.sort();
        Ok(all)
    }

    /// Adds an entry; false when there is no room for it.
    fn report(&mut self, trail: &Trail, folder_text: &str, name: &OsStr, facts: &Facts) -> bool {
        let name_text = name.to_string_lossy().into_owned();
        let mut path = String::with_capacity(folder_text.len() + 1 + name_text.len());
        path.push_str(folder_text);
        path.push('/');
        path.push_str(&name_text);
        let needed = ENTRY_FRAME_BYTES + on_wire(&path) + on_wire(&name_text);
        if self.entries.len() == self.max || self.frame_bytes + needed > FRAME_BUDGET_BYTES {
            self.truncated = true;
            return false;
        }
        self.frame_bytes += needed;
        let kind = kind_through(self.job, trail, name, facts);
        self.entries.push(FileEntry {
            name: name_text,
            path,
            is_file: kind == Kind::File,
            is_dir: kind == Kind::Folder,
            is_symlink: facts.kind == Kind::Link,
            size_bytes: facts.size_bytes,
            mtime: seconds(facts.mtime_ns),
        });
        true
    }

    fn done(&mut self) -> bool {
        self.cancelled |= self.job.cancel.is_cancelled();
        self.truncated || self.cancelled
    }
}

/// The most that a text can need in JSON.
fn on_wire(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        return text.len();
    }
    text.chars()
        .map(
            |c| {
                if c.is_ascii() && !c.is_control() {
                    1 + usize::from(matches!(c, '"' | '\\'))
                } else {
                    6 * c.len_utf16()
                }
            },
        )
        .sum()
}
