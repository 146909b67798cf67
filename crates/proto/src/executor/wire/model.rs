//! Messages of the local model (spec 11) and of privacy mode (spec 13). Checks of meaning are in [`super::super::map`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::number;

/// One message of a conversation. Roles we do not know are ignored, so the role stays text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// "system", "user" or "assistant".
    pub role: String,
    /// The text; of roles we do not know it may be anything.
    #[serde(default)]
    pub content: Value,
}

/// LOCAL_LLM_COMPLETION.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LocalLlmCompletion {
    /// One of the models offered.
    pub model: String,
    /// The conversation.
    pub messages: Vec<ChatMessage>,
    /// Default 1024.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<i64>,
    /// Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It reached the length allowed.
    Length,
    /// A filter ended it.
    ContentFilter,
}

/// LOCAL_LLM_COMPLETION_CHUNK.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalLlmChunk {
    /// The next piece.
    pub delta: String,
    /// Set in the last chunk alone.
    pub finish_reason: Option<FinishReason>,
}

/// Token counts, each null when the backend does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the answer.
    pub completion: Option<u64>,
    /// Together.
    pub total: Option<u64>,
}

/// LOCAL_LLM_COMPLETION_RESPONSE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocalLlmResponse {
    /// The whole answer.
    pub content: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Time in the backend.
    pub duration_seconds: f64,
}

/// LOCAL_LLM_TURN (privacy mode).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LocalLlmTurn {
    /// The model.
    pub model: String,
    /// What to do.
    pub task: String,
    /// At least one stub.
    pub stub_refs: Vec<String>,
    /// More text for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Longest answer in tokens; default 1024.
    #[serde(default, deserialize_with = "number::whole", skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<i64>,
    /// Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Hash the files again first; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_sha256: Option<bool>,
}

/// LOCAL_LLM_TURN_CHUNK (privacy mode).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalLlmTurnChunk {
    /// The next piece.
    pub delta: String,
}

/// LOCAL_LLM_TURN_RESPONSE (privacy mode).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocalLlmTurnResponse {
    /// The whole answer.
    pub output: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Tokens used.
    pub tokens_used: Option<u64>,
    /// Time in the backend.
    pub duration_seconds: f64,
    /// The model.
    pub model: String,
}
