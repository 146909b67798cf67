//! `config.toml`, the environment and flags, layered into one [`Config`] (`cli.md`, "Environment" and "config.toml").
//!
//! Order: what an organisation has fixed, flag, environment, file, default. The file is read and never written. Keys that nobody knows are refused, since
//! a misspelt limit that is silently ignored would be no limit. Whether the platform's address may be dialled is the
//! engine's question; whether a proxy can be reached is the network's.

pub(crate) mod file;
pub(crate) mod keys;
mod managed;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use drawbridge_core::PowerMode;
use drawbridge_os::machine;
use drawbridge_os::system_file::SystemFile;
use drawbridge_policy::{Network, ShellMode};

use keys::{KEYS, Raw};
pub use keys::{redacted_url, unset_text};

use crate::audit::SyncMode;
use crate::managed::{Managed, ManagedFault};

/// Name of the file in the configuration folder.
pub const FILE_NAME: &str = "config.toml";

/// What is configured, every layer applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Base of all platform addresses, as it was written.
    pub platform_url: String,
    /// OAuth client id.
    pub oauth_client_id: String,
    /// Shown in the platform's folder picker.
    pub display_name: String,
    /// Request slots of a link.
    pub max_concurrent: u32,
    /// Commands at once, over all chats.
    pub max_concurrent_commands: u32,
    /// Commands a minute, over all chats.
    pub max_commands_per_minute: u32,
    /// Screenshots a minute, over all chats.
    pub max_screenshots_per_minute: u32,
    /// Ceiling of one file, in bytes.
    pub max_file_size_bytes: u64,
    /// The longest a command may run, in seconds.
    pub command_timeout_seconds: u64,
    /// The first wait before a new attempt to connect, in seconds.
    pub reconnect_base_delay_seconds: f64,
    /// The longest such wait without its random part, in seconds.
    pub reconnect_max_delay_seconds: f64,
    /// The longest random part, in seconds; may be 0.
    pub reconnect_jitter_seconds: f64,
    /// Base of the local model server.
    pub ollama_url: String,
    /// Commands.
    pub enable_shell: bool,
    /// Screen, mouse and keyboard.
    pub enable_computer_use: bool,
    /// Clipboard.
    pub enable_clipboard: bool,
    /// Also what other programs put on the clipboard.
    pub enable_clipboard_read_foreign: bool,
    /// The local model.
    pub enable_local_llm: bool,
    /// Devices.
    pub enable_hardware: bool,
    /// `[models]`.
    pub models: ModelsTable,
    /// `[privacy]`.
    pub privacy: PrivacyTable,
    /// `[hardware]`.
    pub hardware: HardwareTable,
    /// `[shell]`.
    pub shell: ShellTable,
    /// `[consent]`.
    pub consent: ConsentTable,
    /// `[browse]`.
    pub browse: BrowseTable,
    /// `[audit]`.
    pub audit: AuditTable,
    /// `[proxy]`.
    pub proxy: ProxyTable,
    /// `[tls]`.
    pub tls: TlsTable,
}

/// How commands run. What is not set, the window's settings decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellTable {
    /// Confined or with everything that the user can do.
    pub mode: Option<ShellMode>,
    /// What a confined command may reach.
    pub network: Option<Network>,
}

/// Whether contents of files stay on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrivacyTable {
    /// In every chat for which the person has not said otherwise.
    pub all: bool,
    /// So many first bytes may leave with the description of a private file, 0 to 256. They are content.
    pub preview_bytes: u16,
}

/// Further servers of local models, by their base addresses, and what a question may take at any. Their keys are secrets and never
/// stand here ([`crate::model_keys`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelsTable {
    /// On this computer. One that turns out to be elsewhere is not asked.
    pub servers: Vec<String>,
    /// May be on other computers: prompts and answers go there.
    pub far: Vec<String>,
    /// Tokens that a server is asked to make room for, prompt and answer together. Their room is memory.
    pub max_context: u64,
    /// Tokens of one answer.
    pub max_answer_tokens: u32,
}

impl Default for ModelsTable {
    fn default() -> Self {
        Self { servers: Vec::new(), far: Vec::new(), max_context: 32_768, max_answer_tokens: 8192 }
    }
}

/// Devices that are shared wherever nobody sits before a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HardwareTable {
    /// Which ones, as they come and go.
    pub share: Vec<DeviceMatch>,
}

/// What the configuration says of a device that is shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeviceMatch {
    /// The serial port of this path or name, also where no system lists it.
    Port(String),
    /// USB devices of these two ids.
    Usb {
        /// Vendor.
        vendor: u16,
        /// Product.
        product: u16,
    },
    /// The GPIO chip of this name.
    Gpio(String),
}

impl DeviceMatch {
    /// Returns the serial port, if it means one.
    #[must_use]
    pub fn port(&self) -> Option<&str> {
        match self {
            Self::Port(port) => Some(port),
            Self::Usb { .. } | Self::Gpio(_) => None,
        }
    }
}

impl fmt::Display for DeviceMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => f.write_str(port),
            Self::Usb { vendor, product } => write!(f, "usb:{vendor:04x}:{product:04x}"),
            Self::Gpio(chip) => write!(f, "gpio:{chip}"),
        }
    }
}

/// Who answers questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConsentTable {
    /// Attaching a folder: [`PowerMode::AskEachTime`] or [`PowerMode::Allowed`]. Not set: ask, and allowed when headless.
    pub attach: Option<PowerMode>,
    /// Questions may be answered by `drawbridge answer`.
    pub answer_from_cli: bool,
}

/// Folders that may be browsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowseTable {
    /// Absolute paths. Not set: home and the user's mounts. An empty list means none at all.
    pub roots: Option<Vec<PathBuf>>,
}

/// The audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditTable {
    /// When records are synced to the disk.
    pub sync: SyncMode,
}

/// The way out. `Debug` shows no password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyTable {
    /// Address of an HTTP proxy, or `none`. Not set: as the environment says. May hold a password.
    pub url: Option<String>,
    /// Hosts reached without it, in the form of `NO_PROXY`.
    pub no_proxy: Option<String>,
}

impl fmt::Debug for ProxyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().map(redacted_url);
        f.debug_struct("ProxyTable").field("url", &url).field("no_proxy", &self.no_proxy).finish()
    }
}

/// Whom to trust.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsTable {
    /// A PEM file with further roots, absolute (the file may name it from the configuration folder on).
    pub extra_roots: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            platform_url: "wss://platform.autogpt.net".to_owned(),
            oauth_client_id: "autogpt-local-executor".to_owned(),
            display_name: default_display_name(),
            max_concurrent: 4,
            max_concurrent_commands: 10,
            max_commands_per_minute: 60,
            max_screenshots_per_minute: 10,
            max_file_size_bytes: 10 * 1024 * 1024,
            command_timeout_seconds: 30,
            reconnect_base_delay_seconds: 1.0,
            reconnect_max_delay_seconds: 60.0,
            reconnect_jitter_seconds: 5.0,
            ollama_url: "http://127.0.0.1:11434".to_owned(),
            enable_shell: false,
            enable_computer_use: false,
            enable_clipboard: false,
            enable_clipboard_read_foreign: false,
            enable_local_llm: false,
            enable_hardware: false,
            models: ModelsTable::default(),
            privacy: PrivacyTable::default(),
            hardware: HardwareTable::default(),
            shell: ShellTable::default(),
            consent: ConsentTable::default(),
            browse: BrowseTable::default(),
            audit: AuditTable::default(),
            proxy: ProxyTable::default(),
            tls: TlsTable::default(),
        }
    }
}

fn default_display_name() -> String {
    let name = machine::display_name(&machine::host_name());
    // A host name of angle brackets alone leaves nothing that could be shown.
    if name.is_empty() { "this-computer".to_owned() } else { name }
}

/// What the command line says over everything else. Nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlagOverrides {
    /// `--platform-url`.
    pub platform_url: Option<String>,
    /// `--enable-shell`. Alone it means the full mode; an explicit mode of the file or of `shell_mode` stays.
    pub enable_shell: Option<bool>,
    /// `--shell confined|full`. Does not switch commands on by itself.
    pub shell_mode: Option<ShellMode>,
    /// `--enable-computer-use`.
    pub enable_computer_use: Option<bool>,
    /// `--enable-clipboard`.
    pub enable_clipboard: Option<bool>,
    /// `--enable-clipboard-read-foreign`.
    pub enable_clipboard_read_foreign: Option<bool>,
    /// `--enable-local-llm`.
    pub enable_local_llm: Option<bool>,
    /// `--enable-hardware`.
    pub enable_hardware: Option<bool>,
}

/// Where the layers come from.
pub struct ConfigLayers<'a> {
    /// Holds [`FILE_NAME`], or nothing.
    pub config_dir: &'a Path,
    /// Looks an environment variable up.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The command line.
    pub flags: FlagOverrides,
    /// Where the organisation's policy lies, if there is one.
    pub managed: SystemFile,
}

impl fmt::Debug for ConfigLayers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ConfigLayers");
        shown.field("config_dir", &self.config_dir).field("flags", &self.flags).finish_non_exhaustive()
    }
}

impl<'a> ConfigLayers<'a> {
    /// Takes the environment of this process.
    #[must_use]
    pub fn of_process(config_dir: &'a Path, flags: FlagOverrides) -> Self {
        Self { config_dir, env: &process_env, flags, managed: SystemFile::policy() }
    }
}

fn process_env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Layer that a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody named it.
    Default,
    /// `config.toml`.
    File,
    /// An environment variable.
    Env,
    /// The command line.
    Flag,
    /// The organisation that manages this computer.
    Managed,
}

impl Origin {
    /// Returns the stable word for `config show --origin`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Env => "environment",
            Self::Flag => "flag",
            Self::Managed => "managed",
        }
    }
}

/// The configuration cannot be used. No message holds a value of the file, since it could be a password.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("the configuration {} cannot be read: {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{}, line {line}: this is no valid TOML: {why}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A key that nobody knows.
    #[error("{}, line {line}: there is no key `{key}`; the nearest is `{nearest}`", .path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// As it was written, with the name of its table.
        key: String,
        /// A key that exists.
        nearest: &'static str,
    },
    /// A value of the wrong type or out of range.
    #[error("{}, line {line}: `{key}` {why}", .path.display())]
    FileValue {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// What it must be.
        why: String,
    },
    /// A value of the environment that cannot be used.
    #[error("the environment variable {name} {why}")]
    EnvValue {
        /// The variable.
        name: &'static str,
        /// What it must be.
        why: String,
    },
    /// The organisation's policy cannot be used, so nothing may act.
    #[error(transparent)]
    Managed(#[from] Box<ManagedFault>),
    /// A flag's value that cannot be used.
    #[error("--{flag} {why}")]
    FlagValue {
        /// The flag, without dashes.
        flag: &'static str,
        /// What it must be.
        why: String,
    },
}

/// A configuration and where each value came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// One entry for each key, by its name with the table in front (`shell.mode`).
    pub origins: BTreeMap<String, Origin>,
    /// What an organisation has fixed on this computer, if anything.
    pub managed: Option<Managed>,
    /// Where that was looked for.
    pub managed_place: SystemFile,
    /// Keys whose values would have been others without the organisation's policy, and where those came from.
    pub overruled: Vec<Overruled>,
}

/// A value that the organisation's policy stands above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overruled {
    /// The key of the configuration.
    pub key: String,
    /// The layer that named another value.
    pub layer: Origin,
}

impl Config {
    /// Reads all layers. A missing file is fine.
    ///
    /// # Errors
    /// [`ConfigError`]; the organisation's policy before everything else, then the first one of the file in its order.
    pub fn load(layers: &ConfigLayers<'_>) -> Result<Loaded, ConfigError> {
        let managed = Managed::read(&layers.managed).map_err(Box::new)?;
        let mut config = Self::default();
        let mut origins: BTreeMap<String, Origin> =
            KEYS.iter().map(|key| (key.key.name.to_owned(), Origin::Default)).collect();

        file::apply(layers.config_dir, &mut config, &mut origins)?;
        for key in KEYS {
            let Some(name) = key.env else { continue };
            // As everywhere in the environment, set to nothing means not set.
            let Some(value) = (layers.env)(name).filter(|value| !value.is_empty()) else { continue };
            let fault = |why| ConfigError::EnvValue { name, why };
            let text = value.into_string().map_err(|_| fault("is no valid text".to_owned()))?;
            (key.key.set)(&mut config, &Raw::Text(text)).map_err(fault)?;
            origins.insert(key.key.name.to_owned(), Origin::Env);
        }
        apply_flags(&layers.flags, &mut config, &mut origins)?;
        let overruled = managed.as_ref().map(|managed| managed::apply(managed, &mut config, &mut origins));
        Ok(Loaded {
            config,
            origins,
            managed,
            managed_place: layers.managed.clone(),
            overruled: overruled.unwrap_or_default(),
        })
    }
}

fn apply_flags(
    flags: &FlagOverrides,
    config: &mut Config,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<(), ConfigError> {
    let mut mark = |key: &str| origins.insert(key.to_owned(), Origin::Flag);
    if let Some(url) = &flags.platform_url {
        let fault = |why| ConfigError::FlagValue { flag: "platform-url", why };
        config.platform_url = keys::address(url).map_err(fault)?;
        mark("platform_url");
    }
    for (key, flag, value) in [
        ("enable_shell", flags.enable_shell, &mut config.enable_shell),
        ("enable_computer_use", flags.enable_computer_use, &mut config.enable_computer_use),
        ("enable_clipboard", flags.enable_clipboard, &mut config.enable_clipboard),
        (
            "enable_clipboard_read_foreign",
            flags.enable_clipboard_read_foreign,
            &mut config.enable_clipboard_read_foreign,
        ),
        ("enable_local_llm", flags.enable_local_llm, &mut config.enable_local_llm),
        ("enable_hardware", flags.enable_hardware, &mut config.enable_hardware),
    ] {
        if let Some(flag) = flag {
            *value = flag;
            mark(key);
        }
    }
    // The bare flag implies the full mode, but an implication must not undo a confinement that somebody wrote down.
    let implied = (flags.enable_shell == Some(true) && config.shell.mode.is_none()).then_some(ShellMode::Full);
    if let Some(mode) = flags.shell_mode.or(implied) {
        config.shell.mode = Some(mode);
        mark("shell.mode");
    }
    Ok(())
}

impl Loaded {
    /// Returns the lines of `config show`, in the order of the contract: valid TOML, with what is not set as a comment,
    /// and with the layer of each value when `origin` is asked for. Passwords in addresses are left out.
    #[must_use]
    pub fn shown(&self, origin: bool) -> Vec<String> {
        KEYS.iter()
            .map(|key| {
                let name = key.key.name;
                let line = match (key.show)(&self.config) {
                    Some(value) => format!("{name} = {value}"),
                    None => format!("# {name} is not set: {}", unset_text(name)),
                };
                match self.origins.get(name) {
                    Some(layer) if origin => format!("{line}  # {}", layer.name()),
                    Some(_) | None => line,
                }
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
