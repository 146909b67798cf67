//! What the person allows for one chat alone or always, and how they take it back.
//!
//! Decisions are policy's. Here is what may be asked for, what is written down about it, and which links hear of it. The audit
//! log gets names, programs and numbers of words, never the words: they may be secrets.

use drawbridge_core::{Power, PowerMode, SessionId};
use drawbridge_policy::{ChatAllowance, CommandRule, MAX_RULES, Origin, PolicyState, RuleFault, WordPattern};
use serde_json::{Value, json};

use super::Core;
use super::commands::{Done, mode_named, not_stored, power_named};
use crate::handle::{CommandError, Reply};
use crate::managed::may_set;
use crate::record::shown;
use crate::rule_list::{Named, named};

/// Modes of chats that are kept at most.
const MAX_CHAT_MODES: usize = 1_000;

impl Core {
    /// Sets the mode of a power for one chat, or takes that back. What was allowed by an answer for this chat is void then.
    pub(super) fn set_chat_power(&self, session_id: &str, power: &str, mode: Option<&str>) -> Done {
        let session = self.known_or_legacy(session_id)?;
        let power = power_named(power)?;
        let mode = mode.map(mode_named).transpose()?;
        let before = self.policy.get();
        if let Some(mode) = mode.filter(|mode| *mode != PowerMode::Off) {
            self.may_have_mode(power, mode)?;
        }
        let key = (session.clone(), power);
        if mode.is_some() && !before.chat_modes.contains_key(&key) && before.chat_modes.len() >= MAX_CHAT_MODES {
            return Err(CommandError::new(
                "too_many_rules",
                format!(
                    "{MAX_CHAT_MODES} chats have modes of their own already, so nothing has changed. Forget chats that you do not need any more, then try again."
                ),
            ));
        }
        self.change_chat_mode(&session, power, mode)
    }

    /// Changes the mode of a power in a chat and tells its link.
    fn change_chat_mode(&self, session: &SessionId, power: Power, mode: Option<PowerMode>) -> Done {
        let before = self.policy.get();
        let (key, allowance) = ((session.clone(), power), ChatAllowance { session: session.clone(), power });
        let after = self
            .policy
            .change(|state| {
                state.chat_allowances.remove(&allowance);
                match mode {
                    Some(mode) => state.chat_modes.insert(key.clone(), mode),
                    None => state.chat_modes.remove(&key),
                };
            })
            .map_err(not_stored)?;
        let details = json!({ "chat": session.as_str(), "power": power.name(), "mode": mode.map(PowerMode::name) });
        self.journal.event(Some(session), "POLICY_CHANGED", details);
        let (offered, offers) = (before.offers_in(power, Some(session)), after.offers_in(power, Some(session)));
        if offered != offers {
            self.renew_chat(session, offered);
        }
        self.board.touch();
        Ok(Reply::Done)
    }

    /// Refuses a mode that would do nothing, with what stands in its way.
    fn may_have_mode(&self, power: Power, mode: PowerMode) -> Result<(), CommandError> {
        let state = self.policy.get();
        may_set(&state, power, mode)?;
        if state.mode(power) == PowerMode::Off {
            let message = format!(
                "The power {power} is off, and that holds for every chat, so {} for one chat would do nothing. Switch the power on first.",
                mode.name()
            );
            return Err(CommandError::new("power_off", message));
        }
        Ok(())
    }

    /// Takes back what was allowed for a chat or always. It counts at once, even where it cannot be stored.
    pub(super) fn remove_rule(&self, id: &str) -> Done {
        match named(id) {
            Some(Named::Command(id)) => self.remove_command_rule(&id),
            Some(Named::Allowance(allowance)) => self.remove_allowance(&allowance),
            Some(Named::ChatMode(session, power)) if self.has_chat_mode(&session, power) => {
                self.change_chat_mode(&session, power, None)
            }
            Some(Named::ChatMode(..)) | None => Err(unknown_rule(id)),
        }
    }

    fn has_chat_mode(&self, session: &SessionId, power: Power) -> bool {
        self.policy.get().chat_modes.contains_key(&(session.clone(), power))
    }

    fn remove_command_rule(&self, id: &str) -> Done {
        let state = self.policy.get();
        let rule = state.command_rules.iter().find(|rule| rule.id == id).ok_or_else(|| unknown_rule(id))?;
        let stored = self.policy.tighten(|state| state.command_rules.retain(|rule| rule.id != id));
        let mut details = told(rule);
        details["removed"] = Value::Bool(true);
        self.taken_back(None, details, stored.map(drop))
    }

    fn remove_allowance(&self, allowance: &ChatAllowance) -> Done {
        if !self.policy.get().chat_allowances.contains_key(allowance) {
            return Err(unknown_rule(&format!("chat:{}:{}", allowance.session.as_str(), allowance.power.name())));
        }
        let stored = self.policy.tighten(|state| {
            state.chat_allowances.remove(allowance);
        });
        let details = json!({ "chat": allowance.session.as_str(), "power": allowance.power.name(), "removed": true });
        self.taken_back(Some(&allowance.session), details, stored.map(drop))
    }

    fn taken_back(&self, session: Option<&SessionId>, details: Value, stored: Result<(), String>) -> Done {
        self.journal.event(session, "POLICY_CHANGED", details);
        self.board.touch();
        stored.map(|()| Reply::Done).map_err(|why| {
            let message = format!(
                "It was taken back, but that could not be stored ({why}). It holds until Drawbridge ends. Make room on the disk and try again."
            );
            CommandError::new("not_stored", message)
        })
    }

    /// Changes the words of a command rule. From then on it is the person's own rule, not the answer to a question.
    pub(super) fn set_rule(&self, id: &str, words: &[String], any_more: bool) -> Done {
        let state = self.policy.get();
        let old = state.command_rules.iter().find(|rule| rule.id == id).ok_or_else(|| unknown_rule(id))?;
        let words = words.iter().map(|word| WordPattern::from_shown(word)).collect();
        let rule = CommandRule { words, any_more, origin: Origin::Window, at_ms: self.clock.wall().0, ..old.clone() };
        rule.check().map_err(rule_fault)?;
        self.policy
            .change(|state| {
                for kept in state.command_rules.iter_mut().filter(|kept| kept.id == rule.id) {
                    *kept = rule.clone();
                }
            })
            .map_err(not_stored)?;
        self.journal.event(None, "POLICY_CHANGED", told(&rule));
        self.board.touch();
        Ok(Reply::Done)
    }

    /// Stores the rule that a question offered ([`CommandRule::offer`]); its name is given here. A rule that allows the same
    /// already is enough. To be called before the question is answered: an answer that cannot be stored must not count.
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
            let message = format!(
                "There are {MAX_RULES} rules already, so this one was not added and nothing was allowed. Remove some on the Rules page, or allow it once."
            );
            return Err(CommandError::new("too_many_rules", message));
        }
        let number = state.rules_made + 1;
        let rule = CommandRule { id: CommandRule::name(number), ..offered };
        self.policy
            .change(|state| {
                state.rules_made = number;
                state.command_rules.push(rule.clone());
            })
            .map_err(not_stored)?;
        self.journal.event(None, "POLICY_CHANGED", told(&rule));
        self.board.touch();
        Ok(())
    }

    /// Sets settings that cannot be read aside and begins with the defaults. A bridge that was raised in this run stays raised.
    pub(super) fn settings_afresh(&mut self) -> Done {
        let before = self.policy.get();
        if before.broken.is_none() {
            let message = "The settings can be read, so nothing was set aside and nothing has changed.";
            return Err(CommandError::new("settings_sound", message));
        }
        let (raised, count) = (before.raised, before.raise_count);
        let after = self
            .policy
            .replace(
                || self.settings.start_afresh(raised, count).map_err(|fault| fault.to_string()),
                |stored| self.overlay.over(stored, self.can_ask),
            )
            .map_err(not_stored)?;
        self.apply_shell(&after);
        self.journal.event(None, "POLICY_CHANGED", json!({ "settings": "afresh" }));
        self.models.follow();
        self.devices.wake();
        self.renew_links(false);
        self.start_main();
        self.board.touch();
        Ok(Reply::Done)
    }

    /// Drops what was allowed for a chat that the person detached. Modes that are stricter than the powers' own stay, since the
    /// platform may restore the chat by itself: a detach must not be a way out of them.
    pub(super) fn detached_in_policy(&self, session: &SessionId) -> Result<(), CommandError> {
        let state = self.policy.get();
        let looser: Vec<(SessionId, Power)> = state
            .chat_modes
            .iter()
            .filter(|((chat, power), mode)| chat == session && **mode > state.mode(*power))
            .map(|(key, _)| key.clone())
            .collect();
        let allowed = state.chat_allowances.keys().any(|allowance| allowance.session == *session);
        let open = state.privacy.chats.get(session) == Some(&false);
        if looser.is_empty() && !allowed && !open {
            return Ok(());
        }
        let dropped = self.policy.tighten(|state| {
            state.drop_allowances(session);
            state.drop_openness(session);
            state.chat_modes.retain(|key, _| !looser.contains(key));
        });
        dropped.map(drop).map_err(not_stored)
    }

    /// Drops everything that holds for chats whose folders were taken back.
    pub(super) fn forgotten_in_policy(&self, sessions: &[SessionId]) -> Result<(), CommandError> {
        // Counted, so that none is left out once one held something.
        let forget = |state: &mut PolicyState| sessions.iter().filter(|session| state.forget_chat(session)).count();
        if forget(&mut PolicyState::clone(&self.policy.get())) == 0 {
            return Ok(());
        }
        let dropped = self.policy.tighten(|state| {
            forget(state);
        });
        dropped.map(drop).map_err(not_stored)
    }

    /// A chat of a data link that was started by hand is known although no folder was attached to it.
    pub(super) fn known_or_legacy(&self, session_id: &str) -> Result<SessionId, CommandError> {
        match &self.legacy {
            Some(legacy) if legacy.session.as_str() == session_id => Ok(legacy.session.clone()),
            _ => self.known(session_id),
        }
    }
}

/// What the audit log is told about a rule.
fn told(rule: &CommandRule) -> Value {
    json!({ "rule": rule.id, "program": rule.program, "words": rule.words.len(), "any_more": rule.any_more })
}

fn unknown_rule(id: &str) -> CommandError {
    CommandError::new("unknown_rule", format!("There is no rule {}. Look at the list of rules.", shown(id)))
}

fn rule_fault(fault: RuleFault) -> CommandError {
    let code = match fault {
        RuleFault::Program => "rule_program",
        RuleFault::TooManyWords | RuleFault::WordTooLong => "rule_too_long",
        RuleFault::Unshowable => "rule_unshowable",
        RuleFault::Runner => "rule_too_open",
    };
    CommandError::new(code, format!("The rule was not stored, so nothing has changed: {fault}."))
}
