//! The body of a streamed answer: steps, one after the other.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use tokio::time::{Interval, MissedTickBehavior};

use super::Shared;
use super::forms::Head;
use super::script::Step;

/// Tells the server that somebody hung up, unless the answer came to its end.
pub(crate) struct Listener {
    shared: Arc<Shared>,
    done: bool,
}

impl Listener {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, done: false }
    }

    pub(crate) fn done(&mut self) {
        self.done = true;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if !self.done {
            self.shared.saw(|seen| seen.hung_up += 1);
        }
    }
}

struct Speaking {
    shared: Arc<Shared>,
    head: Head,
    steps: std::vec::IntoIter<Step>,
    pace: Option<Interval>,
    answered: u64,
    listener: Listener,
}

/// Streams the steps at this pace.
pub(crate) fn streamed(
    shared: Arc<Shared>,
    head: Head,
    steps: Vec<Step>,
    pace: Option<Duration>,
    listener: Listener,
) -> Body {
    // Each word comes at its own time, however long the one before took.
    let pace = pace.filter(|pace| !pace.is_zero()).map(|pace| {
        let mut ticks = tokio::time::interval(pace);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        ticks
    });
    let speaking = Speaking { shared, head, steps: steps.into_iter(), pace, answered: 0, listener };
    Body::from_stream(stream::try_unfold(speaking, |mut speaking| async move {
        let shared = Arc::clone(&speaking.shared);
        let next = tokio::select! {
            () = shared.stop() => Err(broken()),
            next = speaking.next() => next,
        };
        if !matches!(next, Ok(Some(_))) {
            speaking.listener.done();
        }
        Ok::<_, std::io::Error>(next?.map(|bytes| (bytes, speaking)))
    }))
}

impl Speaking {
    async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        for step in self.steps.by_ref() {
            match &step {
                Step::Hold => self.shared.hold().await,
                Step::Cut => {
                    // What was said before leaves first.
                    tokio::task::yield_now().await;
                    return Err(broken());
                }
                Step::Text(_) | Step::Thinking(_) => {
                    if let Some(pace) = &mut self.pace {
                        pace.tick().await;
                    }
                    self.answered += 1;
                }
                Step::Finish(_) | Step::FinishUncounted(_) | Step::Error(_) | Step::Raw(_) => {}
            }
            if let Some(bytes) = self.head.bytes(&step, self.answered) {
                let opens = matches!(step, Step::Text(_) | Step::Thinking(_)) && self.answered == 1;
                return Ok(Some(if opens { [self.head.opening(), bytes].concat() } else { bytes }));
            }
        }
        Ok(None)
    }
}

fn broken() -> std::io::Error {
    std::io::Error::other("the practice model server breaks off")
}
