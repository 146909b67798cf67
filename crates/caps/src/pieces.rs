//! Parts of an answer on their way out while an operation runs.

use drawbridge_core::model::Piece;
use drawbridge_core::{OpError, RequestId};
use tokio::sync::mpsc;

/// Takes the parts of one answer. Bounded: a peer that does not listen makes the sender wait.
#[derive(Debug, Clone)]
pub struct Pieces {
    request: RequestId,
    out: mpsc::Sender<(RequestId, Piece)>,
}

impl Pieces {
    /// Makes the way out for the answer to one request.
    #[must_use]
    pub const fn new(request: RequestId, out: mpsc::Sender<(RequestId, Piece)>) -> Self {
        Self { request, out }
    }

    /// Hands a part over, and waits for room.
    ///
    /// # Errors
    /// [`OpError::Cancelled`] when nobody listens any more.
    pub async fn send(&self, piece: Piece) -> Result<(), OpError> {
        self.out.send((self.request.clone(), piece)).await.map_err(|_| OpError::Cancelled)
    }
}
