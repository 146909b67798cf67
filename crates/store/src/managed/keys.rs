//! Every key of the policy once: how it is checked and taken.

use drawbridge_core::{Power, PowerMode};
use drawbridge_policy::ShellMode;

use super::{Managed, base_of};
use crate::config::keys::{
    DAY, Key, NETWORKS, Raw, address_of, count, folders, one_of, switch, text, title, whole, word,
};

macro_rules! key {
    ($name:literal, $($field:ident).+, $take:expr) => {
        Key { name: $name, set: |managed: &mut Managed, raw: &Raw| { managed.$($field).+ = $take(raw)?; Ok(()) } }
    };
}

macro_rules! power {
    ($name:literal, $power:ident) => {
        Key {
            name: $name,
            set: |managed: &mut Managed, raw: &Raw| {
                managed.powers.insert(Power::$power, mode(raw)?);
                Ok(())
            },
        }
    };
}

macro_rules! limit {
    ($name:literal, $field:ident, $take:expr) => {
        key!($name, limits.$field, |raw| $take(raw).map(Some))
    };
}

/// All keys, in the order in which they are told.
pub(super) const KEYS: &[Key<Managed>] = &[
    key!("organisation", organisation, |raw| title(raw).and_then(short).map(Some)),
    key!("platform_url", platform_url, |raw| platform(raw).map(Some)),
    key!("oauth_client_id", oauth_client_id, |raw| word(raw).map(Some)),
    key!("allowed_platforms", allowed_platforms, |raw| platforms(raw).map(Some)),
    key!("accounts", accounts_fixed, |raw| one_of(raw, &[("fixed", true)])),
    power!("powers.files", Files),
    power!("powers.attach", Attach),
    power!("powers.shell", Shell),
    power!("powers.computer_use", ComputerUse),
    power!("powers.clipboard", Clipboard),
    power!("powers.local_model", LocalModel),
    power!("powers.hardware", Hardware),
    key!("shell.mode", shell_confined, |raw| one_of(raw, &[("confined", ShellMode::Confined)]).map(|_| true)),
    key!("shell.network", shell_network, |raw| one_of(raw, NETWORKS).map(Some)),
    key!("clipboard.foreign", own_clipboard, |raw| one_of(raw, &[("off", true)])),
    key!("models.far", near_models, near),
    key!("privacy.all", private, private),
    key!("privacy.preview_bytes", no_preview, no_preview),
    key!("browse.roots", browse_roots, |raw| folders(raw).map(Some)),
    key!("updates.enabled", updates_enabled, |raw| switch(raw).map(Some)),
    key!("updates.channel", update_channel, |raw| one_of(raw, CHANNELS).map(|name| Some(name.to_owned()))),
    limit!("limits.max_concurrent", max_concurrent, count),
    limit!("limits.max_concurrent_commands", max_concurrent_commands, count),
    limit!("limits.max_commands_per_minute", max_commands_per_minute, count),
    limit!("limits.max_screenshots_per_minute", max_screenshots_per_minute, count),
    limit!("limits.max_file_size_bytes", max_file_size_bytes, |raw| whole(raw, 1 << 40)),
    limit!("limits.command_timeout_seconds", command_timeout_seconds, |raw| whole(raw, DAY)),
    key!("proxy.url", proxy.url, |raw| address_of(raw).map(Some)),
    key!("proxy.no_proxy", proxy.no_proxy, |raw| text(raw).map(Some)),
    key!("tls.extra_roots", tls.extra_roots, |raw| one_path(raw).map(Some)),
];

impl<T> AsRef<Self> for Key<T> {
    fn as_ref(&self) -> &Self {
        self
    }
}

const CHANNELS: &[(&str, &str)] = &[("stable", "stable"), ("beta", "beta")];
/// Not "allowed": what is left out is the person's choice already.
const MODES: &[(&str, PowerMode)] = &[
    ("off", PowerMode::Off),
    ("ask_each_time", PowerMode::AskEachTime),
    ("ask_once_per_chat", PowerMode::AskOncePerChat),
];
/// The name stands in the middle of sentences.
const LONGEST_NAME: usize = 80;

fn mode(raw: &Raw) -> Result<PowerMode, String> {
    one_of(raw, MODES).map_err(|why| format!("{why}; leave it out to let the person choose"))
}

/// Takes the one word that forbids something; to allow it would say nothing.
fn near(raw: &Raw) -> Result<bool, String> {
    match switch(raw)? {
        false => Ok(true),
        true => Err("must be false; leave it out to let the person choose".to_owned()),
    }
}

/// The same for contents of files.
fn private(raw: &Raw) -> Result<bool, String> {
    match switch(raw)? {
        true => Ok(true),
        false => Err("must be true; leave it out to let the person choose".to_owned()),
    }
}

/// The same for their first bytes.
fn no_preview(raw: &Raw) -> Result<bool, String> {
    match raw {
        Raw::Whole(0) => Ok(true),
        Raw::Whole(_) | Raw::Text(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::List(_) | Raw::Other => {
            Err("must be 0; leave it out to let the person choose".to_owned())
        }
    }
}

fn short(name: String) -> Result<String, String> {
    if name.chars().count() > LONGEST_NAME {
        Err(format!("must have {LONGEST_NAME} characters at most"))
    } else {
        Ok(name)
    }
}

fn platform(raw: &Raw) -> Result<String, String> {
    let address = address_of(raw)?;
    match base_of(&address) {
        Some(_) => Ok(address),
        None => Err("must be the base address of a platform, such as \"https://platform.example\"".to_owned()),
    }
}

fn platforms(raw: &Raw) -> Result<Vec<String>, String> {
    let wanted = || "must be a list of base addresses in quotes, such as [\"https://platform.example\"]".to_owned();
    match raw {
        Raw::List(list) => list.iter().map(|one| platform(one).map_err(|_| wanted())).collect(),
        Raw::Text(_) | Raw::Whole(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::Other => Err(wanted()),
    }
}

fn one_path(raw: &Raw) -> Result<std::path::PathBuf, String> {
    let path = std::path::PathBuf::from(title(raw)?);
    if path.is_absolute() { Ok(path) } else { Err("must be a whole path".to_owned()) }
}
