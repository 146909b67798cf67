//! Opens the WebSocket to the platform, step by step, so that an error names the step that failed (spec 1.4, FB-32).
//!
//! The bearer token goes into the upgrade request alone. A proxy sees CONNECT with its own password and then only
//! encrypted bytes. Redirects are not followed.

use std::io;
use std::time::Duration;

use oauth2::url::Url;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, RETRY_AFTER, USER_AGENT};
use tokio_tungstenite::tungstenite::http::{HeaderMap, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, handshake::client::Request};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async_with_config};

use drawbridge_core::FRAME_LIMIT_BYTES;

use crate::net::{NetConfig, Proxy};

/// The longest that one step of the dial may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait for one of several addresses of a host.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest `Retry-After` that is honoured (spec 4.6).
const RETRY_AFTER_LIMIT: Duration = Duration::from_secs(300);
/// Bytes of a proxy's answer that are looked at.
const PROXY_ANSWER_LIMIT: usize = 8 * 1024;
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
        }
    }
}

/// Why a dial failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DialError {
    /// The step that failed.
    pub step: DialStep,
    /// The HTTP status of the platform's answer to the upgrade, or of the proxy's to CONNECT.
    pub status: Option<u16>,
    /// When the platform wants to be asked again, at most 300 s.
    pub retry_after: Option<Duration>,
    /// What failed, in words; no secrets.
    pub message: String,
}

impl DialError {
    fn new(step: DialStep, message: impl Into<String>) -> Self {
        Self { step, status: None, retry_after: None, message: message.into() }
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
    let request = upgrade_request(url, bearer)?;
    let tcp = match net.proxy_for(&target.host).filter(|_| target.secure) {
        Some(proxy) => through_proxy(proxy, &target).await?,
        None => connect(&target.host, target.port).await?,
    };
    let stream = if target.secure { secure(tcp, &target, net).await? } else { MaybeTlsStream::Plain(tcp) };
    let upgraded = step(DialStep::Upgrade, client_async_with_config(request, stream, Some(limits()))).await?;
    match upgraded {
        Ok((socket, _)) => Ok(socket),
        Err(err) => Err(upgrade_error(err)),
    }
}

struct Target {
    host: String,
    port: u16,
    secure: bool,
}

impl Target {
    fn parse(url: &str) -> Result<Self, DialError> {
        let wrong = |why: String| DialError::new(DialStep::Address, format!("the address is not usable: {why}"));
        let url = Url::parse(url).map_err(|err| wrong(err.to_string()))?;
        let secure = match url.scheme() {
            "wss" => true,
            "ws" => false,
            other => return Err(wrong(format!("{other} is not ws or wss"))),
        };
        let host = url.host_str().ok_or_else(|| wrong("it names no host".to_owned()))?.to_owned();
        let port = url.port_or_known_default().ok_or_else(|| wrong("it names no port".to_owned()))?;
        if !secure && !crate::net::is_loopback(&host) {
            return Err(wrong("an unencrypted connection is made to this computer only".to_owned()));
        }
        Ok(Self { host, port, secure })
    }

    /// The host without the brackets of an IPv6 address.
    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

fn upgrade_request(url: &str, bearer: &SecretString) -> Result<Request, DialError> {
    let wrong = |message: &str| DialError::new(DialStep::Address, message);
    let mut request = url.into_client_request().map_err(|_| wrong("the address is not usable for a WebSocket"))?;
    let mut value = HeaderValue::from_str(&format!("Bearer {}", bearer.expose_secret()))
        .map_err(|_| wrong("the stored access token holds characters that cannot be sent; sign in again"))?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    let agent = HeaderValue::from_static(concat!("drawbridge/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().insert(USER_AGENT, agent);
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

/// Gives a step its time.
async fn step<T>(step: DialStep, work: impl Future<Output = T>) -> Result<T, DialError> {
    let late = |_| DialError::new(step, format!("no answer within {} s ({})", STEP_TIMEOUT.as_secs(), step.name()));
    timeout(STEP_TIMEOUT, work).await.map_err(late)
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, DialError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let found = step(DialStep::Dns, tokio::net::lookup_host((bare.as_str(), port))).await?;
    let addresses: Vec<_> =
        found.map_err(|err| DialError::new(DialStep::Dns, format!("the host {host} was not found: {err}")))?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    let several = addresses.len() > 1;
    for address in addresses {
        let limit = if several { ADDRESS_TIMEOUT } else { STEP_TIMEOUT };
        match timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let ready = stream.set_nodelay(true).map(|()| stream);
                return ready.map_err(|err| DialError::new(DialStep::Tcp, format!("{host}:{port}: {err}")));
            }
            Ok(Err(err)) => last = err,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(DialError::new(DialStep::Tcp, format!("{host}:{port} cannot be reached: {last}")))
}

/// Asks the proxy for a tunnel (RFC 9110, 9.3.6).
async fn through_proxy(proxy: &Proxy, target: &Target) -> Result<TcpStream, DialError> {
    let fault = |why: String| DialError::new(DialStep::Proxy, format!("proxy {}: {why}", proxy.shown()));
    let mut stream = connect(&proxy.host, proxy.port).await.map_err(|err| fault(err.message))?;
    let authority = format!("{}:{}", target.host, target.port);
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(authorization) = &proxy.authorization {
        request.push_str("Proxy-Authorization: ");
        request.push_str(authorization.expose_secret());
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    let asked = step(DialStep::Proxy, async {
        stream.write_all(request.as_bytes()).await?;
        read_proxy_answer(&mut stream).await
    });
    let status = asked.await?.map_err(|err| fault(err.to_string()))?;
    match status {
        200..=299 => Ok(stream),
        407 => Err(DialError {
            status: Some(407),
            ..fault("proxy refused (407): it wants a user name and password, or those in [proxy] are wrong".to_owned())
        }),
        other => Err(DialError { status: Some(other), ..fault(format!("proxy refused ({other})")) }),
    }
}

/// Reads exactly the head of the answer: every byte after it belongs to the platform.
async fn read_proxy_answer(stream: &mut TcpStream) -> io::Result<u16> {
    let broken = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == PROXY_ANSWER_LIMIT {
            return Err(broken("its answer is too long"));
        }
        head.push(stream.read_u8().await.map_err(|_| broken("it closed the connection without an answer"))?);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
    match (words.next(), words.next().and_then(|status| status.parse().ok())) {
        (Some(version), Some(status)) if version.starts_with("HTTP/1.") => Ok(status),
        _ => Err(broken("its answer is not HTTP")),
    }
}

async fn secure(tcp: TcpStream, target: &Target, net: &NetConfig) -> Result<MaybeTlsStream<TcpStream>, DialError> {
    let fault = |why: String| DialError::new(DialStep::Tls, format!("no secure connection to {}: {why}", target.host));
    let config = net.tls().map_err(|err| fault(err.to_string()))?;
    let name = rustls::pki_types::ServerName::try_from(target.bare_host().to_owned())
        .map_err(|_| fault("the host name is not valid".to_owned()))?;
    let done = step(DialStep::Tls, TlsConnector::from(config).connect(name, tcp)).await?;
    done.map(MaybeTlsStream::Rustls).map_err(|err| fault(err.to_string()))
}

fn upgrade_error(err: tungstenite::Error) -> DialError {
    let tungstenite::Error::Http(answer) = err else {
        return DialError::new(DialStep::Upgrade, format!("the platform did not open a WebSocket: {err}"));
    };
    let status = answer.status().as_u16();
    DialError {
        step: DialStep::Upgrade,
        status: Some(status),
        retry_after: retry_after(answer.headers()),
        message: format!("the platform answered the WebSocket upgrade with {status}"),
    }
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
