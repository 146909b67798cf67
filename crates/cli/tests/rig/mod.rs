//! The real binary on temporary folders, against a practice platform in this process.

#![allow(unreachable_pub, reason = "a module of tests has no other users")]
#![allow(dead_code, reason = "each test file uses its own part of the rig")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use drawbridge_engine::account::{TokenVault as _, Tokens};
use drawbridge_engine::token_vault::SecretVault;
use drawbridge_practice::{Clocks, ConsentMode, Failure, Practice, PracticeOptions, Scope, Script};
use drawbridge_store::secrets::SecretFile;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sha2::Digest as _;
use tempfile::TempDir;
use tokio::process::{Child, Command};

pub const PASSPHRASE: &str = "a passphrase for tests";
/// Nothing in a test takes longer than this on a machine that is busy with others.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Rig {
    pub practice: Practice,
    pub script: Script,
    /// Holds `state`, `config` and `home`; chats get folders below the last one.
    pub dir: TempDir,
}

/// A running `start`. Killed when dropped.
pub struct Started {
    pub child: Child,
    pub machine: String,
}

impl Rig {
    pub async fn new() -> Self {
        Self::with(PracticeOptions { consent: ConsentMode::Allow, clocks: Clocks::default(), ..Default::default() })
            .await
    }

    /// A rig with this platform.
    pub async fn with(options: PracticeOptions) -> Self {
        let practice = Practice::start(options).await.unwrap();
        let dir = TempDir::new().unwrap();
        for name in ["home", "config"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let rig = Self { script: practice.script(), practice, dir };
        rig.configure("");
        rig
    }

    /// A rig whose state folder holds a pair of tokens, got as a browser would get them.
    pub async fn signed_in() -> Self {
        let rig = Self::new().await;
        rig.seed(&rig.fresh_tokens().await);
        rig
    }

    /// Writes `config.toml`, with what is given on top.
    pub fn configure(&self, more: &str) {
        let text = format!(
            "reconnect_base_delay_seconds = 0.1\nreconnect_jitter_seconds = 0\n{more}\n[browse]\nroots = [{:?}]\n",
            self.home()
        );
        std::fs::write(self.dir.path().join("config/config.toml"), text).unwrap();
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home").canonicalize().unwrap()
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// The program with a clean environment.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drawbridge"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path().join("home"))
            .env("DRAWBRIDGE_STATE_DIR", self.state())
            .env("DRAWBRIDGE_CONFIG_DIR", self.dir.path().join("config"))
            .env("DRAWBRIDGE_PLATFORM_URL", self.practice.ws_url())
            .env("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", PASSPHRASE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, words: &[&str]) -> Output {
        finish(self.command(words)).await
    }

    /// Runs it and expects this exit code; returns what it printed.
    pub async fn expect(&self, code: i32, words: &[&str]) -> String {
        let output = self.run(words).await;
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts the engine and waits for its control link.
    pub async fn start(&self, more: &[&str]) -> Started {
        let mut words = vec!["start", "--headless"];
        words.extend(more);
        let mut command = self.command(&words);
        command.stdout(Stdio::null()).stderr(self.log());
        let child = command.spawn().unwrap();
        let machine = within(self.script.machine()).await;
        Started { child, machine }
    }

    /// Where a running engine writes its log: a pipe that nobody reads would stop it.
    pub fn log(&self) -> std::fs::File {
        std::fs::File::options().create(true).append(true).open(self.dir.path().join("engine.log")).unwrap()
    }

    /// A pair of tokens that this platform gave out.
    pub async fn fresh_tokens(&self) -> Tokens {
        let verifier = "a-verifier-that-is-long-enough-to-be-taken-0123456789";
        let redirect = "http://localhost:41899/callback";
        let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(verifier));
        let base = self.practice.base_url();
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        let page = format!(
            "{base}/auth/authorize?response_type=code&client_id=autogpt-local-executor&redirect_uri={redirect}&scope=USE_TOOLS&code_challenge={challenge}&code_challenge_method=S256&state=s"
        );
        let answer = http.get(page).send().await.unwrap();
        let to = answer.headers()["location"].to_str().unwrap().to_owned();
        let code = to.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
        let form = json!({
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
            "client_id": "autogpt-local-executor", "code_verifier": verifier,
        });
        let got = http.post(format!("{base}/api/oauth/token")).form(&form).send().await.unwrap();
        let got: Value = got.json().await.unwrap();
        let now = drawbridge_core::Clock::wall(&drawbridge_core::SystemClock);
        Tokens {
            access: SecretString::from(text(&got["access_token"])),
            refresh: SecretString::from(text(&got["refresh_token"])),
            expires_at: Some(now.plus(Duration::from_secs(3600))),
            obtained_at: Some(now),
            refresh_expires_at: None,
            origin: None,
        }
    }

    /// Puts tokens into the state folder.
    pub fn seed(&self, tokens: &Tokens) {
        drawbridge_os::private::create_folder(&self.state()).unwrap();
        self.vault().save(tokens).unwrap();
    }

    /// The tokens in the state folder.
    pub fn tokens(&self) -> Option<Tokens> {
        self.vault().load().unwrap()
    }

    fn vault(&self) -> SecretVault {
        let file = SecretFile::open(&self.state(), SecretString::from(PASSPHRASE)).unwrap();
        SecretVault::new(Arc::new(file), self.state())
    }

    /// Makes a folder below home, attaches it to a new chat and activates it. Returns (chat, folder).
    pub async fn chat_in(&self, started: &Started, name: &str) -> (String, PathBuf) {
        let folder = self.home().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let chat = self.script.new_chat(None);
        let page = self.script.browse(&started.machine, None, None).await.unwrap();
        let (browse, top) = (text(&page["browse_id"]), text(&page["entries"][0]["directory_ref"]));
        let page = self.script.browse(&started.machine, Some((&browse, &top)), None).await.unwrap();
        let entries = page["entries"].as_array().unwrap();
        let at = text(&entries.iter().find(|entry| entry["name"] == name).unwrap()["directory_ref"]);
        self.script.attach(&started.machine, &chat, &browse, &at).await.unwrap();
        self.script.activate(&chat).await.unwrap();
        (chat, folder)
    }

    pub async fn ask(&self, chat: &str, kind: &str, payload: Value) -> Result<Value, Failure> {
        Ok(self.script.request(&Scope::Data(chat.to_owned()), kind, payload, None).await?.payload)
    }

    /// Asks for one operation and returns the error payload that must come.
    pub async fn refused(&self, chat: &str, kind: &str, payload: Value) -> Value {
        match self.ask(chat, kind, payload).await {
            Err(Failure::Refused { reply }) => reply.payload,
            other => panic!("{kind} should be refused: {other:?}"),
        }
    }

    /// The records of the current audit file.
    pub fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state().join("audit.log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The names of the operations in it.
    pub fn ops(&self) -> Vec<String> {
        self.audit().iter().map(|record| text(&record["op"])).collect()
    }

    /// What a HELLO frame of this scope said, the newest one.
    pub fn hello(&self, scope: &Scope) -> Value {
        let frames = self.script.frames(0);
        let hello = frames.iter().rev().find(|frame| frame.kind == "HELLO" && frame.scope == *scope).unwrap();
        serde_json::from_str(&hello.text).unwrap()
    }

    /// Nothing that must stay secret stands in any file of these folders or in what was printed.
    pub fn assert_nothing_in_clear(&self, more: &[&str], printed: &[u8]) {
        let mut secrets: Vec<String> = more.iter().map(|one| (*one).to_owned()).collect();
        secrets.push(PASSPHRASE.to_owned());
        if let Some(tokens) = self.tokens() {
            secrets.push(tokens.access.expose_secret().to_owned());
            secrets.push(tokens.refresh.expose_secret().to_owned());
        }
        let mut files = files_below(&self.state());
        // What undo keeps is content, for this user alone.
        files.retain(|file| !file.starts_with(self.state().join("undo/kept")));
        files.push(self.dir.path().join("engine.log"));
        for file in files {
            let bytes = std::fs::read(&file).unwrap_or_default();
            for secret in &secrets {
                assert!(!holds(&bytes, secret), "{} holds a secret", file.display());
            }
        }
        assert!(!secrets.iter().any(|secret| holds(printed, secret)), "a secret was printed");
    }
}

impl Started {
    pub fn control(&self) -> Scope {
        Scope::Control(self.machine.clone())
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Waits for the end by itself and returns the exit code.
    pub async fn code(mut self) -> Option<i32> {
        within(self.child.wait()).await.unwrap().code()
    }

    /// Ends it in order and returns the exit code.
    pub async fn stop(self) -> Option<i32> {
        self.signal("TERM");
        self.code().await
    }
}

/// Waits for something that must happen.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("it did not happen within {PATIENCE:?}"))
}

/// Runs a command to its end.
pub async fn finish(mut command: Command) -> Output {
    within(command.output()).await.unwrap()
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&path));
        } else if entry.file_type().unwrap().is_file() {
            found.push(path);
        }
    }
    found
}
