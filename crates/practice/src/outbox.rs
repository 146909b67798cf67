//! What waits to be sent on one socket. Closing never waits behind a peer that does not read: the wish to close is told
//! apart from the queue, and what is queued before it gets a short time only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, watch};

/// Bytes that may wait for one peer; above it nothing more is queued.
const WAITING_MAX: usize = 64 * 1024 * 1024;

pub(crate) enum Out {
    Text(String),
    Binary(Vec<u8>),
    Close(u16, String),
}

impl Out {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
            Self::Close(_, reason) => reason.len(),
        }
    }
}

/// How far a connection is to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Not ending.
    Open,
    /// A close frame is queued.
    Closing,
    /// To be dropped without a close frame.
    Cut,
}

/// The sending half, held by the link's entry in the state.
pub(crate) struct Outbox {
    queue: mpsc::UnboundedSender<Out>,
    waiting: Arc<AtomicUsize>,
    ending: watch::Sender<Ending>,
}

/// The receiving half, held by the socket's task.
pub(crate) struct Queue {
    queue: mpsc::UnboundedReceiver<Out>,
    waiting: Arc<AtomicUsize>,
}

/// Why nothing was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// The connection is gone or going.
    Gone,
    /// The peer leaves too much unread.
    Full,
}

impl Outbox {
    pub(crate) fn new() -> (Self, Queue, watch::Receiver<Ending>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (ending, ends) = watch::channel(Ending::Open);
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = Queue { queue: receiver, waiting: Arc::clone(&waiting) };
        (Self { queue: sender, waiting, ending }, queue, ends)
    }

    /// Queues a frame behind all others.
    pub(crate) fn send(&self, out: Out) -> Result<(), Unsent> {
        let len = out.len();
        if *self.ending.borrow() != Ending::Open {
            return Err(Unsent::Gone);
        }
        if self.waiting.fetch_add(len, Ordering::Relaxed) + len > WAITING_MAX {
            self.waiting.fetch_sub(len, Ordering::Relaxed);
            return Err(Unsent::Full);
        }
        self.queue.send(out).map_err(|_| Unsent::Gone)
    }

    /// Closes once what is queued is sent, or soon in any case. The first close counts.
    pub(crate) fn close(&self, code: u16, reason: &str) -> Result<(), Unsent> {
        let sent = self.send(Out::Close(code, reason.to_owned()));
        self.ending.send_if_modified(|e| *e == Ending::Open && std::mem::replace(e, Ending::Closing) == Ending::Open);
        sent
    }

    /// Ends at once, without a close frame.
    pub(crate) fn cut(&self) {
        self.ending.send_replace(Ending::Cut);
    }
}

impl Queue {
    /// The next frame; from then on it no longer counts as waiting.
    pub(crate) async fn next(&mut self) -> Option<Out> {
        let out = self.queue.recv().await?;
        self.waiting.fetch_sub(out.len(), Ordering::Relaxed);
        Some(out)
    }
}
