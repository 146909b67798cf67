//! Where a described file is: the handle of the root and the names below it, noted once.
//!
//! A file is found as any reading finds it, links that lead inside followed. From then on no link is followed: neither a folder on the way
//! that was swapped for a link nor another folder in the place of the root leads anywhere else.

use std::ffi::OsString;
use std::fs::File;
use std::sync::Arc;

use drawbridge_core::IoReason;
use drawbridge_os::root::{Facts, Found, Last, PathFault, Reached, Root, Spot};

/// The place of a file.
#[derive(Debug)]
pub(super) struct Place {
    root: Arc<Root>,
    /// From the root down, the file's own last; never empty.
    names: Vec<OsString>,
}

impl Place {
    /// Finds a file by a path as the peer wrote it, and opens it.
    ///
    /// # Errors
    /// As any reading of the file.
    pub(super) fn find(root: &Arc<Root>, raw: &str) -> Result<(Self, File, Facts), PathFault> {
        match root.walk(raw, Last::Follow)? {
            Reached::Missing(_) => Err(PathFault::NotFound),
            Reached::Found(Found { at: None, .. }) => Err(PathFault::file(IoReason::IsDirectory, "it is a folder")),
            Reached::Found(Found { at: Some(at), .. }) => {
                let (file, facts) = at.folder().open_file(&at.name)?;
                let names = names_of(&at);
                Ok((Self { root: Arc::clone(root), names }, file, facts))
            }
        }
    }

    /// Opens what is at the place now, if that is a file of its own and no link.
    ///
    /// # Errors
    /// What the file system says; [`PathFault::Refused`] for a link on the way and when the root is no longer in its place.
    pub(super) fn open(&self) -> Result<(File, Facts), PathFault> {
        match self.root.walk_names(&self.names)? {
            Reached::Missing(_) => Err(PathFault::NotFound),
            Reached::Found(Found { at: None, .. }) => Err(PathFault::file(IoReason::IsDirectory, "it is a folder")),
            Reached::Found(Found { at: Some(at), .. }) => at.folder().open_file(&at.name),
        }
    }

    /// Returns the whole path as text.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.root.path(), self.below_root())
    }

    /// Returns the way from the root as text.
    pub(super) fn below_root(&self) -> String {
        let names: Vec<_> = self.names.iter().map(|name| name.to_string_lossy()).collect();
        names.join("/")
    }

    /// Guesses what is in the file by its extension.
    pub(super) fn mime(&self) -> Option<String> {
        self.names.last().and_then(|name| crate::files::mime(name))
    }
}

fn names_of(at: &Spot) -> Vec<OsString> {
    at.trail.names().map(ToOwned::to_owned).chain([at.name.clone()]).collect()
}
