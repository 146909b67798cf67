//! The one decision function.

use drawbridge_core::computer::{ComputerOp, InputOp};
use drawbridge_core::hardware::{GpioAct, HardwareAct, SerialAct};
use drawbridge_core::model::ModelOp;
use drawbridge_core::{FileOp, Operation, Power, PowerMode, SessionId, SessionOp};

use crate::command_rule::allowing;
use crate::programs::Programs;
use crate::rules::{ChatAllowance, PolicyState, Prompting};

/// Allow, ask or deny, from open to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

impl Decision {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Finds a decision by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|decision| decision.name() == name)
    }
}

/// The rule that won. Its name is stable: it stands in the audit log and in `--json` output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The bridge is raised.
    Raised,
    /// The settings cannot be read.
    SettingsBroken,
    /// It only takes away what a peer has; never refused.
    TakesAway,
    /// Somebody else switched the power off for good.
    LockedOff {
        /// Who says so.
        by: String,
    },
    /// The person set more than they may have: so far the power goes at most.
    Ceiling {
        /// The power.
        power: Power,
        /// Its loosest mode.
        mode: PowerMode,
        /// Who says so.
        by: String,
    },
    /// The person's mode for the power.
    Mode {
        /// The power.
        power: Power,
        /// Its mode.
        mode: PowerMode,
    },
    /// The person's mode for the power in this chat alone.
    ChatMode {
        /// The power.
        power: Power,
        /// Its mode in this chat.
        mode: PowerMode,
    },
    /// The person always allows this command.
    CommandRule {
        /// The power.
        power: Power,
        /// Names the rule; several, joined by `+`, where each part of the command has its own.
        id: String,
    },
    /// The person allowed the power for this chat.
    ChatAllowance {
        /// The power.
        power: Power,
    },
    /// A question would be needed and nobody can be asked.
    NobodyToAsk {
        /// The power.
        power: Power,
    },
    /// Contents of files stay here in this chat.
    PrivacyOn,
    /// Only a chat in which contents stay here may ask about files by stubs.
    PrivacyOff,
    /// The person reads what a model answers about private files before it leaves.
    Review,
    /// The person has not shared this device.
    NotShared,
    /// A person answered a question about this very operation.
    Answered {
        /// The power.
        power: Power,
    },
}

impl Rule {
    /// Returns the stable name of the rule.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::SettingsBroken => "settings_broken",
            Self::TakesAway => "takes_away",
            Self::LockedOff { .. } => "locked_off",
            Self::Ceiling { .. } => "ceiling",
            Self::Mode { .. } => "mode",
            Self::ChatMode { .. } => "chat_mode",
            Self::CommandRule { .. } => "command_rule",
            Self::ChatAllowance { .. } => "chat_allowance",
            Self::NobodyToAsk { .. } => "nobody_to_ask",
            Self::PrivacyOn => "privacy_on",
            Self::PrivacyOff => "privacy_off",
            Self::Review => "review",
            Self::NotShared => "not_shared",
            Self::Answered { .. } => "answered",
        }
    }
}

/// A decision with the rule that led to it and one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The decision.
    pub decision: Decision,
    /// The rule that won.
    pub rule: Rule,
    /// The reason in words.
    pub why: String,
}

/// Decides about one operation of one chat. Pure: the same state and operation always give the same answer.
///
/// This is [`decide_resolved`] for a command whose programs nobody looked up, so no rule for commands can allow it.
#[must_use]
pub fn decide(state: &PolicyState, operation: &Operation, session: Option<&SessionId>) -> Explanation {
    decide_resolved(state, operation, session, &Programs::unknown())
}

/// Decides about one operation of one chat, with the programs that a command means. Pure.
///
/// The strictest rule wins: raised and broken settings before everything, then the power's *off*, then the chat's own mode or
/// else the power's, neither beyond its ceiling, then what was allowed for the chat or always; and a question that nobody can
/// answer is a no. Where a power has a ceiling, no rule of the person can spare them the question.
#[must_use]
pub fn decide_resolved(
    state: &PolicyState,
    operation: &Operation,
    session: Option<&SessionId>,
    programs: &Programs,
) -> Explanation {
    let Some(power) = operation.power() else {
        return Explanation::new(Decision::Allow, Rule::TakesAway);
    };
    if state.raised {
        return Explanation::new(Decision::Deny, Rule::Raised);
    }
    if let Some(fault) = &state.broken {
        let why = format!("the settings cannot be read ({fault}), so everything is refused");
        return Explanation { decision: Decision::Deny, rule: Rule::SettingsBroken, why };
    }
    if let Some(by) = state.locked_off.get(&power) {
        let why = format!("{power} is switched off by {by}");
        return Explanation { decision: Decision::Deny, rule: Rule::LockedOff { by: by.clone() }, why };
    }
    // A power that is off is the plainer reason.
    if state.mode_in(power, session) != PowerMode::Off
        && let Some(rule) = held_back(state, operation, session)
    {
        return Explanation::new(Decision::Deny, rule);
    }
    match operation {
        // The turn itself was the question whether the model may be asked.
        Operation::Model(ModelOp::Release(_)) => release(state, power, session),
        Operation::Model(ModelOp::Turn(_)) if state.privacy.review && state.prompting == Prompting::Impossible => {
            nobody_reads(power)
        }
        // It reads files as well, so both powers have a say and the stricter one counts.
        Operation::Model(ModelOp::Turn(_)) => {
            let model = by_mode(state, operation, session, programs, power);
            let files = by_mode(state, operation, session, programs, Power::Files);
            if files.decision > model.decision { files } else { model }
        }
        Operation::File(_)
        | Operation::Command(_)
        | Operation::Browse(_)
        | Operation::Session(_)
        | Operation::Computer(_)
        | Operation::Model(_)
        | Operation::Hardware(_) => by_mode(state, operation, session, programs, power),
    }
}

/// Decides by what the person set for a power.
fn by_mode(
    state: &PolicyState,
    operation: &Operation,
    session: Option<&SessionId>,
    programs: &Programs,
    power: Power,
) -> Explanation {
    let (mode, rule) = mode_rule(state, power, session);
    match mode {
        PowerMode::Off => Explanation::new(Decision::Deny, rule),
        PowerMode::Allowed => Explanation::new(Decision::Allow, rule),
        PowerMode::AskOncePerChat
            if allowed_for_chat(state, power, session) && covered_by_chat_allowance(operation) =>
        {
            Explanation::new(Decision::Allow, Rule::ChatAllowance { power })
        }
        PowerMode::AskEachTime | PowerMode::AskOncePerChat if !needs_question(operation) => {
            Explanation::new(Decision::Allow, rule)
        }
        PowerMode::AskEachTime | PowerMode::AskOncePerChat => {
            let capped = state.ceilings.powers.contains_key(&power);
            if let Some(id) = always_allowed(state, operation, programs).filter(|_| !capped) {
                return Explanation::new(Decision::Allow, Rule::CommandRule { power, id });
            }
            match (state.prompting, &rule) {
                (Prompting::Possible, _) => Explanation::new(Decision::Ask, rule),
                (Prompting::Impossible, Rule::Ceiling { by, .. }) => {
                    let why = format!("{by} has set {power} to ask, and nobody can be asked here");
                    Explanation { decision: Decision::Deny, rule: Rule::NobodyToAsk { power }, why }
                }
                (Prompting::Impossible, _) => Explanation::new(Decision::Deny, Rule::NobodyToAsk { power }),
            }
        }
    }
}

/// Returns the mode that holds for a power in a chat, and whose it is.
fn mode_rule(state: &PolicyState, power: Power, session: Option<&SessionId>) -> (PowerMode, Rule) {
    if let Some(by) = state.locked_off.get(&power) {
        return (PowerMode::Off, Rule::LockedOff { by: by.clone() });
    }
    let mode = state.mode_in(power, session);
    let rule = match state.chat_mode(power, session) {
        _ if state.goes_beyond(power, session) => Rule::Ceiling { power, mode, by: state.ceilings.by.clone() },
        Some(mode) => Rule::ChatMode { power, mode },
        None => Rule::Mode { power, mode },
    };
    (mode, rule)
}

/// Decides whether an answer about private files may leave. It asks even where its power is allowed: the person wants to read it first.
fn release(state: &PolicyState, power: Power, session: Option<&SessionId>) -> Explanation {
    let (mode, rule) = mode_rule(state, power, session);
    match (mode, state.privacy.review, state.prompting) {
        (PowerMode::Off, ..) => Explanation::new(Decision::Deny, rule),
        (_, true, Prompting::Possible) => Explanation::new(Decision::Ask, Rule::Review),
        (_, true, Prompting::Impossible) => nobody_reads(power),
        (_, false, _) => Explanation::new(Decision::Allow, rule),
    }
}

fn nobody_reads(power: Power) -> Explanation {
    let why = "you read answers about private files before they leave, and nobody can be asked here".to_owned();
    Explanation { decision: Decision::Deny, rule: Rule::NobodyToAsk { power }, why }
}

/// Returns the rule that holds an operation back whatever the mode of its power says: contents that stay here, stubs where there are
/// none, devices that nobody shared.
pub(crate) fn held_back(state: &PolicyState, operation: &Operation, session: Option<&SessionId>) -> Option<Rule> {
    match operation {
        Operation::File(FileOp::Read { .. }) if state.is_private(session) => Some(Rule::PrivacyOn),
        Operation::File(FileOp::Stub { .. }) if !state.is_private(session) => Some(Rule::PrivacyOff),
        Operation::Model(ModelOp::Turn(_)) if !state.is_private(session) => Some(Rule::PrivacyOff),
        // It reads files as well.
        Operation::Model(ModelOp::Turn(_)) => {
            let (mode, rule) = mode_rule(state, Power::Files, session);
            // Which power is meant must be told, whoever switched it off.
            let rule =
                if matches!(rule, Rule::LockedOff { .. }) { Rule::Mode { power: Power::Files, mode } } else { rule };
            (mode == PowerMode::Off).then_some(rule)
        }
        // Letting go of what is held is always right.
        Operation::Hardware(op) if !lets_go(&op.act) && !state.devices.contains_key(&op.device) => {
            Some(Rule::NotShared)
        }
        Operation::File(_)
        | Operation::Command(_)
        | Operation::Browse(_)
        | Operation::Session(_)
        | Operation::Computer(_)
        | Operation::Model(_)
        | Operation::Hardware(_) => None,
    }
}

const fn lets_go(act: &HardwareAct) -> bool {
    matches!(act, HardwareAct::Serial(SerialAct::Close) | HardwareAct::Gpio(GpioAct::Release { .. }))
}

/// Returns the names of the rules that together allow a command.
fn always_allowed(state: &PolicyState, operation: &Operation, programs: &Programs) -> Option<String> {
    let Operation::Command(op) = operation else { return None };
    let mut ids: Vec<&str> = Vec::new();
    for rule in allowing(&state.command_rules, op, programs)? {
        if !ids.contains(&rule.id.as_str()) {
            ids.push(&rule.id);
        }
    }
    Some(ids.join("+"))
}

/// Tells whether "allow for this chat" can ever cover an operation. Starting an app needs a yes of its own each time (spec 10.7):
/// who lets an agent click has not thereby let it start what runs on when the chat is long over. The mode *allowed* covers it.
#[must_use]
pub const fn covered_by_chat_allowance(operation: &Operation) -> bool {
    !matches!(operation, Operation::Computer(ComputerOp::AppLaunch(_)) | Operation::Model(ModelOp::Release(_)))
}

/// Listing folder names shows little, and activating or restoring uses a folder that the person attached before: its grant
/// is the proof of their answer. So of the operations on attachments only attaching asks.
fn needs_question(operation: &Operation) -> bool {
    match operation {
        // Waiting touches nothing. Displays and permissions are facts of the machine: they show nothing of what the person
        // does, as the pointer, windows and apps do.
        Operation::Computer(
            ComputerOp::Input(InputOp::Wait { .. }) | ComputerOp::DisplayInfo | ComputerOp::PermissionsCheck { .. },
        ) => false,
        Operation::Hardware(op) => !lets_go(&op.act),
        Operation::File(_)
        | Operation::Command(_)
        | Operation::Computer(_)
        | Operation::Model(_)
        | Operation::Session(SessionOp::Attach { .. }) => true,
        Operation::Browse(_)
        | Operation::Session(SessionOp::Activate { .. } | SessionOp::Restore { .. } | SessionOp::Detach { .. }) => {
            false
        }
    }
}

fn allowed_for_chat(state: &PolicyState, power: Power, session: Option<&SessionId>) -> bool {
    session
        .is_some_and(|session| state.chat_allowances.contains_key(&ChatAllowance { session: session.clone(), power }))
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
