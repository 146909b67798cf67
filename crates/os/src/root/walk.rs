//! The walk: from a path text to a handle and a name, one component at a time (spec 7.3).
//!
//! Each component is opened below the handle of its parent without being followed; links are read and walked by this
//! module, so that `..` and absolute targets can never pass the root handle.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use drawbridge_core::{BadPathReason, IoReason, RefusalReason};

use super::fault::PathFault;
use super::folder::{Facts, Folder, Kind};
use super::lexical::{Component, below_spelling, components, shape};
use super::{Root, lexical::Rules};

/// So many links are followed in one walk.
const LINK_LIMIT: usize = 40;

/// What to do with a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Go where it points.
    Follow,
    /// Stay at the link itself.
    Keep,
}

/// The handles from the root to a folder below it, each with its name. Empty stands for the root. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Trail {
    root: Folder,
    levels: Vec<(OsString, Folder)>,
}

impl Trail {
    fn at(root: &Root) -> Self {
        Self { root: root.folder.clone(), levels: Vec::new() }
    }

    /// Returns the folder at the end.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        self.levels.last().map_or(&self.root, |(_, folder)| folder)
    }

    /// Returns the names from the root down.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.levels.iter().map(|(name, _)| name.as_os_str())
    }

    /// Returns how deep below the root this is.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Goes down into a folder that was opened from the end of this trail.
    pub fn push(&mut self, name: OsString, folder: Folder) {
        self.levels.push((name, folder));
    }

    /// Goes up one level. Does nothing at the root.
    pub fn pop(&mut self) {
        self.levels.pop();
    }
}

/// A name in a folder below the root, the root's own entry never.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The folder.
    pub trail: Trail,
    /// The name in it.
    pub name: OsString,
}

impl Spot {
    /// Returns the folder that holds the name.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        self.trail.folder()
    }

    /// Returns the facts of the entry, a link's own where it is one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn facts(&self) -> Result<Facts, PathFault> {
        self.folder().facts(&self.name)
    }

    /// Tells whether both are the same name in the same folder.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.name == other.name
            && match (self.folder().facts_here(), other.folder().facts_here()) {
                (Ok(mine), Ok(theirs)) => mine.same_as(&theirs),
                _ => false,
            }
    }
}

/// Something that exists.
#[derive(Debug)]
pub struct Found {
    /// Where; none for the root itself.
    pub at: Option<Spot>,
    /// Its facts.
    pub facts: Facts,
    /// The trail into it, if it is a folder (never through a link at the end with [`Last::Keep`]).
    pub inside: Option<Trail>,
    /// The path named a link, which was followed.
    pub through_link: bool,
}

/// The place of something that does not exist.
#[derive(Debug)]
pub struct Missing {
    /// The deepest folder that exists, and the first name missing in it.
    pub at: Spot,
    /// What follows after that name.
    pub rest: Vec<Component>,
    /// The missing name came from a link: the link dangles.
    pub dangling: bool,
    /// A file stands where a folder would be needed.
    pub blocked: bool,
}

/// Where a walk ended.
#[derive(Debug)]
pub enum Reached {
    /// At something.
    Found(Found),
    /// At nothing.
    Missing(Missing),
}

impl Root {
    /// Walks to a path as a peer wrote it.
    ///
    /// # Errors
    /// [`PathFault::Refused`] when it leads outside, to a protected folder, or when the root is no longer in its place;
    /// [`PathFault::BadPath`] for texts and links that cannot be resolved; else what the file system says.
    pub fn walk(&self, raw: &str, last: Last) -> Result<Reached, PathFault> {
        let text = shape(raw, &self.rules())?;
        if !self.still_in_place() {
            return Err(PathFault::Refused(RefusalReason::RootChanged));
        }
        let pending = if text.starts_with('/') { self.below_root(&text)? } else { components(&text) };
        self.walk_on(Trail::at(self), pending.into(), last)
    }

    /// Walks from a folder on the way to one name in it.
    ///
    /// # Errors
    /// As [`Root::walk`].
    pub fn walk_from(&self, trail: &Trail, name: &OsStr, last: Last) -> Result<Reached, PathFault> {
        self.walk_on(trail.clone(), VecDeque::from([Component::Name(name.to_os_string())]), last)
    }

    /// Walks names from the root without going through any link; for places that were canonical when they were noted.
    ///
    /// # Errors
    /// As [`Root::walk`]; a link on the way is refused as leading outside.
    pub fn walk_names(&self, names: &[OsString]) -> Result<Reached, PathFault> {
        if !self.still_in_place() {
            return Err(PathFault::Refused(RefusalReason::RootChanged));
        }
        let mut trail = Trail::at(self);
        let Some((name, parents)) = names.split_last() else {
            return self.walk_on(trail, VecDeque::new(), Last::Keep);
        };
        for (index, parent) in parents.iter().enumerate() {
            match self.walk_on(trail.clone(), VecDeque::from([Component::Name(parent.clone())]), Last::Keep)? {
                Reached::Found(Found { inside: Some(inside), .. }) => trail = inside,
                Reached::Found(Found { facts, .. }) if facts.kind == Kind::Link => {
                    return Err(PathFault::Refused(RefusalReason::Outside));
                }
                Reached::Found(_) => return Err(PathFault::file(IoReason::NotDirectory, "a parent is not a folder")),
                Reached::Missing(mut missing) => {
                    let left = names.get(index + 1..).unwrap_or_default();
                    missing.rest = left.iter().cloned().map(Component::Name).collect();
                    return Ok(Reached::Missing(missing));
                }
            }
        }
        self.walk_on(trail, VecDeque::from([Component::Name(name.clone())]), Last::Keep)
    }

    /// Makes the folders that are missing on the way, and returns the spot in the last one with the number of folders
    /// made. Nothing is made when the way would lead out of the root through a folder that does not exist yet (spec 7.2),
    /// and nothing stays when one of them cannot be made.
    ///
    /// # Errors
    /// As [`Root::walk`].
    pub fn make_parents(&self, missing: Missing) -> Result<(Spot, usize), PathFault> {
        if missing.blocked {
            return Err(PathFault::file(IoReason::NotDirectory, "a file stands where a folder is needed"));
        }
        if missing.dangling {
            return Err(PathFault::NotFound);
        }
        let mut names = vec![missing.at.name.clone()];
        for part in &missing.rest {
            match part {
                Component::Name(name) => names.push(name.clone()),
                Component::Parent => return Err(missing.way_out()),
            }
        }
        let mut trail = missing.at.trail;
        let last = names.pop().ok_or(PathFault::NotFound)?;
        let mut made = 0;
        for name in names {
            match self.make_one(&mut trail, name) {
                // Only an unbroken run of new folders at the end can be taken away again.
                Ok(new) => made = if new { made + 1 } else { 0 },
                Err(fault) => {
                    self.remove_made(&trail, made);
                    return Err(fault);
                }
            }
        }
        Ok((Spot { trail, name: last }, made))
    }

    /// Removes the last `made` folders of a way again, as far as they are empty. For folders that were made for
    /// something that then did not come.
    pub fn remove_made(&self, trail: &Trail, made: usize) {
        let mut trail = trail.clone();
        for _ in 0..made {
            let Some((name, folder)) = trail.levels.pop() else { return };
            let here = trail.folder().facts(&name).and_then(|now| Ok(now.same_as(&folder.facts_here()?)));
            if here != Ok(true) || trail.folder().remove_folder(&name).is_err() {
                return;
            }
        }
    }

    /// Goes into a folder that is missing; true when it had to be made.
    fn make_one(&self, trail: &mut Trail, name: OsString) -> Result<bool, PathFault> {
        let new = match trail.folder().make_folder(&name, 0o777) {
            Ok(()) => true,
            Err(PathFault::Exists) => false,
            Err(fault) => return Err(fault),
        };
        let entered = trail.folder().child(&name).and_then(|folder| {
            if self.is_protected(&folder.facts_here()?) {
                return Err(PathFault::Refused(RefusalReason::Protected));
            }
            if new {
                trail.folder().sync()?;
            }
            Ok(folder)
        });
        match entered {
            Ok(folder) => {
                trail.push(name, folder);
                Ok(new)
            }
            Err(fault) => {
                if new {
                    let _ = trail.folder().remove_folder(&name);
                }
                Err(fault)
            }
        }
    }

    fn walk_on(&self, mut trail: Trail, mut pending: VecDeque<Component>, last: Last) -> Result<Reached, PathFault> {
        let mut links = 0;
        let mut from_link = 0_usize;
        let mut through_link = false;
        while let Some(step) = pending.pop_front() {
            let of_link = from_link > 0;
            from_link = from_link.saturating_sub(1);
            let name = match step {
                Component::Parent if trail.depth() == 0 => return Err(PathFault::Refused(RefusalReason::Outside)),
                Component::Parent => {
                    trail.pop();
                    continue;
                }
                Component::Name(name) => name,
            };
            let handle = match trail.folder().touch(&name) {
                Ok(handle) => handle,
                Err(rustix::io::Errno::NOENT) => {
                    let at = Spot { trail, name };
                    let missing = Missing { at, rest: pending.into(), dangling: of_link, blocked: false };
                    return missing.checked();
                }
                Err(errno) => return Err(errno.into()),
            };
            let touched = Folder::from_handle(handle);
            let facts = touched.facts_here()?;
            match facts.kind {
                Kind::Link if pending.is_empty() && last == Last::Keep => {
                    return Ok(found(Spot { trail, name }, facts, None, through_link));
                }
                Kind::Link => {
                    links += 1;
                    if links > LINK_LIMIT {
                        return Err(PathFault::BadPath(BadPathReason::Unresolvable));
                    }
                    through_link |= pending.is_empty();
                    let target = touched.read_link(OsStr::new(""))?;
                    let steps = self.link_steps(&target, &mut trail)?;
                    from_link += steps.len();
                    for step in steps.into_iter().rev() {
                        pending.push_front(step);
                    }
                }
                Kind::Folder => {
                    if self.is_protected(&facts) {
                        return Err(PathFault::Refused(RefusalReason::Protected));
                    }
                    trail.push(name, touched);
                }
                Kind::File | Kind::Other if pending.is_empty() => {
                    return Ok(found(Spot { trail, name }, facts, None, through_link));
                }
                Kind::File | Kind::Other => {
                    let at = Spot { trail, name };
                    let missing = Missing { at, rest: pending.into(), dangling: false, blocked: true };
                    return missing.checked();
                }
            }
        }
        self.arrived(trail, through_link)
    }

    /// The walk ended in a folder.
    fn arrived(&self, trail: Trail, through_link: bool) -> Result<Reached, PathFault> {
        let facts = trail.folder().facts_here()?;
        let mut parents = trail.clone();
        let at = parents.levels.pop().map(|(name, _)| Spot { trail: parents, name });
        Ok(Reached::Found(Found { at, facts, inside: Some(trail), through_link }))
    }

    /// Reads the target of a link. An absolute one goes on at the root handle if it names the root.
    fn link_steps(&self, target: &OsStr, trail: &mut Trail) -> Result<Vec<Component>, PathFault> {
        let bytes = target.as_bytes();
        if bytes.starts_with(b"/") {
            let text = target.to_str().ok_or(PathFault::Refused(RefusalReason::Outside))?;
            let steps = self.below_root(text)?;
            *trail = Trail::at(self);
            return Ok(steps);
        }
        let parts = bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
        Ok(parts
            .map(|part| if part == b".." { Component::Parent } else { Component::Name(OsStr::from_bytes(part).into()) })
            .collect())
    }

    /// Finds the root in an absolute path: by its spellings, else by asking which folder on the way *is* the root. This
    /// only picks where the walk starts; the walk decides about everything after it.
    fn below_root(&self, absolute: &str) -> Result<Vec<Component>, PathFault> {
        let Rules { spellings, .. } = self.rules();
        if let Some(steps) = below_spelling(absolute, spellings) {
            return Ok(steps);
        }
        for (end, _) in absolute.match_indices('/').skip(1).chain([(absolute.len(), "")]) {
            let (prefix, rest) = absolute.split_at(end);
            if prefix.ends_with('/') || prefix.ends_with("/..") || prefix.is_empty() {
                continue;
            }
            match self.names_this_root(prefix) {
                Some(true) => return Ok(components(rest)),
                Some(false) => {}
                None => break,
            }
        }
        Err(PathFault::Refused(RefusalReason::Outside))
    }

    /// None when the way ends here.
    fn names_this_root(&self, path: &str) -> Option<bool> {
        let facts = Facts::through_path(path.as_ref()).ok()?;
        (facts.kind == Kind::Folder).then(|| self.is(&facts))
    }
}

impl Missing {
    /// Refuses a way that would leave the root after the missing name, as if that name were a folder.
    fn checked(self) -> Result<Reached, PathFault> {
        match self.way_out() {
            PathFault::Refused(reason) => Err(PathFault::Refused(reason)),
            PathFault::NotFound
            | PathFault::BadPath(_)
            | PathFault::ReservedName
            | PathFault::Exists
            | PathFault::NotEmpty
            | PathFault::File { .. } => Ok(Reached::Missing(self)),
        }
    }

    fn way_out(&self) -> PathFault {
        let mut depth = self.at.trail.depth() + 1;
        for part in &self.rest {
            match part {
                Component::Name(_) => depth += 1,
                Component::Parent if depth == 0 => return PathFault::Refused(RefusalReason::Outside),
                Component::Parent => depth -= 1,
            }
        }
        PathFault::NotFound
    }
}

fn found(at: Spot, facts: Facts, inside: Option<Trail>, through_link: bool) -> Reached {
    Reached::Found(Found { at: Some(at), facts, inside, through_link })
}
