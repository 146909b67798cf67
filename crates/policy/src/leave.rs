//! Answers on their way out. Work may take long, and its answer may wait for a peer that reads slowly; what the person says meanwhile
//! counts for the answer as it does for the next request.

use drawbridge_core::model::ModelOp;
use drawbridge_core::{FileOp, OpError, Operation, Power, SessionId};

use crate::decision::{Decision, Explanation, Rule, held_back};
use crate::permit::{Permit, refusal, tells_too_much};
use crate::rules::PolicyState;

/// What must still hold when the answer to a permitted operation leaves. It permits nothing.
#[derive(Debug, Clone)]
pub struct Leave {
    what: What,
    session: Option<SessionId>,
}

#[derive(Debug, Clone)]
enum What {
    /// Bytes of a file.
    Content(Operation),
    /// What a model answered about private files, and nobody has read it.
    UnreadAnswer,
}

impl Permit {
    /// Returns what must still hold when the answer leaves; none for an answer that nothing can keep here.
    #[must_use]
    pub fn leave(&self) -> Option<Leave> {
        let what = match (self.operation(), &self.explanation().rule) {
            // The person has read it.
            (Operation::Model(ModelOp::Release(_)), Rule::Answered { .. }) => return None,
            (Operation::Model(ModelOp::Release(_)), _) => What::UnreadAnswer,
            (operation, _) if carries_content(operation) => What::Content(operation.clone()),
            _ => return None,
        };
        Some(Leave { what, session: self.session().cloned() })
    }
}

impl Leave {
    /// Returns why the answer may not leave any more, with what policy says; none while it may. [`OpError::PrivacyMode`] when contents stay
    /// here by now, [`OpError::ChangedSinceAsked`] when the person wants to read answers first by now.
    #[must_use]
    pub fn check(&self, state: &PolicyState) -> Option<(OpError, Explanation)> {
        let stays = match &self.what {
            What::Content(operation) => {
                let held_back = held_back(state, operation, self.session.as_ref());
                held_back.or_else(|| tells_too_much(state, operation)) == Some(Rule::PrivacyOn)
            }
            What::UnreadAnswer => state.privacy.review,
        };
        stays.then(|| self.refusal())
    }

    /// Returns what a refusal says.
    #[must_use]
    pub fn refusal(&self) -> (OpError, Explanation) {
        let (error, rule) = match &self.what {
            What::Content(operation) => (refusal(&Rule::PrivacyOn, Power::Files, operation), Rule::PrivacyOn),
            What::UnreadAnswer => (OpError::ChangedSinceAsked { power: Power::LocalModel }, Rule::Review),
        };
        (error, Explanation::new(Decision::Deny, rule))
    }
}

/// Tells whether an answer holds bytes of a file, which is what privacy mode keeps here.
const fn carries_content(operation: &Operation) -> bool {
    match operation {
        Operation::File(FileOp::Read { .. }) => true,
        Operation::File(FileOp::Stub { preview_bytes, .. }) => *preview_bytes > 0,
        Operation::File(
            FileOp::Write { .. }
            | FileOp::Stat { .. }
            | FileOp::List { .. }
            | FileOp::Delete { .. }
            | FileOp::Move { .. },
        )
        | Operation::Command(_)
        | Operation::Browse(_)
        | Operation::Session(_)
        | Operation::Computer(_)
        | Operation::Model(_)
        | Operation::Hardware(_) => false,
    }
}
