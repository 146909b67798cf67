//! A journal that cannot be read: everything it may speak of is moved out of the way, nothing is removed.
//!
//! A damaged journal, or one of a newer version, does not say which kept files are still wanted. So both stay, under
//! names that nothing here ever touches again, and the store starts anew. Getting anything back out of them is for a
//! person, or for the version that wrote them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use drawbridge_core::IoReason;
use drawbridge_os::root::{Folder, Overwrite, PathFault, Pending, RenameFault};

use super::KEPT;
use super::journal::{Contents, JOURNAL};

const MARK: &str = ".broken-";
/// New numbers start at least at the next multiple of this: entries without content left no trace to count from.
const GAP: u64 = 1_000_000;

/// What a store starts anew with.
pub(super) struct Fresh {
    pub(super) kept: Folder,
    pub(super) next: u64,
    /// What to show a person.
    pub(super) path: PathBuf,
}

/// Sets the journal and what was kept aside. The journal itself stays in place until the fresh one replaces it, so that
/// a crash in between is found as one more broken journal.
pub(super) fn set_aside(
    dir: &Path,
    folder: &Folder,
    kept: Folder,
    found: &Contents,
    why: &str,
) -> Result<Fresh, PathFault> {
    let next = first_free(folder, &kept, found.next)?.max(GAP + 1);
    let (journal, content) = free_names(folder)?;
    let mut path = dir.join(&content);
    if !found.text.is_empty() {
        let mut pending = Pending::start(folder, None)?;
        pending.write(&found.text, &|| false)?;
        pending.make_private()?;
        pending.publish(&journal, Overwrite::Never)?;
        path = dir.join(&journal);
    }
    let kept = if kept.is_empty()? {
        kept
    } else {
        let moved = folder.rename(OsStr::new(KEPT), folder, &content, Overwrite::Never);
        moved.map_err(RenameFault::into_path_fault)?;
        Folder::open_private(&dir.join(KEPT))?
    };
    folder.sync()?;
    tracing::warn!(
        why,
        set_aside = %path.display(),
        "the undo journal cannot be used; it and what was kept were set aside, nothing was removed, and undo starts empty"
    );
    Ok(Fresh { kept, next, path })
}

/// Returns a number above `next` and above those of everything that is kept or was set aside.
pub(super) fn first_free(folder: &Folder, kept: &Folder, next: u64) -> Result<u64, PathFault> {
    let mut highest = highest_in(kept)?;
    let mut any = highest > 0;
    let mut aside = Vec::new();
    folder.for_each(|name, _| {
        let text = name.to_string_lossy();
        any |= text.contains(MARK);
        if text.strip_prefix(KEPT).is_some_and(|rest| rest.starts_with(MARK)) {
            aside.push(name.to_os_string());
        }
        Ok(())
    })?;
    for name in aside {
        highest = highest.max(highest_in(&folder.child(&name)?)?);
    }
    if !any {
        return Ok(next);
    }
    Ok((next.max(highest) / GAP + 1) * GAP + 1)
}

/// Returns the highest number that names something in a folder of kept things, also something half done.
fn highest_in(kept: &Folder) -> Result<u64, PathFault> {
    let mut highest = 0;
    kept.for_each(|name, _| {
        let text = name.to_string_lossy();
        let digits = text.split('.').next().unwrap_or_default();
        // A name that is longer than any of ours is a stranger's.
        highest = highest.max(digits.parse().ok().filter(|number| *number < 1 << 53).unwrap_or(0));
        Ok(())
    })?;
    Ok(highest)
}

/// Returns the first pair of names of which neither is taken.
fn free_names(folder: &Folder) -> Result<(OsString, OsString), PathFault> {
    for number in 1..=u32::MAX {
        let journal = OsString::from(format!("{JOURNAL}{MARK}{number}"));
        let content = OsString::from(format!("{KEPT}{MARK}{number}"));
        if !folder.exists(&journal)? && !folder.exists(&content)? {
            return Ok((journal, content));
        }
    }
    Err(PathFault::file(IoReason::Io, "too many undo journals were set aside"))
}
