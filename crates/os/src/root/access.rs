//! Words for a change that is about to happen, as the handles of what it touches.

use std::ffi::OsStr;
use std::fs::File;

use super::Root;
use super::folder::Facts;
use super::walk::Spot;

/// What a move takes away at its target.
#[derive(Debug, Clone, Copy)]
pub enum Replaced<'a> {
    /// A file, open for reading.
    File(&'a File),
    /// An empty folder.
    EmptyFolder(&'a Facts),
    /// A symbolic link, by what it points to.
    Link(&'a OsStr),
}

/// A change that can be taken back, right before it happens.
#[derive(Debug)]
pub enum Change<'a> {
    /// A file appears where nothing was.
    Create {
        /// The root.
        root: &'a Root,
        /// The file's place.
        at: &'a Spot,
        /// So many folders right above it were made for it.
        made_folders: usize,
    },
    /// A file gets new content.
    Replace {
        /// The root.
        root: &'a Root,
        /// The file's place.
        at: &'a Spot,
        /// The file, open for reading.
        former: &'a File,
    },
    /// A file, link or folder goes away. Whoever keeps it takes it over: after that it is no longer in its place.
    Delete {
        /// The root.
        root: &'a Root,
        /// Its place.
        at: &'a Spot,
    },
    /// Something is renamed.
    Move {
        /// The root.
        root: &'a Root,
        /// From here.
        from: &'a Spot,
        /// To here.
        to: &'a Spot,
        /// What stands at the target and goes away.
        replaced: Option<Replaced<'a>>,
    },
}

/// Tells one state of a file, link or folder from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The inode.
    pub inode: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime_ns: i128,
}

impl From<&Facts> for Stamp {
    fn from(facts: &Facts) -> Self {
        Self { inode: facts.inode, size_bytes: facts.size_bytes, mtime_ns: facts.mtime_ns }
    }
}
