//! What the audit log and the window say about completions of the local model (spec 3.3): sizes and names, never a prompt or an
//! answer. The name of the model is what a record is about.

use drawbridge_core::model::{Completion, ModelAnswer};
use serde_json::{Value, json};

/// Returns the details that are known before it runs.
pub(super) fn details(op: &Completion) -> Value {
    json!({ "model": op.model, "prompt_chars": prompt_chars(op), "stream": op.stream })
}

/// Counts the characters of all messages.
pub(crate) fn prompt_chars(op: &Completion) -> usize {
    op.messages.iter().map(|message| message.content.chars().count()).sum()
}

/// Returns what is known only afterwards. Token counts that nobody told are null.
pub(super) fn answered(answer: &ModelAnswer) -> Value {
    json!({
        "response_chars": answer.content.chars().count(),
        "finish_reason": answer.finish.name(),
        "tokens_prompt": answer.tokens.prompt,
        "tokens_completion": answer.tokens.completion,
        "tokens_total": answer.tokens.total(),
    })
}

/// Says what an operation would do, in one plain sentence.
pub(super) fn sentence(op: &Completion) -> String {
    format!("The agent wants to ask the model {}", super::shown(&op.model))
}
