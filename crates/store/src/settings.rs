//! The person's switches: powers, shell mode, the stop, what was allowed for a chat or always. `settings.json` in the state
//! folder; how it is written is in [`document`].
//!
//! A file that cannot be trusted means that everything is denied; it stays as it is until the person acts.

mod document;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use drawbridge_os::private;
use drawbridge_policy::PolicyState;

use document::{Others, parse, write};

use crate::accounts::DEFAULT;

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
    /// Whose chats the state tells of. Ids of chats come from a platform, so what was allowed for one of them must never hold
    /// for a chat of the same id elsewhere.
    account: String,
    others: Mutex<Others>,
}

impl Settings {
    /// Reads the settings as the account `default` has them. See [`Settings::open_of`].
    #[must_use]
    pub fn open(state_dir: &Path) -> (Self, PolicyState) {
        Self::open_of(state_dir, DEFAULT)
    }

    /// Reads the settings. Missing ones are the defaults; broken or newer ones set [`PolicyState::broken`]. What holds for
    /// single chats is that of this account; what holds for those of the others stays in the file. A broken or newer file that
    /// says that the bridge is raised is believed in that.
    #[must_use]
    pub fn open_of(state_dir: &Path, account: &str) -> (Self, PolicyState) {
        let path = state_dir.join("settings.json");
        private::sweep(&path);
        let (state, others, broken) = read(&path, account);
        (Self { path, broken: Mutex::new(broken), account: account.to_owned(), others: Mutex::new(others) }, state)
    }

    /// Drops what holds for the chats of an account that is not in use. Written with the next [`Settings::save`].
    pub fn forget_account(&self, account: &str) {
        self.others.lock().unwrap_or_else(PoisonError::into_inner).remove(account);
    }

    /// Reads the settings as [`Settings::open`] does and touches nothing, so that it may be done beside the owner.
    #[must_use]
    pub fn peek(state_dir: &Path) -> PolicyState {
        Self::peek_of(state_dir, DEFAULT)
    }

    /// As [`Settings::peek`], with what holds for the chats of this account.
    #[must_use]
    pub fn peek_of(state_dir: &Path, account: &str) -> PolicyState {
        read(&state_dir.join("settings.json"), account).0
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
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = write(state, &self.account, &others).map_err(|err| fault(std::io::Error::other(err)))?;
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
        self.others.lock().unwrap_or_else(PoisonError::into_inner).clear();
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

/// Reads the file for one account; with what the others have, and with why it is broken, if it is.
fn read(path: &Path, account: &str) -> (PolicyState, Others, Option<String>) {
    let bytes = private::read(path);
    let read = match &bytes {
        Ok(bytes) => parse(bytes, account),
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok((PolicyState::defaults(), Others::new())),
        Err(err) => Err(err.to_string()),
    };
    match read {
        Ok((state, others)) => (state, others, None),
        Err(why) => {
            let mut state = PolicyState::defaults();
            state.raised = bytes.is_ok_and(|bytes| tells_of_the_stop(&bytes));
            state.broken = Some(format!("{}: {why}", path.display()));
            (state, Others::new(), Some(why))
        }
    }
}

/// Whether a file that cannot be trusted still says that the bridge is raised. Believed alone because it allows nothing: else
/// beginning afresh, or a newer version's file, would lower it behind the person's back.
fn tells_of_the_stop(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut values = text.split("\"raised\"").skip(1).map(str::trim_start);
    values.any(|rest| rest.strip_prefix(':').is_some_and(|value| value.trim_start().starts_with("true")))
}

#[cfg(test)]
#[path = "settings/settings_tests.rs"]
mod tests;
