//! What the person allows for one chat alone or always, and how they take it back.
//!
//! Decisions are policy's. Here is what may be asked for, what is written down about it, and which links hear of it.

use drawbridge_policy::{CommandRule, MAX_RULES};
use serde_json::json;

use super::Core;
use super::commands::{Done, not_stored};
use crate::handle::{CommandError, Reply};

impl Core {
    pub(super) fn set_chat_power(&mut self, _session_id: &str, _power: &str, _mode: Option<&str>) -> Done {
        Err(CommandError::new("not_built", "Not built yet."))
    }

    pub(super) fn remove_rule(&mut self, _id: &str) -> Done {
        Err(CommandError::new("not_built", "Not built yet."))
    }

    pub(super) fn set_rule(&mut self, _id: &str, _words: &[String], _any_more: bool) -> Done {
        Err(CommandError::new("not_built", "Not built yet."))
    }

    pub(super) fn settings_afresh(&mut self) -> Done {
        Err(CommandError::new("not_built", "Not built yet."))
    }

    /// Stores the rule that a question offered ([`CommandRule::offer`]); its id is given here. A rule that allows the same
    /// already is enough. Call it before the question is answered: an answer that cannot be stored must not count.
    ///
    /// # Errors
    /// Too many rules, or it could not be stored; nothing has changed then.
    pub(super) fn allow_always(&self, offered: CommandRule) -> Result<(), CommandError> {
        let state = self.policy.get();
        if state.command_rules.iter().any(|rule| rule.allows_the_same(&offered)) {
            return Ok(());
        }
        offered.check().map_err(rule_fault)?;
        if state.command_rules.len() >= MAX_RULES {
            return Err(CommandError::new(
                "too_many_rules",
                format!(
                    "There are {MAX_RULES} rules already, so this one was not added and nothing was allowed. Remove some on the Rules page, or allow it once."
                ),
            ));
        }
        let number = state.rules_made + 1;
        let rule = CommandRule { id: CommandRule::name(number), ..offered };
        self.policy
            .change(|state| {
                state.rules_made = number;
                state.command_rules.push(rule.clone());
            })
            .map_err(not_stored)?;
        let details = json!({ "rule": rule.id, "program": rule.program, "words": rule.words.len() });
        self.journal.event(None, "POLICY_CHANGED", details);
        self.board.touch();
        Ok(())
    }
}

fn rule_fault(fault: drawbridge_policy::RuleFault) -> CommandError {
    CommandError::new("rule_refused", format!("This rule was not stored: {fault}."))
}
