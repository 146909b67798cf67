//! What the audit log and the window say about the local model and private files (spec 3.3, 13): sizes and names, never a prompt, a
//! task or an answer.

use drawbridge_core::Outcome;
use drawbridge_core::model::ModelOp;
use serde_json::{Map, Value, json};

/// Returns the details that are known before it runs.
pub(super) fn details(op: &ModelOp) -> Value {
    json!({ "model": op.model() })
}

/// Returns what is known only afterwards.
pub(super) const fn afterwards(_outcome: &Outcome) -> Option<Value> {
    None
}

/// Returns what a record is about; none for records of other operations.
pub(super) const fn subject(_op: &str, _details: &Map<String, Value>) -> Option<String> {
    None
}

/// Says what an operation would do, in one plain sentence.
pub(super) fn sentence(op: &ModelOp) -> String {
    format!("The agent wants to ask the model {}", super::shown(op.model()))
}
