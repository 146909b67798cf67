//! The audit log on the command line (spec 3.9). Reading works while the engine writes; what changes the log is the
//! engine's while it runs, and ours under the state folder's lock else.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use drawbridge_core::{Clock as _, SessionId, SystemClock, escape_outside_text};
use drawbridge_engine::{Command, Reply};
use drawbridge_os::machine;
use drawbridge_store::audit::{
    self, AuditLog, AuditOptions, HONEST_LIMIT, HeadCopy, Record, RecordResult, Report, SyncMode, Tail,
};
use drawbridge_store::secrets::entries;
use serde_json::{Map, Value};

use crate::args::{AuditVerb, KeyArgs};
use crate::coded::{USAGE, coded};
use crate::place::{Place, Reach, odd_answer};
use crate::{out, signals};

/// How often a followed log is looked at.
const FOLLOW_ROUND: Duration = Duration::from_millis(100);
/// Version as the log says it, the same as the engine's.
const SHIM_VERSION: &str = concat!("drawbridge-", env!("CARGO_PKG_VERSION"));

pub(crate) async fn run(verb: AuditVerb) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match verb {
        AuditVerb::Key(KeyArgs { show: _ }) => key(&place),
        AuditVerb::Verify { compat } => verify(&place, compat, false),
        AuditVerb::VerifyAll { compat } => verify(&place, compat, true),
        AuditVerb::Show { seq, file } => show(&place, seq, file.as_deref()),
        AuditVerb::Tail { n, no_follow } => tail(&place, n, !no_follow).await,
        AuditVerb::Rotate => rotate(&place).await,
        AuditVerb::Export { output } => export(&place, output),
        AuditVerb::Prune { older_than } => prune(&place, older_than).await,
    }
}

fn key(place: &Place) -> anyhow::Result<u8> {
    if io::stdin().is_terminal() {
        out::complain("whoever has the audit key can forge the log; type yes to see it");
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if answer.trim() != "yes" {
            bail!("the key was not shown");
        }
    }
    let (key, _) = place.audit_key().map_err(|fault| coded(USAGE, fault))?;
    out::line(&key.to_hex())?;
    Ok(0)
}

fn verify(place: &Place, compat: bool, all: bool) -> anyhow::Result<u8> {
    let paths = place.audit_paths();
    if !place.exists() || (!all && !paths.log.exists()) {
        out::line(&format!("missing_file: {} is not there", shown(&paths.log)))?;
        return Ok(1);
    }
    let (key, secrets) = place.audit_key().map_err(|fault| coded(USAGE, fault))?;
    let check = if all { audit::verify_all } else { audit::verify };
    let report = check(&paths, &key, HeadCopy::In(secrets.as_ref()), compat)
        .with_context(|| format!("the log {} cannot be read", shown(&paths.log)))?;
    print_report(&report)?;
    Ok(u8::from(!report.is_sound()))
}

fn print_report(report: &Report) -> io::Result<()> {
    for file in &report.files {
        let older =
            if file.older_rule > 0 { format!(", {} by the older rule", file.older_rule) } else { String::new() };
        out::line(&format!("{}: {} records{older}", escape_outside_text(&file.file), file.records))?;
    }
    for finding in &report.findings {
        out::line(&escape_outside_text(&finding.to_string()))?;
    }
    out::line(if report.is_sound() { "sound" } else { "NOT sound" })?;
    out::line(HONEST_LIMIT)
}

fn show(place: &Place, seq: u64, file: Option<&str>) -> anyhow::Result<u8> {
    let mut found = audit::show(&place.audit_paths(), seq, file).context("the log cannot be read")?.into_iter();
    let Some(first) = found.next() else {
        out::complain(&format!("there is no record {seq} in the audit log"));
        return Ok(1);
    };
    out::line(&first.record.to_string())?;
    let others: Vec<String> = found.map(|other| escape_outside_text(&other.file)).collect();
    if !others.is_empty() {
        let first = escape_outside_text(&first.file);
        let others = others.join(", ");
        out::complain(&format!("this is record {seq} of {first}; {others} hold one, too: choose with --file"));
    }
    Ok(0)
}

async fn tail(place: &Place, count: Option<usize>, follow: bool) -> anyhow::Result<u8> {
    let ended = signals::ended()?;
    tokio::pin!(ended);
    let mut tail = Tail::open(&place.audit_paths(), count).context("the log cannot be read")?;
    let mut round = tokio::time::interval(FOLLOW_ROUND);
    loop {
        while let Some(line) = tail.next_now().context("the log cannot be read")? {
            out::line(&line)?;
        }
        if !follow {
            return Ok(0);
        }
        tokio::select! {
            () = &mut ended => return Ok(0),
            _ = round.tick() => {}
        }
    }
}

async fn rotate(place: &Place) -> anyhow::Result<u8> {
    require_log(place)?;
    let path = match place.reach().await? {
        Reach::Running(mut client) => {
            let Reply::Rotated { path } = client.send(&Command::AuditRotate).await? else { return Err(odd_answer()) };
            path
        }
        Reach::Stopped(_owner) => writer(place)?.rotate()?.display().to_string(),
    };
    out::line(&escape_outside_text(&path))?;
    Ok(0)
}

async fn prune(place: &Place, older_than: Duration) -> anyhow::Result<u8> {
    require_log(place)?;
    let files = match place.reach().await? {
        Reach::Running(mut client) => {
            let ask = Command::AuditPrune { older_than_seconds: older_than.as_secs() };
            let Reply::Pruned { files } = client.send(&ask).await? else { return Err(odd_answer()) };
            files
        }
        Reach::Stopped(_owner) => writer(place)?.prune(older_than)?,
    };
    for file in files {
        out::line(&escape_outside_text(&file))?;
    }
    Ok(0)
}

fn export(place: &Place, output: Option<PathBuf>) -> anyhow::Result<u8> {
    require_log(place)?;
    let (key, _) = place.audit_key().map_err(|fault| coded(USAGE, fault))?;
    let now = SystemClock.wall();
    let output = output.unwrap_or_else(|| format!("audit-export-{}.zip", now.seconds()).into());
    let exported = audit::export(&place.audit_paths(), &key, entries::AUDIT_KEY, now, &output)
        .with_context(|| format!("the bundle {} cannot be written", shown(&output)))?;
    for file in exported.files {
        out::line(&escape_outside_text(&file))?;
    }
    out::complain(&format!(
        "wrote {}; it holds the paths and command lines of the log and not the key, which `drawbridge audit key --show` tells",
        shown(&output)
    ));
    Ok(0)
}

fn require_log(place: &Place) -> anyhow::Result<()> {
    let log = place.audit_paths().log;
    if !log.exists() {
        bail!("there is no audit log at {} yet", shown(&log));
    }
    Ok(())
}

/// Opens the log for writing. The caller owns the state folder.
fn writer(place: &Place) -> anyhow::Result<AuditLog> {
    let (key, secrets) = place.audit_key().map_err(|fault| coded(USAGE, fault))?;
    Ok(AuditLog::open(AuditOptions {
        paths: place.audit_paths(),
        key,
        machine_id: machine::machine_id(&place.folders.state)?,
        shim_version: SHIM_VERSION.to_owned(),
        sync: SyncMode::Record,
        clock: Arc::new(SystemClock),
        secrets: Some(secrets),
    })?)
}

/// Notes in the log what a person did while no engine runs, if there is a log that can be written. The act itself does
/// not depend on it: raising the bridge must work without a passphrase.
pub(crate) fn note(place: &Place, session: Option<&SessionId>, op: &'static str, details: Map<String, Value>) {
    if !place.audit_paths().log.exists() {
        return;
    }
    let record = Record {
        session_id: session.cloned(),
        request_id: None,
        op: op.into(),
        details,
        result: RecordResult::happened(),
    };
    let noted = writer(place).and_then(|log| Ok(log.append(record)?));
    if let Err(fault) = noted {
        out::complain(&format!("this was done, but not noted in the audit log: {fault:#}"));
    }
}

fn shown(path: &Path) -> String {
    escape_outside_text(&path.display().to_string())
}
