//! How the switches are written down, and how older files are brought forward.
//!
//! What is not known for certain makes the whole file worthless: an unknown field, name or version, a rule that no version
//! can have made. Half-read switches might allow what the person forbade.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use drawbridge_core::hardware::DeviceId;
use drawbridge_core::model::MAX_PREVIEW_BYTES;
use drawbridge_core::{Power, PowerMode, SessionId};
use drawbridge_policy::{
    ChatAllowance, CommandRule, Given, MAX_DEVICES, MAX_MODEL_SERVERS, MAX_RULES, ModelApi, ModelServer, Network,
    Origin, PolicyState, RuleFault, ScreenRules, SharedDevice, ShellMode, WordPattern,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::accounts::DEFAULT;

/// The version that is written.
const VERSION: u64 = 2;
/// Chosen folders.
const MAX_BROWSE_ROOTS: usize = 100;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    v: u64,
    raised: bool,
    raise_count: u64,
    powers: BTreeMap<String, String>,
    shell_mode: String,
    shell_network: String,
    chat_allowances: Vec<Allowance>,
    chat_modes: Vec<ChatMode>,
    /// Whether contents of files stay here, by chat. Not written while nothing is said, so that a version that does not know it reads
    /// the file; it takes one with it for broken, and denies. So it is with all below that can be left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    private: BTreeMap<String, bool>,
    command_rules: Vec<Rule>,
    rules_made: u64,
    browse_roots: Vec<String>,
    /// Which apps agents may see and use. Not written while it says nothing, so that a version that does not know it reads the
    /// file; it takes one with it for broken, and denies.
    #[serde(default, skip_serializing_if = "Screen::is_empty")]
    screen: Screen,
    /// The clipboard power also covers what others put there. Not written while it does not, as above.
    #[serde(default, skip_serializing_if = "is_off")]
    clipboard_foreign: bool,
    /// In which chats contents of files stay here; those of the chats are with the chats. Not written while it says nothing, as above.
    #[serde(default, skip_serializing_if = "is_off")]
    private_all: bool,
    /// Answers about private files are read by the person first. Not written while they are not, as above.
    #[serde(default, skip_serializing_if = "is_off")]
    review_answers: bool,
    /// So many first bytes may leave with the description of a private file. Not written while nothing was said, as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview_bytes: Option<u16>,
    /// Servers of local models. Not written while there is none, as above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    model_servers: Vec<Server>,
    /// Shared devices by their names. Not written while there is none, as above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    devices: BTreeMap<String, Device>,
    /// Serial ports that the person named. Not written while there is none, as above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    added_ports: Vec<String>,
    /// What holds for chats of other accounts than `default`, by their ids. Not written while there is none, so that a version
    /// without accounts reads the file; it takes one with accounts for broken, and denies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    accounts: BTreeMap<String, Chats>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Screen {
    only_apps: Option<Vec<String>>,
    never_apps: Vec<String>,
    full_resolution: bool,
}

impl Screen {
    fn of(rules: &ScreenRules) -> Self {
        let ScreenRules { only_apps, never_apps, full_resolution } = rules.clone();
        Self { only_apps, never_apps, full_resolution }
    }

    fn is_empty(&self) -> bool {
        self.only_apps.is_none() && self.never_apps.is_empty() && !self.full_resolution
    }

    fn read(self) -> Result<ScreenRules, String> {
        let Self { only_apps, never_apps, full_resolution } = self;
        let rules = ScreenRules { only_apps, never_apps, full_resolution };
        rules.check().map_err(|fault| fault.to_string())?;
        Ok(rules)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
const fn is_off(switch: &bool) -> bool {
    !*switch
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    url: String,
    api: String,
    far: bool,
    parallel: u8,
}

impl Server {
    fn of(server: &ModelServer) -> Self {
        let ModelServer { url, api, far, parallel } = server.clone();
        Self { url, api: api.name().to_owned(), far, parallel }
    }

    fn read(self) -> Result<ModelServer, String> {
        let Self { url, api, far, parallel } = self;
        let api = ModelApi::from_name(&api).ok_or_else(|| format!("{api:?} is no interface of a model server"))?;
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) || url.chars().any(char::is_control) {
            return Err(format!("{url:?} is no address of a model server"));
        }
        if !(1..=16).contains(&parallel) {
            return Err(format!("{parallel} is no number of requests at once for a model server"));
        }
        Ok(ModelServer { url, api, far, parallel })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    label: String,
    at_ms: i64,
}

impl Device {
    fn of(shared: &SharedDevice) -> Self {
        let SharedDevice { label, at_ms } = shared.clone();
        Self { label, at_ms }
    }
}

/// What holds for the chats of one account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chats {
    chat_allowances: Vec<Allowance>,
    chat_modes: Vec<ChatMode>,
    /// Whether contents of files stay here. Not written while nothing is said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    private: BTreeMap<String, bool>,
}

impl Chats {
    fn of(state: &PolicyState) -> Self {
        Self {
            chat_allowances: state.chat_allowances.iter().map(|(allowance, given)| written(allowance, given)).collect(),
            chat_modes: state
                .chat_modes
                .iter()
                .map(|((session, power), mode)| ChatMode {
                    session: session.as_str().to_owned(),
                    power: power.name().to_owned(),
                    mode: mode.name().to_owned(),
                })
                .collect(),
            private: state.privacy.chats.iter().map(|(session, on)| (session.as_str().to_owned(), *on)).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.chat_allowances.is_empty() && self.chat_modes.is_empty() && self.private.is_empty()
    }
}

/// What holds for chats of the accounts that are not in use, by their ids.
pub(super) type Others = BTreeMap<String, Chats>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowance {
    session: String,
    power: String,
    origin: String,
    at_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatMode {
    session: String,
    power: String,
    mode: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    program: String,
    words: Vec<Word>,
    any_more: bool,
    origin: String,
    at_ms: i64,
}

/// A word is never written as a plain text, so that an exact `*` and an open word cannot be confused.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Word {
    Exactly(String),
    Any,
}

/// Writes the switches down, with what holds for the chats of the account in use and of all others.
pub(super) fn write(state: &PolicyState, account: &str, others: &Others) -> Result<Vec<u8>, serde_json::Error> {
    let mut accounts = others.clone();
    accounts.insert(account.to_owned(), Chats::of(state));
    let Chats { chat_allowances, chat_modes, private } = accounts.remove(DEFAULT).unwrap_or_default();
    accounts.retain(|_, chats| !chats.is_empty());
    let document = Document {
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
        chat_allowances,
        chat_modes,
        private,
        command_rules: state.command_rules.iter().map(rule_written).collect(),
        rules_made: state.rules_made,
        browse_roots: state.browse_roots.clone(),
        screen: Screen::of(&state.screen),
        clipboard_foreign: state.clipboard_foreign,
        private_all: state.privacy.all,
        review_answers: state.privacy.review,
        preview_bytes: state.privacy.preview_bytes,
        model_servers: state.model_servers.iter().map(Server::of).collect(),
        devices: state.devices.iter().map(|(id, shared)| (id.as_str().to_owned(), Device::of(shared))).collect(),
        added_ports: state.added_ports.clone(),
        accounts,
    };
    serde_json::to_vec_pretty(&document)
}

fn written(allowance: &ChatAllowance, given: &Given) -> Allowance {
    Allowance {
        session: allowance.session.as_str().to_owned(),
        power: allowance.power.name().to_owned(),
        origin: given.origin.name().to_owned(),
        at_ms: given.at_ms,
    }
}

fn rule_written(rule: &CommandRule) -> Rule {
    let word = |word: &WordPattern| match word {
        WordPattern::Exactly(word) => Word::Exactly(word.clone()),
        WordPattern::Any => Word::Any,
    };
    Rule {
        id: rule.id.clone(),
        program: rule.program.clone(),
        words: rule.words.iter().map(word).collect(),
        any_more: rule.any_more,
        origin: rule.origin.name().to_owned(),
        at_ms: rule.at_ms,
    }
}

/// Reads the switches, of this version or an older one, with what holds for the chats of one account. The second value is
/// what holds for chats of all others.
pub(super) fn parse(bytes: &[u8], account: &str) -> Result<(PolicyState, Others), String> {
    let mut value: Value = serde_json::from_slice(bytes).map_err(|err| err.to_string())?;
    match value.get("v").and_then(Value::as_u64) {
        Some(1) => from_version_1(&mut value)?,
        Some(VERSION) => {}
        Some(other) => return Err(format!("they are of version {other}, and this Drawbridge knows {VERSION}")),
        None => return Err("they name no version".to_owned()),
    }
    let document: Document = serde_json::from_value(value).map_err(|err| err.to_string())?;
    let mut state = PolicyState::defaults();
    state.raised = document.raised;
    state.raise_count = document.raise_count;
    for (name, mode) in &document.powers {
        state.modes.insert(power(name)?, mode_of(mode)?);
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
    let mut others = document.accounts;
    let of_default =
        Chats { chat_allowances: document.chat_allowances, chat_modes: document.chat_modes, private: document.private };
    if others.insert(DEFAULT.to_owned(), of_default).is_some() {
        return Err("the account default is in it twice".to_owned());
    }
    let mut mine = None;
    for (id, written) in &others {
        // All of them, so that a fault is not found only when the account is used.
        let mut read = PolicyState::defaults();
        chats(written, &mut read)?;
        if id == account {
            mine = Some(read);
        }
    }
    others.remove(account);
    if let Some(mine) = mine {
        state.chat_allowances = mine.chat_allowances;
        state.chat_modes = mine.chat_modes;
        state.privacy.chats = mine.privacy.chats;
    }
    state.command_rules = rules(document.command_rules, document.rules_made)?;
    state.rules_made = document.rules_made;
    state.browse_roots = roots(document.browse_roots)?;
    state.screen = document.screen.read()?;
    state.clipboard_foreign = document.clipboard_foreign;
    state.privacy.all = document.private_all;
    state.privacy.review = document.review_answers;
    state.privacy.preview_bytes = preview(document.preview_bytes)?;
    state.model_servers = servers(document.model_servers)?;
    state.devices = devices(document.devices)?;
    state.added_ports = ports(document.added_ports)?;
    Ok((state, others))
}

fn preview(bytes: Option<u16>) -> Result<Option<u16>, String> {
    if bytes.is_some_and(|bytes| bytes > MAX_PREVIEW_BYTES) {
        return Err(format!("at most {MAX_PREVIEW_BYTES} first bytes of a private file may leave"));
    }
    Ok(bytes)
}

/// Version 1 had no rules, no modes for chats and no chosen folders, and did not say when a question was answered.
fn from_version_1(value: &mut Value) -> Result<(), String> {
    let document = value.as_object_mut().ok_or("they are no object")?;
    const LATER: [&str; 14] = [
        "chat_modes",
        "command_rules",
        "rules_made",
        "browse_roots",
        "accounts",
        "screen",
        "clipboard_foreign",
        "private",
        "private_all",
        "review_answers",
        "preview_bytes",
        "model_servers",
        "devices",
        "added_ports",
    ];
    for name in LATER {
        if document.contains_key(name) {
            return Err(format!("version 1 has no field {name:?}"));
        }
    }
    let old = document.get_mut("chat_allowances").and_then(Value::as_array_mut);
    for allowance in old.ok_or("version 1 has a list of what was allowed for chats")? {
        let fields = allowance.as_object_mut().ok_or("what was allowed for a chat is an object")?;
        for (name, known) in [("origin", json!(Origin::Answered.name())), ("at_ms", json!(0))] {
            if fields.insert(name.to_owned(), known).is_some() {
                return Err(format!("version 1 has no field {name:?}"));
            }
        }
    }
    document.insert("chat_modes".to_owned(), json!([]));
    document.insert("command_rules".to_owned(), json!([]));
    document.insert("rules_made".to_owned(), json!(0));
    document.insert("browse_roots".to_owned(), json!([]));
    document.insert("v".to_owned(), json!(VERSION));
    Ok(())
}

fn chats(written: &Chats, state: &mut PolicyState) -> Result<(), String> {
    for one in &written.chat_allowances {
        let allowance = ChatAllowance { session: session(&one.session)?, power: power(&one.power)? };
        let given = Given { origin: origin(&one.origin)?, at_ms: one.at_ms };
        if state.chat_allowances.insert(allowance, given).is_some() {
            return Err("one power was allowed twice for a chat".to_owned());
        }
    }
    for one in &written.chat_modes {
        let key = (session(&one.session)?, power(&one.power)?);
        if state.chat_modes.insert(key, mode_of(&one.mode)?).is_some() {
            return Err("one power has two modes in a chat".to_owned());
        }
    }
    for (chat, on) in &written.private {
        state.privacy.chats.insert(session(chat)?, *on);
    }
    Ok(())
}

fn servers(written: Vec<Server>) -> Result<Vec<ModelServer>, String> {
    if written.len() > MAX_MODEL_SERVERS {
        return Err(format!("they hold more than {MAX_MODEL_SERVERS} servers of models"));
    }
    let mut urls = BTreeSet::new();
    if let Some(twice) = written.iter().find(|server| !urls.insert(server.url.as_str())) {
        return Err(format!("the model server {:?} is in it twice", twice.url));
    }
    written.into_iter().map(Server::read).collect()
}

fn devices(written: BTreeMap<String, Device>) -> Result<BTreeMap<DeviceId, SharedDevice>, String> {
    if written.len() > MAX_DEVICES {
        return Err(format!("they hold more than {MAX_DEVICES} shared devices"));
    }
    let read = |(id, Device { label, at_ms }): (String, Device)| {
        let id = DeviceId::parse(&id).map_err(|fault| format!("{id:?}: {fault}"))?;
        Ok((id, SharedDevice { label, at_ms }))
    };
    written.into_iter().map(read).collect()
}

fn ports(written: Vec<String>) -> Result<Vec<String>, String> {
    if written.len() > MAX_DEVICES {
        return Err(format!("they hold more than {MAX_DEVICES} added ports"));
    }
    if let Some(path) = written.iter().find(|path| !Path::new(path).is_absolute()) {
        return Err(format!("the added port {path:?} is no whole path"));
    }
    Ok(written)
}

fn rules(written: Vec<Rule>, made: u64) -> Result<Vec<CommandRule>, String> {
    if written.len() > MAX_RULES {
        return Err(format!("they hold {} rules, and {MAX_RULES} are allowed", written.len()));
    }
    let mut ids = BTreeSet::new();
    written
        .into_iter()
        .map(|rule| {
            let rule = read_rule(rule)?;
            let number = CommandRule::number(&rule.id).filter(|number| (1..=made).contains(number));
            if number.is_none() || !ids.insert(number) {
                return Err(format!("{:?} is not the name of one rule", rule.id));
            }
            match rule.check() {
                // A version that knows more programs or characters must still read what an older one wrote. Such a rule allows
                // nothing: policy looks again before it lets one count.
                Ok(()) | Err(RuleFault::Runner | RuleFault::Unshowable) => Ok(rule),
                Err(fault) => Err(format!("rule {:?}: {fault}", rule.id)),
            }
        })
        .collect()
}

fn read_rule(written: Rule) -> Result<CommandRule, String> {
    let word = |word: Word| match word {
        Word::Exactly(word) => WordPattern::Exactly(word),
        Word::Any => WordPattern::Any,
    };
    Ok(CommandRule {
        id: written.id,
        program: written.program,
        words: written.words.into_iter().map(word).collect(),
        any_more: written.any_more,
        origin: origin(&written.origin)?,
        at_ms: written.at_ms,
    })
}

fn roots(written: Vec<String>) -> Result<Vec<String>, String> {
    if written.len() > MAX_BROWSE_ROOTS {
        return Err(format!("they hold more than {MAX_BROWSE_ROOTS} chosen folders"));
    }
    match written.iter().find(|path| !Path::new(path).is_absolute()) {
        Some(path) => Err(format!("the chosen folder {path:?} is no whole path")),
        None => Ok(written),
    }
}

fn power(name: &str) -> Result<Power, String> {
    Power::from_name(name).ok_or_else(|| format!("{name:?} is no power"))
}

fn mode_of(name: &str) -> Result<PowerMode, String> {
    PowerMode::from_name(name).ok_or_else(|| format!("{name:?} is no mode of a power"))
}

fn origin(name: &str) -> Result<Origin, String> {
    Origin::from_name(name).ok_or_else(|| format!("{name:?} is no origin"))
}

fn session(id: &str) -> Result<SessionId, String> {
    SessionId::parse(id).map_err(|err| err.to_string())
}
