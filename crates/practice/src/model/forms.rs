//! What both interfaces look like on the wire.

use serde_json::{Value, json};

use super::script::{ScriptModel, Step};

/// One of the two interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Ollama's own: JSON lines.
    Ollama,
    /// The shared one: server-sent events.
    OpenAi,
}

/// What the lines of one answer have in common.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) form: Form,
    pub(crate) model: String,
    pub(crate) number: u64,
    /// The one who asked wants counts at the end of an event stream.
    pub(crate) usage: bool,
    pub(crate) prompt_tokens: u64,
}

const CREATED_AT: &str = "2026-01-01T00:00:00Z";
const CREATED: u64 = 1_767_225_600;

impl Head {
    /// The bytes of a step; none for steps that send nothing.
    pub(crate) fn bytes(&self, step: &Step, answered: u64) -> Option<Vec<u8>> {
        match step {
            Step::Text(text) => Some(self.piece("content", text)),
            Step::Thinking(text) => Some(self.piece(self.thinking(), text)),
            Step::Finish(reason) => Some(self.finish(reason, Some(answered))),
            Step::FinishUncounted(reason) => Some(self.finish(reason, None)),
            Step::Error(message) => Some(self.line(&self.error(message))),
            Step::Raw(bytes) => Some(bytes.clone()),
            Step::Hold | Step::Cut => None,
        }
    }

    /// The bytes before the first piece: an event stream begins with the role and no text, as llama.cpp's does.
    pub(crate) fn opening(&self) -> Vec<u8> {
        match self.form {
            Form::Ollama => Vec::new(),
            Form::OpenAi => self.line(&self.chunk(&json!({"role": "assistant", "content": null}), None)),
        }
    }

    const fn thinking(&self) -> &'static str {
        match self.form {
            Form::Ollama => "thinking",
            Form::OpenAi => "reasoning_content",
        }
    }

    fn piece(&self, key: &str, text: &str) -> Vec<u8> {
        match self.form {
            Form::Ollama => {
                let mut message = json!({"role": "assistant", "content": ""});
                message[key] = json!(text);
                self.line(&json!({
                    "model": self.model, "created_at": CREATED_AT, "message": message, "done": false,
                }))
            }
            Form::OpenAi => self.line(&self.chunk(&json!({ key: text }), None)),
        }
    }

    fn finish(&self, reason: &str, answered: Option<u64>) -> Vec<u8> {
        match self.form {
            Form::Ollama => {
                let mut last = json!({
                    "model": self.model, "created_at": CREATED_AT, "message": {"role": "assistant", "content": ""},
                    "done": true, "done_reason": reason, "total_duration": 1_000_000,
                });
                if let Some(answered) = answered {
                    last["prompt_eval_count"] = json!(self.prompt_tokens);
                    last["eval_count"] = json!(answered);
                }
                self.line(&last)
            }
            Form::OpenAi => {
                let mut bytes = self.line(&self.chunk(&json!({}), Some(reason)));
                if let Some(answered) = answered.filter(|_| self.usage) {
                    let mut last = self.chunk(&json!({}), None);
                    last["choices"] = json!([]);
                    last["usage"] = self.usage(answered);
                    bytes.extend(self.line(&last));
                }
                bytes.extend(b"data: [DONE]\n\n");
                bytes
            }
        }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.number), "object": "chat.completion.chunk", "created": CREATED,
            "model": self.model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    }

    fn usage(&self, answered: u64) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens, "completion_tokens": answered,
            "total_tokens": self.prompt_tokens + answered,
        })
    }

    fn line(&self, value: &Value) -> Vec<u8> {
        match self.form {
            Form::Ollama => format!("{value}\n").into_bytes(),
            Form::OpenAi => format!("data: {value}\n\n").into_bytes(),
        }
    }

    /// A fault as a body or a line tells it.
    pub(crate) fn error(&self, message: &str) -> Value {
        error(self.form, message)
    }

    /// The whole answer at once.
    pub(crate) fn whole(&self, content: &str, reason: &str, answered: u64) -> Value {
        match self.form {
            Form::Ollama => json!({
                "model": self.model, "created_at": CREATED_AT, "message": {"role": "assistant", "content": content},
                "done": true, "done_reason": reason, "total_duration": 1_000_000,
                "prompt_eval_count": self.prompt_tokens, "eval_count": answered,
            }),
            Form::OpenAi => json!({
                "id": format!("chatcmpl-{}", self.number), "object": "chat.completion", "created": CREATED,
                "model": self.model,
                "choices": [{
                    "index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": reason,
                }],
                "usage": self.usage(answered),
            }),
        }
    }
}

/// A fault as a body or a line tells it.
pub(crate) fn error(form: Form, message: &str) -> Value {
    match form {
        Form::Ollama => json!({ "error": message }),
        Form::OpenAi => json!({"error": {"message": message, "type": "invalid_request_error", "code": null}}),
    }
}

/// `GET /api/tags`.
pub(crate) fn tags(models: &[ScriptModel]) -> Value {
    let models: Vec<Value> = models
        .iter()
        .map(|model| {
            let mut listed = json!({
                "name": model.name, "model": model.name, "modified_at": CREATED_AT, "size": model.size_bytes,
                "digest": "0".repeat(64),
                "details": {"format": "gguf", "family": "practice", "parameter_size": "0", "quantization_level": "F32"},
            });
            add_remote(&mut listed, model);
            listed
        })
        .collect();
    json!({ "models": models })
}

/// `POST /api/show`.
pub(crate) fn show(model: &ScriptModel) -> Value {
    let mut shown = json!({
        "details": {"format": "gguf", "family": "practice", "parameter_size": "0", "quantization_level": "F32"},
        "model_info": {"general.architecture": "practice", "practice.context_length": model.context_tokens},
        "capabilities": ["completion"],
    });
    add_remote(&mut shown, model);
    shown
}

/// Says where a model runs that is only passed on; nothing of others.
fn add_remote(facts: &mut Value, model: &ScriptModel) {
    if let Some(host) = &model.remote_host {
        facts["remote_host"] = json!(host);
        facts["remote_model"] = json!(model.name);
    }
}

/// `GET /v1/models`.
pub(crate) fn models(models: &[ScriptModel]) -> Value {
    let data: Vec<Value> = models
        .iter()
        .map(|model| {
            json!({
                "id": model.name, "object": "model", "created": CREATED, "owned_by": "practice",
                "max_model_len": model.context_tokens,
            })
        })
        .collect();
    json!({"object": "list", "data": data})
}
