use std::collections::BTreeMap;

use drawbridge_core::{BrowseOp, BrowsePlace, CommandLine, CommandOp, FileOp, OpError};
use proptest::prelude::*;

use super::*;
use crate::{Given, Origin, Permit, Verdict, authorize};

fn chat(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn given() -> Given {
    Given { origin: Origin::Answered, at_ms: 1 }
}

fn read() -> Operation {
    Operation::File(FileOp::Stat { path: "/r/a".to_owned(), follow_symlinks: true })
}

fn command() -> Operation {
    let line = CommandLine::Argv(vec!["true".to_owned()]);
    Operation::Command(CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() })
}

fn place() -> BrowsePlace {
    BrowsePlace { browse_id: "b".to_owned(), directory_ref: "d".to_owned() }
}

fn attach() -> Operation {
    Operation::Session(SessionOp::Attach { session: chat("c"), place: place() })
}

fn every_operation() -> Vec<Operation> {
    let session = chat("c");
    vec![
        read(),
        command(),
        Operation::Browse(BrowseOp { place: None, cursor: None }),
        attach(),
        Operation::Session(SessionOp::Activate { session: session.clone(), revision: 1 }),
        Operation::Session(SessionOp::Restore { session: session.clone(), root_grant: "g".to_owned() }),
        Operation::Session(SessionOp::Detach { session }),
    ]
}

fn with(power: Power, mode: PowerMode) -> PolicyState {
    let mut state = PolicyState::defaults();
    state.modes.insert(power, mode);
    state
}

fn permit(state: &PolicyState, operation: Operation) -> Permit {
    let verdict = authorize(state, operation, Some(chat("c")));
    let Verdict::Allowed(permit) = verdict else { panic!("{verdict:?}") };
    permit
}

#[test]
fn defaults_allow_files_ask_for_folders_and_refuse_all_else() {
    let mut state = PolicyState::defaults();
    state.prompting = Prompting::Possible;

    assert_eq!(decide(&state, &read(), None).decision, Decision::Allow);
    assert_eq!(decide(&state, &attach(), None).decision, Decision::Ask);
    assert_eq!(decide(&state, &command(), None).decision, Decision::Deny);
}

#[test]
fn a_question_that_nobody_can_answer_is_a_no_with_that_reason() {
    let state = with(Power::Shell, PowerMode::AskEachTime);

    let verdict = authorize(&state, command(), Some(chat("c")));

    assert!(matches!(verdict, Verdict::Denied(OpError::NoUi { power: Power::Shell }, _)), "{verdict:?}");
}

#[test]
fn an_allowance_counts_for_its_chat_and_power_alone() {
    let mut state = with(Power::Shell, PowerMode::AskOncePerChat);
    state.prompting = Prompting::Possible;
    state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::Shell }, given());

    assert_eq!(decide(&state, &command(), Some(&chat("c"))).rule, Rule::ChatAllowance { power: Power::Shell });
    assert_eq!(decide(&state, &command(), Some(&chat("d"))).decision, Decision::Ask);
    state.modes.insert(Power::Shell, PowerMode::AskEachTime);
    assert_eq!(decide(&state, &command(), Some(&chat("c"))).decision, Decision::Ask);
}

#[test]
fn a_permit_dies_with_a_raise_even_when_the_bridge_is_lowered_again() {
    let mut state = PolicyState::defaults();
    let before = permit(&state, read());
    let during = permit(&state, read());
    state.raised = true;
    state.raise_count += 1;

    assert!(matches!(during.confirm(&state), Err(OpError::Raised { .. })));
    state.raised = false;
    assert!(matches!(before.confirm(&state), Err(OpError::Raised { .. })));
    assert!(permit(&state, read()).confirm(&state).is_ok());
}

#[test]
fn a_yes_that_comes_after_a_raise_is_worth_nothing() {
    let mut state = with(Power::Shell, PowerMode::AskEachTime);
    state.prompting = Prompting::Possible;
    let Verdict::Ask(question) = authorize(&state, command(), Some(chat("c"))) else { panic!("no question") };
    state.raised = true;

    assert!(matches!(question.approve(&state), Err(OpError::Raised { power: Power::Shell })));
}

#[test]
fn taking_away_is_possible_in_every_state() {
    let mut state = PolicyState::defaults();
    state.raised = true;
    state.broken = Some("line 3".to_owned());
    let detach = Operation::Session(SessionOp::Detach { session: chat("c") });

    assert_eq!(decide(&state, &detach, None).rule, Rule::TakesAway);
}

fn any_state() -> impl Strategy<Value = PolicyState> {
    let mode = prop::sample::select(PowerMode::ALL.to_vec());
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(mode, Power::ALL.len()),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(raised, broken, ui, modes, allowance, locked)| {
            let mut state = PolicyState::defaults();
            state.raised = raised;
            state.broken = broken.then(|| "line 1".to_owned());
            state.prompting = if ui { Prompting::Possible } else { Prompting::Impossible };
            state.modes = Power::ALL.into_iter().zip(modes).collect();
            if allowance {
                state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::Shell }, given());
            }
            if locked {
                state.locked_off.insert(Power::Shell, "your organisation".to_owned());
            }
            state
        })
}

proptest! {
    #[test]
    fn what_is_explained_is_what_happens(state in any_state()) {
        for operation in every_operation() {
            let session = chat("c");
            let explained = decide(&state, &operation, Some(&session));
            let verdict = authorize(&state, operation.clone(), Some(session));
            let happened = match &verdict {
                Verdict::Allowed(permit) => {
                    prop_assert_eq!(permit.explanation(), &explained);
                    Decision::Allow
                }
                Verdict::Ask(_) => Decision::Ask,
                Verdict::Denied(..) => Decision::Deny,
            };
            prop_assert_eq!(happened, explained.decision);
        }
    }

    #[test]
    fn nothing_is_allowed_that_is_not_offered(state in any_state()) {
        for operation in every_operation() {
            let Some(power) = operation.power() else { continue };
            if !state.offers(power) {
                prop_assert_eq!(decide(&state, &operation, Some(&chat("c"))).decision, Decision::Deny);
            }
        }
    }
}
