//! The file of the log: one writer at a time over all processes, five files of a mebibyte at most.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drawbridge_os::lockfile::{LockFault, LockFile};
use drawbridge_os::private::{self, Links};

use super::{FILE, older};

/// A file gets no larger.
const FILE_BYTES: u64 = 1024 * 1024;
/// So many files there are, the newest one included.
const FILES: usize = 5;
/// So much waits in memory for a file.
const WAITING_BYTES: usize = 64 * 1024;
/// So long a file that could not be written is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Keeps lines.
pub(super) struct Keeper {
    folder: Option<PathBuf>,
    open: Option<Open>,
    waiting: VecDeque<String>,
    waiting_bytes: usize,
    /// So many lines found no room to wait.
    lost: u64,
    /// It failed at that moment.
    failed: Option<Instant>,
    /// The person was told of a fault.
    told: bool,
}

struct Open {
    file: File,
    bytes: u64,
    /// The last write broke off within a line.
    torn: bool,
    _lock: LockFile,
}

/// Why there is no file to write.
enum NotOpen {
    /// The folder is not there yet, or another Drawbridge writes.
    NotYet,
    /// Somebody should know.
    Fault(io::Error),
}

impl Keeper {
    pub(super) const fn new() -> Self {
        Self {
            folder: None,
            open: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            lost: 0,
            failed: None,
            told: false,
        }
    }

    pub(super) fn keep_in(&mut self, folder: PathBuf) {
        if self.folder.as_ref() != Some(&folder) {
            self.open = None;
            self.failed = None;
            self.folder = Some(folder);
        }
    }

    /// Writes a line, or lets it wait.
    pub(super) fn write(&mut self, line: &str) {
        self.wait(line);
        if self.failed.is_some_and(|at| at.elapsed() < RETRY_AFTER) {
            return;
        }
        let Some(folder) = self.folder.clone() else { return };
        match self.write_waiting(&folder) {
            Ok(()) | Err(NotOpen::NotYet) => self.failed = None,
            Err(NotOpen::Fault(error)) => {
                self.failed = Some(Instant::now());
                self.tell(&folder, &error);
            }
        }
    }

    fn wait(&mut self, line: &str) {
        self.waiting_bytes += line.len();
        self.waiting.push_back(line.to_owned());
        while self.waiting_bytes > WAITING_BYTES {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= oldest.len();
            self.lost += 1;
        }
    }

    fn write_waiting(&mut self, folder: &Path) -> Result<(), NotOpen> {
        // Somebody may have removed the file; what is written must be found again.
        if self.open.as_ref().is_some_and(|open| !private::has_name(&open.file)) {
            self.open = None;
        }
        if self.open.is_none() {
            self.open = Some(open(folder)?);
        }
        let Some(open) = &mut self.open else { return Err(NotOpen::NotYet) };
        if self.lost > 0 {
            open.line(folder, &format!("({} lines could not be kept)", self.lost)).map_err(NotOpen::Fault)?;
            self.lost = 0;
        }
        while let Some(line) = self.waiting.front() {
            open.line(folder, line).map_err(NotOpen::Fault)?;
            self.waiting_bytes -= line.len();
            self.waiting.pop_front();
        }
        Ok(())
    }

    fn tell(&mut self, folder: &Path, error: &io::Error) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        let path = folder.join(FILE);
        // With standard error gone there is nobody to tell.
        let _ = writeln!(
            io::stderr().lock(),
            "drawbridge: the log {} cannot be written ({error}); everything goes on, and the newest lines are kept in memory",
            path.display()
        );
    }
}

fn open(folder: &Path) -> Result<Open, NotOpen> {
    if !folder.is_dir() {
        return Err(NotOpen::NotYet);
    }
    let lock = match LockFile::try_acquire(&folder.join(format!("{FILE}.lock"))) {
        Ok(lock) => lock,
        Err(LockFault::Held { .. } | LockFault::LookedAt { .. }) => return Err(NotOpen::NotYet),
        Err(LockFault::Io { error, .. }) => return Err(NotOpen::Fault(error)),
    };
    let file = open_file(folder).map_err(NotOpen::Fault)?;
    let bytes = file.metadata().map_err(NotOpen::Fault)?.len();
    // What a full disk or a crash cut off must not run into the next line.
    Ok(Open { file, bytes, torn: bytes > 0, _lock: lock })
}

fn open_file(folder: &Path) -> io::Result<File> {
    private::open_regular(&folder.join(FILE), File::options().append(true).create(true), Links::Refused)
}

impl Open {
    fn line(&mut self, folder: &Path, line: &str) -> io::Result<()> {
        if self.bytes + line.len() as u64 + 1 > FILE_BYTES {
            self.rotate(folder)?;
        }
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if self.torn {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.torn = true;
        self.file.write_all(&bytes)?;
        self.torn = false;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn rotate(&mut self, folder: &Path) -> io::Result<()> {
        for name in (1..FILES).map(|number| older(folder, number)) {
            // No file can take the place of a folder, so it would end the log for good.
            if name.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
                private::set_aside(&name)?;
            }
        }
        for number in (1..FILES).rev() {
            let from = if number == 1 { folder.join(FILE) } else { older(folder, number - 1) };
            match std::fs::rename(&from, older(folder, number)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.file = open_file(folder)?;
        (self.bytes, self.torn) = (0, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn kept(folder: &Path) -> String {
        fs::read_to_string(folder.join(FILE)).unwrap_or_default()
    }

    #[test]
    fn lines_wait_for_their_folder_and_are_for_this_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("later");
        let mut keeper = Keeper::new();
        keeper.write("before anybody named a folder");
        keeper.keep_in(folder.clone());
        keeper.write("before it was there");
        fs::create_dir(&folder).unwrap();
        keeper.write("after");

        assert_eq!(kept(&folder), "before anybody named a folder\nbefore it was there\nafter\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(folder.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn files_are_rotated_and_only_five_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::new();
        keeper.keep_in(dir.path().to_owned());
        let filler = "x".repeat(4000);
        for number in 0..1800 {
            keeper.write(&format!("{number:06} {filler}"));
        }

        let files: Vec<_> =
            std::iter::once(dir.path().join(FILE)).chain((1..9).map(|number| older(dir.path(), number))).collect();
        let there: Vec<bool> = files.iter().map(|path| path.exists()).collect();
        assert_eq!(there, [true, true, true, true, true, false, false, false, false]);
        assert!(files[..5].iter().all(|path| fs::metadata(path).unwrap().len() <= FILE_BYTES));
        assert!(kept(dir.path()).lines().last().unwrap().starts_with("001799 "));
        assert_eq!(super::super::last_lines(dir.path(), 3).unwrap().len(), 3);
    }

    #[test]
    fn folders_with_the_names_of_older_files_do_not_end_the_log() {
        let dir = tempfile::tempdir().unwrap();
        for number in 1..FILES {
            fs::create_dir_all(older(dir.path(), number).join("of somebody else")).unwrap();
        }
        let mut keeper = Keeper::new();
        keeper.keep_in(dir.path().to_owned());
        let filler = "x".repeat(4000);
        for number in 0..600 {
            keeper.write(&format!("{number:06} {filler}"));
        }

        assert!(kept(dir.path()).lines().last().unwrap().starts_with("000599 ") && !keeper.told);
        assert!(older(dir.path(), 1).is_file());
        assert!(dir.path().join("drawbridge.log.1.broken-1/of somebody else").is_dir());
    }

    #[test]
    fn only_one_writes_a_file_and_the_other_takes_over_when_that_one_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (Keeper::new(), Keeper::new());
        first.keep_in(dir.path().to_owned());
        second.keep_in(dir.path().to_owned());
        first.write("first");
        second.write("second, early");
        assert_eq!(kept(dir.path()), "first\n");

        drop(first);
        second.write("second, late");

        let lines: Vec<String> =
            kept(dir.path()).lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect();
        assert_eq!(lines, ["first", "second, early", "second, late"]);
    }

    #[test]
    fn a_log_that_cannot_be_written_costs_nothing_but_its_oldest_lines() {
        let dir = tempfile::tempdir().unwrap();
        // A folder has the file's name: also root cannot write it.
        fs::create_dir(dir.path().join(FILE)).unwrap();
        let mut keeper = Keeper::new();
        keeper.keep_in(dir.path().to_owned());
        for number in 0..100 {
            keeper.write(&format!("{number} {}", "x".repeat(1000)));
        }
        assert!(keeper.told && keeper.waiting_bytes <= WAITING_BYTES && keeper.lost > 0);

        fs::remove_dir(dir.path().join(FILE)).unwrap();
        keeper.failed = None;
        keeper.write("there is room again");

        let text = kept(dir.path());
        assert!(text.starts_with('(') && text.contains(" lines could not be kept)\n"), "{text}");
        assert!(text.ends_with("there is room again\n"));
    }

    #[test]
    fn a_full_disk_is_no_end() {
        let dir = tempfile::tempdir().unwrap();
        let lock = LockFile::try_acquire(&dir.path().join("lock")).unwrap();
        // Only Linux has a device that is always full.
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        let mut keeper = Keeper::new();
        keeper.keep_in(dir.path().to_owned());
        keeper.open = Some(Open { file: full, bytes: 0, torn: false, _lock: lock });

        keeper.write("one");
        assert!(keeper.told && keeper.failed.is_some());
        keeper.write("two");
        (keeper.failed, keeper.open) = (None, None);
        keeper.write("three");

        assert_eq!(kept(dir.path()), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_file_that_somebody_removes_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::new();
        keeper.keep_in(dir.path().to_owned());
        keeper.write("one");
        fs::remove_file(dir.path().join(FILE)).unwrap();
        keeper.write("two");

        assert_eq!(kept(dir.path()), if cfg!(unix) { "two\n" } else { "" });
    }
}
