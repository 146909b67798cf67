//! Decisions as words and as plain values: one sentence for each, and the way back from what the audit log holds.

use drawbridge_core::{Power, PowerMode};

use crate::decision::{Decision, Explanation, Rule};

/// What a rule is made of, as plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleParts<'a> {
    /// Its stable name.
    pub name: &'a str,
    /// The power concerned.
    pub power: Option<Power>,
    /// The mode that decided.
    pub mode: Option<PowerMode>,
    /// Who switched the power off, or fixed how far it goes.
    pub by: Option<&'a str>,
    /// Names of the command rules that decided, joined by `+`.
    pub id: Option<&'a str>,
}

impl Rule {
    /// Takes the rule apart.
    #[must_use]
    pub fn parts(&self) -> RuleParts<'_> {
        let parts = RuleParts { name: self.name(), power: None, mode: None, by: None, id: None };
        match self {
            Self::Raised
            | Self::SettingsBroken
            | Self::TakesAway
            | Self::PrivacyOn
            | Self::PrivacyOff
            | Self::Review
            | Self::NotShared => parts,
            Self::LockedOff { by } => RuleParts { by: Some(by), ..parts },
            Self::Ceiling { power, mode, by } => {
                RuleParts { power: Some(*power), mode: Some(*mode), by: Some(by), ..parts }
            }
            Self::Mode { power, mode } | Self::ChatMode { power, mode } => {
                RuleParts { power: Some(*power), mode: Some(*mode), ..parts }
            }
            Self::CommandRule { power, id } => RuleParts { power: Some(*power), id: Some(id), ..parts },
            Self::ChatAllowance { power } | Self::NobodyToAsk { power } | Self::Answered { power } => {
                RuleParts { power: Some(*power), ..parts }
            }
        }
    }

    /// Puts a rule together again; none when a version that knew other rules took it apart.
    #[must_use]
    pub fn from_parts(parts: RuleParts<'_>) -> Option<Self> {
        let rule = match (parts.name, parts.power) {
            ("raised", _) => Self::Raised,
            ("settings_broken", _) => Self::SettingsBroken,
            ("takes_away", _) => Self::TakesAway,
            ("privacy_on", _) => Self::PrivacyOn,
            ("privacy_off", _) => Self::PrivacyOff,
            ("review", _) => Self::Review,
            ("not_shared", _) => Self::NotShared,
            ("locked_off", _) => Self::LockedOff { by: parts.by?.to_owned() },
            ("ceiling", Some(power)) => Self::Ceiling { power, mode: parts.mode?, by: parts.by?.to_owned() },
            ("mode", Some(power)) => Self::Mode { power, mode: parts.mode? },
            ("chat_mode", Some(power)) => Self::ChatMode { power, mode: parts.mode? },
            ("command_rule", Some(power)) => Self::CommandRule { power, id: parts.id?.to_owned() },
            ("chat_allowance", Some(power)) => Self::ChatAllowance { power },
            ("nobody_to_ask", Some(power)) => Self::NobodyToAsk { power },
            ("answered", Some(power)) => Self::Answered { power },
            _ => return None,
        };
        Some(rule)
    }
}

impl Explanation {
    /// Explains a decision in one sentence.
    #[must_use]
    pub fn new(decision: Decision, rule: Rule) -> Self {
        let why = sentence(decision, &rule);
        Self { decision, rule, why }
    }
}

const LISTING: &str = "only attaching a folder asks: names may be listed, and a chat may use the folder you gave it";

const fn named(mode: PowerMode) -> &'static str {
    match mode {
        PowerMode::Off => "off",
        PowerMode::AskEachTime => "asking each time",
        PowerMode::AskOncePerChat => "asking once for each chat",
        PowerMode::Allowed => "allowed",
    }
}

fn sentence(decision: Decision, rule: &Rule) -> String {
    match rule {
        Rule::Raised => "the bridge is raised: nothing may act until you lower it".to_owned(),
        Rule::SettingsBroken => "the settings cannot be read, so everything is refused".to_owned(),
        Rule::TakesAway => "it only takes away access, so it is never refused".to_owned(),
        Rule::LockedOff { by } => format!("the power is switched off by {by}"),
        Rule::Ceiling { mode: PowerMode::AskEachTime | PowerMode::AskOncePerChat, .. }
            if decision == Decision::Allow =>
        {
            LISTING.to_owned()
        }
        Rule::Ceiling { power, mode, by } => format!("{by} lets the power {power} go no further than {}", named(*mode)),
        Rule::Mode { power, mode: PowerMode::Off } => format!("the power {power} is off"),
        Rule::Mode { power, mode: PowerMode::Allowed } => format!("the power {power} is set to allowed"),
        Rule::Mode { mode: PowerMode::AskEachTime | PowerMode::AskOncePerChat, .. }
        | Rule::ChatMode { mode: PowerMode::AskEachTime | PowerMode::AskOncePerChat, .. }
            if decision == Decision::Allow =>
        {
            LISTING.to_owned()
        }
        Rule::Mode { power, mode: PowerMode::AskEachTime | PowerMode::AskOncePerChat } => {
            format!("the power {power} is set to ask")
        }
        Rule::ChatMode { power, mode: PowerMode::Off } => format!("you switched {power} off for this chat"),
        Rule::ChatMode { power, mode: PowerMode::Allowed } => format!("you set {power} to allowed for this chat"),
        Rule::ChatMode { power, mode: PowerMode::AskEachTime | PowerMode::AskOncePerChat } => {
            format!("you set {power} to ask in this chat")
        }
        Rule::CommandRule { id, .. } => format!("you always allow this command (rule {id})"),
        Rule::ChatAllowance { power } => format!("you allowed {power} for this chat"),
        Rule::PrivacyOn => "contents of files stay on this computer in this chat".to_owned(),
        Rule::PrivacyOff => {
            "files are described without their contents only in a chat where contents stay here".to_owned()
        }
        Rule::Review => "you read what the model answers about private files before it leaves".to_owned(),
        Rule::NotShared => "you have not shared this device".to_owned(),
        Rule::NobodyToAsk { power } => format!("the power {power} is set to ask, and nobody can be asked here"),
        Rule::Answered { .. } if decision == Decision::Deny => "you answered the question with no".to_owned(),
        Rule::Answered { .. } => "you answered the question with yes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_was_taken_apart_says_the_same_when_it_is_together_again() {
        let power = Power::Shell;
        let mut rules = vec![
            Rule::Raised,
            Rule::SettingsBroken,
            Rule::TakesAway,
            Rule::PrivacyOn,
            Rule::PrivacyOff,
            Rule::Review,
            Rule::NotShared,
            Rule::LockedOff { by: "your organisation".to_owned() },
            Rule::ChatAllowance { power },
            Rule::NobodyToAsk { power },
            Rule::Answered { power },
            Rule::CommandRule { power, id: "r-3+r-9".to_owned() },
        ];
        rules.extend(PowerMode::ALL.map(|mode| Rule::Mode { power, mode }));
        rules.extend(PowerMode::ALL.map(|mode| Rule::ChatMode { power, mode }));
        rules.extend(PowerMode::ALL.map(|mode| Rule::Ceiling { power, mode, by: "Example Ltd".to_owned() }));
        let mut sentences = std::collections::BTreeSet::new();
        for rule in rules {
            let again = Rule::from_parts(rule.parts());

            assert_eq!(again.as_ref(), Some(&rule));
            sentences.insert(Explanation::new(Decision::Deny, rule).why);
        }
        // The two ways of asking are told alike.
        assert_eq!(sentences.len(), 22);
    }

    #[test]
    fn a_rule_of_another_version_is_not_taken_for_one_of_ours() {
        let parts = RuleParts { name: "moon_phase", power: Some(Power::Files), mode: None, by: None, id: None };

        assert_eq!(Rule::from_parts(parts), None);
        assert_eq!(Rule::from_parts(RuleParts { name: "command_rule", ..parts }), None);
        assert_eq!(Rule::from_parts(RuleParts { name: "mode", ..parts }), None);
    }
}
