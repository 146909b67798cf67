//! Parts of an answer on their way out while an operation runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::model::Piece;
use drawbridge_core::{OpError, RequestId};
use tokio::sync::mpsc;

/// Takes the parts of one answer. Bounded: a peer that does not listen makes the sender wait.
#[derive(Debug, Clone)]
pub struct Pieces {
    request: RequestId,
    out: mpsc::Sender<(RequestId, Piece)>,
    gate: Option<Arc<Gate>>,
}

/// Stands in the way of parts from the moment on in which they may not leave any more.
struct Gate {
    is_shut: Box<dyn Fn() -> bool + Send + Sync>,
    /// The parts that came since then; none while they leave. No longer than the answer, which is bounded.
    held: Mutex<Option<Vec<Piece>>>,
}

impl Pieces {
    /// Makes the way out for the answer to one request.
    #[must_use]
    pub const fn new(request: RequestId, out: mpsc::Sender<(RequestId, Piece)>) -> Self {
        Self { request, out, gate: None }
    }

    /// Puts a gate in the way. The first part that finds it shut is held back, and so are all after it until
    /// [`let_go`](Self::let_go), whatever becomes of the gate: an answer has no holes.
    #[must_use]
    pub fn held_once(self, is_shut: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let gate = Gate { is_shut: Box::new(is_shut), held: Mutex::default() };
        Self { gate: Some(Arc::new(gate)), ..self }
    }

    /// Hands a part over, and waits for room.
    ///
    /// # Errors
    /// [`OpError::Cancelled`] when nobody listens any more.
    pub async fn send(&self, piece: Piece) -> Result<(), OpError> {
        let piece = match &self.gate {
            Some(gate) => gate.pass(piece),
            None => Some(piece),
        };
        match piece {
            Some(piece) => self.hand_over(piece).await,
            None => Ok(()),
        }
    }

    /// Hands over what was held back.
    ///
    /// # Errors
    /// [`OpError::Cancelled`] when nobody listens any more.
    pub async fn let_go(&self) -> Result<(), OpError> {
        let held = self.gate.as_ref().and_then(|gate| gate.lock().take());
        for piece in held.into_iter().flatten() {
            self.hand_over(piece).await?;
        }
        Ok(())
    }

    async fn hand_over(&self, piece: Piece) -> Result<(), OpError> {
        self.out.send((self.request.clone(), piece)).await.map_err(|_| OpError::Cancelled)
    }
}

impl Gate {
    /// Returns the part if it may leave, and keeps it otherwise.
    fn pass(&self, piece: Piece) -> Option<Piece> {
        let mut held = self.lock();
        if held.is_none() && !(self.is_shut)() {
            return Some(piece);
        }
        held.get_or_insert_default().push(piece);
        None
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Piece>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_comes_after_a_gate_was_shut_waits_until_it_is_let_go() {
        let shut = Arc::new(AtomicBool::new(false));
        let (out, mut came) = mpsc::channel(8);
        let its = shut.clone();
        let pieces = Pieces::new(RequestId::parse("r1").unwrap(), out).held_once(move || its.load(Ordering::Relaxed));
        let piece = |text: &str| Piece::Delta(text.to_owned());
        let send = async |text: &str| pieces.send(piece(text)).await.unwrap();

        send("a").await;
        shut.store(true, Ordering::Relaxed);
        send("b").await;
        shut.store(false, Ordering::Relaxed);
        send("c").await;
        assert_eq!((came.try_recv().unwrap().1, came.try_recv().is_err()), (piece("a"), true));

        pieces.let_go().await.unwrap();
        assert_eq!([came.recv().await.unwrap().1, came.recv().await.unwrap().1], [piece("b"), piece("c")]);
    }
}
