//! The person's switches: powers, shell mode, the stop, what was allowed for a chat or always. `settings.json` in the state
//! folder; how it is written is in [`document`].
//!
//! A file that cannot be trusted means that everything is denied; it stays as it is until the person acts.

mod document;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use drawbridge_os::private;
use drawbridge_policy::PolicyState;

use document::{parse, write};

/// Why settings were not saved.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFault {
    /// The stored file cannot be trusted and was not overwritten.
    #[error("the settings {} cannot be read ({why}), so they are not overwritten; start afresh to set them aside", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It could not be written.
    #[error("the settings {} could not be saved: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

/// The settings of a state folder.
#[derive(Debug)]
pub struct Settings {
    path: PathBuf,
    broken: Mutex<Option<String>>,
}

impl Settings {
    /// Reads the settings. Missing ones are the defaults; broken or newer ones set [`PolicyState::broken`].
    #[must_use]
    pub fn open(state_dir: &Path) -> (Self, PolicyState) {
        let path = state_dir.join("settings.json");
        private::sweep(&path);
        let (state, broken) = read(&path);
        (Self { path, broken: Mutex::new(broken) }, state)
    }

    /// Reads the settings as [`Settings::open`] does and touches nothing, so that it may be done beside the owner.
    #[must_use]
    pub fn peek(state_dir: &Path) -> PolicyState {
        read(&state_dir.join("settings.json")).0
    }

    /// Saves the person's switches, whole and durably. What flags add for one run must not be in `state`.
    ///
    /// # Errors
    /// [`SettingsFault`]; the old file is untouched then.
    pub fn save(&self, state: &PolicyState) -> Result<(), SettingsFault> {
        if let Some(why) = self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(SettingsFault::Broken { path: self.path.clone(), why });
        }
        let fault = |error| SettingsFault::Io { path: self.path.clone(), error };
        let bytes = write(state).map_err(|err| fault(std::io::Error::other(err)))?;
        private::replace(&self.path, &bytes).map_err(fault)
    }

    /// By the person's wish: sets a broken file aside under a new name and saves the defaults, which are returned. What is known
    /// of the stop is kept: a raised bridge stays raised, and its count never falls, since permits are measured by it.
    ///
    /// # Errors
    /// [`SettingsFault::Io`].
    pub fn start_afresh(&self, raised: bool, raise_count: u64) -> Result<PolicyState, SettingsFault> {
        let fault = |error| SettingsFault::Io { path: self.path.clone(), error };
        match private::set_aside(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(error)),
            Ok(_) | Err(_) => {}
        }
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let state = PolicyState { raised, raise_count, ..PolicyState::defaults() };
        self.save(&state)?;
        Ok(state)
    }
}

/// Raises or lowers the bridge of an engine that does not run.
///
/// # Errors
/// [`SettingsFault`].
pub fn set_raised(state_dir: &Path, raised: bool) -> Result<(), SettingsFault> {
    let (settings, mut state) = Settings::open(state_dir);
    if raised && !state.raised {
        state.raise_count += 1;
    }
    state.raised = raised;
    settings.save(&state)
}

/// Reads the file; with why it is broken, if it is.
fn read(path: &Path) -> (PolicyState, Option<String>) {
    let read = match private::read(path) {
        Ok(bytes) => parse(&bytes),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(PolicyState::defaults()),
        Err(err) => Err(err.to_string()),
    };
    match read {
        Ok(state) => (state, None),
        Err(why) => {
            let mut state = PolicyState::defaults();
            state.broken = Some(format!("{}: {why}", path.display()));
            (state, Some(why))
        }
    }
}

#[cfg(test)]
#[path = "settings/settings_tests.rs"]
mod tests;
