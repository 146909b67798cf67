//! What stands in for an engine that cannot start, until the person has mended what is in the way (DESIGN §5).
//!
//! It owns the state folder, answers the control socket, shows one picture that says what is wrong, and takes few commands:
//! those of [`GateView`](crate::view::GateView), the stop, and the end. Once an engine starts, it passes commands and pictures
//! on, so that whoever holds the handle notices nothing. Deliberately for programs with a window alone: the command line says
//! what is wrong and ends.
//!
//! A passphrase is kept for one purpose: a further attempt, after another obstacle was cleared away.

mod aside;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use drawbridge_os::folders::Folders;
use drawbridge_os::keychain::{Keychain, KeychainFault, KeychainState};
use drawbridge_store::secrets::{self, SecretFile, SecretStore};
use drawbridge_store::settings::{self, Settings};
use drawbridge_store::state_dir::{Owner, OwnerFault, StateDir};
use secrecy::SecretString;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::control::{self, ControlOptions};
use crate::engine::{Engine, EngineOptions, ExitKind, StartError};
use crate::handle::{Answer, Command, CommandError, EngineHandle, EngineSide, Passphrase, Reply};
use crate::view::{GateKind, Notice, Snapshot, TrayState};
use trouble::{Trouble, sentence, trouble_of};

/// How often a keychain that was locked or away is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Makes the options of an engine from what is configured at this moment; or says, in words, why it cannot.
pub type Prepare = Arc<dyn Fn() -> Result<EngineOptions, String> + Send + Sync>;

/// An engine, or what stands in for it for now.
#[derive(Debug)]
pub struct Begun {
    handle: EngineHandle,
    end: End,
}

#[derive(Debug)]
enum End {
    Engine(Engine),
    Gate(JoinHandle<ExitKind>),
}

impl Begun {
    /// Returns the door to it. It stays the same when the engine starts later.
    #[must_use]
    pub fn handle(&self) -> EngineHandle {
        self.handle.clone()
    }

    /// Waits for its end.
    pub async fn wait(self) -> ExitKind {
        match self.end {
            End::Engine(engine) => engine.wait().await,
            End::Gate(task) => match task.await {
                Ok(exit) => exit,
                Err(fault) => ExitKind::Protocol(format!("the start failed: {fault}")),
            },
        }
    }
}

/// Starts an engine on the state folder of `folders`, or stands in for it where it cannot start.
///
/// # Errors
/// Only when another process owns the state folder.
pub async fn begin(folders: Folders, prepare: Prepare) -> Result<Begun, OwnerFault> {
    let first = match prepared(&prepare).await {
        Ok(options) => match Engine::start(options).await {
            Ok(engine) => Ok(engine),
            Err(StartError::Owner(owned @ OwnerFault::Owned { .. })) => return Err(owned),
            Err(fault) => Err(trouble_of(&fault, &folders)),
        },
        Err(why) => Err(Trouble::other(&why)),
    };
    let trouble = match first {
        Ok(engine) => return Ok(Begun { handle: engine.handle(), end: End::Engine(engine) }),
        Err(trouble) => trouble,
    };
    let owner = own(&folders).await.or_else(|fault| match fault {
        Locking::Owned(owned) => Err(owned),
        // Then that is the trouble, and it has been told already.
        Locking::Unusable(_) => Ok(None),
    })?;
    tracing::warn!(code = trouble.code, "the engine has not started: {}", trouble.message);
    let work = Work { folders, prepare, owner, passphrase: None };
    let raised = Settings::peek(&work.folders.state).raised;
    let first = Snapshot { version: env!("CARGO_PKG_VERSION").to_owned(), raised, ..Snapshot::default() };
    let (handle, side) = EngineHandle::pair(first.clone());
    let mut gate = Gate {
        keychain: secrets::keychain_of(&work.folders.state).ok(),
        work,
        handle: handle.clone(),
        side,
        shown: first,
        trouble,
        problem: None,
        socket: None,
        stop: CancellationToken::new(),
        raised_here: false,
    };
    // Before anybody looks: an empty picture would say that an engine runs.
    gate.publish(false);
    gate.serve();
    Ok(Begun { handle, end: End::Gate(tokio::spawn(gate.run())) })
}

async fn prepared(prepare: &Prepare) -> Result<EngineOptions, String> {
    let prepare = prepare.clone();
    tokio::task::spawn_blocking(move || prepare()).await.unwrap_or_else(|fault| Err(fault.to_string()))
}

/// Why the state folder is not ours.
enum Locking {
    Owned(OwnerFault),
    Unusable(String),
}

async fn own(folders: &Folders) -> Result<Option<Owner>, Locking> {
    let state = folders.state.clone();
    let locked = tokio::task::spawn_blocking(move || {
        let state = StateDir::open(&state).map_err(|fault| Locking::Unusable(fault.to_string()))?;
        state.lock().map(Some).map_err(|fault| match fault {
            owned @ OwnerFault::Owned { .. } => Locking::Owned(owned),
            OwnerFault::Lock(fault) => Locking::Unusable(fault.to_string()),
        })
    });
    locked.await.unwrap_or_else(|fault| Err(Locking::Unusable(fault.to_string())))
}

/// What an attempt needs and gives back.
struct Work {
    folders: Folders,
    prepare: Prepare,
    /// None where the state folder cannot be used.
    owner: Option<Owner>,
    /// What the person gave, for a further attempt.
    passphrase: Option<SecretString>,
}

/// What an attempt begins with.
enum Step {
    Nothing,
    Open(SecretString),
    NewFile(SecretString),
    SetAside(aside::Aside),
    AskKeychain,
}

/// Why an attempt led to no engine.
struct Failed {
    trouble: Option<Trouble>,
    error: CommandError,
}

/// What came of an attempt.
type Attempt = JoinHandle<(Work, Result<Engine, Failed>)>;

struct Gate {
    work: Work,
    handle: EngineHandle,
    side: EngineSide,
    shown: Snapshot,
    trouble: Trouble,
    problem: Option<CommandError>,
    /// Asked again and again, so that one that does not answer is asked once.
    keychain: Option<Keychain>,
    socket: Option<JoinHandle<()>>,
    stop: CancellationToken,
    /// The stop was stored while an attempt ran: the engine may have read the settings before.
    raised_here: bool,
}

impl Gate {
    async fn run(mut self) -> ExitKind {
        let mut attempt: Option<(Attempt, Option<Answer>)> = None;
        let mut look: Option<JoinHandle<KeychainState>> = None;
        let mut round = tokio::time::interval(LOOK_EVERY);
        round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let engine = loop {
            tokio::select! {
                Some((command, answer)) = self.side.commands.recv() => {
                    if command == Command::Shutdown {
                        let _ = answer.send(Ok(Reply::Done));
                        if let Some((running, _)) = attempt.take() {
                            give_up(running).await;
                        }
                        return self.end().await;
                    }
                    match self.on_command(command).await {
                        Err(error) => drop(answer.send(Err(error))),
                        Ok(None) => drop(answer.send(Ok(Reply::Done))),
                        Ok(Some(_)) if attempt.is_some() => {
                            let busy = "Drawbridge is trying already. Wait a moment.";
                            drop(answer.send(Err(CommandError::new("busy", busy))));
                        }
                        Ok(Some(step)) => {
                            attempt = Some((self.attempt(step), Some(answer)));
                            self.publish(true);
                        }
                    }
                }
                done = ended(&mut attempt) => {
                    let (result, answer) = done;
                    match self.on_attempt(result) {
                        Ok(engine) => break (engine, answer),
                        Err(error) => if let Some(answer) = answer {
                            let _ = answer.send(Err(error));
                        },
                    }
                }
                state = looked(&mut look) => {
                    let now = match state {
                        KeychainState::Ready => None,
                        KeychainState::Locked => Some(GateKind::KeychainLocked),
                        KeychainState::None { .. } => Some(GateKind::NoKeychain),
                    };
                    if attempt.is_none() && self.trouble.waits_for_keychain() && now != Some(self.trouble.kind) {
                        attempt = Some((self.attempt(Step::Nothing), None));
                    }
                }
                _ = round.tick() => {
                    if look.is_none() && attempt.is_none() && self.trouble.waits_for_keychain() {
                        look = self.keychain.clone().map(|keychain| tokio::task::spawn_blocking(move || keychain.probe()));
                    }
                }
            }
        };
        self.pass_on(engine.0, engine.1).await
    }

    /// Does what is done at once, or says what an attempt begins with.
    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever is added needs an engine, unless it is listed here")]
    async fn on_command(&mut self, command: Command) -> Result<Option<Step>, CommandError> {
        match command {
            Command::ShowWindow => {
                self.shown.window_wanted += 1;
                self.show();
                Ok(None)
            }
            Command::ReportTray { tray } => {
                self.shown.tray = tray;
                self.show();
                Ok(None)
            }
            Command::SetRaised { raised: true } => self.raise().await.map(|()| None),
            Command::GateRetry => Ok(Some(Step::Nothing)),
            Command::GateUnlock { passphrase } => Ok(Some(Step::Open(given(passphrase)?))),
            Command::GateNewFile { passphrase } => {
                if !self.trouble.can_make_file {
                    return Err(not_offered());
                }
                let passphrase = given(passphrase)?;
                secrets::check_passphrase(&passphrase).map_err(|_| {
                    let why = format!(
                        "The passphrase has fewer than {} characters. Choose a longer one.",
                        secrets::MIN_PASSPHRASE_CHARS
                    );
                    CommandError::new("short_passphrase", why)
                })?;
                Ok(Some(Step::NewFile(passphrase)))
            }
            Command::GateSetAside => {
                self.trouble.aside.clone().map(|what| Some(Step::SetAside(what))).ok_or_else(not_offered)
            }
            Command::GateAskKeychain => {
                if self.trouble.can_ask_keychain {
                    Ok(Some(Step::AskKeychain))
                } else {
                    Err(not_offered())
                }
            }
            _ => {
                let why = format!("Drawbridge has not started: {} Open its window to mend this.", self.trouble.message);
                Err(CommandError::new("not_started", why))
            }
        }
    }

    /// The stop is stored, so that it holds when the engine starts.
    async fn raise(&mut self) -> Result<(), CommandError> {
        let state = self.work.folders.state.clone();
        let stored = tokio::task::spawn_blocking(move || settings::set_raised(&state, true)).await;
        self.raised_here = true;
        match stored {
            Ok(Ok(())) => {
                self.shown.raised = true;
                self.show();
                Ok(())
            }
            Ok(Err(fault)) => Err(not_stored(&fault)),
            Err(fault) => Err(not_stored(&fault)),
        }
    }

    fn attempt(&self, step: Step) -> Attempt {
        let work = Work {
            folders: self.work.folders.clone(),
            prepare: self.work.prepare.clone(),
            owner: self.work.owner.clone(),
            passphrase: self.work.passphrase.clone(),
        };
        tokio::spawn(work.attempt(step))
    }

    fn on_attempt(&mut self, result: Result<(Work, Result<Engine, Failed>), String>) -> Result<Engine, CommandError> {
        let (work, result) = result.map_err(|why| {
            self.publish(false);
            CommandError::new("broke_off", sentence(&why))
        })?;
        self.work = work;
        self.serve();
        match result {
            Ok(engine) => Ok(engine),
            Err(Failed { trouble, error }) => {
                let error = self.take(trouble, error);
                self.publish(false);
                Err(error)
            }
        }
    }

    /// Takes in what an attempt found. Returns what is told about the attempt itself.
    fn take(&mut self, trouble: Option<Trouble>, error: CommandError) -> CommandError {
        let error = match trouble {
            // A new obstacle explains itself.
            Some(trouble) if trouble.message != self.trouble.message => {
                self.trouble = trouble;
                self.problem = None;
                return error;
            }
            Some(trouble) if trouble.code != "wrong_passphrase" => {
                self.trouble = trouble;
                CommandError::new("still_there", "That did not help: the same thing is still in the way.")
            }
            Some(_) | None => error,
        };
        self.problem = Some(error.clone());
        error
    }

    /// Listens for the command line and for a second start, as soon as the state folder is ours.
    fn serve(&mut self) {
        if self.socket.is_some() || self.work.owner.is_none() {
            return;
        }
        let Ok(state) = StateDir::open(&self.work.folders.state) else { return };
        let (handle, stop, path) = (self.handle.clone(), self.stop.clone(), state.control_socket());
        self.socket = Some(tokio::spawn(async move {
            if let Err(fault) = control::serve(handle, &path, ControlOptions::default(), stop).await {
                tracing::error!(%fault, "the command line cannot reach this program");
            }
        }));
    }

    fn publish(&mut self, busy: bool) {
        let view = self.trouble.view(self.problem.as_ref().filter(|_| !busy), busy);
        let message = format!("Drawbridge has not started. {}", view.message);
        self.shown.trouble = Some(Notice { code: "not_started".to_owned(), message });
        self.shown.gate = Some(view);
        self.show();
    }

    fn show(&self) {
        self.side.snapshots.send_if_modified(|shown| {
            let differs = **shown != self.shown;
            if differs {
                *shown = Arc::new(self.shown.clone());
            }
            differs
        });
    }

    /// Passes everything on between the handle and an engine, until the engine ends.
    async fn pass_on(mut self, engine: Engine, answer: Option<Answer>) -> ExitKind {
        let inner = engine.handle();
        if self.raised_here
            && let Err(error) = inner.send(Command::SetRaised { raised: true }).await
        {
            tracing::error!(code = error.code, "the stop could not be handed to the engine");
        }
        if self.shown.tray != TrayState::Unknown {
            let _ = inner.send(Command::ReportTray { tray: self.shown.tray }).await;
        }
        let mut pictures = inner.subscribe();
        self.side.snapshots.send_replace(pictures.borrow_and_update().clone());
        if let Some(answer) = answer {
            let _ = answer.send(Ok(Reply::Done));
        }
        let ended = engine.wait();
        tokio::pin!(ended);
        let exit = loop {
            tokio::select! {
                exit = &mut ended => break exit,
                Some(asked) = self.side.commands.recv() => {
                    // An engine that has just ended drops it, and whoever asked learns that.
                    let _ = inner.commands.send(asked).await;
                }
                Ok(()) = pictures.changed() => {
                    self.side.snapshots.send_replace(pictures.borrow_and_update().clone());
                }
            }
        };
        self.close().await;
        exit
    }

    async fn end(mut self) -> ExitKind {
        self.close().await;
        ExitKind::Stopped
    }

    async fn close(&mut self) {
        self.stop.cancel();
        if let Some(socket) = self.socket.take() {
            let _ = socket.await;
        }
    }
}

impl Work {
    async fn attempt(mut self, step: Step) -> (Self, Result<Engine, Failed>) {
        let result = self.try_to_start(step).await;
        (self, result)
    }

    async fn try_to_start(&mut self, step: Step) -> Result<Engine, Failed> {
        let owner = match &self.owner {
            Some(owner) => owner.clone(),
            None => match own(&self.folders).await {
                Ok(Some(owner)) => self.owner.insert(owner).clone(),
                Ok(None) => return Err(failed(Trouble::other(&"the state folder is not there"))),
                Err(Locking::Owned(fault)) => return Err(failed(Trouble::other(&fault))),
                Err(Locking::Unusable(why)) => return Err(failed(Trouble::other(&why))),
            },
        };
        let before = self.first(step).await?;
        let mut options = prepared(&self.prepare).await.map_err(|why| failed(Trouble::other(&why)))?;
        let typed = before.or_else(|| self.passphrase.clone());
        if let Some(passphrase) = &typed {
            options.passphrase = Some(passphrase.clone());
        }
        match Engine::start_behind(options, owner).await {
            Ok(engine) => {
                self.passphrase = None;
                Ok(engine)
            }
            Err(fault) => {
                let trouble = trouble_of(&fault, &self.folders);
                // What opens the file is worth keeping for the next step; what does not is forgotten.
                self.passphrase = typed.filter(|_| trouble.kind != GateKind::PassphraseWanted);
                Err(failed(trouble))
            }
        }
    }

    /// Does what comes before the start. Returns a passphrase for it.
    async fn first(&self, step: Step) -> Result<Option<SecretString>, Failed> {
        let (folders, prepare, kept) = (self.folders.clone(), self.prepare.clone(), self.passphrase.clone());
        let work = move || match step {
            Step::Nothing => Ok(None),
            Step::Open(passphrase) => Ok(Some(passphrase)),
            Step::NewFile(passphrase) => {
                SecretFile::create(&folders.state, passphrase.clone(), std::collections::BTreeMap::new())
                    .map_err(|fault| CommandError::new("not_made", sentence(&fault.to_string())))?;
                Ok(Some(passphrase))
            }
            Step::SetAside(what) => {
                let store = (what == aside::Aside::AuditKey).then(|| store(&folders, &prepare, kept)).transpose()?;
                aside::set_aside(&what, &folders, store.as_deref())
                    .map_err(|why| CommandError::new("not_set_aside", format!("Nothing was set aside: {why}.")))?;
                Ok(None)
            }
            // A keychain of its own: one that did not answer before may well do so now.
            Step::AskKeychain => match secrets::keychain_of(&folders.state).map(|keychain| keychain.ask_to_open()) {
                Ok(Ok(KeychainState::Ready)) => Ok(None),
                Ok(Ok(KeychainState::Locked) | Err(KeychainFault::Locked)) => {
                    Err(CommandError::new("still_locked", "The keychain is still locked."))
                }
                Ok(Ok(KeychainState::None { why })) => Err(CommandError::new("still_locked", sentence(&why))),
                Ok(Err(fault)) => Err(CommandError::new("still_locked", sentence(&fault.to_string()))),
                Err(fault) => Err(CommandError::new("still_locked", sentence(&fault.to_string()))),
            },
        };
        let done = tokio::task::spawn_blocking(work).await;
        let done = done.unwrap_or_else(|fault| Err(CommandError::new("broke_off", sentence(&fault.to_string()))));
        done.map_err(|error| Failed { trouble: None, error })
    }
}

/// Opens the place for secrets as the engine would.
fn store(
    folders: &Folders,
    prepare: &Prepare,
    kept: Option<SecretString>,
) -> Result<Arc<dyn SecretStore>, CommandError> {
    let fault = |why: String| CommandError::new("not_set_aside", format!("Nothing was set aside: {why}."));
    let passphrase = kept.or(prepare().map_err(fault)?.passphrase);
    let keychain = secrets::keychain_of(&folders.state).map_err(|error| fault(error.to_string()))?;
    let store =
        secrets::open_secrets(&folders.state, passphrase, &keychain).map_err(|error| fault(error.to_string()))?;
    Ok(store)
}

fn failed(trouble: Trouble) -> Failed {
    let message = match trouble.code {
        "wrong_passphrase" => "This passphrase does not open the file. Nothing was changed; try again.".to_owned(),
        _ => trouble.message.clone(),
    };
    Failed { error: CommandError::new(trouble.code, message), trouble: Some(trouble) }
}

fn given(passphrase: Passphrase) -> Result<SecretString, CommandError> {
    if passphrase.is_empty() {
        return Err(CommandError::new("no_passphrase", "Type the passphrase first."));
    }
    Ok(passphrase.into_secret())
}

fn not_offered() -> CommandError {
    CommandError::new("not_offered", "That is not what is in the way now. Look at the window again.")
}

fn not_stored(fault: &dyn std::fmt::Display) -> CommandError {
    let why =
        format!("Nothing runs, but the stop could not be stored: {fault}. Raise again once Drawbridge has started.");
    CommandError::new("not_stored", why)
}

/// Waits for the attempt that runs, or for ever when there is none.
async fn ended(
    attempt: &mut Option<(Attempt, Option<Answer>)>,
) -> (Result<(Work, Result<Engine, Failed>), String>, Option<Answer>) {
    let Some((running, _)) = attempt.as_mut() else { return std::future::pending().await };
    let result = running.await.map_err(|fault| fault.to_string());
    (result, attempt.take().and_then(|(_, answer)| answer))
}

/// Waits for the look at the keychain that runs, or for ever when there is none.
async fn looked(look: &mut Option<JoinHandle<KeychainState>>) -> KeychainState {
    let Some(running) = look.as_mut() else { return std::future::pending().await };
    let state = running.await.unwrap_or_else(|fault| KeychainState::None { why: fault.to_string() });
    *look = None;
    state
}

/// Ends an engine that started after nobody wanted it any more.
async fn give_up(attempt: Attempt) {
    if let Ok((_, Ok(engine))) = attempt.await {
        engine.stop();
        engine.wait().await;
    }
}
