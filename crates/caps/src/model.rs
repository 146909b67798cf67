//! The local model: servers on this machine, what they offer, and asking them (spec 11).
//!
//! It never asks the person and never reads settings: which servers may be asked comes from the engine. Prompts and answers pass
//! through and are kept nowhere.

mod address;

use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_core::model::{ChatMessage, ModelAnswer, ModelOp, Sampling};
use drawbridge_core::{Clock, OpError, Operation, Outcome, Power};
use drawbridge_policy::{ModelApi, ModelServer, Permit};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Capability, Pieces, RunCtx};

pub use address::{ServerFault, parse_server};

/// A server and what it said when it was looked at last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// The server.
    pub server: ModelServer,
    /// Which interface it turned out to speak; as set while it does not answer.
    pub api: ModelApi,
    /// What it calls itself, if it does, for example "Ollama 0.5.1". Not yet safe to show.
    pub name: Option<String>,
    /// Its models, in its order.
    pub models: Vec<ModelFacts>,
    /// Why it cannot be asked, in a sentence for the person; none when it can.
    pub trouble: Option<String>,
    /// Requests that run there now.
    pub running: u32,
}

/// A model that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name, as HELLO says it. Not yet safe to show.
    pub name: String,
    /// Size on disk in bytes, where the server tells.
    pub size_bytes: Option<u64>,
    /// Tokens that it can read, where the server tells.
    pub context_tokens: Option<u64>,
}

/// A question to a model.
pub struct Ask {
    /// One of [`Model::offered`].
    pub model: String,
    /// The conversation, at least one message.
    pub messages: Vec<ChatMessage>,
    /// Bounds and sampling.
    pub sampling: Sampling,
    /// Refuse rather than let the server drop a part of a prompt that is too long for the model.
    pub whole: bool,
    /// Ask servers on this computer alone, whatever else has the model: contents of private files go no further.
    pub near_only: bool,
    /// Where parts of the answer go.
    pub pieces: Option<Pieces>,
    /// Tell the end of the text as a part, too.
    pub tell_end: bool,
    /// Fires when nobody wants the answer any more.
    pub cancel: CancellationToken,
}

/// The capability. Cheap to clone.
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    #[expect(dead_code, reason = "for durations")]
    clock: Arc<dyn Clock>,
    servers: Mutex<Vec<ServerState>>,
}

impl Model {
    /// Makes the capability. Asks nobody yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { inner: Arc::new(Inner { clock, servers: Mutex::default() }) }
    }

    /// Sets which servers may be asked, best first. What was found at those that stay is kept; requests to others end.
    pub fn set_servers(&self, servers: Vec<ModelServer>) {
        let fresh = |server| ServerState {
            api: ModelServer::clone(&server).api,
            server,
            name: None,
            models: Vec::new(),
            trouble: None,
            running: 0,
        };
        *self.inner.servers.lock().unwrap_or_else(PoisonError::into_inner) = servers.into_iter().map(fresh).collect();
    }

    /// Asks every server what it has, at most 2 s, and remembers it. Tells whether the names that are offered changed.
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub async fn look(&self) -> bool {
        false
    }

    /// Returns what was found at the last look, in the order of the servers.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerState> {
        self.inner.servers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the names of models that can be asked, for HELLO: each once, the first server's first.
    #[must_use]
    pub fn offered(&self) -> Vec<String> {
        Vec::new()
    }

    /// Looks for servers at the usual ports of this machine that are not in use yet.
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub async fn find(&self) -> Vec<ServerState> {
        Vec::new()
    }

    /// Puts a question to a model.
    ///
    /// # Errors
    /// [`OpError::ModelNotAvailable`], [`OpError::ModelBusy`], [`OpError::ModelFailed`], [`OpError::Cancelled`].
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub async fn ask(&self, ask: Ask) -> Result<ModelAnswer, OpError> {
        Err(OpError::ModelNotAvailable { requested: ask.model, available: self.offered() })
    }
}

impl Capability for Model {
    fn power(&self) -> Power {
        Power::LocalModel
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            let Operation::Model(ModelOp::Completion(op)) = permit.into_operation() else {
                return Err(OpError::Internal("the local model was asked for something else".to_owned()));
            };
            let ask = Ask {
                model: op.model,
                messages: op.messages,
                sampling: op.sampling,
                whole: false,
                near_only: false,
                pieces: ctx.pieces.filter(|_| op.stream),
                tell_end: true,
                cancel: ctx.cancel,
            };
            self.ask(ask).await.map(Outcome::Completion)
        })
    }
}
