//! Chats and their folders: attach, activate, restore, detach, idle stop, local revocation (spec 6).
//!
//! The grants' signatures are policy's, the folder's handle is `os`'s, what is remembered is the store's. Here is the order
//! of the steps, and who is alive.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_caps::browse::{BrowseHold, Browser};
use drawbridge_core::{
    Binding, BrowsePlace, Clock, OpError, Operation, Outcome, Power, SessionId, SessionOp, escape_outside_text,
};
use drawbridge_os::root::{DirectoryIdentity, Root};
use drawbridge_policy::{Fingerprint, GrantClaims, GrantFault, GrantKey, Permit, directory_fingerprint};
use drawbridge_store::bindings::{Bindings, Kept};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex as AsyncMutex;

use crate::board::Board;
use crate::link::{LinkHandle, Order};
use crate::view::{ChatView, LinkState};

/// Chats with a live data link at once (spec 6.3).
const MAX_LIVE: usize = 8;
/// Chats without a folder that the person sees, because the platform may open them again by their grant.
const MOST_CLOSED: usize = 50;
/// A chat without a data request for so long is stopped; its grant stays good.
const IDLE_STOP: Duration = Duration::from_secs(600);

/// Starts the data link of a chat.
pub(crate) type StartChat = Box<dyn Fn(SessionId, Arc<Root>, String) -> LinkHandle + Send + Sync>;

/// Opens a folder as a root; the engine closes over what is protected.
pub(crate) type OpenRoot = Box<dyn Fn(&str) -> Result<Root, String> + Send + Sync>;

/// What the sessions are made of.
pub(crate) struct Parts {
    pub(crate) bindings: Arc<Bindings>,
    pub(crate) key: GrantKey,
    pub(crate) machine_id: String,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) browser: Arc<Browser>,
    pub(crate) board: Arc<Board>,
    pub(crate) open_root: OpenRoot,
}

struct Live {
    binding: Binding,
    link: LinkHandle,
    /// A chat at work must not lose its folder to newer ones.
    _kept: Kept,
}

/// The chats.
pub(crate) struct Sessions {
    parts: Parts,
    start: Mutex<Option<StartChat>>,
    live: Mutex<BTreeMap<SessionId, Live>>,
    /// Operations on one chat run one after the other.
    turns: Mutex<BTreeMap<SessionId, Arc<AsyncMutex<()>>>>,
}

impl Sessions {
    pub(crate) fn new(parts: Parts) -> Self {
        Self { parts, start: Mutex::default(), live: Mutex::default(), turns: Mutex::default() }
    }

    /// Says how data links are started. None at the end: the starter holds what in turn holds the sessions.
    pub(crate) fn set_starter(&self, start: Option<StartChat>) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = start;
    }

    /// Runs a permitted operation on chats.
    ///
    /// `folder` is the one that the person was shown, for an attachment that was asked about.
    pub(crate) async fn run(&self, permit: Permit, folder: Option<DirectoryIdentity>) -> Result<Outcome, OpError> {
        let Operation::Session(op) = permit.into_operation() else {
            return Err(OpError::Internal("not an operation on chats".to_owned()));
        };
        let turn = self.turn(op.session());
        let _mine = turn.lock().await;
        match op {
            SessionOp::Attach { session, place } => self.attach(session, &place, folder),
            SessionOp::Activate { session, revision } => self.activate(session, revision),
            SessionOp::Restore { session, root_grant } => self.restore(session, root_grant).await,
            SessionOp::Detach { session } => {
                self.detach(&session).await;
                Ok(Outcome::Done)
            }
        }
    }

    /// Refuses what needs no question: it would fail whatever the person says.
    pub(crate) fn check_before_asking(&self, op: &SessionOp) -> Result<(), OpError> {
        match op {
            SessionOp::Attach { session, place } => {
                self.refuse_if_live(session)?;
                self.parts.browser.resolve(place).map(|_| ())
            }
            SessionOp::Activate { .. } | SessionOp::Restore { .. } | SessionOp::Detach { .. } => Ok(()),
        }
    }

    /// Returns the folder behind a reference and which one it is, for a question. Reads the disk.
    pub(crate) fn folder_of(&self, place: &BrowsePlace) -> Result<(String, DirectoryIdentity), OpError> {
        let path = self.parts.browser.resolve(place)?;
        let root = (self.parts.open_root)(&path).map_err(|why| OpError::DirectoryUnavailable { why })?;
        Ok((root.path().to_owned(), root.identity()))
    }

    /// Tells whether the person themselves offered this very folder for the next chat.
    pub(crate) fn is_offered(&self, path: &str, identity: DirectoryIdentity) -> bool {
        let offer = self.parts.browser.offered();
        offer.is_some_and(|offer| offer.path.to_str() == Some(path) && offer.identity == identity)
    }

    /// Returns the folders of all chats.
    pub(crate) fn attached_folders(&self) -> Vec<PathBuf> {
        let bound = self.parts.bindings.list().into_iter().filter(|bound| bound.attached && !bound.revoked);
        bound.map(|bound| PathBuf::from(bound.allowed_root)).collect()
    }

    /// Returns what the audit log needs and only the time before knows.
    pub(crate) fn facts_before(&self, op: &SessionOp) -> Map<String, Value> {
        let bound = self.parts.bindings.get(op.session()).filter(|bound| bound.attached);
        let facts = match op {
            SessionOp::Attach { session, .. } => json!({
                "session_id": session.as_str(),
                "previous_allowed_root": bound.map(|bound| bound.allowed_root),
            }),
            SessionOp::Activate { session, .. } | SessionOp::Restore { session, .. } => {
                json!({ "session_id": session.as_str() })
            }
            SessionOp::Detach { .. } => json!({
                "allowed_root": bound.as_ref().map(|bound| bound.allowed_root.clone()),
                "revision": bound.map(|bound| bound.revision),
            }),
        };
        match facts {
            Value::Object(map) => map,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        }
    }

    fn attach(
        &self,
        session: SessionId,
        place: &BrowsePlace,
        shown: Option<DirectoryIdentity>,
    ) -> Result<Outcome, OpError> {
        self.refuse_if_live(&session)?;
        let path = self.parts.browser.resolve(place)?;
        let root = (self.parts.open_root)(&path).map_err(|why| OpError::DirectoryUnavailable { why })?;
        if shown.is_some_and(|shown| shown != root.identity()) {
            return Err(OpError::ChangedSinceAsked { power: Power::Attach });
        }
        let issued_at = self.parts.clock.wall().seconds();
        let allowed_root = root.path().to_owned();
        let fingerprint = fingerprint_of(&root);
        let revision = self
            .parts
            .bindings
            .attach(&session, &allowed_root, &fingerprint, issued_at)
            .map_err(|fault| OpError::Internal(fault.to_string()))?;
        let claims = GrantClaims {
            allowed_root: allowed_root.clone(),
            fingerprint: fingerprint.clone(),
            issued_at,
            machine_id: self.parts.machine_id.clone(),
            revision,
            session: session.clone(),
        };
        let root_grant = self.parts.key.sign(&claims);
        // Only now: a failure above must not cost the browse.
        self.parts.browser.consume(&place.browse_id);
        if self.is_offered(&allowed_root, root.identity()) {
            self.parts.browser.offer(None);
        }
        self.parts.board.touch();
        Ok(Outcome::Attached { binding: Binding { session, allowed_root, fingerprint, revision }, root_grant })
    }

    fn activate(&self, session: SessionId, revision: u64) -> Result<Outcome, OpError> {
        let kept = self.parts.bindings.keep(&session);
        let bound = self.parts.bindings.get(&session).filter(|bound| bound.attached);
        let Some(bound) = bound else { return Err(OpError::NotAttached { session }) };
        if bound.revision != revision {
            return Err(OpError::RevisionMismatch { current: bound.revision });
        }
        self.refuse_if_revoked(&session, revision, bound.issued_at)?;
        let binding = Binding { session, allowed_root: bound.allowed_root, fingerprint: bound.fingerprint, revision };
        let root = self.open_bound(&binding)?;
        self.start_chat(&binding, root, kept)?;
        Ok(Outcome::Activated(binding))
    }

    async fn restore(&self, session: SessionId, root_grant: String) -> Result<Outcome, OpError> {
        let claims = self
            .parts
            .key
            .verify(&root_grant, &session, &self.parts.machine_id)
            .map_err(|fault| OpError::GrantInvalid { why: words(fault), reason: None })?;
        self.refuse_if_revoked(&session, claims.revision, claims.issued_at)?;
        let kept = self.parts.bindings.keep(&session);
        let binding = Binding {
            session: session.clone(),
            allowed_root: claims.allowed_root,
            fingerprint: claims.fingerprint,
            revision: claims.revision,
        };
        let root = self.open_bound(&binding)?;
        if let Some(known) = self.parts.bindings.get(&session) {
            let other = known.revision == binding.revision && known.fingerprint != binding.fingerprint;
            if known.revision > binding.revision || other {
                return Err(OpError::RevisionMismatch { current: known.revision });
            }
        }
        let alive = self.lock().get(&session).map(|live| live.binding.clone());
        if alive.is_some_and(|alive| alive != binding) {
            self.stop_link(&session).await;
        }
        self.parts
            .bindings
            .restore(&binding, claims.issued_at)
            .map_err(|fault| OpError::Internal(fault.to_string()))?;
        self.start_chat(&binding, root, kept)?;
        Ok(Outcome::Restored { binding, root_grant })
    }

    /// Stops a chat and forgets its attachment; the grant stays good.
    pub(crate) async fn detach(&self, session: &SessionId) {
        self.stop_link(session).await;
        if let Err(fault) = self.parts.bindings.detach(session) {
            tracing::error!(%fault, "could not store that a chat was detached");
        }
        self.parts.board.touch();
    }

    /// Takes a chat's folder back: stops it, and its grants stop working here.
    ///
    /// # Errors
    /// Why it could not be stored; the chat is stopped all the same.
    pub(crate) async fn forget(&self, session: &SessionId) -> Result<(), String> {
        let turn = self.turn(session);
        let _mine = turn.lock().await;
        let stored = self.parts.bindings.revoke(session).map_err(|fault| fault.to_string());
        self.stop_link(session).await;
        self.parts.board.touch();
        stored
    }

    /// Takes their folders back for good from all chats that are closed, and returns those chats.
    pub(crate) fn forget_closed(&self) -> Result<Vec<SessionId>, String> {
        let closed = self.parts.bindings.revoke_closed().map_err(|fault| fault.to_string());
        self.parts.board.touch();
        closed
    }

    /// Keeps the browse of an attachment alive while its question is open.
    pub(crate) fn hold_browse(&self, operation: &Operation) -> Option<BrowseHold> {
        match operation {
            Operation::Session(SessionOp::Attach { place, .. }) => Some(self.parts.browser.hold(&place.browse_id)),
            Operation::Session(_)
            | Operation::File(_)
            | Operation::Command(_)
            | Operation::Browse(_)
            | Operation::Computer(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => None,
        }
    }

    /// Tells whether this chat is known here.
    pub(crate) fn knows(&self, session: &SessionId) -> bool {
        self.parts.bindings.get(session).is_some()
    }

    /// Detaches by the person's wish, in turn with the platform's wishes.
    pub(crate) async fn detach_in_turn(&self, session: &SessionId) {
        let turn = self.turn(session);
        let _mine = turn.lock().await;
        self.detach(session).await;
    }

    /// Stops every data link and waits for them.
    pub(crate) async fn stop_all(&self) {
        let all: Vec<Live> = std::mem::take(&mut *self.lock()).into_values().collect();
        for live in &all {
            live.link.stop.cancel();
        }
        for live in all {
            live.link.stop().await;
        }
        self.parts.board.touch();
    }

    /// Tells every data link that what is offered has changed.
    pub(crate) fn renew_all(&self, order: Order) {
        for live in self.lock().values() {
            live.link.order(order);
        }
    }

    /// Tells the data link of one chat that what is offered to it has changed.
    pub(crate) fn renew(&self, session: &SessionId, order: Order) {
        if let Some(live) = self.lock().get(session) {
            live.link.order(order);
        }
    }

    /// Stops chats without a data request for ten minutes, and clears away links that ended by themselves. Returns
    /// whom it stopped, with their idle time.
    pub(crate) async fn sweep(&self, has_question: impl Fn(&SessionId) -> bool) -> Vec<(SessionId, Duration)> {
        let now = self.parts.clock.now();
        let idle: Vec<(SessionId, Duration)> = self
            .lock()
            .iter()
            .filter(|(session, live)| !live.link.task.is_finished() && !has_question(session))
            .filter_map(|(session, live)| Some((session.clone(), live.link.status.idle_for(now)?)))
            .filter(|(_, idle)| *idle >= IDLE_STOP)
            .collect();
        for (session, _) in &idle {
            self.stop_link(session).await;
        }
        self.parts.board.touch();
        idle
    }

    /// Returns the chats for the window, newest use first.
    pub(crate) fn views(&self) -> Vec<ChatView> {
        let live = self.lock();
        let mut views: Vec<ChatView> = self
            .parts
            .bindings
            .list_shown(&|id| live.keys().any(|session| session.as_str() == id), MOST_CLOSED)
            .into_iter()
            .map(|bound| {
                let link = live.get(&bound.session).map(|live| &live.link);
                let last_request =
                    link.map_or(0, |link| link.status.last_request_ms.load(std::sync::atomic::Ordering::Relaxed));
                ChatView {
                    session_id: bound.session.as_str().to_owned(),
                    folder: escape_outside_text(&bound.allowed_root),
                    revision: bound.revision,
                    attached: bound.attached,
                    active: link.is_some_and(|link| !link.task.is_finished()),
                    link: link.map_or(LinkState::Off, |link| link.status.view().state),
                    in_flight: link.map_or(0, |link| link.status.in_flight.load(std::sync::atomic::Ordering::Relaxed)),
                    requests: link.map_or(0, |link| link.status.answered.load(std::sync::atomic::Ordering::Relaxed)),
                    revoked: bound.revoked,
                    last_used_ms: bound.last_used_ms.max(last_request),
                    attached_ms: bound.issued_at.saturating_mul(1000),
                    ..ChatView::default()
                }
            })
            .collect();
        views.sort_by(|a, b| b.last_used_ms.cmp(&a.last_used_ms).then_with(|| a.session_id.cmp(&b.session_id)));
        views
    }

    fn start_chat(&self, binding: &Binding, root: Root, kept: Kept) -> Result<(), OpError> {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(start) = start.as_ref() else {
            return Err(OpError::Internal("Drawbridge is shutting down".to_owned()));
        };
        let mut live = self.lock();
        live.retain(|_, live| !live.link.task.is_finished());
        if live.contains_key(&binding.session) {
            return Ok(());
        }
        if live.len() >= MAX_LIVE {
            return Err(OpError::Overloaded {
                what: "active chats",
                reason: "active_sessions",
                max: u32::try_from(MAX_LIVE).unwrap_or(u32::MAX),
            });
        }
        let link = start(binding.session.clone(), Arc::new(root), binding.allowed_root.clone());
        live.insert(binding.session.clone(), Live { binding: binding.clone(), link, _kept: kept });
        drop(live);
        self.parts.bindings.touch(&binding.session, self.parts.clock.wall());
        self.parts.board.touch();
        Ok(())
    }

    async fn stop_link(&self, session: &SessionId) {
        let live = self.lock().remove(session);
        if let Some(live) = live {
            live.link.stop().await;
        }
    }

    /// Opens the folder of an attachment and checks that it is still the very same one.
    fn open_bound(&self, binding: &Binding) -> Result<Root, OpError> {
        let invalid = |why| OpError::GrantInvalid { why, reason: None };
        let root = (self.parts.open_root)(&binding.allowed_root)
            .map_err(|_| invalid("its folder is gone, has become a link, or cannot be used"))?;
        if root.path() != binding.allowed_root {
            return Err(invalid("its folder is reached through a link now"));
        }
        if fingerprint_of(&root) != binding.fingerprint {
            return Err(invalid("its folder was replaced by another one"));
        }
        Ok(root)
    }

    fn refuse_if_live(&self, session: &SessionId) -> Result<(), OpError> {
        let live = self.lock().get(session).is_some_and(|live| !live.link.task.is_finished());
        if live { Err(OpError::AlreadyActive { session: session.clone() }) } else { Ok(()) }
    }

    fn refuse_if_revoked(&self, session: &SessionId, revision: u64, issued_at: i64) -> Result<(), OpError> {
        if self.parts.bindings.refuses(session, revision, issued_at) {
            let why = "the person at this computer took it back; attach the folder again";
            return Err(OpError::GrantInvalid { why, reason: Some("revoked_locally") });
        }
        Ok(())
    }

    fn turn(&self, session: &SessionId) -> Arc<AsyncMutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // Turns that nobody holds are forgotten, so that the map stays as small as the work at hand.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(session.clone()).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fingerprint_of(root: &Root) -> String {
    let id = root.identity();
    directory_fingerprint(Fingerprint { device: id.device, inode: id.inode }, root.path())
}

const fn words(fault: GrantFault) -> &'static str {
    match fault {
        GrantFault::Malformed => "it is malformed",
        GrantFault::Signature => "its signature is not from this computer",
        GrantFault::Claims => "its claims are malformed",
        GrantFault::OtherSession => "it belongs to another chat",
        GrantFault::OtherMachine => "it belongs to another computer",
    }
}
