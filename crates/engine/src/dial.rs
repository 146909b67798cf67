//! Opens the connections to the platform step by step, so that an error names the step that failed (spec 1.4, FB-32).
//!
//! Here is the WebSocket; [`http`] makes the requests of the sign-in over the same steps. The bearer token goes into the
//! upgrade request alone. A proxy sees CONNECT with its own password and then only encrypted bytes. Redirects are not
//! followed.

pub(crate) mod fetch;
pub(crate) mod http;
pub(crate) mod stream;
pub(crate) mod tunnel;
pub(crate) mod words;

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, RETRY_AFTER, USER_AGENT};
use tokio_tungstenite::tungstenite::http::{HeaderMap, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{
    self,
    handshake::client::{Request, Response},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async_with_config};

use drawbridge_core::FRAME_LIMIT_BYTES;

use crate::net::NetConfig;
use stream::Target;

/// The longest that one step of the dial may take.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// What we call ourselves.
pub(crate) const AGENT: &str = concat!("drawbridge/", env!("CARGO_PKG_VERSION"));
/// The longest `Retry-After` that is honoured (spec 4.6).
const RETRY_AFTER_LIMIT: Duration = Duration::from_secs(300);
/// Room above the largest message, so that an oversize one is recognised as such and not as a broken stream.
const FRAME_SLACK_BYTES: usize = 64 * 1024;
/// Bytes taken from the socket at once. The library clears that much before each read, and requests are small.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// An open WebSocket to the platform.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The steps of a dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialStep {
    /// The address itself.
    Address,
    /// Finding the host.
    Dns,
    /// Reaching the host.
    Tcp,
    /// Getting through the proxy.
    Proxy,
    /// Encryption and the platform's certificate.
    Tls,
    /// The WebSocket upgrade.
    Upgrade,
    /// A request and its answer.
    Http,
}

impl DialStep {
    /// Returns the stable name of the step.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Dns => "dns",
            Self::Tcp => "tcp",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Upgrade => "upgrade",
            Self::Http => "http",
        }
    }
}

/// Why a dial failed. Its text says what happened and, where something helps, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialError {
    /// The step that failed.
    pub step: DialStep,
    /// The HTTP status of the platform's answer to the upgrade, or of the proxy's to CONNECT.
    pub status: Option<u16>,
    /// When the platform wants to be asked again, at most 300 s.
    pub retry_after: Option<Duration>,
    /// What failed, in words; safe to show, no secrets.
    pub message: String,
    /// What a person can do about it; safe to show, no secrets.
    pub remedy: Option<String>,
}

impl std::fmt::Display for DialError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for DialError {}

impl DialError {
    pub(crate) fn new(step: DialStep, message: impl Into<String>) -> Self {
        Self { step, status: None, retry_after: None, message: message.into(), remedy: None }
    }

    pub(crate) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Returns the platform's own answer to the upgrade, if it gave one. A proxy's answer is not the platform's.
    #[must_use]
    pub fn upgrade_status(&self) -> Option<u16> {
        self.status.filter(|_| self.step == DialStep::Upgrade)
    }
}

/// Opens the WebSocket at `url` with the bearer token.
///
/// # Errors
/// [`DialError`] with the failing step. Each step has 10 s.
pub async fn dial(url: &str, bearer: &SecretString, net: &NetConfig) -> Result<Socket, DialError> {
    let target = Target::parse(url)?;
    let request = upgrade_request(url, Some(bearer))?;
    let stream = stream::open(&target, net).await?;
    match timeout(STEP_TIMEOUT, upgrade(request, stream)).await {
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(err)) => Err(upgrade_error(err)),
        Err(_) => Err(words::no_answer(DialStep::Upgrade, STEP_TIMEOUT)),
    }
}

/// Asks the platform for a WebSocket over an open stream.
pub(crate) async fn upgrade(
    request: Request,
    stream: MaybeTlsStream<TcpStream>,
) -> Result<(Socket, Response), tungstenite::Error> {
    client_async_with_config(request, stream, Some(limits())).await
}

/// Builds the request for a WebSocket. Without a bearer it is a question that the platform must refuse.
pub(crate) fn upgrade_request(url: &str, bearer: Option<&SecretString>) -> Result<Request, DialError> {
    let wrong = |message: &str| DialError::new(DialStep::Address, message);
    if !url.starts_with("ws://") && !url.starts_with("wss://") {
        return Err(wrong("the address is not usable for a WebSocket: it must start with ws:// or wss://"));
    }
    let mut request = url.into_client_request().map_err(|_| wrong("the address is not usable for a WebSocket"))?;
    if let Some(bearer) = bearer {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", bearer.expose_secret()))
            .map_err(|_| wrong("the stored access token holds characters that cannot be sent; sign in again"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
    Ok(request)
}

fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(FRAME_LIMIT_BYTES + FRAME_SLACK_BYTES))
        .max_frame_size(Some(FRAME_LIMIT_BYTES + FRAME_SLACK_BYTES))
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(2 * (FRAME_LIMIT_BYTES + FRAME_SLACK_BYTES))
}

fn upgrade_error(err: tungstenite::Error) -> DialError {
    let tungstenite::Error::Http(answer) = err else { return words::no_web_socket(&err) };
    let status = answer.status().as_u16();
    DialError { status: Some(status), retry_after: retry_after(answer.headers()), ..words::upgrade_refused(status) }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let then = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
            let wait = then.duration_since(jiff::Timestamp::now());
            Duration::try_from(wait).unwrap_or_default()
        }
    };
    Some(wait.min(RETRY_AFTER_LIMIT))
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
