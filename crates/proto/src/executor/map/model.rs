//! Requests to the local model become operations (spec 11, 13).
//!
//! Where the texts are silent: a limit of tokens above 1,000,000 counts as that many; a message of a known role must be text, since an
//! attachment left out in silence would be another question. Which models and stubs there are, only the capability knows.

use drawbridge_core::OpError;
use drawbridge_core::model::{ChatMessage, ChatRole, Completion, Knob, ModelOp, Sampling, Turn};
use serde_json::Value;

use super::fault;
use crate::executor::wire::{self, LocalLlmCompletion, LocalLlmTurn};

const MODEL_CHARS_MAX: usize = 200;
const MESSAGES_MAX: usize = 10_000;
const MAX_TOKENS_DEFAULT: i64 = 1024;
const MAX_TOKENS_MAX: u32 = 1_000_000;
const TEMPERATURE_MAX: f64 = 2.0;
const STUBS_MAX: usize = 64;
const STUB_CHARS_MAX: usize = 64;
const TASK_CHARS_MAX: usize = 100_000;

pub(super) fn completion(request: LocalLlmCompletion) -> Result<ModelOp, OpError> {
    let LocalLlmCompletion { model, messages, max_tokens, temperature, top_p, stream } = request;
    check_model(&model)?;
    let messages = conversation(messages)?;
    let sampling = sampling(max_tokens, temperature, top_p)?;
    Ok(ModelOp::Completion(Completion { model, messages, sampling, stream: stream.unwrap_or(true) }))
}

pub(super) fn turn(request: LocalLlmTurn) -> Result<ModelOp, OpError> {
    let LocalLlmTurn { model, task, stub_refs, context, max_tokens, temperature, verify_sha256 } = request;
    check_model(&model)?;
    if task.trim().is_empty() {
        return Err(fault("task", "must not be empty"));
    }
    if task.chars().nth(TASK_CHARS_MAX).is_some() {
        return Err(fault("task", "has more than 100000 characters; put long text into context"));
    }
    if stub_refs.is_empty() || stub_refs.len() > STUBS_MAX {
        return Err(fault("stub_refs", "must have 1 to 64 entries"));
    }
    if stub_refs.iter().any(|stub| stub.is_empty() || stub.chars().nth(STUB_CHARS_MAX).is_some()) {
        return Err(fault("stub_refs", "has an entry that is not 1 to 64 characters long"));
    }
    let sampling = sampling(max_tokens, temperature, None)?;
    // Fails closed: whoever does not say so gets no answer about a file other than the one described.
    let verify = verify_sha256.unwrap_or(true);
    Ok(ModelOp::Turn(Turn { model, task, stubs: stub_refs, context, sampling, verify }))
}

/// Tells whether a request could name this model, so that it is worth offering.
pub(in crate::executor) fn can_name_model(model: &str) -> bool {
    check_model(model).is_ok()
}

fn check_model(model: &str) -> Result<(), OpError> {
    if model.is_empty() || model.chars().nth(MODEL_CHARS_MAX).is_some() {
        return Err(fault("model", "must have 1 to 200 characters"));
    }
    if model.chars().any(char::is_control) {
        return Err(fault("model", "holds a control character"));
    }
    Ok(())
}

/// Keeps the messages whose role is known. The content of others may have any shape: they are of a later version.
fn conversation(messages: Vec<wire::ChatMessage>) -> Result<Vec<ChatMessage>, OpError> {
    if messages.len() > MESSAGES_MAX {
        return Err(fault("messages", "has more than 10000 entries"));
    }
    let mut known = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let Some(role) = ChatRole::from_name(&message.role) else { continue };
        let Value::String(content) = message.content else {
            return Err(fault(&format!("messages[{index}].content"), "must be text"));
        };
        known.push(ChatMessage { role, content });
    }
    if known.is_empty() {
        let why = "none of the messages has a role that it knows (system, user, assistant), so there is nothing to ask";
        return Err(OpError::ModelFailed { why: why.to_owned() });
    }
    Ok(known)
}

fn sampling(max_tokens: Option<i64>, temperature: Option<f64>, top_p: Option<f64>) -> Result<Sampling, OpError> {
    let max_tokens = match max_tokens.unwrap_or(MAX_TOKENS_DEFAULT) {
        wanted if wanted < 1 => return Err(fault("max_tokens", "must be at least 1")),
        wanted => u32::try_from(wanted).unwrap_or(MAX_TOKENS_MAX).min(MAX_TOKENS_MAX),
    };
    let temperature =
        knob(temperature, 0.0, TEMPERATURE_MAX).ok_or_else(|| fault("temperature", "must lie between 0 and 2"))?;
    let top_p = knob(top_p, 1.0, 1.0).ok_or_else(|| fault("top_p", "must lie between 0 and 1"))?;
    Ok(Sampling { max_tokens, temperature, top_p })
}

/// Takes a number from 0 up to a bound.
fn knob(value: Option<f64>, default: f64, max: f64) -> Option<Knob> {
    let value = value.unwrap_or(default);
    (0.0..=max).contains(&value).then(|| Knob::new(value)).flatten()
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
