//! Answers of the local model, and the parts that go before them (spec 11, 13).

use drawbridge_core::model::{FileStub, FinishReason, ModelAnswer, Piece};

use crate::executor::wire::{self, FromClient};

/// Writes a part of the answer to a request of this type; none where the type has no such part.
pub(crate) fn chunk(op: &str, piece: &Piece) -> Option<FromClient> {
    match (op, piece) {
        ("LOCAL_LLM_COMPLETION", Piece::Delta(delta)) => {
            let chunk = wire::LocalLlmChunk { delta: delta.clone(), finish_reason: None };
            Some(FromClient::LocalLlmCompletionChunk(chunk))
        }
        ("LOCAL_LLM_COMPLETION", Piece::Finish(reason)) => {
            let chunk = wire::LocalLlmChunk { delta: String::new(), finish_reason: Some(finish(*reason)) };
            Some(FromClient::LocalLlmCompletionChunk(chunk))
        }
        ("LOCAL_LLM_TURN", Piece::Delta(delta)) => {
            Some(FromClient::LocalLlmTurnChunk(wire::LocalLlmTurnChunk { delta: delta.clone() }))
        }
        _ => None,
    }
}

pub(super) fn completion(answer: &ModelAnswer) -> wire::LocalLlmResponse {
    let ModelAnswer { model: _, content, finish: reason, tokens, duration } = answer;
    wire::LocalLlmResponse {
        content: content.clone(),
        finish_reason: finish(*reason),
        tokens: wire::TokenCounts { prompt: tokens.prompt, completion: tokens.completion, total: tokens.total() },
        duration_seconds: seconds(*duration),
    }
}

pub(super) fn turn(answer: &ModelAnswer) -> wire::LocalLlmTurnResponse {
    let ModelAnswer { model, content, finish: reason, tokens, duration } = answer;
    wire::LocalLlmTurnResponse {
        output: content.clone(),
        finish_reason: finish(*reason),
        tokens_used: tokens.total(),
        duration_seconds: seconds(*duration),
        model: model.clone(),
    }
}

/// The preview is content, so it is always empty.
pub(super) fn stub(stub: &FileStub) -> wire::FileStub {
    let FileStub { path, size_bytes, mime_type, sha256, stub_id } = stub.clone();
    wire::FileStub {
        mode: "stub".to_owned(),
        path,
        size_bytes,
        mime_type,
        sha256,
        schema_preview: String::new(),
        stub_id,
    }
}

const fn finish(reason: FinishReason) -> wire::FinishReason {
    match reason {
        FinishReason::Stop => wire::FinishReason::Stop,
        FinishReason::Length => wire::FinishReason::Length,
        FinishReason::ContentFilter => wire::FinishReason::ContentFilter,
    }
}

/// Rounded to milliseconds.
fn seconds(duration: std::time::Duration) -> f64 {
    std::time::Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).as_secs_f64()
}
