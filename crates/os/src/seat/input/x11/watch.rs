//! The watchdog: a small process of our own that releases what we hold when we die, in whatever way.
//!
//! It is told what is owed *before* that comes to be, through a pipe that only we write to. The end of the pipe is the sign: the
//! kernel closes it also after `SIGKILL`. What it knows may be more than what is really held (a release is told late or not at
//! all), which harms nobody: releasing a key that XTEST does not hold does nothing, also when a person holds it.
//!
//! It has its own connection to the display from its start, so nothing has to be opened when it matters, and a process group of its
//! own, so that what is sent to ours does not reach it. It has no session of its own: orphans in other sessions are taken for
//! what a command left behind (see [`crate::process`]). Signals that ask it to end are ignored; it ends by itself with us.

mod owed;
mod undo;

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;

pub(super) use owed::Owed;
pub(in crate::seat::input) use undo::watch_main;

use crate::seat::input::WATCH_ARGUMENT;
use crate::seat::{Seat, SeatFault};

/// What it says once it could release something.
const READY: u8 = b'+';
/// Longest wait for that. It starts in some tens of milliseconds.
const START_LIMIT: Duration = Duration::from_secs(10);
/// What it needs of our environment: the proof for the display, and where libraries are.
const KEPT_VARIABLES: [&str; 4] = ["XAUTHORITY", "HOME", "PATH", "LD_LIBRARY_PATH"];

/// Our end of a watchdog that runs. It ends when this is dropped, and releases what it was told last.
pub(super) struct Watchdog {
    child: Option<Child>,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Starts it and waits until it could do its work.
    pub(super) fn start(seat: &Seat) -> Result<Self, SeatFault> {
        let mut child = command(seat).spawn().map_err(|fault| missing(&fault.to_string()))?;
        let (pipe, said) = (child.stdin.take(), child.stdout.take());
        let dog = Self { child: Some(child), pipe };
        let (Some(pipe), Some(mut said)) = (&dog.pipe, said) else { return Err(missing("it has no pipe")) };
        // A watchdog that reads nothing must not hang us as well.
        rustix::fs::fcntl_setfl(pipe, OFlags::WRONLY | OFlags::NONBLOCK)
            .map_err(|fault| missing(&fault.to_string()))?;
        wait_for(&said)?;
        let mut answer = [0; 512];
        let count = said.read(&mut answer).map_err(|fault| missing(&fault.to_string()))?;
        match answer.get(..count).and_then(<[u8]>::split_first) {
            Some((&READY, _)) => Ok(dog),
            Some(_) => Err(missing(&String::from_utf8_lossy(answer.get(..count).unwrap_or_default()))),
            None => Err(missing("it ended at once")),
        }
    }

    /// Tells whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Tells it everything that is owed from now on, in place of what it was told before.
    pub(super) fn tell(&mut self, owed: &Owed) -> Result<(), SeatFault> {
        let Some(pipe) = &mut self.pipe else { return Err(missing("it has ended")) };
        // Shorter than what a pipe takes in one piece, so it is written whole or not at all.
        pipe.write_all(&owed.to_bytes()).map_err(|fault| missing(&fault.to_string()))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.pipe = None;
        let Some(mut child) = self.child.take() else { return };
        // It may have to wait for the display; nobody else waits for that.
        let reaper = std::thread::Builder::new().name("end-watchdog".to_owned());
        if let Err(fault) = reaper.spawn(move || child.wait()) {
            tracing::warn!(%fault, "the watchdog of the keys is not waited for");
        }
    }
}

/// Starts the very file that runs here, also when an update has put another one in its place.
fn command(seat: &Seat) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("drawbridge-keys")
        .arg(WATCH_ARGUMENT)
        .current_dir("/")
        .env_clear()
        .envs(KEPT_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .envs(seat.display.as_ref().map(|display| ("DISPLAY", display)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

fn wait_for(said: &impl AsFd) -> Result<(), SeatFault> {
    let limit = Timespec::try_from(START_LIMIT).map_err(|_| missing("it cannot be waited for"))?;
    let mut watched = [PollFd::new(said, PollFlags::IN)];
    loop {
        match rustix::event::poll(&mut watched, Some(&limit)) {
            Ok(0) => return Err(missing("it did not get ready in time")),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(missing(&io::Error::from(fault).to_string())),
        }
    }
}

/// Nothing may be pressed that nobody would release.
fn missing(why: &str) -> SeatFault {
    let why = why.trim();
    SeatFault::Other(format!(
        "the process that would release keys if Drawbridge died cannot be used, so none are pressed: {why}"
    ))
}
