//! What an engine is started with, and how a loaded configuration becomes that.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_caps::hardware::Hardware;
use drawbridge_core::{Limits, Power, PowerMode, SessionId};
use drawbridge_os::folders::Folders;
use drawbridge_os::seat::Seat;
use drawbridge_policy::{Network, PolicyState, Prompting, ShellMode};
use drawbridge_proto::executor::dialer::Backoff;
use drawbridge_store::audit::SyncMode;
use drawbridge_store::config::{Config, DeviceMatch, Loaded, Origin};
use drawbridge_store::managed::Managed;
use drawbridge_store::secrets;
use secrecy::SecretString;

use crate::accounts::Fixed;
use crate::managed::{self, ManagedOptions};
use crate::models::ConfiguredModels;
use crate::net::NetSettings;

/// What an engine is started with. Everything configured is resolved already.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Where things are kept.
    pub folders: Folders,
    /// Base of all platform addresses.
    pub platform_url: String,
    /// OAuth client id.
    pub client_id: String,
    /// Why the two above hold for this run, whatever account was chosen. None: the chosen account counts.
    pub accounts_fixed: Option<Fixed>,
    /// Shown in the platform's folder picker.
    pub display_name: String,
    /// Local ceilings of each link.
    pub limits: Limits,
    /// Waits between attempts to connect.
    pub backoff: Backoff,
    /// Commands at once, over all chats.
    pub max_concurrent_commands: u32,
    /// Screenshots a minute, over all chats.
    pub max_screenshots_per_minute: u32,
    /// Commands a minute, over all chats.
    pub max_commands_per_minute: u32,
    /// Folders that may be browsed; none means the usual ones of this system.
    pub browse_roots: Option<Vec<PathBuf>>,
    /// When audit records are synced.
    pub audit_sync: SyncMode,
    /// Proxy and trust anchors.
    pub net: NetSettings,
    /// What flags and configuration say over the stored settings, for this run alone.
    pub overlay: Overlay,
    /// A person can be asked, by a window or by the command line.
    pub can_ask: bool,
    /// The one-time secret with which the command line may answer questions.
    pub answer_secret: Option<Arc<SecretString>>,
    /// A data link started by hand instead of the control link.
    pub legacy: Option<(SessionId, PathBuf)>,
    /// Ends when the main link ends for good, and does not start without a sign-in.
    pub headless: bool,
    /// Opens the encrypted file of secrets where there is no keychain.
    pub passphrase: Option<SecretString>,
    /// What an organisation has fixed on this computer.
    pub managed: ManagedOptions,
    /// Servers of local models that the configuration names.
    pub models: ConfiguredModels,
    /// The screen that agents may see and use. None: the one that the environment names.
    pub seat: Option<Seat>,
    /// The devices that there are. None: those of this machine.
    pub hardware: Option<Hardware>,
}

/// What holds in this run and is never stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlay {
    /// Modes of powers.
    pub modes: BTreeMap<Power, PowerMode>,
    /// How commands run.
    pub shell_mode: Option<ShellMode>,
    /// What a confined command may reach.
    pub shell_network: Option<Network>,
    /// The clipboard power also covers what others put there.
    pub clipboard_foreign: Option<bool>,
    /// Devices that are shared as they come and go.
    pub devices: Vec<DeviceMatch>,
    /// Contents of files stay on this machine in every chat that says nothing of its own.
    pub private: bool,
    /// So many first bytes may leave with the description of a private file, where the person has not said how many.
    pub preview_bytes: u16,
    /// What an organisation has fixed; it stands above everything else.
    pub managed: Option<Managed>,
}

impl Overlay {
    /// Puts it over stored settings.
    #[must_use]
    pub fn over(&self, stored: &PolicyState, can_ask: bool) -> PolicyState {
        let mut state = stored.clone();
        state.modes.extend(self.modes.iter().map(|(power, mode)| (*power, *mode)));
        state.shell_mode = self.shell_mode.unwrap_or(state.shell_mode);
        state.shell_network = self.shell_network.unwrap_or(state.shell_network);
        state.clipboard_foreign = self.clipboard_foreign.unwrap_or(state.clipboard_foreign);
        for port in self.devices.iter().filter_map(DeviceMatch::port) {
            // No system need list it.
            if !state.added_ports.iter().any(|added| added == port) {
                state.added_ports.push(port.to_owned());
            }
        }
        state.privacy.all |= self.private;
        state.privacy.preview_bytes.get_or_insert(self.preview_bytes);
        if let Some(managed) = &self.managed {
            managed::limit(managed, &mut state);
        }
        state.prompting = if can_ask { Prompting::Possible } else { Prompting::Impossible };
        state
    }
}

/// Who hosts the engine; decides what the configuration means (`cli.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// The command line, without a window: flags and configuration decide about powers, and attaching is allowed.
    Headless,
    /// The desktop application: the powers in its window decide, and it can ask.
    App,
}

impl EngineOptions {
    /// Takes what is configured. The passphrase comes from the environment.
    #[must_use]
    pub fn from_config(loaded: &Loaded, folders: Folders, host: Host) -> Self {
        let config = &loaded.config;
        Self {
            folders,
            platform_url: config.platform_url.clone(),
            client_id: config.oauth_client_id.clone(),
            accounts_fixed: Fixed::of(loaded),
            display_name: config.display_name.clone(),
            limits: Limits {
                max_concurrent: config.max_concurrent,
                max_file_size_bytes: config.max_file_size_bytes,
                command_timeout: Duration::from_secs(config.command_timeout_seconds),
            },
            backoff: Backoff {
                base: seconds(config.reconnect_base_delay_seconds),
                max: seconds(config.reconnect_max_delay_seconds),
                jitter: seconds(config.reconnect_jitter_seconds),
            },
            max_concurrent_commands: config.max_concurrent_commands,
            max_screenshots_per_minute: config.max_screenshots_per_minute,
            models: ConfiguredModels::of(config),
            max_commands_per_minute: config.max_commands_per_minute,
            browse_roots: config.browse.roots.clone(),
            audit_sync: config.audit.sync,
            net: NetSettings {
                proxy: config.proxy.url.clone(),
                no_proxy: config.proxy.no_proxy.clone(),
                extra_roots: config.tls.extra_roots.clone(),
            },
            overlay: overlay(loaded, host),
            can_ask: host == Host::App || config.consent.answer_from_cli,
            answer_secret: None,
            legacy: None,
            headless: host == Host::Headless,
            passphrase: secrets::passphrase_from_env(),
            managed: ManagedOptions::from_loaded(loaded),
            seat: None,
            hardware: None,
        }
    }
}

fn overlay(loaded: &Loaded, host: Host) -> Overlay {
    let config = &loaded.config;
    let attach = config.consent.attach;
    match host {
        Host::App => Overlay {
            modes: attach.into_iter().map(|mode| (Power::Attach, mode)).collect(),
            shell_mode: config.shell.mode,
            shell_network: config.shell.network,
            clipboard_foreign: None,
            private: config.privacy.all,
            preview_bytes: config.privacy.preview_bytes,
            devices: config.hardware.share.clone(),
            managed: loaded.managed.clone(),
        },
        Host::Headless => Overlay {
            modes: BTreeMap::from([
                (Power::Attach, attach.unwrap_or(PowerMode::Allowed)),
                (Power::Files, PowerMode::Allowed),
                (Power::Shell, switched(config.enable_shell)),
                (Power::ComputerUse, switched(config.enable_computer_use)),
                (Power::Clipboard, switched(config.enable_clipboard)),
                (Power::LocalModel, switched(config.enable_local_llm)),
                (Power::Hardware, switched(config.enable_hardware)),
            ]),
            shell_mode: Some(headless_shell(loaded, config)),
            shell_network: config.shell.network,
            clipboard_foreign: Some(config.enable_clipboard_read_foreign),
            private: config.privacy.all,
            preview_bytes: config.privacy.preview_bytes,
            devices: config.hardware.share.clone(),
            managed: loaded.managed.clone(),
        },
    }
}

const fn switched(on: bool) -> PowerMode {
    if on { PowerMode::Allowed } else { PowerMode::Off }
}

/// The flag alone means full access, as the protocol documents it; the file and the environment mean confined.
fn headless_shell(loaded: &Loaded, config: &Config) -> ShellMode {
    let by_flag = loaded.origins.get("enable_shell") == Some(&Origin::Flag);
    config.shell.mode.unwrap_or(if by_flag { ShellMode::Full } else { ShellMode::Confined })
}

/// A wait in seconds; what cannot be a wait is none. The configuration refuses those before.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_person_said_of_first_bytes_outlives_the_configuration() {
        let configured = Overlay { preview_bytes: 64, ..Overlay::default() };
        let mut stored = PolicyState::defaults();
        assert_eq!(configured.over(&stored, true).preview_bytes(), 64);
        assert_eq!(Overlay::default().over(&stored, true).preview_bytes(), 0);

        for said in [0, 32, 200] {
            stored.privacy.preview_bytes = Some(said);
            assert_eq!(configured.over(&stored, true).preview_bytes(), said);
        }

        let managed = Managed { no_preview: true, ..Managed::default() };
        let fixed = Overlay { managed: Some(managed), ..configured };
        assert_eq!(fixed.over(&stored, true).preview_bytes(), 0);
    }
}
