//! What is installed and how soon it is there: sizes of programs and packages, the command that asks for the state, and the
//! application from its start to its icon in the tray.
//!
//! *Cold* means that the program's own file is out of the page cache; the libraries that it shares with others stay there.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::desktop::{self, elsewhere, row, scripts};
use crate::engine::{Home, Killed, program};
use crate::peer::Peer;
use crate::table::{Table, Times, Verdict, shown};

/// First word of the command line of the part that runs on a desktop.
pub(crate) const DESK_ROLE: &str = "--start-to-tray";
const PACKAGE_BUDGET: u64 = 25_000_000;
const TRAY_BUDGET: Duration = Duration::from_millis(700);
const ROUNDS: usize = 7;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    sizes(table)?;
    status(table)?;
    elsewhere(table, DESK_ROLE, false)
}

fn sizes(table: &mut Table) -> anyhow::Result<()> {
    let size = |path: &Path| Ok::<_, anyhow::Error>(fs::metadata(path)?.len());
    let (command, window) = (size(&program()?)?, size(&desktop::program()?)?);
    let beside = format!("drawbridge {}, drawbridge-desktop {}", megabytes(command), megabytes(window));
    table.add("size of the programs", "", megabytes(command + window), beside, Verdict::None);
    let made = scripts().join("../dist");
    for (ending, holds) in [("deb", ""), ("rpm", ""), ("AppImage", "holds the web view and all of its libraries")] {
        let figure = format!("size of the .{ending}");
        let found = fs::read_dir(&made).ok().into_iter().flatten().flatten().map(|entry| entry.path());
        let budget = if holds.is_empty() { "≤ 25 MB" } else { "" };
        match found.into_iter().find(|path| path.extension().is_some_and(|is| is == ending)) {
            None => table.missing(&figure, budget, "not made: make package"),
            Some(path) => {
                let size = size(&path)?;
                let verdict = if holds.is_empty() { Verdict::of(size <= PACKAGE_BUDGET) } else { Verdict::None };
                table.add(figure, budget, megabytes(size), holds, verdict);
            }
        }
    }
    Ok(())
}

/// `drawbridge status` of an engine that does not run: what a script or a panel pays.
fn status(table: &mut Table) -> anyhow::Result<()> {
    let home = Home::new()?;
    let ask = |words: &[&str]| {
        let mut command = Command::new(program()?);
        home.environment(&mut command);
        let started = Instant::now();
        let code = command.args(words).stdout(Stdio::null()).status()?.code();
        ensure!(matches!(code, Some(0 | 3)), "drawbridge {words:?} ended with {code:?}");
        Ok(started.elapsed())
    };
    let (mut cold, mut warm, mut least) = (Times::default(), Times::default(), Times::default());
    for _ in 0..ROUNDS {
        out_of_the_cache(&program()?)?;
        cold.push(ask(&["status", "--json"])?);
        warm.push(ask(&["status", "--json"])?);
        least.push(ask(&["--version"])?);
    }
    let beside = format!("drawbridge --version {}", shown(least.p50()));
    table.add("drawbridge status, cold", "", shown(cold.p50()), &beside, Verdict::None);
    table.add("drawbridge status, warm", "", shown(warm.p50()), &beside, Verdict::None);
    Ok(())
}

/// The part that runs on a desktop without a tray host: this one is the host, and so sees when the icon comes.
pub(crate) async fn on_a_desktop() -> anyhow::Result<()> {
    let peer = Peer::open().await?;
    let home = Home::with_keychain()?;
    let mut host = Host::start()?;
    let (mut cold, mut warm, mut least) = (Times::default(), Times::default(), Times::default());
    // The first start makes the audit key and its log.
    host.icon_of(&home, &peer.url()?)?;
    for _ in 0..ROUNDS {
        out_of_the_cache(&desktop::program()?)?;
        cold.push(host.icon_of(&home, &peer.url()?)?);
        warm.push(host.icon_of(&home, &peer.url()?)?);
        let started = Instant::now();
        Command::new(desktop::program()?).arg("--version").stdout(Stdio::null()).status()?;
        least.push(started.elapsed());
    }
    for (when, times) in [("cold", cold), ("warm", warm)] {
        let beside = format!("worst {}, drawbridge-desktop --version {}", shown(times.at(1.0)), shown(least.p50()));
        let verdict = Verdict::of(times.p50() <= TRAY_BUDGET);
        row(&format!("start to tray, {when}"), "≤ 700 ms", &shown(times.p50()), &beside, verdict);
    }
    Ok(())
}

/// A tray host that tells of each icon as it registers.
struct Host {
    lines: BufReader<ChildStdout>,
    _process: Killed,
}

impl Host {
    fn start() -> anyhow::Result<Self> {
        let mut process =
            Command::new("/usr/bin/python3").arg(scripts().join("watcher.py")).stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(process.stdout.take().context("no output of the tray host")?);
        let mut host = Self { lines, _process: Killed(process) };
        ensure!(host.next()? == "ready", "the tray host did not start");
        Ok(host)
    }

    fn next(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Starts the application with the tray alone, and gives the time until its icon was there. Ends it again.
    fn icon_of(&mut self, home: &Home, url: &str) -> anyhow::Result<Duration> {
        let mut command = Command::new(desktop::program()?);
        home.environment(&mut command);
        command.arg("--hidden").env("DRAWBRIDGE_PLATFORM_URL", url);
        let started = Instant::now();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut running = Killed(child);
        let icon = self.next()?;
        let took = started.elapsed();
        ensure!(icon.contains("StatusNotifierItem"), "the tray host told {icon:?}");
        end(&mut running.0)?;
        Ok(took)
    }
}

fn end(child: &mut Child) -> anyhow::Result<()> {
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
    let status = child.wait()?;
    ensure!(status.success(), "the application ended with {status}");
    Ok(())
}

/// Lets the system forget the contents of this file, as after a restart. Needs no rights.
fn out_of_the_cache(file: &Path) -> anyhow::Result<()> {
    let mut from = std::ffi::OsString::from("if=");
    from.push(file);
    let status = Command::new("dd")
        .arg(from)
        .args(["iflag=nocache", "count=0", "status=none"])
        .status()
        .context("no dd here")?;
    ensure!(status.success(), "dd ended with {status}");
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
