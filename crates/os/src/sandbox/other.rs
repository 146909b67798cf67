//! Systems on which commands cannot be confined yet.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{LayerState, SandboxState, WallState, Walls};
use crate::process::Start;

const WHY: &str = "it is built for Linux only; on this system commands can only run with full access";

pub(super) fn place() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

pub(super) fn read_report(_report: &OwnedFd) -> WallState {
    WallState::Missing(Some(WHY.to_owned()))
}

pub(super) fn confine(_walls: &Walls, _start: Start) -> std::io::Result<(Start, OwnedFd)> {
    Err(Error::new(ErrorKind::Unsupported, WHY))
}

pub(super) fn probe(_bubblewrap: &Path) -> SandboxState {
    let missing = || LayerState::Missing(WHY.to_owned());
    SandboxState { bubblewrap: missing(), landlock: missing(), namespaces: missing() }
}

pub(super) fn confine_main(_args: Vec<OsString>) -> ExitCode {
    ExitCode::from(126)
}
