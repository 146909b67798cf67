//! What went wrong, as code and details (spec 8, 15.4, 15.6).
//!
//! The platform turns code, message and details into a hint for the model, so the keys are those it looks for and the
//! message is written for that reader.

use std::time::Duration;

use drawbridge_core::computer::{ClipboardReason, DisplayFacts};
use drawbridge_core::{BadPathReason, OpError, Power, RefusalReason};
use serde_json::{Map, Value, json};

use super::codec::ReplyContext;
use super::wire::{Capability, ErrorCode};

/// Longest path or name repeated in details, in bytes: as long as the longest path of any system needs.
const DETAIL_TEXT_MAX: usize = 32 * 1024;
/// Most models named in details. A server may have thousands, and HELLO has named them already.
const MODELS_TOLD_MAX: usize = 64;

/// Returns the code for an error.
#[must_use]
pub fn wire_code(error: &OpError) -> ErrorCode {
    match error {
        OpError::OutsideRoot { .. } => ErrorCode::PathOutsideAllowedRoot,
        OpError::BadPath { .. } => ErrorCode::PathInvalidChars,
        OpError::ReservedName { .. } => ErrorCode::PathReservedName,
        OpError::NotFound { .. } => ErrorCode::PathNotFound,
        OpError::NotEmpty { .. } => ErrorCode::PathNotEmpty,
        OpError::Exists { .. } => ErrorCode::PathExists,
        OpError::TooLarge { .. } => ErrorCode::FileTooLarge,
        OpError::File { .. } => ErrorCode::InternalError,
        OpError::InvalidPayload(_) => ErrorCode::InternalError,
        OpError::ShellNotAvailable { .. } => ErrorCode::ShellNotAvailable,
        OpError::CommandStart { .. } => ErrorCode::InternalError,
        OpError::ConfinementMissing { .. } => ErrorCode::FeatureNotSupported,
        OpError::Overloaded { .. } => ErrorCode::ShimOverloaded,
        // Without its switch the clipboard is no feature of this machine (spec 10.8).
        OpError::PowerOff { power: Power::Clipboard } => ErrorCode::FeatureNotSupported,
        OpError::PowerOff { .. } => ErrorCode::CapabilityNotGranted,
        OpError::WaitingForConsent { .. } => ErrorCode::CapabilityNotGranted,
        OpError::Declined { .. } => ErrorCode::CapabilityNotGranted,
        OpError::ChangedSinceAsked { .. } => ErrorCode::CapabilityNotGranted,
        OpError::NoUi { .. } => ErrorCode::CapabilityNotGranted,
        OpError::Raised { .. } => ErrorCode::CapabilityNotGranted,
        OpError::ReferenceInvalid => ErrorCode::DirectoryReferenceInvalid,
        OpError::DirectoryUnavailable { .. } => ErrorCode::DirectoryUnavailable,
        OpError::GrantInvalid { .. } => ErrorCode::RootGrantInvalid,
        OpError::NotAttached { .. } => ErrorCode::SessionNotAttached,
        OpError::AlreadyActive { .. } => ErrorCode::SessionAlreadyActive,
        OpError::RevisionMismatch { .. } => ErrorCode::SessionRevisionMismatch,
        OpError::Unsupported { .. } => ErrorCode::FeatureNotSupported,
        OpError::NoSuchMonitor { .. } => ErrorCode::FeatureNotSupported,
        OpError::OutOfBounds { .. } => ErrorCode::InputOutOfBounds,
        OpError::WindowStale { .. } => ErrorCode::WindowStale,
        OpError::PermissionPending { .. } => ErrorCode::PermissionPending,
        OpError::ProtectedApp { .. } => ErrorCode::CapabilityNotGranted,
        OpError::CannotType { .. } => ErrorCode::FeatureNotSupported,
        OpError::TypingStopped { source, .. } => wire_code(source),
        OpError::ClipboardConcealed { .. } => ErrorCode::ClipboardConcealed,
        OpError::ModelNotAvailable { .. } => ErrorCode::ModelNotAvailable,
        OpError::ModelBusy { .. } => ErrorCode::LocalLlmBusy,
        OpError::ModelFailed { .. } => ErrorCode::LocalLlmFailed,
        OpError::StubStale { .. } => ErrorCode::StubStale,
        OpError::PrivacyMode { .. } => ErrorCode::PrivacyModeBlocked,
        OpError::DeviceNotShared { .. } => ErrorCode::CapabilityNotGranted,
        OpError::Device { .. } => ErrorCode::InternalError,
        OpError::AuditUnavailable => ErrorCode::InternalError,
        OpError::Cancelled => ErrorCode::InternalError,
        OpError::TookTooLong { .. } => ErrorCode::InternalError,
        OpError::Internal(_) => ErrorCode::InternalError,
    }
}

/// Returns the details of an error, always with the operation concerned.
#[must_use]
pub fn error_details(error: &OpError, context: &ReplyContext) -> Value {
    let details = match error {
        OpError::OutsideRoot { path, reason, .. } => match refusal_name(*reason) {
            Some(reason) => json!({"path": clip(path), "reason": reason}),
            None => json!({"path": clip(path)}),
        },
        OpError::BadPath { path, reason } => json!({"path": clip(path), "reason": bad_path_name(*reason)}),
        OpError::ReservedName { path }
        | OpError::NotFound { path }
        | OpError::NotEmpty { path }
        | OpError::Exists { path } => json!({"path": clip(path)}),
        OpError::TooLarge { max_bytes, attempted_bytes, .. } => {
            json!({"max_file_size_bytes": max_bytes, "attempted_bytes": attempted_bytes})
        }
        OpError::File { path, reason, .. } => json!({"path": clip(path), "reason": reason.name()}),
        OpError::InvalidPayload(fault) => json!({"reason": "invalid_payload", "field": clip(&fault.field)}),
        OpError::ShellNotAvailable { requested } => json!({"requested_shell": clip(requested)}),
        OpError::CommandStart { .. } => json!({"reason": "command_start"}),
        OpError::ConfinementMissing { why } => json!({"feature": "confined_commands", "reason": clip(why)}),
        OpError::Overloaded { reason, max, .. } => overloaded(reason, *max),
        OpError::PowerOff { power: Power::Clipboard } => {
            json!({"feature": clipboard_feature(context.op), "reason": "switched_off"})
        }
        OpError::PowerOff { power } => consent(*power, "switched_off"),
        OpError::WaitingForConsent { power, retry_after } => {
            with_retry(consent(*power, "waiting_for_local_consent"), Some(*retry_after))
        }
        OpError::Declined { power } => consent(*power, "declined"),
        OpError::ChangedSinceAsked { power } => consent(*power, "changed_meanwhile"),
        OpError::NoUi { power } => consent(*power, "no_ui"),
        OpError::Raised { power } => consent(*power, "stopped"),
        OpError::ReferenceInvalid => json!({}),
        OpError::DirectoryUnavailable { why } => json!({"reason": clip(why)}),
        OpError::GrantInvalid { reason, .. } => match reason {
            Some(reason) => json!({"reason": reason}),
            None => json!({}),
        },
        OpError::NotAttached { session } | OpError::AlreadyActive { session } => {
            json!({"session_id": session.as_str()})
        }
        OpError::RevisionMismatch { current } => json!({"current_revision": current}),
        OpError::Unsupported { feature, why } => json!({"feature": clip(feature), "reason": clip(why)}),
        OpError::NoSuchMonitor { monitors, .. } => {
            json!({"feature": "screenshot.monitor", "reason": "no_such_monitor", "monitors": monitors})
        }
        OpError::OutOfBounds { requested, displays } => json!({
            "requested_coordinate": [requested.x, requested.y],
            "displays": displays.iter().map(place).collect::<Vec<_>>(),
        }),
        OpError::WindowStale { window_id } => json!({"window_id": clip(window_id), "hint": "re-list windows"}),
        OpError::PermissionPending { permission, platform, message: _, hint, retry_after } => {
            let details = json!({"permission": permission, "platform": platform, "hint": clip(hint)});
            with_retry(details, *retry_after)
        }
        OpError::ProtectedApp { app, reason, why: _ } => {
            let mut details = consent(Power::ComputerUse, reason);
            add(&mut details, json!({"app": clip(app)}));
            details
        }
        OpError::CannotType { character, index, why } => {
            json!({"feature": "input.type", "reason": clip(why), "character": character, "index": index})
        }
        OpError::TypingStopped { typed, total, why: _, source } => {
            let mut details = error_details(source, context);
            add(&mut details, json!({"typed": typed, "total": total}));
            details
        }
        OpError::ClipboardConcealed { reason } => concealed(reason),
        OpError::ModelNotAvailable { requested, available } => {
            let told: Vec<String> = available.iter().take(MODELS_TOLD_MAX).map(|model| clip(model)).collect();
            let mut details = json!({"requested_model": clip(requested), "available_models": told});
            if let Some(more) = available.len().checked_sub(MODELS_TOLD_MAX).filter(|more| *more > 0) {
                add(&mut details, json!({"more_models": more}));
            }
            details
        }
        OpError::ModelBusy { model } => json!({"requested_model": clip(model), "retry_after_ms": 1000}),
        OpError::ModelFailed { why } => json!({"backend_error": clip(why)}),
        OpError::StubStale { stub_id, reason, why: _ } => json!({"stub_id": clip(stub_id), "reason": reason}),
        OpError::PrivacyMode { path } => json!({"path": clip(path), "reason": "privacy_mode"}),
        OpError::DeviceNotShared { device } => {
            let mut details = consent(Power::Hardware, "not_shared");
            add(&mut details, json!({"device": clip(device)}));
            details
        }
        OpError::Device { device, fault, message: _ } => json!({"device": clip(device), "reason": fault.name()}),
        OpError::AuditUnavailable => json!({"reason": "audit_unavailable"}),
        OpError::Cancelled => json!({"reason": "cancelled"}),
        OpError::TookTooLong { limit } => json!({"reason": "took_too_long", "timeout_seconds": limit.as_secs()}),
        OpError::Internal(_) => json!({"reason": "internal"}),
    };
    with_operation(details, context)
}

/// Returns the wire name of the capability behind a power.
#[must_use]
pub const fn capability_name(power: Power) -> &'static str {
    match power {
        Power::Files => Capability::Files.name(),
        Power::Attach => Capability::DirectoryBrowse.name(),
        Power::Shell => Capability::Shell.name(),
        Power::ComputerUse | Power::Clipboard => Capability::ComputerUse.name(),
        Power::LocalModel => Capability::LocalLlm.name(),
        Power::Hardware => "hardware",
    }
}

/// A display as the space of coordinates knows it, in wire units (spec 10.2).
fn place(display: &DisplayFacts) -> Value {
    let rect = display.rect;
    json!({"index": display.index, "origin": [rect.x1, rect.y1], "size": [rect.width(), rect.height()]})
}

fn concealed(reason: &ClipboardReason) -> Value {
    let mut details = json!({"reason": reason.name()});
    let more = match reason {
        ClipboardReason::ConcealedType { marker } => json!({"marker": marker}),
        // Null says that nothing was written at all.
        ClipboardReason::WritebackOnly { age_seconds } => json!({"writeback_age_seconds": age_seconds}),
        ClipboardReason::WritebackOverwritten { age_seconds } => json!({"writeback_age_seconds": age_seconds}),
    };
    add(&mut details, more);
    details
}

fn clipboard_feature(op: &str) -> &'static str {
    match op {
        "CLIPBOARD_READ" => "clipboard.read",
        "CLIPBOARD_WRITE" => "clipboard.write",
        _ => "clipboard",
    }
}

fn with_retry(mut details: Value, retry_after: Option<Duration>) -> Value {
    if let Some(after) = retry_after {
        add(&mut details, json!({"retry_after_ms": after.as_millis()}));
    }
    details
}

fn add(details: &mut Value, more: Value) {
    if let (Value::Object(details), Value::Object(more)) = (details, more) {
        details.extend(more);
    }
}

fn with_operation(details: Value, context: &ReplyContext) -> Value {
    let mut map = match details {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    map.insert("op".to_owned(), json!(context.op));
    if let Some((src, dst)) = &context.moved {
        map.insert("src".to_owned(), json!(src));
        map.insert("dst".to_owned(), json!(dst));
    }
    Value::Object(map)
}

/// Both keys: ours and the one that the platform looks for.
fn consent(power: Power, reason: &str) -> Value {
    let name = capability_name(power);
    json!({"capability": name, "required_capability": name, "reason": reason})
}

fn overloaded(reason: &str, max: u32) -> Value {
    match reason {
        "active_sessions" => json!({"reason": reason, "max_active_sessions": max}),
        "screenshots_per_minute" => json!({"reason": reason, "max_per_minute": max}),
        _ => json!({"reason": reason, "max_concurrent": max}),
    }
}

const fn refusal_name(reason: RefusalReason) -> Option<&'static str> {
    match reason {
        RefusalReason::Outside => None,
        RefusalReason::RootItself => Some("root_itself"),
        RefusalReason::RootChanged => Some("root_changed"),
        RefusalReason::Protected => Some("protected"),
    }
}

const fn bad_path_name(reason: BadPathReason) -> &'static str {
    match reason {
        BadPathReason::Characters => "characters",
        BadPathReason::TooLong => "too_long",
        BadPathReason::Unresolvable => "unresolvable",
        BadPathReason::Stream => "stream",
    }
}

/// Text from a request can be as long as a frame; an answer must not be.
pub(crate) fn clip(text: &str) -> String {
    let head = super::codec::cut_at(text, DETAIL_TEXT_MAX);
    if head.len() == text.len() { text.to_owned() } else { format!("{head}…") }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
