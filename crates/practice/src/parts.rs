//! Answers of the local model on their way: parts, then the end (spec 11, 13). Keeps what was said so far, so that the end can be held
//! against it.

use crate::bounds;
use serde_json::Value;
use tokio::sync::mpsc;

/// Bytes of text that one answer may have; a frame holds no more of it.
const TEXT_MAX: usize = 16 * 1024 * 1024;

/// What kind of answer a request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Without parts.
    Whole,
    /// The content of a file.
    Content,
    /// A file described without its content.
    Stub,
    /// Of a model, with parts or without.
    Completion { parts: bool },
    /// Of a model, about files.
    Turn,
}

/// What a request is due, and what came of it so far.
pub(crate) struct Progress {
    due: Due,
    text: String,
    parts: u64,
    finish: Option<String>,
    /// Whoever follows the parts. Bounded by [`TEXT_MAX`] and by the machine's own back-pressure.
    listener: Option<mpsc::UnboundedSender<Value>>,
}

/// Something that does not fit: a kind of fault and what it is.
pub(crate) type Misfit = (&'static str, String);

impl Progress {
    pub(crate) fn of(kind: &str, payload: &Value, listener: Option<mpsc::UnboundedSender<Value>>) -> Self {
        let due = match kind {
            "FILE_READ" if payload["mode"] == "stub" => Due::Stub,
            "FILE_READ" => Due::Content,
            "LOCAL_LLM_COMPLETION" => Due::Completion { parts: payload["stream"] != false },
            "LOCAL_LLM_TURN" => Due::Turn,
            _ => Due::Whole,
        };
        Self { due, text: String::new(), parts: 0, finish: None, listener }
    }

    /// Takes a part. The outer error costs the connection, as any frame does that nobody asked for; the inner ones are faults.
    pub(crate) fn part(&mut self, kind: &str, payload: &Value) -> Result<Vec<Misfit>, Misfit> {
        let wanted = match self.due {
            Due::Completion { .. } => "LOCAL_LLM_COMPLETION_CHUNK",
            Due::Turn => "LOCAL_LLM_TURN_CHUNK",
            Due::Whole | Due::Content | Due::Stub => "",
        };
        if kind != wanted {
            return Err(("wrong_type", format!("{kind} came for a request whose answer has no such parts")));
        }
        let mut misfits = Vec::new();
        if self.due == (Due::Completion { parts: false }) {
            misfits.push(("order", format!("{kind} came although the answer was wanted in one piece")));
        }
        if self.finish.is_some() {
            misfits.push(("order", format!("{kind} came after the last part")));
        }
        if let Err(why) = bounds::answer(kind, payload) {
            misfits.push(("bounds", format!("{kind}: {why}")));
        }
        self.parts += 1;
        let delta = payload["delta"].as_str().unwrap_or_default();
        if self.text.len() + delta.len() > TEXT_MAX {
            misfits.push(("bounds", format!("{kind}: the parts together are longer than any answer")));
        } else {
            self.text.push_str(delta);
            if let Some(listener) = &self.listener {
                let _ = listener.send(payload.clone());
            }
        }
        self.finish = payload["finish_reason"].as_str().map(str::to_owned).or(self.finish.take());
        Ok(misfits)
    }

    /// Holds the end against what was asked for and what was said before it.
    pub(crate) fn end(&self, kind: &str, payload: &Value) -> Vec<Misfit> {
        if kind == "ERROR" {
            return Vec::new();
        }
        let mut misfits = Vec::new();
        let mut odd = |what: &'static str, ok: bool, text: &str| {
            if !ok {
                misfits.push((what, format!("{kind}: {text}")));
            }
        };
        match self.due {
            Due::Whole => {}
            Due::Stub => odd("privacy", payload["mode"] == "stub", "content came where a stub was asked for"),
            Due::Content => odd("wrong_type", payload["mode"] != "stub", "a stub came where content was asked for"),
            Due::Completion { parts } => {
                odd("order", !parts || self.finish.is_some(), "the part that tells the end did not come before it");
                let same =
                    self.finish.is_none() || payload["finish_reason"] == self.finish.as_deref().unwrap_or_default();
                odd(
                    "parts",
                    self.parts == 0 || self.fits(&payload["content"], payload),
                    "its text is not that of its parts",
                );
                odd("parts", same || was_cut(payload), "it ends for another reason than its last part said");
            }
            Due::Turn => {
                odd(
                    "parts",
                    self.parts == 0 || self.fits(&payload["output"], payload),
                    "its text is not that of its parts",
                );
            }
        }
        misfits
    }

    /// Where a frame does not hold all of it, the text is cut and the reason says so.
    fn fits(&self, text: &Value, payload: &Value) -> bool {
        text.as_str().is_some_and(|text| text == self.text || (was_cut(payload) && self.text.starts_with(text)))
    }
}

fn was_cut(payload: &Value) -> bool {
    payload["finish_reason"] == "length"
}
