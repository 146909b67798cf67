//! The state that decisions are made from.

use std::collections::BTreeMap;

use drawbridge_core::hardware::DeviceId;
use drawbridge_core::model::MAX_PREVIEW_BYTES;
use drawbridge_core::{Power, PowerMode, SessionId};

use crate::command_rule::CommandRule;

/// Whether a person can be asked at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompting {
    /// A window or the command line can answer.
    Possible,
    /// Nobody can: the answer to every question is no.
    Impossible,
}

/// How commands run once the shell power is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellMode {
    /// Behind a kernel sandbox: writes only in the attached folder.
    Confined,
    /// With everything the user can do.
    Full,
}

/// What a confined command may reach. Ordered from strict to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// Nothing.
    None,
    /// Only this machine. Not a wall between commands and local services.
    Loopback,
    /// Everything.
    All,
}

/// "Allow for this chat", as the person answered it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChatAllowance {
    /// The chat.
    pub session: SessionId,
    /// The power that was allowed.
    pub power: Power,
}

/// Where something that was allowed came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A question was answered with it.
    Answered,
    /// The person set it in the window.
    Window,
}

impl Origin {
    /// Returns the stable name used in settings and pictures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Window => "window",
        }
    }

    /// Finds an origin by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Answered, Self::Window].into_iter().find(|origin| origin.name() == name)
    }
}

/// Where and when something was allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// Where it came from.
    pub origin: Origin,
    /// When, Unix milliseconds; 0 when an older version did not write it down.
    pub at_ms: i64,
}

/// How far the person may go at most, as somebody above them has fixed it on this computer. Nothing the person sets, answers or
/// allows goes beyond it, and it is never stored with their settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Who says so, in words for the person.
    pub by: String,
    /// The loosest mode of a power. A power that may not be on at all is in [`PolicyState::locked_off`] instead.
    pub powers: BTreeMap<Power, PowerMode>,
    /// Commands run confined.
    pub confined: bool,
    /// The most that a confined command may reach.
    pub network: Option<Network>,
    /// The clipboard power covers only what the agent wrote itself.
    pub own_clipboard: bool,
    /// Only servers of local models on this computer are asked.
    pub near_models: bool,
    /// Contents of files stay on this machine in every chat.
    pub private: bool,
    /// No first bytes leave with the description of a private file.
    pub no_preview: bool,
}

/// Names of apps that each list may hold.
pub const MAX_APPS: usize = 200;
/// Characters of such a name.
pub const MAX_APP_CHARS: usize = 256;

/// Why names of apps cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScreenRulesFault {
    /// Too many names.
    #[error("a list holds more than {MAX_APPS} names of apps")]
    TooMany,
    /// A name that is empty, too long, or holds what nobody can see.
    #[error("the name of an app must have 1 to {MAX_APP_CHARS} characters and no control characters")]
    Name,
}

/// Which apps agents may see and use once the screen power is on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScreenRules {
    /// Only these; none means all that are not protected.
    pub only_apps: Option<Vec<String>>,
    /// Never these, on top of the protected ones.
    pub never_apps: Vec<String>,
    /// Pictures of scaled displays keep all their pixels.
    pub full_resolution: bool,
}

impl ScreenRules {
    /// Checks that the names of apps can be kept.
    ///
    /// # Errors
    /// [`ScreenRulesFault`].
    pub fn check(&self) -> Result<(), ScreenRulesFault> {
        for names in self.only_apps.iter().chain([&self.never_apps]) {
            if names.len() > MAX_APPS {
                return Err(ScreenRulesFault::TooMany);
            }
            let fits = |name: &String| {
                let shown = name.trim();
                shown == name && !shown.is_empty() && !name.chars().any(char::is_control)
            };
            if names.iter().any(|name| !fits(name) || name.chars().count() > MAX_APP_CHARS) {
                return Err(ScreenRulesFault::Name);
            }
        }
        Ok(())
    }
}

/// Chats that may say for themselves whether contents of files stay.
pub const MAX_PRIVACY_CHATS: usize = 1_000;

/// In which chats contents of files stay on this machine (spec 13).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privacy {
    /// In every chat for which nothing else is said.
    pub all: bool,
    /// Chats for which it was said.
    pub chats: BTreeMap<SessionId, bool>,
    /// The person reads what a model answers about private files before it leaves.
    pub review: bool,
    /// So many first bytes may leave with the description of a private file, where they are asked for. They are content, so none where
    /// nothing was said.
    pub preview_bytes: Option<u16>,
}

/// Which interface a model server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelApi {
    /// Found out by asking.
    #[default]
    Auto,
    /// Ollama's own.
    Ollama,
    /// The one that many servers share (`/v1/chat/completions`).
    OpenAi,
}

impl ModelApi {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
        }
    }

    /// Finds it by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Auto, Self::Ollama, Self::OpenAi].into_iter().find(|api| api.name() == name)
    }
}

/// A server of local models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelServer {
    /// Its base address, `http://` or `https://` with a host, without a path but `/`.
    pub url: String,
    /// Which interface it speaks.
    pub api: ModelApi,
    /// The person said that it may be on another computer. Without this only loopback addresses are asked.
    pub far: bool,
    /// Requests it takes at once, 1 to 16.
    pub parallel: u8,
}

/// Servers that the person may add.
pub const MAX_MODEL_SERVERS: usize = 16;
/// Devices that the person may share.
pub const MAX_DEVICES: usize = 64;

/// A device that the person shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedDevice {
    /// What it was called then, for a person while it is not there.
    pub label: String,
    /// When it was shared, Unix milliseconds.
    pub at_ms: i64,
}

/// Everything that a decision depends on. Cheap to clone; the engine replaces it whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyState {
    /// The stored stop: nothing may act.
    pub raised: bool,
    /// Counts how often the bridge was raised; a permit from before a raise is worthless after it.
    pub raise_count: u64,
    /// Why the stored settings cannot be trusted, if so: then everything is denied.
    pub broken: Option<String>,
    /// The mode of each power. A power that is missing here is off.
    pub modes: BTreeMap<Power, PowerMode>,
    /// Powers that an administrator or the platform's user may not switch on, each with who says so.
    pub locked_off: BTreeMap<Power, String>,
    /// How far everything else may go at most.
    pub ceilings: Ceilings,
    /// What was allowed for one chat.
    pub chat_allowances: BTreeMap<ChatAllowance, Given>,
    /// Modes that hold for one chat alone. The power's own *off* always wins.
    pub chat_modes: BTreeMap<(SessionId, Power), PowerMode>,
    /// Commands that are always allowed where the shell power asks.
    pub command_rules: Vec<CommandRule>,
    /// How many command rules were ever made; names the next one.
    pub rules_made: u64,
    /// Folders that the person chose for agents to look in. None chosen means what the configuration or the system says.
    pub browse_roots: Vec<String>,
    /// Which apps agents may see and use, and how pictures are taken.
    pub screen: ScreenRules,
    /// The clipboard power also covers what others put there.
    pub clipboard_foreign: bool,
    /// In which chats contents of files stay on this machine.
    pub privacy: Privacy,
    /// Servers of local models that the person added, in their order.
    pub model_servers: Vec<ModelServer>,
    /// Devices that the person shared.
    pub devices: BTreeMap<DeviceId, SharedDevice>,
    /// Serial ports that the person named by path, since no system lists them; absolute paths.
    pub added_ports: Vec<String>,
    /// Whether a question can be asked.
    pub prompting: Prompting,
    /// How commands run.
    pub shell_mode: ShellMode,
    /// What a confined command may reach.
    pub shell_network: Network,
}

impl PolicyState {
    /// Returns the defaults of DESIGN §4: files allowed inside the attached folder, attaching asks, all else off.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            raised: false,
            raise_count: 0,
            broken: None,
            modes: BTreeMap::from([(Power::Files, PowerMode::Allowed), (Power::Attach, PowerMode::AskEachTime)]),
            locked_off: BTreeMap::new(),
            ceilings: Ceilings::default(),
            chat_allowances: BTreeMap::new(),
            chat_modes: BTreeMap::new(),
            command_rules: Vec::new(),
            rules_made: 0,
            browse_roots: Vec::new(),
            screen: ScreenRules::default(),
            clipboard_foreign: false,
            privacy: Privacy::default(),
            model_servers: Vec::new(),
            devices: BTreeMap::new(),
            added_ports: Vec::new(),
            prompting: Prompting::Impossible,
            shell_mode: ShellMode::Confined,
            shell_network: Network::None,
        }
    }

    /// Returns the mode that the settings give a power, within what may be at most.
    #[must_use]
    pub fn mode(&self, power: Power) -> PowerMode {
        if self.locked_off.contains_key(&power) {
            return PowerMode::Off;
        }
        self.capped(power, self.set_mode(power))
    }

    fn set_mode(&self, power: Power) -> PowerMode {
        self.modes.get(&power).copied().unwrap_or(PowerMode::Off)
    }

    fn capped(&self, power: Power, mode: PowerMode) -> PowerMode {
        self.ceilings.powers.get(&power).map_or(mode, |most| mode.min(*most))
    }

    /// Tells whether the person set more for a power in a chat than they may have.
    #[must_use]
    pub fn goes_beyond(&self, power: Power, session: Option<&SessionId>) -> bool {
        let set = self.set_chat_mode(power, session).unwrap_or_else(|| self.set_mode(power));
        set > self.capped(power, set)
    }

    /// Brings what cannot be decided anew each time within what may be at most: how commands run, and whose text in the
    /// clipboard may be read.
    pub fn keep_within_ceilings(&mut self) {
        if self.ceilings.own_clipboard {
            self.clipboard_foreign = false;
        }
        if self.ceilings.confined {
            self.shell_mode = ShellMode::Confined;
        }
        if let Some(most) = self.ceilings.network {
            self.shell_network = self.shell_network.min(most);
        }
    }

    /// Returns the mode that the person set for one chat alone, if it counts: the power's own *off* always wins.
    #[must_use]
    pub fn chat_mode(&self, power: Power, session: Option<&SessionId>) -> Option<PowerMode> {
        self.set_chat_mode(power, session).map(|mode| self.capped(power, mode))
    }

    fn set_chat_mode(&self, power: Power, session: Option<&SessionId>) -> Option<PowerMode> {
        if self.mode(power) == PowerMode::Off {
            return None;
        }
        self.chat_modes.get(&(session?.clone(), power)).copied()
    }

    /// Returns the mode that holds for a power in a chat.
    #[must_use]
    pub fn mode_in(&self, power: Power, session: Option<&SessionId>) -> PowerMode {
        self.chat_mode(power, session).unwrap_or_else(|| self.mode(power))
    }

    /// Tells whether contents of files stay on this machine in a chat. What is said for the chat itself counts before what is said for
    /// all, and what somebody above the person has fixed before both.
    #[must_use]
    pub fn is_private(&self, session: Option<&SessionId>) -> bool {
        if self.ceilings.private {
            return true;
        }
        session.and_then(|session| self.privacy.chats.get(session)).copied().unwrap_or(self.privacy.all)
    }

    /// Returns how many first bytes may leave with the description of a private file.
    #[must_use]
    pub fn preview_bytes(&self) -> u16 {
        if self.ceilings.no_preview { 0 } else { self.privacy.preview_bytes.unwrap_or(0).min(MAX_PREVIEW_BYTES) }
    }

    /// Tells whether a power can lead to anything but a refusal, so that it may be offered to a peer.
    #[must_use]
    pub fn offers(&self, power: Power) -> bool {
        self.offers_in(power, None)
    }

    /// Tells the same for one chat.
    #[must_use]
    pub fn offers_in(&self, power: Power, session: Option<&SessionId>) -> bool {
        !self.raised && self.broken.is_none() && self.mode_in(power, session) != PowerMode::Off
    }

    /// Drops what was allowed for a chat by answering a question. Tells whether there was any.
    pub fn drop_allowances(&mut self, session: &SessionId) -> bool {
        let before = self.chat_allowances.len();
        self.chat_allowances.retain(|allowance, _| allowance.session != *session);
        self.chat_allowances.len() != before
    }

    /// Drops a chat's own word that contents of files may leave. Tells whether there was one. That they stay is never dropped by a
    /// way that a platform can take: a chat that comes back under the same name must not be less private than it was.
    pub fn drop_openness(&mut self, session: &SessionId) -> bool {
        let before = self.privacy.chats.len();
        self.privacy.chats.retain(|chat, on| chat != session || *on);
        self.privacy.chats.len() != before
    }

    /// Drops everything that holds for a chat alone, except that contents of its files stay here. Tells whether there was any.
    pub fn forget_chat(&mut self, session: &SessionId) -> bool {
        let before = self.chat_modes.len();
        self.chat_modes.retain(|(chat, _), _| chat != session);
        let modes = self.chat_modes.len() != before;
        let open = self.drop_openness(session);
        self.drop_allowances(session) || modes || open
    }
}
