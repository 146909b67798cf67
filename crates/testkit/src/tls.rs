//! Something that encrypts, in front of a plain server on loopback. Real TLS; it knows nothing of what it carries.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// A running front. It ends when dropped, with all that it carries.
#[derive(Debug)]
pub struct TlsFront {
    port: u16,
    server: JoinHandle<()>,
}

/// A front that has its port and waits for what it leads to.
#[derive(Debug)]
pub struct Waiting(TcpListener);

impl TlsFront {
    /// Takes a port of 127.0.0.1.
    ///
    /// # Errors
    /// When there is none.
    pub async fn bind() -> io::Result<Waiting> {
        Ok(Waiting(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?))
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Waiting {
    /// Its port on 127.0.0.1.
    ///
    /// # Errors
    /// When the system does not tell it.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.0.local_addr()?.port())
    }

    /// Leads to a port of 127.0.0.1, under this certificate and key (PEM files).
    ///
    /// # Errors
    /// When the files cannot be used.
    pub fn lead_to(self, target: u16, certificate: &Path, key: &Path) -> io::Result<TlsFront> {
        let chain = CertificateDer::pem_file_iter(certificate).map_err(io::Error::other)?;
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(io::Error::other)?;
        let port = self.port()?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(TlsFront { port, server: tokio::spawn(serve(self.0, acceptor, target)) })
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, target: u16) {
    let mut connections = JoinSet::new();
    while let Ok((tcp, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            // A client that does not trust us goes away here.
            let Ok(mut client) = acceptor.accept(tcp).await else { return };
            let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await else { return };
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            let _ = client.shutdown().await;
        });
    }
}
