//! Screen, pointer, keyboard, windows, apps and clipboard (spec 10).
//!
//! One operation at a time on the whole machine. Each runs on a thread of its own, since a display server may hang: then that
//! thread is left behind, the peer gets an answer, and the next operation opens a connection of its own. Before anything is
//! seen or touched, [`guard`] asks whose window it is. Nothing here asks the person and nothing reads settings: [`Rules`] come
//! with each operation.

mod apps;
mod clipboard;
mod faults;
mod features;
mod guard;
mod input;
mod permissions;
mod picture;
mod preview;
mod rest;
mod screenshot;
mod seats;
mod space;
mod windows;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drawbridge_core::computer::{AppLaunchOp, ComputerOp, InputOp};
use drawbridge_core::{Clock, OpError, Operation, Outcome, Power, SessionId};
use drawbridge_os::seat::Seat;
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use features::Features;
pub use preview::{LaunchTarget, Reached};
use seats::Seats;

use crate::{Capability, RunCtx, Shown};

/// Longer than any operation may take: 100,000 characters at the slowest pace.
const LONGEST: Duration = Duration::from_secs(540);
/// The agent's input waits at most so long until the person has left pointer and keyboard alone.
pub(crate) const PERSON_FIRST: Duration = Duration::from_secs(2);

/// What the agent may read of the clipboard (spec 10.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClipboardRule {
    /// Nothing, and it may not write either.
    #[default]
    Off,
    /// What it wrote itself in the last 30 seconds.
    OwnText,
    /// Also what others put there, unless they marked it as secret.
    Foreign,
}

/// What the person's settings say about one operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Only these apps may be seen and used; none means all that are not protected. Compared with a window's class, instance,
    /// program name and app identifier, in any case.
    pub only_apps: Option<Vec<String>>,
    /// These apps may never be seen or used, on top of the protected ones.
    pub never_apps: Vec<String>,
    /// Terminals may be used: commands are allowed without a question and with everything that the person can do.
    pub terminals: bool,
    /// The clipboard.
    pub clipboard: ClipboardRule,
    /// Pictures of scaled displays keep all their pixels.
    pub full_resolution: bool,
}

/// How often pictures may be taken, which an organisation can lower while this runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputerSettings {
    /// Pictures a minute, over all chats; attempts count.
    pub screenshots_per_minute: u32,
}

/// One operation on its way.
pub(crate) struct Job {
    /// What the person's settings say.
    pub(crate) rules: Rules,
    /// The chat.
    pub(crate) session: Option<SessionId>,
    /// The largest picture or clipboard text, in bytes.
    pub(crate) max_bytes: u64,
    /// What the person saw when they said yes.
    pub(crate) shown: Option<Shown>,
    /// Fires when it must end.
    pub(crate) cancel: CancellationToken,
}

impl Job {
    /// Ends an operation that nobody wants any more.
    pub(crate) fn go_on(&self) -> Result<(), OpError> {
        if self.cancel.is_cancelled() { Err(OpError::Cancelled) } else { Ok(()) }
    }
}

struct Inner {
    seats: Seats,
    clock: Arc<dyn Clock>,
    windows: windows::Registry,
    sight: guard::Sight,
    probed: features::Probed,
    input: input::Memory,
    own_text: clipboard::OwnText,
    shots: screenshot::Shots,
    settings: Mutex<ComputerSettings>,
}

/// The right to be the one that uses the seat. Over when it is dropped.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held, not read")] Option<tokio::sync::OwnedMutexGuard<()>>);

/// The capability. Cheap to clone.
#[derive(Clone)]
pub struct Computer {
    inner: Arc<Inner>,
    /// One operation at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    rest: rest::Rest,
}

impl Computer {
    /// Makes the capability for a seat. Opens nothing yet.
    #[must_use]
    pub fn new(seat: Seat, settings: ComputerSettings, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            seats: Seats::new(seat),
            clock,
            windows: windows::Registry::default(),
            sight: guard::Sight::default(),
            probed: features::Probed::default(),
            input: input::Memory::default(),
            own_text: clipboard::OwnText::default(),
            shots: screenshot::Shots::default(),
            settings: Mutex::new(settings),
        };
        Self { inner: Arc::new(inner), turn: Arc::default(), rest: rest::Rest::default() }
    }

    /// Changes the settings from now on.
    pub fn set(&self, settings: ComputerSettings) {
        *self.inner.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Looks what this seat can do, for HELLO, and remembers it. Blocks, at most 300 ms.
    #[must_use]
    pub fn probe(&self, clipboard: ClipboardRule) -> Features {
        self.rest_later();
        self.inner.probed.get(&self.inner, clipboard)
    }

    /// Makes the next [`Computer::probe`] look again: after a permission or a setting of the system changed.
    pub fn look_again(&self) {
        self.inner.probed.forget();
    }

    /// Forgets the windows that a chat was told about: at each HELLO (spec 10.6).
    pub fn forget_windows(&self, session: &SessionId) {
        self.inner.windows.forget(session);
    }

    /// Gives up the clipboard at the end: what is held there goes to a clipboard manager, where there is one, and is gone
    /// elsewhere. Blocks, two seconds at most.
    pub fn give_up_clipboard(&self) {
        self.inner.seats.forget_clipboard();
    }

    /// Releases every key and button that is held: on raise, on detach, when a link is lost, at the end. Blocks.
    pub fn release_all(&self) {
        self.inner.seats.release_all();
    }

    /// The same, once the operation that uses the seat has ended.
    pub async fn release_in_turn(&self) {
        let turn = self.turn.clone().lock_owned().await;
        let inner = self.inner.clone();
        let released = tokio::task::spawn_blocking(move || {
            inner.seats.release_all();
            drop(turn);
        });
        if let Err(fault) = released.await {
            tracing::warn!(%fault, "what was held down was not released properly");
        }
    }

    /// Finds what an app to start is at this moment, for a question. Blocks.
    ///
    /// # Errors
    /// What the start would fail with whatever the person says.
    pub fn launch_target(&self, op: &AppLaunchOp) -> Result<LaunchTarget, OpError> {
        self.rest_later();
        preview::launch_target(&self.inner.seats, op)
    }

    /// Finds whose window an operation would reach at this moment, for a question. Blocks.
    #[must_use]
    pub fn reached(&self, op: &ComputerOp) -> Option<Reached> {
        self.rest_later();
        preview::reached(&self.inner.seats, op)
    }

    /// Tells whether the person uses pointer or keyboard, so that the agent's input waits. Asks nobody.
    #[must_use]
    pub fn person_active(&self) -> bool {
        self.inner.seats.person_acted().is_some_and(|ago| ago < PERSON_FIRST)
    }

    /// Waits until it is an operation's turn. What may have changed meanwhile is checked between this and [`Computer::run_in`].
    ///
    /// # Errors
    /// [`OpError::Cancelled`].
    pub async fn turn(&self, op: &ComputerOp, cancel: &CancellationToken) -> Result<Turn, OpError> {
        if matches!(op, ComputerOp::Input(InputOp::Wait { .. })) {
            return Ok(Turn(None));
        }
        tokio::select! {
            turn = self.turn.clone().lock_owned() => Ok(Turn(Some(turn))),
            () = cancel.cancelled() => Err(OpError::Cancelled),
        }
    }

    /// Runs the permitted operation, whose turn it is.
    ///
    /// # Errors
    /// As [`Capability::run`].
    pub async fn run_in(&self, turn: Turn, permit: Permit, ctx: RunCtx) -> Result<Outcome, OpError> {
        let job = Job {
            rules: ctx.computer.unwrap_or_default(),
            session: permit.session().cloned(),
            max_bytes: ctx.limits.max_file_size_bytes,
            shown: ctx.shown,
            cancel: ctx.cancel,
        };
        match permit.into_operation() {
            Operation::Computer(op) => self.carry_out(turn, op, job).await,
            Operation::File(_)
            | Operation::Command(_)
            | Operation::Browse(_)
            | Operation::Session(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => Err(OpError::Internal("the computer was asked for something else".to_owned())),
        }
    }

    async fn carry_out(&self, turn: Turn, op: ComputerOp, job: Job) -> Result<Outcome, OpError> {
        if let ComputerOp::Input(InputOp::Wait { duration }) = op {
            return tokio::select! {
                () = tokio::time::sleep(duration) => Ok(Outcome::Done),
                () = job.cancel.cancelled() => Err(OpError::Cancelled),
            };
        }
        self.rest_later();
        let (inner, cancel) = (self.inner.clone(), job.cancel.clone());
        let work = tokio::task::spawn_blocking(move || {
            // Kept until the thread is done, so that nothing else touches the seat meanwhile.
            let _turn = turn;
            inner.perform(&op, &job)
        });
        tokio::select! {
            done = work => done.unwrap_or_else(|_| Err(OpError::Internal("the operation broke off".to_owned()))),
            () = tokio::time::sleep(LONGEST) => {
                cancel.cancel();
                Err(OpError::TookTooLong { limit: LONGEST })
            }
        }
    }
}

impl Inner {
    /// Starts nothing but the app that the person was shown.
    fn still_shown(&self, op: &AppLaunchOp, job: &Job) -> Result<(), OpError> {
        match &job.shown {
            Some(Shown::Launch(shown)) if *shown != preview::launch_target(&self.seats, op)? => {
                Err(OpError::ChangedSinceAsked { power: Power::ComputerUse })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn perform(&self, op: &ComputerOp, job: &Job) -> Result<Outcome, OpError> {
        job.go_on()?;
        match op {
            ComputerOp::Screenshot(op) => screenshot::take(self, op, job),
            ComputerOp::Input(op) => input::act(self, op, job),
            ComputerOp::CursorPosition => screenshot::cursor_position(&self.seats),
            ComputerOp::DisplayInfo => screenshot::display_info(&self.seats),
            ComputerOp::WindowList(op) => windows::list(self, op, job),
            ComputerOp::WindowFocus { window_id, raise } => windows::focus(self, window_id, *raise, job),
            ComputerOp::AppList { include_background } => apps::list(self, *include_background, job),
            ComputerOp::AppLaunch(op) => {
                self.still_shown(op, job)?;
                apps::launch(self, op, job)
            }
            ComputerOp::ClipboardRead => clipboard::read(self, job),
            ComputerOp::ClipboardWrite { text } => clipboard::write(self, text, job),
            ComputerOp::PermissionsCheck { names } => Ok(permissions::check(&self.seats, names)),
        }
    }
}

impl Capability for Computer {
    fn power(&self) -> Power {
        Power::ComputerUse
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            let turn = match permit.operation() {
                Operation::Computer(op) => self.turn(op, &ctx.cancel).await?,
                Operation::File(_)
                | Operation::Command(_)
                | Operation::Browse(_)
                | Operation::Session(_)
                | Operation::Model(_)
                | Operation::Hardware(_) => Turn(None),
            };
            self.run_in(turn, permit, ctx).await
        })
    }
}
