//! The HTTP calls of both interfaces.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::Shared;
use super::answer::{Question, words};
use super::body::{Listener, streamed};
use super::forms::{self, Form, Head};
use super::script::{Asked, Reply, ScriptModel, Step};

/// The largest question.
const MAX_QUESTION_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    let guard = axum::middleware::from_fn_with_state(Arc::clone(&shared), guarded);
    Router::new()
        .route("/api/version", get(version))
        .route("/api/tags", get(tags))
        .route("/api/show", post(show))
        .route("/api/chat", post(ollama_chat))
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(openai_chat))
        .layer(DefaultBodyLimit::max(MAX_QUESTION_BYTES))
        .layer(guard)
        .with_state(shared)
}

/// Only the interfaces that the script has, and only with its key.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let form = if path.starts_with("/api/") { Form::Ollama } else { Form::OpenAi };
    let refusal = {
        let script = shared.script();
        let speaks = if form == Form::Ollama { script.ollama } else { script.openai };
        let wanted = script.key.as_ref().map(|key| format!("Bearer {key}"));
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if !speaks {
            Some((StatusCode::NOT_FOUND, "not found"))
        } else if wanted.is_some() && wanted.as_deref() != given {
            Some((StatusCode::UNAUTHORIZED, "Invalid API Key"))
        } else {
            None
        }
    };
    match refusal {
        Some((status, why)) => fault(status, form, why),
        None => next.run(request).await,
    }
}

async fn version(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> Response {
    listed(&shared, &uri, &headers, |shared| json!({ "version": shared.script().version })).await
}

async fn tags(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> Response {
    listed(&shared, &uri, &headers, |shared| forms::tags(&shared.script().models)).await
}

async fn models(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> Response {
    listed(&shared, &uri, &headers, |shared| forms::models(&shared.script().models)).await
}

async fn show(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body = remember(&shared, &uri, &headers, &body);
    let named = body.get("model").or_else(|| body.get("name")).and_then(Value::as_str).unwrap_or_default();
    match find(&shared, named) {
        Some(model) => json_response(StatusCode::OK, &forms::show(&model)),
        None => fault(StatusCode::NOT_FOUND, Form::Ollama, &format!("model '{named}' not found")),
    }
}

async fn ollama_chat(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body = remember(&shared, &uri, &headers, &body);
    let most = body.pointer("/options/num_predict").and_then(Value::as_i64).and_then(|most| u64::try_from(most).ok());
    let stream = body.get("stream").and_then(Value::as_bool).unwrap_or(true);
    chat(&shared, Form::Ollama, &body, most, stream).await
}

async fn openai_chat(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body = remember(&shared, &uri, &headers, &body);
    let most = body.get("max_tokens").and_then(Value::as_u64);
    let stream = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    chat(&shared, Form::OpenAi, &body, most, stream).await
}

/// Tells a fact, or what the script says instead.
async fn listed(shared: &Arc<Shared>, uri: &Uri, headers: &HeaderMap, fact: fn(&Shared) -> Value) -> Response {
    remember(shared, uri, headers, &Bytes::new());
    let listing = shared.script().listing.clone();
    match listing {
        Reply::Practice | Reply::Steps(_) => json_response(StatusCode::OK, &fact(shared)),
        Reply::Plain { status, headers, body } => plain(status, &headers, body),
        Reply::Silent => silent(shared).await,
    }
}

async fn chat(shared: &Arc<Shared>, form: Form, body: &Value, most: Option<u64>, stream: bool) -> Response {
    shared.saw(|seen| seen.questions += 1);
    let (reply, pace) = {
        let mut script = shared.script();
        (script.next.pop_front().unwrap_or_else(|| script.reply.clone()), script.pace)
    };
    let named = body.get("model").and_then(Value::as_str).unwrap_or_default();
    let (steps, prompt_tokens) = match reply {
        Reply::Plain { status, headers, body } => return plain(status, &headers, body),
        Reply::Silent => return silent(shared).await,
        Reply::Steps(steps) => (steps, Question::read(body).map_or(0, |question| question.tokens())),
        Reply::Practice => match practice(shared, form, body, named, most) {
            Ok(steps) => steps,
            Err(refusal) => return *refusal,
        },
    };
    let usage = body.pointer("/stream_options/include_usage").and_then(Value::as_bool).unwrap_or(false);
    let head = Head { form, model: named.to_owned(), number: shared.next_number(), usage, prompt_tokens };
    if !stream {
        return whole(&head, steps, pace).await;
    }
    let kind = if form == Form::Ollama { "application/x-ndjson" } else { "text/event-stream" };
    let listener = Listener::new(Arc::clone(shared));
    ([(CONTENT_TYPE, kind)], streamed(Arc::clone(shared), head, steps, pace, listener)).into_response()
}

/// What the practice model does: its steps and the tokens of the question.
fn practice(
    shared: &Shared,
    form: Form,
    body: &Value,
    named: &str,
    most: Option<u64>,
) -> Result<(Vec<Step>, u64), Box<Response>> {
    let refuse = |status, why: &str| Box::new(fault(status, form, why));
    let Some(question) = Question::read(body) else {
        return Err(refuse(StatusCode::BAD_REQUEST, "messages must be a list"));
    };
    let Some(model) = find(shared, named) else {
        return Err(refuse(StatusCode::NOT_FOUND, &format!("model '{named}' not found")));
    };
    let mut tokens = question.tokens();
    if form == Form::OpenAi && tokens > model.context_tokens {
        let why =
            format!("the request exceeds the available context size ({tokens} tokens, {} fit)", model.context_tokens);
        return Err(refuse(StatusCode::BAD_REQUEST, &why));
    }
    if form == Form::Ollama {
        // What does not fit is dropped without a word.
        let window = body.pointer("/options/num_ctx").and_then(Value::as_u64).unwrap_or(4096);
        tokens = tokens.min(window.min(model.context_tokens));
    }
    let words = words(&question.answer());
    let kept = usize::try_from(most.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(words.len());
    let reason = if kept < words.len() { "length" } else { "stop" };
    let steps = words.into_iter().take(kept).map(Step::Text).chain([Step::finish(reason)]);
    Ok((steps.collect(), tokens))
}

/// The answer in one piece, after the time that its words take.
async fn whole(head: &Head, steps: Vec<Step>, pace: Option<Duration>) -> Response {
    let mut content = String::new();
    let mut reason = "stop".to_owned();
    let mut answered = 0_u32;
    for step in steps {
        match step {
            Step::Text(text) => {
                content.push_str(&text);
                answered += 1;
            }
            Step::Finish(told) | Step::FinishUncounted(told) => reason = told,
            Step::Error(why) => return fault(StatusCode::INTERNAL_SERVER_ERROR, head.form, &why),
            Step::Thinking(_) | Step::Raw(_) | Step::Hold | Step::Cut => {}
        }
    }
    tokio::time::sleep(pace.unwrap_or_default() * answered).await;
    json_response(StatusCode::OK, &head.whole(&content, &reason, u64::from(answered)))
}

/// Answers nothing, until the server ends.
async fn silent(shared: &Arc<Shared>) -> Response {
    let mut listener = Listener::new(Arc::clone(shared));
    shared.stop().await;
    listener.done();
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

fn find(shared: &Shared, named: &str) -> Option<ScriptModel> {
    shared.script().models.iter().find(|model| model.name == named).cloned()
}

fn remember(shared: &Shared, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Value {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
    let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    shared.remember(Asked { path: uri.path().to_owned(), body: body.clone(), host, authorization });
    body
}

fn plain(status: u16, headers: &[(String, String)], body: String) -> Response {
    let mut response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn fault(status: StatusCode, form: Form, why: &str) -> Response {
    json_response(status, &forms::error(form, why))
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
