//! What the agent put into the clipboard last: one slot, without the text itself.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::OpError;
use drawbridge_core::computer::ClipboardReason;
use drawbridge_os::seat::clipboard::Look;
use sha2::{Digest as _, Sha256};

/// How long the agent may read what it wrote.
const WINDOW: Duration = Duration::from_secs(30);

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrote {
    digest: [u8; 32],
    /// The count of changes after it, where there is one.
    counter: Option<u64>,
    at: Instant,
}

/// The last write, told from others without keeping it.
#[derive(Debug, Default)]
pub(in super::super) struct OwnText {
    slot: Mutex<Option<Wrote>>,
}

impl OwnText {
    /// Remembers a write in the place of the one before.
    pub(super) fn wrote(&self, text: &str, counter: Option<u64>, at: Instant) {
        self.set(Some(Wrote { digest: digest(text), counter, at }));
    }

    /// Returns the last write, to be set again after something that changes the clipboard and puts it back.
    pub(super) fn last(&self) -> Option<Wrote> {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what [`OwnText::last`] returned.
    pub(super) fn set(&self, wrote: Option<Wrote>) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = wrote;
    }

    /// Sets what [`OwnText::last`] returned, after that very text was put back with a new count.
    pub(super) fn put_back(&self, wrote: Option<Wrote>, counter: Option<u64>) {
        self.set(wrote.map(|wrote| Wrote { counter, ..wrote }));
    }

    /// Refuses unless the clipboard was not changed since a write that is young enough.
    pub(super) fn unchanged(&self, look: &Look, now: Instant) -> Result<(), OpError> {
        let (wrote, age) = self.young(now)?;
        if look.ours && look.counter == wrote.counter { Ok(()) } else { Err(overwritten(age)) }
    }

    /// Refuses unless it is the text of a write that is young enough.
    pub(super) fn same(&self, text: &str, now: Instant) -> Result<(), OpError> {
        let (wrote, age) = self.young(now)?;
        if digest(text) == wrote.digest { Ok(()) } else { Err(overwritten(age)) }
    }

    fn young(&self, now: Instant) -> Result<(Wrote, Duration), OpError> {
        let wrote = self.last();
        let age = wrote.map(|wrote| now.saturating_duration_since(wrote.at));
        match (wrote, age) {
            (Some(wrote), Some(age)) if age <= WINDOW => Ok((wrote, age)),
            _ => {
                let age_seconds = age.map(|age| age.as_secs_f64());
                Err(OpError::ClipboardConcealed { reason: ClipboardReason::WritebackOnly { age_seconds } })
            }
        }
    }
}

fn overwritten(age: Duration) -> OpError {
    let age_seconds = age.as_secs_f64();
    OpError::ClipboardConcealed { reason: ClipboardReason::WritebackOverwritten { age_seconds } }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
