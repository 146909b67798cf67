//! Letting an answer about private files go (spec 13): nothing of it leaves before the person has read it, where they want to.

use std::sync::Arc;

use drawbridge_caps::Pieces;
use drawbridge_core::model::{ModelAnswer, ModelOp, Release};
use drawbridge_core::{OpError, Operation, SessionId};
use drawbridge_os::root::Root;
use drawbridge_policy::{Decision, Explanation, Leave, Permit, Rule, Verdict, authorize};

use super::Dispatcher;
use crate::consent::{Asker, PROMPT_LIFE};

/// The platform waits for completions, so a question about an answer may wait as long as questions live; a moment more, so that it is
/// the question that ends.
const PATIENCE: std::time::Duration = PROMPT_LIFE.saturating_add(std::time::Duration::from_secs(5));

/// What the question about an answer will need, taken before the model is asked.
pub(super) struct Held {
    session: SessionId,
    /// The folder of the chat, within which the question names the files.
    root: Option<Arc<Root>>,
    /// The files, as far as they are known.
    paths: Vec<String>,
    /// What the model is asked and what else it is told, for the person to judge the answer by.
    task: String,
    context: Option<String>,
    asker: Asker,
    /// Its parts, of which those that came after the person began to want to read it first are still here.
    parts: Option<Pieces>,
}

impl Dispatcher {
    /// Takes what will be needed to let the answer go; none for every other operation. `asker` is whoever asks for the operation.
    pub(super) fn held(&self, permit: &Permit, root: Option<&Arc<Root>>, asker: Asker) -> Option<Held> {
        let (Operation::Model(ModelOp::Turn(op)), Some(session)) = (permit.operation(), permit.session()) else {
            return None;
        };
        let paths = self.parts.models.privacy.paths(session, &op.stubs).into_iter().flatten().collect();
        let (session, root) = (session.clone(), root.cloned());
        let (task, context) = (op.task.clone(), op.context.clone());
        Some(Held { session, root, paths, task, context, asker: Asker { patience: PATIENCE, ..asker }, parts: None })
    }

    /// Returns the way out for parts of the answer; none when it has to be whole before anything of it leaves. From the moment on in
    /// which the person wants to read answers first, nothing more of this one leaves either.
    pub(super) fn held_back(&self, held: &mut Held, parts: Option<Pieces>) -> Option<Pieces> {
        let policy = self.parts.policy.clone();
        let reviews = move || policy.get().privacy.review;
        held.parts = parts.filter(|_| !reviews()).map(|parts| parts.held_once(reviews));
        held.parts.clone()
    }

    /// Decides whether an answer may leave, and asks the person where they want to read it first. Returns it with what must still hold
    /// when it leaves, if anything must.
    ///
    /// # Errors
    /// Why it stays here, and what policy said of it.
    pub(super) async fn release(
        &self,
        answer: ModelAnswer,
        held: Held,
    ) -> Result<(ModelAnswer, Option<Leave>), (OpError, Explanation)> {
        let Held { session, root, paths, task, context, asker, parts } = held;
        let release = Release { model: answer.model.clone(), answer: answer.content.clone(), paths, task, context };
        let operation = Operation::Model(ModelOp::Release(release));
        let permit = match authorize(&self.parts.policy.get(), operation, Some(session)) {
            Verdict::Allowed(permit) => permit,
            Verdict::Denied(error, explanation) => return Err((error, explanation)),
            Verdict::Ask(question) => {
                let explanation = question.explanation().clone();
                if !self.parts.desk.broker.has_room(&question, &asker) {
                    return Err((nowhere_to_show_it(asker.max_open), explanation));
                }
                match self.parts.desk.ask(question, root.as_ref(), &asker).await {
                    Ok(granted) => granted.permit,
                    Err(OpError::Declined { power }) => {
                        let no = Explanation::new(Decision::Deny, Rule::Answered { power });
                        return Err((OpError::Declined { power }, no));
                    }
                    Err(error) => return Err((error, explanation)),
                }
            }
        };
        let explanation = permit.explanation().clone();
        let permit = match permit.confirm(&self.parts.policy.get()) {
            Ok(permit) => permit,
            Err(error) => return Err((error, explanation)),
        };
        let leave = permit.leave();
        if let Some(parts) = parts {
            parts.let_go(leave.is_none()).await.map_err(|error| (error, explanation))?;
        }
        Ok((answer, leave))
    }
}

/// Says that an answer is lost. Not that a person is being asked, since none is.
fn nowhere_to_show_it(max: usize) -> OpError {
    OpError::Overloaded {
        what: "questions wait for the person, so this answer could not be shown to them and is lost; ask again when they have answered",
        reason: "open_questions",
        max: u32::try_from(max).unwrap_or(u32::MAX),
    }
}
