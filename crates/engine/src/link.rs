//! One link: a task that dials, shakes hands, serves requests, and dials again (spec 4).
//!
//! All rules are in the protocol's dialer and machine; this is the thin loop around them. The task owns its socket and the
//! requests it started: when it ends, they have ended.

mod connection;
mod farewell;
mod waiting;

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::{Clock, Limits, LinkId, SessionId, WallMs};
use drawbridge_os::root::Root;
use drawbridge_proto::executor::dialer::{Backoff, DialEffect, DialFailure, Dialer, TokenAge, Wish};
use drawbridge_proto::executor::machine::{End, Halt, HelloFacts, Negotiated, Role};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::account::{Account, AccountError, Bearer};
use crate::board::Board;
use crate::dial::{self, DialError, Socket};
use crate::dispatcher::Dispatcher;
use crate::hardware::Devices;
use crate::journal::Journal;
use crate::models::Models;
use crate::screen::{Offer, Screen};
use crate::view::{LinkState, LinkView};

/// What a link serves.
#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    /// Folders and chats.
    Control,
    /// One chat in its folder.
    Chat {
        /// The chat.
        session: SessionId,
        /// Its folder.
        root: Arc<Root>,
        /// The folder's path, the very text that the platform knows.
        allowed_root: String,
    },
}

/// Makes the facts of HELLO for the chat of a data link, or for the control link, with what of computer use is offered there.
pub(crate) type HelloMaker = Box<dyn Fn(Option<&SessionId>, &Offer) -> HelloFacts + Send + Sync>;

/// What all links share.
pub(crate) struct Shared {
    pub(crate) account: Account,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) models: Arc<Models>,
    pub(crate) devices: Arc<Devices>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) board: Arc<Board>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Local ceilings.
    pub(crate) limits: Limits,
    /// Backoff from the configuration.
    pub(crate) backoff: Backoff,
    /// Makes HELLO afresh for each connection, for the chat of a data link: capabilities follow the powers and its modes.
    pub(crate) hello: HelloMaker,
    /// Told of handshakes on a control link.
    pub(crate) on_control: Box<dyn Fn(&Negotiated) + Send + Sync>,
    /// Told when a control connection opens: earlier folder references die.
    pub(crate) on_control_open: Box<dyn Fn() + Send + Sync>,
    /// Numbers of connections, unique in this run.
    pub(crate) numbers: Arc<AtomicU64>,
}

/// What others may know about a running link.
pub(crate) struct LinkStatus {
    view: Mutex<LinkView>,
    /// Requests running now.
    pub(crate) in_flight: AtomicU32,
    /// Requests admitted that wait for a machine-wide slot.
    pub(crate) queued: Arc<AtomicU32>,
    /// Requests answered.
    pub(crate) answered: AtomicU64,
    /// When the last request came, wall time in milliseconds.
    pub(crate) last_request_ms: AtomicI64,
    /// When the last request came or ended.
    last_active: Mutex<Instant>,
}

impl LinkStatus {
    fn new(now: Instant) -> Self {
        Self {
            view: Mutex::new(LinkView { state: LinkState::Connecting, ..LinkView::default() }),
            in_flight: AtomicU32::new(0),
            queued: Arc::default(),
            answered: AtomicU64::new(0),
            last_request_ms: AtomicI64::new(0),
            last_active: Mutex::new(now),
        }
    }

    /// Returns the state for the window.
    pub(crate) fn view(&self) -> LinkView {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells how long nothing was asked; none while something runs.
    pub(crate) fn idle_for(&self, now: Instant) -> Option<Duration> {
        (self.in_flight.load(Ordering::Relaxed) == 0)
            .then(|| now.saturating_duration_since(*self.last_active.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn active(&self, now: Instant) {
        *self.last_active.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

/// What may be asked of a running link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Dial now instead of waiting; also ends a halt.
    Connect,
    /// What is offered has grown: say HELLO again as soon as nothing runs.
    Renew,
    /// What is offered has shrunk: end what runs and say HELLO again.
    RenewNow,
}

/// Why a link task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkEnd {
    /// We stopped it.
    Stopped,
    /// It ended for good.
    Halted(Halt),
}

/// A running link.
pub(crate) struct LinkHandle {
    pub(crate) stop: CancellationToken,
    pub(crate) orders: mpsc::Sender<Order>,
    pub(crate) status: Arc<LinkStatus>,
    pub(crate) task: tokio::task::JoinHandle<LinkEnd>,
}

impl LinkHandle {
    /// Stops the link and waits until everything it started has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Err(fault) = self.task.await {
            tracing::error!(%fault, "a link task failed");
        }
    }

    /// Gives an order. A link that is swamped with orders has a newer one already.
    pub(crate) fn order(&self, order: Order) {
        let _ = self.orders.try_send(order);
    }
}

/// Starts a link. `main` says that its state is the one the window shows on top.
pub(crate) fn start(purpose: Purpose, shared: Arc<Shared>, main: bool) -> LinkHandle {
    let stop = CancellationToken::new();
    let (orders, inbox) = mpsc::channel(8);
    let status = Arc::new(LinkStatus::new(shared.clock.now()));
    let link = Link { purpose, shared, status: status.clone(), stop: stop.clone(), inbox, main, used: None };
    LinkHandle { stop, orders, status, task: tokio::spawn(link.run()) }
}

struct Link {
    purpose: Purpose,
    shared: Arc<Shared>,
    status: Arc<LinkStatus>,
    stop: CancellationToken,
    inbox: mpsc::Receiver<Order>,
    main: bool,
    /// The token of the latest attempt: the one to replace when it was refused.
    used: Option<Bearer>,
}

impl Link {
    async fn run(mut self) -> LinkEnd {
        let numbers = self.shared.numbers.clone();
        let next = Box::new(move || LinkId::new(numbers.fetch_add(1, Ordering::Relaxed) + 1));
        let mut dialer = Dialer::new(self.shared.backoff, Box::new(random_fraction), next);
        let mut todo = dialer.on_wanted(Wish::Surroundings, self.shared.clock.now());
        loop {
            let Some(effect) = todo.pop() else {
                match self.wait(&mut dialer).await {
                    Some(effects) => todo = effects,
                    None => return self.ended(LinkEnd::Stopped),
                }
                continue;
            };
            // One attempt at a time: each list holds at most one effect that starts something.
            todo.clear();
            todo = match effect {
                DialEffect::Dial(link) => match self.attempt(link, &mut dialer).await {
                    Some(effects) => effects,
                    None => return self.ended(LinkEnd::Stopped),
                },
                DialEffect::RefreshThenDial(link) => match self.refresh_then_attempt(link, &mut dialer).await {
                    Some(effects) => effects,
                    None => return self.ended(LinkEnd::Stopped),
                },
                DialEffect::Wait { code, reason, .. } => {
                    self.show(LinkState::Waiting, Some((code, reason)));
                    Vec::new()
                }
                DialEffect::Halt(halt) => {
                    tracing::warn!(reason = %halt.reason, "link halted");
                    return self.ended(LinkEnd::Halted(halt));
                }
                // The task serves one connection at a time, so an older one is gone before a newer one is dialled.
                DialEffect::Drop(_) => Vec::new(),
            };
        }
    }

    /// Waits until the dialer wants something. None when the link is stopped.
    async fn wait(&mut self, dialer: &mut Dialer) -> Option<Vec<DialEffect>> {
        let deadline = dialer.deadline();
        let clock = self.shared.clock.clone();
        tokio::select! {
            () = self.stop.cancelled() => None,
            order = self.inbox.recv() => match order? {
                Order::Connect => Some(dialer.on_wanted(Wish::Person, clock.now())),
                // The next HELLO is made afresh anyway.
                Order::Renew | Order::RenewNow => Some(Vec::new()),
            },
            () = sleep_until(deadline) => Some(dialer.on_tick(clock.now())),
        }
    }

    async fn refresh_then_attempt(&mut self, link: LinkId, dialer: &mut Dialer) -> Option<Vec<DialEffect>> {
        let account = self.shared.account.clone();
        let Some(used) = self.used.clone() else { return self.attempt(link, dialer).await };
        let refreshed = tokio::select! {
            () = self.stop.cancelled() => return None,
            refreshed = account.refresh_if(&used.token) => refreshed,
        };
        match refreshed {
            Ok(renewal) => {
                if renewal.renewed {
                    self.shared.journal.event(None, "TOKEN_REFRESHED", serde_json::json!({}));
                }
                self.attempt(link, dialer).await
            }
            Err(fault) => Some(self.dial_failed(link, dialer, failure_of_account(&fault), TokenAge::Unknown)),
        }
    }

    /// Makes one connection and serves it to its end. None when the link is stopped.
    async fn attempt(&mut self, link: LinkId, dialer: &mut Dialer) -> Option<Vec<DialEffect>> {
        self.show(LinkState::Connecting, None);
        let shared = self.shared.clone();
        let bearer = match shared.account.bearer() {
            Ok(bearer) => bearer,
            Err(fault) => {
                return Some(self.dial_failed(link, dialer, failure_of_account(&fault), TokenAge::Unknown));
            }
        };
        self.used = Some(bearer.clone());
        let url = self.url();
        let dialled = tokio::select! {
            () = self.stop.cancelled() => return None,
            dialled = dial::dial(&url, &bearer.token, shared.account.net()) => dialled,
        };
        let socket = match dialled {
            Ok(socket) => socket,
            Err(fault) => {
                let age = age_of(&bearer, shared.clock.wall());
                return Some(self.dial_failed(link, dialer, failure_of_dial(&fault), age));
            }
        };
        dialer.on_connected(link, shared.clock.now());
        let (end, renewing) = self.serve(link, socket, dialer).await;
        if self.stop.is_cancelled() {
            return None;
        }
        let effects = dialer.on_ended(link, &end, shared.clock.now());
        if renewing {
            // We closed it ourselves to say HELLO afresh: no need to wait.
            return Some(dialer.on_wanted(Wish::Surroundings, shared.clock.now()));
        }
        Some(effects)
    }

    async fn serve(&mut self, link: LinkId, socket: Socket, dialer: &mut Dialer) -> (End, bool) {
        if matches!(self.purpose, Purpose::Control) {
            (self.shared.on_control_open)();
        }
        let chat = self.chat();
        self.shared.journal.ws_connected(chat.as_ref(), &self.url());
        let holder = self.shared.devices.holder(link, chat.as_ref().map_or("control", SessionId::as_str));
        let (end, renewing) = connection::serve(
            connection::Setup {
                link,
                role: self.role(),
                purpose: self.purpose.clone(),
                shared: self.shared.clone(),
                status: self.status.clone(),
                main: self.main,
            },
            socket,
            &self.stop,
            &mut self.inbox,
            dialer,
        )
        .await;
        holder.end().await;
        if let End::Revoked(revoked) = &end {
            self.shared.journal.session_revoked(chat.as_ref(), revoked);
        }
        self.shared.journal.ws_disconnected(chat.as_ref(), &end);
        (end, renewing)
    }

    fn dial_failed(&self, link: LinkId, dialer: &mut Dialer, failure: DialFailure, age: TokenAge) -> Vec<DialEffect> {
        tracing::info!(?failure, "could not connect");
        dialer.on_dial_failed(link, failure, age, self.shared.clock.now())
    }

    fn ended(&self, end: LinkEnd) -> LinkEnd {
        match &end {
            LinkEnd::Stopped => self.show(LinkState::Off, None),
            LinkEnd::Halted(halt) => self.show(LinkState::Halted, Some((halt.code, halt.reason.clone()))),
        }
        end
    }

    fn show(&self, state: LinkState, why: Option<(&str, String)>) {
        let (code, reason) = why.map(|(code, reason)| (code.to_owned(), reason)).unzip();
        show(&self.status, &self.shared.board, self.main, LinkView { state, reason, code });
    }

    fn chat(&self) -> Option<SessionId> {
        match &self.purpose {
            Purpose::Control => None,
            Purpose::Chat { session, .. } => Some(session.clone()),
        }
    }

    fn role(&self) -> Role {
        match &self.purpose {
            Purpose::Control => Role::Control,
            Purpose::Chat { session, allowed_root, .. } => {
                Role::Data { session: session.clone(), allowed_root: allowed_root.clone() }
            }
        }
    }

    fn url(&self) -> String {
        match &self.purpose {
            Purpose::Control => self.shared.account.platform().control_socket(),
            Purpose::Chat { session, .. } => self.shared.account.platform().data_socket(session),
        }
    }
}

fn show(status: &LinkStatus, board: &Board, main: bool, view: LinkView) {
    if main {
        board.set_link(view.clone());
    }
    *status.view.lock().unwrap_or_else(PoisonError::into_inner) = view;
    board.touch();
}

fn failure_of_dial(fault: &DialError) -> DialFailure {
    match fault.upgrade_status() {
        Some(status) => DialFailure::Status { status, retry_after: fault.retry_after },
        None => DialFailure::Network(fault.to_string()),
    }
}

fn failure_of_account(fault: &AccountError) -> DialFailure {
    // The dialer says itself that the platform cannot be reached.
    if let AccountError::Unreachable { why } = fault {
        return DialFailure::NotRenewed(why.clone());
    }
    if fault.is_passing() {
        DialFailure::NotRenewed(fault.to_string())
    } else {
        DialFailure::SignInNeeded(sentences(&fault.to_string()))
    }
}

/// The words of a fault as sentences of their own, without what the dialer says itself.
fn sentences(words: &str) -> String {
    let asked = ["sign in again", "sign in first"];
    let told = asked.iter().find_map(|ask| words.strip_suffix(ask)).unwrap_or(words).trim_end_matches([';', ' ', '.']);
    let mut letters = told.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).chain(['.']).collect()).unwrap_or_default()
}

fn age_of(bearer: &Bearer, now: WallMs) -> TokenAge {
    bearer.left(now).map_or(TokenAge::Unknown, TokenAge::Left)
}

/// Sleeps until then, or for ever.
async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Returns a random number from 0 up to 1, for jitter. Without randomness of the system there is no jitter.
fn random_fraction() -> f64 {
    let mut bytes = [0_u8; 4];
    if getrandom::fill(&mut bytes).is_err() {
        return 0.0;
    }
    f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needed_sign_in_is_told_in_sentences_and_asked_for_once() {
        let told = |fault: &AccountError| {
            let failure = failure_of_account(fault);
            let DialFailure::SignInNeeded(words) = failure else { panic!("{failure:?}") };
            words
        };
        assert_eq!(told(&AccountError::Refused { status: 400 }), "The platform refused the sign-in (400).");
        assert_eq!(told(&AccountError::SignedOut), "You are not signed in.");
        assert_eq!(told(&AccountError::RunOut), "Your sign-in has run out.");
        assert_eq!(told(&AccountError::Unusable { why: "no token".to_owned() }), "The sign-in did not work: no token.");
    }
}
