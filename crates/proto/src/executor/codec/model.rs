//! Answers of the local model, and the parts that go before them (spec 11, 13). Their text is written straight into the frame.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawbridge_core::model::{FileStub, FinishReason, ModelAnswer, Piece};
use drawbridge_core::{RequestId, WallMs};

use super::escape::{escaped_len, fit, push_string};
use super::reply::{close, open};
use crate::executor::wire;

/// So much text, as JSON, goes into one part. Far below a frame, so that a peer can begin with the first while the rest is under way.
const PART_MAX: usize = 1024 * 1024;

/// Writes a part of the answer to a request of this type, as one frame or, for a very long text, as several. None where the type has no
/// such part. The parts carry no capacity: they free no slot.
pub(crate) fn parts(op: &str, id: &RequestId, piece: &Piece, wall: WallMs, version: &str) -> Vec<String> {
    let frame = |type_name: &str, text: &str, more: &str| {
        let mut body = open(id, type_name, escaped_len(text) + more.len() + 32);
        body.push_str("{\"delta\":");
        push_string(&mut body, text);
        body.push_str(more);
        body.push('}');
        close(body, wall, version, None)
    };
    match (op, piece) {
        ("LOCAL_LLM_COMPLETION", Piece::Delta(text)) => {
            cut(text).map(|part| frame("LOCAL_LLM_COMPLETION_CHUNK", part, ",\"finish_reason\":null")).collect()
        }
        ("LOCAL_LLM_COMPLETION", Piece::Finish(reason)) => {
            let more = format!(",\"finish_reason\":\"{}\"", reason.name());
            vec![frame("LOCAL_LLM_COMPLETION_CHUNK", "", &more)]
        }
        ("LOCAL_LLM_TURN", Piece::Delta(text)) => {
            cut(text).map(|part| frame("LOCAL_LLM_TURN_CHUNK", part, "")).collect()
        }
        _ => Vec::new(),
    }
}

/// Cuts a text into parts of which each fits; nothing of an empty one.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let part = if escaped_len(rest) <= PART_MAX { rest } else { fit(rest, PART_MAX, rest.len()) };
        rest = rest.get(part.len()..).unwrap_or_default();
        Some(part)
    })
}

/// Writes LOCAL_LLM_COMPLETION_RESPONSE up to its tail. The flag says that the text was cut to fit: the length allowed is reached then,
/// and what the model said until there is worth more than an error.
pub(super) fn completion(id: &RequestId, answer: &ModelAnswer, room: usize) -> (String, bool) {
    let ModelAnswer { model: _, content, finish, tokens, duration } = answer;
    let more = |finish: FinishReason| {
        format!(
            ",\"finish_reason\":\"{}\",\"tokens\":{{\"prompt\":{},\"completion\":{},\"total\":{}}},\"duration_seconds\":{}}}",
            finish.name(),
            count(tokens.prompt),
            count(tokens.completion),
            count(tokens.total()),
            Seconds(*duration)
        )
    };
    text_answer(id, "LOCAL_LLM_COMPLETION_RESPONSE", "content", content, (*finish, &more), room)
}

/// Writes LOCAL_LLM_TURN_RESPONSE up to its tail; as [`completion`].
pub(super) fn turn(id: &RequestId, answer: &ModelAnswer, room: usize) -> (String, bool) {
    let ModelAnswer { model, content, finish, tokens, duration } = answer;
    let more = |finish: FinishReason| {
        let mut more = format!(
            ",\"finish_reason\":\"{}\",\"tokens_used\":{},\"duration_seconds\":{},\"model\":",
            finish.name(),
            count(tokens.total()),
            Seconds(*duration)
        );
        push_string(&mut more, model);
        more.push('}');
        more
    };
    text_answer(id, "LOCAL_LLM_TURN_RESPONSE", "output", content, (*finish, &more), room)
}

fn text_answer(
    id: &RequestId,
    type_name: &str,
    field: &str,
    text: &str,
    (finish, more): (FinishReason, &dyn Fn(FinishReason) -> String),
    room: usize,
) -> (String, bool) {
    let mut body = open(id, type_name, 0);
    let _ = write!(body, "{{\"{field}\":");
    let head = body.len() + "\"\"".len();
    let whole = more(finish);
    let len = escaped_len(text);
    let (text, len, whole, was_cut) = if head + len + whole.len() <= room {
        (text, len, whole, false)
    } else {
        let whole = more(FinishReason::Length);
        let text = fit(text, room.saturating_sub(head + whole.len()), text.len());
        (text, escaped_len(text), whole, true)
    };
    // Room for the connection's tail as well, so that it never moves the whole frame.
    body.reserve_exact(len + whole.len() + 128);
    push_string(&mut body, text);
    body.push_str(&whole);
    (body, was_cut)
}

fn count(tokens: Option<u64>) -> String {
    tokens.map_or_else(|| "null".to_owned(), |tokens| tokens.to_string())
}

/// A time in seconds, rounded to milliseconds.
struct Seconds(Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.0.saturating_add(Duration::from_micros(500)).as_millis();
        write!(f, "{}.{:03}", ms / 1000, ms % 1000)
    }
}

/// The preview is content: it holds what the person lets leave, which is nothing as long as they have not said so.
pub(super) fn stub(stub: &FileStub) -> wire::FileStub {
    let FileStub { path, size_bytes, mime_type, sha256, stub_id, preview } = stub.clone();
    wire::FileStub {
        mode: "stub".to_owned(),
        path,
        size_bytes,
        mime_type,
        sha256,
        schema_preview: STANDARD.encode(preview),
        stub_id,
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
