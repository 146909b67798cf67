//! What the person answers, in the order that the audit log needs: stored, written down, then handed out.

use drawbridge_core::PromptId;
use drawbridge_policy::{ChatAllowance, Given, Origin};

use super::Core;
use super::commands::{Done, not_stored};
use crate::consent::{AnswerFault, Taken};
use crate::handle::{CommandError, Reply};
use crate::view::PromptAnswer;

impl Core {
    pub(super) fn answer(&mut self, id: u64, revision: u64, answer: PromptAnswer) -> Done {
        let taken = self.broker.take(PromptId::new(id), revision, answer).map_err(answer_fault)?;
        // Nobody else can answer it now. What cannot be stored does not count, and the question stays.
        let stored = match answer {
            PromptAnswer::AllowOnce | PromptAnswer::Deny => Ok(()),
            PromptAnswer::AllowChat => self.allow_for_chat(&taken),
            PromptAnswer::AllowAlways => match taken.rule().cloned() {
                Some(rule) => self.allow_always(rule),
                None => Err(answer_fault(AnswerFault::NotOffered)),
            },
        };
        if let Err(fault) = stored {
            self.broker.put_back(taken);
            return Err(fault);
        }
        self.broker.finish(taken);
        Ok(Reply::Done)
    }

    pub(super) fn deny_prompts(&mut self) -> Done {
        self.broker.deny_all();
        Ok(Reply::Done)
    }

    fn allow_for_chat(&self, taken: &Taken) -> Result<(), CommandError> {
        let (Some(session), power) = taken.about() else { return Err(answer_fault(AnswerFault::NotOffered)) };
        let allowance = ChatAllowance { session: session.clone(), power };
        let given = Given { origin: Origin::Answered, at_ms: self.clock.wall().0 };
        let changed = self.policy.change(|state| {
            state.chat_allowances.insert(allowance.clone(), given);
        });
        changed.map(|_| ()).map_err(not_stored)
    }
}

pub(super) fn answer_fault(fault: AnswerFault) -> CommandError {
    match fault {
        AnswerFault::Unknown => {
            CommandError::new("unknown_prompt", "This question is over. Nothing was allowed by it.")
        }
        AnswerFault::NotPainted => CommandError::new(
            "not_painted",
            "This question, as it is now, was not on screen yet, so the answer does not count. Read it and answer again.",
        ),
        AnswerFault::NotOffered => {
            CommandError::new("not_offered", "This question cannot be answered in that way, so nothing was allowed.")
        }
        AnswerFault::CutShort => CommandError::new(
            "cut_short",
            "This is too long to be shown whole, so it can only be denied. Ask the agent for something shorter.",
        ),
    }
}
