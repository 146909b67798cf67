//! The person: a thread that sees what happens on pointers and keyboards while the input is open, tells what we did not do
//! ourselves, and lets go of what is held for too long.
//!
//! Raw events of XInput2 come also while another program has grabbed the pointer or the keyboard. The thread sleeps until there is
//! one; our own presses wake it as well, so it knows of everything that is held without being told.
//!
//! Not seen: a program that sets the pointer to another place without moving it there (`XWarpPointer`), as games do. No mouse and no
//! remote desktop does that.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::screensaver::ConnectionExt as _;
use x11rb::protocol::xinput::{ConnectionExt as _, EventMask, XIEventMask};
use x11rb::protocol::xproto::Window;

use super::expected::{Act, Expected};
use super::hand::{Hand, Part};
use crate::seat::x11::{Connection, PATIENCE, connect};
use crate::seat::{Seat, SeatFault};

/// Every master device; the number that XInput2 gives to it.
const ALL_MASTERS: u16 = 1;
/// What the server says of its idle time counts only when it is this short: the person is at it right now.
const JUST_NOW: Duration = Duration::from_secs(1);

/// When the person acted last.
#[derive(Debug)]
pub(super) struct LastAct {
    opened: Instant,
    /// Microseconds after `opened`, plus one; 0 for never.
    at: AtomicU64,
}

impl LastAct {
    fn note(&self, now: Instant) {
        let after = now.saturating_duration_since(self.opened).as_micros();
        self.at.store(u64::try_from(after).unwrap_or(u64::MAX - 1) + 1, Ordering::Release);
    }

    fn ago(&self, now: Instant) -> Option<Duration> {
        let after = Duration::from_micros(self.at.load(Ordering::Acquire).checked_sub(1)?);
        Some(now.saturating_duration_since(self.opened + after))
    }
}

/// The thread, which ends when this is dropped.
pub(super) struct Person {
    x: Arc<Connection>,
    last: Arc<LastAct>,
    thread: Option<JoinHandle<()>>,
}

impl Person {
    /// Begins to look. What is held for `longest` is released.
    pub(super) fn watch(
        seat: &Seat,
        hand: &Arc<Hand>,
        expected: &Arc<Expected>,
        longest: Duration,
        chores: Chores,
    ) -> Result<Self, SeatFault> {
        let (x, screen) = connect(seat, Some(PATIENCE))?;
        let root = x.setup().roots.get(screen).map_or(x11rb::NONE, |screen| screen.root);
        let idle = select(&x, root)?;
        let now = Instant::now();
        let opened = now.checked_sub(idle.unwrap_or_default()).unwrap_or(now);
        let last = Arc::new(LastAct { opened, at: AtomicU64::new(u64::from(idle.is_some())) });
        let x = Arc::new(x);
        let attendant = Attendant {
            x: Arc::clone(&x),
            hand: Arc::clone(hand),
            expected: Arc::clone(expected),
            last: Arc::clone(&last),
            longest,
            chores,
        };
        let thread = std::thread::Builder::new()
            .name("seat-person".to_owned())
            .spawn(move || attendant.attend())
            .map_err(|fault| SeatFault::Other(format!("the person's own input cannot be seen: {fault}")))?;
        Ok(Self { x, last, thread: Some(thread) })
    }

    /// Tells how long ago the person acted.
    pub(super) fn acted(&self) -> Option<Duration> {
        self.last.ago(Instant::now())
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // The thread waits for this connection, and a closed one ends the wait also when the server hangs.
        let _ = rustix::net::shutdown(self.x.stream().as_fd(), rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asks for raw events, and how long ago the last input was if that was just now.
fn select(x: &Connection, root: Window) -> Result<Option<Duration>, SeatFault> {
    // Since 2.1 raw events come during grabs, too.
    let version = x.xinput_xi_query_version(2, 2)?.reply()?;
    if (version.major_version, version.minor_version) < (2, 1) {
        return Err(SeatFault::Unsupported(
            "the display server does not tell when the person uses it (XInput 2.1)".to_owned(),
        ));
    }
    let wanted = XIEventMask::RAW_KEY_PRESS
        | XIEventMask::RAW_KEY_RELEASE
        | XIEventMask::RAW_BUTTON_PRESS
        | XIEventMask::RAW_BUTTON_RELEASE
        | XIEventMask::RAW_MOTION
        | XIEventMask::RAW_TOUCH_BEGIN
        | XIEventMask::RAW_TOUCH_UPDATE;
    let mask = EventMask { deviceid: ALL_MASTERS, mask: vec![wanted] };
    x.xinput_xi_select_events(root, &[mask])?.check()?;
    let idle = x.screensaver_query_info(root).ok().and_then(|cookie| cookie.reply().ok());
    let idle = idle.map(|info| Duration::from_millis(u64::from(info.ms_since_user_input)));
    Ok(idle.filter(|idle| *idle < JUST_NOW))
}

struct Attendant {
    x: Arc<Connection>,
    hand: Arc<Hand>,
    expected: Arc<Expected>,
    last: Arc<LastAct>,
    longest: Duration,
    chores: Chores,
}

/// What else has to be done once in a while. Returns the time until it should be asked again; none for only after the next event.
pub(super) type Chores = Box<dyn Fn() -> Option<Duration> + Send>;

impl Attendant {
    fn attend(&self) {
        loop {
            loop {
                match self.x.poll_for_event() {
                    Ok(Some(event)) => self.see(&event),
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            let wait = [self.let_go(), (self.chores)()].into_iter().flatten().min();
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let mut watched = [PollFd::new(self.x.stream(), PollFlags::IN)];
            match rustix::event::poll(&mut watched, wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn see(&self, event: &Event) {
        let now = Instant::now();
        let ours = match act(event) {
            Some(Some(act)) => self.expected.is_ours(act, now),
            Some(None) => false,
            None => return,
        };
        if ours {
            return;
        }
        self.last.note(now);
        // A button of ours under the person's hand would turn what they do into a drag. Keys are the business of the
        // operation that holds them: it looks before each step, and a letter must not lose its shift halfway.
        if let Err(fault) = self.hand.release(|part| matches!(part, Part::Button(_))) {
            tracing::debug!(%fault, "a button could not be released: the display is gone");
        }
    }

    /// Releases what is held for too long. Returns the time until the next such moment.
    fn let_go(&self) -> Option<Duration> {
        let now = Instant::now();
        let age = |since: Instant| now.saturating_duration_since(since);
        let down = self.hand.down();
        let (old, young): (Vec<_>, Vec<_>) = down.into_iter().partition(|held| age(held.since) >= self.longest);
        if !old.is_empty() {
            tracing::info!(count = old.len(), "keys or buttons were held for too long and are released");
            let _ = self.hand.release(|part| old.iter().any(|held| held.part == part));
        }
        young.iter().map(|held| self.longest.saturating_sub(age(held.since))).min()
    }
}

/// Returns what an event says: an act that could be ours, an act that cannot (touch), or nothing.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a server has a hundred kinds of events, and all others say nothing here"
)]
fn act(event: &Event) -> Option<Option<Act>> {
    let number = |detail: u32| u8::try_from(detail).ok();
    let act = match event {
        Event::XinputRawKeyPress(key) => number(key.detail).map(|code| Act::Key { code, down: true }),
        Event::XinputRawKeyRelease(key) => number(key.detail).map(|code| Act::Key { code, down: false }),
        Event::XinputRawButtonPress(button) => number(button.detail).map(|number| Act::Button { number, down: true }),
        Event::XinputRawButtonRelease(button) => {
            number(button.detail).map(|number| Act::Button { number, down: false })
        }
        Event::XinputRawMotion(_) => Some(Act::Motion),
        Event::XinputRawTouchBegin(_) | Event::XinputRawTouchUpdate(_) => None,
        _ => return None,
    };
    Some(act)
}
