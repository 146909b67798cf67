//! The local model: what may be asked of it and what it answers (spec 11, 13). Free of any wire format.
//!
//! Prompts, tasks and answers are content: nothing here prints them (invariant 6).

use std::fmt;
use std::time::Duration;

/// Something asked of the local model.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ModelOp {
    /// A conversation is to be continued.
    Completion(Completion),
    /// A question about files whose contents stay on this machine.
    Turn(Turn),
    /// An answer about private files is to leave this machine. Asked by the engine itself after a turn, where the person wants
    /// to see answers before they leave.
    Release(Release),
}

impl ModelOp {
    /// Returns the name under which the audit log and the window know it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completion(_) => "LOCAL_LLM_COMPLETION",
            Self::Turn(_) => "LOCAL_LLM_TURN",
            Self::Release(_) => "LOCAL_LLM_RELEASE",
        }
    }

    /// Returns the model that is meant.
    #[must_use]
    pub fn model(&self) -> &str {
        match self {
            Self::Completion(op) => &op.model,
            Self::Turn(op) => &op.model,
            Self::Release(op) => &op.model,
        }
    }
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatRole {
    /// The frame of the conversation.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

impl ChatRole {
    /// Returns the protocol's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// Finds a role by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant].into_iter().find(|role| role.name() == name)
    }
}

/// One message of a conversation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ChatMessage {
    /// Who says it.
    pub role: ChatRole,
    /// What is said.
    pub content: String,
}

/// A number between two bounds that came from outside, such as a temperature. Never NaN or infinite, so it can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Knob(u64);

impl Knob {
    /// Takes a finite number.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        // Adding nought makes minus nought nought.
        value.is_finite().then(|| Self((value + 0.0).to_bits()))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Bounds and sampling of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sampling {
    /// The longest answer, in tokens; at least 1.
    pub max_tokens: u32,
    /// From 0 up; 0 is the steadiest.
    pub temperature: Knob,
    /// From 0 to 1.
    pub top_p: Knob,
}

/// A conversation to be continued.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Completion {
    /// One of the models offered.
    pub model: String,
    /// At least one, oldest first. Messages of unknown roles are gone already.
    pub messages: Vec<ChatMessage>,
    /// Bounds and sampling.
    pub sampling: Sampling,
    /// The answer is wanted piece by piece.
    pub stream: bool,
}

/// A question about files whose contents stay here.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Turn {
    /// One of the models offered.
    pub model: String,
    /// What to do with the files.
    pub task: String,
    /// Names of stubs, at least one.
    pub stubs: Vec<String>,
    /// More text for the model.
    pub context: Option<String>,
    /// Bounds and sampling.
    pub sampling: Sampling,
    /// A file that has changed since its stub was made is refused. Otherwise what is at its place now is read.
    pub verify: bool,
}

/// An answer about private files that is to leave this machine.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Release {
    /// The model that answered.
    pub model: String,
    /// The answer.
    pub answer: String,
    /// The files it is about, as the peer named them.
    pub paths: Vec<String>,
    /// What the model was asked to do with them.
    pub task: String,
    /// What else it was told.
    pub context: Option<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It reached the length allowed.
    Length,
    /// A filter ended it.
    ContentFilter,
}

impl FinishReason {
    /// Returns the protocol's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// Token counts, each none where the back end does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the answer.
    pub completion: Option<u64>,
}

impl TokenCounts {
    /// Returns both together, where both are known.
    #[must_use]
    pub fn total(self) -> Option<u64> {
        self.prompt?.checked_add(self.completion?)
    }
}

/// The whole answer of a model.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The model that answered.
    pub model: String,
    /// The text.
    pub content: String,
    /// Why it ended.
    pub finish: FinishReason,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Time in the back end.
    pub duration: Duration,
}

/// Shows sizes alone.
impl fmt::Debug for ModelAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelAnswer({} bytes, {})", self.content.len(), self.finish.name())
    }
}

/// A part of an answer on its way.
#[derive(Clone, PartialEq, Eq)]
pub enum Piece {
    /// The next text, never empty.
    Delta(String),
    /// The end of the text; the whole answer follows.
    Finish(FinishReason),
}

/// Shows sizes alone.
impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delta(text) => write!(f, "Delta({} bytes)", text.len()),
            Self::Finish(reason) => write!(f, "Finish({})", reason.name()),
        }
    }
}

/// The most of a private file that may leave with its description, where the person lets any of it leave (spec 13).
pub const MAX_PREVIEW_BYTES: u16 = 256;

/// A file described without its content (spec 13).
#[derive(Clone, PartialEq, Eq)]
pub struct FileStub {
    /// The path, as a reading of the file would name it.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Guessed by extension.
    pub mime_type: Option<String>,
    /// SHA-256 of the content, 64 lower-case hex digits.
    pub sha256: String,
    /// `stub_` and a UUID; never used again.
    pub stub_id: String,
    /// Its first bytes, as many as may leave; usually none.
    pub preview: Vec<u8>,
}

/// Shows of the preview its size alone.
impl fmt::Debug for FileStub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, size_bytes, mime_type: _, sha256: _, stub_id, preview } = self;
        write!(f, "FileStub({stub_id}, {path}, {size_bytes} bytes, {} told)", preview.len())
    }
}
