//! How many commands in a minute and at once, over the whole machine (spec 9.2).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use drawbridge_core::OpError;

use crate::minute::Minute;

/// The attempts of the last minute and the commands at work.
#[derive(Debug, Default)]
pub(super) struct Window {
    attempts: Minute,
    running: u32,
}

/// One of the places for commands at work. Given back when dropped.
#[derive(Debug)]
pub(super) struct Slot(Arc<Mutex<Window>>);

impl Drop for Slot {
    fn drop(&mut self) {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        window.running = window.running.saturating_sub(1);
    }
}

/// Takes a place. An attempt that passes the first limit counts, also when the second one refuses it.
pub(super) fn admit(shared: &Arc<Mutex<Window>>, now: Instant, per_minute: u32, at_once: u32) -> Result<Slot, OpError> {
    let mut window = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if !window.attempts.admit(now, per_minute) {
        return Err(OpError::Overloaded { what: "commands a minute", reason: "commands_per_minute", max: per_minute });
    }
    if window.running >= at_once {
        return Err(OpError::Overloaded { what: "commands at once", reason: "concurrent_commands", max: at_once });
    }
    window.running += 1;
    Ok(Slot(Arc::clone(shared)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_place_comes_free_with_its_slot_and_attempts_leave_the_window_after_a_minute() {
        let shared = Arc::default();
        let begin = Instant::now();
        let first = admit(&shared, begin, 4, 2).unwrap();
        let _second = admit(&shared, begin, 4, 2).unwrap();
        let refused = |after| admit(&shared, begin + Duration::from_secs(after), 4, 2).err();

        assert!(matches!(refused(1), Some(OpError::Overloaded { reason: "concurrent_commands", max: 2, .. })));
        drop(first);
        let _third = admit(&shared, begin, 4, 2).unwrap();
        assert!(matches!(refused(59), Some(OpError::Overloaded { reason: "commands_per_minute", max: 4, .. })));
        assert!(matches!(refused(61), Some(OpError::Overloaded { reason: "concurrent_commands", .. })));
    }
}
