//! Looks at everything that Drawbridge needs (spec 10.9), for the window and the command line alike.
//!
//! It reads, binds a port for a moment, tries the sandbox and the network, and changes nothing. Each finding that matters says
//! how to mend it, and each check has a time limit: what hangs is a finding, and the check-up still ends. It carries no token
//! to anybody and needs no engine.

mod account;
mod desktop;
mod door;
mod hardware;
mod limit;
mod models;
mod network;
mod powers;
mod screen;
mod state;
mod words;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::escape_outside_text;
use drawbridge_os::folders::Folders;
use drawbridge_store::config::{Config, ConfigError, Loaded};
use futures_util::future::{BoxFuture, FutureExt as _, join_all};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::EngineHandle;
use crate::account::PlatformUrlFault;
use crate::accounts::{Chosen, Configured, Fixed, open_book};
use door::Door;
use words::Words;

/// How a check went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// As it should be.
    Ok,
    /// A fact, neither good nor bad.
    #[default]
    Info,
    /// Something will be missing.
    Warn,
    /// Drawbridge cannot do its work like this.
    Fail,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Finding {
    /// A stable name of what was looked at. Several findings can have one name.
    pub check: String,
    /// How it went.
    pub state: FindingState,
    /// What was found, safe to show, in English.
    pub text: String,
    /// What to do, safe to show, if there is something to do.
    pub fix: Option<String>,
    /// What the window can do about it at once: a stable name (see [`ACTIONS`]).
    pub action: Option<String>,
    /// The stable name of what was found. The page has its text and its fix in the person's language.
    pub key: String,
    /// What the text names, safe to show.
    pub params: BTreeMap<String, String>,
}

/// What the window can do about findings.
pub const ACTIONS: &[&str] = &[
    "sign_in",
    "lower",
    "open_state_folder",
    "open_config",
    "make_private",
    "set_aside_settings",
    "copy_install_bubblewrap",
    "copy_install_xdg_utils",
    "connect",
    "login_start_on",
    "login_start_repair",
];

impl Finding {
    fn new(
        check: &'static str,
        state: FindingState,
        words: &Words,
        params: &[(&'static str, &dyn std::fmt::Display)],
    ) -> Self {
        let params: BTreeMap<String, String> =
            params.iter().map(|(name, value)| ((*name).to_owned(), escape_outside_text(&value.to_string()))).collect();
        Self {
            check: check.to_owned(),
            state,
            text: filled(words.text, &params),
            fix: words.fix.map(|fix| filled(fix, &params)),
            action: None,
            key: words.key.to_owned(),
            params,
        }
    }

    fn ok(check: &'static str, words: &Words, params: &[(&'static str, &dyn std::fmt::Display)]) -> Self {
        Self::new(check, FindingState::Ok, words, params)
    }

    fn info(check: &'static str, words: &Words, params: &[(&'static str, &dyn std::fmt::Display)]) -> Self {
        Self::new(check, FindingState::Info, words, params)
    }

    fn warn(check: &'static str, words: &Words, params: &[(&'static str, &dyn std::fmt::Display)]) -> Self {
        Self::new(check, FindingState::Warn, words, params)
    }

    fn fail(check: &'static str, words: &Words, params: &[(&'static str, &dyn std::fmt::Display)]) -> Self {
        Self::new(check, FindingState::Fail, words, params)
    }

    fn with_action(self, action: &'static str) -> Self {
        Self { action: Some(action.to_owned()), ..self }
    }
}

/// Puts parameters in their places. What a parameter holds is never looked at for further places.
fn filled(text: &str, params: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, behind)) = after.split_once('}') else { break };
        out.push_str(params.get(name).map_or("?", String::as_str));
        rest = behind;
    }
    out + rest
}

/// Where the engine is that the check-up asks for what it alone knows.
#[derive(Debug, Clone)]
pub enum EngineAt {
    /// In this process.
    Here(EngineHandle),
    /// Behind the control socket of the state folder, if one runs.
    Elsewhere,
}

/// What only the desktop shell knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellFacts {
    /// The person wants keys that raise.
    pub hot_key_wanted: bool,
    /// The keys that raise now, if some do.
    pub hot_key: Option<String>,
    /// A session of this kind lets a program take keys.
    pub hot_key_possible: bool,
}

/// What a check-up looks at.
#[derive(Debug)]
pub struct Input {
    /// Where things are kept.
    pub folders: Folders,
    /// The configuration, or what is wrong with it.
    pub config: Result<Loaded, ConfigError>,
    /// Opens the encrypted file of secrets.
    pub passphrase: Option<SecretString>,
    /// The engine.
    pub engine: EngineAt,
    /// What the desktop shell knows; none without one.
    pub shell: Option<ShellFacts>,
    /// The environment, as far as it is looked at: PATH, displays.
    pub environment: BTreeMap<String, OsString>,
}

impl Input {
    /// Takes the environment of this process. No desktop shell, and the engine wherever it is.
    #[must_use]
    pub fn of_process(folders: Folders, config: Result<Loaded, ConfigError>) -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| ENVIRONMENT.contains(&name.as_str()))
            .collect();
        let passphrase = drawbridge_store::secrets::passphrase_from_env();
        Self { folders, config, passphrase, engine: EngineAt::Elsewhere, shell: None, environment }
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.get(name).cloned()
    }

    /// The account that a start uses. Reads a small file.
    fn chosen(&self) -> Result<Chosen, PlatformUrlFault> {
        let Config { platform_url, oauth_client_id: client_id, .. } = self.config();
        let fixed = self.config.as_ref().ok().and_then(Fixed::of);
        Chosen::of_start(&open_book(&self.folders.state), &Configured { platform_url, client_id }, fixed)
    }

    /// The configuration in force, also where the file is broken: then the defaults are.
    fn config(&self) -> Config {
        self.config.as_ref().map(|loaded| loaded.config.clone()).unwrap_or_default()
    }
}

/// What is looked at of the environment.
const ENVIRONMENT: [&str; 4] = ["PATH", "DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"];
/// Looking at files and asking the system.
const QUICK: Duration = Duration::from_secs(5);
/// The keychain has limits of its own, and opening an encrypted file derives a key.
const SECRETS: Duration = Duration::from_secs(15);
/// A long log is read whole.
const AUDIT: Duration = Duration::from_secs(60);

/// Runs every check, side by side, and returns what they found in a fixed order. Ends in any case: at worst within a minute, as
/// long as a large audit log takes.
pub async fn run(input: Input) -> Vec<Finding> {
    let input = Arc::new(input);
    // First and alone: whoever asks for an engine makes the folder private.
    let mut found = on_thread(&input, QUICK, "state_folder", state::folder).await;
    let door = Arc::new(Door::open(&input).await);
    let mut first = vec![door.finding()];
    first.append(&mut found);
    let work: Vec<BoxFuture<'_, Vec<Finding>>> = vec![
        on_thread(&input, QUICK, "config", state::configuration).boxed(),
        on_thread(&input, QUICK, "disk_space", state::disk).boxed(),
        match door.snapshot() {
            Some(snapshot) => std::future::ready(state::settings_in_use(snapshot)).boxed(),
            None => on_thread(&input, QUICK, "settings", state::settings).boxed(),
        },
        std::future::ready(state::managed(&input)).boxed(),
        on_thread(&input, QUICK, "accounts", state::accounts).boxed(),
        on_thread(&input, QUICK, "installation", state::installation).boxed(),
        on_thread(&input, QUICK, "start_at_login", state::login).boxed(),
        account::findings(&input, &door).boxed(),
        std::future::ready(network::link(&door)).boxed(),
        network::findings(&input, &door).boxed(),
        powers::browse_roots(&input).boxed(),
        on_thread(&input, QUICK, "confinement", powers::confinement).boxed(),
        on_thread(&input, QUICK, "shells", powers::shells).boxed(),
        on_thread(&input, QUICK, "permissions", powers::permissions).boxed(),
        models::servers(&input, &door).boxed(),
        match door.snapshot().and_then(screen::in_use) {
            Some(found) => std::future::ready(found).boxed(),
            None => on_thread(&input, QUICK, "computer_use", screen::screen).boxed(),
        },
        hardware::devices(&input, &door).boxed(),
        on_thread(&input, QUICK, "display", desktop::display).boxed(),
        on_thread(&input, QUICK, "tray", desktop::tray).boxed(),
        on_thread(&input, QUICK, "notifications", desktop::notifications).boxed(),
        std::future::ready(desktop::hot_key(&input)).boxed(),
        on_thread(&input, QUICK, "browser", desktop::browser).boxed(),
        std::future::ready(desktop::elevation()).boxed(),
    ];
    first.extend(join_all(work).await.into_iter().flatten());
    first
}

/// Returns the exit code of `drawbridge doctor` (`cli.md`): 78 when computer use was asked for and cannot be had.
#[must_use]
pub fn exit_code(findings: &[Finding]) -> u8 {
    const NEEDED: [&str; 2] = ["computer_use", "permissions"];
    let asked_for = findings.iter().any(|one| one.check == "computer_use");
    let missing = |one: &Finding| one.state == FindingState::Fail && NEEDED.contains(&one.check.as_str());
    if asked_for && findings.iter().any(missing) { 78 } else { 0 }
}

async fn on_thread(
    input: &Arc<Input>,
    limit: Duration,
    check: &'static str,
    look: fn(&Input) -> Vec<Finding>,
) -> Vec<Finding> {
    let input = Arc::clone(input);
    limit::within(limit, check, "", move || look(&input)).await
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
