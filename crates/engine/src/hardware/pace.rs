//! How soon changes of devices are followed: a plug with a loose contact must not have every link say HELLO all the time.

use std::time::Duration;

use tokio::time::Instant;

/// The first rest, once changes come in a row.
const FIRST: Duration = Duration::from_secs(1);
/// The longest rest.
const LONGEST: Duration = Duration::from_secs(30);
/// Changes that are this far apart, beyond the rest, come in no row.
const APART: Duration = Duration::from_secs(10);

/// Knows how fast changes came lately.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    rest: Duration,
}

impl Pace {
    /// Notes that a change was followed now, and returns how long to rest before the next one is.
    pub(super) fn rest(&mut self, now: Instant) -> Duration {
        let in_a_row = self.last.is_some_and(|last| now.saturating_duration_since(last) < self.rest + APART);
        self.rest = if in_a_row { (self.rest * 2).clamp(FIRST, LONGEST) } else { Duration::ZERO };
        self.last = Some(now);
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_in_a_row_are_followed_ever_more_slowly_and_one_alone_at_once() {
        let mut pace = Pace::default();
        let mut rests = Vec::new();
        for _ in 0..8 {
            let rest = pace.rest(Instant::now());
            rests.push(rest.as_secs());
            tokio::time::advance(rest + Duration::from_millis(300)).await;
        }
        assert_eq!(rests, [0, 1, 2, 4, 8, 16, 30, 30]);
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(pace.rest(Instant::now()), Duration::ZERO);
    }
}
