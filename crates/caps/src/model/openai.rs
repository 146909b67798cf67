//! The interface that many servers share: llama.cpp, LM Studio, vLLM, Jan, KoboldCpp and others. Answers are server-sent events.

use drawbridge_core::model::TokenCounts;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ModelFacts;
use super::backend::{
    Backend, Found, Line, Message, Place, Question, Said, Text, fault_words, finish, messages, usable,
};
use super::fault::Fault;
use super::http::Call;
use super::ollama::Ollama;

/// Where servers tell how many tokens a model reads: what they were started with before what the model was made for.
const CONTEXT_KEYS: [&str; 7] = [
    "/max_model_len",
    "/meta/n_ctx",
    "/loaded_context_length",
    "/context_length",
    "/max_context_length",
    "/context_window",
    "/meta/n_ctx_train",
];
/// What servers say that they are, in their head or in their list, and what people know them as.
const KNOWN: [(&str, &str); 6] = [
    ("llama.cpp", "llama.cpp"),
    ("llamacpp", "llama.cpp"),
    ("vllm", "vLLM"),
    ("koboldcpp", "KoboldCpp"),
    ("tabbyapi", "TabbyAPI"),
    ("practice", "Practice model"),
];

/// The interface.
pub(crate) struct OpenAi;

#[derive(Serialize)]
struct Chat<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    max_tokens: u32,
    temperature: f64,
    top_p: f64,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A chunk. What is not read here, such as `reasoning_content`, is no part of the answer.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<Content<'a>>,
    /// Where a server does not stream although it was asked to.
    #[serde(borrow)]
    message: Option<Content<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
}

impl Backend for OpenAi {
    fn look<'a>(&'a self, place: &'a Place<'_>) -> BoxFuture<'a, Result<Found, Fault>> {
        Box::pin(async {
            let (list, server) = place.json("/v1/models", None).await?;
            let data = list.get("data").and_then(Value::as_array).ok_or(Fault::NoModelServer)?;
            let owner = data.first().and_then(|model| model.get("owned_by")).and_then(Value::as_str);
            let name = [server.as_deref(), owner].into_iter().flatten().find_map(known);
            let models = usable(data.iter().filter_map(facts));
            Ok(Found { name, models, exact: true })
        })
    }

    fn context<'a>(&'a self, _place: &'a Place<'_>, _model: &'a str) -> BoxFuture<'a, Option<u64>> {
        // It is in the list or nowhere.
        Box::pin(async { None })
    }

    fn passes_on<'a>(&'a self, place: &'a Place<'_>, model: &'a str) -> BoxFuture<'a, bool> {
        // Nothing in this interface says so. Ollama speaks it too, so it is asked in its own way; others know of no such path.
        Ollama.passes_on(place, model)
    }

    fn question(&self, question: &Question<'_>) -> Call {
        let sampling = question.sampling;
        let chat = Chat {
            model: question.model,
            messages: messages(question),
            max_tokens: sampling.max_tokens,
            temperature: sampling.temperature.get(),
            top_p: sampling.top_p.get(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
        };
        // Plain data of known types is always JSON.
        Call { path: "/v1/chat/completions", body: Some(serde_json::to_vec(&chat).unwrap_or_default()) }
    }

    fn makes_room(&self) -> bool {
        false
    }

    fn line(&self, line: &[u8]) -> Line {
        let data = match line {
            [] | [b':', ..] => return Line::Nothing,
            // A document instead of events: a refusal with a good status, or an answer that is not streamed.
            [b'{', ..] => line,
            _ => match field(line) {
                Some((b"data", data)) => data,
                Some((b"event" | b"id" | b"retry", _)) => return Line::Nothing,
                _ => return Line::Malformed,
            },
        };
        if data == b"[DONE]" {
            return Line::Said(Said { last: true, ..Said::default() });
        }
        match serde_json::from_slice::<Chunk<'_>>(data) {
            Ok(chunk) => said(chunk),
            Err(_) => Line::Malformed,
        }
    }
}

/// Splits `name: value`; one blank after the colon does not count.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(at);
    let value = value.get(1..)?;
    Some((name, value.strip_prefix(b" ").unwrap_or(value)))
}

fn said(chunk: Chunk<'_>) -> Line {
    if let Some(error) = chunk.error {
        return Line::Failed(fault_words(&json!({ "error": error })));
    }
    if chunk.choices.is_none() && chunk.usage.is_none() {
        return Line::Malformed;
    }
    let choice = chunk.choices.as_ref().and_then(|choices| choices.first());
    let content = choice.and_then(|choice| choice.delta.as_ref().or(choice.message.as_ref()));
    let reason = choice.and_then(|choice| choice.finish_reason.as_ref()).and_then(Text::get);
    let count = |key: &str| chunk.usage.as_ref().and_then(|usage| usage.get(key)).and_then(Value::as_u64);
    Line::Said(Said {
        text: content.and_then(|content| content.content.as_ref()).and_then(Text::get).unwrap_or_default().to_owned(),
        finish: reason.filter(|reason| !reason.is_empty()).map(|reason| finish(Some(reason))),
        tokens: TokenCounts { prompt: count("prompt_tokens"), completion: count("completion_tokens") },
        last: choice.is_some_and(|choice| choice.message.is_some() && choice.delta.is_none()),
    })
}

fn facts(model: &Value) -> Option<ModelFacts> {
    Some(ModelFacts {
        name: model.get("id").and_then(Value::as_str)?.to_owned(),
        size_bytes: model.pointer("/meta/size").and_then(Value::as_u64).filter(|size| *size > 0),
        context_tokens: CONTEXT_KEYS
            .iter()
            .find_map(|key| model.pointer(key).and_then(Value::as_u64))
            .filter(|n| *n > 0),
        elsewhere: false,
        missing: false,
    })
}

fn known(says: &str) -> Option<String> {
    let says = says.to_ascii_lowercase();
    KNOWN.iter().find(|(word, _)| says.contains(word)).map(|(_, name)| (*name).to_owned())
}
