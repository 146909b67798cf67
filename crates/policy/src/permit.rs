//! Permits: proof that one operation was decided.

use drawbridge_core::{BrowsePlace, FileOp, OpError, Operation, Power, SessionId, SessionOp};

use crate::decision::{Decision, Explanation, Rule, decide_resolved, held_back};
use crate::programs::Programs;
use crate::rules::PolicyState;

/// Proof that policy allowed exactly this operation, once. Only this module can make one, and it cannot be copied.
#[derive(Debug)]
pub struct Permit {
    operation: Operation,
    session: Option<SessionId>,
    programs: Programs,
    raise_count: u64,
    explanation: Explanation,
}

impl Permit {
    /// Returns the operation that was permitted.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Returns the chat it was permitted for.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns why it was permitted.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Returns the programs that it was given for. Whoever starts a command refuses when [`Programs::started`] names another
    /// one than it is about to start.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Uses the permit up and returns the operation.
    #[must_use]
    pub fn into_operation(self) -> Operation {
        self.operation
    }

    /// Checks right before the effect that nothing has forbidden it since: the bridge was not raised in between (not
    /// even for a moment), the power was not switched off, and what allowed it without a question was not taken back. An
    /// operation may have waited for its turn since it was decided.
    ///
    /// # Errors
    /// [`OpError::Raised`], [`OpError::PowerOff`], [`OpError::Declined`] for a rule that is gone, or
    /// [`OpError::ChangedSinceAsked`] when a question is needed by now; the permit is gone then.
    pub fn confirm(self, state: &PolicyState) -> Result<Self, OpError> {
        let Some(power) = self.operation.power() else {
            return Ok(self);
        };
        if state.raised || state.raise_count != self.raise_count {
            return Err(OpError::Raised { power });
        }
        if !state.offers_in(power, self.session.as_ref()) {
            return Err(OpError::PowerOff { power });
        }
        let held_back = held_back(state, &self.operation, self.session.as_ref());
        if let Some(rule) = held_back.or_else(|| tells_too_much(state, &self.operation)) {
            return Err(refusal(&rule, power, &self.operation));
        }
        // A person's own answer holds for this very operation, whatever else is set since.
        if matches!(self.explanation.rule, Rule::Answered { .. }) {
            return Ok(self);
        }
        let now = decide_resolved(state, &self.operation, self.session.as_ref(), &self.programs);
        match (now.decision, &self.explanation.rule) {
            (Decision::Allow, _) => Ok(self),
            (_, Rule::CommandRule { .. }) => Err(OpError::Declined { power }),
            (Decision::Ask | Decision::Deny, _) => Err(OpError::ChangedSinceAsked { power }),
        }
    }
}

/// A question that must be answered before the operation may run. It holds the operation, so an answer cannot be used
/// for another one.
#[derive(Debug)]
pub struct Question {
    operation: Operation,
    session: Option<SessionId>,
    programs: Programs,
    power: Power,
    explanation: Explanation,
}

impl Question {
    /// Returns the operation asked about.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Returns the chat that asks.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns the power concerned.
    #[must_use]
    pub fn power(&self) -> Power {
        self.power
    }

    /// Returns why a question is needed.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Returns the programs that a command means.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Puts the folder that the person chose in the place of the one that was asked for. Does nothing to a question about
    /// something else.
    pub fn choose_place(&mut self, chosen: BrowsePlace) {
        if let Operation::Session(SessionOp::Attach { place, .. }) = &mut self.operation {
            *place = chosen;
        }
    }

    /// Turns a person's yes into a permit, if the state of this moment still lets the question be asked.
    ///
    /// # Errors
    /// [`OpError::Raised`], [`OpError::PowerOff`] or [`OpError::NoUi`] when the answer comes too late.
    pub fn approve(self, state: &PolicyState) -> Result<Permit, OpError> {
        let now = decide_resolved(state, &self.operation, self.session.as_ref(), &self.programs);
        if now.decision == Decision::Deny {
            return Err(refusal(&now.rule, self.power, &self.operation));
        }
        if let Some(rule) = tells_too_much(state, &self.operation) {
            return Err(refusal(&rule, self.power, &self.operation));
        }
        Ok(Permit {
            operation: self.operation,
            session: self.session,
            programs: self.programs,
            raise_count: state.raise_count,
            explanation: Explanation::new(Decision::Allow, Rule::Answered { power: self.power }),
        })
    }

    /// Turns a person's no into the error that the peer gets.
    #[must_use]
    pub fn decline(self) -> OpError {
        OpError::Declined { power: self.power }
    }
}

/// What policy says about an operation.
#[derive(Debug)]
pub enum Verdict {
    /// It may run.
    Allowed(Permit),
    /// A person decides.
    Ask(Question),
    /// It may not run; with the error for the peer and the explanation for the log.
    Denied(OpError, Explanation),
}

/// Decides about an operation and hands out the proof. For a command, [`authorize_resolved`] knows more.
#[must_use]
pub fn authorize(state: &PolicyState, operation: Operation, session: Option<SessionId>) -> Verdict {
    authorize_resolved(state, operation, session, Programs::unknown())
}

/// Decides about an operation with the programs that a command means, and hands out the proof, which is good for these
/// programs alone.
#[must_use]
pub fn authorize_resolved(
    state: &PolicyState,
    operation: Operation,
    session: Option<SessionId>,
    programs: Programs,
) -> Verdict {
    let operation = lowered(state, operation);
    let explanation = decide_resolved(state, &operation, session.as_ref(), &programs);
    match (explanation.decision, operation.power()) {
        (Decision::Allow, _) => {
            Verdict::Allowed(Permit { operation, session, programs, raise_count: state.raise_count, explanation })
        }
        (Decision::Ask, Some(power)) => {
            // The power that asks may be another one than that of the operation.
            let power = explanation.rule.parts().power.unwrap_or(power);
            Verdict::Ask(Question { operation, session, programs, power, explanation })
        }
        (Decision::Deny, Some(power)) => Verdict::Denied(refusal(&explanation.rule, power, &operation), explanation),
        // An operation without a power is always allowed by `decide`; refuse if that ever changes.
        (Decision::Ask | Decision::Deny, None) => {
            Verdict::Denied(OpError::Internal("an operation without a power was refused".to_owned()), explanation)
        }
    }
}

/// Lowers what is asked for to what the person lets leave, so that a question and a permit name what would be done.
fn lowered(state: &PolicyState, operation: Operation) -> Operation {
    if let Operation::File(FileOp::Stub { path, preview_bytes }) = operation {
        let preview_bytes = preview_bytes.min(state.preview_bytes());
        return Operation::File(FileOp::Stub { path, preview_bytes });
    }
    operation
}

/// Returns the rule that holds back what was lowered when more of a file was allowed to leave than is now.
pub(crate) fn tells_too_much(state: &PolicyState, operation: &Operation) -> Option<Rule> {
    let Operation::File(FileOp::Stub { preview_bytes, .. }) = operation else { return None };
    (*preview_bytes > state.preview_bytes()).then_some(Rule::PrivacyOn)
}

pub(crate) fn refusal(rule: &Rule, power: Power, operation: &Operation) -> OpError {
    match rule {
        Rule::PrivacyOn => OpError::PrivacyMode { path: path_of(operation) },
        Rule::PrivacyOff => OpError::Unsupported {
            feature: if matches!(operation, Operation::File(_)) { "FILE_READ.mode" } else { operation.name() }
                .to_owned(),
            why: "contents of files are not kept back in this chat, so read them as content".to_owned(),
        },
        Rule::NotShared => OpError::DeviceNotShared { device: device_of(operation) },
        // The power that is off or asks may be another one than that of the operation.
        Rule::Mode { power, .. } | Rule::ChatMode { power, .. } | Rule::Ceiling { power, .. } => {
            OpError::PowerOff { power: *power }
        }
        Rule::NobodyToAsk { power } => OpError::NoUi { power: *power },
        Rule::Raised => OpError::Raised { power },
        Rule::SettingsBroken
        | Rule::TakesAway
        | Rule::LockedOff { .. }
        | Rule::CommandRule { .. }
        | Rule::ChatAllowance { .. }
        | Rule::Review
        | Rule::Answered { .. } => OpError::PowerOff { power },
    }
}

fn path_of(operation: &Operation) -> String {
    if let Operation::File(op) = operation { FileOp::path(op) } else { operation.name() }.to_owned()
}

fn device_of(operation: &Operation) -> String {
    if let Operation::Hardware(op) = operation { op.device.as_str() } else { operation.name() }.to_owned()
}
