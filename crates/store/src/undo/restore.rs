//! Taking a change back. What is newer than the change is kept first, as an entry of its own.

use std::ffi::OsStr;
use std::sync::PoisonError;

use drawbridge_os::root::{
    Change, Facts, Found, Kind, Overwrite, PathFault, Pending, Reached, RenameFault, Root, RootFault, Spot, Stamp,
    copy_contents, copy_tree, remove_tree, temporary_name,
};

use super::journal::{self, Entry, Left, Place, State, untag, untag_link};
use super::{Restored, UndoFault, UndoStore, kept_name, names_of};

impl UndoStore {
    /// Takes one change back. The folder it was made in is opened by `open_root` and must be the very same folder.
    /// Several changes are taken back newest first.
    ///
    /// # Errors
    /// [`UndoFault`]; then nothing was lost, and whatever was moved aside is an entry of its own.
    pub fn restore(
        &self,
        number: u64,
        open_root: &dyn Fn(&str) -> Result<Root, RootFault>,
    ) -> Result<Restored, UndoFault> {
        let _one_at_a_time = self.restoring.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = {
            let mut inner = self.lock();
            let entry = inner.entries.all().get(&number).cloned().ok_or(UndoFault::Unknown(number))?;
            inner.in_use.insert(number);
            entry
        };
        let result = self.restore_entry(&entry, open_root);
        let mut inner = self.lock();
        inner.in_use.remove(&number);
        let saved = result?;
        let mut done = entry.clone();
        (done.state, done.bytes) = (State::Restored, 0);
        self.update(&mut inner, done)?;
        drop(inner);
        self.clear(&[number])?;
        Ok(Restored { path: entry.at.text, saved })
    }

    fn restore_entry(
        &self,
        entry: &Entry,
        open_root: &dyn Fn(&str) -> Result<Root, RootFault>,
    ) -> Result<Vec<u64>, UndoFault> {
        if entry.state == State::Restored {
            return Err(UndoFault::AlreadyRestored(entry.number));
        }
        let root = open_root(&entry.root)?;
        if !entry.is_of(&root) {
            return Err(UndoFault::OtherRoot);
        }
        let mut saved = Vec::new();
        match entry.kind {
            journal::Kind::Created => self.take_back(&root, entry, &mut saved)?,
            journal::Kind::Replaced => self.put_content(&root, &entry.at, entry, &mut saved)?,
            journal::Kind::Deleted => self.put_tree(&root, entry, &mut saved)?,
            journal::Kind::Moved => self.move_back(&root, entry, &mut saved)?,
        }
        Ok(saved)
    }

    /// Removes a file that was new, and the folders made for it as far as they are empty. It is renamed into the store
    /// first and looked at there, so that a change in the last instant is kept, too.
    fn take_back(&self, root: &Root, entry: &Entry, saved: &mut Vec<u64>) -> Result<(), UndoFault> {
        let gone = || UndoFault::Gone(entry.at.text.clone());
        let at = match root.walk_names(&names_of(&entry.at)?)? {
            Reached::Found(Found { at: Some(at), facts, .. }) if facts.kind == Kind::File => at,
            Reached::Found(_) | Reached::Missing(_) => return Err(gone()),
        };
        let number = self.keep_now(&Change::Delete { root, at: &at })?;
        let name = kept_name(number);
        let untouched = self.kept.facts(&name).is_ok_and(|facts| entry.left == Some(Left::from(Stamp::from(&facts))));
        if untouched {
            let mut inner = self.lock();
            Self::drop_entry(&mut inner, number)?;
            drop(inner);
            self.clear(&[number])?;
        } else {
            self.changed(number, None);
            saved.push(number);
        }
        root.remove_made(&at.trail, entry.made_folders);
        Ok(())
    }

    fn keep_now(&self, change: &Change<'_>) -> Result<u64, PathFault> {
        let kept = self.keep(None, change, &|| false)?;
        kept.ok_or_else(|| PathFault::file(drawbridge_core::IoReason::Io, "keeping what is there broke off"))
    }

    fn put_content(&self, root: &Root, place: &Place, entry: &Entry, saved: &mut Vec<u64>) -> Result<(), UndoFault> {
        let (at, there) = reach(root, place)?;
        let mut present = None;
        if let Some(facts) = there {
            if facts.kind == Kind::File {
                let (file, facts) = at.folder().open_file(&at.name)?;
                if entry.left != Some(Left::from(Stamp::from(&facts))) {
                    let number = self.keep_now(&Change::Replace { root, at: &at, former: &file })?;
                    self.changed(number, None);
                    saved.push(number);
                }
                present = Some((file, facts));
            } else {
                self.save_newer(root, &at, saved)?;
            }
        }
        let (kept, facts) = self.kept.open_file(&kept_name(entry.number))?;
        // It starts private: it gets the mode of the former file only at the end.
        let pending = Pending::start(at.folder(), Some(&facts))?;
        copy_contents(&kept, pending.file(), &|| false)?;
        if let Some((file, facts)) = &present {
            pending.dress_like(file, facts)?;
        }
        if let Some(former) = entry.former {
            pending.dress_as(&former.over(facts))?;
        }
        let overwrite = if present.is_some() { Overwrite::Allowed } else { Overwrite::Never };
        let back = pending.publish(&at.name, overwrite)?;
        self.pass_on(entry, &back);
        Ok(())
    }

    /// Tells the changes before, which left the very state that is back now, that it stands in a file of another identity.
    /// Else taking those back, too, would keep this state as if somebody had worked on it since.
    fn pass_on(&self, entry: &Entry, back: &Facts) {
        let Some(left) = entry.former.and_then(|former| former.left(entry.bytes)) else { return };
        let mut inner = self.lock();
        for mut before in inner.entries.that_left(entry, left) {
            before.left = Some(Left::from(Stamp::from(back)));
            // Without this line one state too many is kept, or a move is left alone; nothing is lost.
            let _ = self.update(&mut inner, before);
        }
    }

    fn put_tree(&self, root: &Root, entry: &Entry, saved: &mut Vec<u64>) -> Result<(), UndoFault> {
        let (at, there) = reach(root, &entry.at)?;
        let name = kept_name(entry.number);
        let kept = self.kept.exists(&name)?;
        let parked = entry.parked.as_deref().map(untag).transpose()?;
        if !kept && !parked.as_ref().is_some_and(|parked| at.folder().exists(parked).unwrap_or(false)) {
            return Err(UndoFault::Unknown(entry.number));
        }
        if there.is_some() {
            self.save_newer(root, &at, saved)?;
        }
        match (kept, parked) {
            (false, Some(parked)) => {
                let back = at.folder().rename(&parked, at.folder(), &at.name, Overwrite::Never);
                back.map_err(RenameFault::into_path_fault)?;
            }
            _ => carry(&self.kept, &name, &at)?,
        }
        at.folder().sync()?;
        Ok(())
    }

    fn move_back(&self, root: &Root, entry: &Entry, saved: &mut Vec<u64>) -> Result<(), UndoFault> {
        let Some(to) = &entry.to else { return Err(UndoFault::Unknown(entry.number)) };
        let moved_on = || UndoFault::MovedOn(to.text.clone());
        let (target, there) = reach(root, to)?;
        let facts = there.ok_or_else(moved_on)?;
        if entry.left.is_some_and(|left| left.inode != facts.inode) {
            return Err(moved_on());
        }
        let (source, in_the_way) = reach(root, &entry.at)?;
        if in_the_way.is_some_and(|other| !other.same_as(&facts)) {
            self.save_newer(root, &source, saved)?;
        }
        match target.folder().rename(&target.name, source.folder(), &source.name, Overwrite::Never) {
            Ok(()) => {}
            Err(RenameFault::OtherDevice) => {
                carry(target.folder(), &target.name, &source)?;
                remove_tree(target.folder(), &target.name)?;
            }
            Err(RenameFault::Path(fault)) => return Err(fault.into()),
        }
        source.folder().sync()?;
        target.folder().sync()?;
        if let Some(link) = &entry.former_link {
            free(target.folder().make_link(&target.name, &untag_link(link)?))?;
        } else if let (true, Some(former)) = (entry.former_folder, entry.former) {
            free(target.folder().make_folder_as(&target.name, &former.over(facts)))?;
        } else if entry.former.is_some() {
            self.put_content(root, to, entry, saved)?;
        }
        Ok(())
    }

    /// Takes what stands in the way into an entry of its own.
    fn save_newer(&self, root: &Root, at: &Spot, saved: &mut Vec<u64>) -> Result<(), PathFault> {
        let number = self.keep_now(&Change::Delete { root, at })?;
        self.changed(number, None);
        saved.push(number);
        Ok(())
    }
}

/// Brings a thing to a name that is free, by a rename or by a copy that appears whole. After a copy the source is still
/// there.
fn carry(from: &drawbridge_os::root::Folder, name: &OsStr, to: &Spot) -> Result<(), PathFault> {
    match from.rename(name, to.folder(), &to.name, Overwrite::Never) {
        Ok(()) => Ok(()),
        Err(RenameFault::Path(fault)) => Err(fault),
        Err(RenameFault::OtherDevice) => {
            let part = temporary_name()?;
            let copied = copy_tree(from, name, to.folder(), &part, &|| false).and_then(|_| {
                let renamed = to.folder().rename(&part, to.folder(), &to.name, Overwrite::Never);
                renamed.map_err(RenameFault::into_path_fault)
            });
            if copied.is_err() {
                let _ = remove_tree(to.folder(), &part);
            }
            copied
        }
    }
}

/// What took the name in this instant stays: the move itself is taken back already.
fn free(made: Result<(), PathFault>) -> Result<(), PathFault> {
    if made == Err(PathFault::Exists) { Ok(()) } else { made }
}

/// Goes to a noted place, no link followed, missing folders on the way made again.
fn reach(root: &Root, place: &Place) -> Result<(Spot, Option<Facts>), PathFault> {
    match root.walk_names(&names_of(place)?)? {
        Reached::Found(Found { at: Some(at), facts, .. }) => Ok((at, Some(facts))),
        Reached::Found(Found { at: None, .. }) => Err(PathFault::Refused(drawbridge_core::RefusalReason::RootItself)),
        Reached::Missing(missing) => Ok((root.make_parents(missing)?.0, None)),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests on known lengths")]
#[path = "restore_tests.rs"]
mod tests;
