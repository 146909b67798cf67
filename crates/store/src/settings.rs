//! The person's switches: powers, shell mode, the stop, what was allowed for a chat. `settings.json` in the state folder.
//!
//! A file that cannot be trusted means that everything is denied; it stays as it is until the person acts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use drawbridge_core::{Power, PowerMode, SessionId};
use drawbridge_os::private;
use drawbridge_policy::{ChatAllowance, Given, Network, Origin, PolicyState, ShellMode};
use serde::{Deserialize, Serialize};

const VERSION: u64 = 1;

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

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    v: u64,
    raised: bool,
    raise_count: u64,
    powers: BTreeMap<String, String>,
    shell_mode: String,
    shell_network: String,
    chat_allowances: Vec<Allowance>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowance {
    session: String,
    power: String,
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
        let bytes = serde_json::to_vec_pretty(&document(state)).map_err(|err| fault(std::io::Error::other(err)))?;
        private::replace(&self.path, &bytes).map_err(fault)
    }

    /// By the person's wish: sets a broken file aside under a new name, which is returned, and saves the defaults.
    ///
    /// # Errors
    /// [`SettingsFault::Io`].
    pub fn start_afresh(&self) -> Result<PolicyState, SettingsFault> {
        let fault = |error| SettingsFault::Io { path: self.path.clone(), error };
        let mut number = 1_u32;
        let mut aside = self.path.with_file_name("settings.json.broken-1");
        while aside.symlink_metadata().is_ok() {
            number += 1;
            aside = self.path.with_file_name(format!("settings.json.broken-{number}"));
        }
        match std::fs::rename(&self.path, &aside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(error)),
            Ok(()) | Err(_) => {}
        }
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let state = PolicyState::defaults();
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
    let read = match std::fs::read(path) {
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

fn document(state: &PolicyState) -> Document {
    Document {
        v: VERSION,
        raised: state.raised,
        raise_count: state.raise_count,
        powers: state.modes.iter().map(|(power, mode)| (power.name().to_owned(), mode.name().to_owned())).collect(),
        shell_mode: match state.shell_mode {
            ShellMode::Confined => "confined",
            ShellMode::Full => "full",
        }
        .to_owned(),
        shell_network: match state.shell_network {
            Network::None => "none",
            Network::Loopback => "loopback",
            Network::All => "all",
        }
        .to_owned(),
        chat_allowances: state
            .chat_allowances
            .keys()
            .map(|one| Allowance { session: one.session.as_str().to_owned(), power: one.power.name().to_owned() })
            .collect(),
    }
}

fn parse(bytes: &[u8]) -> Result<PolicyState, String> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|err| err.to_string())?;
    // An older version is brought forward here, one step each, before it is read.
    match value.get("v").and_then(serde_json::Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => return Err(format!("they are of version {other}, and this Drawbridge knows {VERSION}")),
        None => return Err("they name no version".to_owned()),
    }
    let document: Document = serde_json::from_value(value).map_err(|err| err.to_string())?;
    let power = |name: &str| Power::from_name(name).ok_or_else(|| format!("{name:?} is no power"));
    let mut state = PolicyState::defaults();
    state.raised = document.raised;
    state.raise_count = document.raise_count;
    for (name, mode) in &document.powers {
        let mode = PowerMode::from_name(mode).ok_or_else(|| format!("{mode:?} is no mode of a power"))?;
        state.modes.insert(power(name)?, mode);
    }
    state.shell_mode = match document.shell_mode.as_str() {
        "confined" => ShellMode::Confined,
        "full" => ShellMode::Full,
        other => return Err(format!("{other:?} is no shell mode")),
    };
    state.shell_network = match document.shell_network.as_str() {
        "none" => Network::None,
        "loopback" => Network::Loopback,
        "all" => Network::All,
        other => return Err(format!("{other:?} is no network")),
    };
    for one in &document.chat_allowances {
        let session = SessionId::parse(&one.session).map_err(|err| err.to_string())?;
        let given = Given { origin: Origin::Answered, at_ms: 0 };
        state.chat_allowances.insert(ChatAllowance { session, power: power(&one.power)? }, given);
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_and_the_switches_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, mut state) = Settings::open(dir.path());
        state.raised = true;
        state.raise_count = 3;
        state.modes.insert(Power::Shell, PowerMode::AskOncePerChat);
        state.shell_network = Network::Loopback;
        let session = SessionId::parse("chat").unwrap();
        state
            .chat_allowances
            .insert(ChatAllowance { session, power: Power::Shell }, Given { origin: Origin::Answered, at_ms: 0 });
        settings.save(&state).unwrap();

        assert_eq!(Settings::open(dir.path()).1, state);
        set_raised(dir.path(), false).unwrap();
        assert!(!Settings::open(dir.path()).1.raised);
    }

    #[test]
    fn broken_or_newer_settings_deny_and_stay_until_the_person_acts() {
        let newer = r#"{"v":2}"#;
        for text in ["", "{", newer, r#"{"v":1,"raised":false}"#] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("settings.json");
            std::fs::write(&path, text).unwrap();
            let (settings, state) = Settings::open(dir.path());

            assert!(state.broken.is_some());
            assert!(!state.offers(Power::Files));
            assert!(matches!(settings.save(&state), Err(SettingsFault::Broken { .. })));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

            assert_eq!(settings.start_afresh().unwrap(), PolicyState::defaults());
            assert_eq!(std::fs::read_to_string(dir.path().join("settings.json.broken-1")).unwrap(), text);
        }
    }

    #[test]
    fn a_crash_while_saving_keeps_the_old_switches() {
        let dir = tempfile::tempdir().unwrap();
        let (settings, mut state) = Settings::open(dir.path());
        state.raised = true;
        settings.save(&state).unwrap();
        for left in ["", "{\"v\":1,\"raised\":false", "{\"v\":1}"] {
            let temporary = dir.path().join(".settings.json.0123456789abcdef.tmp");
            std::fs::write(&temporary, left).unwrap();

            assert_eq!(Settings::open(dir.path()).1, state);
            assert!(!temporary.exists());
        }
    }
}
