//! What an organisation has fixed on a computer: `policy.toml` in the system's folder, written by its administrator alone.
//!
//! It can take powers and choices away and give none. A file that cannot be read, understood or trusted is a fault that lets
//! nothing start: a misspelt word in it must not let through what it was to forbid. It binds this program on this computer;
//! what else the person runs there is not its business.

mod keys;
mod stricter;

use std::collections::BTreeMap;
use std::path::PathBuf;

use drawbridge_core::{Power, PowerMode};
use drawbridge_os::system_file::{SystemFile, SystemFileFault};
use drawbridge_policy::{Ceilings, Network};

use crate::config::{ConfigError, ProxyTable, TlsTable, file};

/// What an organisation has fixed. What it does not name stays the person's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managed {
    /// The file.
    pub path: PathBuf,
    /// Names of what it fixes, as they stand in the file: `platform_url`, `powers.shell`, `updates.enabled`…
    pub locked: Vec<String>,
    /// The organisation's name, if it gave one. Not safe to show as it is.
    pub organisation: Option<String>,
    /// The platform's address of the first account.
    pub platform_url: Option<String>,
    /// The OAuth client id of the first account.
    pub oauth_client_id: Option<String>,
    /// Base addresses of platforms; no other may be used.
    pub allowed_platforms: Option<Vec<String>>,
    /// The person can neither add accounts nor choose another one.
    pub accounts_fixed: bool,
    /// The loosest mode of a power.
    pub powers: BTreeMap<Power, PowerMode>,
    /// Commands run confined.
    pub shell_confined: bool,
    /// The most that a confined command may reach.
    pub shell_network: Option<Network>,
    /// The clipboard power covers only what the agent wrote itself.
    pub own_clipboard: bool,
    /// Only servers of local models on this computer are asked.
    pub near_models: bool,
    /// Contents of files stay on this machine in every chat.
    pub private: bool,
    /// No first bytes leave with the description of a private file.
    pub no_preview: bool,
    /// Agents look for folders here alone, and no folder elsewhere is attached. Absolute.
    pub browse_roots: Option<Vec<PathBuf>>,
    /// `Some(false)`: the organisation brings updates.
    pub updates_enabled: Option<bool>,
    /// "stable" or "beta".
    pub update_channel: Option<String>,
    /// `[limits]`.
    pub limits: ManagedLimits,
    /// `[proxy]`.
    pub proxy: ProxyTable,
    /// `[tls]`. The path is absolute.
    pub tls: TlsTable,
}

/// The most that the configuration may say. Units as in [`crate::config::Config`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedLimits {
    /// Request slots of a link.
    pub max_concurrent: Option<u32>,
    /// Commands at once.
    pub max_concurrent_commands: Option<u32>,
    /// Commands a minute.
    pub max_commands_per_minute: Option<u32>,
    /// Screenshots a minute.
    pub max_screenshots_per_minute: Option<u32>,
    /// One file, in bytes.
    pub max_file_size_bytes: Option<u64>,
    /// One command, in seconds.
    pub command_timeout_seconds: Option<u64>,
}

/// The organisation's policy cannot be used. No message holds a value of the file; each holds its cause, so none is named as
/// the source of another.
#[derive(Debug, thiserror::Error)]
pub enum ManagedFault {
    /// What lies there is not the administrator's, or cannot be read.
    #[error("{WHO}: {0}; {NEXT}")]
    Place(SystemFileFault),
    /// What it says cannot be used.
    #[error("{WHO}: {0}; {NEXT}")]
    Text(ConfigError),
    /// It is no text at all.
    #[error("{WHO}: {} is no valid text; {NEXT}", .0.display())]
    NoText(PathBuf),
}

const WHO: &str = "what your organisation has set on this computer cannot be used";
const NEXT: &str = "until it is mended nothing may act, so ask your administrator";

impl Managed {
    /// Reads the policy; none when there is none.
    ///
    /// # Errors
    /// [`ManagedFault`]; then nothing may act.
    pub fn read(place: &SystemFile) -> Result<Option<Self>, ManagedFault> {
        let Some(bytes) = place.read().map_err(ManagedFault::Place)? else { return Ok(None) };
        let path = place.path();
        let text = String::from_utf8(bytes).map_err(|_| ManagedFault::NoText(path.clone()))?;
        let mut managed = Self { path: path.clone(), ..Self::default() };
        let mut locked = file::take(&path, &text, keys::KEYS, &mut managed).map_err(ManagedFault::Text)?;
        locked.retain(|name| name != "organisation");
        managed.locked = locked;
        Ok(Some(managed))
    }

    /// Names who fixed it, for the middle of a sentence. Not safe to show as it is.
    #[must_use]
    pub fn by(&self) -> &str {
        self.organisation.as_deref().unwrap_or("your organisation")
    }

    /// Tells whether a platform may be used, by its base address. Without a list, an address that the policy names for the first
    /// account is the only one; without either, every platform may be.
    #[must_use]
    pub fn allows_platform(&self, address: &str) -> bool {
        let Some(asked) = base_of(address) else { return false };
        match (&self.allowed_platforms, &self.platform_url) {
            (Some(allowed), _) => allowed.iter().any(|one| base_of(one).as_ref() == Some(&asked)),
            (None, Some(only)) => base_of(only).as_ref() == Some(&asked),
            (None, None) => true,
        }
    }

    /// Lets the platform inside this program be tried, whatever else may be used. Everything else stays as it is.
    #[must_use]
    pub fn with_practice(mut self, address: &str) -> Self {
        if self.allowed_platforms.is_some() || self.platform_url.is_some() {
            self.allowed_platforms = Some(vec![address.to_owned()]);
        }
        self
    }

    /// Tells whether a folder, by its canonical path, may be attached.
    #[must_use]
    pub fn allows_folder(&self, path: &std::path::Path) -> bool {
        // The administrator may have written a path with links in it.
        let within = |root: &PathBuf| path.starts_with(root.canonicalize().as_ref().unwrap_or(root));
        self.browse_roots.as_ref().is_none_or(|roots| roots.iter().any(within))
    }

    /// Tells whether this copy may bring its own updates.
    #[must_use]
    pub fn allows_updates(&self) -> bool {
        self.updates_enabled != Some(false)
    }

    /// Returns the powers that may not be on at all, each with who says so.
    #[must_use]
    pub fn locked_off(&self) -> BTreeMap<Power, String> {
        let off = self.powers.iter().filter(|(_, mode)| **mode == PowerMode::Off);
        off.map(|(power, _)| (*power, self.by().to_owned())).collect()
    }

    /// Returns how far everything else may go at most.
    #[must_use]
    pub fn ceilings(&self) -> Ceilings {
        let on = self.powers.iter().filter(|(_, mode)| **mode != PowerMode::Off);
        Ceilings {
            by: self.by().to_owned(),
            powers: on.map(|(power, mode)| (*power, *mode)).collect(),
            confined: self.shell_confined,
            network: self.shell_network,
            own_clipboard: self.own_clipboard,
            near_models: self.near_models,
            private: self.private,
            no_preview: self.no_preview,
        }
    }
}

/// Brings the spellings of a base address together: `wss` is `https`, hosts know no case, the usual port and a slash at the
/// end say nothing. None for what is no base address.
pub(crate) fn base_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.trim().split_once("://")?;
    let (scheme, usual_port) = match scheme.to_ascii_lowercase().as_str() {
        "https" | "wss" => ("https", ":443"),
        "http" | "ws" => ("http", ":80"),
        _ => return None,
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(usual_port).unwrap_or(&host);
    if host.is_empty() || rest.contains(['@', '?', '#', '\\']) || rest.contains(char::is_whitespace) {
        return None;
    }
    Some(format!("{scheme}://{host}{}", path.trim_end_matches('/')))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "managed/tests.rs"]
mod tests;
