//! WebSocket pings, and the look at both clocks that notices sleep (spec 4.5).

use std::time::{Duration, Instant};

use drawbridge_core::WallMs;

/// How often we ping.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long the peer has to answer.
const PONG_WITHIN: Duration = Duration::from_secs(10);
/// A jump of either clock beyond this looks like sleep.
const JUMP: Duration = Duration::from_secs(30);
/// How long the peer has to answer after a jump.
const PONG_AFTER_JUMP: Duration = Duration::from_secs(5);

/// What a look at the clocks showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing of note.
    Usual,
    /// The machine slept or the wall clock was set: ping at once.
    Jumped {
        /// By so many seconds.
        seconds: i64,
    },
}

/// The pings of one connection.
#[derive(Debug)]
pub(super) struct Keepalive {
    ping_due: Instant,
    pong_by: Option<Instant>,
    seen: (Instant, WallMs),
}

impl Keepalive {
    pub(super) fn starting(now: Instant, wall: WallMs) -> Self {
        Self { ping_due: now + PING_EVERY, pong_by: None, seen: (now, wall) }
    }

    /// Compares both clocks with the last look. After a jump a ping is on its way and its answer due soon.
    pub(super) fn look(&mut self, now: Instant, wall: WallMs) -> Look {
        let (then, wall_then) = std::mem::replace(&mut self.seen, (now, wall));
        let passed = now.saturating_duration_since(then);
        let passed_ms = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        let drift = wall.0.saturating_sub(wall_then.0).saturating_sub(passed_ms);
        // Some systems count sleep in both clocks: then we were simply not woken for our own ping.
        let slept = passed > PING_EVERY + JUMP;
        if drift.unsigned_abs() <= JUMP.as_millis() as u64 && !slept {
            return Look::Usual;
        }
        self.ping_due = now + PING_EVERY;
        self.pong_by = Some(now + PONG_AFTER_JUMP);
        Look::Jumped { seconds: if slept { passed_ms } else { drift } / 1000 }
    }

    /// Any answer to a ping will do. It also proves that the link outlived whatever the clocks did meanwhile.
    pub(super) fn on_pong(&mut self, now: Instant, wall: WallMs) {
        self.pong_by = None;
        self.seen = (now, wall);
    }

    /// Tells whether the peer is overdue.
    pub(super) fn is_dead(&self, now: Instant) -> bool {
        self.pong_by.is_some_and(|by| by <= now)
    }

    /// Tells whether a ping is to be sent now, and counts it as sent.
    pub(super) fn take_ping(&mut self, now: Instant) -> bool {
        if self.ping_due > now {
            return false;
        }
        self.ping_due = now + PING_EVERY;
        self.pong_by = self.pong_by.or(Some(now + PONG_WITHIN));
        true
    }

    pub(super) fn deadline(&self) -> Instant {
        self.pong_by.map_or(self.ping_due, |by| by.min(self.ping_due))
    }
}
