//! Answers between their operation and the socket. An answer may wait there for as long as the peer does not read, and what the person
//! says meanwhile counts: whoever sends it asks right before, and asks again until the system has taken the last byte of it.

use std::sync::Arc;

use drawbridge_core::{OpError, Outcome, RequestId, SessionId};
use drawbridge_policy::Leave;
use drawbridge_proto::executor::codec::Reply;
use drawbridge_proto::executor::errors::wire_code;
use serde_json::json;

use super::recorder::{Act, Recorder};
use crate::policy_cell::PolicyCell;
use crate::record::Facts;
use crate::view::WhyView;

/// An answer for a link.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The answer.
    pub(crate) reply: Reply,
    /// What is said in its place when it has to stay here after all, and who knows; none for an answer that nothing can keep here.
    pub(crate) kept: Option<(Reply, Kept)>,
}

/// Knows whether an answer may leave. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Inner>);

struct Inner {
    leave: Leave,
    policy: Arc<PolicyCell>,
    recorder: Arc<Recorder>,
    chat: Option<SessionId>,
    request: RequestId,
    facts: Facts,
}

/// How much of an answer stayed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stayed {
    /// All of it.
    All,
    /// The rest of it: the connection was cut while it was sent.
    Rest,
}

impl Kept {
    pub(super) fn new(
        leave: Leave,
        (policy, recorder): (&Arc<PolicyCell>, &Arc<Recorder>),
        (chat, request): (Option<SessionId>, RequestId),
        facts: Facts,
    ) -> Self {
        Self(Arc::new(Inner { leave, policy: policy.clone(), recorder: recorder.clone(), chat, request, facts }))
    }

    /// Tells whether the answer may leave at this moment.
    pub(crate) fn may_leave(&self) -> bool {
        self.0.leave.check(&self.0.policy.get()).is_none()
    }

    /// Writes down that an answer that was recorded as given has not left after all.
    pub(crate) fn stays(&self, stayed: Stayed) {
        let Inner { leave, policy: _, recorder, chat, request, facts } = &*self.0;
        let (error, why) = leave.refusal();
        let mut facts = facts.clone();
        facts.decided(&why);
        let held_back = match stayed {
            Stayed::All => "all",
            Stayed::Rest => "rest",
        };
        facts.details.insert("held_back".to_owned(), json!(held_back));
        let error_code = Some(wire_code(&error).as_str());
        let result: Result<Outcome, OpError> = Err(error);
        let why = Some(WhyView::from(&why));
        recorder.act(Act { chat: chat.as_ref(), request, facts, result: &result, error_code, duration_ms: 0, why });
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({})", self.0.request)
    }
}
