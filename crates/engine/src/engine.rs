//! The running engine: one task that owns the links, takes commands, and keeps time.
//!
//! What it is built from is in [`build`]; what a command does is in [`commands`]; how it looks from outside is in
//! [`publish`]. What takes long runs [`aside`].

mod accounts;
mod activity;
mod answers;
mod aside;
mod build;
mod commands;
mod devices;
mod folders;
mod models;
mod options;
mod privacy;
mod publish;
mod restore;
mod rules;
mod screen;
mod secrets;
mod start_error;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use drawbridge_caps::shell::Shell;
use drawbridge_core::{Clock, Power, SessionId};
use drawbridge_os::root::{Root, RootFault};
use drawbridge_proto::executor::machine::HaltKind;
use drawbridge_store::settings::Settings;
use drawbridge_store::state_dir::Owner;
use drawbridge_store::undo::UndoStore;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::accounts::Accounts;
use crate::board::Board;
use crate::consent::Broker;
use crate::handle::{Answer, Command, CommandError, EngineHandle, Reply};
use crate::hardware::Devices;
use crate::journal::Journal;
use crate::link::{self, LinkEnd, LinkHandle, Order, Purpose, Shared};
use crate::managed::{self, ManagedCell};
use crate::models::Models;
use crate::policy_cell::PolicyCell;
use crate::screen::Screen;
use crate::sessions::Sessions;
use crate::view::{AccountState, LinkState, LinkView};

use aside::{Aside, Todo};
use build::LegacySession;
pub(crate) use commands::sentence;
use folders::FolderChoice;
pub use options::{EngineOptions, Host, Overlay};
use publish::Publisher;
pub use start_error::StartError;

/// How often idle chats are looked for and a due refresh is made (spec 6.3).
const ROUND: Duration = Duration::from_secs(30);
/// Chats outlive a lost control link for so long (spec 4.6).
const CONTROL_GRACE: Duration = Duration::from_secs(600);

/// Why a headless engine ended; decides the exit code (`cli.md`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitKind {
    /// It was asked to.
    Stopped,
    /// The platform ended the session or its protocol does not fit: 76.
    Protocol(String),
    /// Not signed in, or refused: 77.
    Auth(String),
}

impl ExitKind {
    /// Returns the exit code of a program started by hand.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Stopped => 0,
            Self::Protocol(_) => 76,
            Self::Auth(_) => 77,
        }
    }
}

/// A running engine.
#[derive(Debug)]
pub struct Engine {
    handle: EngineHandle,
    stop: CancellationToken,
    task: JoinHandle<ExitKind>,
}

impl Engine {
    /// Starts an engine on a state folder. It owns the folder until it ends.
    ///
    /// # Errors
    /// [`StartError`] says what is missing and what to do.
    pub async fn start(options: EngineOptions) -> Result<Self, StartError> {
        build::start(options, None).await
    }

    /// Starts an engine for whoever owns its state folder already and serves the control socket in its place.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(crate) async fn start_behind(options: EngineOptions, owner: Owner) -> Result<Self, StartError> {
        build::start(options, Some(owner)).await
    }

    /// Returns the door to it.
    #[must_use]
    pub fn handle(&self) -> EngineHandle {
        self.handle.clone()
    }

    /// Asks it to end in order.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for its end.
    pub async fn wait(self) -> ExitKind {
        match self.task.await {
            Ok(exit) => exit,
            Err(fault) => ExitKind::Protocol(format!("the engine failed: {fault}")),
        }
    }
}

/// What the engine's task owns.
struct Core {
    settings: Arc<Settings>,
    /// What flags and configuration say over the stored settings.
    overlay: Overlay,
    can_ask: bool,
    policy: Arc<PolicyCell>,
    broker: Arc<Broker>,
    sessions: Arc<Sessions>,
    journal: Arc<Journal>,
    board: Arc<Board>,
    clock: Arc<dyn Clock>,
    account: Account,
    accounts: Arc<Accounts>,
    /// How many are taking the tokens back just now.
    leaving: Arc<AtomicUsize>,
    secrets: Arc<secrets::Place>,
    undo: Arc<UndoStore>,
    shared: Arc<Shared>,
    shell: Arc<Shell>,
    screen: Arc<Screen>,
    models: Arc<Models>,
    devices: Arc<Devices>,
    /// What the configuration says; an organisation can lower it while this runs.
    pictures_a_minute: u32,
    open_root: OpenRoot,
    folders: Arc<FolderChoice>,
    /// What an organisation has fixed.
    managed: Arc<ManagedCell>,
    /// A data link started by hand instead of the control link.
    legacy: Option<LegacySession>,
    /// A headless engine ends when its main link ends for good.
    ends_with_link: bool,
    main: Option<LinkHandle>,
    /// The person has to act before the main link is dialled again.
    halted: bool,
    control_lost_at: Option<Instant>,
    signed_in: (mpsc::Sender<bool>, mpsc::Receiver<bool>),
    stop: CancellationToken,
    control_socket: Option<JoinHandle<()>>,
    publish: Publisher,
    publisher: JoinHandle<()>,
    aside: Aside,
    /// Held to the very end: nobody else may touch the state folder before.
    _owner: Owner,
}

/// Opens a folder as a root.
type OpenRoot = Arc<dyn Fn(&str) -> Result<Root, RootFault> + Send + Sync>;

impl Core {
    async fn run(mut self, mut commands: mpsc::Receiver<(Command, Answer)>) -> ExitKind {
        self.journal.event(None, "SHIM_START", json!({ "shim_version": build::SHIM_VERSION }));
        self.start_main();
        let mut round = tokio::time::interval(ROUND);
        round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let exit = loop {
            tokio::select! {
                () = self.stop.cancelled() => break ExitKind::Stopped,
                ended = main_ended(&mut self.main) => {
                    if let Some(exit) = self.on_main_end(ended).await {
                        break exit;
                    }
                }
                Some((command, answer)) = commands.recv() => {
                    let last = command == Command::Shutdown;
                    match self.on_command(command).await {
                        Ok(Todo::Aside(job)) => self.aside.start(job, answer, self.publish.clone()),
                        Ok(Todo::Waiting(wait)) => self.aside.wait(wait, answer, self.publish.clone()),
                        Ok(Todo::Acting(act)) => self.aside.act(act, answer, self.publish.clone()),
                        Ok(Todo::Now(reply)) => self.answer_with(answer, Ok(reply)),
                        Err(fault) => self.answer_with(answer, Err(fault)),
                    }
                    if last {
                        break ExitKind::Stopped;
                    }
                }
                Some(good) = self.signed_in.1.recv() => {
                    if good {
                        self.halted = false;
                        self.start_main();
                    }
                }
                () = self.screen.grown() => self.renew_links(false),
                () = self.models.changed() => self.renew_links(false),
                () = self.devices.changed() => self.renew_links(false),
                _ = round.tick() => self.go_round().await,
            }
        };
        self.shut_down(&exit).await;
        exit
    }

    /// Answers a command, after showing what it changed.
    fn answer_with(&self, answer: Answer, result: Result<Reply, CommandError>) {
        self.publish.now();
        let _ = answer.send(result);
    }

    /// Starts the main link if it is wanted: signed in, lowered, not halted, not running.
    fn start_main(&mut self) {
        let leaving = self.leaving.load(Ordering::SeqCst) > 0;
        let wanted = !leaving
            && !self.halted
            && !self.managed.blocks()
            && !self.policy.get().raised
            && self.account.bearer().is_ok();
        if !wanted || self.main.is_some() {
            if self.main.is_none() && !self.halted {
                self.board.set_link(LinkView { state: LinkState::Off, ..LinkView::default() });
            }
            return;
        }
        let purpose = match &self.legacy {
            None => Purpose::Control,
            Some(legacy) => Purpose::Chat {
                session: legacy.session.clone(),
                allowed_root: legacy.root.path().to_owned(),
                root: legacy.root.clone(),
            },
        };
        self.main = Some(link::start(purpose, self.shared.clone(), true));
    }

    async fn on_main_end(&mut self, end: LinkEnd) -> Option<ExitKind> {
        self.main = None;
        let LinkEnd::Halted(halt) = end else { return None };
        self.halted = true;
        self.sessions.stop_all().await;
        let exit = match halt.kind {
            HaltKind::Protocol => ExitKind::Protocol(halt.reason),
            HaltKind::Auth => {
                self.account.refused();
                ExitKind::Auth(halt.reason)
            }
        };
        self.ends_with_link.then_some(exit)
    }

    async fn stop_links(&mut self) {
        let main = self.main.take();
        if let Some(main) = &main {
            main.stop.cancel();
        }
        let chats = self.sessions.stop_all();
        match main {
            Some(main) => drop(tokio::join!(main.stop(), chats)),
            None => chats.await,
        }
        self.board.set_link(LinkView { state: LinkState::Off, ..LinkView::default() });
    }

    /// What is offered has changed: every link says HELLO again. `at_once` does not wait for what runs.
    fn renew_links(&self, at_once: bool) {
        let order = if at_once { Order::RenewNow } else { Order::Renew };
        if let Some(main) = &self.main {
            main.order(order);
        }
        self.sessions.renew_all(order);
    }

    /// What is offered to one chat has changed: its data link says HELLO again.
    fn renew_chat(&self, session: &SessionId, at_once: bool) {
        let order = if at_once { Order::RenewNow } else { Order::Renew };
        match (&self.main, &self.legacy) {
            (Some(main), Some(legacy)) if legacy.session == *session => main.order(order),
            _ => self.sessions.renew(session, order),
        }
    }

    async fn go_round(&mut self) {
        let broker = self.broker.clone();
        for (session, idle) in self.sessions.sweep(|session| broker.has_open(session)).await {
            let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
            self.journal.event(Some(&session), "IDLE_SESSION_DETACH", json!({ "idle_ms": idle_ms }));
        }
        self.mind_control_link().await;
        self.mind_the_policy().await;
        self.mind_the_accounts();
        self.screen.round();
        self.devices.round();
        self.models.round();
        let (account, journal) = (self.account.clone(), self.journal.clone());
        tokio::spawn(async move {
            match account.refresh_if_due().await {
                Ok(Some(renewal)) if renewal.renewed => {
                    journal.event(None, "TOKEN_REFRESHED", json!({}));
                }
                Ok(_) => {}
                Err(fault) => tracing::info!(%fault, "the token could not be renewed ahead of time"),
            }
        });
    }

    /// What an organisation takes away holds from the next round on; what it gives back, at the next start.
    async fn mind_the_policy(&mut self) {
        let (cell, platform) = (self.managed.clone(), self.account.platform().shown().to_owned());
        let looked = tokio::task::spawn_blocking(move || cell.look(&platform)).await;
        let Ok(Some((policy, trouble))) = looked else { return };
        tracing::info!(fixed = ?policy.locked, "the organisation's policy has changed");
        let before = self.policy.get();
        let after = self.policy.hold(|state| managed::limit(&policy, state));
        self.journal.event(None, "POLICY_CHANGED", json!({ "managed": policy.locked }));
        if let Some(most) = policy.limits.max_screenshots_per_minute {
            self.screen.set_pace(self.pictures_a_minute.min(most));
        }
        self.overlay.managed = Some(policy);
        self.apply_shell(&after);
        self.models.follow();
        self.apply_screen(&before, &after).await;
        self.devices.follow(&before, &after).await;
        if trouble.is_some() {
            self.halted = true;
            self.broker.raise();
            self.stop_links().await;
            self.board.set_trouble(trouble);
        } else if Power::ALL.iter().any(|power| before.offers(*power) && !after.offers(*power)) {
            self.renew_links(true);
        }
        self.board.touch();
    }

    /// The command line may have signed another account in or out.
    fn mind_the_accounts(&self) {
        let (accounts, board) = (self.accounts.clone(), self.board.clone());
        tokio::task::spawn_blocking(move || {
            if accounts.book.ids().len() > 1 && accounts.look() {
                board.touch();
            }
        });
    }

    /// Chats survive a control link that comes back soon.
    async fn mind_control_link(&mut self) {
        let connected = self.board.link().state == LinkState::Connected;
        if connected || self.legacy.is_some() {
            self.control_lost_at = None;
            return;
        }
        let now = self.clock.now();
        let since = *self.control_lost_at.get_or_insert(now);
        if now.saturating_duration_since(since) >= CONTROL_GRACE {
            self.sessions.stop_all().await;
        }
    }

    async fn shut_down(&mut self, exit: &ExitKind) {
        self.account.cancel_sign_in();
        self.broker.raise();
        let screen = self.screen.clone();
        let devices = self.devices.clone();
        let models = self.models.clone();
        tokio::join!(self.stop_links(), screen.end(), devices.end(), models.trials.end_all());
        self.aside.end().await;
        let reason = match exit {
            ExitKind::Stopped => "user",
            ExitKind::Protocol(_) => "protocol_halt",
            ExitKind::Auth(_) => "auth",
        };
        self.journal.event(None, "SHIM_STOP", json!({ "reason": reason }));
        self.account.settle().await;
        self.stop.cancel();
        if let Some(socket) = self.control_socket.take() {
            let _ = socket.await;
        }
        self.publisher.abort();
        let _ = (&mut self.publisher).await;
        self.sessions.set_starter(None);
        let journal = self.journal.clone();
        let _ = tokio::task::spawn_blocking(move || journal.close()).await;
    }

    fn signing_in(&self) -> bool {
        self.account.view().state == AccountState::SigningIn
    }
}

/// Waits for the end of the main link, or for ever when there is none.
async fn main_ended(main: &mut Option<LinkHandle>) -> LinkEnd {
    match main {
        Some(link) => (&mut link.task).await.unwrap_or_else(|fault| {
            tracing::error!(%fault, "the main link failed");
            LinkEnd::Stopped
        }),
        None => std::future::pending().await,
    }
}

/// Parses a chat's id that came from a person.
fn chat(text: &str) -> Option<SessionId> {
    SessionId::parse(text).ok()
}
