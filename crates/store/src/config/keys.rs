//! Every key once: how it is checked and taken, and how it is shown.

use std::path::{Path, PathBuf};

use drawbridge_core::model::MAX_PREVIEW_BYTES;
use drawbridge_core::{PowerMode, escape_outside_text};
use drawbridge_policy::{MAX_DEVICES, MAX_MODEL_SERVERS, Network, ShellMode};

use super::{Config, DeviceMatch};
use crate::audit::SyncMode;

/// A value before anybody checked it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Raw {
    Text(String),
    Whole(i64),
    Fraction(f64),
    Switch(bool),
    List(Vec<Self>),
    /// A date, a table, a number that no machine word holds.
    Other,
}

/// One key of a file. `set` says what the value must be when it is not.
pub(crate) struct Key<T> {
    pub(crate) name: &'static str,
    pub(crate) set: fn(&mut T, &Raw) -> Result<(), String>,
}

/// One key of the configuration.
pub(super) struct ConfigKey {
    pub(super) key: Key<Config>,
    pub(super) env: Option<&'static str>,
    /// Nothing when the key is not set and something else decides.
    pub(super) show: fn(&Config) -> Option<String>,
}

impl AsRef<Key<Config>> for ConfigKey {
    fn as_ref(&self) -> &Key<Config> {
        &self.key
    }
}

macro_rules! key {
    ($name:literal, $($field:ident).+, $take:expr, $show:expr) => { key!($name, None, $($field).+, $take, $show) };
    ($name:literal, $env:expr, $($field:ident).+, $take:expr, $show:expr) => {
        ConfigKey {
            key: Key { name: $name, set: |config, raw| { config.$($field).+ = $take(raw)?; Ok(()) } },
            env: $env,
            show: |config| $show(&config.$($field).+),
        }
    };
}

/// All keys in the order of the contract.
pub(super) const KEYS: &[ConfigKey] = &[
    key!("platform_url", Some("DRAWBRIDGE_PLATFORM_URL"), platform_url, address_of, |it: &String| show_address(it)),
    key!("oauth_client_id", oauth_client_id, word, |it: &String| show_text(it)),
    key!("display_name", display_name, title, |it: &String| show_text(it)),
    key!("max_concurrent", max_concurrent, count, show_number),
    key!("max_concurrent_commands", max_concurrent_commands, count, show_number),
    key!("max_commands_per_minute", max_commands_per_minute, count, show_number),
    key!("max_screenshots_per_minute", max_screenshots_per_minute, count, show_number),
    key!("max_file_size_bytes", max_file_size_bytes, |raw| whole(raw, 1 << 40), show_number),
    key!("command_timeout_seconds", command_timeout_seconds, |raw| whole(raw, DAY), show_number),
    key!("reconnect_base_delay_seconds", reconnect_base_delay_seconds, delay, show_number),
    key!("reconnect_max_delay_seconds", reconnect_max_delay_seconds, delay, show_number),
    key!("reconnect_jitter_seconds", reconnect_jitter_seconds, jitter, show_number),
    key!("ollama_url", Some("DRAWBRIDGE_OLLAMA_URL"), ollama_url, address_of, |it: &String| show_address(it)),
    key!("enable_shell", enable_shell, switch, show_number),
    key!("enable_computer_use", enable_computer_use, switch, show_number),
    key!("enable_clipboard", enable_clipboard, switch, show_number),
    key!("enable_clipboard_read_foreign", enable_clipboard_read_foreign, switch, show_number),
    key!("enable_local_llm", enable_local_llm, switch, show_number),
    key!("enable_hardware", enable_hardware, switch, show_number),
    key!("models.servers", models.servers, model_servers, |it: &Vec<String>| show_addresses(it)),
    key!("models.far", models.far, model_servers, |it: &Vec<String>| show_addresses(it)),
    key!("models.max_context", models.max_context, context, show_number),
    key!("models.max_answer_tokens", models.max_answer_tokens, answer_tokens, show_number),
    key!("privacy.all", privacy.all, switch, show_number),
    key!("privacy.preview_bytes", privacy.preview_bytes, preview, show_number),
    key!("hardware.share", hardware.share, devices, |it: &Vec<_>| show_devices(it)),
    key!("shell.mode", shell.mode, |raw| one_of(raw, MODES).map(Some), |it: &Option<_>| show_one_of(*it, MODES)),
    key!("shell.network", shell.network, |raw| one_of(raw, NETWORKS).map(Some), |it: &Option<_>| show_one_of(
        *it, NETWORKS
    )),
    key!("consent.attach", consent.attach, |raw| one_of(raw, ATTACH).map(Some), |it: &Option<_>| show_one_of(
        *it, ATTACH
    )),
    key!("consent.answer_from_cli", consent.answer_from_cli, switch, show_number),
    key!("browse.roots", browse.roots, |raw| folders(raw).map(Some), show_folders),
    key!("audit.sync", audit.sync, |raw| one_of(raw, SYNC), |it: &SyncMode| show_one_of(Some(*it), SYNC)),
    key!("proxy.url", proxy.url, |raw| address_of(raw).map(Some), |it: &Option<String>| it
        .as_deref()
        .and_then(show_address)),
    // An empty list is a choice: no host is reached without the proxy, whatever the environment says.
    key!("proxy.no_proxy", proxy.no_proxy, |raw| text(raw).map(Some), |it: &Option<String>| it
        .as_deref()
        .and_then(show_text)),
    key!("tls.extra_roots", tls.extra_roots, |raw| some_path(raw).map(Some), |it: &Option<PathBuf>| it
        .as_deref()
        .map(show_path)),
];

pub(crate) const DAY: u64 = 24 * 60 * 60;
const MODES: &[(&str, ShellMode)] = &[("confined", ShellMode::Confined), ("full", ShellMode::Full)];
pub(crate) const NETWORKS: &[(&str, Network)] =
    &[("none", Network::None), ("loopback", Network::Loopback), ("all", Network::All)];
const ATTACH: &[(&str, PowerMode)] = &[("ask", PowerMode::AskEachTime), ("allow", PowerMode::Allowed)];
const SYNC: &[(&str, SyncMode)] = &[("interval", SyncMode::Interval), ("record", SyncMode::Record)];

/// What decides about a key that is not set, for `config show`.
#[must_use]
pub fn unset_text(name: &str) -> &'static str {
    match name {
        "shell.mode" => "the stored setting decides, \"confined\" at first",
        "shell.network" => "the stored setting decides, \"none\" at first",
        "consent.attach" => "\"ask\", and \"allow\" when headless",
        "browse.roots" => "home and the user's mounts",
        "proxy.url" | "proxy.no_proxy" => "as the environment says",
        "tls.extra_roots" => "the system's roots alone",
        _ => "the default",
    }
}

pub(crate) fn text(raw: &Raw) -> Result<String, String> {
    match raw {
        Raw::Text(text) if text.chars().any(char::is_control) => Err("must not hold control characters".to_owned()),
        Raw::Text(text) => Ok(text.clone()),
        Raw::Whole(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::List(_) | Raw::Other => {
            Err("must be text in quotes".to_owned())
        }
    }
}

pub(crate) fn title(raw: &Raw) -> Result<String, String> {
    let text = text(raw)?;
    if text.trim().is_empty() { Err("must not be empty".to_owned()) } else { Ok(text) }
}

pub(crate) fn word(raw: &Raw) -> Result<String, String> {
    let text = title(raw)?;
    if text.contains(char::is_whitespace) { Err("must not hold blanks".to_owned()) } else { Ok(text) }
}

pub(crate) fn address_of(raw: &Raw) -> Result<String, String> {
    address(&text(raw)?)
}

/// An address as far as it can be judged without knowing what it is for. The same rule for flags.
pub(super) fn address(text: &str) -> Result<String, String> {
    word(&Raw::Text(text.trim().to_owned()))
}

pub(crate) fn whole(raw: &Raw, most: u64) -> Result<u64, String> {
    let wanted = || format!("must be a whole number from 1 to {most}");
    match raw {
        Raw::Whole(number) => {
            u64::try_from(*number).ok().filter(|number| (1..=most).contains(number)).ok_or_else(wanted)
        }
        Raw::Text(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::List(_) | Raw::Other => Err(wanted()),
    }
}

pub(crate) fn count(raw: &Raw) -> Result<u32, String> {
    let most = 10_000_u32;
    whole(raw, u64::from(most)).map(|number| u32::try_from(number).unwrap_or(most))
}

fn preview(raw: &Raw) -> Result<u16, String> {
    let told = match raw {
        Raw::Whole(number) => u16::try_from(*number).ok(),
        Raw::Text(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::List(_) | Raw::Other => None,
    };
    told.filter(|number| *number <= MAX_PREVIEW_BYTES)
        .ok_or_else(|| format!("must be a whole number from 0 to {MAX_PREVIEW_BYTES}"))
}

fn delay(raw: &Raw) -> Result<f64, String> {
    seconds(raw)
        .filter(|seconds| *seconds >= 0.1)
        .ok_or_else(|| format!("must be a number of seconds from 0.1 to {DAY}"))
}

fn jitter(raw: &Raw) -> Result<f64, String> {
    seconds(raw).ok_or_else(|| format!("must be a number of seconds from 0 to {DAY}"))
}

fn seconds(raw: &Raw) -> Option<f64> {
    let seconds = match raw {
        Raw::Whole(number) => f64::from(u32::try_from(*number).ok()?),
        Raw::Fraction(number) => *number,
        Raw::Text(_) | Raw::Switch(_) | Raw::List(_) | Raw::Other => return None,
    };
    // Not a number fails every comparison, so it is refused here too.
    (0.0..=86_400.0).contains(&seconds).then_some(seconds)
}

pub(crate) fn switch(raw: &Raw) -> Result<bool, String> {
    match raw {
        Raw::Switch(on) => Ok(*on),
        Raw::Text(_) | Raw::Whole(_) | Raw::Fraction(_) | Raw::List(_) | Raw::Other => {
            Err("must be true or false, without quotes".to_owned())
        }
    }
}

pub(crate) fn one_of<T: Copy>(raw: &Raw, choices: &[(&str, T)]) -> Result<T, String> {
    let chosen = match raw {
        Raw::Text(text) => choices.iter().find(|(name, _)| name == text),
        Raw::Whole(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::List(_) | Raw::Other => None,
    };
    chosen.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        format!("must be {}", names.join(" or "))
    })
}

pub(crate) fn some_path(raw: &Raw) -> Result<PathBuf, String> {
    title(raw).map(PathBuf::from)
}

/// Takes base addresses of servers of local models.
fn model_servers(raw: &Raw) -> Result<Vec<String>, String> {
    let wanted = || "must be a list of addresses in quotes, such as [\"http://127.0.0.1:1234\"]".to_owned();
    let Raw::List(list) = raw else { return Err(wanted()) };
    if list.len() > MAX_MODEL_SERVERS {
        return Err(format!("must name {MAX_MODEL_SERVERS} servers at most"));
    }
    let is_web = |address: &String| address.starts_with("http://") || address.starts_with("https://");
    list.iter().map(|one| address_of(one).ok().filter(is_web).ok_or_else(wanted)).collect()
}

/// Takes the tokens that a server makes room for. Fewer than every server has by itself would only refuse prompts.
fn context(raw: &Raw) -> Result<u64, String> {
    let (least, most) = (4096, 16_777_216);
    let wanted = || format!("must be a whole number of tokens from {least} to {most}");
    whole(raw, most).ok().filter(|tokens| *tokens >= least).ok_or_else(wanted)
}

fn answer_tokens(raw: &Raw) -> Result<u32, String> {
    let most = 1_000_000_u32;
    whole(raw, u64::from(most)).map(|tokens| u32::try_from(tokens).unwrap_or(most))
}

/// Takes what is said of devices.
fn devices(raw: &Raw) -> Result<Vec<DeviceMatch>, String> {
    let wanted = || {
        "must be a list of devices in quotes, such as [\"/dev/ttyUSB0\", \"usb:2341:0043\", \"gpio:gpiochip0\"]"
            .to_owned()
    };
    let Raw::List(list) = raw else { return Err(wanted()) };
    if list.len() > MAX_DEVICES {
        return Err(format!("must name {MAX_DEVICES} devices at most"));
    }
    let entry = |(at, one): (usize, &Raw)| match text(one) {
        Ok(text) => device(&text)
            .map_err(|why| format!("must name devices, and {} is none: {why}", quoted(&escape_outside_text(&text)))),
        Err(_) => Err(format!("{}; entry {} is no such text", wanted(), at + 1)),
    };
    list.iter().enumerate().map(entry).collect()
}

/// Takes one entry, or says what is wrong with it.
fn device(text: &str) -> Result<DeviceMatch, &'static str> {
    const USB: &str = "a USB device is usb: and two ids of four hexadecimal digits each, such as usb:2341:0043";
    const CHIP: &str = "a GPIO chip is gpio: and its name, such as gpio:gpiochip0";
    const OTHER: &str = "a device is a whole path or a COM port, or begins with usb: or gpio:";
    let id = |text: &str| {
        let digits = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(text, 16).ok().filter(|_| digits)
    };
    if let Some(ids) = text.strip_prefix("usb:") {
        let (vendor, product) = ids.split_once(':').ok_or(USB)?;
        return Ok(DeviceMatch::Usb { vendor: id(vendor).ok_or(USB)?, product: id(product).ok_or(USB)? });
    }
    if let Some(chip) = text.strip_prefix("gpio:") {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let named = !chip.is_empty() && chip.bytes().all(plain);
        return if named { Ok(DeviceMatch::Gpio(chip.to_owned())) } else { Err(CHIP) };
    }
    let numbered = text.strip_prefix("COM").is_some_and(|number| number.parse::<u16>().is_ok());
    let port = numbered || Path::new(text).is_absolute();
    if port && !text.contains(char::is_whitespace) { Ok(DeviceMatch::Port(text.to_owned())) } else { Err(OTHER) }
}

pub(crate) fn folders(raw: &Raw) -> Result<Vec<PathBuf>, String> {
    let wanted = || "must be a list of whole paths in quotes, such as [\"/home/me/projects\"]".to_owned();
    let list = match raw {
        Raw::List(list) => list,
        Raw::Text(_) | Raw::Whole(_) | Raw::Fraction(_) | Raw::Switch(_) | Raw::Other => return Err(wanted()),
    };
    list.iter().map(|one| some_path(one).ok().filter(|path| path.is_absolute()).ok_or_else(wanted)).collect()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[expect(clippy::unnecessary_wraps, reason = "each key is shown by a function of one shape")]
fn show_number<T: ToString>(value: &T) -> Option<String> {
    Some(value.to_string())
}

#[expect(clippy::unnecessary_wraps, reason = "each key is shown by a function of one shape")]
fn show_text(value: &str) -> Option<String> {
    Some(quoted(value))
}

#[expect(clippy::unnecessary_wraps, reason = "each key is shown by a function of one shape")]
fn show_address(value: &str) -> Option<String> {
    Some(quoted(&redacted_url(value)))
}

#[expect(clippy::unnecessary_wraps, reason = "each key is shown by a function of one shape")]
fn show_addresses(addresses: &[String]) -> Option<String> {
    let shown: Vec<String> = addresses.iter().map(|one| quoted(&redacted_url(one))).collect();
    Some(format!("[{}]", shown.join(", ")))
}

#[expect(clippy::unnecessary_wraps, reason = "each key is shown by a function of one shape")]
fn show_devices(devices: &[DeviceMatch]) -> Option<String> {
    let shown: Vec<String> = devices.iter().map(|one| quoted(&one.to_string())).collect();
    Some(format!("[{}]", shown.join(", ")))
}

fn show_one_of<T: Copy + PartialEq>(value: Option<T>, choices: &[(&str, T)]) -> Option<String> {
    choices.iter().find(|(_, one)| Some(*one) == value).map(|(name, _)| quoted(name))
}

fn show_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

fn show_folders(roots: &Option<Vec<PathBuf>>) -> Option<String> {
    let shown: Vec<String> = roots.as_ref()?.iter().map(|path| show_path(path)).collect();
    Some(format!("[{}]", shown.join(", ")))
}

/// Leaves name and password out of an address. What stands before the last `@` goes, since a password that was not
/// written by the rules may itself hold every character that ends one.
#[must_use]
pub fn redacted_url(address: &str) -> String {
    let Some((secret, rest)) = address.rsplit_once('@') else { return address.to_owned() };
    let scheme = secret.find("://").map_or("", |end| &secret[..end + 3]);
    format!("{scheme}<redacted>@{rest}")
}
