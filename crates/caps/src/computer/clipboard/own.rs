//! What the agent put into the clipboard last: one slot, without the text itself.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::computer::ClipboardReason;
use drawbridge_core::{OpError, SessionId};
use drawbridge_os::seat::clipboard::Look;
use sha2::{Digest as _, Sha256};

/// How long the agent may read what it wrote.
const WINDOW: Duration = Duration::from_secs(30);

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrote {
    /// The chat that wrote it: what one agent wrote is no other one's to read.
    by: Option<SessionId>,
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
    pub(super) fn wrote(&self, by: Option<&SessionId>, text: &str, counter: Option<u64>, at: Instant) {
        self.set(Some(Wrote { by: by.cloned(), digest: digest(text), counter, at }));
    }

    /// Returns the last write, to be set again after something that changes the clipboard and puts it back.
    pub(super) fn last(&self) -> Option<Wrote> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets what [`OwnText::last`] returned.
    pub(super) fn set(&self, wrote: Option<Wrote>) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = wrote;
    }

    /// Sets what [`OwnText::last`] returned, after that very text was put back with a new count.
    pub(super) fn put_back(&self, wrote: Option<Wrote>, counter: Option<u64>) {
        self.set(wrote.map(|wrote| Wrote { counter, ..wrote }));
    }

    /// Refuses unless the clipboard was not changed since a write of this chat that is young enough.
    pub(super) fn unchanged(&self, by: Option<&SessionId>, look: &Look, now: Instant) -> Result<(), OpError> {
        let (wrote, age) = self.young(by, now)?;
        if look.ours && look.counter == wrote.counter { Ok(()) } else { Err(overwritten(age)) }
    }

    /// Refuses unless it is the text of a write of this chat that is young enough.
    pub(super) fn same(&self, by: Option<&SessionId>, text: &str, now: Instant) -> Result<(), OpError> {
        let (wrote, age) = self.young(by, now)?;
        if digest(text) == wrote.digest { Ok(()) } else { Err(overwritten(age)) }
    }

    fn young(&self, by: Option<&SessionId>, now: Instant) -> Result<(Wrote, Duration), OpError> {
        let wrote = self.last().filter(|wrote| wrote.by.as_ref() == by);
        let age = wrote.as_ref().map(|wrote| now.saturating_duration_since(wrote.at));
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
