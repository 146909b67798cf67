//! Ceilings of one link.

use std::time::Duration;

/// The largest WebSocket message either side may send: 16 MiB (spec 0).
pub const FRAME_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What one link may use at most. Either the local ceilings, or the lower of ours and the peer's once negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests admitted at once.
    pub max_concurrent: u32,
    /// Bytes of one file, one write, or of both output streams of a command together.
    pub max_file_size_bytes: u64,
    /// The longest a command may run.
    pub command_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_concurrent: 4, max_file_size_bytes: 10 * 1024 * 1024, command_timeout: Duration::from_secs(30) }
    }
}
