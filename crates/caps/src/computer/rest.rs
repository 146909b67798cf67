//! Closing what looks at the seat when nobody has used it for a while, so that an idle program has no thread, no helper process and
//! nothing that wakes it when the person moves the mouse.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::Computer;

/// So long after the last use.
const AFTER: Duration = Duration::from_secs(60);

/// When the seat was used last, and whether somebody waits to close it.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    used: Option<Instant>,
    awaited: bool,
}

impl Rest {
    /// Notes a use. Returns whether somebody has to begin to wait.
    fn used(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.used = Some(Instant::now());
        !std::mem::replace(&mut state.awaited, true)
    }

    /// Returns when the seat is due to be closed; none, and nobody waits any more, when that is now.
    fn due(&self) -> Option<Instant> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = state.used.map(|used| used + AFTER).filter(|due| *due > Instant::now());
        state.awaited = due.is_some();
        due
    }

    fn soon(&self) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).used.map(|used| used + AFTER)
    }
}

impl Computer {
    /// Notes a use of the seat, which is closed a while after the last one. Without a runtime nobody can wait, and it stays open.
    pub(super) fn rest_later(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if !self.rest.used() {
            return;
        }
        // It must not keep the seat open by itself.
        let (inner, turn, rest) = (Arc::downgrade(&self.inner), self.turn.clone(), self.rest.clone());
        runtime.spawn(async move {
            while let Some(soon) = rest.soon() {
                tokio::time::sleep_until(soon).await;
                // Whoever has the turn uses the seat.
                let turn = turn.clone().lock_owned().await;
                if rest.due().is_some() {
                    continue;
                }
                let Some(inner) = inner.upgrade() else { return };
                let closed = tokio::task::spawn_blocking(move || {
                    inner.seats.rest();
                    // Pictures have left a lot that is free and not given back.
                    drawbridge_os::memory::give_back();
                    drop(turn);
                });
                if let Err(fault) = closed.await {
                    tracing::warn!(%fault, "the seat was not closed properly");
                }
                return;
            }
        });
    }
}
