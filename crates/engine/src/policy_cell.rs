//! The one place that holds the state of policy. A change is stored before anybody sees it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use drawbridge_policy::PolicyState;

/// Writes the state down, durably.
pub(crate) type Persist = Box<dyn Fn(&PolicyState) -> Result<(), String> + Send + Sync>;

/// The present state. Readers get a whole, unchanging copy.
pub(crate) struct PolicyCell {
    now: RwLock<Arc<PolicyState>>,
    /// One change at a time, so that none is lost between reading and storing.
    changing: Mutex<()>,
    persist: Persist,
}

impl PolicyCell {
    pub(crate) fn new(state: PolicyState, persist: Persist) -> Self {
        Self { now: RwLock::new(Arc::new(state)), changing: Mutex::new(()), persist }
    }

    /// Returns the state of this moment.
    pub(crate) fn get(&self) -> Arc<PolicyState> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the state: stores it first, then lets it be seen.
    ///
    /// # Errors
    /// Why it could not be stored. The old state stays then.
    pub(crate) fn change(&self, edit: impl FnOnce(&mut PolicyState)) -> Result<Arc<PolicyState>, String> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = PolicyState::clone(&self.get());
        edit(&mut next);
        (self.persist)(&next)?;
        let next = Arc::new(next);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next.clone();
        Ok(next)
    }

    /// Changes the state in the strict direction even where it cannot be stored: a stop must hold for this run at least.
    ///
    /// # Errors
    /// Why it could not be stored; the new state holds until this program ends.
    pub(crate) fn tighten(&self, edit: impl FnOnce(&mut PolicyState)) -> Result<Arc<PolicyState>, String> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = PolicyState::clone(&self.get());
        edit(&mut next);
        let next = Arc::new(next);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next.clone();
        (self.persist)(&next)?;
        Ok(next)
    }
}
