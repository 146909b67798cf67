//! One connection, from HELLO to its end: the loop between the socket and the machine.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use drawbridge_caps::{Hold, Pieces};
use drawbridge_core::model::Piece;
use drawbridge_core::{Limits, LinkId, Operation, RequestId};
use drawbridge_proto::executor::dialer::Dialer;
use drawbridge_proto::executor::machine::{
    Effect, End, Machine, MachineConfig, Negotiated, Note, Pace, Retry, Role, StatusFacts,
};
use futures_util::{Sink, StreamExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_util::sync::CancellationToken;

use super::farewell::farewell;
use super::waiting::{Due, Left, Outbox};
use super::{LinkStatus, Order, Purpose, Shared, show, sleep_until};
use crate::dial::Socket;
use crate::dispatcher::{Answer, Job, Kept, Stayed};
use crate::screen::Offer;
use crate::view::{LinkState, LinkView};

/// How long a closing handshake may take.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// How long cancelled requests may take to end. Commands are killed well before.
const DRAIN_WAIT: Duration = Duration::from_secs(4);

/// So many frames, beside a reply for each slot, may wait for the socket before nothing more is read. Only a peer that asks and
/// does not listen gets there.
const MOST_WAITING: usize = 64;
/// So many parts of answers may wait before whoever makes them waits too.
const PIECES_WAITING: usize = 16;

/// What one connection is about.
pub(super) struct Setup {
    pub(super) link: LinkId,
    pub(super) role: Role,
    pub(super) purpose: Purpose,
    pub(super) shared: Arc<Shared>,
    pub(super) status: Arc<LinkStatus>,
    pub(super) main: bool,
}

/// Serves one connection to its end. When it returns, everything it started has ended. The flag says that it was ended from
/// here because what is offered has changed.
pub(super) async fn serve(
    setup: Setup,
    mut socket: Socket,
    stop: &CancellationToken,
    orders: &mut mpsc::Receiver<Order>,
    dialer: &mut Dialer,
) -> (End, bool) {
    let screen = setup.shared.screen.clone();
    let models = setup.shared.models.clone();
    let looks = async { tokio::join!(screen.look(setup.chat()), models.look(setup.chat())) };
    tokio::select! {
        () = stop.cancelled() => {}
        ((), ()) = looks => {}
    }
    if let Some(session) = setup.chat() {
        screen.greets(session);
        models.privacy.forget_stubs(session);
    }
    let offer = Arc::new(screen.offer(setup.chat()));
    let config = MachineConfig {
        role: setup.role.clone(),
        hello: (setup.shared.hello)(setup.chat(), &offer),
        local: setup.shared.limits,
    };
    setup.shared.journal.hello(setup.chat(), &config);
    let machine = Machine::new(config, Box::new(|| uuid::Uuid::new_v4().to_string()));
    let (pieces_in, pieces) = mpsc::channel(PIECES_WAITING);
    let mut connection = Connection {
        changes: setup.shared.dispatcher.changes(),
        pieces_in,
        pieces,
        setup,
        machine,
        offer,
        out: Outbox::default(),
        flushing: false,
        afloat: Vec::new(),
        cut: false,
        close: None,
        closed_by_peer: false,
        tasks: JoinSet::new(),
        running: BTreeMap::new(),
        all: CancellationToken::new(),
        end: None,
        renew: false,
    };
    let end = connection.run(&mut socket, stop, orders, dialer).await;
    if connection.cut {
        cut_off(socket);
    }
    connection.drain().await;
    (end, connection.renew)
}

struct Connection {
    setup: Setup,
    machine: Machine,
    offer: Arc<Offer>,
    /// Tells of changes of what may be done.
    changes: watch::Receiver<()>,
    /// Frames that wait for the socket. Bounded: at most one reply for each slot, the machine's own few frames, and what the
    /// frames that were read are answered with ([`MOST_WAITING`]).
    out: Outbox,
    flushing: bool,
    /// Answers that the socket has and the system may not have taken whole yet.
    afloat: Vec<Kept>,
    /// Nothing more leaves, not even what the socket holds: a part of it has to stay here by now.
    cut: bool,
    close: Option<(u16, String)>,
    /// The peer's close frame was read: all that may follow is the answer to it.
    closed_by_peer: bool,
    tasks: JoinSet<(RequestId, Option<Answer>)>,
    /// Given to operations that answer in parts.
    pieces_in: mpsc::Sender<(RequestId, Piece)>,
    /// Parts of answers on their way out. Not taken while much waits for the socket already, so that whoever makes them waits as well.
    pieces: mpsc::Receiver<(RequestId, Piece)>,
    running: BTreeMap<RequestId, Running>,
    all: CancellationToken,
    end: Option<End>,
    /// What is offered has changed: close in order once nothing runs.
    renew: bool,
}

/// A request that has no answer yet.
struct Running {
    cancel: CancellationToken,
    /// What parts of its answer may have to wait for.
    hold: Hold,
}

/// What woke the loop.
enum Woken {
    Frame(Option<Result<Message, WsError>>),
    Writable(Result<(), WsError>),
    Done(RequestId, Option<Answer>),
    Part(RequestId, Piece),
    Order(Order),
    Changed,
    Tick,
    Stop,
}

impl Connection {
    async fn run(
        &mut self,
        socket: &mut Socket,
        stop: &CancellationToken,
        orders: &mut mpsc::Receiver<Order>,
        dialer: &mut Dialer,
    ) -> End {
        let effects = self.machine.on_open(self.now(), self.wall());
        self.apply(effects, dialer);
        loop {
            if let Some(end) = self.end.take() {
                if !self.cut {
                    self.finish(socket).await;
                }
                return end;
            }
            if self.renew && self.running.is_empty() && self.out.is_empty() {
                self.close = Some((1000, "offers changed".to_owned()));
                self.finish(socket).await;
                return End::Retry(renewal());
            }
            let woken = self.wake(socket, stop, orders).await;
            let (now, wall) = (self.now(), self.wall());
            let effects = match woken {
                Woken::Frame(Some(Ok(message))) => self.on_message(message),
                Woken::Frame(Some(Err(fault))) => self.on_fault(&fault),
                Woken::Frame(None) => self.machine.on_closed(None, "", now),
                Woken::Writable(Ok(())) => Vec::new(),
                Woken::Writable(Err(fault)) => self.on_fault(&fault),
                Woken::Done(id, reply) => {
                    // All parts that came before the end stand before it.
                    while let Ok((of, piece)) = self.pieces.try_recv() {
                        self.on_part(&of, &piece);
                    }
                    self.on_done(&id, reply)
                }
                Woken::Part(id, piece) => {
                    self.on_part(&id, &piece);
                    Vec::new()
                }
                Woken::Order(Order::Renew) => {
                    self.renew = true;
                    Vec::new()
                }
                Woken::Order(Order::RenewNow) => {
                    self.renew = true;
                    self.close = Some((1000, "offers changed".to_owned()));
                    self.end = Some(End::Retry(renewal()));
                    Vec::new()
                }
                Woken::Order(Order::Connect) => Vec::new(),
                Woken::Changed => {
                    self.cut_what_must_stay();
                    Vec::new()
                }
                Woken::Tick => self.machine.on_tick(now, wall),
                Woken::Stop => self.machine.on_stop(now),
            };
            self.apply(effects, dialer);
        }
    }

    async fn wake(
        &mut self,
        socket: &mut Socket,
        stop: &CancellationToken,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Woken {
        let deadline = self.machine.deadline();
        // First, since a peer that never stops sending must not stop the clock.
        if !stop.is_cancelled() && deadline.is_some_and(|due| due <= self.now()) {
            return Woken::Tick;
        }
        let writing = self.out.has_due() || self.flushing;
        let slots = usize::try_from(self.setup.shared.limits.max_concurrent).unwrap_or(usize::MAX);
        let reading = self.out.len() < slots.saturating_add(MOST_WAITING);
        // Reading and writing share the socket, so they are polled by hand in one future.
        let (out, flushing, afloat) = (&mut self.out, &mut self.flushing, &mut self.afloat);
        let io = std::future::poll_fn(|cx| {
            use std::task::Poll;
            if writing {
                match poll_write(socket, out, (flushing, afloat), cx) {
                    Poll::Ready(result) => return Poll::Ready(Woken::Writable(result)),
                    Poll::Pending => {}
                }
            }
            // A peer that does not read gets nothing more read: its sign of life then fails in time.
            if !reading {
                return Poll::Pending;
            }
            match socket.poll_next_unpin(cx) {
                Poll::Ready(frame) => Poll::Ready(Woken::Frame(frame)),
                Poll::Pending => Poll::Pending,
            }
        });
        tokio::select! {
            biased;
            () = stop.cancelled() => Woken::Stop,
            Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => match done {
                Ok((id, reply)) => Woken::Done(id, reply),
                Err(fault) => {
                    // A task that panicked leaves its slot taken until the machine's own hard limit ends the request.
                    tracing::error!(%fault, "a request task failed");
                    Woken::Tick
                }
            },
            Some(order) = orders.recv() => Woken::Order(order),
            Ok(()) = self.changes.changed() => Woken::Changed,
            Some((id, piece)) = self.pieces.recv(), if reading => Woken::Part(id, piece),
            woken = io => woken,
            () = sleep_until(deadline) => Woken::Tick,
        }
    }

    fn on_message(&mut self, message: Message) -> Vec<Effect> {
        let (now, wall) = (self.now(), self.wall());
        match message {
            Message::Text(text) => self.machine.on_text(text.as_str(), now, wall),
            Message::Binary(bytes) => self.machine.on_binary(&bytes, now, wall),
            Message::Pong(_) => {
                self.machine.on_pong(now, wall);
                Vec::new()
            }
            Message::Close(frame) => {
                self.closed_by_peer = true;
                let (code, reason) = match &frame {
                    Some(frame) => (Some(u16::from(frame.code)), frame.reason.as_str()),
                    None => (None, ""),
                };
                self.machine.on_closed(code, reason, now)
            }
            // The library answers pings by itself.
            Message::Ping(_) | Message::Frame(_) => Vec::new(),
        }
    }

    fn on_fault(&mut self, fault: &WsError) -> Vec<Effect> {
        if let WsError::Capacity(_) = fault {
            self.close = Some((1009, "frame over 16 MiB".to_owned()));
        }
        self.machine.on_closed(None, &fault.to_string(), self.now())
    }

    /// A part of an answer is to go out. It has no other effect than frames.
    fn on_part(&mut self, id: &RequestId, piece: &Piece) {
        let hold = self.running.get(id).map(|running| running.hold.clone());
        for effect in self.machine.on_piece(id, piece, self.wall()) {
            if let Effect::Send(text) = effect {
                self.out.push_part(Message::text(text), id.clone(), hold.clone());
            }
        }
    }

    fn on_done(&mut self, id: &RequestId, answer: Option<Answer>) -> Vec<Effect> {
        self.running.remove(id);
        self.setup.status.active(self.now());
        self.count_running();
        self.out.drop_held(id);
        let Some(Answer { reply, kept }) = answer else { return Vec::new() };
        self.setup.status.answered.fetch_add(1, Ordering::Relaxed);
        self.status_facts();
        let Some((instead, kept)) = kept else { return self.machine.on_reply(reply, self.now(), self.wall()) };
        let effects = self.machine.on_reply_or(reply, instead, self.now(), self.wall());
        let mut others = Vec::with_capacity(effects.len());
        for effect in effects {
            if let Effect::SendEither { frame, instead } = effect {
                let (message, instead) = (Message::text(frame), Message::text(instead));
                self.out.push_answer(message, id.clone(), instead, kept.clone());
            } else {
                others.push(effect);
            }
        }
        others
    }

    /// Ends the connection at once when it is sending what has to stay here by now. What the system has taken already cannot be called
    /// back; of what it has not, nothing more leaves.
    fn cut_what_must_stay(&mut self) {
        if self.afloat.iter().all(Kept::may_leave) {
            return;
        }
        for kept in self.afloat.drain(..).filter(|kept| !kept.may_leave()) {
            kept.stays(Stayed::Rest);
        }
        self.out.cut();
        self.cut = true;
        self.renew = true;
        self.end = Some(End::Retry(cut()));
    }

    fn apply(&mut self, effects: Vec<Effect>, dialer: &mut Dialer) {
        for effect in effects {
            match effect {
                Effect::Send(text) => self.out.push(Message::text(text)),
                // An answer that may have to stay comes with who knows it, above.
                Effect::SendEither { frame: _, instead } => self.out.push(Message::text(instead)),
                Effect::Refused { id, op, code } => {
                    self.setup.shared.dispatcher.record_refusal(self.setup.chat(), &id, op, code.as_str());
                }
                Effect::Start { id, operation, limits } => self.start(id, operation, limits),
                Effect::Abort(id) => {
                    if let Some(running) = self.running.get(&id) {
                        running.cancel.cancel();
                    }
                }
                Effect::Ready(negotiated) => self.ready(&negotiated, dialer),
                Effect::WsPing => self.out.push(Message::Ping(Vec::new().into())),
                Effect::Close { code, reason } => self.close = Some((code, reason)),
                Effect::Ended(end) => self.end = Some(end),
                Effect::Note(note) => log(&note),
            }
        }
    }

    fn start(&mut self, id: RequestId, operation: Operation, limits: Limits) {
        let cancel = self.all.child_token();
        let pieces = Pieces::new(id.clone(), self.pieces_in.clone());
        self.running.insert(id.clone(), Running { cancel: cancel.clone(), hold: pieces.hold() });
        let now = self.now();
        self.setup.status.active(now);
        self.setup.status.last_request_ms.store(self.wall().0, Ordering::Relaxed);
        self.count_running();
        let (session, root) = match &self.setup.purpose {
            Purpose::Control => (None, None),
            Purpose::Chat { session, root, .. } => (Some(session.clone()), Some(root.clone())),
        };
        let job = Job {
            link: self.setup.link,
            request: id.clone(),
            operation,
            session,
            root,
            offer: self.offer.clone(),
            limits,
            pieces: Some(pieces),
            queued: self.setup.status.queued.clone(),
            cancel,
        };
        let dispatcher = self.setup.shared.dispatcher.clone();
        self.tasks.spawn(async move { (id, dispatcher.run(job).await) });
    }

    fn ready(&mut self, negotiated: &Negotiated, dialer: &mut Dialer) {
        dialer.on_ready(self.setup.link, self.now());
        self.setup.shared.account.accepted();
        self.setup.shared.journal.hello_ack(self.setup.chat(), negotiated);
        if matches!(self.setup.role, Role::Control) || self.setup.main {
            (self.setup.shared.on_control)(negotiated);
        }
        self.status_facts();
        let view = LinkView { state: LinkState::Connected, ..LinkView::default() };
        show(&self.setup.status, &self.setup.shared.board, self.setup.main, view);
    }

    fn status_facts(&mut self) {
        self.machine.set_status_facts(StatusFacts {
            audit_log_bytes: self.setup.shared.journal.bytes(),
            queue_depth: self.setup.status.queued.load(Ordering::Relaxed),
        });
    }

    fn count_running(&self) {
        let running = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        self.setup.status.in_flight.store(running, Ordering::Relaxed);
        self.setup.shared.board.touch();
    }

    /// Sends what is left and the close frame, within a short time. The peer may be gone: then nothing is lost.
    async fn finish(&mut self, socket: &mut Socket) {
        let (code, reason) = self.close.take().unwrap_or((1000, String::new()));
        self.all.cancel();
        let Left { mut messages, kept } = self.out.left_to_say(|id| self.running.contains_key(id));
        self.afloat.extend(kept);
        let goodbye = farewell(socket, &mut messages, (code, reason), self.closed_by_peer);
        let goodbye = async {
            tokio::select! {
                biased;
                () = until_one_must_stay(&mut self.changes, &self.afloat) => None,
                said = goodbye => Some(said),
            }
        };
        // What is held down is not held for as long as a goodbye takes.
        let (said, ()) = tokio::join!(tokio::time::timeout(CLOSE_WAIT, goodbye), self.setup.let_go());
        match said {
            Ok(None) => self.cut_what_must_stay(),
            Ok(Some(Ok(()))) => {}
            Ok(Some(Err(fault))) => tracing::debug!(%fault, "the connection was gone before its goodbye"),
            Err(_) => tracing::debug!("the peer did not answer the goodbye"),
        }
    }

    /// Cancels everything that still runs and waits until it has ended.
    async fn drain(&mut self) {
        self.all.cancel();
        // Whoever waits for room among the parts must hear that nobody takes them any more.
        self.pieces.close();
        let ended = tokio::time::timeout(DRAIN_WAIT, async { while self.tasks.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            tracing::warn!(left = self.tasks.len(), "requests did not end in time and were dropped");
            self.tasks.shutdown().await;
        }
        self.running.clear();
        self.count_running();
        // Once more: an operation that was just ending may have pressed something after the first time.
        self.setup.let_go().await;
        if let Some(session) = self.setup.chat() {
            self.setup.shared.screen.link_ended(session);
        }
    }

    fn now(&self) -> std::time::Instant {
        self.setup.shared.clock.now()
    }

    fn wall(&self) -> drawbridge_core::WallMs {
        self.setup.shared.clock.wall()
    }
}

impl Setup {
    /// Releases the keys and buttons that the chat may have left held down.
    async fn let_go(&self) {
        if let Some(session) = self.chat() {
            self.shared.screen.link_ends(session).await;
        }
    }

    fn chat(&self) -> Option<&drawbridge_core::SessionId> {
        match &self.purpose {
            Purpose::Control => None,
            Purpose::Chat { session, .. } => Some(session),
        }
    }
}

/// Hands waiting frames to the socket and flushes. Ready when all are out, or with the fault.
fn poll_write(
    socket: &mut Socket,
    out: &mut Outbox,
    (flushing, afloat): (&mut bool, &mut Vec<Kept>),
    cx: &mut std::task::Context<'_>,
) -> std::task::Poll<Result<(), WsError>> {
    use std::task::Poll;
    while out.has_due() {
        match Pin::new(&mut *socket).poll_ready(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault)),
            Poll::Pending => return Poll::Pending,
        }
        if let Some(Due { message, kept }) = out.next() {
            *flushing = true;
            afloat.extend(kept);
            if let Err(fault) = Pin::new(&mut *socket).start_send(message) {
                return Poll::Ready(Err(fault));
            }
        }
    }
    match Pin::new(socket).poll_flush(cx) {
        Poll::Ready(Ok(())) => {
            *flushing = false;
            afloat.clear();
            Poll::Ready(Ok(()))
        }
        Poll::Ready(Err(fault)) => Poll::Ready(Err(fault)),
        Poll::Pending => Poll::Pending,
    }
}

/// Frames' faults are said by kind; nothing of their content is.
fn log(note: &Note) {
    match note {
        Note::OtherMajor { version } => tracing::error!(%version, "dropped a frame of another major version"),
        Note::MalformedFrames { .. }
        | Note::UnknownType(_)
        | Note::AnswerFromPlatform(_)
        | Note::DuplicateId(_)
        | Note::RanTooLong(_)
        | Note::ClockJump { .. }
        | Note::HelloTrimmed { .. } => tracing::warn!(?note, "frame"),
        Note::ReplyWithoutRequest(_) => tracing::debug!(?note, "frame"),
    }
}

/// Waits until one of these answers may not leave any more.
async fn until_one_must_stay(changes: &mut watch::Receiver<()>, afloat: &[Kept]) {
    while afloat.iter().all(Kept::may_leave) {
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Drops a connection with everything that has not left yet, also what the system keeps for it.
fn cut_off(mut socket: Socket) {
    let stream = match socket.get_mut() {
        MaybeTlsStream::Plain(stream) => Some(&*stream),
        MaybeTlsStream::Rustls(stream) => Some(stream.get_ref().0),
        _ => None,
    };
    if let Some(Err(fault)) = stream.map(tokio::net::TcpStream::set_zero_linger) {
        tracing::warn!(%fault, "the system may send what it had taken of an answer that was cut off");
    }
}

fn cut() -> Retry {
    Retry {
        close_code: None,
        code: "cut",
        reason: "an answer that was being sent has to stay on this computer by now".to_owned(),
        ..renewal()
    }
}

fn renewal() -> Retry {
    Retry {
        pace: Pace::Base,
        refresh_first: false,
        bad_handshake: false,
        close_code: Some(1000),
        code: "renewed",
        reason: "what is offered has changed".to_owned(),
    }
}
