//! Other Unix systems: the process group. What leaves its group is not found here.

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::process::{ChildStderr, ChildStdout};

use super::{MARKER_VARIABLE, PASSED_NUMBER, Start, StillAlive};

pub(super) fn adopt_orphans() -> std::io::Result<()> {
    Ok(())
}

/// A process that was started.
#[derive(Debug)]
pub(super) struct Child(tokio::process::Child);

impl Child {
    pub(super) async fn wait(&mut self) -> std::io::Result<i32> {
        self.0.wait().await.map(code_of)
    }

    pub(super) fn try_wait(&mut self) -> std::io::Result<Option<i32>> {
        Ok(self.0.try_wait()?.map(code_of))
    }

    /// The runtime takes care of what nobody waited for.
    pub(super) fn unwaited(&self) -> Option<i32> {
        None
    }
}

pub(super) fn reap_left(_unwaited: Option<i32>) {}

/// Marks in the environment of others cannot be read here.
pub(super) fn end_left_behind(_prefix: &str) -> usize {
    0
}

/// Orphans go to the system's own first process here.
pub(super) fn reap_strays() {}

fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(1))
}

#[expect(unsafe_code, reason = "the steps between fork and exec")]
pub(super) fn spawn(start: Start, marker: String) -> std::io::Result<(Child, ChildStdout, ChildStderr, Tree)> {
    let mut command = tokio::process::Command::new(&start.program);
    command.arg0(&start.name).args(&start.args).env_clear().envs(start.env).env(MARKER_VARIABLE, marker);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (folder, pass) = (start.folder, start.pass);
    let steps = move || {
        rustix::process::setsid()?;
        if let Some(folder) = &folder {
            rustix::process::fchdir(folder.handle())?;
        }
        for handle in PASSED_NUMBER..4096 {
            // SAFETY: sets a flag on a number; one that is not open gives EBADF.
            unsafe { libc::fcntl(handle, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        if let Some(pass) = &pass {
            // SAFETY: both are plain numbers; the first is open.
            unsafe { libc::dup2(pass.as_raw_fd(), PASSED_NUMBER) };
        }
        Ok(())
    };
    // SAFETY: only system calls, no allocation and no lock between fork and exec.
    unsafe { command.pre_exec(steps) };
    let mut child = command.spawn()?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(std::io::Error::other("the pipes of the command are missing"));
    };
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    Ok((Child(child), stdout, stderr, Tree { leader, settled: Arc::new(AtomicBool::new(false)) }))
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
