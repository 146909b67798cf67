//! A time limit for what may hang: each check on a thread of its own.
//!
//! A thread that hangs cannot be ended. It is left behind once, and as long as it hangs the same check is not started again,
//! so that no thread piles up however often somebody asks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::words;
use super::{Finding, FindingState};

/// Checks whose thread hangs now.
static LEFT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Runs a check that may block. One that does not come back in time is a finding of its own. `unit` tells checks of one name apart.
pub(super) async fn within(
    limit: Duration,
    check: &'static str,
    unit: &str,
    work: impl FnOnce() -> Vec<Finding> + Send + 'static,
) -> Vec<Finding> {
    let name = format!("{check} {unit}");
    if LEFT.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
        return vec![silent(check, limit)];
    }
    let (answer, answered) = oneshot::channel();
    let done = Arc::new(AtomicBool::new(false));
    let (its_done, its_name) = (Arc::clone(&done), name.clone());
    let thread = std::thread::Builder::new().name("check-up".to_owned()).spawn(move || {
        let found = work();
        {
            let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
            its_done.store(true, Ordering::Release);
            left.remove(&its_name);
        }
        // Nobody waits any more when the limit has passed.
        let _ = answer.send(found);
    });
    if thread.is_ok() {
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(found)) => return found,
            // The thread died in a library, which is no answer either.
            Ok(Err(_)) => {}
            Err(_) => {
                let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
                if !done.load(Ordering::Acquire) {
                    left.insert(name);
                }
            }
        }
    }
    vec![silent(check, limit)]
}

/// The finding of a check that had no answer.
pub(super) fn silent(check: &'static str, limit: Duration) -> Finding {
    Finding::new(check, FindingState::Warn, &words::SILENT, &[("seconds", &limit.as_secs())])
}
