//! From the start of the program to its HELLO.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use crate::engine::{Home, Kind, program};
use crate::peer::Peer;
use crate::table::{Table, Times, Verdict, shown};

/// First word of the command line of the part that runs beside a keychain.
pub(crate) const KEYCHAIN_ROLE: &str = "--beside-keychain";
const BUDGET: Duration = Duration::from_millis(60);
const STARTS: usize = 9;

pub(crate) async fn measure(table: &mut Table) -> anyhow::Result<()> {
    let least = bare_start()?;
    let home = Home::new()?;
    let starts = starts(&home).await?;
    let mut keys = Times::default();
    for _ in 0..STARTS {
        keys.push(home.key_derivation()?);
    }
    let rest = starts.p50().saturating_sub(keys.p50());
    table.add(
        "start to HELLO, passphrase file",
        "≤ 60 ms + key",
        format!("{} = {} + key", shown(starts.p50()), shown(rest)),
        format!("key derivation {}, drawbridge --version {}", shown(keys.p50()), shown(least)),
        Verdict::of(rest <= BUDGET),
    );
    match beside_keychain() {
        Ok(time) => table.add(
            "start to HELLO, keychain",
            "≤ 60 ms",
            shown(time),
            format!("drawbridge --version {}", shown(least)),
            Verdict::of(time <= BUDGET),
        ),
        Err(fault) => table.missing("start to HELLO, keychain", "≤ 60 ms", &format!("{fault:#}")),
    }
    Ok(())
}

async fn starts(home: &Home) -> anyhow::Result<Times> {
    let peer = Peer::open().await?;
    let mut times = Times::default();
    for round in 0..=STARTS {
        let started = Instant::now();
        let process = home.start(Kind::Control, &peer.url()?)?;
        let (_link, _) = peer.hello().await.with_context(|| home.log())?;
        // The first start makes the audit key and its log.
        if round > 0 {
            times.push(started.elapsed());
        }
        process.stop().with_context(|| home.log())?;
    }
    Ok(times)
}

/// What starting any program of this size costs.
fn bare_start() -> anyhow::Result<Duration> {
    let mut times = Times::default();
    for _ in 0..STARTS {
        let started = Instant::now();
        Command::new(program()?).arg("--version").stdout(Stdio::null()).status()?;
        times.push(started.elapsed());
    }
    Ok(times.p50())
}

/// Measures in a session bus of its own with a keychain of its own.
fn beside_keychain() -> anyhow::Result<Duration> {
    let home = TempDir::new()?;
    let script =
        r#"printf bench | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 && exec "$0" "$1""#;
    let output = Command::new("dbus-run-session")
        .args(["--", "bash", "-c", script])
        .arg(std::env::current_exe()?)
        .arg(KEYCHAIN_ROLE)
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .env_remove("XDG_DATA_HOME")
        .stdin(Stdio::null())
        .output()
        .context("no dbus-run-session here")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let micros = said.lines().find_map(|line| line.strip_prefix("median_us ")?.parse().ok());
    let why = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no keychain").to_owned();
    ensure!(output.status.success(), "{why}");
    Ok(Duration::from_micros(micros.context(why)?))
}

/// The part that runs beside a keychain.
pub(crate) async fn in_session() -> anyhow::Result<()> {
    let home = Home::with_keychain()?;
    println!("median_us {}", starts(&home).await?.p50().as_micros());
    Ok(())
}
