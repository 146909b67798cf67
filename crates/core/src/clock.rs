//! Time comes in from outside, so that tests decide it.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall time in Unix milliseconds. Only for the audit log, expiry of grants and tokens, and the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallMs(pub i64);

impl WallMs {
    /// Returns whole Unix seconds.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns this time moved later by `by`, saturating.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// The two clocks. `now` never goes back; `wall` may jump.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns monotonic time.
    fn now(&self) -> Instant;
    /// Returns wall time.
    fn wall(&self) -> WallMs;
}

/// The clocks of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> WallMs {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WallMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that moves only when told. For tests of everything that waits.
#[derive(Debug)]
pub struct ManualClock {
    start: Instant,
    state: Mutex<(Duration, i64)>,
}

impl ManualClock {
    /// Starts at the given wall time.
    #[must_use]
    pub fn starting_at(wall: WallMs) -> Self {
        Self { start: Instant::now(), state: Mutex::new((Duration::ZERO, wall.0)) }
    }

    /// Moves both clocks on.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.0 += by;
        state.1 += i64::try_from(by.as_millis()).unwrap_or(0);
    }

    /// Moves the wall clock alone, as a person or a time server does.
    pub fn set_wall(&self, wall: WallMs) {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1 = wall.0;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start + self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0
    }

    fn wall(&self) -> WallMs {
        WallMs(self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1)
    }
}
