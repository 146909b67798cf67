//! Systems without a local socket yet.

use std::io;
use std::path::Path;

use super::LocalSocketError;

/// A connected stream. In memory only, so that callers compile; none is ever made.
pub type LocalStream = tokio::io::DuplexStream;

/// Listens for programs of this user.
#[derive(Debug)]
pub struct LocalListener(std::convert::Infallible);

impl LocalListener {
    /// Refuses: this system has no local socket yet.
    ///
    /// # Errors
    /// Always [`LocalSocketError::System`].
    pub fn bind(path: &Path) -> Result<Self, LocalSocketError> {
        Err(unsupported(path))
    }

    /// Never returns, since there is no listener.
    ///
    /// # Errors
    /// None.
    pub async fn accept(&self) -> io::Result<LocalStream> {
        std::future::pending().await
    }
}

/// Refuses: this system has no local socket yet.
///
/// # Errors
/// Always [`LocalSocketError::NobodyThere`].
pub async fn connect(path: &Path) -> Result<LocalStream, LocalSocketError> {
    std::future::ready(Err(LocalSocketError::NobodyThere { path: path.display().to_string() })).await
}

fn unsupported(path: &Path) -> LocalSocketError {
    let source = io::Error::new(io::ErrorKind::Unsupported, "named pipes are not built yet");
    LocalSocketError::System { path: path.display().to_string(), source }
}
