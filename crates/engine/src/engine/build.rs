//! Builds an engine from what is stored and configured. A fault here means that nothing was dialled.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use drawbridge_caps::browse::{Browser, RootChoice};
use drawbridge_caps::computer::ComputerSettings;
use drawbridge_caps::files::{Files, UndoKeeper};
use drawbridge_caps::hardware::Hardware;
use drawbridge_caps::shell::{Shell, ShellControl, ShellSettings};
use drawbridge_core::{Clock, Power, SessionId, SystemClock, escape_outside_text};
use drawbridge_os::folders::Folders;
use drawbridge_os::machine;
use drawbridge_os::process;
use drawbridge_os::root::{Change, PathFault, Root, RootFault, RootOptions, Stamp};
use drawbridge_os::seat::Seat;
use drawbridge_policy::{GrantKey, PolicyState};
use drawbridge_proto::executor::machine::{HelloFacts, Negotiated};
use drawbridge_proto::executor::wire::Capability as WireCapability;
use drawbridge_store::accounts::AccountsFault;
use drawbridge_store::audit::{AuditLog, AuditOptions, AuditPaths};
use drawbridge_store::bindings::Bindings;
use drawbridge_store::managed::Managed;
use drawbridge_store::secrets::{self, SecretStore, Secrets};
use drawbridge_store::settings::Settings;
use drawbridge_store::state_dir::{Owner, StateDir};
use drawbridge_store::undo::UndoStore;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::aside::Aside;
use super::commands::sentence;
use super::folders::FolderChoice;
use super::options::EngineOptions;
use super::publish::{Publisher, Sources};
use super::secrets::Place;
use super::start_error::StartError;
use super::{Core, Engine, OpenRoot};
use crate::account::{Account, AccountError, AccountOptions, PlatformUrl};
use crate::accounts::{self, Accounts, Chosen, Configured};
use crate::board::Board;
use crate::consent::Broker;
use crate::consent::ask::Desk;
use crate::control::{self, ControlOptions};
use crate::dispatcher::{self, Dispatcher};
use crate::handle::EngineHandle;
use crate::hardware::Devices;
use crate::journal::Journal;
use crate::link::{self, HelloMaker, Purpose, Shared};
use crate::managed::{ManagedCell, check_platform};
use crate::models::Models;
use crate::models::keys::Keys;
use crate::net::NetConfig;
use crate::policy_cell::PolicyCell;
use crate::screen::Screen;
use crate::sessions::{self, Sessions};
use crate::view::Notice;

/// Name and version as HELLO and the audit log say it.
pub(super) const SHIM_VERSION: &str = concat!("drawbridge-", env!("CARGO_PKG_VERSION"));
/// Commands from window and command line that may wait.
const COMMAND_QUEUE: usize = 32;

/// A data link started by hand.
#[derive(Debug, Clone)]
pub(super) struct LegacySession {
    pub(super) session: SessionId,
    pub(super) root: Arc<Root>,
}

/// Everything that has to be opened before anything runs; all of it blocks.
struct Opened {
    owner: Owner,
    accounts: Arc<Accounts>,
    socket_path: PathBuf,
    secrets: Arc<Secrets>,
    log: AuditLog,
    log_path: PathBuf,
    grant_key: GrantKey,
    settings: Settings,
    stored: PolicyState,
    bindings: Bindings,
    undo: UndoStore,
    machine_id: String,
    legacy: Option<LegacySession>,
    open_root: OpenRoot,
}

/// Builds an engine. `behind` is the proof of who owns the folder already, where another part of this program stands before the
/// engine: that part serves the control socket.
pub(super) async fn start(options: EngineOptions, behind: Option<Owner>) -> Result<Engine, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    // Also where another account is used: a forbidden address is a fault of the configuration.
    PlatformUrl::parse(&options.platform_url)?;
    let net = NetConfig::new(&options.net)?;
    let (system, arch) = (machine::platform()?, machine::arch()?);
    let (for_opening, its_clock) = (options.clone(), clock.clone());
    let (serves, owner) = (behind.is_none(), behind);
    let opened = tokio::task::spawn_blocking(move || open(&for_opening, &its_clock, owner))
        .await
        .map_err(|fault| StartError::System { what: "the start broke off", why: fault.to_string() })??;
    let accounts = opened.accounts;
    let chosen = &accounts.chosen;
    let account = Account::open(AccountOptions {
        id: chosen.id.clone(),
        platform: chosen.platform.clone(),
        client_id: chosen.client_id.clone(),
        net: net.clone(),
        vault: Arc::new(chosen.vault(opened.secrets.clone(), &options.folders.state)),
        clock: clock.clone(),
    })
    .await?;
    if options.headless {
        match account.bearer() {
            Ok(_) => {}
            Err(fault @ AccountError::OtherPlatform { .. }) => return Err(StartError::SignedInElsewhere(fault)),
            Err(_) => return Err(StartError::NotSignedIn),
        }
    }
    process::adopt_orphans().map_err(|fault| system_fault("could not take charge of processes", &fault))?;
    end_what_was_left(&options.folders.state).await;

    if let Some(fault) = &opened.stored.broken {
        tracing::warn!(%fault, "the stored settings cannot be read, so everything is refused; mend or remove the file");
    }
    let board = Arc::new(Board::new());
    let managed = Arc::new(ManagedCell::new(options.managed.clone()));
    let journal = Arc::new(Journal::new(opened.log, opened.log_path, board.clone()));
    let settings = Arc::new(opened.settings);
    let now = options.overlay.over(&opened.stored, options.can_ask);
    let shell = Arc::new(build_shell(&options, &now, clock.clone())?);
    let to_save = settings.clone();
    let persist = Box::new(move |state: &PolicyState| to_save.save(state).map_err(|fault| fault.to_string()));
    let policy = Arc::new(PolicyCell::new(opened.stored, now, persist));
    let broker = Broker::new(clock.clone(), board.clone(), journal.clone());
    let browser = Arc::new(Browser::new(clock.clone(), RootChoice::nothing()));
    let fixed = options.managed.policy.as_ref().is_some_and(|policy| policy.browse_roots.is_some());
    let folders = Arc::new(FolderChoice::new(browser.clone(), options.browse_roots.clone(), fixed));
    let (for_roots, its_state) = (folders.clone(), policy.get());
    tokio::task::spawn_blocking(move || for_roots.apply(&its_state))
        .await
        .map_err(|fault| StartError::System { what: "the start broke off", why: fault.to_string() })?;
    let open_root = opened.open_root.clone();
    let sessions = Arc::new(Sessions::new(sessions::Parts {
        bindings: Arc::new(opened.bindings),
        key: opened.grant_key,
        machine_id: opened.machine_id.clone(),
        clock: clock.clone(),
        browser: browser.clone(),
        board: board.clone(),
        open_root: Box::new(move |path| open_root(path).map_err(|fault| fault.to_string())),
    }));
    let screen = Screen::new(
        options.seat.clone().unwrap_or_else(Seat::of_environment),
        ComputerSettings { screenshots_per_minute: options.max_screenshots_per_minute },
        policy.clone(),
        board.clone(),
        clock.clone(),
    );
    let keys = Keys::new(Some(opened.secrets.clone()));
    let models = Models::new(&options.models, net.clone(), keys, policy.clone(), board.clone(), clock.clone());
    let hardware = options.hardware.clone().unwrap_or_else(|| Hardware::new(clock.clone()));
    let shared_by_config = options.overlay.devices.clone();
    let devices = Devices::new(hardware, policy.clone(), board.clone(), clock.clone(), shared_by_config);
    if options.headless {
        preflight(&screen, &policy.get(), &journal).await?;
    }
    screen.look_later();
    models.follow();
    models.read_keys();
    devices.keep();
    let undo = Arc::new(opened.undo);
    if let Some(fault) = accounts.book.trouble() {
        board.add_notice(accounts_broken(&fault));
    }
    if let Some(path) = undo.set_aside() {
        board.add_notice(undo_was_set_aside(&path));
    }
    let parts = dispatcher::Parts {
        policy: policy.clone(),
        desk: Desk {
            broker: broker.clone(),
            policy: policy.clone(),
            clock: clock.clone(),
            shell: shell.clone(),
            sessions: sessions.clone(),
            models: models.clone(),
            screen: screen.clone(),
            devices: devices.clone(),
            platform: account.platform().shown().to_owned(),
        },
        journal: journal.clone(),
        board: board.clone(),
        clock: clock.clone(),
        screen: screen.clone(),
        models: models.clone(),
        devices: devices.clone(),
        files: Arc::new(Files::new(Arc::new(Keeper(undo.clone())))),
        shell: shell.clone(),
        browser: browser.clone(),
        sessions: sessions.clone(),
    };
    let dispatcher = Arc::new(Dispatcher::new(parts, options.limits.max_concurrent));
    let offers = (models.clone(), devices.clone());
    let hello = hello_maker(policy.clone(), offers, opened.machine_id, &options, system, arch);
    let shared = Arc::new(share(
        &options,
        &account,
        &dispatcher,
        (&screen, &models, &devices),
        &journal,
        &board,
        &clock,
        hello,
        browser,
    ));
    let for_chats = shared.clone();
    sessions.set_starter(Some(Box::new(move |session, root, allowed_root| {
        link::start(Purpose::Chat { session, root, allowed_root }, for_chats.clone(), false)
    })));

    let place = Arc::new(Place::new(opened.secrets.clone(), accounts.clone()));
    let (looking, its_board, has_window) = (place.clone(), board.clone(), options.can_ask);
    // Nobody waits for it: the keychain may take seconds.
    drop(tokio::task::spawn_blocking(move || looking.look_around(&its_board, has_window)));
    let sources = Sources {
        policy: policy.clone(),
        broker: broker.clone(),
        sessions: sessions.clone(),
        journal: journal.clone(),
        board: board.clone(),
        account: account.clone(),
        shell: shell.clone(),
        undo: undo.clone(),
        folders: folders.clone(),
        managed: managed.clone(),
        accounts: accounts.clone(),
        secrets: place.clone(),
        screen: screen.clone(),
        models: models.clone(),
        devices: devices.clone(),
        legacy: opened.legacy.as_ref().map(|legacy| (legacy.session.clone(), legacy.root.path().to_owned())),
    };
    if options.can_ask || policy.get().offers(Power::Shell) {
        look_at_walls(shell.clone(), board.clone());
    }
    let (commands, inbox) = mpsc::channel(COMMAND_QUEUE);
    let (publish, watched) = Publisher::new(sources);
    let publisher = tokio::spawn(publish.clone().keep_publishing());
    let handle = EngineHandle { commands, snapshots: watched };
    let stop = CancellationToken::new();
    let control_socket =
        serves.then(|| serve_control(&handle, opened.socket_path, options.answer_secret.clone(), &stop));
    let core = Core {
        settings,
        overlay: options.overlay.clone(),
        can_ask: options.can_ask,
        policy,
        broker,
        sessions,
        journal,
        board,
        clock,
        account,
        accounts,
        leaving: Arc::default(),
        secrets: place,
        undo,
        shared,
        shell,
        screen,
        models,
        devices,
        pictures_a_minute: options.max_screenshots_per_minute,
        open_root: opened.open_root,
        folders,
        managed,
        legacy: opened.legacy,
        ends_with_link: options.headless,
        main: None,
        halted: false,
        control_lost_at: None,
        signed_in: mpsc::channel(4),
        stop: stop.clone(),
        control_socket,
        publish,
        publisher,
        aside: Aside::new(),
        _owner: opened.owner,
    };
    let task = tokio::spawn(core.run(inbox));
    Ok(Engine { handle, stop, task })
}

fn open(options: &EngineOptions, clock: &Arc<dyn Clock>, owner: Option<Owner>) -> Result<Opened, StartError> {
    let folders = &options.folders;
    let state = StateDir::open(&folders.state)?;
    let owner = match owner {
        Some(owner) => owner,
        None => state.lock()?,
    };
    let book = accounts::open_book(&folders.state);
    let configured = Configured { platform_url: options.platform_url.clone(), client_id: options.client_id.clone() };
    let chosen = Chosen::of_start(&book, &configured, options.accounts_fixed)?;
    // Before anything of the account is opened, and long before anything is sent.
    check_platform(options.managed.policy.as_ref(), &chosen.platform)?;
    let open_root = root_opener(folders, options.managed.policy.clone());
    let legacy = match &options.legacy {
        None => None,
        Some((session, path)) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let opened = path.to_str().ok_or(RootFault::NotUnicode).and_then(|text| open_root(text));
            let root = opened.map_err(|fault| StartError::Root { path, fault })?;
            Some(LegacySession { session: session.clone(), root: Arc::new(root) })
        }
    };
    let keychain = secrets::keychain_of(&folders.state)
        .map_err(|fault| system_fault("could not tell which keychain entries belong here", &fault))?;
    let secrets = secrets::open_secrets(&folders.state, options.passphrase.clone(), &keychain)?;
    let log_path = folders.logs.join("audit.log");
    let key = secrets::audit_key(secrets.as_ref(), log_path.exists())?;
    let machine_id = machine::machine_id(&folders.state)
        .map_err(|fault| system_fault("could not keep an id for this machine", &fault))?;
    let in_secrets: Arc<dyn SecretStore> = secrets.clone();
    let settled = chosen.settled(&book, options.accounts_fixed, &in_secrets, &folders.state);
    let chosen = settled.map_err(|fault| system_fault("could not note whose chats are kept here", &fault))?;
    let grant_key = chosen.grant_key(key.bytes());
    let (settings, stored) = Settings::open_of(&folders.state, chosen.settings_name());
    let bindings = chosen.bindings(&folders.state)?;
    let kept = folders.state.join("undo");
    let undo = UndoStore::open(&kept, clock.clone()).map_err(|fault| StartError::System {
        what: "the undo store cannot be opened",
        why: format!("{}: {fault}", kept.display()),
    })?;
    // Last, since it writes: a start that ends before has changed nothing.
    let log = AuditLog::open(AuditOptions {
        paths: AuditPaths { log: log_path.clone(), state_dir: folders.state.clone() },
        key,
        machine_id: machine_id.clone(),
        shim_version: SHIM_VERSION.to_owned(),
        sync: options.audit_sync,
        clock: clock.clone(),
        secrets: Some(secrets.clone()),
    })?;
    let socket_path = state.control_socket();
    let (fixed, in_state) = (options.accounts_fixed, folders.state.clone());
    let accounts = Arc::new(Accounts::new(book, chosen, fixed, configured, in_state, secrets.clone()));
    Ok(Opened {
        owner,
        accounts,
        socket_path,
        secrets,
        log,
        log_path,
        grant_key,
        settings,
        stored,
        bindings,
        undo,
        machine_id,
        legacy,
        open_root,
    })
}

/// Opens folders as roots; our own folders stay out of reach wherever they lie, and so do those that the organisation does not
/// allow.
fn root_opener(folders: &Folders, policy: Option<Managed>) -> OpenRoot {
    let protected = vec![folders.state.clone(), folders.config.clone(), folders.logs.clone()];
    let home = std::env::home_dir();
    Arc::new(move |path| {
        let options = RootOptions { protected: protected.clone(), home: home.clone() };
        let root = Root::open_with(std::path::Path::new(path), options)?;
        match &policy {
            Some(policy) if !policy.allows_folder(std::path::Path::new(root.path())) => {
                let by = escape_outside_text(policy.by());
                Err(RootFault::Unusable(format!("{by} allows only other folders on this computer")))
            }
            Some(_) | None => Ok(root),
        }
    })
}

fn build_shell(options: &EngineOptions, now: &PolicyState, clock: Arc<dyn Clock>) -> Result<Shell, StartError> {
    let hidden = vec![options.folders.state.clone(), options.folders.config.clone(), options.folders.logs.clone()];
    let mut settings = ShellSettings::defaults(hidden)
        .map_err(|fault| system_fault("could not find this very program, which confines commands", &fault))?;
    settings.mode = now.shell_mode;
    settings.network = now.shell_network;
    settings.per_minute = options.max_commands_per_minute;
    settings.concurrent = options.max_concurrent_commands;
    Ok(Shell::new(ShellControl::new(settings), clock))
}

fn hello_maker(
    policy: Arc<PolicyCell>,
    (models, devices): (Arc<Models>, Arc<Devices>),
    machine_id: String,
    options: &EngineOptions,
    platform: &'static str,
    arch: &'static str,
) -> HelloMaker {
    let display_name = machine::display_name(&options.display_name);
    Box::new(move |session, offer| {
        let state = policy.get();
        let offered = [(Power::Files, WireCapability::Files), (Power::Shell, WireCapability::Shell)];
        let of_powers = offered.into_iter().filter(|(power, _)| state.offers_in(*power, session));
        // Two powers and what the seat can do are one capability on the wire.
        let of_screen = (!offer.is_empty()).then_some(WireCapability::ComputerUse);
        let local_llm_models = models.offer(session);
        let of_model = (!local_llm_models.is_empty()).then_some(WireCapability::LocalLlm);
        let hardware_devices = devices.offer(session);
        let of_devices: BTreeSet<_> = hardware_devices.iter().map(WireCapability::of_device).collect();
        let of_powers = of_powers.map(|(_, capability)| capability);
        let capabilities = of_powers.chain(of_screen).chain(of_model).chain(of_devices).collect();
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HelloFacts {
            machine_id: machine_id.clone(),
            shim_version: SHIM_VERSION.to_owned(),
            platform: platform.to_owned(),
            arch: arch.to_owned(),
            display_name: display_name.clone(),
            capabilities,
            screen_resolution: offer.resolution.map(|(width, height)| [width, height]),
            computer_use_features: named(&offer.fine),
            computer_use_features_coarse: named(&offer.coarse),
            local_llm_models,
            hardware_devices,
        }
    })
}

#[expect(
    clippy::too_many_arguments,
    reason = "each part has one owner and one use; a struct would only repeat their names"
)]
fn share(
    options: &EngineOptions,
    account: &Account,
    dispatcher: &Arc<Dispatcher>,
    (screen, models, devices): (&Arc<Screen>, &Arc<Models>, &Arc<Devices>),
    journal: &Arc<Journal>,
    board: &Arc<Board>,
    clock: &Arc<dyn Clock>,
    hello: HelloMaker,
    browser: Arc<Browser>,
) -> Shared {
    let for_slots = dispatcher.clone();
    Shared {
        account: account.clone(),
        dispatcher: dispatcher.clone(),
        screen: screen.clone(),
        models: models.clone(),
        devices: devices.clone(),
        journal: journal.clone(),
        board: board.clone(),
        clock: clock.clone(),
        limits: options.limits,
        backoff: options.backoff,
        hello,
        on_control: Box::new(move |negotiated: &Negotiated| for_slots.set_slots(negotiated.limits.max_concurrent)),
        on_control_open: Box::new(move || browser.forget_all()),
        numbers: Arc::new(AtomicU64::new(0)),
    }
}

/// Ends commands that outlived an engine of this state folder because it was killed. The folder's lock is ours by now.
async fn end_what_was_left(state: &std::path::Path) {
    let digest = Sha256::digest(state.as_os_str().as_encoded_bytes());
    let owner = drawbridge_core::hex::encode(&digest[..8]);
    let ended = tokio::task::spawn_blocking(move || process::take_over(&owner)).await.unwrap_or_default();
    if ended > 0 {
        tracing::warn!(ended, "ended processes that commands of an earlier run had left behind");
    }
}

/// Refuses to start without a window where the screen was asked for and there is none (spec 4.7).
async fn preflight(screen: &Arc<Screen>, state: &PolicyState, journal: &Journal) -> Result<(), StartError> {
    if !state.offers(Power::ComputerUse) {
        return Ok(());
    }
    let Err(missing) = screen.first_look().await else { return Ok(()) };
    let fault = StartError::NoScreen { why: missing.why, hint: missing.hint };
    let details = serde_json::json!({
        "missing_permissions": missing.permissions,
        "platform": missing.platform,
        "hint": missing.hint,
    });
    journal.refused(None, "DAEMON_PREFLIGHT_FAILED", details, fault.exit_code());
    Err(fault)
}

/// Finds out in the background whether commands can be confined here, so that the window says it before one is refused.
fn look_at_walls(shell: Arc<Shell>, board: Arc<Board>) {
    tokio::task::spawn_blocking(move || {
        if shell.sandbox_state().missing().is_some() {
            board.touch();
        }
    });
}

fn serve_control(
    handle: &EngineHandle,
    path: PathBuf,
    answer_secret: Option<Arc<SecretString>>,
    stop: &CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let (handle, stop) = (handle.clone(), stop.clone());
    tokio::spawn(async move {
        if let Err(fault) = control::serve(handle, &path, ControlOptions { answer_secret }, stop).await {
            tracing::error!(%fault, "the command line cannot reach this engine");
        }
    })
}

fn accounts_broken(fault: &AccountsFault) -> Notice {
    let why = escape_outside_text(&sentence(&fault.to_string()));
    Notice {
        code: "accounts_broken".to_owned(),
        message: format!("{why} Until then Drawbridge uses the account that its configuration names."),
    }
}

fn undo_was_set_aside(path: &std::path::Path) -> Notice {
    let path = escape_outside_text(&path.display().to_string());
    Notice {
        code: "undo_set_aside".to_owned(),
        message: format!(
            "The list of changes that can be taken back could not be read, so undo starts empty. Nothing was removed: what was kept is at {path}. Keep it until you are sure that you need none of it."
        ),
    }
}

fn system_fault(what: &'static str, fault: &std::io::Error) -> StartError {
    StartError::System { what, why: fault.to_string() }
}

/// Joins the files capability and the undo store, which do not know each other.
struct Keeper(Arc<UndoStore>);

impl UndoKeeper for Keeper {
    fn keep(
        &self,
        session: Option<&SessionId>,
        change: &Change<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, PathFault> {
        self.0.keep(session, change, cancelled)
    }

    fn changed(&self, number: u64, left: Option<Stamp>) {
        self.0.changed(number, left);
    }

    fn forget(&self, number: u64) {
        self.0.forget(number);
    }
}
