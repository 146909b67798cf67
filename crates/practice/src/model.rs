//! A small model server on loopback, to try Drawbridge without a model and to test it against.
//!
//! It speaks for real what two kinds of servers speak: Ollama's own interface (`/api/…`, JSON lines) and the one that many
//! share (`/v1/…`, server-sent events). Out of the box it answers as the [practice model](answer), which counts and repeats a
//! few words and says that it is no real model. A [`Script`] makes it misbehave in every way that a real server can.
//! It shares no code with the client, so that a misunderstanding shows. It has no tools, images, embeddings or keys of a cloud.

mod answer;
mod body;
mod forms;
mod routes;
mod script;

pub use script::{Asked, Reply, Script, ScriptModel, Seen, Step};

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Requests that are remembered at most; the oldest are forgotten first.
const MAX_REMEMBERED: usize = 256;

/// A running model server; it ends when dropped, with every answer it is giving.
pub struct ModelServer {
    shared: Arc<Shared>,
    address: SocketAddr,
}

/// What all requests share.
pub(crate) struct Shared {
    script: Mutex<Script>,
    seen: watch::Sender<Seen>,
    /// What [`Step::Hold`] waits for.
    gate: Semaphore,
    stopped: watch::Sender<bool>,
    numbers: AtomicU64,
}

impl ModelServer {
    /// Starts on 127.0.0.1, at any free port.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(script: Script) -> std::io::Result<Self> {
        Self::start_at(0, script).await
    }

    /// Starts on 127.0.0.1, at this port.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub async fn start_at(port: u16, script: Script) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            seen: watch::Sender::new(Seen::default()),
            gate: Semaphore::new(0),
            stopped: watch::Sender::new(false),
            numbers: AtomicU64::new(1),
        });
        let router = routes::router(Arc::clone(&shared));
        // Pieces are small and must not wait for one another.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let ended = stop_of(shared.stopped.subscribe());
        tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(ended).await {
                tracing::error!(%error, "the practice model server ended");
            }
        });
        Ok(Self { shared, address })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Changes the script while it runs: what is asked from now on is answered by the new one.
    pub fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.shared.script());
    }

    /// Queues how the next question is answered; the questions after those queued are answered by [`Script::reply`].
    pub fn next(&self, reply: Reply) {
        self.shared.script().next.push_back(reply);
    }

    /// Lets one [`Step::Hold`] go on, the one that waits now or the next that comes.
    pub fn release(&self) {
        self.shared.gate.add_permits(1);
    }

    /// Every request so far, oldest first, if the script keeps them.
    #[must_use]
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.seen.borrow().requests.iter().cloned().collect()
    }

    /// Waits until what was seen gives something.
    pub async fn until<T>(&self, mut look: impl FnMut(&Seen) -> Option<T>) -> T {
        let mut seen = self.shared.seen.subscribe();
        loop {
            if let Some(found) = look(&seen.borrow_and_update()) {
                return found;
            }
            // The sender lives as long as this handle.
            let _ = seen.changed().await;
        }
    }

    /// Waits until this many answers were broken off because the one who asked hung up.
    pub async fn until_hung_up(&self, count: usize) {
        self.until(|seen| (seen.hung_up >= count).then_some(())).await;
    }

    /// Waits until this many answers stand at a [`Step::Hold`] at the same time.
    pub async fn until_holding(&self, count: usize) {
        self.until(|seen| (seen.holding >= count).then_some(())).await;
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopped.send_replace(true);
    }
}

impl Shared {
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn saw(&self, change: impl FnOnce(&mut Seen)) {
        self.seen.send_modify(change);
    }

    pub(crate) fn remember(&self, asked: Asked) {
        if !self.script().keep_requests {
            return;
        }
        self.saw(|seen| {
            if seen.requests.len() >= MAX_REMEMBERED {
                seen.requests.pop_front();
            }
            seen.requests.push_back(asked);
        });
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until the server is to end.
    pub(crate) async fn stop(&self) {
        stop_of(self.stopped.subscribe()).await;
    }

    /// Waits for one [`ModelServer::release`].
    pub(crate) async fn hold(&self) {
        let _held = Held::new(self);
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
    }
}

/// One answer that stands at a hold.
struct Held<'a>(&'a Shared);

impl<'a> Held<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.saw(|seen| seen.holding += 1);
        Self(shared)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.saw(|seen| seen.holding -= 1);
    }
}

async fn stop_of(mut stopped: watch::Receiver<bool>) {
    // An error means that the server is gone, which ends it, too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
