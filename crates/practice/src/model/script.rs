//! What the model server has and how it behaves.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

/// What a model server has and does. The default is the practice model with nothing in its way.
#[derive(Debug, Clone)]
pub struct Script {
    /// It speaks Ollama's interface.
    pub ollama: bool,
    /// It speaks the interface that many servers share.
    pub openai: bool,
    /// Its models.
    pub models: Vec<ScriptModel>,
    /// The version it tells.
    pub version: String,
    /// A key that each request must bear.
    pub key: Option<String>,
    /// Time between two words, as a real model needs it.
    pub pace: Option<Duration>,
    /// How lists of models and facts about it are told: [`Reply::Practice`] tells what is true.
    pub listing: Reply,
    /// How questions are answered.
    pub reply: Reply,
    /// How the next questions are answered, before [`Script::reply`] holds.
    pub next: VecDeque<Reply>,
    /// Requests are remembered, with what they hold.
    pub keep_requests: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            ollama: true,
            openai: true,
            models: vec![ScriptModel::named("practice-model")],
            version: "0.1.0-practice".to_owned(),
            key: None,
            pace: None,
            listing: Reply::Practice,
            reply: Reply::Practice,
            next: VecDeque::new(),
            keep_requests: false,
        }
    }
}

impl Script {
    /// The practice model for people: it answers word by word at the pace of a small model, and remembers nothing.
    #[must_use]
    pub fn practice() -> Self {
        Self { pace: Some(Duration::from_millis(40)), ..Self::default() }
    }

    /// A server for tests that speaks Ollama's interface alone and remembers requests.
    #[must_use]
    pub fn ollama() -> Self {
        Self { openai: false, keep_requests: true, ..Self::default() }
    }

    /// A server for tests that speaks the shared interface alone and remembers requests.
    #[must_use]
    pub fn openai() -> Self {
        Self { ollama: false, keep_requests: true, ..Self::default() }
    }

    /// The same with these models.
    #[must_use]
    pub fn with_models(mut self, names: &[&str]) -> Self {
        self.models = names.iter().map(|name| ScriptModel::named(name)).collect();
        self
    }

    /// The same, answering every question this way.
    #[must_use]
    pub fn with_reply(mut self, reply: Reply) -> Self {
        self.reply = reply;
        self
    }
}

/// A model that the server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptModel {
    /// Its name.
    pub name: String,
    /// Size on disk in bytes.
    pub size_bytes: u64,
    /// Tokens that it can read; a longer prompt is cut in silence (Ollama) or refused (shared interface), as real servers do.
    pub context_tokens: u64,
    /// Where it really runs, if the server only passes questions on (Ollama).
    pub remote_host: Option<String>,
}

impl ScriptModel {
    /// A model of this name that runs elsewhere, as servers list it.
    #[must_use]
    pub fn passed_on(name: &str) -> Self {
        let remote_host = Some("https://models.example:443".to_owned());
        Self { size_bytes: 384, remote_host, ..Self::named(name) }
    }

    /// A small model of this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), size_bytes: 42_000_000, context_tokens: 8192, remote_host: None }
    }
}

/// How the server answers.
#[derive(Debug, Clone)]
pub enum Reply {
    /// As a well-behaved server does: the practice model answers, lists are true.
    Practice,
    /// This status, these headers and this body.
    Plain {
        /// The status.
        status: u16,
        /// More headers, each a name and a value.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// The connection stays open and nothing comes.
    Silent,
    /// These steps, in the form of the interface that was asked. The body ends after the last.
    Steps(Vec<Step>),
}

impl Reply {
    /// A status with a body.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Self {
        Self::Plain { status, headers: Vec::new(), body: body.to_owned() }
    }

    /// A redirect.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        Self::Plain { status: 307, headers: vec![("location".to_owned(), to.to_owned())], body: String::new() }
    }

    /// A whole answer in these pieces, with the end of a well-behaved server.
    #[must_use]
    pub fn pieces(pieces: &[&str]) -> Self {
        let steps = pieces.iter().map(|piece| Step::text(piece));
        Self::Steps(steps.chain([Step::finish("stop")]).collect())
    }
}

/// One step of a streamed answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// A piece of the answer.
    Text(String),
    /// A piece of what the model thinks before it answers.
    Thinking(String),
    /// The end of the answer, with this reason and with token counts.
    Finish(String),
    /// The end of the answer with this reason and without token counts.
    FinishUncounted(String),
    /// A fault that the server tells in the middle of its answer.
    Error(String),
    /// Bytes as they are, handed to the connection as one piece.
    Raw(Vec<u8>),
    /// Waits until the test lets it go on.
    Hold,
    /// The connection breaks off.
    Cut,
}

impl Step {
    /// A piece of the answer.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The end with this reason.
    #[must_use]
    pub fn finish(reason: &str) -> Self {
        Self::Finish(reason.to_owned())
    }

    /// Bytes as they are.
    #[must_use]
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self::Raw(bytes.as_ref().to_vec())
    }
}

/// What the server has seen so far.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Requests, oldest first.
    pub requests: VecDeque<Asked>,
    /// Questions that came in so far, answered or not.
    pub questions: usize,
    /// Answers that stand at a [`Step::Hold`] now.
    pub holding: usize,
    /// Answers that were broken off because the one who asked hung up.
    pub hung_up: usize,
}

/// A request that was received.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The body; null where there was none.
    pub body: Value,
    /// The `Host` header.
    pub host: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
}
