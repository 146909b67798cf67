//! Ollama's own interface: JSON documents, and answers as lines of JSON.

use drawbridge_core::model::TokenCounts;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ModelFacts;
use super::backend::{
    Backend, Found, Line, Message, Place, Question, Said, Text, fault_words, finish, is_version, messages, usable,
};
use super::fault::Fault;
use super::http::Call;

/// From this version on, minor and major, the server refuses a prompt that is too long when `truncate` is false.
const EXACT_SINCE: (u64, u64) = (0, 13);

/// The interface.
pub(crate) struct Ollama;

#[derive(Serialize)]
struct Chat<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    options: Options,
    // An older server does not know these and ignores them.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<bool>,
}

#[derive(Serialize)]
struct Options {
    temperature: f64,
    top_p: f64,
    num_predict: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u64>,
}

/// A line. What is not read here, such as `message.thinking`, is no part of the answer.
#[derive(Deserialize)]
struct Spoken<'a> {
    #[serde(borrow)]
    message: Option<Content<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow)]
    done_reason: Option<Text<'a>>,
    prompt_eval_count: Option<Value>,
    eval_count: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
}

impl Backend for Ollama {
    fn look<'a>(&'a self, place: &'a Place<'_>) -> BoxFuture<'a, Result<Found, Fault>> {
        Box::pin(async {
            // The version first: other servers offer the list, too, without speaking the rest.
            let (version, _) = place.json("/api/version", None).await?;
            let version = version.get("version").and_then(Value::as_str).ok_or(Fault::NoModelServer)?.to_owned();
            let (tags, _) = place.json("/api/tags", None).await?;
            // Older servers say null where they have none.
            let listed = match tags.get("models") {
                Some(Value::Array(models)) if tags.get("data").is_none() => models.as_slice(),
                Some(Value::Null) => &[],
                Some(_) | None => return Err(Fault::NoModelServer),
            };
            let models = usable(listed.iter().filter_map(facts));
            let name = if is_version(&version) { format!("Ollama {version}") } else { "Ollama".to_owned() };
            Ok(Found { exact: is_exact(&version), name: Some(name), models })
        })
    }

    fn context<'a>(&'a self, place: &'a Place<'_>, model: &'a str) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move {
            let body = json!({ "model": model }).to_string().into_bytes();
            let (facts, _) = place.json("/api/show", Some(body)).await.ok()?;
            let info = facts.get("model_info")?.as_object()?;
            info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()
        })
    }

    fn passes_on<'a>(&'a self, place: &'a Place<'_>, model: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let body = json!({ "model": model }).to_string().into_bytes();
            place.json("/api/show", Some(body)).await.is_ok_and(|(facts, _)| is_remote(&facts))
        })
    }

    fn question(&self, question: &Question<'_>) -> Call {
        let keep = question.whole.then_some(false);
        let sampling = question.sampling;
        let chat = Chat {
            model: question.model,
            messages: messages(question),
            stream: true,
            options: Options {
                temperature: sampling.temperature.get(),
                top_p: sampling.top_p.get(),
                num_predict: sampling.max_tokens,
                num_ctx: question.window,
            },
            truncate: keep,
            shift: keep,
        };
        // Plain data of known types is always JSON.
        Call { path: "/api/chat", body: Some(serde_json::to_vec(&chat).unwrap_or_default()) }
    }

    fn makes_room(&self) -> bool {
        true
    }

    fn line(&self, line: &[u8]) -> Line {
        if line.is_empty() {
            return Line::Nothing;
        }
        let Ok(spoken) = serde_json::from_slice::<Spoken<'_>>(line) else { return Line::Malformed };
        if let Some(error) = spoken.error {
            return Line::Failed(fault_words(&json!({ "error": error })));
        }
        let done = spoken.done == Some(true);
        if spoken.message.is_none() && !done {
            return Line::Malformed;
        }
        let content = spoken.message.as_ref().and_then(|message| message.content.as_ref());
        let reason = spoken.done_reason.as_ref().and_then(Text::get);
        Line::Said(Said {
            text: content.and_then(Text::get).unwrap_or_default().to_owned(),
            finish: done.then(|| finish(reason)),
            tokens: TokenCounts {
                prompt: spoken.prompt_eval_count.as_ref().and_then(Value::as_u64),
                completion: spoken.eval_count.as_ref().and_then(Value::as_u64),
            },
            last: done,
        })
    }
}

fn facts(model: &Value) -> Option<ModelFacts> {
    let name = model.get("name").or_else(|| model.get("model")).and_then(Value::as_str)?;
    Some(ModelFacts {
        name: name.to_owned(),
        size_bytes: model.get("size").and_then(Value::as_u64).filter(|size| *size > 0),
        context_tokens: None,
        elsewhere: is_remote(model) || runs_at_its_maker(name),
        missing: false,
    })
}

/// A model that the server only knows the way to: it says where it runs, whatever name the model was given here.
fn is_remote(facts: &Value) -> bool {
    let says = |key: &str| facts.get(key).is_some_and(|value| !value.is_null() && value.as_str() != Some(""));
    says("remote_host") || says("remote_model")
}

/// The names under which the makers of the server offer models that run at their own computers.
pub(crate) fn runs_at_its_maker(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    [":cloud", "-cloud"].iter().any(|end| model.ends_with(end))
}

fn is_exact(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map_while(|part| part.parse::<u64>().ok());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= EXACT_SINCE
}
