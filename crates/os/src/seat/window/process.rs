//! What the process table tells about the owner of a window.

use std::path::PathBuf;

/// When a process started, in the kernel's ticks since the start of the system; none when it is gone.
pub(super) fn started(pid: u32) -> Option<u64> {
    stat(pid, 19)
}

/// The process that a process came out of.
pub(in crate::seat) fn parent(pid: u32) -> Option<u32> {
    stat(pid, 1)
}

/// A number of the kernel's line about a process, counted from the one behind its name.
fn stat<N: std::str::FromStr>(pid: u32, index: usize) -> Option<N> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, also brackets and spaces; the last bracket ends it.
    let after = text.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = String::from_utf8_lossy(text.get(after..)?).into_owned();
    rest.split_ascii_whitespace().nth(index)?.parse().ok()
}

/// The program of a process; none when this user may not know it. What was replaced meanwhile is named as it was.
pub(super) fn program(pid: u32) -> Option<PathBuf> {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    match program.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(before) => Some(PathBuf::from(before)),
        None => Some(program),
    }
}

/// The name of this computer, as X clients write it into their windows.
pub(super) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_start_and_a_program_while_it_lives() {
        let own = std::process::id();
        assert_eq!(program(own), std::env::current_exe().ok());
        let mut child = std::process::Command::new("/usr/bin/tail").args(["-f", "/dev/null"]).spawn().unwrap();
        let pid = child.id();
        assert!(started(pid).unwrap() >= started(own).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();

        assert_eq!((started(pid), parent(pid)), (None, None));
        assert_eq!(program(pid), None);
    }
}
