//! What was allowed beyond the modes of the powers, as a list for a person.

use drawbridge_core::{Power, PowerMode, SessionId, escape_outside_text};
use drawbridge_policy::{ChatAllowance, CommandRule, Given, Origin, PolicyState};

use crate::view::{ChatModeView, RuleView};

/// What a rule is, by the name under which a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// A command rule, by its name.
    Command(String),
    /// What was allowed for a chat by answering a question.
    Allowance(ChatAllowance),
    /// The mode of a power in one chat.
    ChatMode(SessionId, Power),
}

/// Reads a rule's name; none when it is none.
pub(crate) fn named(id: &str) -> Option<Named> {
    if CommandRule::number(id).is_some() {
        return Some(Named::Command(id.to_owned()));
    }
    let (kind, rest) = id.split_once(':')?;
    let (session, power) = rest.rsplit_once(':')?;
    let (session, power) = (SessionId::parse(session).ok()?, Power::from_name(power)?);
    match kind {
        "chat" => Some(Named::Allowance(ChatAllowance { session, power })),
        "mode" => Some(Named::ChatMode(session, power)),
        _ => None,
    }
}

/// Lists what was allowed for a chat or always, newest first. Folders are not filled in.
pub(crate) fn allowed(state: &PolicyState) -> Vec<RuleView> {
    let chats = state.chat_allowances.iter().map(|(allowance, given)| of_allowance(allowance, given));
    let commands = state.command_rules.iter().map(of_command);
    let mut rules: Vec<RuleView> = chats.chain(commands).collect();
    // Of two of the same moment the later one in its list is the newer one.
    rules.reverse();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.at_ms));
    rules
}

/// Lists what may decide otherwise than the mode of a power: for one chat, or for all when none is named.
pub(crate) fn touching(state: &PolicyState, power: Power, session: Option<&SessionId>) -> Vec<RuleView> {
    let of_chat = |id: &SessionId| session.is_none_or(|session| session == id);
    let modes = state.chat_modes.iter().filter(|((chat, of), _)| *of == power && of_chat(chat)).map(of_mode);
    let fits = |rule: &RuleView| {
        rule.power == power.name()
            && rule.session_id.as_deref().is_none_or(|id| session.is_none_or(|session| session.as_str() == id))
    };
    modes.chain(allowed(state).into_iter().filter(fits)).collect()
}

/// Lists the modes that hold for one chat alone.
pub(crate) fn modes_of(state: &PolicyState, session_id: &str) -> Vec<ChatModeView> {
    let mine = state.chat_modes.iter().filter(|((session, _), _)| session.as_str() == session_id);
    mine.map(|((_, power), mode)| ChatModeView { power: power.name().to_owned(), mode: mode.name().to_owned() })
        .collect()
}

fn of_allowance(allowance: &ChatAllowance, given: &Given) -> RuleView {
    let (session, power) = (allowance.session.as_str(), allowance.power.name());
    RuleView {
        id: format!("chat:{session}:{power}"),
        kind: "chat_power".to_owned(),
        session_id: Some(session.to_owned()),
        power: power.to_owned(),
        origin: given.origin.name().to_owned(),
        at_ms: given.at_ms,
        ..RuleView::default()
    }
}

fn of_command(rule: &CommandRule) -> RuleView {
    RuleView {
        id: rule.id.clone(),
        kind: "command".to_owned(),
        power: Power::Shell.name().to_owned(),
        program: Some(escape_outside_text(&rule.program)),
        words: rule.words.iter().map(|word| escape_outside_text(word.shown())).collect(),
        any_more: rule.any_more,
        origin: rule.origin.name().to_owned(),
        at_ms: rule.at_ms,
        ..RuleView::default()
    }
}

fn of_mode(((session, power), mode): (&(SessionId, Power), &PowerMode)) -> RuleView {
    let (session, power) = (session.as_str(), power.name());
    RuleView {
        id: format!("mode:{session}:{power}"),
        kind: "chat_mode".to_owned(),
        session_id: Some(session.to_owned()),
        power: power.to_owned(),
        mode: Some(mode.name().to_owned()),
        origin: Origin::Window.name().to_owned(),
        ..RuleView::default()
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_policy::WordPattern;

    use super::*;

    fn chat(id: &str) -> SessionId {
        SessionId::parse(id).unwrap()
    }

    fn rule(number: u64, at_ms: i64) -> CommandRule {
        CommandRule {
            id: CommandRule::name(number),
            program: "/usr/bin/cat".to_owned(),
            words: vec![WordPattern::Exactly("-n".to_owned()), WordPattern::Any],
            any_more: true,
            origin: Origin::Window,
            at_ms,
        }
    }

    fn state() -> PolicyState {
        let mut state = PolicyState::defaults();
        let allowance = |id: &str, power| ChatAllowance { session: chat(id), power };
        state.chat_allowances.insert(allowance("a", Power::Shell), Given { origin: Origin::Answered, at_ms: 20 });
        state.chat_allowances.insert(allowance("b", Power::Files), Given { origin: Origin::Answered, at_ms: 0 });
        state.chat_modes.insert((chat("b"), Power::Shell), PowerMode::Off);
        state.command_rules = vec![rule(1, 10), rule(2, 30), rule(3, 30)];
        state
    }

    fn ids(rules: &[RuleView]) -> Vec<&str> {
        rules.iter().map(|rule| rule.id.as_str()).collect()
    }

    #[test]
    fn the_newest_stands_first_and_each_can_be_found_by_its_name() {
        let rules = allowed(&state());

        assert_eq!(ids(&rules), ["r-3", "r-2", "chat:a:shell", "r-1", "chat:b:files"]);
        assert_eq!((rules[0].program.as_deref(), rules[0].origin.as_str()), (Some("/usr/bin/cat"), "window"));
        assert_eq!(
            (rules[0].words.as_slice(), rules[0].any_more),
            (["-n".to_owned(), "*".to_owned()].as_slice(), true)
        );
        assert_eq!(named("r-3"), Some(Named::Command("r-3".to_owned())));
        assert_eq!(
            named("chat:a:shell"),
            Some(Named::Allowance(ChatAllowance { session: chat("a"), power: Power::Shell }))
        );
        assert_eq!(named("mode:b:shell"), Some(Named::ChatMode(chat("b"), Power::Shell)));
        for other in
            ["", "r-", "r-03", "r--1", "chat:a", "chat:a:flight", "chat::shell", "rule:a:shell", "chat:a b:shell"]
        {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn only_what_touches_the_power_and_the_chat_is_listed() {
        let state = state();
        let touching = |power, session: Option<&str>| {
            let session = session.map(chat);
            touching(&state, power, session.as_ref()).into_iter().map(|rule| rule.id).collect::<Vec<_>>()
        };

        assert_eq!(touching(Power::Shell, None), ["mode:b:shell", "r-3", "r-2", "chat:a:shell", "r-1"]);
        assert_eq!(touching(Power::Shell, Some("b")), ["mode:b:shell", "r-3", "r-2", "r-1"]);
        assert_eq!(touching(Power::Files, Some("a")), Vec::<String>::new());
        assert_eq!(modes_of(&state, "b"), [ChatModeView { power: "shell".to_owned(), mode: "off".to_owned() }]);
        assert_eq!(modes_of(&state, "a"), []);
    }
}
