//! Other Unix systems: the process group. What leaves its group is not found here.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::process::Child;

use super::StillAlive;
use crate::root::Folder;

pub(super) fn adopt_orphans() -> std::io::Result<()> {
    Ok(())
}

pub(super) fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(1))
}

#[expect(unsafe_code, reason = "the steps between fork and exec")]
pub(super) fn prepare(
    command: &mut tokio::process::Command,
    name: OsString,
    folder: Option<Folder>,
    pass: Option<RawFd>,
) {
    command.arg0(name);
    let steps = move || {
        rustix::process::setsid()?;
        if let Some(folder) = &folder {
            rustix::process::fchdir(folder.handle())?;
        }
        for handle in 3..4096 {
            let flag = if Some(handle) == pass { 0 } else { libc::FD_CLOEXEC };
            // SAFETY: sets a flag on a number; one that is not open gives EBADF.
            unsafe { libc::fcntl(handle, libc::F_SETFD, flag) };
        }
        Ok(())
    };
    // SAFETY: only system calls, no allocation and no lock between fork and exec.
    unsafe { command.pre_exec(steps) };
}

pub(super) fn spawn_registered(
    command: &mut tokio::process::Command,
    _marker: String,
    _wrapped: bool,
) -> std::io::Result<(Child, Tree)> {
    let child = command.spawn()?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    Ok((child, Tree { leader, settled: Arc::new(AtomicBool::new(false)) }))
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    leader: i32,
    settled: Arc<AtomicBool>,
}

impl Tree {
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn kill(&self) -> Result<(), StillAlive> {
        let begin = Instant::now();
        self.signal(Signal::KILL);
        // The first process stays in its group until its owner waits for it, so only a time can end this.
        while !self.is_quiet() && begin.elapsed() < Duration::from_millis(50) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    pub(super) fn is_quiet(&self) -> bool {
        Pid::from_raw(self.leader).is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }

    pub(super) fn members(&self) -> Vec<i32> {
        if self.is_quiet() { Vec::new() } else { vec![self.leader] }
    }

    pub(super) fn forget(&self) {
        self.settled.store(true, Ordering::Release);
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.leader) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}
