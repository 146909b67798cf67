//! Writing, deleting and moving (spec 8), each with its former state kept first.

use drawbridge_core::{ChangeFacts, IoReason, OpError, Outcome, RefusalReason};
use drawbridge_os::root::{
    Change, Facts, Found, Kind, Last, Overwrite, PathFault, Pending, Reached, RenameFault, Replaced, Spot, Stamp,
    copy_tree, remove_tree, survey,
};

use super::Job;

/// Why a step ended: a fault of a path, or a cancel.
enum Stop {
    Path(PathFault),
    Cancelled,
}

impl From<PathFault> for Stop {
    fn from(fault: PathFault) -> Self {
        Self::Path(fault)
    }
}

impl Job {
    pub(super) fn write(&self, path: &str, content: &[u8], create_parents: bool) -> Result<Outcome, OpError> {
        let attempted_bytes = content.len() as u64;
        let max_bytes = self.limits.max_file_size_bytes;
        if attempted_bytes > max_bytes {
            return Err(OpError::TooLarge { what: "the content", max_bytes, attempted_bytes });
        }
        self.told("write", path, self.write_whole(path, content, create_parents))
    }

    pub(super) fn delete(&self, path: &str, recursive: bool, missing_ok: bool) -> Result<Outcome, OpError> {
        match self.told("delete", path, self.take_away(path, recursive)) {
            Err(OpError::NotFound { .. }) if missing_ok => Ok(Outcome::Done),
            other => other,
        }
    }

    pub(super) fn rename(&self, src: &str, dst: &str, overwrite: bool) -> Result<Outcome, OpError> {
        let from = self.entry(src).map_err(|fault| self.fault("move", src, fault))?;
        let (from, facts) = from.ok_or_else(|| OpError::NotFound { path: src.to_owned() })?;
        self.told("move to", dst, self.move_to(&from, &facts, dst, overwrite))
    }

    fn told(&self, action: &'static str, path: &str, result: Result<Outcome, Stop>) -> Result<Outcome, OpError> {
        result.map_err(|stop| match stop {
            Stop::Path(fault) => self.fault(action, path, fault),
            Stop::Cancelled => OpError::Cancelled,
        })
    }

    fn write_whole(&self, path: &str, content: &[u8], create_parents: bool) -> Result<Outcome, Stop> {
        match self.root.walk(path, Last::Follow)? {
            Reached::Found(Found { at: Some(at), facts, .. }) if facts.kind != Kind::Folder => {
                self.replace(&at, content)
            }
            Reached::Found(_) => Err(PathFault::file(IoReason::IsDirectory, "it is a folder").into()),
            Reached::Missing(missing) => {
                if missing.dangling {
                    return Err(PathFault::NotFound.into());
                }
                if missing.blocked {
                    return Err(
                        PathFault::file(IoReason::NotDirectory, "a file stands where a folder is needed").into()
                    );
                }
                let (at, made) = if create_parents {
                    self.root.make_parents(missing)?
                } else if missing.rest.is_empty() {
                    (missing.at, 0)
                } else {
                    return Err(PathFault::NotFound.into());
                };
                let created = self.create(&at, made, content);
                if created.is_err() {
                    self.root.remove_made(&at.trail, made);
                }
                created
            }
        }
    }

    fn create(&self, at: &Spot, made_folders: usize, content: &[u8]) -> Result<Outcome, Stop> {
        self.as_seen(None)?;
        let pending = self.fill(Pending::start(at.folder(), None)?, content)?;
        let number = self.keep(&Change::Create { root: &self.root, at, made_folders })?;
        // Something that took the name meanwhile was not kept, so it is not replaced.
        let published = self.check_cancel().and_then(|()| {
            pending.publish(&at.name, Overwrite::Never).map_err(|fault| match fault {
                PathFault::Exists => changed_meanwhile().into(),
                other @ (PathFault::Refused(_)
                | PathFault::BadPath(_)
                | PathFault::ReservedName
                | PathFault::NotFound
                | PathFault::NotEmpty
                | PathFault::File { .. }) => Stop::Path(other),
            })
        });
        let left = self.kept(number, published)?;
        self.undo.changed(number, Some(Stamp::from(&left)));
        Ok(Outcome::Changed(ChangeFacts { link_broken: false, undo: Some(number) }))
    }

    fn replace(&self, at: &Spot, content: &[u8]) -> Result<Outcome, Stop> {
        at.folder().check_writable(&at.name)?;
        let (former, facts) = at.folder().open_file(&at.name)?;
        self.as_seen(Some(Stamp::from(&facts)))?;
        let pending = self.fill(Pending::start(at.folder(), Some(&facts))?, content)?;
        pending.dress_like(&former, &facts)?;
        let number = self.keep(&Change::Replace { root: &self.root, at, former: &former })?;
        let published = self.unchanged(at, &facts).and_then(|()| Ok(pending.publish(&at.name, Overwrite::Allowed)?));
        let left = self.kept(number, published)?;
        self.undo.changed(number, Some(Stamp::from(&left)));
        Ok(Outcome::Changed(ChangeFacts { link_broken: facts.links > 1, undo: Some(number) }))
    }

    /// Refuses when the person was asked about something else than what is there.
    fn as_seen(&self, now: Option<Stamp>) -> Result<(), PathFault> {
        if self.seen.is_none_or(|seen| seen == now) { Ok(()) } else { Err(changed_meanwhile()) }
    }

    fn fill(&self, mut pending: Pending, content: &[u8]) -> Result<Pending, Stop> {
        pending.write(content, &|| self.cancel.is_cancelled())?.ok_or(Stop::Cancelled)?;
        Ok(pending)
    }

    fn take_away(&self, path: &str, recursive: bool) -> Result<Outcome, Stop> {
        let (at, facts) = self.entry(path)?.ok_or(PathFault::NotFound)?;
        if facts.kind == Kind::Folder {
            let inside = at.folder().child(&at.name)?;
            if !recursive && !inside.is_empty()? {
                return Err(PathFault::NotEmpty.into());
            }
            survey(&self.root, &at)?;
        }
        let number = self.keep(&Change::Delete { root: &self.root, at: &at })?;
        self.undo.changed(number, None);
        Ok(Outcome::Changed(ChangeFacts { link_broken: false, undo: Some(number) }))
    }

    fn move_to(&self, from: &Spot, facts: &Facts, dst: &str, overwrite: bool) -> Result<Outcome, Stop> {
        if facts.kind == Kind::Folder && self.root.holds_protected(&from.folder().child(&from.name)?) {
            return Err(PathFault::Refused(RefusalReason::Protected).into());
        }
        let (to, there) = self.target(dst)?;
        if from.same_as(&to) {
            return Ok(Outcome::Done);
        }
        let Some(there) = there else {
            return self.carry(from, facts, &to, None, Overwrite::Never);
        };
        if there.same_as(facts) {
            // Two names of one file, or one name in another case on a file system that does not mind.
            if facts.links > 1 {
                return Ok(Outcome::Done);
            }
            return self.carry(from, facts, &to, None, Overwrite::Allowed);
        }
        if !overwrite {
            return Err(PathFault::Exists.into());
        }
        match (facts.kind == Kind::Folder, there.kind) {
            (true, Kind::Folder) => {
                if !to.folder().child(&to.name)?.is_empty()? {
                    return Err(PathFault::NotEmpty.into());
                }
                self.carry(from, facts, &to, Some((Replaced::EmptyFolder(&there), &there)), Overwrite::Allowed)
            }
            (true, _) => Err(PathFault::file(IoReason::NotDirectory, "the target is not a folder").into()),
            (false, Kind::Folder) => Err(PathFault::file(IoReason::IsDirectory, "the target is a folder").into()),
            (false, Kind::File) => {
                let (replaced, replaced_facts) = to.folder().open_file(&to.name)?;
                self.carry(from, facts, &to, Some((Replaced::File(&replaced), &replaced_facts)), Overwrite::Allowed)
            }
            (false, Kind::Link) => {
                let target = to.folder().read_link(&to.name)?;
                self.carry(from, facts, &to, Some((Replaced::Link(&target), &there)), Overwrite::Allowed)
            }
            // It could not be brought back together with the move; it can be deleted first, which keeps it.
            (false, Kind::Other) => {
                Err(PathFault::file(IoReason::NotRegularFile, "the target is a pipe, socket or device").into())
            }
        }
    }

    /// Renames, or copies and removes where a rename cannot reach.
    fn carry(
        &self,
        from: &Spot,
        facts: &Facts,
        to: &Spot,
        replaced: Option<(Replaced<'_>, &Facts)>,
        overwrite: Overwrite,
    ) -> Result<Outcome, Stop> {
        self.check_cancel()?;
        let change = Change::Move { root: &self.root, from, to, replaced: replaced.map(|(what, _)| what) };
        let number = self.keep(&change)?;
        let moved = self.same(from, facts).and_then(|()| {
            if let Some((_, replaced)) = replaced {
                self.unchanged(to, replaced)?;
            }
            match from.folder().rename(&from.name, to.folder(), &to.name, overwrite) {
                Ok(()) => Ok(()),
                Err(RenameFault::OtherDevice) => self.carry_by_copy(from, to, overwrite),
                Err(RenameFault::Path(fault)) => Err(fault.into()),
            }
        });
        self.kept(number, moved)?;
        // The move has happened: a folder that cannot be synced is no reason to say otherwise.
        let _ = to.folder().sync();
        let _ = from.folder().sync();
        let left = to.facts().ok();
        self.undo.changed(number, left.as_ref().map(Stamp::from));
        let link_broken = replaced.is_some_and(|(_, facts)| facts.kind == Kind::File && facts.links > 1);
        Ok(Outcome::Changed(ChangeFacts { link_broken, undo: Some(number) }))
    }

    fn carry_by_copy(&self, from: &Spot, to: &Spot, overwrite: Overwrite) -> Result<(), Stop> {
        survey(&self.root, from)?;
        let name = drawbridge_os::root::temporary_name()?;
        let cancelled = || self.cancel.is_cancelled();
        let copied = copy_tree(from.folder(), &from.name, to.folder(), &name, &cancelled)
            .map_err(Stop::from)
            .and_then(|done| done.ok_or(Stop::Cancelled))
            .and_then(|()| {
                let renamed = to.folder().rename(&name, to.folder(), &to.name, overwrite);
                renamed.map_err(|fault| fault.into_path_fault().into())
            });
        if let Err(stop) = copied {
            let _ = remove_tree(to.folder(), &name);
            return Err(stop);
        }
        to.folder().sync()?;
        Ok(remove_tree(from.folder(), &from.name)?)
    }

    /// The entry that a path names, links not followed; none when nothing is there.
    fn entry(&self, path: &str) -> Result<Option<(Spot, Facts)>, PathFault> {
        match self.root.walk(path, Last::Keep)? {
            Reached::Found(Found { at: Some(at), facts, .. }) => Ok(Some((at, facts))),
            Reached::Found(Found { at: None, .. }) => Err(PathFault::Refused(RefusalReason::RootItself)),
            Reached::Missing(_) => Ok(None),
        }
    }

    /// Where something is to be moved, and what stands there.
    fn target(&self, path: &str) -> Result<(Spot, Option<Facts>), PathFault> {
        match self.root.walk(path, Last::Keep)? {
            Reached::Found(Found { at: Some(at), facts, .. }) => Ok((at, Some(facts))),
            Reached::Found(Found { at: None, .. }) => Err(PathFault::Refused(RefusalReason::RootItself)),
            Reached::Missing(missing) if missing.rest.is_empty() && !missing.blocked && !missing.dangling => {
                Ok((missing.at, None))
            }
            Reached::Missing(_) => Err(PathFault::NotFound),
        }
    }

    fn keep(&self, change: &Change<'_>) -> Result<u64, Stop> {
        self.check_cancel()?;
        let kept = self.undo.keep(self.session.as_ref(), change, &|| self.cancel.is_cancelled())?;
        kept.ok_or(Stop::Cancelled)
    }

    fn kept<T>(&self, number: u64, result: Result<T, Stop>) -> Result<T, Stop> {
        if result.is_err() {
            self.undo.forget(number);
        }
        result
    }

    /// Checks right before the change that what was kept is what is there.
    fn unchanged(&self, at: &Spot, facts: &Facts) -> Result<(), Stop> {
        self.check_cancel()?;
        let now = at.facts()?;
        if Stamp::from(&now) == Stamp::from(facts) { Ok(()) } else { Err(changed_meanwhile().into()) }
    }

    fn same(&self, at: &Spot, facts: &Facts) -> Result<(), Stop> {
        self.check_cancel()?;
        if at.facts()?.same_as(facts) { Ok(()) } else { Err(changed_meanwhile().into()) }
    }

    fn check_cancel(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

fn changed_meanwhile() -> PathFault {
    PathFault::file(IoReason::ChangedMeanwhile, "it was changed by something else at the same time")
}
