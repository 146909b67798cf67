//! This program, started again by itself for one small task.
//!
//! Two tasks need a process of their own and no second program to install: the inner wall around a confined command (see
//! [`crate::sandbox`]) and the watchdog that releases keys and buttons (see [`crate::seat::input`]).

use std::process::ExitCode;

use crate::{sandbox, seat};

/// Called first thing in `main` of each of our programs: does the task when this start is meant for one. Returns the code to end
/// with; none when this is an ordinary start.
#[must_use]
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let task = args.next()?;
    if task == sandbox::CONFINE_ARGUMENT {
        return Some(sandbox::confine_main(args.collect()));
    }
    (task == seat::input::WATCH_ARGUMENT).then(seat::input::watch_main)
}
