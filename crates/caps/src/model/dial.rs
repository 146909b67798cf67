//! Connections to model servers, made here: no proxy, no pool, and nothing but this computer unless that is allowed.
//!
//! Where a name leads is looked at for each connection, and the addresses that were looked at are the ones that are dialled.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::address::{Address, Host};
use super::fault::Fault;

/// How long the making of a connection may take, its TLS included.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// The next address of a name is tried this long after the one before.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(100);
/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// A connection.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Encrypts a connection and checks who is at its other end.
pub trait Secure: Send + Sync {
    /// Speaks TLS with `host`.
    ///
    /// # Errors
    /// Why it is not trusted, in a few words for a person.
    fn secure<'a>(&'a self, host: &'a str, stream: TcpStream) -> BoxFuture<'a, Result<Box<dyn Io>, String>>;
}

/// Makes connections.
pub(crate) trait Dial: Send + Sync {
    fn dial<'a>(&'a self, address: &'a Address, far: bool) -> BoxFuture<'a, Result<Box<dyn Io>, Fault>>;
}

/// Finds the addresses of a name.
pub(crate) trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The system's own resolver.
pub(crate) struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
    }
}

/// The network.
pub(crate) struct Network {
    resolver: Box<dyn Resolve>,
    tls: OnceLock<Arc<dyn Secure>>,
}

impl Network {
    pub(crate) fn new(resolver: impl Resolve + 'static) -> Self {
        Self { resolver: Box::new(resolver), tls: OnceLock::new() }
    }

    /// Sets who encrypts. Only the first one counts.
    pub(crate) fn set_tls(&self, tls: Arc<dyn Secure>) {
        let _ = self.tls.set(tls);
    }

    async fn open(&self, address: &Address, far: bool) -> Result<Box<dyn Io>, Fault> {
        // Before anything is sent in vain.
        let tls = if address.secure { Some(self.tls.get().ok_or(Fault::NoTls)?) } else { None };
        let found = allowed(self.addresses(address).await?, far)?;
        let stream = race(found).await.map_err(|err| not_reached(&err))?;
        stream.set_nodelay(true).map_err(|_| Fault::Broken)?;
        match tls {
            None => Ok(Box::new(stream)),
            Some(tls) => {
                let host = address.host.to_string();
                let name = host.trim_start_matches('[').trim_end_matches(']');
                tls.secure(name, stream).await.map_err(Fault::Tls)
            }
        }
    }

    async fn addresses(&self, address: &Address) -> Result<Vec<SocketAddr>, Fault> {
        let port = address.port;
        match &address.host {
            Host::Ip(ip) => Ok(vec![SocketAddr::new(*ip, port)]),
            // It is this computer, whatever a resolver says. Most servers listen at the first of both alone.
            host @ Host::Name(_) if host.is_here() => {
                let both: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                Ok(both.map(|ip| SocketAddr::new(ip, port)).to_vec())
            }
            Host::Name(name) => self.resolver.resolve(name, port).await.map_err(|_| Fault::NoSuchHost),
        }
    }
}

impl Dial for Network {
    fn dial<'a>(&'a self, address: &'a Address, far: bool) -> BoxFuture<'a, Result<Box<dyn Io>, Fault>> {
        Box::pin(async move {
            let opened = timeout(CONNECT_LIMIT, self.open(address, far)).await;
            opened.unwrap_or(Err(Fault::Slow(CONNECT_LIMIT)))
        })
    }
}

/// Lets addresses pass only if every one may be dialled: a name that leads here and elsewhere is not trusted at all.
fn allowed(found: Vec<SocketAddr>, far: bool) -> Result<Vec<SocketAddr>, Fault> {
    if found.is_empty() {
        return Err(Fault::NoSuchHost);
    }
    let here = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
    if !far && !found.iter().all(here) {
        return Err(Fault::Far);
    }
    Ok(found)
}

/// Tries addresses in their order, the next one soon after the one before, and keeps the first that answers.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let tries = addresses.into_iter().take(MAX_ADDRESSES).zip(0_u32..).map(|(address, number)| async move {
        sleep(NEXT_ADDRESS_AFTER * number).await;
        TcpStream::connect(address).await
    });
    let mut tries: FuturesUnordered<_> = tries.collect();
    let mut last = io::Error::from(ErrorKind::NotFound);
    while let Some(tried) = tries.next().await {
        match tried {
            Ok(stream) => return Ok(stream),
            // A refusal says more than that a family of addresses is missing here.
            Err(err) if last.kind() != ErrorKind::ConnectionRefused => last = err,
            Err(_) => {}
        }
    }
    Err(last)
}

fn not_reached(err: &io::Error) -> Fault {
    if err.kind() == ErrorKind::ConnectionRefused { Fault::Refused } else { Fault::Broken }
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
