//! Messages of workflow recording (spec 14). Reserved: parsed and printed, always refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// REQUEST_RECORDING_CONSENT.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestRecordingConsent {
    /// "demonstration" or "copilot".
    pub mode: String,
    /// How the recording is to be read.
    pub interpretation_route: String,
    /// Channels wanted.
    pub channels: Vec<String>,
}

/// RECORDING_CONSENT_RESULT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingConsentResult {
    /// The person agreed.
    pub approved: bool,
    /// The mode.
    pub mode: String,
    /// The route that holds.
    pub interpretation_route: String,
    /// For START_RECORDING, one use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent_token: Option<String>,
    /// End of the token, Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<f64>,
}

/// START_RECORDING.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StartRecording {
    /// "demonstration" or "copilot".
    pub mode: String,
    /// How the recording is to be read.
    pub interpretation_route: String,
    /// Channels wanted.
    pub channels: Vec<String>,
    /// From the consent.
    pub consent_token: String,
}

/// A recording named: STOP_RECORDING, RECORDING_FETCH, RECORDING_STARTED.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecordingRef {
    /// `rec_` and a UUID.
    pub recording_id: String,
}

/// RECORDING_SUMMARY.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingSummary {
    /// The recording.
    pub recording_id: String,
    /// Its steps.
    pub step_count: u32,
    /// Steps by kind of enrichment.
    pub enrichment_coverage: EnrichmentCoverage,
    /// Its length.
    pub duration_seconds: f64,
}

/// Steps by kind of enrichment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrichmentCoverage {
    /// From a page.
    pub dom: u32,
    /// From the accessibility tree.
    pub ax: u32,
    /// Without.
    pub none: u32,
}

/// RECORDING_DATA. The recording itself stays as it is: nothing here reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingData {
    /// The recording.
    pub recording: Value,
}

/// APPLY_RECORDING_REVIEW.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApplyRecordingReview {
    /// The recording.
    pub recording_id: String,
    /// Steps taken out.
    #[serde(default)]
    pub removed_step_seqs: Vec<u64>,
    /// Steps blackened.
    #[serde(default)]
    pub redacted_step_seqs: Vec<u64>,
}

/// RECORDING_REVIEW_APPLIED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingReviewApplied {
    /// The recording.
    pub recording_id: String,
    /// Steps left.
    pub step_count: u32,
}

/// RECORDING_STEP, unsolicited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingStep {
    /// The recording.
    pub recording_id: String,
    /// The step.
    pub step: Value,
}
