//! Files and folders that belong to this user alone, and replacing a file whole or not at all.
//!
//! Nothing here decides what is kept; it only keeps it private (mode 0600 and 0700) and safe against a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Makes a folder, and what is missing above it, that only this user can enter. An existing folder is tightened.
///
/// # Errors
/// When it cannot be made, is no folder, or belongs to somebody else.
pub fn create_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let facts = fs::metadata(path)?;
        if facts.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder belongs to another user"));
        }
        if facts.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(path)
}

/// Options that give a new file to this user alone.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
        // A planted link must not lead our writes elsewhere.
        options.custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0));
    }
    options
}

/// Opens a file with these options if it is a regular file, and nothing else: a pipe under its name would keep the
/// caller waiting for ever. The mode of a new one is 0600.
///
/// # Errors
/// The fault of the file system, or one that says what is there instead.
pub fn open_regular(path: &Path, options: &mut OpenOptions, access: Links) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = match access {
            Links::Followed => rustix::fs::OFlags::NONBLOCK,
            Links::Refused => rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW,
        };
        options.mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    #[cfg(not(unix))]
    let _ = access;
    match options.open(path) {
        Ok(file) => {
            if file.metadata()?.is_file() {
                Ok(file)
            } else {
                Err(not_regular(path))
            }
        }
        // A socket, or a pipe that nobody reads, gives words that say nothing to a person.
        Err(_) if fs::metadata(path).is_ok_and(|facts| !facts.is_file()) => Err(not_regular(path)),
        Err(error) => Err(error),
    }
}

/// The largest file of ours that is read whole. A larger one under its name is not ours.
const READ_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a small file of ours whole. Never waits for what only has its name, a pipe or a device, and never follows a link.
///
/// # Errors
/// The fault of the file system, or one that says what is there instead.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let file = open_regular(path, OpenOptions::new().read(true), Links::Refused)?;
    let size = file.metadata()?.len();
    let too_large = || io::Error::new(io::ErrorKind::InvalidData, "it is far larger than Drawbridge ever writes it");
    if size > READ_LIMIT_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(READ_LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > READ_LIMIT_BYTES {
        return Err(too_large());
    }
    Ok(bytes)
}

fn not_regular(path: &Path) -> io::Error {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{name} is not a regular file but a pipe, socket, device or folder; move it away"),
    )
}

/// What [`open_regular`] does with a link under the last name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Goes where it leads.
    Followed,
    /// A planted link must not lead our writes elsewhere.
    Refused,
}

/// Replaces a file whole: writes a temporary one beside it, syncs, renames and syncs the folder. Mode 0600.
///
/// # Errors
/// The fault of the file system; the old file is untouched then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, bytes, |temporary| fs::rename(temporary, path))
}

/// Makes a file whole where none is, as [`replace`] does. One that another process has made by then stays, and is no fault.
///
/// # Errors
/// The fault of the file system.
pub fn create_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, bytes, |temporary| {
        // A second name fails where something has it, a rename does not.
        match fs::hard_link(temporary, path) {
            Ok(()) => fs::remove_file(temporary),
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => fs::remove_file(temporary),
            // File systems without second names have no such step.
            Err(_) => fs::rename(temporary, path),
        }
    })
}

fn write_beside(path: &Path, bytes: &[u8], put: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("the path has no folder"))?;
    let name = path.file_name().ok_or_else(|| io::Error::other("the path has no name"))?;
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    temporary_name.push(format!(".{:016x}.tmp", u64::from_le_bytes(random)));
    let temporary = folder.join(temporary_name);
    let written = (|| {
        let mut file = options().write(true).create_new(true).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        put(&temporary)
    })();
    if written.is_err() {
        // What matters is the first fault; a left-over is swept at the next start.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_folder(folder)
}

/// Gives a finished file its name, durably. Whatever has the name is replaced.
///
/// # Errors
/// The fault of the file system.
pub fn put_in_place(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(to.parent().unwrap_or(Path::new(".")))
}

/// Removes a file, durably.
///
/// # Errors
/// The fault of the file system.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Removes temporary files that a crash in [`replace`] left for `path`.
pub fn sweep(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return };
    let prefix = format!(".{name}.");
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|found| found.starts_with(&prefix) && found.ends_with(".tmp")) {
            // One that stays is harmless: it is never read.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes a rename or a new name in a folder durable.
///
/// # Errors
/// The fault of the file system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Tells whether an open file still has a name, so that what is written to it can be found again.
#[must_use]
pub fn has_name(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        file.metadata().is_ok_and(|facts| facts.nlink() > 0)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        true
    }
}

/// Gives a thing of ours that cannot be trusted a name beside it that nothing has yet, `NAME.broken-N`, and returns that. What
/// was set aside before is never written over.
///
/// # Errors
/// The fault of the file system; everything is as it was then.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path has no name"))?;
    let mut number = 1_u32;
    let aside = loop {
        let mut free = name.to_owned();
        free.push(format!(".broken-{number}"));
        let free = path.with_file_name(free);
        if free.symlink_metadata().is_err() {
            break free;
        }
        number += 1;
    };
    fs::rename(path, &aside)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    Ok(aside)
}

/// What tells one version of a file from another without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    id: u64,
    length: u64,
    modified: Option<std::time::SystemTime>,
}

/// Returns the stamp of the file at a path; none when nothing is there.
///
/// # Errors
/// Any other fault than a missing file.
pub fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(facts) => Ok(Some(stamp_of(&facts))),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Returns the stamp of an open file's facts.
#[must_use]
pub fn stamp_of(facts: &fs::Metadata) -> Stamp {
    Stamp { id: file_id(facts), length: facts.len(), modified: facts.modified().ok() }
}

/// Returns a number that stays with a file when it is renamed, and 0 where the system has none.
#[must_use]
pub fn file_id(facts: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        facts.ino()
    }
    #[cfg(not(unix))]
    {
        let _ = facts;
        0
    }
}

/// Returns where a local socket for this state folder can be: inside it, or, where that path is too long for the
/// system, in the user's runtime folder under a name made from `tag`.
#[must_use]
pub fn socket_path(folder: &Path, name: &str, tag: &str) -> PathBuf {
    const LONGEST: usize = 100;
    let inside = folder.join(name);
    if inside.as_os_str().len() <= LONGEST {
        return inside;
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    runtime.join(format!("drawbridge-{tag}.sock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_is_whole_and_private_and_leftovers_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        replace(&path, b"one").unwrap();
        fs::write(dir.path().join(".settings.json.00ff.tmp"), b"tw").unwrap();

        sweep(&path);

        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn of_several_that_make_a_file_at_once_one_does_and_all_read_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keychain-name");
        let read: Vec<_> = std::thread::scope(|scope| {
            let make = |number: usize| {
                create_once(&path, format!("{number}").as_bytes()).unwrap();
                fs::read(&path).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || make(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });

        assert!(read.iter().all(|text| *text == read[0]), "{read:?}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_set_aside_never_covers_what_was_set_aside_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("window.json");
        for content in ["one", "two"] {
            fs::write(&path, content).unwrap();
            set_aside(&path).unwrap();
        }

        assert!(!path.exists());
        assert_eq!(fs::read(dir.path().join("window.json.broken-1")).unwrap(), b"one");
        assert_eq!(fs::read(dir.path().join("window.json.broken-2")).unwrap(), b"two");
        assert_eq!(set_aside(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_open_folder_is_tightened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        fs::create_dir_all(&path).unwrap();

        create_folder(&path).unwrap();

        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_socket_with_a_too_long_path_moves_to_a_short_one() {
        let long = PathBuf::from("/").join("x".repeat(120));

        assert_eq!(socket_path(Path::new("/s"), "control.sock", "t"), Path::new("/s/control.sock"));
        assert!(socket_path(&long, "control.sock", "t").ends_with("drawbridge-t.sock"));
    }
}
