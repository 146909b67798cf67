//! Which program a command means (spec 9.3). Looked up on the baseline PATH, never in the working folder.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use drawbridge_core::{OpError, ShellKind};
use drawbridge_os::process;

/// A program, its own name, its arguments.
pub(super) type Words = (PathBuf, OsString, Vec<OsString>);

/// Finds a shell and the words that make it run a text.
pub(super) fn shell(kind: ShellKind, command: &str, path: &OsStr) -> Result<Words, OpError> {
    // No start file of a shell is read: an agent that may write one could put its own commands before what a person allowed.
    const BASH: (&str, &[&str]) = ("bash", &["--norc", "--noprofile", "-c"]);
    const SH: (&str, &[&str]) = ("sh", &["-c"]);
    let candidates: &[(&str, &[&str])] = match kind {
        ShellKind::Auto => &[BASH, SH],
        ShellKind::Bash => &[BASH],
        ShellKind::Sh => &[SH],
        ShellKind::Zsh => &[("zsh", &["-f", "-c"])],
        ShellKind::Pwsh => &[("pwsh", &["-NoLogo", "-NoProfile", "-Command"])],
        ShellKind::PowerShell | ShellKind::Cmd => &[],
    };
    for (name, flags) in candidates {
        if let Some(program) = on_path(OsStr::new(name), path) {
            let args = flags.iter().copied().chain([command]).map(OsString::from).collect();
            return Ok((program, OsString::from(name), args));
        }
    }
    Err(OpError::ShellNotAvailable { requested: kind.name().to_owned() })
}

/// Finds the program of an argument list. One with a slash is a path, counted from the working folder.
pub(super) fn argv(words: &[String], path: &OsStr, folder: &Path) -> Result<Words, OpError> {
    let Some((first, rest)) = words.split_first() else {
        return Err(OpError::Internal("an empty argument list came to the shell".to_owned()));
    };
    let missing = || OpError::ShellNotAvailable { requested: first.clone() };
    if first.is_empty() {
        return Err(missing());
    }
    let program = if first.contains('/') {
        let program = folder.join(first);
        if !program.exists() {
            return Err(missing());
        }
        program
    } else {
        on_path(OsStr::new(first), path).ok_or_else(missing)?
    };
    Ok((program, OsString::from(first), rest.iter().map(OsString::from).collect()))
}

/// Relative parts of PATH are passed over: they would mean the working folder.
fn on_path(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| process::is_program(program))
}
