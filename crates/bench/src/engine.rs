//! The engine in its own process, the very program that people run, and what the system says about that process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use drawbridge_engine::account::{TokenVault as _, Tokens};
use drawbridge_engine::token_vault::SecretVault;
use drawbridge_store::secrets::{self, SecretFile, SecretStore};
use drawbridge_store::state_dir::StateDir;
use secrecy::SecretString;
use tempfile::TempDir;

const PASSPHRASE: &str = "only for measuring";
/// Linux counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A process that ends with its owner.
#[derive(Debug)]
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Folders of one engine: state and configuration, and the folder that it works in.
#[derive(Debug)]
pub(crate) struct Home {
    dir: TempDir,
    in_keychain: bool,
}

/// How the engine is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The control link.
    Control,
    /// One data link, commands with everything the person can do.
    Full,
    /// One data link, commands confined.
    Confined,
}

impl Home {
    /// Makes folders for an engine that is signed in. The tokens lie in the encrypted file.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let home = Self::bare(false)?;
        let secrets = SecretFile::open(&home.state(), SecretString::from(PASSPHRASE))?;
        home.sign_in(Arc::new(secrets))?;
        Ok(home)
    }

    /// The same with the tokens in the keychain.
    pub(crate) fn with_keychain() -> anyhow::Result<Self> {
        let home = Self::bare(true)?;
        home.sign_in(Arc::new(secrets::keychain_of(&home.state())?))?;
        Ok(home)
    }

    fn bare(in_keychain: bool) -> anyhow::Result<Self> {
        let dir = TempDir::new()?;
        let home = Self { dir, in_keychain };
        for folder in [home.config(), home.root()] {
            std::fs::create_dir_all(folder)?;
        }
        StateDir::open(&home.state())?;
        home.configure(&[])?;
        Ok(home)
    }

    /// Peers of this program check no token.
    fn sign_in(&self, secrets: Arc<dyn SecretStore>) -> anyhow::Result<()> {
        let tokens = Tokens {
            access: SecretString::from("bench-access"),
            refresh: SecretString::from("bench-refresh"),
            expires_at: None,
            obtained_at: None,
            refresh_expires_at: None,
            origin: None,
        };
        SecretVault::new(secrets, self.state()).save(&tokens).context("the tokens could not be stored")
    }

    /// Writes the configuration: quick reconnects, and the folders that may be browsed.
    pub(crate) fn configure(&self, browse_roots: &[PathBuf]) -> anyhow::Result<()> {
        let mut text = "reconnect_base_delay_seconds = 0.1\nreconnect_jitter_seconds = 0\n".to_owned();
        if !browse_roots.is_empty() {
            text.push_str(&format!("[browse]\nroots = {browse_roots:?}\n"));
        }
        Ok(std::fs::write(self.config().join("config.toml"), text)?)
    }

    /// The same, and lets the platform attach a folder without a question.
    pub(crate) fn configure_attached(&self, browse_roots: &[PathBuf]) -> anyhow::Result<()> {
        self.configure(browse_roots)?;
        let file = self.config().join("config.toml");
        let text = std::fs::read_to_string(&file)? + "[consent]\nattach = \"allow\"\n";
        Ok(std::fs::write(file, text)?)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    /// The folder that a data link works in.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// How long the key derivation takes that every start makes once.
    pub(crate) fn key_derivation(&self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        SecretFile::open(&self.state(), SecretString::from(PASSPHRASE))?;
        Ok(started.elapsed())
    }

    /// Adds lines to the configuration; before any table.
    pub(crate) fn configure_more(&self, lines: &str) -> anyhow::Result<()> {
        let file = self.config().join("config.toml");
        let text = std::fs::read_to_string(&file)? + lines;
        Ok(std::fs::write(file, text)?)
    }

    /// Starts the engine's own program on these folders.
    pub(crate) fn start(&self, kind: Kind, url: &str) -> anyhow::Result<Process> {
        self.start_with(kind, url, |_| {})
    }

    /// The same, with more words or another environment.
    pub(crate) fn start_with(&self, kind: Kind, url: &str, more: impl FnOnce(&mut Command)) -> anyhow::Result<Process> {
        let mut command = Command::new(program()?);
        command.args(["start", "--headless", "--platform-url", url]);
        if kind != Kind::Control {
            command.args(["--session-id", "bench", "--allowed-root"]).arg(self.root());
            command.args(["--enable-shell", "--shell", if kind == Kind::Full { "full" } else { "confined" }]);
        }
        self.environment(&mut command);
        more(&mut command);
        let log = std::fs::File::create(self.dir.path().join("log"))?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        Ok(Process { pid: child.id(), child: Killed(child) })
    }

    /// Points a program to these folders.
    pub(crate) fn environment(&self, command: &mut Command) {
        command.env("DRAWBRIDGE_STATE_DIR", self.state()).env("DRAWBRIDGE_CONFIG_DIR", self.config());
        if !self.in_keychain {
            command.env("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", PASSPHRASE);
        }
    }

    /// What the engine said, for when it does not do what it should.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

/// A running engine.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    child: Killed,
}

impl Process {
    /// Proportional share of memory, in KiB.
    pub(crate) fn pss_kib(&self) -> anyhow::Result<u64> {
        field(&self.proc("smaps_rollup")?, "Pss:")
    }

    /// Memory that is resident, in KiB.
    pub(crate) fn rss_kib(&self) -> anyhow::Result<u64> {
        field(&self.proc("status")?, "VmRSS:")
    }

    /// The most memory that was ever resident, in KiB.
    pub(crate) fn peak_kib(&self) -> anyhow::Result<u64> {
        field(&self.proc("status")?, "VmHWM:")
    }

    /// Number of threads.
    pub(crate) fn threads(&self) -> anyhow::Result<u64> {
        field(&self.proc("status")?, "Threads:")
    }

    /// Processor time used so far.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.pid)
    }

    /// How often its threads went to sleep so far: after each of these something woke them.
    pub(crate) fn sleeps(&self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid))? {
            // It may have ended just now.
            let status = std::fs::read_to_string(thread?.path().join("status")).unwrap_or_default();
            sum += field(&status, "voluntary_ctxt_switches:").unwrap_or_default();
        }
        Ok(sum)
    }

    /// Number of processes that it has started and that run.
    pub(crate) fn helpers(&self) -> anyhow::Result<usize> {
        let mut count = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid))? {
            let children = std::fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
            count += children.split_whitespace().count();
        }
        Ok(count)
    }

    /// Asks it to end and waits.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        Command::new("kill").args(["-TERM", &self.pid.to_string()]).status()?;
        let status = self.child.0.wait()?;
        ensure!(status.success(), "the engine ended with {status}");
        Ok(())
    }

    fn proc(&self, name: &str) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{name}", self.pid))?)
    }
}

/// Processor time of a process so far, without that of its children.
pub(crate) fn cpu_of(pid: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in brackets may hold blanks.
    let after = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u32 = after.split(' ').skip(11).take(2).map(|word| word.parse().unwrap_or(0)).sum();
    Ok(TICK * ticks)
}

pub(crate) fn field(text: &str, name: &str) -> anyhow::Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    Ok(line.split_whitespace().next().unwrap_or_default().parse()?)
}

/// The release build of `drawbridge`, beside this program.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("drawbridge");
    ensure!(Path::new(&path).exists(), "{} is missing: cargo build --release -p drawbridge-cli", path.display());
    Ok(path)
}
