//! Sockets between programs of one user on this machine: a Unix socket whose peers are checked by the kernel's word.
//!
//! A file mode alone is not trusted: each side asks the kernel which user is at the other end. On Windows a named pipe will
//! take its place; until then it is refused there with that reason.

#[cfg(unix)]
#[path = "local_socket/unix.rs"]
mod imp;
#[cfg(not(unix))]
#[path = "local_socket/other.rs"]
mod imp;

pub use imp::{LocalListener, LocalStream, connect};

/// Why a local socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LocalSocketError {
    /// Nobody listens there.
    #[error("nothing listens at {path}")]
    NobodyThere {
        /// The socket.
        path: String,
    },
    /// Another user is at the other end.
    #[error("the program at {path} belongs to another user")]
    OtherUser {
        /// The socket.
        path: String,
    },
    /// The system refused.
    #[error("the local socket {path} cannot be used: {source}")]
    System {
        /// The socket.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}
