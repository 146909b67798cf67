//! Privacy mode: files are described instead of read out, and the local model answers questions about them (spec 13).
//!
//! Contents go from the attached folder to the local model and nowhere else.

use drawbridge_core::{OpError, Outcome, Power, SessionId};
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;

use crate::model::Model;
use crate::{Capability, RunCtx};

/// The capability. Cheap to clone.
#[derive(Clone)]
pub struct Privacy {
    #[expect(dead_code, reason = "not built yet")]
    model: Model,
}

/// How often a file was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The file, as the peer named it. Not yet safe to show.
    pub path: String,
    /// So often it was described.
    pub stubs: u64,
    /// So many questions were about it.
    pub turns: u64,
    /// When it was asked about last, Unix milliseconds.
    pub last_ms: i64,
}

impl Privacy {
    /// Makes the capability on top of the local model.
    #[must_use]
    pub const fn new(model: Model) -> Self {
        Self { model }
    }

    /// Forgets the stubs of a chat: at each HELLO, and when the chat ends.
    pub fn forget_stubs(&self, _session: &SessionId) {}

    /// Forgets everything of a chat that is gone for good.
    pub fn forget(&self, _session: &SessionId) {}

    /// Returns which files of a chat were asked about in this run, the latest first.
    #[must_use]
    pub fn asked(&self, _session: &SessionId) -> Vec<Asked> {
        Vec::new()
    }

    /// Returns the paths behind stubs of a chat, for questions and records; none for one that does not hold.
    #[must_use]
    pub fn paths(&self, _session: &SessionId, stubs: &[String]) -> Vec<Option<String>> {
        vec![None; stubs.len()]
    }
}

impl Capability for Privacy {
    fn power(&self) -> Power {
        Power::LocalModel
    }

    fn run<'a>(&'a self, _permit: Permit, _ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            Err(OpError::Unsupported { feature: "privacy".to_owned(), why: "this version does not do it".to_owned() })
        })
    }
}
