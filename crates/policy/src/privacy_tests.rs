//! Contents of files that stay on this machine.

use drawbridge_core::ContentForm;
use drawbridge_core::model::{Knob, MAX_PREVIEW_BYTES, Release, Sampling, Turn};

use super::*;

pub(super) fn content() -> Operation {
    Operation::File(FileOp::Read { path: "/r/pay.csv".to_owned(), form: ContentForm::Bytes, offset: 0, length: None })
}

pub(super) fn stub() -> Operation {
    Operation::File(FileOp::Stub { path: "/r/pay.csv".to_owned(), preview_bytes: MAX_PREVIEW_BYTES })
}

pub(super) fn turn() -> Operation {
    let knob = |value| Knob::new(value).unwrap();
    Operation::Model(ModelOp::Turn(Turn {
        model: "small:1b".to_owned(),
        task: "add up".to_owned(),
        stubs: vec!["stub_1".to_owned()],
        context: None,
        sampling: Sampling { max_tokens: 100, temperature: knob(0.0), top_p: knob(1.0) },
        verify: true,
    }))
}

pub(super) fn release() -> Operation {
    let (model, paths) = ("small:1b".to_owned(), vec!["/r/pay.csv".to_owned()]);
    Operation::Model(ModelOp::Release(Release {
        model,
        answer: "5".to_owned(),
        paths,
        task: "add up".to_owned(),
        context: None,
    }))
}

/// Chat "c" is private, and everything that it can need is allowed.
fn private() -> PolicyState {
    let mut state = with(Power::LocalModel, PowerMode::Allowed);
    state.prompting = Prompting::Possible;
    state.privacy.chats.insert(chat("c"), true);
    state
}

fn said(state: &PolicyState, operation: &Operation) -> (Decision, &'static str) {
    let explained = decide(state, operation, Some(&chat("c")));
    (explained.decision, explained.rule.name())
}

#[test]
fn contents_are_refused_in_every_mode_and_everything_else_goes_on() {
    let mut state = private();
    state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::Files }, given());
    for mode in [PowerMode::AskEachTime, PowerMode::AskOncePerChat, PowerMode::Allowed] {
        state.modes.insert(Power::Files, mode);
        assert_eq!(said(&state, &content()), (Decision::Deny, "privacy_on"), "{}", mode.name());
    }
    assert_eq!(said(&state, &stub()).0, Decision::Allow);
    assert_eq!(said(&state, &turn()).0, Decision::Allow);
    assert_eq!(said(&state, &read()).0, Decision::Allow);
    let verdict = authorize(&state, content(), Some(chat("c")));
    let Verdict::Denied(OpError::PrivacyMode { path }, _) = verdict else { panic!("{verdict:?}") };
    assert_eq!(path, "/r/pay.csv");

    state.modes.insert(Power::Files, PowerMode::Off);
    assert_eq!(said(&state, &content()), (Decision::Deny, "mode"));
}

#[test]
fn where_contents_may_leave_nothing_has_changed_and_stubs_are_no_feature() {
    let mut state = private();
    state.privacy.chats.clear();
    assert_eq!(said(&state, &content()), (Decision::Allow, "mode"));
    for operation in [stub(), turn()] {
        assert_eq!(said(&state, &operation), (Decision::Deny, "privacy_off"));
        let verdict = authorize(&state, operation, Some(chat("c")));
        assert!(matches!(verdict, Verdict::Denied(OpError::Unsupported { .. }, _)), "{verdict:?}");
    }
}

#[test]
fn a_chat_may_say_otherwise_than_all_but_not_than_the_organisation() {
    let mut state = PolicyState::defaults();
    state.privacy.all = true;
    state.privacy.chats.insert(chat("open"), false);
    assert!(state.is_private(Some(&chat("c"))) && state.is_private(None));
    assert!(!state.is_private(Some(&chat("open"))));

    state.ceilings.private = true;
    assert!(state.is_private(Some(&chat("open"))));
    state.privacy.all = false;
    assert!(state.is_private(Some(&chat("c"))) && state.is_private(None));
}

#[test]
fn a_chat_that_is_forgotten_comes_back_no_less_private() {
    let mut state = PolicyState::defaults();
    state.privacy.all = true;
    state.privacy.chats.insert(chat("c"), false);
    assert!(state.forget_chat(&chat("c")), "what is dropped has to be stored");
    assert!(state.is_private(Some(&chat("c"))));
    assert!(!state.forget_chat(&chat("c")));

    state.privacy.all = false;
    state.privacy.chats.insert(chat("c"), true);
    assert!(!state.forget_chat(&chat("c")));
    assert!(state.is_private(Some(&chat("c"))));
}

#[test]
fn a_yes_and_a_permit_from_before_are_worth_nothing_after() {
    let mut state = with(Power::Files, PowerMode::AskEachTime);
    state.prompting = Prompting::Possible;
    let Verdict::Ask(question) = authorize(&state, content(), Some(chat("c"))) else { panic!("no question") };
    let Verdict::Ask(answered) = authorize(&state, content(), Some(chat("c"))) else { panic!("no question") };
    let answered = answered.approve(&state).unwrap();
    state.modes.insert(Power::Files, PowerMode::Allowed);
    let allowed = permit(&state, content());

    state.privacy.all = true;

    assert!(matches!(question.approve(&state), Err(OpError::PrivacyMode { .. })));
    assert!(matches!(answered.confirm(&state), Err(OpError::PrivacyMode { .. })));
    assert!(matches!(allowed.confirm(&state), Err(OpError::PrivacyMode { .. })));
}

#[test]
fn a_permit_for_a_turn_dies_when_contents_may_leave_again() {
    let mut state = private();
    let (stub, turn) = (permit(&state, stub()), permit(&state, turn()));

    state.privacy.chats.clear();

    assert!(matches!(stub.confirm(&state), Err(OpError::Unsupported { .. })));
    assert!(matches!(turn.confirm(&state), Err(OpError::Unsupported { .. })));
}

#[test]
fn a_turn_reads_files_so_the_stricter_of_both_powers_counts() {
    let mut state = private();
    let modes = |state: &mut PolicyState, files, model| {
        state.modes.insert(Power::Files, files);
        state.modes.insert(Power::LocalModel, model);
    };
    for (files, model, asks) in [
        (PowerMode::AskEachTime, PowerMode::Allowed, Power::Files),
        (PowerMode::Allowed, PowerMode::AskEachTime, Power::LocalModel),
        (PowerMode::AskOncePerChat, PowerMode::AskEachTime, Power::LocalModel),
    ] {
        modes(&mut state, files, model);
        let Verdict::Ask(question) = authorize(&state, turn(), Some(chat("c"))) else { panic!("no question") };
        assert_eq!(question.power(), asks);
    }
    // A yes for the chat is one to the power that asked.
    modes(&mut state, PowerMode::AskOncePerChat, PowerMode::Allowed);
    assert_eq!(said(&state, &turn()), (Decision::Ask, "mode"));
    state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::Files }, given());
    assert_eq!(said(&state, &turn()).0, Decision::Allow);

    modes(&mut state, PowerMode::Off, PowerMode::Allowed);
    let verdict = authorize(&state, turn(), Some(chat("c")));
    assert!(matches!(verdict, Verdict::Denied(OpError::PowerOff { power: Power::Files }, _)), "{verdict:?}");
    state.modes.insert(Power::Files, PowerMode::Allowed);
    state.chat_modes.insert((chat("c"), Power::Files), PowerMode::Off);
    assert_eq!(said(&state, &turn()), (Decision::Deny, "chat_mode"));
    state.locked_off.insert(Power::Files, "Example Ltd".to_owned());
    let verdict = authorize(&state, turn(), Some(chat("c")));
    assert!(matches!(verdict, Verdict::Denied(OpError::PowerOff { power: Power::Files }, _)), "{verdict:?}");
}

#[test]
fn describing_a_file_asks_as_looking_at_it_does() {
    let mut state = private();
    state.modes.insert(Power::Files, PowerMode::AskEachTime);
    assert_eq!(said(&state, &stub()), (Decision::Ask, "mode"));
    assert_eq!(said(&state, &read()), (Decision::Ask, "mode"));
}

#[test]
fn an_answer_leaves_unread_only_where_the_person_does_not_want_to_read_it() {
    let mut state = private();
    assert_eq!(said(&state, &release()), (Decision::Allow, "mode"));
    for mode in [PowerMode::AskEachTime, PowerMode::AskOncePerChat] {
        state.modes.insert(Power::LocalModel, mode);
        assert_eq!(said(&state, &release()).0, Decision::Allow, "the turn was the question");
    }
    state.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::LocalModel }, given());
    state.privacy.review = true;
    for mode in [PowerMode::AskEachTime, PowerMode::AskOncePerChat, PowerMode::Allowed] {
        state.modes.insert(Power::LocalModel, mode);
        assert_eq!(said(&state, &release()), (Decision::Ask, "review"));
    }
    let Verdict::Ask(question) = authorize(&state, release(), Some(chat("c"))) else { panic!("no question") };
    assert!(!covered_by_chat_allowance(question.operation()));
    assert_eq!(question.power(), Power::LocalModel);

    state.modes.insert(Power::LocalModel, PowerMode::Off);
    assert_eq!(said(&state, &release()), (Decision::Deny, "mode"));
    assert!(matches!(question.approve(&state), Err(OpError::PowerOff { power: Power::LocalModel })));
}

#[test]
fn where_nobody_can_read_an_answer_the_model_is_not_even_asked() {
    let mut state = private();
    state.privacy.review = true;
    state.prompting = Prompting::Impossible;
    for operation in [turn(), release()] {
        assert_eq!(said(&state, &operation), (Decision::Deny, "nobody_to_ask"));
        let verdict = authorize(&state, operation, Some(chat("c")));
        assert!(matches!(verdict, Verdict::Denied(OpError::NoUi { power: Power::LocalModel }, _)), "{verdict:?}");
    }
    assert_eq!(said(&state, &stub()).0, Decision::Allow);
}

const MODES: [PowerMode; 4] = [PowerMode::Off, PowerMode::AskEachTime, PowerMode::AskOncePerChat, PowerMode::Allowed];

/// Every state that what is said of models and files can be in.
fn all_states() -> Vec<PolicyState> {
    let mut states = vec![PolicyState::defaults()];
    let mut vary =
        |change: &dyn Fn(&PolicyState) -> Vec<PolicyState>| states = states.iter().flat_map(change).collect();
    let set = |state: &PolicyState, edit: &dyn Fn(&mut PolicyState)| {
        let mut state = state.clone();
        edit(&mut state);
        state
    };
    for power in [Power::LocalModel, Power::Files] {
        vary(&|state| {
            MODES
                .iter()
                .map(|mode| {
                    set(state, &|it| {
                        let _ = it.modes.insert(power, *mode);
                    })
                })
                .collect()
        });
    }
    let own = |mode: PowerMode| {
        move |it: &mut PolicyState| {
            let _ = it.chat_modes.insert((chat("c"), Power::LocalModel), mode);
        }
    };
    vary(&|state| [state.clone()].into_iter().chain(MODES.iter().map(|mode| set(state, &own(*mode)))).collect());
    vary(&|state| {
        let capped = set(state, &|it| {
            let _ = it.ceilings.powers.insert(Power::LocalModel, PowerMode::AskEachTime);
        });
        let locked = set(state, &|it| {
            let _ = it.locked_off.insert(Power::LocalModel, "Example".to_owned());
        });
        let private = set(state, &|it| it.ceilings.private = true);
        vec![state.clone(), capped, locked, private]
    });
    let allowance = ChatAllowance { session: chat("c"), power: Power::LocalModel };
    vary(&|state| {
        vec![
            state.clone(),
            set(state, &|it| {
                let _ = it.chat_allowances.insert(allowance.clone(), given());
            }),
        ]
    });
    vary(&|state| {
        vec![
            state.clone(),
            set(state, &|it| {
                let _ = it.privacy.chats.insert(chat("c"), true);
            }),
        ]
    });
    vary(&|state| vec![state.clone(), set(state, &|it| it.privacy.review = true)]);
    vary(&|state| {
        let told = set(state, &|it| it.privacy.preview_bytes = Some(64));
        let fixed = set(&told, &|it| it.ceilings.no_preview = true);
        vec![state.clone(), told, fixed]
    });
    vary(&|state| {
        [Prompting::Possible, Prompting::Impossible]
            .map(|prompting| set(state, &|it| it.prompting = prompting))
            .to_vec()
    });
    states
}

#[test]
fn in_every_state_nothing_private_leaves_and_nobody_asks_what_is_off() {
    let states = all_states();
    assert_eq!(states.len(), 4 * 4 * 5 * 4 * 2 * 2 * 2 * 3 * 2);
    for state in &states {
        let (private, here) = (state.is_private(Some(&chat("c"))), Some(chat("c")));
        let told = if state.ceilings.no_preview { 0 } else { state.privacy.preview_bytes.unwrap_or(0) };
        let asked = match authorize(state, self::stub(), here.clone()) {
            Verdict::Allowed(permit) => Some(permit.operation().clone()),
            Verdict::Ask(question) => Some(question.operation().clone()),
            Verdict::Denied(..) => None,
        };
        let lowered = |op: &Operation| matches!(op, Operation::File(FileOp::Stub { preview_bytes, .. }) if *preview_bytes == told);
        assert!(asked.as_ref().is_none_or(lowered), "{asked:?} in {state:?}");
        let off = |power| state.mode_in(power, here.as_ref()) == PowerMode::Off;
        let decision = |operation: &Operation| decide(state, operation, here.as_ref()).decision;
        let [read, stub, turn, release] = operations().map(|operation| decision(&operation));
        assert!(!(private || off(Power::Files)) || read == Decision::Deny, "{state:?}");
        assert!((private && !off(Power::Files)) || stub == Decision::Deny, "{state:?}");
        let can_turn = private && !off(Power::Files) && !off(Power::LocalModel);
        assert!(can_turn || turn == Decision::Deny, "{state:?}");
        assert!(!off(Power::LocalModel) || release == Decision::Deny, "{state:?}");
        assert!(!state.privacy.review || release != Decision::Allow, "{state:?}");
        if state.prompting == Prompting::Impossible {
            assert!([read, stub, turn, release].iter().all(|one| *one != Decision::Ask), "{state:?}");
            assert!(!state.privacy.review || turn == Decision::Deny, "{state:?}");
        }
        if state.ceilings.powers.contains_key(&Power::LocalModel) {
            assert_ne!(turn, Decision::Allow, "beyond what may be at most: {state:?}");
        }
        let raised = PolicyState { raised: true, ..state.clone() };
        for operation in operations() {
            assert_eq!(decide(&raised, &operation, here.as_ref()).decision, Decision::Deny);
        }
    }
}

fn operations() -> [Operation; 4] {
    [content(), stub(), turn(), release()]
}

#[test]
fn no_permit_and_no_yes_outlives_what_takes_it_back() {
    let edits: [&dyn Fn(&mut PolicyState); 10] = [
        &|it| {
            let _ = it.modes.insert(Power::LocalModel, PowerMode::Off);
        },
        &|it| {
            let _ = it.modes.insert(Power::Files, PowerMode::Off);
        },
        &|it| {
            let _ = it.chat_modes.insert((chat("c"), Power::LocalModel), PowerMode::Off);
        },
        &|it| {
            let _ = it.locked_off.insert(Power::LocalModel, "Example".to_owned());
        },
        &|it| {
            let _ = it.privacy.chats.insert(chat("c"), true);
        },
        &|it| {
            let _ = it.privacy.chats.insert(chat("c"), false);
        },
        &|it| it.raise_count += 1,
        &|it| it.privacy.preview_bytes = Some(0),
        &|it| it.ceilings.no_preview = true,
        &|it| it.ceilings.private = true,
    ];
    for state in all_states() {
        for operation in operations() {
            for (index, edit) in edits.iter().enumerate() {
                let mut later = state.clone();
                edit(&mut later);
                let permit = match authorize(&state, operation.clone(), Some(chat("c"))) {
                    Verdict::Allowed(permit) => permit,
                    Verdict::Ask(question) => question.approve(&state).unwrap(),
                    Verdict::Denied(..) => continue,
                };
                let denied = decide(&later, &operation, Some(&chat("c"))).decision == Decision::Deny;
                let gone = denied || later.raise_count != state.raise_count;
                assert!(!gone || permit.confirm(&later).is_err(), "change {index} of {state:?}: {}", operation.name());
                let Verdict::Ask(question) = authorize(&state, operation.clone(), Some(chat("c"))) else { continue };
                assert!(!denied || question.approve(&later).is_err(), "a late yes, change {index} of {state:?}");
            }
        }
    }
}

#[test]
fn what_was_read_or_answered_before_leaves_only_as_long_as_it_may() {
    type Edit = fn(&mut PolicyState);
    let all: Edit = |it| it.privacy.all = true;
    let chat_alone: Edit = |it| {
        let _ = it.privacy.chats.insert(chat("c"), true);
    };
    let organisation: Edit = |it| it.ceilings.private = true;
    let open = with(Power::Files, PowerMode::AskEachTime);
    for ask in [false, true] {
        let mut state = open.clone();
        state.prompting = Prompting::Possible;
        if !ask {
            state.modes.insert(Power::Files, PowerMode::Allowed);
        }
        let permit = match authorize(&state, content(), Some(chat("c"))) {
            Verdict::Allowed(permit) => permit,
            Verdict::Ask(question) => question.approve(&state).unwrap(),
            Verdict::Denied(..) => panic!("refused"),
        };
        let leave = permit.leave().unwrap();
        assert!(leave.check(&state).is_none());
        for edit in [all, chat_alone, organisation] {
            let mut later = state.clone();
            edit(&mut later);
            let (error, why) = leave.check(&later).unwrap();
            assert!(matches!(&error, OpError::PrivacyMode { path } if path == "/r/pay.csv"), "{error:?}");
            assert_eq!((why.decision, why.rule.name()), (Decision::Deny, "privacy_on"));
        }
    }

    let mut state = private();
    assert!(permit(&state, read()).leave().is_none(), "what is at a path is no content");
    assert!(permit(&state, stub()).leave().is_none(), "nothing of the file is told");
    assert!(permit(&state, turn()).leave().is_none(), "its answer is decided about by itself");
    state.privacy.preview_bytes = Some(64);
    let preview = permit(&state, stub()).leave().unwrap();
    let unread = permit(&state, release()).leave().unwrap();
    assert!(preview.check(&state).is_none() && unread.check(&state).is_none());
    state.privacy.review = true;
    assert!(matches!(unread.check(&state), Some((OpError::ChangedSinceAsked { .. }, _))));
    let Verdict::Ask(question) = authorize(&state, release(), Some(chat("c"))) else { panic!("no question") };
    assert!(question.approve(&state).unwrap().leave().is_none(), "it was read");
    state.privacy.preview_bytes = Some(63);
    assert!(matches!(preview.check(&state), Some((OpError::PrivacyMode { .. }, _))));
}
