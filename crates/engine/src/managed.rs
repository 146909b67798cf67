//! What an organisation has fixed, as the engine holds it: what it says in pictures, what it refuses, and how a newer policy
//! takes hold while the engine runs. What the policy may say is in `drawbridge_store::managed`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use drawbridge_core::{Power, PowerMode, escape_outside_text};
use drawbridge_os::system_file::SystemFile;
use drawbridge_policy::{Network, PolicyState, ShellMode};
use drawbridge_store::config::{Loaded, Overruled};
use drawbridge_store::managed::{Managed, ManagedFault};

use crate::account::PlatformUrl;
use crate::handle::CommandError;
use crate::view::{ManagedView, Notice};

/// The organisation's policy as an engine is started with it. Nothing is fixed by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedOptions {
    /// What it fixes, if there is one.
    pub policy: Option<Managed>,
    /// Where it lies; looked at while the engine runs. None: never.
    pub place: Option<SystemFile>,
    /// Keys that somebody had set otherwise.
    pub overruled: Vec<Overruled>,
}

impl ManagedOptions {
    /// Takes what was loaded with the configuration.
    #[must_use]
    pub fn from_loaded(loaded: &Loaded) -> Self {
        Self {
            policy: loaded.managed.clone(),
            place: Some(loaded.managed_place.clone()),
            overruled: loaded.overruled.clone(),
        }
    }

    /// Returns what a person is told about it.
    #[must_use]
    pub fn view(&self) -> Option<ManagedView> {
        let policy = self.policy.as_ref()?;
        Some(ManagedView {
            organisation: policy.organisation.as_deref().map(escape_outside_text),
            path: escape_outside_text(&policy.path.display().to_string()),
            locked: policy.locked.clone(),
            overruled: self.overruled.iter().map(|one| one.key.clone()).collect(),
        })
    }

    /// Returns what was set otherwise, one sentence each, for whoever starts a program without a window.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let Some(policy) = &self.policy else { return Vec::new() };
        let by = escape_outside_text(policy.by());
        let one = |one: &Overruled| {
            format!("{} is set by {by}, so what the {} says does not count", one.key, one.layer.name())
        };
        self.overruled.iter().map(one).collect()
    }
}

/// A platform that the organisation does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{by} does not allow the platform {platform} on this computer ({path}), so nothing was connected; choose another account, or ask your administrator"
)]
pub struct PlatformNotAllowed {
    by: String,
    platform: String,
    path: String,
}

/// Checks that a platform may be used. Must come before anything is sent to it.
///
/// # Errors
/// [`PlatformNotAllowed`].
pub fn check_platform(policy: Option<&Managed>, platform: &PlatformUrl) -> Result<(), PlatformNotAllowed> {
    match policy {
        Some(policy) if !policy.allows_platform(platform.shown()) => Err(PlatformNotAllowed {
            by: escape_outside_text(policy.by()),
            platform: escape_outside_text(platform.shown()),
            path: escape_outside_text(&policy.path.display().to_string()),
        }),
        Some(_) | None => Ok(()),
    }
}

/// Puts what may be at most over a state that holds in this run.
pub(crate) fn limit(policy: &Managed, state: &mut PolicyState) {
    state.locked_off = policy.locked_off();
    state.ceilings = policy.ceilings();
    state.keep_within_ceilings();
}

/// Refuses a mode that goes beyond what may be.
///
/// # Errors
/// `managed`.
pub(crate) fn may_set(state: &PolicyState, power: Power, mode: PowerMode) -> Result<(), CommandError> {
    if let Some(by) = state.locked_off.get(&power) {
        return Err(managed(&format!(
            "The power {power} is switched off on this computer by {}",
            escape_outside_text(by)
        )));
    }
    match state.ceilings.powers.get(&power) {
        Some(most) if mode > *most => {
            let by = escape_outside_text(&state.ceilings.by);
            Err(managed(&format!("{by} lets the power {power} go no further than {} on this computer", most.name())))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a way to run commands that goes beyond what may be.
///
/// # Errors
/// `managed`.
pub(crate) fn may_run(state: &PolicyState, mode: ShellMode, network: Network) -> Result<(), CommandError> {
    let by = || escape_outside_text(&state.ceilings.by);
    if state.ceilings.confined && mode == ShellMode::Full {
        return Err(managed(&format!("{} lets commands run confined only on this computer", by())));
    }
    if state.ceilings.network.is_some_and(|most| network > most) {
        return Err(managed(&format!(
            "{} does not let commands reach that much of the network on this computer",
            by()
        )));
    }
    Ok(())
}

/// Refuses to let the clipboard cover more than it may.
///
/// # Errors
/// `managed`.
pub(crate) fn may_read_foreign(state: &PolicyState, on: bool) -> Result<(), CommandError> {
    if on && state.ceilings.own_clipboard {
        let by = escape_outside_text(&state.ceilings.by);
        return Err(managed(&format!("{by} lets agents read only their own text in the clipboard of this computer")));
    }
    Ok(())
}

/// Refuses a change of what the organisation has fixed.
pub(crate) fn managed(what: &str) -> CommandError {
    CommandError::new("managed", format!("{what}, so nothing has changed. Ask your administrator if you need it."))
}

/// What an engine holds of the policy now. It only ever becomes stricter.
pub(crate) struct ManagedCell {
    held: RwLock<ManagedOptions>,
    /// The file as it was seen last.
    seen: Mutex<Managed>,
    /// The platform may not be talked to any more.
    blocks: AtomicBool,
}

impl ManagedCell {
    pub(crate) fn new(options: ManagedOptions) -> Self {
        let seen = options.policy.clone().unwrap_or_default();
        Self { held: RwLock::new(options), seen: Mutex::new(seen), blocks: AtomicBool::new(false) }
    }

    /// Returns what a person is told about it.
    pub(crate) fn view(&self) -> Option<ManagedView> {
        self.read().view()
    }

    /// Tells whether the platform may not be talked to any more.
    pub(crate) fn blocks(&self) -> bool {
        self.blocks.load(Ordering::Acquire)
    }

    /// Returns what holds now, if anything is fixed.
    pub(crate) fn policy(&self) -> Option<Managed> {
        self.read().policy.clone()
    }

    /// Refuses what an organisation has fixed by this name, as it stands in its file.
    ///
    /// # Errors
    /// `managed`.
    pub(crate) fn may_change(&self, key: &str, what: &str) -> Result<(), CommandError> {
        match &self.read().policy {
            Some(policy) if policy.locked.iter().any(|name| name == key) => {
                Err(managed(&format!("{what} by {}", escape_outside_text(policy.by()))))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Looks at the file again, while `platform` is in use. Returns what holds from now on if that is something else, with the
    /// trouble that stops everything, if there is one. Reads the disk.
    pub(crate) fn look(&self, platform: &str) -> Option<(Managed, Option<Notice>)> {
        let place = self.read().place.clone()?;
        let (next, trouble) = self.next(&place, platform)?;
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if held.policy.as_ref() == Some(&next) {
            return None;
        }
        held.policy = Some(next.clone());
        self.blocks.fetch_or(trouble.is_some(), Ordering::AcqRel);
        Some((next, trouble))
    }

    fn next(&self, place: &SystemFile, platform: &str) -> Option<(Managed, Option<Notice>)> {
        let held = self.policy().unwrap_or_else(|| Managed { path: place.path(), ..Managed::default() });
        let newer = match Managed::read(place) {
            Ok(newer) => newer.unwrap_or_default(),
            Err(fault) => return Some((held.broken_meanwhile(), Some(broken(&fault)))),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == newer {
            return None;
        }
        seen.clone_from(&newer);
        let next = held.tightened_by(&newer);
        if newer.allows_platform(platform) {
            return Some((next, None));
        }
        let why = format!(
            "{} does not allow the platform {} any more, so nothing is connected and nothing may act. Start Drawbridge again to choose another account, or ask your administrator.",
            escape_outside_text(newer.by()),
            escape_outside_text(platform)
        );
        Some((next.broken_meanwhile(), Some(trouble(why))))
    }

    fn read(&self) -> RwLockReadGuard<'_, ManagedOptions> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn broken(fault: &ManagedFault) -> Notice {
    let mut why = escape_outside_text(&fault.to_string());
    if let Some(first) = why.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    trouble(format!("{why}. Then start Drawbridge again."))
}

fn trouble(message: String) -> Notice {
    Notice { code: "managed".to_owned(), message }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "managed_tests.rs"]
mod tests;
