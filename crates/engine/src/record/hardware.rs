//! What the audit log and the window say about devices: which, what, how much; never the bytes.

use drawbridge_core::hardware::{HardwareOp, HardwareOutcome};
use serde_json::{Map, Value, json};

/// Returns the details that are known before it runs.
pub(super) fn details(op: &HardwareOp) -> Value {
    json!({ "device": op.device.as_str() })
}

/// Returns what is known only afterwards.
pub(super) const fn afterwards(_outcome: &HardwareOutcome) -> Option<Value> {
    None
}

/// Returns what a record is about; none for records of other operations.
pub(super) const fn subject(_op: &str, _details: &Map<String, Value>) -> Option<String> {
    None
}

/// Says what an operation would do, in one plain sentence.
pub(super) fn sentence(op: &HardwareOp) -> String {
    format!("A program wants to use the device {}", super::shown(op.device.as_str()))
}
