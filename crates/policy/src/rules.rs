//! The state that decisions are made from.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_core::{Power, PowerMode, SessionId};

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

/// What a confined command may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// "Always allow" for one command: a resolved program and a pattern of its words (DESIGN §4). Never a text prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    /// Names the rule, for removing it and for the audit log. Never used again.
    pub id: String,
    /// The absolute path that the first word resolved to when the rule was made.
    pub program: String,
    /// The words after the program.
    pub words: Vec<WordPattern>,
    /// Any further words may follow.
    pub any_more: bool,
    /// Where it came from.
    pub origin: Origin,
    /// When it was made, Unix milliseconds.
    pub at_ms: i64,
}

/// What one word of a command must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPattern {
    /// Exactly this.
    Exactly(String),
    /// Any one word.
    Any,
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
    /// What was allowed for one chat.
    pub chat_allowances: BTreeSet<ChatAllowance>,
    /// Modes that hold for one chat alone. The power's own *off* always wins.
    pub chat_modes: BTreeMap<(SessionId, Power), PowerMode>,
    /// Commands that are always allowed where the shell power asks.
    pub command_rules: Vec<CommandRule>,
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
            chat_allowances: BTreeSet::new(),
            chat_modes: BTreeMap::new(),
            command_rules: Vec::new(),
            prompting: Prompting::Impossible,
            shell_mode: ShellMode::Confined,
            shell_network: Network::None,
        }
    }

    /// Returns the mode that the settings give a power.
    #[must_use]
    pub fn mode(&self, power: Power) -> PowerMode {
        if self.locked_off.contains_key(&power) {
            return PowerMode::Off;
        }
        self.modes.get(&power).copied().unwrap_or(PowerMode::Off)
    }

    /// Tells whether a power can lead to anything but a refusal, so that it may be offered to a peer.
    #[must_use]
    pub fn offers(&self, power: Power) -> bool {
        !self.raised && self.broken.is_none() && self.mode(power) != PowerMode::Off
    }
}
