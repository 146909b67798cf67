//! When servers are looked at again by themselves.

use std::time::{Duration, Instant};

/// The usual time between two looks. Counted at the engine's rounds, so a little less is as good.
const USUAL: Duration = Duration::from_secs(55);
/// While nobody answers, the time doubles up to so often.
const DOUBLED: u32 = 3;
/// After a failed request nobody looks sooner than this.
const AFTER_A_FAULT: Duration = Duration::from_secs(2);

/// What is remembered of the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// When it ended; none before the first look at these servers.
    last: Option<Instant>,
    /// So many looks in a row found nobody.
    silent: u32,
}

impl Pace {
    /// Notes that a look has ended.
    pub(super) fn looked(&mut self, now: Instant, somebody_answers: bool) {
        self.last = Some(now);
        self.silent = if somebody_answers { 0 } else { self.silent.saturating_add(1) };
    }

    /// Tells whether it is time for another look.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let wait = USUAL * (1 << self.silent.saturating_sub(1).min(DOUBLED));
        self.last.is_none_or(|last| now.saturating_duration_since(last) >= wait)
    }

    /// Tells whether nobody has looked at these servers yet.
    pub(super) const fn is_first(&self) -> bool {
        self.last.is_none()
    }

    /// Tells whether a failed request is worth another look.
    pub(super) fn is_worth(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.saturating_duration_since(last) >= AFTER_A_FAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_are_silent_are_asked_less_and_less_often() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::default();
        assert!(pace.is_due(start) && pace.is_worth(start) && pace.is_first());

        pace.looked(start, true);
        assert!(!pace.is_due(after(54)) && pace.is_due(after(55)));
        assert!(!pace.is_worth(after(1)) && pace.is_worth(after(2)));

        for (silent, seconds) in [(1, 55), (2, 110), (3, 220), (4, 440), (5, 440), (90, 440)] {
            let mut pace = Pace::default();
            for _ in 0..silent {
                pace.looked(start, false);
            }
            assert!(!pace.is_due(after(seconds - 1)) && pace.is_due(after(seconds)), "{silent}");
        }
        assert!(!pace.is_first());
    }
}
