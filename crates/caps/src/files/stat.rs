//! Telling what is at a path (spec 8, FILE_STAT).

use std::ffi::{OsStr, OsString};

use drawbridge_core::{FileFacts, FileStat, OpError, Outcome};
use drawbridge_os::root::{Component, Facts, Found, Kind, Last, Missing, Reached};

use super::Job;
use crate::RunCtx;

impl Job {
    pub(super) fn stat(&self, path: &str, follow_symlinks: bool) -> Result<Outcome, OpError> {
        let last = if follow_symlinks { Last::Follow } else { Last::Keep };
        let reached = self.root.walk(path, last).map_err(|fault| self.fault("look at", path, fault))?;
        Ok(Outcome::Stat(match reached {
            Reached::Found(found) => self.found(&found),
            Reached::Missing(missing) => FileStat { path: self.would_be(&missing), found: None },
        }))
    }

    fn found(&self, found: &Found) -> FileStat {
        let (path, name) = match &found.at {
            Some(at) => (self.root.text_of(&at.trail, &at.name), Some(at.name.as_os_str())),
            None => (self.root.path().to_owned(), None),
        };
        told(path, name, &found.facts, found.through_link)
    }

    /// The path that something missing would have, `..` taken by text: what does not exist is no link.
    fn would_be(&self, missing: &Missing) -> String {
        let mut names: Vec<String> = missing.at.trail.names().map(|name| name.to_string_lossy().into_owned()).collect();
        names.push(missing.at.name.to_string_lossy().into_owned());
        for part in &missing.rest {
            match part {
                Component::Parent => {
                    names.pop();
                }
                Component::Name(name) => names.push(name.to_string_lossy().into_owned()),
            }
        }
        let mut path = self.root.path().to_owned();
        for name in names {
            path.push('/');
            path.push_str(&name);
        }
        path
    }
}

/// Answers for something that is reached by plain names, without ever waiting for a disk; none in all other cases.
pub(super) fn stat_if_cached(ctx: &RunCtx, path: &str) -> Option<Outcome> {
    let (path, facts) = ctx.root.as_ref()?.look_if_cached(path)?;
    let name = path.rsplit('/').next().map(OsString::from);
    Some(Outcome::Stat(told(path, name.as_deref(), &facts, false)))
}

fn told(path: String, name: Option<&OsStr>, facts: &Facts, through_link: bool) -> FileStat {
    let is_file = facts.kind == Kind::File;
    FileStat {
        path,
        found: Some(FileFacts {
            is_file,
            is_dir: facts.kind == Kind::Folder,
            is_symlink: facts.kind == Kind::Link || through_link,
            size_bytes: facts.size_bytes,
            mtime: seconds(facts.mtime_ns),
            ctime: seconds(facts.ctime_ns),
            mode: facts.mode,
            owner_uid: Some(facts.uid),
            owner_gid: Some(facts.gid),
            mime_type: name.filter(|_| is_file).and_then(mime),
        }),
    }
}

/// Seconds since the epoch with fraction, for the wire.
#[expect(clippy::cast_precision_loss, reason = "the protocol carries floats")]
pub(super) fn seconds(ns: i128) -> f64 {
    ns as f64 / 1e9
}

/// Guesses what is in a file by its extension.
pub(crate) fn mime(name: &OsStr) -> Option<String> {
    mime_guess::from_path(name).first_raw().map(str::to_owned)
}

/// Tells what a listing says about an entry's kind: a link is what it leads to, if that is inside.
pub(super) fn kind_through(job: &Job, trail: &drawbridge_os::root::Trail, name: &OsStr, facts: &Facts) -> Kind {
    if facts.kind != Kind::Link {
        return facts.kind;
    }
    match job.root.walk_from(trail, name, Last::Follow) {
        Ok(Reached::Found(found)) => found.facts.kind,
        Ok(Reached::Missing(_)) | Err(_) => Kind::Link,
    }
}
