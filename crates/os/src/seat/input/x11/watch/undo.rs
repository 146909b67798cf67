//! The watchdog's own side: waits for the end of the one who started it, and undoes what that one owed.

use std::io::Write as _;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags};
use x11rb::connection::Connection as _;
use x11rb::protocol::xkb::{ConnectionExt as _, Group, ID};
use x11rb::protocol::xproto::{BUTTON_RELEASE_EVENT, ConnectionExt as _, KEY_RELEASE_EVENT, ModMask};
use x11rb::protocol::xtest::ConnectionExt as _;

use super::READY;
use super::owed::{BYTES, Owed};
use crate::seat::x11::{Connection, PATIENCE, connect};
use crate::seat::{Seat, SeatFault};

/// A server that does not answer is waited for this many times as long as usual: what is undone was sent before the first wait.
const PATIENT_WAITS: usize = 12;
/// Its name in a list of processes.
const NAME: &str = "drawbridge-keys";

/// Does the watchdog's work until the pipe ends.
pub(in crate::seat::input) fn watch_main() -> ExitCode {
    ignore_requests_to_end();
    let _ = std::fs::write("/proc/self/comm", NAME);
    let x = match open() {
        Ok(x) => x,
        Err(fault) => {
            let _ = write!(std::io::stdout(), "{fault}");
            return ExitCode::FAILURE;
        }
    };
    let mut out = std::io::stdout();
    if out.write_all(&[READY]).and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    let done = wait_for_the_end(&x).and_then(|owed| undo(&x, &owed));
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whoever ends a group or a session of processes asks all of them at once; this one has to come last.
#[expect(unsafe_code, reason = "the C library changes what a signal does")]
fn ignore_requests_to_end() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP, libc::SIGPIPE] {
        // SAFETY: no handler is installed; the signal is ignored from here on, in this process alone.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn open() -> Result<Connection, SeatFault> {
    let (x, _) = connect(&Seat::x11(std::env::var_os("DISPLAY").unwrap_or_default()), Some(PATIENCE))?;
    x.xtest_get_version(2, 2)?.reply()?;
    x.xkb_use_extension(1, 0)?.reply()?;
    Ok(x)
}

/// Returns what was owed last.
fn wait_for_the_end(x: &Connection) -> Result<Owed, SeatFault> {
    let pipe = rustix::stdio::stdin();
    let (mut owed, mut partly) = (Owed::default(), Vec::new());
    let mut buffer = [0; 32 * BYTES];
    loop {
        let mut watched = [PollFd::new(&pipe, PollFlags::IN), PollFd::new(x.stream(), PollFlags::IN)];
        match rustix::event::poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(SeatFault::Other(fault.to_string())),
        }
        let [told, display] = watched.map(|watched| !watched.revents().is_empty());
        // Every client hears when the keyboard's map changes. Nobody here wants to know, but it must not pile up.
        while display && x.poll_for_event()?.is_some() {}
        if !told {
            continue;
        }
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => return Ok(owed),
            Ok(count) => partly.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(SeatFault::Other(fault.to_string())),
        }
        while let Some(message) = partly.first_chunk::<BYTES>() {
            owed = Owed::from_bytes(message);
            partly.drain(..BYTES);
        }
    }
}

fn undo(x: &Connection, owed: &Owed) -> Result<(), SeatFault> {
    let release = |kind, detail| x.xtest_fake_input(kind, detail, 0, x11rb::NONE, 0, 0, 0).map(|_| ());
    owed.buttons().try_for_each(|number| release(BUTTON_RELEASE_EVENT, number))?;
    owed.keys().try_for_each(|code| release(KEY_RELEASE_EVENT, code))?;
    let debt = owed.owes();
    for code in &debt.codes {
        x.change_keyboard_mapping(1, *code, 1, &[x11rb::NO_SYMBOL])?;
    }
    if debt.group.is_some() || debt.locks != 0 {
        let locks = ModMask::from(debt.locks);
        let (lock_group, group) = (debt.group.is_some(), Group::from(debt.group.unwrap_or(0)));
        let own = ID::USE_CORE_KBD.into();
        x.xkb_latch_lock_state(own, locks, locks, lock_group, group, ModMask::from(0_u8), false, 0)?;
    }
    x.flush()?;
    let mut answer = wait_for_the_server(x);
    for _ in 1..PATIENT_WAITS {
        if !matches!(answer, Err(SeatFault::NoAnswer(_))) {
            break;
        }
        answer = wait_for_the_server(x);
    }
    answer
}

fn wait_for_the_server(x: &Connection) -> Result<(), SeatFault> {
    x.get_input_focus()?.reply()?;
    Ok(())
}
