use std::time::Duration;

use drawbridge_core::{ManualClock, WallMs};
use serde_json::json;

use super::super::open::object;
use super::*;
use crate::audit::{AuditKey, FindingKind, HeadCopy, verify, verify_all};

fn options(dir: &Path) -> AuditOptions {
    AuditOptions {
        paths: AuditPaths { log: dir.join("logs/audit.log"), state_dir: dir.to_owned() },
        key: AuditKey::new([7; 32]),
        machine_id: "m-1".to_owned(),
        shim_version: "drawbridge-0.1.0".to_owned(),
        sync: SyncMode::Interval,
        clock: Arc::new(ManualClock::starting_at(WallMs(1_800_000_000_000))),
        secrets: None,
    }
}

fn check(dir: &Path) -> Vec<FindingKind> {
    let options = options(dir);
    let report = verify_all(&options.paths, &options.key, HeadCopy::Nowhere, false).unwrap();
    report.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn a_log_is_sound_while_it_is_written_after_rotation_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(options(dir.path())).unwrap();
    assert_eq!(log.append(event("SHIM_START", Map::new())).unwrap().seq, 2);
    assert_eq!(check(dir.path()), []);
    log.rotate().unwrap();
    log.append(event("TOKEN_REFRESHED", Map::new())).unwrap();
    log.close();
    drop(log);

    let log = AuditLog::open(options(dir.path())).unwrap();
    assert_eq!(log.append(event("SHIM_START", Map::new())).unwrap().seq, 3);
    assert_eq!(log.records(), 5);
    assert_eq!(check(dir.path()), []);
}

#[test]
fn a_log_that_was_cut_back_is_noticed_and_the_notice_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = options(dir.path()).paths.log;
    let log = AuditLog::open(options(dir.path())).unwrap();
    let before = fs::read(&path).unwrap();
    log.append(event("SHIM_START", Map::new())).unwrap();
    log.close();
    drop(log);
    fs::write(&path, before).unwrap();
    let paths = options(dir.path());
    let report = verify(&paths.paths, &paths.key, HeadCopy::Nowhere, false).unwrap();
    assert_eq!(report.findings[0].kind, FindingKind::HeadMismatch, "{report:?}");

    drop(AuditLog::open(options(dir.path())).unwrap());

    assert_eq!(check(dir.path()), [FindingKind::Suspect]);
}

#[test]
fn once_the_disk_is_full_nothing_more_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let log = AuditLog::open(options(dir.path())).unwrap();
    log.write_into(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());

    assert!(matches!(log.append(event("SHIM_START", Map::new())), Err(AuditFault::Unavailable { .. })));
    log.write_into(open::open_append(&dir.path().join("logs/audit.log")).unwrap());
    assert!(log.append(event("SHIM_START", Map::new())).is_err());
}

#[test]
fn a_second_writer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _log = AuditLog::open(options(dir.path())).unwrap();

    assert!(matches!(AuditLog::open(options(dir.path())), Err(AuditFault::InUse { pid: Some(_), .. })));
}

/// `cargo test --release -p drawbridge-store --lib append_takes -- --ignored --nocapture`
#[test]
#[ignore = "a measurement, not a check"]
#[expect(clippy::print_stdout, reason = "whoever measures reads it")]
fn append_takes_this_long() {
    let dir = tempfile::tempdir().unwrap();
    let log =
        AuditLog::open(AuditOptions { clock: Arc::new(drawbridge_core::SystemClock), ..options(dir.path()) }).unwrap();
    let mut took: Vec<Duration> = (0..20_000)
        .map(|number| {
            let details =
                json!({ "path": "/home/zoe/projects/bridge/src/main.rs", "size_bytes": number, "cwd": "/home/zoe" });
            let mut record = event("FILE_READ", object(details));
            record.session_id = Some(drawbridge_core::SessionId::parse("chat-1").unwrap());
            record.request_id = Some("3f0c9d1e-0000-4000-8000-000000000000".to_owned());
            let start = std::time::Instant::now();
            log.append(record).unwrap();
            start.elapsed()
        })
        .collect();
    took.sort();
    println!("p50 {:?}, p99 {:?}, max {:?}", took[10_000], took[19_800], took[19_999]);
}
