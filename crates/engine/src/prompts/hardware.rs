//! What a question about a device shows.

use drawbridge_core::hardware::HardwareOp;

use super::PromptFacts;
use crate::consent::seal::Scene;

/// Adds the facts of an operation on a device.
pub(super) fn facts(_op: &HardwareOp, _scene: &Scene, _facts: &mut PromptFacts) {}
