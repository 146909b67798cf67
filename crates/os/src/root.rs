//! The attached folder as a directory handle (DESIGN invariant 2, spec 7.3).
//!
//! A [`Root`] is opened once and every later access starts at its handle. A path of a peer goes through the lexical
//! stage ([`lexical`]) and then through a walk that opens one component at a time without following links
//! ([`Root::walk`]). What comes out is a [`Spot`]: the handle of a folder and one name in it. All operations act on
//! that pair, so what was checked is what is used, also while somebody swaps folders for links.
//!
//! Deliberately absent: any decision by comparing path text, and any way from a path text to a file that does not go
//! through a handle. Whether an operation is allowed at all is decided elsewhere.
//!
//! Linux only for now: the walk needs handles that open nothing (`O_PATH`) and renames that never replace.

mod access;
mod direct;
mod fault;
mod folder;
mod lexical;
mod replace;
mod tree;
mod unnamed;
mod walk;
pub mod windows;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags};

pub use access::{Change, Replaced, Stamp};
pub use direct::read_if_cached;
pub use fault::{PathFault, RootFault};
#[doc(hidden)]
pub use folder::exchange;
pub use folder::{Facts, Folder, Kind, Overwrite, RenameFault};
pub use lexical::{Component, Rules, lexical};
pub use replace::{Pending, copy_contents, temporary_name};
#[doc(hidden)]
pub use replace::{attribute, set_attribute};
pub use tree::{Survey, TREE_DEPTH_LIMIT, copy_tree, remove_own_tree, remove_tree, survey};
pub use walk::{Found, Last, Missing, Reached, Spot, Trail};

/// Which folder this is, as taken from its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectoryIdentity {
    /// The device number.
    pub device: u64,
    /// The inode number; 128 bits wide since some systems need them.
    pub inode: u128,
}

/// What a root is opened with besides its path.
#[derive(Debug, Clone, Default)]
pub struct RootOptions {
    /// Folders of Drawbridge itself, refused wherever they are inside the root. They need not exist yet.
    pub protected: Vec<PathBuf>,
    /// What `~` stands for; none means that `~` is refused as leading outside.
    pub home: Option<PathBuf>,
}

/// A folder that operations are confined to.
#[derive(Debug)]
pub struct Root {
    folder: Folder,
    identity: DirectoryIdentity,
    path: String,
    spellings: Vec<String>,
    home: Option<String>,
    protected: Vec<PathBuf>,
    /// A protected folder is or could come to be inside.
    protects_inside: bool,
    /// What is in memory can be used without waiting.
    never_waits: bool,
}

impl Root {
    /// Opens a folder as a root, with `~` standing for the home of this user and no protected folders.
    ///
    /// # Errors
    /// As [`Root::open_with`].
    pub fn open(path: &Path) -> Result<Self, RootFault> {
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf());
        Self::open_with(path, RootOptions { protected: Vec::new(), home })
    }

    /// Opens a folder as a root: not itself a link, a real folder that this user can read, write and enter, and never
    /// `/`, `/proc`, `/sys` or `/dev` or anything in the latter three. Both the given spelling of the path and the
    /// canonical one are understood later.
    ///
    /// # Errors
    /// [`RootFault`] says which of these does not hold.
    pub fn open_with(path: &Path, options: RootOptions) -> Result<Self, RootFault> {
        if !path.is_absolute() {
            return Err(RootFault::NotAbsolute);
        }
        let trimmed = trim_slashes(path);
        let named = Facts::of_path(&trimmed).map_err(RootFault::from_path_fault)?;
        match named.kind {
            Kind::Link => return Err(RootFault::Link),
            Kind::Folder => {}
            Kind::File | Kind::Other => return Err(RootFault::NotDirectory),
        }
        let canonical = std::fs::canonicalize(&trimmed).map_err(|fault| RootFault::Unusable(fault.to_string()))?;
        if is_kernel_place(&canonical) {
            return Err(RootFault::Forbidden);
        }
        let text = canonical.to_str().ok_or(RootFault::NotUnicode)?.to_owned();
        let folder = Folder::open_ambient(&canonical).map_err(RootFault::from_path_fault)?;
        let facts = folder.facts_here().map_err(RootFault::from_path_fault)?;
        if !facts.same_as(&named) {
            return Err(RootFault::Unusable("it was replaced while it was opened".to_owned()));
        }
        if folder.is_kernel_file_system() {
            return Err(RootFault::Forbidden);
        }
        let access = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(folder.handle(), ".", access, AtFlags::EACCESS).map_err(|_| RootFault::NoAccess)?;
        for own in &options.protected {
            if lies_within(&folder, own) {
                return Err(RootFault::Protected);
            }
        }
        let mut spellings = vec![text.clone()];
        if let Some(typed) = trimmed.to_str()
            && typed != text
        {
            spellings.push(typed.to_owned());
        }
        let identity = DirectoryIdentity { device: facts.device, inode: u128::from(facts.inode) };
        let home = options.home.and_then(|home| home.to_str().map(str::to_owned));
        let protects_inside = options.protected.iter().any(|own| direct::could_be_inside(own, &facts));
        let never_waits = direct::is_local_disk(&folder);
        let protected = options.protected;
        Ok(Self { folder, identity, path: text, spellings, home, protected, protects_inside, never_waits })
    }

    /// Returns device and inode as the handle has them.
    #[must_use]
    pub fn identity(&self) -> DirectoryIdentity {
        self.identity
    }

    /// Returns the canonical path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the handle of the folder itself.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Tells whether the path still names this very folder. [`Root::walk`] asks this by itself.
    #[must_use]
    pub fn still_in_place(&self) -> bool {
        Facts::of_path(Path::new(&self.path)).is_ok_and(|facts| self.is(&facts))
    }

    /// Returns the absolute path text of something in this root.
    #[must_use]
    pub fn text_of(&self, parents: &Trail, name: &std::ffi::OsStr) -> String {
        let mut text = self.text_of_folder(parents);
        text.push('/');
        text.push_str(&name.to_string_lossy());
        text
    }

    /// Returns the absolute path text of a folder in this root.
    #[must_use]
    pub fn text_of_folder(&self, trail: &Trail) -> String {
        let mut text = self.path.clone();
        for part in trail.names() {
            text.push('/');
            text.push_str(&part.to_string_lossy());
        }
        text
    }

    /// Tells whether a folder of this root holds a protected folder somewhere below, or is one.
    #[must_use]
    pub fn holds_protected(&self, folder: &Folder) -> bool {
        let Ok(facts) = folder.facts_here() else { return true };
        self.protected.iter().any(|own| {
            Folder::open_ambient(own).is_ok_and(|start| start.ancestors().iter().any(|above| above.same_as(&facts)))
        })
    }

    fn is_protected(&self, facts: &Facts) -> bool {
        self.protected.iter().any(|own| Facts::through_path(own).is_ok_and(|own| own.same_as(facts)))
    }

    fn is(&self, facts: &Facts) -> bool {
        facts.device == self.identity.device && u128::from(facts.inode) == self.identity.inode
    }

    fn rules(&self) -> Rules<'_> {
        Rules { spellings: &self.spellings, home: self.home.as_deref() }
    }
}

fn trim_slashes(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes.get(..end).unwrap_or(bytes)))
}

fn is_kernel_place(canonical: &Path) -> bool {
    canonical == Path::new("/") || ["/proc", "/sys", "/dev"].iter().any(|place| canonical.starts_with(place))
}

/// Tells whether `folder` is `own` or lies in it.
fn lies_within(folder: &Folder, own: &Path) -> bool {
    Facts::through_path(own).is_ok_and(|own| folder.ancestors().iter().any(|above| above.same_as(&own)))
}

#[cfg(test)]
#[path = "root_tests.rs"]
mod tests;
