//! What all kinds of model servers have in common: a list of models, and answers that come as lines.

use std::borrow::Cow;

use drawbridge_core::model::{ChatMessage, FinishReason, Sampling, TokenCounts};
use drawbridge_policy::ModelApi;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unicode_general_category::{GeneralCategory, get_general_category};

use super::ModelFacts;
use super::address::Address;
use super::dial::Dial;
use super::fault::Fault;
use super::http::{self, Answer, Call};
use super::key::{KnownKey, ServerKey};
use super::ollama::Ollama;
use super::openai::OpenAi;

/// The longest list of models, in bytes.
const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;
/// Models of one server that are taken.
const MAX_MODELS: usize = 500;
/// The longest name of a model, in characters.
const MAX_NAME_CHARS: usize = 200;
/// The longest version of a server, in characters.
const MAX_VERSION_CHARS: usize = 40;
/// What is kept of a server's own words about a fault, in characters.
const MAX_WORDS_CHARS: usize = 160;

/// One kind of model server. It knows words; connections are made by [`Place`].
pub(crate) trait Backend: Send + Sync {
    /// Asks what the server has. Fails with [`Fault::NoModelServer`] when it is of another kind.
    fn look<'a>(&'a self, place: &'a Place<'_>) -> BoxFuture<'a, Result<Found, Fault>>;

    /// Asks how many tokens a model reads, where that is not in the list.
    fn context<'a>(&'a self, place: &'a Place<'_>, model: &'a str) -> BoxFuture<'a, Option<u64>>;

    /// Asks whether the server itself asks another computer for a model. False where it does not say.
    fn passes_on<'a>(&'a self, place: &'a Place<'_>, model: &'a str) -> BoxFuture<'a, bool>;

    /// Returns the request that puts a question.
    fn question(&self, question: &Question<'_>) -> Call;

    /// Understands one line of an answer.
    fn line(&self, line: &[u8]) -> Line;

    /// Whether the server makes as much room for a prompt and its answer as it is asked for. Others were started with theirs.
    fn makes_room(&self) -> bool;
}

/// Returns the back end of an interface; none for [`ModelApi::Auto`], which is no interface.
pub(crate) fn of(api: ModelApi) -> Option<&'static dyn Backend> {
    match api {
        ModelApi::Auto => None,
        ModelApi::Ollama => Some(&Ollama),
        ModelApi::OpenAi => Some(&OpenAi),
    }
}

/// Where a server is, and the way to it.
pub(crate) struct Place<'a> {
    pub(crate) address: &'a Address,
    pub(crate) far: bool,
    pub(crate) key: &'a KnownKey,
    pub(crate) dial: &'a dyn Dial,
}

impl Place<'_> {
    /// Sends a request and waits for the head of its answer. The key of the server goes with it, to this very address alone: a
    /// redirect is a fault and not followed.
    pub(crate) async fn send(&self, call: Call) -> Result<Answer, Fault> {
        let key = self.key.for_server(self.address, self.far)?.and_then(ServerKey::header);
        let io = self.dial.dial(self.address, self.far).await?;
        let answer = http::send(io, &self.address.authority(), key, call, words_in).await;
        answer.map_err(|fault| if fault == Fault::KeyWanted { self.key.refused() } else { self.key.untold(fault) })
    }

    /// Asks for a JSON document.
    pub(crate) async fn json(
        &self,
        path: &'static str,
        body: Option<Vec<u8>>,
    ) -> Result<(Value, Option<String>), Fault> {
        let answer = match self.send(Call { path, body }).await {
            Err(Fault::Missing) => return Err(Fault::NoModelServer),
            other => other?,
        };
        let server = answer.server.clone();
        let body = answer.whole(MAX_LIST_BYTES).await?;
        let value = serde_json::from_slice(&body).map_err(|_| Fault::NoModelServer)?;
        Ok((value, server))
    }
}

/// What a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// What it calls itself.
    pub(crate) name: Option<String>,
    pub(crate) models: Vec<ModelFacts>,
    /// It refuses a prompt that is too long when it is told to, rather than cut it.
    pub(crate) exact: bool,
}

/// A question as a back end is asked.
pub(crate) struct Question<'a> {
    pub(crate) model: &'a str,
    pub(crate) messages: &'a [ChatMessage],
    pub(crate) sampling: Sampling,
    /// So many tokens have to fit, prompt and answer together; none leaves it to the server.
    pub(crate) window: Option<u64>,
    /// The prompt must not be cut.
    pub(crate) whole: bool,
}

/// A message on the wire; the same in both interfaces.
#[derive(Serialize)]
pub(crate) struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// Returns the messages as they are on the wire.
pub(crate) fn messages<'a>(question: &Question<'a>) -> Vec<Message<'a>> {
    question.messages.iter().map(|said| Message { role: said.role.name(), content: &said.content }).collect()
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Nothing that matters here.
    Nothing,
    /// A part of the answer.
    Said(Said),
    /// The server failed, perhaps with words of its own.
    Failed(Option<String>),
    /// It makes no sense.
    Malformed,
}

/// A part of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The next text, perhaps none.
    pub(crate) text: String,
    /// Why the model ended, once it did.
    pub(crate) finish: Option<FinishReason>,
    /// Counts, where they are told.
    pub(crate) tokens: TokenCounts,
    /// Nothing comes after this.
    pub(crate) last: bool,
}

/// Understands a reason; one that is not known counts as a plain end.
pub(crate) fn finish(reason: Option<&str>) -> FinishReason {
    let known = [FinishReason::Stop, FinishReason::Length, FinishReason::ContentFilter];
    known.into_iter().find(|known| reason == Some(known.name())).unwrap_or(FinishReason::Stop)
}

/// A text in JSON; none where something else stands there.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text<'a> {
    Is(#[serde(borrow)] Cow<'a, str>),
    Other(serde::de::IgnoredAny),
}

impl Text<'_> {
    pub(crate) fn get(&self) -> Option<&str> {
        if let Self::Is(text) = self { Some(text) } else { None }
    }
}

/// Finds the words of a server about a fault: `error`, as text or with a `message` in it, or `message` and `detail` alone. Some
/// servers wrap what another server told them as JSON in text.
pub(crate) fn fault_words(value: &Value) -> Option<String> {
    let error = value.get("error").unwrap_or(value);
    let text = [Some(error), error.get("message"), value.get("message"), value.get("detail")];
    let text = text.into_iter().flatten().find_map(Value::as_str)?;
    match serde_json::from_str::<Value>(text) {
        Ok(inner @ Value::Object(_)) => fault_words(&inner),
        _ => clean_words(text),
    }
}

fn words_in(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<Value>(body).ok().as_ref().and_then(fault_words)
}

/// One line without characters that cannot be seen, cut where it is long.
fn clean_words(text: &str) -> Option<String> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || !is_visible(c)).filter(|word| !word.is_empty()).collect();
    let text: String = words.join(" ").chars().take(MAX_WORDS_CHARS).collect();
    (!text.is_empty()).then_some(text)
}

/// Takes the models of a list whose names can be told to a peer, each once.
pub(crate) fn usable(models: impl Iterator<Item = ModelFacts>) -> Vec<ModelFacts> {
    let mut taken: Vec<ModelFacts> = Vec::new();
    for model in models {
        if is_name(&model.name) && !taken.iter().any(|other| other.name == model.name) {
            taken.push(model);
        }
        if taken.len() == MAX_MODELS {
            break;
        }
    }
    taken
}

fn is_name(name: &str) -> bool {
    is_short(name, MAX_NAME_CHARS)
}

/// Tells whether a server's word for its version can be shown.
pub(crate) fn is_version(version: &str) -> bool {
    is_short(version, MAX_VERSION_CHARS)
}

fn is_short(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().nth(most).is_none() && text.chars().all(is_visible)
}

/// Neither a control nor a format character, nor one that breaks lines or means nothing.
fn is_visible(c: char) -> bool {
    use GeneralCategory as G;
    !matches!(
        get_general_category(c),
        G::Control
            | G::Format
            | G::LineSeparator
            | G::ParagraphSeparator
            | G::PrivateUse
            | G::Unassigned
            | G::Surrogate
    )
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
