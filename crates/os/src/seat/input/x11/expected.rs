//! Which events on the display are our own.
//!
//! What we send comes back as raw events in the order in which it was sent, keys and pointer each for themselves: a window manager
//! that looks at a click first holds the pointer meanwhile, and the keys go on. Other programs can send through XTEST as well (a remote
//! desktop does), on the same virtual device, so the device says nothing. If a person's event is taken for ours because it is equal,
//! ours is left over and counts as the person's: the answer is right all the same.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What was sent this long ago and has not come back never will: the server leaves out what changes nothing. A window manager that
/// looks at a click first may hold the pointer for seconds on a busy computer.
const STALE: Duration = Duration::from_secs(10);

/// One act on the display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// A key goes down or up.
    Key {
        /// Its code.
        code: u8,
        /// Down.
        down: bool,
    },
    /// A button goes down or up.
    Button {
        /// Its number.
        number: u8,
        /// Down.
        down: bool,
    },
    /// The pointer moves.
    Motion,
}

impl Act {
    const fn is_key(self) -> bool {
        matches!(self, Self::Key { .. })
    }
}

/// What was sent and has not come back yet.
#[derive(Debug, Default)]
pub(super) struct Expected {
    sent: Mutex<VecDeque<(Act, Instant)>>,
}

impl Expected {
    /// Notes an act before it is sent.
    pub(super) fn sent(&self, act: Act, now: Instant) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while sent.front().is_some_and(|(_, at)| now.saturating_duration_since(*at) > STALE) {
            sent.pop_front();
        }
        sent.push_back((act, now));
    }

    /// Tells whether an act that was seen is one of ours.
    pub(super) fn is_ours(&self, act: Act, now: Instant) -> bool {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |at: &Instant| now.saturating_duration_since(*at) <= STALE;
        match sent.iter().position(|(ours, at)| *ours == act && fresh(at)) {
            Some(place) => {
                // Those before it changed nothing and do not come back any more.
                let mut number = 0..;
                sent.retain(|(ours, _)| number.next() > Some(place) || ours.is_key() != act.is_key());
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A_DOWN: Act = Act::Key { code: 38, down: true };
    const A_UP: Act = Act::Key { code: 38, down: false };

    #[test]
    fn what_was_sent_is_ours_once_and_in_its_order() {
        let (expected, now) = (Expected::default(), Instant::now());
        [A_DOWN, A_UP, Act::Motion].into_iter().for_each(|act| expected.sent(act, now));

        assert!(!expected.is_ours(Act::Button { number: 1, down: true }, now));
        assert!(expected.is_ours(A_DOWN, now) && expected.is_ours(A_UP, now) && expected.is_ours(Act::Motion, now));
        assert!(!expected.is_ours(A_DOWN, now) && !expected.is_ours(Act::Motion, now));
    }

    #[test]
    fn what_the_server_left_out_hides_nobody() {
        let (expected, now) = (Expected::default(), Instant::now());
        let up = Act::Button { number: 1, down: false };
        [up, Act::Motion].into_iter().for_each(|act| expected.sent(act, now));

        assert!(expected.is_ours(Act::Motion, now));
        assert!(!expected.is_ours(up, now), "it was sent before the motion, which has come back");
    }

    #[test]
    fn keys_overtake_a_pointer_that_is_held() {
        let (expected, now) = (Expected::default(), Instant::now());
        let button = |down| Act::Button { number: 1, down };
        [button(true), button(false), A_DOWN, A_UP, Act::Motion].into_iter().for_each(|act| expected.sent(act, now));

        for act in [button(true), A_DOWN, A_UP, button(false), Act::Motion] {
            assert!(expected.is_ours(act, now), "{act:?}");
        }
        assert!(expected.sent.lock().unwrap().is_empty());
    }

    #[test]
    fn what_never_came_back_is_forgotten() {
        let (expected, now) = (Expected::default(), Instant::now());
        expected.sent(A_DOWN, now);

        assert!(!expected.is_ours(A_DOWN, now + STALE + Duration::from_millis(1)));
        expected.sent(Act::Motion, now + STALE * 2);
        assert_eq!(expected.sent.lock().unwrap().len(), 1);
    }
}
