//! What the audit log and the window say about private files and about questions that the local model answers (spec 13): paths, digests,
//! names and sizes in bytes, never a task, a context or an answer.

use drawbridge_core::model::{FileStub, ModelAnswer, Release, Turn};
use serde_json::{Map, Value, json};

/// Returns the details of a question about private files.
pub(super) fn turn(op: &Turn) -> Value {
    json!({ "model": op.model, "stub_ids": op.stubs, "task_length": op.task.len() })
}

/// Returns what is known of it only afterwards.
pub(super) fn answered(answer: &ModelAnswer) -> Value {
    json!({ "output_length": answer.content.len() })
}

/// Returns the details of an answer that is to leave.
pub(super) fn release(op: &Release) -> Value {
    json!({ "model": op.model, "files": op.paths.len(), "output_length": op.answer.len() })
}

/// Returns what is known of a description only afterwards.
pub(super) fn described(stub: &FileStub) -> Value {
    let mut told = json!({ "sha256": stub.sha256, "size_bytes": stub.size_bytes });
    // How many bytes of the file left with it. As the protocol has it where none did.
    if let (Some(told), false) = (told.as_object_mut(), stub.preview.is_empty()) {
        told.insert("preview_bytes".to_owned(), stub.preview.len().into());
    }
    told
}

/// Returns what a record about private files is about; none for other records.
pub(super) fn subject(op: &str, details: &Map<String, Value>) -> Option<String> {
    if op != "LOCAL_LLM_TURN" {
        return None;
    }
    let model = details.get("model").and_then(Value::as_str).unwrap_or_default();
    let count = details.get("stub_ids").and_then(Value::as_array).map_or(0, Vec::len);
    Some(format!("{model}: {}", files(count)))
}

/// Says in one sentence what a question about private files would do.
pub(super) fn turn_sentence(op: &Turn) -> String {
    format!(
        "The agent wants to ask the model {} about {} whose contents stay on this computer",
        super::shown(&op.model),
        files(op.stubs.len())
    )
}

/// Says in one sentence what letting an answer go would do.
pub(super) fn release_sentence(op: &Release) -> String {
    format!(
        "The model {} has answered a question about {}, and its answer would leave this computer",
        super::shown(&op.model),
        files(op.paths.len())
    )
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drawbridge_core::model::{FinishReason, Knob, ModelOp, Sampling, TokenCounts};
    use drawbridge_core::{FileOp, Operation, Outcome};

    use super::super::{facts, sentence};
    use super::*;

    const SECRET: &str = "the sum is 5";

    fn asked() -> Turn {
        let knob = |value| Knob::new(value).unwrap();
        Turn {
            model: "small:1b".to_owned(),
            task: SECRET.to_owned(),
            stubs: vec!["stub_1".to_owned(), "stub_2".to_owned()],
            context: Some(SECRET.to_owned()),
            sampling: Sampling { max_tokens: 100, temperature: knob(0.0), top_p: knob(1.0) },
            verify: true,
        }
    }

    #[test]
    fn a_turn_is_told_by_its_names_and_lengths() {
        let operation = Operation::Model(ModelOp::Turn(asked()));
        let mut facts = facts(&operation, 30);
        facts.complete(&Ok(Outcome::Turn(ModelAnswer {
            model: "small:1b".to_owned(),
            content: "é5".to_owned(),
            finish: FinishReason::Stop,
            tokens: TokenCounts::default(),
            duration: Duration::ZERO,
        })));

        assert_eq!(
            Value::Object(facts.details.clone()),
            json!({ "model": "small:1b", "stub_ids": ["stub_1", "stub_2"], "task_length": 12, "output_length": 3 })
        );
        assert_eq!(facts.subject(), "small:1b: 2 files");
        assert!(sentence(&operation).contains("small:1b about 2 files"));
    }

    #[test]
    fn a_description_is_told_by_its_digest() {
        let mut facts = facts(&Operation::File(FileOp::Stub { path: "/r/pay.csv".to_owned(), preview_bytes: 9 }), 30);
        facts.complete(&Ok(Outcome::Stub(FileStub {
            path: "/r/pay.csv".to_owned(),
            size_bytes: 7,
            mime_type: None,
            sha256: "ab".repeat(32),
            stub_id: "stub_1".to_owned(),
            preview: Vec::new(),
        })));

        assert_eq!(facts.op, "FILE_READ_STUB");
        assert_eq!(
            Value::Object(facts.details.clone()),
            json!({ "path": "/r/pay.csv", "mode": "stub", "sha256": "ab".repeat(32), "size_bytes": 7 })
        );
        assert_eq!(facts.subject(), "/r/pay.csv");
    }

    #[test]
    fn neither_task_nor_answer_is_in_a_record_or_a_sentence() {
        let paths = vec!["/r/pay.csv".to_owned()];
        let (answer, task, context) = (SECRET.to_owned(), SECRET.to_owned(), Some(SECRET.to_owned()));
        let release = Release { model: "small:1b".to_owned(), answer, paths, task, context };
        for op in [ModelOp::Turn(asked()), ModelOp::Release(release)] {
            let operation = Operation::Model(op);
            let told = format!("{:?} {}", facts(&operation, 30), sentence(&operation));

            assert!(!told.contains(SECRET), "{told}");
        }
    }
}
