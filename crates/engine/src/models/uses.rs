//! Who asked which model, for the person: counts alone, kept in memory for this run.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use drawbridge_core::model::ModelOp;
use drawbridge_core::{Operation, Outcome, SessionId, WallMs, escape_outside_text};

use crate::view::ModelUseView;

/// So many pairs of model and chat are remembered; the one that was used longest ago goes first.
const MOST: usize = 100;

/// What is about to be asked of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(super) model: String,
    session: Option<SessionId>,
    turn: bool,
}

impl Asked {
    /// Takes what counts of an operation; none for what asks no model.
    pub(super) fn of(operation: &Operation, session: Option<&SessionId>) -> Option<Self> {
        let (op, turn) = match operation {
            Operation::Model(op @ ModelOp::Completion(_)) => (op, false),
            Operation::Model(op @ ModelOp::Turn(_)) => (op, true),
            Operation::Model(ModelOp::Release(_))
            | Operation::File(_)
            | Operation::Command(_)
            | Operation::Browse(_)
            | Operation::Session(_)
            | Operation::Computer(_)
            | Operation::Hardware(_) => return None,
        };
        Some(Self { model: op.model().to_owned(), session: session.cloned(), turn })
    }
}

#[derive(Debug, Clone)]
struct Use {
    model: String,
    session: Option<SessionId>,
    completions: u64,
    turns: u64,
    tokens: u64,
    last: WallMs,
}

/// Uses of this run, the latest first.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<VecDeque<Use>>);

impl Uses {
    /// Counts an answer that came. What failed counts for nothing.
    pub(super) fn count(&self, asked: Asked, outcome: &Outcome, now: WallMs) {
        let (Outcome::Completion(answer) | Outcome::Turn(answer)) = outcome else { return };
        let mut uses = self.lock();
        let known = uses.iter().position(|one| one.model == asked.model && one.session == asked.session);
        let before = known.and_then(|index| uses.remove(index));
        let mut entry = before.unwrap_or(Use {
            model: asked.model,
            session: asked.session,
            completions: 0,
            turns: 0,
            tokens: 0,
            last: now,
        });
        if asked.turn {
            entry.turns += 1;
        } else {
            entry.completions += 1;
        }
        let told = answer.tokens.prompt.unwrap_or(0).saturating_add(answer.tokens.completion.unwrap_or(0));
        entry.tokens = entry.tokens.saturating_add(told);
        entry.last = now;
        uses.push_front(entry);
        uses.truncate(MOST);
    }

    /// Returns them for the window.
    pub(super) fn views(&self) -> Vec<ModelUseView> {
        let view = |one: &Use| ModelUseView {
            model: escape_outside_text(&one.model),
            session_id: one.session.as_ref().map(|session| session.as_str().to_owned()),
            completions: one.completions,
            turns: one.turns,
            tokens: one.tokens,
            last_ms: one.last.0,
        };
        self.lock().iter().map(view).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Use>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drawbridge_core::model::{FinishReason, ModelAnswer, TokenCounts};

    use super::*;

    fn asked(model: &str, session: Option<&str>, turn: bool) -> Asked {
        Asked { model: model.to_owned(), session: session.map(|id| SessionId::parse(id).unwrap()), turn }
    }

    fn answer(prompt: Option<u64>, completion: Option<u64>) -> Outcome {
        Outcome::Completion(ModelAnswer {
            model: "m".to_owned(),
            content: "x".to_owned(),
            finish: FinishReason::Stop,
            tokens: TokenCounts { prompt, completion },
            duration: Duration::ZERO,
        })
    }

    #[test]
    fn the_latest_use_comes_first_and_tokens_add_up_as_far_as_they_are_told() {
        let uses = Uses::default();
        uses.count(asked("a", Some("chat-1"), false), &answer(Some(3), Some(4)), WallMs(10));
        uses.count(asked("a", None, false), &answer(None, Some(5)), WallMs(20));
        uses.count(asked("a", Some("chat-1"), true), &answer(None, None), WallMs(30));
        uses.count(asked("a", Some("chat-1"), false), &Outcome::Done, WallMs(40));

        let seen: Vec<_> = uses
            .views()
            .into_iter()
            .map(|one| (one.session_id, one.completions, one.turns, one.tokens, one.last_ms))
            .collect();
        assert_eq!(seen, [(Some("chat-1".to_owned()), 1, 1, 7, 30), (None, 1, 0, 5, 20)]);
    }

    #[test]
    fn the_list_is_bounded() {
        let uses = Uses::default();
        for number in 0..150 {
            uses.count(asked(&format!("m{number}"), None, false), &answer(None, None), WallMs(number));
        }
        let seen = uses.views();
        assert_eq!((seen.len(), seen[0].model.as_str(), seen[99].model.as_str()), (MOST, "m149", "m50"));
    }
}
