//! Starting this program again in its own place.
//!
//! Deliberately without a fork where the system can do without: whoever started the program keeps waiting for the same
//! process.

use std::ffi::OsString;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the children of the former program are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The file that runs here, also when it has no name any more.
#[cfg(unix)]
const RUNNING: &str = "/proc/self/exe";
/// What Linux writes behind the name of a file that is gone.
#[cfg(unix)]
const REPLACED: &str = " (deleted)";

/// Becomes this very program anew, with these arguments and these additions to its environment. Everything that must be
/// kept has to be stored before; only an error comes back.
#[cfg(unix)]
#[must_use]
pub fn start_again(args: &[OsString], environment: &[(&str, &str)]) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    // An image holds the program; an update may have put a newer image in its place.
    let program = match crate::installed::image() {
        Some(image) => Ok(image),
        None => std::env::current_exe().map(|program| file_of(program, Path::exists)),
    };
    match program {
        Ok(program) => std::process::Command::new(program).args(args).envs(environment.iter().copied()).exec(),
        Err(error) => error,
    }
}

/// The file to start: that of this program, or where an update has replaced or removed it, the one that still runs.
#[cfg(unix)]
fn file_of(program: PathBuf, exists: impl Fn(&Path) -> bool) -> PathBuf {
    // So the system names a file that is gone; a new one may lie in its place, perhaps half written or of another kind.
    let replaced = program.as_os_str().as_encoded_bytes().ends_with(REPLACED.as_bytes());
    if cfg!(target_os = "linux") && (replaced || !exists(&program)) { PathBuf::from(RUNNING) } else { program }
}

/// Starts this very program anew, with these arguments and these additions to its environment, and ends this one. Only an
/// error comes back.
#[cfg(not(unix))]
#[must_use]
pub fn start_again(args: &[OsString], environment: &[(&str, &str)]) -> std::io::Error {
    let started = std::env::current_exe()
        .and_then(|program| std::process::Command::new(program).args(args).envs(environment.iter().copied()).spawn());
    match started {
        Ok(_) => std::process::exit(0),
        Err(error) => error,
    }
}

/// Takes the children that the former program left out of the process table. For the very start of a program that was
/// started again, before it has children of its own. Waits no longer than `limit`.
#[cfg(unix)]
pub fn collect_former_children(limit: Duration) {
    use rustix::process::{WaitOptions, wait};
    let began = Instant::now();
    while began.elapsed() < limit {
        match wait(WaitOptions::NOHANG) {
            // One was collected; there may be more.
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(_) => return,
        }
    }
}

/// Takes the children that the former program left out of the process table: here it left none.
#[cfg(not(unix))]
pub fn collect_former_children(limit: Duration) {
    let _ = (limit, Instant::now(), LOOK_EVERY);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn chosen(program: &str, exists: bool) -> PathBuf {
        file_of(PathBuf::from(program), |_| exists)
    }

    #[test]
    fn a_program_whose_file_was_replaced_starts_the_one_that_runs() {
        let program = "/usr/bin/drawbridge-desktop";
        assert_eq!(chosen(program, true), Path::new(program));
        assert_eq!(chosen(program, false), Path::new("/proc/self/exe"));
        assert_eq!(chosen("/usr/bin/drawbridge-desktop (deleted)", false), Path::new("/proc/self/exe"));
        // Whatever has that name now is not this program.
        assert_eq!(chosen("/usr/bin/drawbridge-desktop (deleted)", true), Path::new("/proc/self/exe"));
    }
}
