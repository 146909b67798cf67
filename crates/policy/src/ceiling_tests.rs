//! How far a power goes when somebody above the person has fixed it.

use super::*;
use crate::{Network, ShellMode};

/// The organisation lets commands ask at most.
fn capped(most: PowerMode) -> PolicyState {
    let mut state = always(PowerMode::Allowed);
    state.prompting = Prompting::Possible;
    state.ceilings.by = "Example Ltd".to_owned();
    state.ceilings.powers.insert(Power::Shell, most);
    state
}

#[test]
fn nobody_goes_beyond_a_ceiling_and_the_reason_names_who_set_it() {
    for most in [PowerMode::AskEachTime, PowerMode::AskOncePerChat] {
        let mut state = capped(most);
        state.chat_modes.insert((chat("c"), Power::Shell), PowerMode::Allowed);

        for session in ["c", "d"] {
            let explained = decide_resolved(&state, &command(), Some(&chat(session)), &programs());

            let rule = Rule::Ceiling { power: Power::Shell, mode: most, by: "Example Ltd".to_owned() };
            assert_eq!((explained.decision, &explained.rule), (Decision::Ask, &rule));
            assert!(explained.why.starts_with("Example Ltd lets the power shell go no further than asking"));
        }
        state.prompting = Prompting::Impossible;
        let explained = decide_resolved(&state, &command(), Some(&chat("c")), &programs());
        assert_eq!((explained.decision, explained.rule.name()), (Decision::Deny, "nobody_to_ask"));
        assert!(explained.why.contains("Example Ltd"), "{}", explained.why);
    }
}

#[test]
fn a_ceiling_takes_nothing_from_what_is_stricter_and_gives_nothing() {
    let mut state = capped(PowerMode::AskOncePerChat);
    for (set, decision) in [(PowerMode::Off, Decision::Deny), (PowerMode::AskEachTime, Decision::Ask)] {
        state.modes.insert(Power::Shell, set);
        let explained = decide_resolved(&state, &command(), Some(&chat("c")), &programs());
        assert_eq!((explained.decision, explained.rule), (decision, Rule::Mode { power: Power::Shell, mode: set }));
    }
    state.modes.remove(&Power::Shell);
    assert!(!state.offers(Power::Shell));
}

#[test]
fn a_yes_for_the_chat_counts_under_a_ceiling_only_where_it_asks_once_per_chat() {
    for (most, decision) in [(PowerMode::AskEachTime, Decision::Ask), (PowerMode::AskOncePerChat, Decision::Allow)] {
        let mut state = capped(most);
        state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::Shell }, given());
        assert_eq!(decide(&state, &command(), Some(&chat("c"))).decision, decision);
    }
}

#[test]
fn a_permit_by_a_rule_is_void_once_a_ceiling_comes() {
    let mut state = always(PowerMode::AskEachTime);
    let verdict = authorize_resolved(&state, command(), Some(chat("c")), programs());
    let Verdict::Allowed(permit) = verdict else { panic!("{verdict:?}") };

    state.ceilings.powers.insert(Power::Shell, PowerMode::AskEachTime);

    assert!(matches!(permit.confirm(&state), Err(OpError::Declined { power: Power::Shell })));
}

#[test]
fn commands_run_within_the_ceilings_however_they_were_set() {
    let mut state = PolicyState::defaults();
    (state.shell_mode, state.shell_network) = (ShellMode::Full, Network::All);
    state.keep_within_ceilings();
    assert_eq!((state.shell_mode, state.shell_network), (ShellMode::Full, Network::All));

    (state.ceilings.confined, state.ceilings.network) = (true, Some(Network::Loopback));
    state.keep_within_ceilings();
    assert_eq!((state.shell_mode, state.shell_network), (ShellMode::Confined, Network::Loopback));
    state.shell_network = Network::None;
    state.keep_within_ceilings();
    assert_eq!(state.shell_network, Network::None);
}
