//! Who has a terminal open and whose terminal it is, as `/proc` tells. Of other users' processes it tells only the second.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::hardware::words::describe;

/// The major number of near ends.
const NEAR_ENDS: u32 = 136;

/// Finds another process that has the device of this number open, in words: `minicom (process 4711)`.
pub(super) fn holder(number: u64) -> Option<String> {
    let own = std::process::id().to_string();
    processes().filter(|process| !process.ends_with(&own)).find(|process| has_open(process, number)).map(|p| words(&p))
}

fn has_open(process: &Path, number: u64) -> bool {
    let handles = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut has = false;
    for handle in handles.map(|handle| handle.path()) {
        // Looked at only where it is a device: a file on a server that is away would keep us waiting.
        if !fs::read_link(&handle).is_ok_and(|target| target.starts_with("/dev")) {
            continue;
        }
        let Ok(facts) = fs::metadata(&handle) else { continue };
        // Who serves the far end of a pseudo-terminal often keeps the near end open as well, and reads nothing there.
        if facts.rdev() == far_ends() && serves(process, &handle, number) {
            return false;
        }
        has |= facts.file_type().is_char_device() && facts.rdev() == number;
    }
    has
}

/// Tells whether a number is that of the near end of a pseudo-terminal.
pub(crate) fn is_near_end(number: u64) -> bool {
    rustix::fs::major(number) == NEAR_ENDS
}

/// The device that is opened to make a pseudo-terminal.
fn far_ends() -> u64 {
    rustix::fs::makedev(5, 2)
}

/// Tells whether a far end belongs to the near end of this number.
fn serves(process: &Path, handle: &Path, near: u64) -> bool {
    let Some(name) = handle.file_name() else { return false };
    let facts = fs::read_to_string(process.join("fdinfo").join(name)).unwrap_or_default();
    let index = facts.lines().find_map(|line| line.strip_prefix("tty-index:")?.trim().parse().ok());
    is_near_end(near) && index == Some(rustix::fs::minor(near))
}

/// Finds a process whose controlling terminal this is, in words: a person types there, or a login waits for one.
pub(super) fn session(number: u64) -> Option<String> {
    processes()
        .find(|process| fs::read_to_string(process.join("stat")).is_ok_and(|stat| terminal(&stat) == Some(number)))
        .map(|process| words(&process))
}

/// The number of the controlling terminal in a line of `/proc/…/stat`: the fifth word after the name, which may hold anything.
fn terminal(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let coded = rest.split_whitespace().nth(4)?.parse::<i32>().ok()?.cast_unsigned();
    let (major, minor) = ((coded >> 8) & 0xfff, (coded & 0xff) | ((coded >> 12) & 0xf_ff00));
    (coded != 0).then(|| rustix::fs::makedev(major, minor))
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .map(|entry| entry.path())
}

fn words(process: &Path) -> String {
    let number = process.file_name().unwrap_or_default().to_string_lossy();
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let name = describe(&[Some(&name)], None);
    if name.is_empty() { format!("process {number}") } else { format!("{name} (process {number})") }
}

/// Names the process of this number, if it runs.
pub(super) fn running(process: u32) -> Option<String> {
    let path = PathBuf::from(format!("/proc/{process}"));
    path.exists().then(|| words(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_found_behind_any_name() {
        let line = |coded: i32| format!("42 (a) b (c)) S 1 42 42 {coded} -1 4194304 0 0");
        assert_eq!(terminal(&line(0)), None);
        assert_eq!(terminal(&line((136 << 8) | 5)), Some(rustix::fs::makedev(136, 5)));
        assert_eq!(terminal(&line((136 << 8) | 0x2c | (0x1 << 20))), Some(rustix::fs::makedev(136, 0x12c)));
        assert_eq!(terminal("nonsense"), None);
        assert_eq!(terminal("1 (x) S 1"), None);
    }
}
