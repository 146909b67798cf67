//! The local model: servers on this machine, what they offer, and asking them (spec 11).
//!
//! It never asks the person and never reads settings: which servers may be asked comes from the engine. Prompts and answers pass
//! through and are kept nowhere. It has no tools, images or embeddings, and keeps no keys: it is told them.

mod address;
mod backend;
mod chat;
mod dial;
mod fault;
mod http;
mod key;
mod look;
mod ollama;
mod openai;
mod prompt;
mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use drawbridge_core::model::{ChatMessage, ModelAnswer, ModelOp, Sampling};
use drawbridge_core::{Clock, OpError, Operation, Outcome, Power};
use drawbridge_policy::{ModelApi, ModelServer, Permit};
use futures_util::future::BoxFuture;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::{Capability, Pieces, RunCtx};

pub use address::{ServerFault, parse_server};
pub use dial::{Io, Secure};
pub use key::{KeyFault, KnownKey, ServerKey};

use backend::{Backend, Place, Question};
use chat::{Heard, Unheard, hear};
use dial::{Dial, Network, System};
use fault::Fault;
pub(crate) use fault::PASSED_ON;
pub(crate) use ollama::runs_at_its_maker;
use servers::{Seat, Servers};

/// The longest that one answer may take (spec 11).
const TOTAL_LIMIT: Duration = Duration::from_secs(600);
/// Windows smaller than this save nothing: it is what Ollama takes by itself.
const SMALLEST_WINDOW: u64 = 4096;
/// Windows are asked for in steps, since another size makes the server load the model once more.
const WINDOW_STEP: u64 = 2048;
/// Room that an answer needs at least.
const ANSWER_ROOM: u64 = 256;

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
    /// The server passes what this model is asked on to another computer. It is offered only where the server may be on another
    /// one itself, and is never asked about what must stay here.
    pub elsewhere: bool,
    /// The server lists it and said that it does not have it when it was asked. It is not offered until that changes.
    pub missing: bool,
}

/// The most that a question may take, whatever is asked for and whatever a model could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// Tokens that a server is asked to make room for, prompt and answer together. Their room is memory.
    pub context_tokens: u64,
    /// Tokens of an answer.
    pub answer_tokens: u32,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { context_tokens: 32_768, answer_tokens: 8192 }
    }
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
    clock: Arc<dyn Clock>,
    limits: ModelLimits,
    servers: Arc<Servers>,
    network: Arc<Network>,
    dial: Arc<dyn Dial>,
    /// Looks that have begun.
    looks: AtomicU64,
    looking: tokio::sync::Mutex<()>,
}

impl Model {
    /// Makes the capability with the usual limits. Asks nobody yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::limited(clock, ModelLimits::default())
    }

    /// Makes the capability with these limits. Asks nobody yet.
    #[must_use]
    pub fn limited(clock: Arc<dyn Clock>, limits: ModelLimits) -> Self {
        let network = Arc::new(Network::new(System));
        let dial = Arc::<Network>::clone(&network);
        Self {
            inner: Arc::new(Inner {
                clock,
                limits,
                servers: Arc::default(),
                network,
                dial,
                looks: AtomicU64::new(0),
                looking: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Sets who speaks TLS with servers that have an `https` address; without it they are refused. Only the first one counts.
    pub fn set_tls(&self, tls: Arc<dyn Secure>) {
        self.inner.network.set_tls(tls);
    }

    /// Sets which servers may be asked, best first. What was found at those that stay is kept; requests to others end.
    pub fn set_servers(&self, servers: Vec<ModelServer>) {
        self.inner.servers.set(servers);
    }

    /// Sets the keys of servers, by their addresses as [`Model::set_servers`] was told them. To be called again after that.
    pub fn set_keys(&self, key_of: impl Fn(&str) -> KnownKey) {
        self.inner.servers.set_keys(key_of);
    }

    /// Offers again what servers list and said that they do not have, each model once until the list changes.
    pub fn retry_missing(&self) {
        self.inner.servers.retry_missing();
    }

    /// Asks every server what it has, at most 2 s (and half a second more for details of models that are new), and remembers it.
    /// Tells whether the names that are offered changed. Those who call at the same time share one look.
    pub async fn look(&self) -> bool {
        let inner = &self.inner;
        let before = inner.servers.offered();
        let begun = inner.looks.load(Ordering::Acquire);
        let _one = inner.looking.lock().await;
        // A look that began while this one waited, and is over now, knows as much.
        if inner.looks.load(Ordering::Acquire) == begun {
            inner.looks.fetch_add(1, Ordering::AcqRel);
            look::look_at_all(&inner.servers, &inner.dial).await;
        }
        before != inner.servers.offered()
    }

    /// Returns what was found at the last look, in the order of the servers.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerState> {
        self.inner.servers.states()
    }

    /// Returns the names of models that can be asked, for HELLO: each once, the first server's first.
    #[must_use]
    pub fn offered(&self) -> Vec<String> {
        self.inner.servers.offered()
    }

    /// Returns the names of models that can only be on this computer.
    #[must_use]
    pub fn offered_near(&self) -> Vec<String> {
        self.inner.servers.names(true)
    }

    /// Returns the server that would be asked for a model, with what is known of the model; with `near`, for what must stay on this
    /// computer.
    #[must_use]
    pub fn asked_at(&self, model: &str, near: bool) -> Option<(ServerState, ModelFacts)> {
        self.inner.servers.asked_at(model, near)
    }

    /// Tells whether the servers on this computer that have a model all pass its questions on.
    pub(crate) fn is_passed_on(&self, model: &str) -> bool {
        self.inner.servers.is_passed_on(model)
    }

    /// Looks for servers at the usual ports of this machine that are not in use yet.
    pub async fn find(&self) -> Vec<ServerState> {
        self.find_at(&look::USUAL_PORTS).await
    }

    /// Looks for servers at these ports of this machine that are not in use yet. Only what proves to be a model server counts.
    pub async fn find_at(&self, ports: &[u16]) -> Vec<ServerState> {
        look::find(&self.inner.servers.targets(), &self.inner.dial, ports).await
    }

    /// Puts a question to a model. Whatever state it is in, the connection to the server ends at once when `ask.cancel` fires or
    /// when this is dropped.
    ///
    /// # Errors
    /// [`OpError::ModelNotAvailable`], [`OpError::ModelBusy`], [`OpError::ModelFailed`], [`OpError::Cancelled`].
    pub async fn ask(&self, ask: Ask) -> Result<ModelAnswer, OpError> {
        let servers = &self.inner.servers;
        let seat = servers.seat(&ask.model, ask.near_only)?;
        let began = self.inner.clock.now();
        let heard = tokio::select! {
            biased;
            () = ask.cancel.cancelled() => return Err(OpError::Cancelled),
            () = seat.gone.cancelled() => Err(Unheard::Fault(Fault::Removed)),
            heard = timeout(TOTAL_LIMIT, self.put(&seat, &ask)) => {
                heard.unwrap_or(Err(Unheard::Fault(Fault::TooLong(TOTAL_LIMIT))))
            }
        };
        match heard {
            Ok(heard) => Ok(ModelAnswer {
                model: ask.model,
                content: heard.content,
                finish: heard.finish,
                tokens: heard.tokens,
                duration: self.inner.clock.now().saturating_duration_since(began),
            }),
            Err(Unheard::Cancelled) => Err(OpError::Cancelled),
            Err(Unheard::Fault(Fault::Missing)) => {
                servers.is_missing(seat.target.number, &ask.model);
                Err(OpError::ModelNotAvailable { requested: ask.model, available: servers.names(ask.near_only) })
            }
            Err(Unheard::Fault(fault)) => Err(OpError::ModelFailed { why: told(fault, &ask).why() }),
        }
    }

    async fn put(&self, seat: &Seat, ask: &Ask) -> Result<Heard, Unheard> {
        if ask.messages.is_empty() {
            return Err(Fault::NoMessage.into());
        }
        let address = seat.target.address.as_ref().map_err(|fault| Fault::from(*fault))?;
        let far = seat.target.server.far && !ask.near_only;
        let place = Place { address, far, key: &seat.target.key, dial: self.inner.dial.as_ref() };
        let backend = backend::of(seat.api).ok_or(Fault::NoModelServer)?;
        if ask.near_only && passes_on(backend, &place, &ask.model).await {
            return Err(Fault::PassedOn.into());
        }
        let room = self.room(seat, ask, backend, &place).await?;
        let sampling = Sampling { max_tokens: room.answer, ..ask.sampling };
        let (messages, whole) = (&ask.messages, ask.whole);
        let question = Question { model: &ask.model, messages, sampling, window: room.window, whole };
        let answer = place.send(backend.question(&question)).await?;
        let heard = hear(answer, backend, ask.pieces.clone(), ask.tell_end).await;
        heard.map_err(|unheard| match unheard {
            Unheard::Fault(fault) => Unheard::Fault(place.key.untold(fault)),
            Unheard::Cancelled => Unheard::Cancelled,
        })
    }

    /// Returns the room that a question gets: what its prompt and its answer need, and no more than the model reads and the limits allow.
    /// An answer that reaches its end for that ends with the reason "length", as the server says it.
    async fn room(&self, seat: &Seat, ask: &Ask, backend: &dyn Backend, place: &Place<'_>) -> Result<Room, Fault> {
        let limits = self.inner.limits;
        let answer = ask.sampling.max_tokens.min(limits.answer_tokens);
        let most = prompt::tokens_at_most(&ask.messages);
        let least = prompt::tokens_at_least(most);
        let mut context = seat.model.context_tokens;
        if context.is_none() && (ask.whole || most + u64::from(answer) > SMALLEST_WINDOW) {
            context = timeout(look::LOOK_LIMIT, backend.context(place, &ask.model)).await.ok().flatten();
            if let Some(context) = context {
                self.inner.servers.learn(seat.target.number, &seat.model, context);
            }
        }
        let too_long = |context| Err(Fault::PromptTooLong { tokens: most, context });
        if let Some(context) = context.filter(|context| least >= *context) {
            return too_long(context);
        }
        // Some servers refuse to be asked for more than can be left.
        let left = context.map_or(u64::MAX, |context| context - least);
        let answer = u32::try_from(left).unwrap_or(u32::MAX).min(answer).max(1);
        let needed = most + u64::from(answer);
        if !backend.makes_room() || (!ask.whole && needed <= SMALLEST_WINDOW) {
            return Ok(Room { answer, window: None });
        }
        let cap = context.unwrap_or(u64::MAX).min(limits.context_tokens.max(SMALLEST_WINDOW));
        let wanted = needed.next_multiple_of(WINDOW_STEP).max(SMALLEST_WINDOW);
        // An older server would cut in silence what does not fit, so there must be no doubt.
        let doubtful = ask.whole && !seat.exact && most + ANSWER_ROOM.min(answer.into()) > cap;
        if least >= cap || doubtful {
            return match context {
                Some(context) if context <= cap => too_long(context),
                Some(_) | None => Err(Fault::OverLimit { tokens: most, limit: cap }),
            };
        }
        Ok(Room { answer, window: Some(wanted.min(cap)) })
    }
}

/// What a question may take, in tokens.
struct Room {
    answer: u32,
    /// For prompt and answer together, where the server is to make it.
    window: Option<u64>,
}

/// Asks once more right before something that must stay here is told: a model of this name may be another one than at the last look.
/// What the list said holds where the server does not say.
async fn passes_on(backend: &dyn Backend, place: &Place<'_>, model: &str) -> bool {
    timeout(look::LOOK_LIMIT, backend.passes_on(place, model)).await.unwrap_or(false)
}

/// Leaves out what a server says in its own words where that may repeat the prompt: always for a prompt that holds files, since
/// what is told of a fault leaves this computer.
fn told(fault: Fault, ask: &Ask) -> Fault {
    let repeated =
        fault.words().is_some_and(|words| ask.near_only || ask.whole || prompt::repeats(words, &ask.messages));
    if repeated { fault.without_words() } else { fault }
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

#[cfg(test)]
#[path = "model/limit_tests.rs"]
mod tests;
