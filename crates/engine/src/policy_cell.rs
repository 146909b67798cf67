//! The one place that holds the state of policy. A change is stored before anybody sees it.
//!
//! Two states are kept: what is stored, and what holds in this run. They differ by what flags and configuration say, which must
//! never find its way into the stored settings. Every change is made to both.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use drawbridge_core::SessionId;
use drawbridge_policy::PolicyState;
use tokio::sync::watch;

/// Writes the state down, durably.
pub(crate) type Persist = Box<dyn Fn(&PolicyState) -> Result<(), String> + Send + Sync>;

/// The present state. Readers get a whole, unchanging copy.
pub(crate) struct PolicyCell {
    now: RwLock<Arc<PolicyState>>,
    /// Held while a change is made: one at a time, so that none is lost.
    stored: Mutex<PolicyState>,
    persist: Persist,
    /// Told of each change, after it can be seen.
    changes: watch::Sender<()>,
}

impl PolicyCell {
    /// Takes what is stored and what holds in this run.
    pub(crate) fn new(stored: PolicyState, now: PolicyState, persist: Persist) -> Self {
        Self { now: RwLock::new(Arc::new(now)), stored: Mutex::new(stored), persist, changes: watch::Sender::new(()) }
    }

    /// Returns the state of this moment.
    pub(crate) fn get(&self) -> Arc<PolicyState> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what tells of each change from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Changes the state: stores it first, then lets it be seen.
    ///
    /// # Errors
    /// Why it could not be stored. The old state stays then.
    pub(crate) fn change(&self, edit: impl Fn(&mut PolicyState)) -> Result<Arc<PolicyState>, String> {
        let mut stored = self.lock();
        let mut next = stored.clone();
        edit(&mut next);
        (self.persist)(&next)?;
        *stored = next;
        Ok(self.show(&edit))
    }

    /// Changes the state in the strict direction even where it cannot be stored: a stop must hold for this run at least.
    ///
    /// # Errors
    /// Why it could not be stored; the new state holds until this program ends.
    pub(crate) fn tighten(&self, edit: impl Fn(&mut PolicyState)) -> Result<Arc<PolicyState>, String> {
        let mut stored = self.lock();
        let shown = self.show(&edit);
        edit(&mut stored);
        (self.persist)(&stored)?;
        Ok(shown)
    }

    /// Replaces the state by a fresh one that `store` has written down, for this run as `over` says.
    ///
    /// # Errors
    /// Why it could not be stored. The old state stays then.
    pub(crate) fn replace(
        &self,
        store: impl FnOnce() -> Result<PolicyState, String>,
        over: impl FnOnce(&PolicyState) -> PolicyState,
    ) -> Result<Arc<PolicyState>, String> {
        let mut stored = self.lock();
        *stored = store()?;
        let now = Arc::new(over(&stored));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now.clone();
        self.changes.send_replace(());
        Ok(now)
    }

    /// Changes what holds in this run and never what is stored.
    pub(crate) fn hold(&self, edit: impl Fn(&mut PolicyState)) -> Arc<PolicyState> {
        let _one = self.lock();
        self.show(&edit)
    }

    /// Drops what was allowed for a chat by answering questions: that holds as long as the chat has its folder.
    pub(crate) fn end_allowances(&self, session: &SessionId) {
        if !self.get().chat_allowances.keys().any(|allowance| allowance.session == *session) {
            return;
        }
        let stored = self.tighten(|state| {
            state.drop_allowances(session);
        });
        if let Err(fault) = stored {
            tracing::error!(%fault, "what was allowed for a chat is void in this run, but that could not be stored");
        }
    }

    fn show(&self, edit: &impl Fn(&mut PolicyState)) -> Arc<PolicyState> {
        let mut next = PolicyState::clone(&self.get());
        edit(&mut next);
        next.keep_within_ceilings();
        let next = Arc::new(next);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next.clone();
        self.changes.send_replace(());
        next
    }

    fn lock(&self) -> MutexGuard<'_, PolicyState> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_core::{Power, PowerMode};

    use super::*;

    fn with_flag() -> PolicyState {
        let mut now = PolicyState::defaults();
        now.modes.insert(Power::Shell, PowerMode::Allowed);
        now
    }

    #[test]
    fn what_a_flag_allows_is_never_stored() {
        let saved = Arc::new(Mutex::new(None));
        let seen = saved.clone();
        let persist: Persist = Box::new(move |state| {
            *seen.lock().unwrap() = Some(state.clone());
            Ok(())
        });
        let cell = PolicyCell::new(PolicyState::defaults(), with_flag(), persist);

        cell.change(|state| state.raised = true).unwrap();

        assert_eq!(cell.get().mode(Power::Shell), PowerMode::Allowed);
        let saved = saved.lock().unwrap().clone().unwrap();
        assert_eq!((saved.raised, saved.mode(Power::Shell)), (true, PowerMode::Off));
    }

    #[test]
    fn a_change_that_cannot_be_stored_does_not_happen_but_a_stop_does() {
        let cell = PolicyCell::new(
            PolicyState::defaults(),
            PolicyState::defaults(),
            Box::new(|_| Err("the disk is full".to_owned())),
        );

        let open_up = |state: &mut PolicyState| {
            state.modes.insert(Power::Shell, PowerMode::Allowed);
        };
        assert!(cell.change(open_up).is_err());
        assert_eq!(cell.get().mode(Power::Shell), PowerMode::Off);
        assert!(cell.tighten(|state| state.raised = true).is_err());
        assert!(cell.get().raised);
    }
}
