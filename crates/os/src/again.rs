//! Starting this program again in its own place.
//!
//! Deliberately without a fork where the system can do without: whoever started the program keeps waiting for the same
//! process.

use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How often the children of the former program are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Becomes this very program anew, with these arguments and these additions to its environment. Everything that must be
/// kept has to be stored before; only an error comes back.
#[cfg(unix)]
#[must_use]
pub fn start_again(args: &[OsString], environment: &[(&str, &str)]) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    match std::env::current_exe() {
        Ok(program) => std::process::Command::new(program).args(args).envs(environment.iter().copied()).exec(),
        Err(error) => error,
    }
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
