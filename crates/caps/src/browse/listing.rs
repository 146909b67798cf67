//! Reading one folder for the browser: snapshot once, look again at each entry when its page is made.

use std::path::{Path, PathBuf};

use drawbridge_core::OpError;
use drawbridge_os::root::{Folder, Kind, PathFault};

use super::shown::{name_is_fit, path_is_fit};
use super::unavailable;

/// At most so many entries of any kind are looked at.
const SCAN_ENTRIES: usize = 1000;

/// The names of the folders in a folder, in their order, as they were at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) names: Vec<String>,
    pub(super) truncated: bool,
}

impl Snapshot {
    /// Reads a folder.
    pub(super) fn take(path: &Path) -> Result<Self, OpError> {
        let folder = open(path)?;
        let mut names = Vec::new();
        let mut seen = 0_usize;
        let walked = folder.for_each(|name, kind| {
            seen += 1;
            if seen > SCAN_ENTRIES {
                // Ends the walk; told from a real fault by the count.
                return Err(PathFault::Exists);
            }
            if let Some(name) = name.to_str()
                && !matches!(kind, Some(Kind::File | Kind::Link | Kind::Other))
                && is_listed(path, &folder, name)
            {
                names.push(name.to_owned());
            }
            Ok(())
        });
        if let Err(fault) = walked
            && seen <= SCAN_ENTRIES
        {
            return Err(unavailable(&fault.to_string()));
        }
        names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
        Ok(Self { names, truncated: seen > SCAN_ENTRIES })
    }
}

/// Looks again at names of a snapshot, as many as it takes to have `wanted` that are still to be listed.
pub(super) fn still_listed(path: &Path, names: &[String], wanted: usize) -> Result<Vec<(String, bool)>, OpError> {
    let folder = open(path)?;
    let mut out = Vec::new();
    let mut listed = 0;
    for name in names {
        if listed == wanted {
            break;
        }
        let fit = is_listed(path, &folder, name);
        listed += usize::from(fit);
        out.push((name.clone(), fit));
    }
    Ok(out)
}

/// Checks that a path is still what it was when its reference was minted: a real folder, reached without links, that
/// this user can read, write and enter.
pub(super) fn check(path: &Path) -> Result<(), OpError> {
    let folder = open(path)?;
    if folder.is_usable() { Ok(()) } else { Err(unavailable("this user may not read, write and enter it")) }
}

/// Opens a canonical path one component at a time, so that no link on the way is followed.
fn open(path: &Path) -> Result<Folder, OpError> {
    let gone = |fault: PathFault| unavailable(&fault.to_string());
    let mut folder = Folder::open_ambient(Path::new("/")).map_err(gone)?;
    for part in path.components() {
        if let std::path::Component::Normal(name) = part {
            folder = folder.child(name).map_err(gone)?;
        }
    }
    Ok(folder)
}

fn is_listed(path: &Path, folder: &Folder, name: &str) -> bool {
    name_is_fit(name)
        && path.join(name).to_str().is_some_and(path_is_fit)
        && folder.child(std::ffi::OsStr::new(name)).is_ok_and(|child| child.is_usable())
}

/// Tells whether a path is fit to be a root of a browse, and returns it in its canonical form. Reads the disk.
#[must_use]
pub fn usable_root(path: &Path) -> Option<PathBuf> {
    let canonical = std::fs::canonicalize(path).ok()?;
    let text = canonical.to_str()?;
    (path_is_fit(text) && check(&canonical).is_ok()).then_some(canonical)
}
