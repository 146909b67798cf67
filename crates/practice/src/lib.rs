//! A small platform on loopback to try Drawbridge with and to test it against (spec sections 1, 5, 6 and 15).
//!
//! It is a peer of its own: it shares no code with the client, so that a misunderstanding shows. It knows one person,
//! keeps everything in memory within bounds and binds 127.0.0.1 only. Its console asks for no password: whoever can open
//! the address on this computer can use it, web pages of other sites cannot. The HTTP calls are listed in the `api` module.
#![allow(clippy::unused_async, reason = "axum handlers are async functions")]

mod agent;
mod api;
mod beside;
mod bounds;
mod guard;
mod inbound;
pub mod model;
mod oauth;
mod options;
mod outbox;
mod page;
mod parts;
mod relay;
mod script;
mod socket;
mod state;

pub use agent::{Answer, Heard, Worked};
pub use beside::Beside;
pub use options::{Clocks, ConsentMode, PracticeOptions};
pub use script::{Failure, Script};
pub use state::{Chat, Fault, FrameRecord, Refusal, Reply, Scope, Switches};

use axum::Router;
use axum::routing::{get, post};
use state::{Inner, OAuth, Shared};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running platform; it ends when dropped.
pub struct Practice {
    shared: Arc<Shared>,
    server: JoinHandle<()>,
    model: Option<model::ModelServer>,
}

impl Practice {
    /// Starts on 127.0.0.1.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub async fn start(options: PracticeOptions) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        let model = options.beside.start().await?;
        let mut clients: std::collections::HashSet<String> = options.extra_clients.into_iter().collect();
        clients.insert("autogpt-local-executor".to_owned());
        let oauth = OAuth { clients, consent: options.consent, ..OAuth::default() };
        let inner = Inner { oauth, hosts: options.extra_hosts, ..Inner::default() };
        let token = options.api_token.unwrap_or_else(state::secret);
        let shared = Arc::new(Shared::new(port, token, options.clocks, inner));
        let router = router(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the practice platform ended");
            }
        });
        Ok(Self { shared, server, model })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.shared.port)
    }

    /// `ws://127.0.0.1:PORT`, the client's `platform_url`.
    #[must_use]
    pub fn ws_url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.shared.port)
    }

    /// The token for `/api/practice`.
    #[must_use]
    pub fn api_token(&self) -> &str {
        &self.shared.api_token
    }

    /// `http://127.0.0.1:PORT` of the practice model server, if it was brought along. It ends with the platform.
    #[must_use]
    pub fn model_url(&self) -> Option<String> {
        self.model.as_ref().map(model::ModelServer::url)
    }

    /// A handle to make it do things.
    #[must_use]
    pub fn script(&self) -> Script {
        Script(Arc::clone(&self.shared))
    }

    /// Closes every socket with 4429 and stops listening.
    pub async fn stop(self) {
        self.shared.change(|s| {
            s.stopped = true;
            for link in s.links.values() {
                let _ = link.out.close(4429, "Platform shutdown");
            }
        });
        // Twice the closing time and a little: once for what is queued, once for the other side's close.
        let limit = self.shared.clocks.closing * 2 + std::time::Duration::from_secs(1);
        let gone = self.shared.until(|s| s.links.is_empty().then_some(()));
        let _ = tokio::time::timeout(limit, gone).await;
    }
}

impl Drop for Practice {
    fn drop(&mut self) {
        self.server.abort();
        // Sockets run in tasks of their own, so they are told apart.
        self.shared.change(|s| {
            s.stopped = true;
            for link in s.links.values() {
                link.out.cut();
            }
        });
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let guarded = |state: &Arc<Shared>| axum::middleware::from_fn_with_state(Arc::clone(state), guard::token);
    let api = Router::new()
        .route("/api/practice/state", get(api::state))
        .route("/api/practice/events", get(api::events))
        .route("/api/practice/{call}", post(api::call))
        // A whole frame may be given as text, and text grows when it is escaped.
        .layer(axum::extract::DefaultBodyLimit::max(64 * 1024 * 1024))
        .layer(guarded(&shared));
    Router::new()
        .route("/", get(page::console))
        .route("/{asset}", get(page::asset))
        .route("/auth/authorize", get(oauth::authorize))
        .route("/auth/decide", post(oauth::decide))
        .route("/api/oauth/token", post(oauth::token))
        .route("/api/oauth/revoke", post(oauth::revoke))
        .route("/ws/local-executor", get(socket::control))
        .route("/ws/local-executor/{session}", get(socket::data))
        .merge(api)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&shared), guard::origin))
        .with_state(shared)
}
