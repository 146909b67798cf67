//! The lock files of older programs: `/var/lock/LCK..ttyUSB0` holds the number of the process that has the port.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::holders;

/// Our lock file. Gone with this.
#[derive(Debug)]
pub(super) struct PortLock(PathBuf);

/// What became of taking a lock file.
#[derive(Debug)]
pub(super) enum Taken {
    /// It is ours.
    Ours(PortLock),
    /// Another program has the port, in words.
    Held(String),
    /// This port has none, or the folder is not ours to write: other programs go without as well.
    Without,
}

/// Takes the lock file of a port. `folder` is `/var/lock`; only ports right beneath `dev` have one.
pub(super) fn take(folder: &Path, dev: &Path, port: &Path) -> Taken {
    let Some(name) = port.file_name().filter(|_| port.parent() == Some(dev)) else { return Taken::Without };
    let path = folder.join(format!("LCK..{}", name.to_string_lossy()));
    // Twice: a lock of a process that is gone is taken away once.
    for _ in 0..2 {
        match File::options().write(true).create_new(true).open(&path) {
            Ok(file) => return written(file, path),
            Err(fault) if fault.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return Taken::Without,
        }
        let Some(process) = owner(&path) else { return Taken::Without };
        if let Some(who) = holders::running(process).filter(|_| process != std::process::id()) {
            return Taken::Held(who);
        }
        if fs::remove_file(&path).is_err() {
            return Taken::Without;
        }
    }
    Taken::Without
}

fn written(mut file: File, path: PathBuf) -> Taken {
    let lock = PortLock(path);
    // Ten columns and a line feed: what others read.
    match writeln!(file, "{:>10}", std::process::id()) {
        Ok(()) => Taken::Ours(lock),
        Err(_) => Taken::Without,
    }
}

fn owner(path: &Path) -> Option<u32> {
    // Some write the number as bytes; of those nothing can be told.
    let text = fs::read(path).ok().filter(|bytes| bytes.len() <= 64).and_then(|bytes| String::from_utf8(bytes).ok())?;
    text.split_whitespace().next()?.parse().ok().filter(|process| *process > 0)
}

impl Drop for PortLock {
    fn drop(&mut self) {
        if owner(&self.0) == Some(std::process::id()) {
            // Nobody is helped by a fault here: the next one sees that we are gone.
            let _ = fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_written_as_others_read_it_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let Taken::Ours(lock) = take(folder.path(), Path::new("/dev"), Path::new("/dev/ttyUSB0")) else {
            panic!("taken")
        };
        let path = folder.path().join("LCK..ttyUSB0");
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{:>10}\n", std::process::id()));
        drop(lock);
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_of_a_running_program_holds_and_one_of_a_dead_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LCK..ttyUSB0");
        let port = Path::new("/dev/ttyUSB0");
        fs::write(&path, "         1\n").unwrap();
        assert!(matches!(take(folder.path(), Path::new("/dev"), port), Taken::Held(who) if who.contains("process 1)")));
        assert!(path.exists());

        fs::write(&path, " 999999999\n").unwrap();
        let taken = take(folder.path(), Path::new("/dev"), port);
        assert!(matches!(&taken, Taken::Ours(_)), "{taken:?}");
    }

    #[test]
    fn what_cannot_be_read_or_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LCK..ttyUSB0");
        fs::write(&path, [7, 0, 0, 0]).unwrap();
        assert!(matches!(take(folder.path(), Path::new("/dev"), Path::new("/dev/ttyUSB0")), Taken::Without));
        assert!(path.exists());
        assert!(matches!(take(folder.path(), Path::new("/dev"), Path::new("/dev/pts/3")), Taken::Without));
        assert!(matches!(take(Path::new("/nowhere"), Path::new("/dev"), Path::new("/dev/ttyS0")), Taken::Without));
    }
}
