//! The local control socket: the command line's door to a running engine (DESIGN §6).
//!
//! One JSON object a line, both ways. A request is `{"request":n,"command":…}` with the fields of [`crate::Command`], or
//! `{"request":n,"command":"snapshot"}`. The answer is `{"request":n,"reply":…}`, `{"request":n,"snapshot":…}` or
//! `{"request":n,"error":{"code","message"}}`. Only programs of the same user get through; what widens a power or answers a
//! question needs more than that, see [`ControlOptions`].

mod client;
mod held;
mod server;

pub use client::{Client, ControlError};
pub use server::{ControlOptions, serve};

/// The longest line that the client reads, in bytes. A snapshot with full activity stays well below, also with as many questions as
/// can be open, each as long as a platform can make it: whoever asks them must not be able to keep a person from looking.
const LINE_LIMIT_BYTES: u64 = 64 * 1024 * 1024;
/// The longest request that the server reads, in bytes: what goes out to a device in one act, as base64, and some more.
const REQUEST_LIMIT_BYTES: u64 = 128 * 1024;
/// Connections served at once; one more is told so and closed.
const MAX_CONNECTIONS: usize = 16;

/// Reads one line of at most `limit` bytes, without its end.
///
/// # Errors
/// None at the end of the stream; `InvalidData` when the line is too long.
async fn read_line(
    reader: &mut (impl tokio::io::AsyncBufRead + Unpin),
    limit: u64,
) -> std::io::Result<Option<Vec<u8>>> {
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};
    let mut line = Vec::new();
    let count = reader.take(limit + 1).read_until(b'\n', &mut line).await?;
    match (count, line.pop()) {
        (0, _) | (_, None) => Ok(None),
        (_, Some(b'\n')) => Ok(Some(line)),
        _ if count as u64 > limit => Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "the line is too long")),
        // The peer went away in the middle of a line.
        _ => Ok(None),
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
