//! The desktop application in its own process: what it logs, what its processes cost, and pressing its buttons from outside.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use drawbridge_engine::control::Client;
use drawbridge_store::state_dir::StateDir;

use crate::engine::{Home, Killed, cpu_of, field};
use crate::table::{Table, Verdict};

/// Nothing that is measured takes longer.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Runs a part of this program on a desktop of its own, with a tray host or without, and takes over the figures it tells.
pub(crate) fn elsewhere(table: &mut Table, role: &str, tray: bool) -> anyhow::Result<()> {
    let output = Command::new(scripts().join("desk.sh"))
        .arg(std::env::current_exe()?)
        .arg(role)
        .env("DESK_TRAY", if tray { "" } else { "none" })
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("no desktop can be made here")?;
    let told = String::from_utf8_lossy(&output.stdout);
    for line in told.lines().filter_map(|line| line.strip_prefix("row\t")) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [figure, budget, measured, beside, verdict] = cells.as_slice() else { continue };
        table.add(*figure, *budget, *measured, *beside, Verdict::named(verdict));
    }
    ensure!(output.status.success(), "the measurement on a desktop broke off");
    Ok(())
}

/// One figure, for the process outside.
pub(crate) fn row(figure: &str, budget: &str, measured: &str, beside: &str, verdict: Verdict) {
    println!("row\t{figure}\t{budget}\t{measured}\t{beside}\t{}", verdict.word());
}

/// The folder of the desktop's own scripts.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// The release build of `drawbridge-desktop`, beside this program.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("drawbridge-desktop");
    ensure!(program.exists(), "{} is missing: cargo build --release -p drawbridge-desktop", program.display());
    Ok(program)
}

/// A running desktop application with the tray alone.
pub(crate) struct Desktop {
    child: Killed,
    log: PathBuf,
    /// The line of the person's own programs to it.
    pub(crate) client: Client,
}

/// Memory of the application and of everything it started, in KiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Private dirty pages of the application's own process.
    pub(crate) own: u64,
    /// Proportional share of all its processes.
    pub(crate) tree: u64,
    /// Processes that draw pages.
    pub(crate) pages: usize,
    /// Processes that fetch for pages.
    pub(crate) networks: usize,
    /// Threads of the application's own process.
    pub(crate) threads: u64,
}

impl Desktop {
    /// Starts it on these folders.
    pub(crate) async fn start(home: &Home, url: &str) -> anyhow::Result<Self> {
        let log = home.state().with_file_name("desktop.log");
        let file = std::fs::File::create(&log)?;
        let mut command = Command::new(program()?);
        command.arg("--hidden").env("DRAWBRIDGE_PLATFORM_URL", url).env("NO_COLOR", "1");
        home.environment(&mut command);
        let child = Killed(command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?);
        let socket = StateDir::open(&home.state())?.control_socket();
        let started = Instant::now();
        let client = loop {
            if let Ok(client) = Client::connect(&socket).await {
                break client;
            }
            ensure!(started.elapsed() < PATIENCE, "the application did not start");
            tokio::time::sleep(LOOK_EVERY).await;
        };
        Ok(Self { child, log, client })
    }

    /// Everything it has said.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// How often this window has been painted.
    pub(crate) fn paints(&self, window: &str) -> usize {
        painted(&self.said(), window).len()
    }

    /// Waits for one more painting of this window after so many. Gives the time that the application measured itself.
    pub(crate) async fn painted(&self, window: &str, before: usize) -> anyhow::Result<Duration> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(took) = painted(&self.said(), window).get(before) {
                return Ok(*took);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        bail!("{window} was not painted within 30 s: {}", self.said())
    }

    /// Closes the main window as a person does, and waits until nothing draws pages any more.
    pub(crate) async fn close_window(&self) -> anyhow::Result<()> {
        Command::new("wmctrl").args(["-F", "-c", "Drawbridge"]).status().context("no wmctrl here")?;
        self.no_pages().await
    }

    /// Waits until nothing draws pages any more.
    pub(crate) async fn no_pages(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        while self.memory()?.pages > 0 {
            ensure!(started.elapsed() < PATIENCE, "a page is still drawn after 30 s: {}", self.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        let pid = self.child.0.id();
        let family = family(pid)?;
        let named = |name: &str| family.iter().filter(|(_, comm)| comm.starts_with(name)).count();
        // Each may end while it is read.
        let tree = family.iter().filter_map(|(pid, _)| rollup(*pid, "Pss:").ok()).sum();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        Ok(Memory {
            own: rollup(pid, "Private_Dirty:")?,
            tree,
            pages: named("WebKitWebProces"),
            networks: named("WebKitNetworkPr"),
            threads: field(&status, "Threads:")?,
        })
    }

    /// Processor time so far: of the application, and of everything it started.
    pub(crate) fn cpu(&self) -> anyhow::Result<(Duration, Duration)> {
        let pid = self.child.0.id();
        let family = family(pid)?;
        let others = family.iter().filter(|(other, _)| *other != pid).filter_map(|(pid, _)| cpu_of(*pid).ok()).sum();
        Ok((cpu_of(pid)?, others))
    }
}

/// The times in the lines `painted ms=… window="…"`.
fn painted(log: &str, window: &str) -> Vec<Duration> {
    let wanted = format!("window=\"{window}\"");
    let lines = log.lines().filter(|line| line.contains(" painted ") && line.contains(&wanted));
    let time = |line: &str| line.split("ms=").nth(1)?.split(' ').next()?.parse().ok().map(Duration::from_millis);
    lines.filter_map(time).collect()
}

/// A process and everything that descends from it: numbers and names.
fn family(root: u32) -> anyhow::Result<Vec<(u32, String)>> {
    let mut parents: HashMap<u32, (u32, String)> = HashMap::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in brackets may hold blanks.
        let Some((head, tail)) = stat.rsplit_once(") ") else { continue };
        let name = head.split_once('(').map_or("", |(_, name)| name).to_owned();
        if let Some(parent) = tail.split(' ').nth(1).and_then(|word| word.parse().ok()) {
            parents.insert(pid, (parent, name));
        }
    }
    let descends = |mut pid: u32| {
        while pid != root {
            match parents.get(&pid) {
                Some((parent, _)) => pid = *parent,
                None => return false,
            }
        }
        true
    };
    Ok(parents.iter().filter(|(pid, _)| descends(**pid)).map(|(pid, (_, name))| (*pid, name.clone())).collect())
}

fn rollup(pid: u32, name: &str) -> anyhow::Result<u64> {
    field(&std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?, name)
}
