//! How often something was tried in the last minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// The attempts of the last minute. It never holds more than the limit.
#[derive(Debug, Default)]
pub(crate) struct Minute(VecDeque<Instant>);

impl Minute {
    /// Counts an attempt, unless there were as many already.
    pub(crate) fn admit(&mut self, now: Instant, limit: u32) -> bool {
        while self.0.front().is_some_and(|then| now.saturating_duration_since(*then) >= MINUTE) {
            self.0.pop_front();
        }
        let admitted = self.0.len() < usize::try_from(limit).unwrap_or(usize::MAX);
        if admitted {
            self.0.push_back(now);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_counts_for_a_minute_and_a_refused_one_never() {
        let mut minute = Minute::default();
        let begin = Instant::now();
        let mut at = |seconds| minute.admit(begin + Duration::from_secs(seconds), 2);

        assert_eq!([at(0), at(30), at(59), at(60), at(61), at(90)], [true, true, false, true, false, true]);
    }

    #[test]
    fn a_limit_that_was_lowered_holds_at_once() {
        let mut minute = Minute::default();
        let begin = Instant::now();
        assert!(minute.admit(begin, 2) && minute.admit(begin, 2));

        assert!(!minute.admit(begin, 1) && !minute.admit(begin, 0));
        assert!(minute.admit(begin + MINUTE, 1));
    }
}
