//! The way to a host: find it, reach it, pass the proxy, encrypt. One connector for everything that we send.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use oauth2::url::Url;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::MaybeTlsStream;

use super::{DialError, DialStep, STEP_TIMEOUT, tunnel, words};
use crate::net::{self, NetConfig, Proxy, Way};

/// How long one address of a host is tried alone before the next one is tried beside it (RFC 8305, 5).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// What carries the bytes.
pub(crate) type Stream = MaybeTlsStream<TcpStream>;

/// Where a connection leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) secure: bool,
}

impl Target {
    /// Takes an address in `http(s)` or `ws(s)` form; a plain one for this computer alone.
    pub(crate) fn parse(url: &str) -> Result<Self, DialError> {
        let wrong = |why: String| DialError::new(DialStep::Address, format!("the address is not usable: {why}"));
        let url = Url::parse(url).map_err(|err| wrong(err.to_string()))?;
        let secure = match url.scheme() {
            "wss" | "https" => true,
            "ws" | "http" => false,
            _ => {
                return Err(wrong("it must start with wss://, https://, or for this computer ws:// or http://".into()));
            }
        };
        let host = url.host_str().ok_or_else(|| wrong("it names no host".to_owned()))?;
        let port = url.port_or_known_default().ok_or_else(|| wrong("it names no port".to_owned()))?;
        if !secure && !net::is_loopback(host) {
            return Err(wrong("an unencrypted connection is made to this computer only".to_owned()));
        }
        Ok(Self { host: net::bare(host).to_owned(), port, secure })
    }

    /// Returns `host:port`.
    pub(crate) fn authority(&self) -> String {
        net::authority(&self.host, self.port)
    }

    /// Returns the proxy on the way, if there is one.
    pub(crate) fn proxy<'a>(&self, net: &'a NetConfig) -> Option<&'a Proxy> {
        match net.way_to(&self.host, self.port) {
            Way::Through(proxy) if self.secure => Some(proxy),
            Way::Through(_) | Way::Straight | Way::OwnComputer | Way::Excluded => None,
        }
    }
}

/// Opens the way to a target. Each step has 10 s.
pub(crate) async fn open(target: &Target, net: &NetConfig) -> Result<Stream, DialError> {
    let tcp = match target.proxy(net) {
        None => connect(&target.host, target.port, None).await?,
        Some(proxy) => {
            // What fails before the proxy answers is still a matter of the proxy, not of the platform.
            let reached = connect(&proxy.host, proxy.port, Some(proxy)).await;
            let reached = reached.map_err(|err| DialError { step: DialStep::Proxy, ..err })?;
            tunnel::open(reached, proxy, target, STEP_TIMEOUT).await?
        }
    };
    if target.secure { secure(tcp, target, net, STEP_TIMEOUT).await } else { Ok(MaybeTlsStream::Plain(tcp)) }
}

async fn connect(host: &str, port: u16, proxy: Option<&Proxy>) -> Result<TcpStream, DialError> {
    let addresses = find(host, port, proxy, STEP_TIMEOUT).await?;
    reach(addresses, host, port, proxy, STEP_TIMEOUT).await
}

/// Finds the addresses of a host; of the proxy, if one is named.
pub(crate) async fn find(
    host: &str,
    port: u16,
    proxy: Option<&Proxy>,
    limit: Duration,
) -> Result<Vec<SocketAddr>, DialError> {
    match timeout(limit, tokio::net::lookup_host((host, port))).await {
        // What is sent to this computer in clear must not leave it, whatever a resolver says about `localhost`.
        Ok(Ok(found)) => Ok(found.filter(|one| !net::is_loopback(host) || one.ip().is_loopback()).collect()),
        Ok(Err(err)) => Err(words::not_found(host, &err, proxy)),
        Err(_) => Err(words::not_found(host, &late(limit), proxy)),
    }
}

/// Reaches a host at one of its addresses.
pub(crate) async fn reach(
    addresses: Vec<SocketAddr>,
    host: &str,
    port: u16,
    proxy: Option<&Proxy>,
    limit: Duration,
) -> Result<TcpStream, DialError> {
    let raced = timeout(limit, race(addresses)).await.unwrap_or_else(|_| Err(late(limit)));
    let ready = raced.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
    ready.map_err(|err| words::not_reached(host, port, &err, proxy))
}

/// Tries the addresses one after the other, and the next one already while the earlier ones are silent: an address
/// family that leads nowhere must not block the other.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = alternating(addresses).into_iter();
    let mut tried = FuturesUnordered::new();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    loop {
        if let Some(address) = waiting.next() {
            tried.push(TcpStream::connect(address));
        } else if tried.is_empty() {
            return Err(last);
        }
        tokio::select! {
            Some(done) = tried.next() => match done {
                Ok(stream) => return Ok(stream),
                Err(err) => last = err,
            },
            () = sleep(NEXT_ADDRESS_AFTER), if waiting.len() > 0 => {}
        }
    }
}

/// Puts the families in turns, beginning with the one that the system prefers (RFC 8305, 4).
fn alternating(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let preferred = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|one| one.is_ipv6() == preferred);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    std::iter::from_fn(|| Some([first.next(), second.next()]))
        .take_while(|pair| pair.iter().any(Option::is_some))
        .flatten()
        .flatten()
        .collect()
}

/// Encrypts, and checks that the other side is the target.
pub(crate) async fn secure(
    tcp: TcpStream,
    target: &Target,
    net: &NetConfig,
    limit: Duration,
) -> Result<Stream, DialError> {
    let config = net.tls().map_err(|fault| words::no_trust(&fault))?;
    let name = rustls::pki_types::ServerName::try_from(target.host.clone())
        .map_err(|_| DialError::new(DialStep::Tls, "the host name of the platform cannot stand in a certificate"))?;
    match timeout(limit, TlsConnector::from(config).connect(name, tcp)).await {
        Ok(Ok(stream)) => Ok(MaybeTlsStream::Rustls(stream)),
        Ok(Err(err)) => Err(words::not_secure(&target.host, &err)),
        Err(_) => Err(words::not_secure(&target.host, &late(limit))),
    }
}

fn late(limit: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", limit.as_secs_f32().ceil()))
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
