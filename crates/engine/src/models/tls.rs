//! TLS with servers of models that have an `https` address: the same trust as on the way to the platform, and no proxy.

use drawbridge_caps::model::{Io, Secure};
use futures_util::future::BoxFuture;
use tokio::net::TcpStream;

use crate::dial::STEP_TIMEOUT;
use crate::dial::stream::{Target, secure};
use crate::net::NetConfig;

/// Encrypts by the configured trust.
pub(super) struct Trusted(pub(super) NetConfig);

impl Secure for Trusted {
    fn secure<'a>(&'a self, host: &'a str, stream: TcpStream) -> BoxFuture<'a, Result<Box<dyn Io>, String>> {
        Box::pin(async move {
            let port = stream.peer_addr().map_err(|fault| fault.to_string())?.port();
            let target = Target { host: host.to_owned(), port, secure: true };
            match secure(stream, &target, &self.0, STEP_TIMEOUT).await {
                Ok(stream) => Ok(Box::new(stream) as Box<dyn Io>),
                Err(fault) => Err(fault.message),
            }
        })
    }
}
