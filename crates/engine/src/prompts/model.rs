//! What a question about the local model shows.

use drawbridge_core::SessionId;
use drawbridge_core::model::ModelOp;

use super::PromptFacts;
use crate::consent::seal::Scene;

/// Adds the facts of an operation on the local model.
pub(super) fn facts(_op: &ModelOp, _session: Option<&SessionId>, _scene: &Scene, _facts: &mut PromptFacts) {}
