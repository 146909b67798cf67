//! Whether a program has nothing left to do: the proof that it has handled its keys for programs that cannot be asked.
//!
//! A program whose threads all sleep, and of which none was awake for a while, waits for something; with keys that it has not read
//! it would be awake. A program that never rests, or runs elsewhere, proves nothing by this.

use std::fs;
use std::time::{Duration, Instant};

/// How long no thread of a program may have been awake.
const QUIET: Duration = Duration::from_millis(30);

/// What a look at a program showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    at: Instant,
    /// How often its threads went to sleep.
    sleeps: u64,
}

/// Looks at one program.
#[derive(Debug)]
pub(super) struct Rest {
    process: u32,
    first: Option<Look>,
}

impl Rest {
    /// Looks at a process.
    pub(super) fn of(process: u32) -> Self {
        Self { process, first: None }
    }

    /// Looks at it, and returns since when it was at rest, if it was for long enough.
    pub(super) fn since(&mut self, now: Instant) -> Option<Instant> {
        let Some(sleeps) = sleeps(self.process) else {
            self.first = None;
            return None;
        };
        match self.first {
            Some(first) if first.sleeps == sleeps => {
                (now.saturating_duration_since(first.at) >= QUIET).then_some(first.at)
            }
            Some(_) | None => {
                self.first = Some(Look { at: now, sleeps });
                None
            }
        }
    }
}

/// Returns how often the threads of a process went to sleep; none when one is awake or nothing can be learned.
fn sleeps(process: u32) -> Option<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let status = fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if !field("State:")?.starts_with('S') {
            return None;
        }
        sum += field("voluntary_ctxt_switches:")?.parse::<u64>().ok()?;
        sum += field("nonvoluntary_ctxt_switches:")?.parse::<u64>().ok()?;
    }
    (sum > 0).then_some(sum)
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod tests;
