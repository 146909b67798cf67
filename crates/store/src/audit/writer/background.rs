//! What runs beside the writer: syncing and moving the head on, and copying the head to the secret store.

use std::io;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_os::private;
use secrecy::SecretString;

use super::super::head::{self, HeadFile};
use super::{Shared, State, read_entry};
use crate::secrets::{SecretStore, entries};

/// How long a record may wait for its sync. Half of what is promised: the sync takes its own time.
const SYNC_WITHIN: Duration = Duration::from_millis(50);
/// After so many records, or this long, the secret store gets a copy of the head.
pub(super) const COPY_RECORDS: u64 = 64;
const COPY_WITHIN: Duration = Duration::from_secs(60);

impl Shared {
    /// Runs until the log is closed, or until something could not be synced.
    pub(super) fn sync_until_closed(&self, mut head_file: HeadFile) {
        let mut state = self.lock();
        loop {
            state = wait_while(&self.to_sync, state, |state| !state.dirty && !state.closing);
            if !state.closing {
                let waited = self.to_sync.wait_timeout_while(state, SYNC_WITHIN, |state| !state.closing);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let last = state.closing;
            let (file, head) = (state.file.clone(), self.head(&state));
            state.dirty = false;
            drop(state);
            // The log first: a head may be behind the log, never before it.
            let synced = file.sync_data().and_then(|()| {
                if private::has_name(&file) {
                    Ok(())
                } else {
                    Err(io::Error::other("the file was deleted while it was in use"))
                }
            });
            let moved = synced.and_then(|()| head_file.write(&head, &self.mac));
            let moved = if last { moved.and_then(|()| head_file.sync()) } else { moved };
            state = self.lock();
            if let Err(error) = moved {
                self.latch(&mut state, &error.to_string());
                return;
            }
            if last {
                return;
            }
        }
    }

    /// Runs until the log is closed.
    pub(super) fn copy_until_closed(&self, secrets: &dyn SecretStore) {
        let cheap = secrets.writes_are_cheap();
        let idle = |state: &mut State| !state.closing && !state.copy_now && state.uncopied == 0;
        let early = |state: &mut State| {
            let enough = cheap && state.uncopied >= COPY_RECORDS;
            !state.closing && !state.copy_now && !enough
        };
        let mut copied = String::new();
        let mut state = self.lock();
        loop {
            state = wait_while(&self.to_copy, state, idle);
            let waited = self.to_copy.wait_timeout_while(state, COPY_WITHIN, early);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let (last, head, file) = (state.closing, self.head(&state), state.file.clone());
            state.copy_now = false;
            state.uncopied = 0;
            drop(state);
            // As with the head file: never before the log itself is on disk.
            if head.hmac != copied && file.sync_data().is_ok() {
                let entry = read_entry(secrets);
                let next = SecretString::from(head::with_copy(entry.as_deref(), &head, &self.mac));
                match secrets.set(entries::AUDIT_HEAD, &next) {
                    Ok(()) => copied.clone_from(&head.hmac),
                    Err(fault) => {
                        tracing::warn!(%fault, "the head of the audit log was not copied to the secret store");
                    }
                }
            }
            if last {
                return;
            }
            state = self.lock();
        }
    }
}

fn wait_while<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, State>,
    waits: impl FnMut(&mut State) -> bool,
) -> MutexGuard<'a, State> {
    condition.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner)
}
