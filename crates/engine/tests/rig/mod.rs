//! A whole engine on temporary folders, connected to a practice platform in the same process.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of the rig")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a rig that cannot be set up must fail loudly")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drawbridge_caps::hardware::Hardware;
use drawbridge_core::{Limits, Power, PowerMode};
use drawbridge_engine::managed::ManagedOptions;
use drawbridge_engine::net::NetSettings;
use drawbridge_engine::view::{LinkState, Snapshot};
use drawbridge_engine::{
    Backoff, Command, ConfiguredModels, Engine, EngineHandle, EngineOptions, ExitKind, Overlay, Reply,
};
use drawbridge_os::folders::Folders;
use drawbridge_os::seat::{Seat, SeatKind};
use drawbridge_practice::{ConsentMode, Failure, Practice, PracticeOptions, Scope, Script};
use drawbridge_store::audit::SyncMode;
use drawbridge_store::config::DeviceMatch;
use drawbridge_store::secrets::SecretFile;
use drawbridge_store::state_dir::StateDir;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An engine, its peer, and the folders of both.
pub struct Rig {
    pub practice: Practice,
    pub script: Script,
    pub engine: Option<Engine>,
    pub handle: EngineHandle,
    pub machine: String,
    /// The folder that chats get; below it is the person's.
    pub home: PathBuf,
    state: TempDir,
    _home: TempDir,
    options: EngineOptions,
}

/// What a rig starts with.
pub struct Wish {
    pub can_ask: bool,
    pub modes: BTreeMap<Power, PowerMode>,
    pub limits: Limits,
    /// What an organisation has fixed; nothing by default.
    pub managed: ManagedOptions,
    /// Secrets rest in the encrypted file also where a keychain is ready.
    pub in_a_file: bool,
    /// The screen; none by default, whatever the tests run on.
    pub seat: Seat,
    /// What the flag about the clipboard says, if it is there.
    pub clipboard_foreign: Option<bool>,
    /// The devices that there are; this machine's by default.
    pub hardware: Option<Hardware>,
    /// Devices that the configuration shares.
    pub devices: Vec<DeviceMatch>,
    /// Servers of local models; by default a port that nobody can listen on.
    pub models: ConfiguredModels,
}

impl Wish {
    /// As headless: attaching is allowed, files too, nothing else.
    pub fn headless() -> Self {
        let modes = BTreeMap::from([(Power::Attach, PowerMode::Allowed)]);
        Self {
            can_ask: false,
            modes,
            limits: Limits::default(),
            managed: ManagedOptions::default(),
            in_a_file: false,
            seat: Seat { kind: SeatKind::None, display: None },
            clipboard_foreign: None,
            hardware: None,
            devices: Vec::new(),
            models: ConfiguredModels { ollama_url: "http://127.0.0.1:1".to_owned(), ..ConfiguredModels::default() },
        }
    }

    /// As headless, with a mode for one power.
    pub fn with(mut self, power: Power, mode: PowerMode) -> Self {
        self.modes.insert(power, mode);
        self
    }

    /// With secrets in the encrypted file, whatever keychain the desktop has.
    pub fn in_a_file(mut self) -> Self {
        self.in_a_file = true;
        self
    }

    /// With a server of local models in the place of the usual one.
    pub fn at_models(mut self, url: &str) -> Self {
        self.models.ollama_url = url.to_owned();
        self
    }

    /// With a screen of its own.
    pub fn on(mut self, seat: Seat) -> Self {
        self.seat = seat;
        self
    }

    /// A window is there to answer.
    pub fn with_window(mut self) -> Self {
        self.can_ask = true;
        self
    }
}

impl Rig {
    /// Starts both sides, signs in through the real flow, and waits for the control link.
    pub async fn start(wish: Wish) -> Self {
        Self::start_in(wish, &std::env::temp_dir()).await
    }

    /// As [`Rig::start`], with the state folder below this one.
    pub async fn start_in(wish: Wish, place: &Path) -> Self {
        let practice =
            Practice::start(PracticeOptions { consent: ConsentMode::Allow, ..Default::default() }).await.unwrap();
        let script = practice.script();
        let state = TempDir::new_in(place).unwrap();
        let home = TempDir::new().unwrap();
        let home_path = home.path().canonicalize().unwrap();
        let folder = |name: &str| state.path().join(name);
        let passphrase = SecretString::from("a passphrase for tests");
        if wish.in_a_file {
            let state = StateDir::open(&folder("state")).unwrap();
            SecretFile::create(state.path(), passphrase.clone(), BTreeMap::new()).unwrap();
        }
        let options = EngineOptions {
            folders: Folders { state: folder("state"), config: folder("config"), logs: folder("state") },
            platform_url: practice.base_url(),
            client_id: "autogpt-local-executor".to_owned(),
            accounts_fixed: None,
            display_name: "desk".to_owned(),
            limits: wish.limits,
            backoff: Backoff { base: Duration::from_millis(20), max: Duration::from_secs(1), jitter: Duration::ZERO },
            max_concurrent_commands: 10,
            max_commands_per_minute: 60,
            max_screenshots_per_minute: 10_000,
            models: wish.models,
            browse_roots: Some(vec![home_path.clone()]),
            audit_sync: SyncMode::Interval,
            net: NetSettings::default(),
            overlay: Overlay {
                modes: wish.modes,
                shell_mode: Some(drawbridge_policy::ShellMode::Full),
                shell_network: None,
                clipboard_foreign: wish.clipboard_foreign,
                private: false,
                preview_bytes: 0,
                devices: wish.devices,
                managed: wish.managed.policy.clone(),
            },
            can_ask: wish.can_ask,
            answer_secret: None,
            legacy: None,
            headless: false,
            passphrase: Some(passphrase),
            managed: wish.managed,
            seat: Some(wish.seat),
            hardware: wish.hardware,
        };
        let engine = Engine::start(options.clone()).await.unwrap();
        let handle = engine.handle();
        sign_in(&handle).await;
        let machine = script.machine().await;
        Self { practice, script, engine: Some(engine), handle, machine, home: home_path, state, _home: home, options }
    }

    /// Ends the engine in order.
    pub async fn stop(&mut self) -> ExitKind {
        let engine = self.engine.take().unwrap();
        engine.stop();
        engine.wait().await
    }

    /// Starts the engine again on the same folders.
    pub async fn start_again(&mut self) {
        let engine = Engine::start(self.options.clone()).await.unwrap();
        self.handle = engine.handle();
        self.engine = Some(engine);
    }

    /// What the engine was started with.
    pub fn options(&self) -> EngineOptions {
        self.options.clone()
    }

    /// The same options, with something else fixed.
    pub fn options_with(&self, managed: ManagedOptions) -> EngineOptions {
        EngineOptions { managed, ..self.options.clone() }
    }

    /// What the next start begins with, to change it.
    pub fn options_mut(&mut self) -> &mut EngineOptions {
        &mut self.options
    }

    /// The state folder.
    pub fn state_dir(&self) -> PathBuf {
        self.state.path().join("state")
    }

    /// Browses to a folder below home by its names and returns (browse, reference).
    pub async fn browse_to(&self, names: &[&str]) -> (String, String) {
        let page = self.script.browse(&self.machine, None, None).await.unwrap();
        let browse = text(&page["browse_id"]);
        let mut at = text(&page["entries"][0]["directory_ref"]);
        for name in names {
            let page = self.script.browse(&self.machine, Some((&browse, &at)), None).await.unwrap();
            let entries = page["entries"].as_array().unwrap();
            at = text(&entries.iter().find(|entry| entry["name"] == *name).unwrap()["directory_ref"]);
        }
        (browse, at)
    }

    /// Makes a folder below home, attaches it to a new chat and activates it. Returns (chat, folder).
    pub async fn chat_in(&self, name: &str) -> (String, PathBuf) {
        let folder = self.home.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let chat = self.script.new_chat(None);
        let (browse, reference) = self.browse_to(&[name]).await;
        self.script.attach(&self.machine, &chat, &browse, &reference).await.unwrap();
        self.script.activate(&chat).await.unwrap();
        (chat, folder)
    }

    /// Asks for one operation of a chat.
    pub async fn ask(&self, chat: &str, kind: &str, payload: Value) -> Result<Value, Failure> {
        let reply = self.script.request(&Scope::Data(chat.to_owned()), kind, payload, None).await?;
        Ok(reply.payload)
    }

    /// Asks for one operation and returns the error payload that must come.
    pub async fn refused(&self, chat: &str, kind: &str, payload: Value) -> Value {
        match self.ask(chat, kind, payload).await {
            Err(Failure::Refused { reply }) => reply.payload,
            other => panic!("{kind} should be refused: {other:?}"),
        }
    }

    /// Waits until the picture fits.
    pub async fn until(&self, fits: impl FnMut(&Snapshot) -> bool) -> Snapshot {
        until(&self.handle, fits).await
    }

    /// Returns the audit records of the current file.
    pub fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state_dir().join("audit.log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the operation names in the audit log.
    pub fn audit_ops(&self) -> Vec<String> {
        self.audit().iter().map(|record| text(&record["op"])).collect()
    }

    /// Nothing that the protocol forbids was seen.
    pub fn assert_no_faults(&self) {
        let faults = self.script.faults();
        assert!(faults.is_empty(), "{faults:?}");
    }
}

/// Signs in by the real flow: the page is visited as a browser would.
pub async fn sign_in(handle: &EngineHandle) {
    let Reply::AuthorizeUrl { url } = handle.send(Command::SignIn).await.unwrap() else { panic!("no page") };
    let page = reqwest::Client::new().get(&url).send().await.unwrap();
    assert!(page.status().is_success(), "{}", page.status());
    until(handle, |picture| picture.link.state == LinkState::Connected).await;
}

/// Waits until the picture fits. Looks again now and then also where no new one comes, since some look at files too.
pub async fn until(handle: &EngineHandle, mut fits: impl FnMut(&Snapshot) -> bool) -> Snapshot {
    let mut pictures = handle.subscribe();
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let picture = Snapshot::clone(&pictures.borrow_and_update());
            if fits(&picture) {
                return picture;
            }
            if let Ok(ended) = tokio::time::timeout(Duration::from_millis(100), pictures.changed()).await {
                ended.unwrap();
            }
        }
    });
    match waited.await {
        Ok(picture) => picture,
        Err(_) => panic!("the picture never fitted: {:#?}", handle.snapshot()),
    }
}

/// The text of a JSON value.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}

/// Path as text.
pub fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A request payload for reading a text.
pub fn read(path: &Path) -> Value {
    json!({ "path": path, "encoding": "utf-8" })
}

/// A request payload for writing a text.
pub fn write(path: &Path, content: &str) -> Value {
    json!({ "path": path, "content": content, "encoding": "utf-8", "create_parents": true })
}
