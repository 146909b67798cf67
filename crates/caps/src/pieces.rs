//! Parts of an answer on their way out while an operation runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use drawbridge_core::model::Piece;
use drawbridge_core::{OpError, RequestId};
use tokio::sync::mpsc;

/// Takes the parts of one answer. Bounded: a peer that does not listen makes the sender wait.
#[derive(Debug, Clone)]
pub struct Pieces {
    request: RequestId,
    out: mpsc::Sender<(RequestId, Piece)>,
    gate: Arc<OnceLock<Gate>>,
}

/// What the parts of an answer that have left their operation may still have to wait for. Whoever sends them asks right before.
#[derive(Debug, Clone)]
pub struct Hold(Arc<OnceLock<Gate>>);

impl Hold {
    /// Tells whether the parts have to wait. Once they have to, they do until their gate is opened.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        self.0.get().is_some_and(|gate| gate.is_holding(&mut gate.lock()))
    }
}

/// Stands in the way of parts from the moment on in which they may not leave any more.
struct Gate {
    is_shut: Box<dyn Fn() -> bool + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The parts that came since it was found shut; none while they leave. No longer than the answer, which is bounded.
    held: Option<Vec<Piece>>,
    /// All of the answer may leave, whatever is said from now on.
    open_for_good: bool,
}

impl Pieces {
    /// Makes the way out for the answer to one request.
    #[must_use]
    pub fn new(request: RequestId, out: mpsc::Sender<(RequestId, Piece)>) -> Self {
        Self { request, out, gate: Arc::default() }
    }

    /// Returns what parts that have left may still have to wait for, also by a gate that is put in the way later.
    #[must_use]
    pub fn hold(&self) -> Hold {
        Hold(self.gate.clone())
    }

    /// Puts a gate in the way, once. The first part that finds it shut is held back, and so are all after it until
    /// [`let_go`](Self::let_go), whatever becomes of the gate: an answer has no holes.
    #[must_use]
    pub fn held_once(self, is_shut: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let gate = Gate { is_shut: Box::new(is_shut), state: Mutex::default() };
        let _ = self.gate.set(gate);
        self
    }

    /// Hands a part over, and waits for room.
    ///
    /// # Errors
    /// [`OpError::Cancelled`] when nobody listens any more.
    pub async fn send(&self, piece: Piece) -> Result<(), OpError> {
        let piece = match self.gate.get() {
            Some(gate) => gate.pass(piece),
            None => Some(piece),
        };
        match piece {
            Some(piece) => self.hand_over(piece).await,
            None => Ok(()),
        }
    }

    /// Hands over what was held back. `for_good`: nothing shuts the gate of this answer any more, since a person has let it go.
    ///
    /// # Errors
    /// [`OpError::Cancelled`] when nobody listens any more.
    pub async fn let_go(&self, for_good: bool) -> Result<(), OpError> {
        let held = self.gate.get().and_then(|gate| {
            let mut state = gate.lock();
            state.open_for_good |= for_good;
            state.held.take()
        });
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
        let mut state = self.lock();
        if !self.is_holding(&mut state) {
            return Some(piece);
        }
        state.held.get_or_insert_default().push(piece);
        None
    }

    /// Tells whether parts wait, and begins to hold them when it is found shut.
    fn is_holding(&self, state: &mut State) -> bool {
        if state.open_for_good {
            return false;
        }
        if state.held.is_none() && (self.is_shut)() {
            state.held = Some(Vec::new());
        }
        state.held.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let hold = pieces.hold();
        assert!(hold.is_shut(), "what is on its way already waits as well");

        pieces.let_go(false).await.unwrap();
        assert_eq!([came.recv().await.unwrap().1, came.recv().await.unwrap().1], [piece("b"), piece("c")]);
        assert!(!hold.is_shut());
        shut.store(true, Ordering::Relaxed);
        assert!(hold.is_shut(), "it was let go only as long as nothing else is said");
        pieces.let_go(true).await.unwrap();
        assert!(!hold.is_shut());
        send("d").await;
        assert_eq!(came.recv().await.unwrap().1, piece("d"));
    }
}
