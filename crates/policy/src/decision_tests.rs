use std::collections::BTreeMap;

use drawbridge_core::computer::{AppLaunchOp, Button, Point};
use drawbridge_core::{BrowseOp, BrowsePlace, CommandLine, CommandOp, FileOp, OpError};
use proptest::prelude::*;

use super::*;
use crate::{
    CommandRule, Given, MAX_APP_CHARS, MAX_APPS, Origin, Permit, Programs, ScreenRules, ScreenRulesFault, Verdict,
    WordPattern, authorize, authorize_resolved,
};

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

fn click() -> Operation {
    let (at, button) = (Point::new(1, 1), Button::Left);
    Operation::Computer(ComputerOp::Input(InputOp::Click { at, button, count: 1, modifiers: Vec::new() }))
}

fn launch() -> Operation {
    let app = AppLaunchOp { bundle_id: Some("editor".to_owned()), executable_path: None, args: vec![], activate: true };
    Operation::Computer(ComputerOp::AppLaunch(app))
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
        click(),
        launch(),
        Operation::Computer(ComputerOp::ClipboardRead),
        Operation::Computer(ComputerOp::DisplayInfo),
        privacy::content(),
        privacy::stub(),
        privacy::turn(),
        privacy::release(),
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
fn starting_an_app_needs_a_yes_of_its_own_and_what_shows_nothing_needs_none() {
    let mut state = with(Power::ComputerUse, PowerMode::AskOncePerChat);
    state.prompting = Prompting::Possible;
    state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::ComputerUse }, given());
    let decided = |state: &PolicyState, operation: Operation| {
        let explained = decide(state, &operation, Some(&chat("c")));
        (explained.decision, explained.rule.name())
    };

    assert_eq!(decided(&state, click()), (Decision::Allow, "chat_allowance"));
    assert_eq!(decided(&state, launch()), (Decision::Ask, "mode"));
    assert!(covered_by_chat_allowance(&click()) && !covered_by_chat_allowance(&launch()));
    state.prompting = Prompting::Impossible;
    assert_eq!(decided(&state, launch()), (Decision::Deny, "nobody_to_ask"));

    state.modes.insert(Power::ComputerUse, PowerMode::AskEachTime);
    state.chat_allowances.clear();
    for free in [
        ComputerOp::DisplayInfo,
        ComputerOp::PermissionsCheck { names: Vec::new() },
        ComputerOp::Input(InputOp::Wait { duration: std::time::Duration::ZERO }),
    ] {
        assert_eq!(decided(&state, Operation::Computer(free)), (Decision::Allow, "mode"));
    }
    for shows in [ComputerOp::CursorPosition, ComputerOp::AppList { include_background: false }] {
        assert_eq!(decided(&state, Operation::Computer(shows)), (Decision::Deny, "nobody_to_ask"));
    }
    state.modes.insert(Power::ComputerUse, PowerMode::Allowed);
    assert_eq!(decided(&state, launch()), (Decision::Allow, "mode"));
    // Its own switch, whatever the screen may do.
    assert_eq!(decided(&state, Operation::Computer(ComputerOp::ClipboardRead)), (Decision::Deny, "mode"));
}

#[test]
fn what_was_free_while_an_operation_waited_for_its_turn_is_looked_at_again() {
    let mut state = with(Power::ComputerUse, PowerMode::AskOncePerChat);
    state.prompting = Prompting::Possible;
    let allowance = ChatAllowance { session: chat("c"), power: Power::ComputerUse };
    state.chat_allowances.insert(allowance.clone(), given());
    let waits = permit(&state, click());
    let Verdict::Ask(question) = authorize(&state, launch(), Some(chat("c"))) else { panic!("not asked") };
    let answered = question.approve(&state).unwrap();

    state.chat_allowances.remove(&allowance);

    assert!(matches!(waits.confirm(&state), Err(OpError::ChangedSinceAsked { power: Power::ComputerUse })));
    assert!(answered.confirm(&state).is_ok());
    state.modes.insert(Power::Clipboard, PowerMode::Allowed);
    let reads = permit(&state, Operation::Computer(ComputerOp::ClipboardRead));
    state.modes.insert(Power::Clipboard, PowerMode::Off);
    assert!(matches!(reads.confirm(&state), Err(OpError::PowerOff { power: Power::Clipboard })));
}

#[test]
fn names_of_apps_are_kept_within_bounds() {
    let rules = |names: Vec<String>| ScreenRules { only_apps: Some(names), ..ScreenRules::default() };
    assert_eq!(rules(vec!["Écriture (beta)".to_owned(); MAX_APPS]).check(), Ok(()));
    assert_eq!(rules(Vec::new()).check(), Ok(()));
    assert_eq!(rules(vec!["a".to_owned(); MAX_APPS + 1]).check(), Err(ScreenRulesFault::TooMany));
    for name in [String::new(), "  ".to_owned(), " a".to_owned(), "a\u{7}".to_owned(), "é".repeat(MAX_APP_CHARS + 1)] {
        assert_eq!(rules(vec![name]).check(), Err(ScreenRulesFault::Name));
    }
    let never = ScreenRules { never_apps: vec!["a\n".to_owned()], ..ScreenRules::default() };
    assert_eq!(never.check(), Err(ScreenRulesFault::Name));
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

/// Always `/bin/true` without words.
fn rule(number: u64) -> CommandRule {
    CommandRule {
        id: CommandRule::name(number),
        program: "/bin/true".to_owned(),
        words: Vec::new(),
        any_more: false,
        origin: Origin::Answered,
        at_ms: 1,
    }
}

fn programs() -> Programs {
    Programs::new(None, vec![Some("/bin/true".to_owned())])
}

fn always(mode: PowerMode) -> PolicyState {
    let mut state = with(Power::Shell, mode);
    state.command_rules = vec![rule(3)];
    state
}

fn resolved(state: &PolicyState) -> Verdict {
    authorize_resolved(state, command(), Some(chat("c")), programs())
}

#[test]
fn a_mode_of_the_chat_holds_for_it_alone_and_never_lifts_an_off() {
    let mut state = with(Power::Shell, PowerMode::AskEachTime);
    state.prompting = Prompting::Possible;
    let set = |state: &mut PolicyState, mode| {
        state.chat_modes.insert((chat("c"), Power::Shell), mode);
    };
    let decided = |state: &PolicyState, id: &str| decide(state, &command(), Some(&chat(id)));

    for (mode, expected) in [
        (PowerMode::Off, Decision::Deny),
        (PowerMode::AskEachTime, Decision::Ask),
        (PowerMode::AskOncePerChat, Decision::Ask),
        (PowerMode::Allowed, Decision::Allow),
    ] {
        set(&mut state, mode);
        let explained = decided(&state, "c");
        assert_eq!((explained.decision, explained.rule), (expected, Rule::ChatMode { power: Power::Shell, mode }));
        assert_eq!(decided(&state, "d").rule, Rule::Mode { power: Power::Shell, mode: PowerMode::AskEachTime });
        assert_eq!(state.offers_in(Power::Shell, Some(&chat("c"))), mode != PowerMode::Off);
        assert!(state.offers_in(Power::Shell, Some(&chat("d"))) && state.offers(Power::Shell));
    }
    state.modes.insert(Power::Shell, PowerMode::Off);
    assert_eq!(decided(&state, "c").rule, Rule::Mode { power: Power::Shell, mode: PowerMode::Off });
    assert!(!state.offers_in(Power::Shell, Some(&chat("c"))));
    state.modes.insert(Power::Shell, PowerMode::Allowed);
    state.locked_off.insert(Power::Shell, "your organisation".to_owned());
    assert_eq!(decided(&state, "c").rule.name(), "locked_off");
}

#[test]
fn a_rule_counts_where_the_power_asks_and_nowhere_else() {
    for (mode, expected) in [
        (PowerMode::Off, "mode"),
        (PowerMode::AskEachTime, "command_rule"),
        (PowerMode::AskOncePerChat, "command_rule"),
        (PowerMode::Allowed, "mode"),
    ] {
        let explained = decide_resolved(&always(mode), &command(), Some(&chat("c")), &programs());
        assert_eq!(explained.rule.name(), expected);
        assert_eq!(explained.decision == Decision::Deny, mode == PowerMode::Off);
    }
    let mut state = always(PowerMode::AskEachTime);
    // A chat that is switched off has no use of it, and nothing is known without the programs.
    assert_eq!(decide(&state, &command(), Some(&chat("c"))).rule.name(), "nobody_to_ask");
    state.chat_modes.insert((chat("c"), Power::Shell), PowerMode::Off);
    assert!(matches!(resolved(&state), Verdict::Denied(OpError::PowerOff { .. }, _)));
}

#[test]
fn a_permit_of_a_rule_names_its_program_and_dies_with_the_rule() {
    let mut state = always(PowerMode::AskEachTime);
    let Verdict::Allowed(kept) = resolved(&state) else { panic!("not allowed") };
    let Verdict::Allowed(lost) = resolved(&state) else { panic!("not allowed") };
    assert_eq!(kept.programs().started(), Some("/bin/true"));
    assert_eq!(kept.explanation().why, "you always allow this command (rule r-3)");

    assert!(kept.confirm(&state).is_ok());
    state.command_rules.clear();
    assert!(matches!(lost.confirm(&state), Err(OpError::Declined { power: Power::Shell })));
}

#[test]
fn a_permit_dies_when_the_chat_is_switched_off() {
    let mut state = with(Power::Shell, PowerMode::Allowed);
    let before = permit(&state, command());
    state.chat_modes.insert((chat("c"), Power::Shell), PowerMode::Off);

    assert!(matches!(before.confirm(&state), Err(OpError::PowerOff { power: Power::Shell })));
}

/// What happens around one command that a rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Decide,
    Confirm,
    Raise,
    Lower,
}

/// Every order in which the steps of two sides can fall, each side keeping its own order.
fn orders(one: &[Step], other: &[Step]) -> Vec<Vec<Step>> {
    let (Some(first), Some(second)) = (one.first(), other.first()) else { return vec![[one, other].concat()] };
    let after = |step: Step, rest: Vec<Vec<Step>>| {
        rest.into_iter().map(move |rest| [step].into_iter().chain(rest).collect::<Vec<_>>())
    };
    after(*first, orders(&one[1..], other)).chain(after(*second, orders(one, &other[1..]))).collect()
}

#[test]
fn a_raise_beats_a_rule_in_every_order() {
    let all = orders(&[Step::Decide, Step::Confirm], &[Step::Raise, Step::Lower]);
    assert_eq!(all.len(), 6);
    for order in all {
        let mut state = always(PowerMode::AskEachTime);
        let (mut permit, mut ran) = (None, false);
        for step in &order {
            match step {
                Step::Decide => {
                    if let Verdict::Allowed(given) = resolved(&state) {
                        permit = Some(given);
                    }
                }
                Step::Confirm => ran = permit.take().is_some_and(|permit| permit.confirm(&state).is_ok()),
                Step::Raise => {
                    state.raised = true;
                    state.raise_count += 1;
                }
                Step::Lower => state.raised = false,
            }
        }
        let at = |step| order.iter().position(|other| *other == step).unwrap();
        // It runs only when no raise falls between decision and effect, and none holds at the decision.
        let wanted = at(Step::Confirm) < at(Step::Raise) || at(Step::Lower) < at(Step::Decide);
        assert_eq!(ran, wanted, "{order:?}");
    }
}

/// A state with everything that a decision can depend on.
fn any_ruled_state() -> impl Strategy<Value = PolicyState> {
    let mode = || prop::sample::select(PowerMode::ALL.to_vec());
    let power = prop::sample::select(Power::ALL.to_vec());
    let chats = prop::sample::select(vec!["c", "d"]);
    let modes = prop::collection::vec((chats, power, mode()), 0..8);
    let pattern = prop::sample::select(vec!["/bin/true", "/bin/false", "/bin/sh"]);
    let rules = prop::collection::vec((pattern, any::<bool>(), any::<bool>()), 0..4);
    (any_state(), modes, rules).prop_map(|(mut state, modes, rules)| {
        state.chat_modes = modes.into_iter().map(|(id, power, mode)| ((chat(id), power), mode)).collect();
        let made = rules.into_iter().zip(1..).map(|((program, open, any_more), number)| CommandRule {
            program: program.to_owned(),
            words: if open { vec![WordPattern::Any] } else { Vec::new() },
            any_more,
            ..rule(number)
        });
        state.command_rules = made.collect();
        state
    })
}

fn any_programs() -> impl Strategy<Value = Programs> {
    let found = prop::sample::select(vec![None, Some("/bin/true"), Some("/bin/false"), Some("/bin/sh")]);
    found.prop_map(|found| Programs::new(None, vec![found.map(str::to_owned)]))
}

fn any_state() -> impl Strategy<Value = PolicyState> {
    let mode = prop::sample::select(PowerMode::ALL.to_vec());
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(mode.clone(), Power::ALL.len()),
        any::<bool>(),
        any::<bool>(),
        prop::option::of(mode),
        any::<[bool; 4]>(),
    )
        .prop_map(|(raised, broken, ui, modes, allowance, locked, most, [all, own, review, fixed])| {
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
            state.ceilings.powers = most.into_iter().map(|most| (Power::Shell, most)).collect();
            (state.privacy.all, state.privacy.review, state.ceilings.private) = (all, review, fixed);
            if own {
                state.privacy.chats.insert(chat("c"), !all);
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

    #[test]
    fn what_is_explained_is_what_happens_with_modes_of_chats_and_rules(
        state in any_ruled_state(),
        programs in any_programs(),
    ) {
        for operation in every_operation() {
            let session = chat("c");
            let explained = decide_resolved(&state, &operation, Some(&session), &programs);
            let verdict = authorize_resolved(&state, operation.clone(), Some(session.clone()), programs.clone());
            let happened = match &verdict {
                Verdict::Allowed(permit) => {
                    prop_assert_eq!(permit.explanation(), &explained);
                    Decision::Allow
                }
                Verdict::Ask(question) => {
                    prop_assert_eq!(question.explanation(), &explained);
                    Decision::Ask
                }
                Verdict::Denied(_, explanation) => {
                    prop_assert_eq!(explanation, &explained);
                    Decision::Deny
                }
            };
            prop_assert_eq!(happened, explained.decision);
            if let Verdict::Allowed(permit) = verdict {
                prop_assert!(permit.confirm(&state).is_ok());
            }
            let Some(power) = operation.power() else { continue };
            if !state.offers_in(power, Some(&session)) {
                prop_assert_eq!(explained.decision, Decision::Deny);
            }
            let most = state.ceilings.powers.get(&power).copied().unwrap_or(PowerMode::Allowed);
            if most == PowerMode::Off || (most == PowerMode::AskEachTime && needs_question(&operation)) {
                prop_assert_ne!(explained.decision, Decision::Allow);
            }
            if let Rule::CommandRule { id, .. } = &explained.rule {
                let rule = state.command_rules.iter().find(|rule| rule.id == *id).unwrap();
                prop_assert_eq!(programs.started(), Some(rule.program.as_str()));
                prop_assert!(rule.check().is_ok());
            }
            // A rule never changes anything but a question or the lack of somebody to ask.
            let without = decide(&state, &operation, Some(&session));
            if without != explained {
                prop_assert!(without.decision == Decision::Ask || without.rule.name() == "nobody_to_ask");
                prop_assert_eq!(explained.rule.name(), "command_rule");
            }
        }
    }
}

#[path = "ceiling_tests.rs"]
mod ceilings;

#[path = "privacy_tests.rs"]
mod privacy;
