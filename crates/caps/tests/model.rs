//! The local model against a server that speaks both interfaces for real and misbehaves as told.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where its ground is missing"
)]

#[path = "model/answers.rs"]
mod answers;
#[path = "model/bad_servers.rs"]
mod bad_servers;
#[path = "model/hostile.rs"]
mod hostile;
#[path = "model/keys.rs"]
mod keys;
#[path = "model/limits.rs"]
mod limits;
#[path = "model/lists.rs"]
mod lists;
#[path = "model/prompts.rs"]
mod prompts;

use std::sync::Arc;

use drawbridge_caps::Pieces;
use drawbridge_caps::model::{Ask, Model};
use drawbridge_core::model::{ChatMessage, ChatRole, Knob, ModelAnswer, Piece, Sampling};
use drawbridge_core::{OpError, RequestId, SystemClock};
use drawbridge_policy::{ModelApi, ModelServer};
use drawbridge_practice::model::{ModelServer as Server, Script};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Both interfaces, for tests that hold for both.
pub(crate) const BOTH: [ModelApi; 2] = [ModelApi::Ollama, ModelApi::OpenAi];

/// A server of tests that speaks this interface alone.
pub(crate) async fn server(api: ModelApi) -> Server {
    Server::start(script(api)).await.unwrap()
}

pub(crate) fn script(api: ModelApi) -> Script {
    if api == ModelApi::OpenAi { Script::openai() } else { Script::ollama() }
}

/// A server as settings name it.
pub(crate) fn at(url: &str) -> ModelServer {
    ModelServer { url: url.to_owned(), api: ModelApi::Auto, far: false, parallel: 1 }
}

/// The capability with these servers, looked at.
pub(crate) async fn model_of(servers: &[&Server]) -> Model {
    let model = Model::new(Arc::new(SystemClock));
    model.set_servers(servers.iter().map(|server| at(&server.url())).collect());
    model.look().await;
    model
}

/// A question to the practice model.
pub(crate) fn asked(content: &str) -> Ask {
    let knob = |value| Knob::new(value).unwrap();
    Ask {
        model: "practice-model".to_owned(),
        messages: vec![ChatMessage { role: ChatRole::User, content: content.to_owned() }],
        sampling: Sampling { max_tokens: 1024, temperature: knob(0.0), top_p: knob(1.0) },
        whole: false,
        near_only: false,
        pieces: None,
        tell_end: true,
        cancel: CancellationToken::new(),
    }
}

/// The same question, answered piece by piece.
pub(crate) fn streamed(content: &str) -> (Ask, mpsc::Receiver<(RequestId, Piece)>) {
    let (out, pieces) = mpsc::channel(16);
    let request = RequestId::parse("r1").unwrap();
    (Ask { pieces: Some(Pieces::new(request, out)), ..asked(content) }, pieces)
}

/// Why the model failed.
pub(crate) fn why(result: Result<ModelAnswer, OpError>) -> String {
    match result {
        Err(OpError::ModelFailed { why }) => why,
        Err(other) => panic!("another fault: {other}"),
        Ok(answer) => panic!("an answer: {}", answer.content),
    }
}
