//! The one decision function.

use drawbridge_core::{Operation, Power, PowerMode, SessionId, SessionOp};

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
    /// The person's mode for the power.
    Mode {
        /// The power.
        power: Power,
        /// Its mode.
        mode: PowerMode,
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
            Self::Mode { .. } => "mode",
            Self::ChatAllowance { .. } => "chat_allowance",
            Self::NobodyToAsk { .. } => "nobody_to_ask",
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
/// The strictest rule wins: raised and broken settings before everything, then the power's mode, then what was allowed
/// for the chat, and a question that nobody can answer is a no.
#[must_use]
pub fn decide(state: &PolicyState, operation: &Operation, session: Option<&SessionId>) -> Explanation {
    let Some(power) = operation.power() else {
        return explain(Decision::Allow, Rule::TakesAway, "it only takes away access, so it is never refused");
    };
    if state.raised {
        return explain(Decision::Deny, Rule::Raised, "the bridge is raised: nothing may act until you lower it");
    }
    if let Some(fault) = &state.broken {
        let why = format!("the settings cannot be read ({fault}), so everything is refused");
        return explain(Decision::Deny, Rule::SettingsBroken, why);
    }
    if let Some(by) = state.locked_off.get(&power) {
        let why = format!("{power} is switched off by {by}");
        return explain(Decision::Deny, Rule::LockedOff { by: by.clone() }, why);
    }
    let mode = state.mode(power);
    match mode {
        PowerMode::Off => explain(Decision::Deny, Rule::Mode { power, mode }, format!("the power {power} is off")),
        PowerMode::Allowed => {
            explain(Decision::Allow, Rule::Mode { power, mode }, format!("the power {power} is set to allowed"))
        }
        PowerMode::AskOncePerChat if allowed_for_chat(state, power, session) => {
            explain(Decision::Allow, Rule::ChatAllowance { power }, format!("you allowed {power} for this chat"))
        }
        PowerMode::AskEachTime | PowerMode::AskOncePerChat if !needs_question(operation) => explain(
            Decision::Allow,
            Rule::Mode { power, mode },
            "only attaching a folder asks: names may be listed, and a chat may use the folder you gave it",
        ),
        PowerMode::AskEachTime | PowerMode::AskOncePerChat => match state.prompting {
            Prompting::Possible => {
                explain(Decision::Ask, Rule::Mode { power, mode }, format!("the power {power} is set to ask"))
            }
            Prompting::Impossible => explain(
                Decision::Deny,
                Rule::NobodyToAsk { power },
                format!("the power {power} is set to ask, and nobody can be asked here"),
            ),
        },
    }
}

/// Listing folder names shows little, and activating or restoring uses a folder that the person attached before: its grant
/// is the proof of their answer. So of the operations on attachments only attaching asks.
fn needs_question(operation: &Operation) -> bool {
    match operation {
        Operation::File(_) | Operation::Command(_) | Operation::Session(SessionOp::Attach { .. }) => true,
        Operation::Browse(_)
        | Operation::Session(SessionOp::Activate { .. } | SessionOp::Restore { .. } | SessionOp::Detach { .. }) => {
            false
        }
    }
}

fn allowed_for_chat(state: &PolicyState, power: Power, session: Option<&SessionId>) -> bool {
    session.is_some_and(|session| state.chat_allowances.contains(&ChatAllowance { session: session.clone(), power }))
}

fn explain(decision: Decision, rule: Rule, why: impl Into<String>) -> Explanation {
    Explanation { decision, rule, why: why.into() }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
