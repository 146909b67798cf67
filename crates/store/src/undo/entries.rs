//! The entries in memory, and how many changes of each chat can still be taken back, counted as they come and go.

use std::collections::BTreeMap;

use super::journal::{Entry, Kind, Left, State};

/// How many changes can be taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UndoCounts {
    /// New files.
    pub created: u64,
    /// Files with new content.
    pub replaced: u64,
    /// Things moved.
    pub moved: u64,
    /// Things deleted.
    pub deleted: u64,
}

/// The entries by number.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: BTreeMap<u64, Entry>,
    /// Of chats with at least one change that can be taken back.
    counts: BTreeMap<String, UndoCounts>,
}

impl Entries {
    pub(super) fn new(all: BTreeMap<u64, Entry>) -> Self {
        let mut entries = Self { all, counts: BTreeMap::new() };
        let counted: Vec<(Option<String>, Kind)> = entries
            .all
            .values()
            .filter(|entry| counts(entry))
            .map(|entry| (entry.session.clone(), entry.kind))
            .collect();
        for (session, kind) in counted {
            entries.count(session.as_deref(), kind, 1);
        }
        entries
    }

    pub(super) const fn all(&self) -> &BTreeMap<u64, Entry> {
        &self.all
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        if counts(&entry) {
            self.count(entry.session.as_deref(), entry.kind, 1);
        }
        if let Some(before) = self.all.insert(entry.number, entry).filter(counts) {
            self.count(before.session.as_deref(), before.kind, -1);
        }
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(gone) = self.all.remove(&number).filter(counts) {
            self.count(gone.session.as_deref(), gone.kind, -1);
        }
    }

    pub(super) fn counts_of(&self, session: &str) -> UndoCounts {
        self.counts.get(session).copied().unwrap_or_default()
    }

    /// Returns the changes before one that left a file in exactly this state: the last write of it, and moves since.
    pub(super) fn that_left(&self, after: &Entry, left: Left) -> Vec<Entry> {
        let before = self.all.range(..after.number).map(|(_, entry)| entry);
        let same_device = before.filter(|entry| entry.root_device == after.root_device);
        same_device.filter(|entry| entry.state == State::Done && entry.left == Some(left)).cloned().collect()
    }

    fn count(&mut self, session: Option<&str>, kind: Kind, by: i64) {
        let Some(session) = session else { return };
        if !self.counts.contains_key(session) {
            self.counts.insert(session.to_owned(), UndoCounts::default());
        }
        let Some(counts) = self.counts.get_mut(session) else { return };
        let field = match kind {
            Kind::Created => &mut counts.created,
            Kind::Replaced => &mut counts.replaced,
            Kind::Deleted => &mut counts.deleted,
            Kind::Moved => &mut counts.moved,
        };
        *field = field.saturating_add_signed(by);
        if *counts == UndoCounts::default() {
            self.counts.remove(session);
        }
    }
}

fn counts(entry: &Entry) -> bool {
    entry.state != State::Restored
}
