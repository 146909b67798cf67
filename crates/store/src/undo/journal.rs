//! The journal of the undo store: one JSON object a line, each durable before it counts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use drawbridge_core::{IoReason, SessionId, WallMs};
use drawbridge_os::root::{Facts, Folder, Overwrite, PathFault, Pending, Root, Spot, Stamp};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{UndoEntry, UndoKind};

pub(super) const JOURNAL: &str = "journal.jsonl";
/// A journal is not written anew for fewer lines than these.
const SPARE_LINES: usize = if cfg!(test) { 128 } else { 4096 };

/// No journal of ours gets near this.
const LAST_NUMBER: u64 = 1 << 53;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The state of an entry from here on.
    Entry(Box<Entry>),
    /// The entry is no more.
    Gone {
        /// Which.
        number: u64,
        /// The number that the next entry gets.
        next: u64,
    },
}

/// What the entry takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Created,
    Replaced,
    Deleted,
    Moved,
}

/// How far a change got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Kept; whether the change happened is not known.
    Begun,
    /// The change happened.
    Done,
    /// It was taken back.
    Restored,
}

/// A place below a root: names as base64, since they need not be text, and the path as text for people.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) names_base64: Vec<String>,
    pub(super) text: String,
}

/// A former state of a file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Former {
    mode: u32,
    uid: u32,
    gid: u32,
    atime_ns: i64,
    mtime_ns: i64,
    /// 0 when it is not known.
    #[serde(default)]
    inode: u64,
}

/// What a change left in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Left {
    pub(super) inode: u64,
    size_bytes: u64,
    mtime_ns: i64,
}

/// An entry as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) at_ms: i64,
    pub(super) session: Option<String>,
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) root: String,
    pub(super) root_device: u64,
    pub(super) root_inode: String,
    pub(super) at: Place,
    #[serde(default)]
    pub(super) to: Option<Place>,
    pub(super) bytes: u64,
    #[serde(default)]
    pub(super) former: Option<Former>,
    #[serde(default)]
    pub(super) left: Option<Left>,
    /// The name in its own folder under which a deleted thing waits while it is copied from another file system.
    #[serde(default)]
    pub(super) parked: Option<String>,
    /// So many folders above a new file were made for it.
    #[serde(default)]
    pub(super) made_folders: usize,
    /// What a move replaced was an empty folder: `former` speaks of that.
    #[serde(default)]
    pub(super) former_folder: bool,
    /// What a move replaced was a link to this, as base64.
    #[serde(default)]
    pub(super) former_link: Option<String>,
}

impl Entry {
    pub(super) fn new(
        number: u64,
        at_ms: i64,
        session: Option<&SessionId>,
        root: &Root,
        at: &Spot,
        kind: Kind,
    ) -> Self {
        Self {
            number,
            at_ms,
            session: session.map(|session| session.as_str().to_owned()),
            kind,
            state: State::Begun,
            root: root.path().to_owned(),
            root_device: root.identity().device,
            root_inode: root.identity().inode.to_string(),
            at: Place::of(root, at),
            to: None,
            bytes: 0,
            former: None,
            left: None,
            parked: None,
            made_folders: 0,
            former_folder: false,
            former_link: None,
        }
    }

    pub(super) fn shown(&self) -> UndoEntry {
        UndoEntry {
            number: self.number,
            at: WallMs(self.at_ms),
            session: self.session.clone(),
            kind: match self.kind {
                Kind::Created => UndoKind::Created,
                Kind::Replaced => UndoKind::Replaced,
                Kind::Deleted => UndoKind::Deleted,
                Kind::Moved => UndoKind::Moved,
            },
            path: self.at.text.clone(),
            moved_to: self.to.as_ref().map(|to| to.text.clone()),
            bytes: self.bytes,
            restored: self.state == State::Restored,
        }
    }

    pub(super) fn is_of(&self, root: &Root) -> bool {
        let identity = root.identity();
        identity.device == self.root_device && identity.inode.to_string() == self.root_inode
    }
}

impl Place {
    pub(super) fn of(root: &Root, spot: &Spot) -> Self {
        let mut names: Vec<String> = spot.trail.names().map(tag).collect();
        names.push(tag(&spot.name));
        Self { names_base64: names, text: root.text_of(&spot.trail, &spot.name) }
    }
}

impl From<&Facts> for Former {
    fn from(facts: &Facts) -> Self {
        let ns = |value: i128| i64::try_from(value).unwrap_or(0);
        let (atime_ns, mtime_ns) = (ns(facts.atime_ns), ns(facts.mtime_ns));
        let (mode, uid, gid, inode) = (facts.mode, facts.uid, facts.gid, facts.inode);
        Self { mode, uid, gid, atime_ns, mtime_ns, inode }
    }
}

impl Former {
    /// Returns what a change had left that led to this state; none when its identity is not known.
    pub(super) fn left(self, size_bytes: u64) -> Option<Left> {
        (self.inode != 0).then_some(Left { inode: self.inode, size_bytes, mtime_ns: self.mtime_ns })
    }

    /// Puts the former state over the facts of a file that exists.
    pub(super) fn over(self, facts: Facts) -> Facts {
        Facts {
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            atime_ns: i128::from(self.atime_ns),
            mtime_ns: i128::from(self.mtime_ns),
            ..facts
        }
    }
}

impl From<Stamp> for Left {
    fn from(stamp: Stamp) -> Self {
        let mtime_ns = i64::try_from(stamp.mtime_ns).unwrap_or(0);
        Self { inode: stamp.inode, size_bytes: stamp.size_bytes, mtime_ns }
    }
}

/// A name as it is stored.
pub(super) fn tag(name: &OsStr) -> String {
    BASE64.encode(name.as_bytes())
}

/// The names of a place. A name that no folder can hold is a damaged line.
pub(super) fn names_of(place: &Place) -> Result<Vec<OsString>, PathFault> {
    place.names_base64.iter().map(|text| untag(text)).collect()
}

pub(super) fn untag(text: &str) -> Result<OsString, PathFault> {
    let name = untag_link(text)?;
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.contains(&b'/') || bytes.contains(&0) || matches!(bytes, b"." | b"..") {
        return Err(damaged());
    }
    Ok(name)
}

/// What a link points to, which need not be a name.
pub(super) fn untag_link(text: &str) -> Result<OsString, PathFault> {
    Ok(OsString::from_vec(BASE64.decode(text).map_err(|_| damaged())?))
}

fn damaged() -> PathFault {
    PathFault::file(IoReason::Io, "the journal of the undo store is damaged")
}

/// What stands in the journal.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) entries: BTreeMap<u64, Entry>,
    /// Above every number that a readable line names.
    pub(super) next: u64,
    /// Whole lines that were understood.
    pub(super) lines: usize,
    /// Why it cannot be relied on: what it does not name may still be wanted.
    pub(super) fault: Option<&'static str>,
    /// As it is on the disk.
    pub(super) text: Vec<u8>,
}

/// Reads the journal. Only the end of a last line may be missing, as after a crash; everything else that is not
/// understood is a fault, since it may be the work of a newer version or a damaged disk.
pub(super) fn read(folder: &Folder) -> Result<Contents, PathFault> {
    let mut text = Vec::new();
    match folder.open_file(OsStr::new(JOURNAL)) {
        Ok((mut file, _)) => file.read_to_end(&mut text).map_err(|fault| PathFault::from_io(&fault))?,
        Err(PathFault::NotFound) => 0,
        Err(fault) => return Err(fault),
    };
    let mut found = Contents { entries: BTreeMap::new(), next: 1, lines: 0, fault: None, text: Vec::new() };
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let whole = line.last() == Some(&b'\n');
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(line) => found.take(line),
            // The start of a JSON object is never one: what can be read as JSON was written to its end.
            Err(fault) if !whole && found.lines > 0 && serde_json::from_slice::<IgnoredAny>(line).is_err() => {
                tracing::warn!(%fault, "the torn end of the undo journal was cut off");
            }
            Err(_) => found.fault = Some("it holds a line that this version cannot read"),
        }
    }
    if found.lines == 0 && !text.is_empty() {
        // It is written anew whole or not at all, so that a crash leaves at least one line.
        found.fault = Some("nothing in it can be read");
    }
    found.text = text;
    Ok(found)
}

impl Contents {
    fn take(&mut self, line: Line) {
        let (number, next) = match &line {
            Line::Entry(entry) => (entry.number, 0),
            Line::Gone { number, next } => (*number, *next),
        };
        if number > LAST_NUMBER || next > LAST_NUMBER {
            self.fault = Some("it holds a number that was never given");
            return;
        }
        self.next = self.next.max(number + 1).max(next);
        self.lines += 1;
        match line {
            Line::Entry(entry) => drop(self.entries.insert(number, *entry)),
            Line::Gone { .. } => drop(self.entries.remove(&number)),
        }
    }
}

/// The journal, open for adding lines.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    lines: usize,
}

impl Journal {
    /// Replaces the journal by one line for each entry that is left.
    pub(super) fn rewrite(folder: &Folder, entries: &BTreeMap<u64, Entry>, next: u64) -> Result<Self, PathFault> {
        let mut text = encode(&Line::Gone { number: 0, next })?;
        for entry in entries.values() {
            text.extend(encode(&Line::Entry(Box::new(entry.clone())))?);
        }
        let mut pending = Pending::start(folder, None)?;
        pending.write(&text, &|| false)?;
        pending.make_private()?;
        pending.publish(OsStr::new(JOURNAL), Overwrite::Allowed)?;
        Ok(Self { file: folder.open_own_file(OsStr::new(JOURNAL))?, lines: entries.len() + 1 })
    }

    /// Tells whether most lines speak of states that are over.
    pub(super) fn is_stale(&self, entries: usize) -> bool {
        self.lines > SPARE_LINES + entries.saturating_mul(4)
    }

    pub(super) fn append(&mut self, line: &Line) -> Result<(), PathFault> {
        let text = encode(line)?;
        let before = self.file.metadata().map_err(|fault| PathFault::from_io(&fault))?.len();
        self.lines += 1;
        let written = self.file.write_all(&text).and_then(|()| self.file.sync_data());
        written.map_err(|fault| {
            // Half a line would swallow the next one.
            let _ = self.file.set_len(before);
            PathFault::from_io(&fault)
        })
    }
}

fn encode(line: &Line) -> Result<Vec<u8>, PathFault> {
    let mut text = serde_json::to_vec(line).map_err(|fault| PathFault::file(IoReason::Io, &fault.to_string()))?;
    text.push(b'\n');
    Ok(text)
}
