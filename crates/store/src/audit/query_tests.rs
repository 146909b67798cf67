use std::fs;
use std::io::Write as _;

use serde_json::{Map, json};

use super::super::tests::Rig;
use super::super::{AuditLog, Record, RecordResult};
use super::*;

fn everything(_: &Glance<'_>) -> bool {
    true
}

fn reads(glance: &Glance<'_>) -> bool {
    glance.op == "FILE_READ"
}

fn act(op: &'static str, path: &str, error: Option<&'static str>) -> Record {
    let Value::Object(details) = json!({ "path": path }) else { panic!("no object") };
    let result =
        RecordResult { ok: error.is_none(), exit_code: None, duration_ms: 1, error_code: error.map(Into::into) };
    Record { session_id: None, request_id: Some("r".to_owned()), op: op.into(), details, result }
}

/// A log of so many acts: every third is a write, the others are reads.
fn acts(log: &AuditLog, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let op = if number % 3 == 0 { "FILE_WRITE" } else { "FILE_READ" };
        log.append(act(op, &format!("/r/{number}"), None)).unwrap();
    }
}

fn paths_of(page: &Page) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.record["details"]["path"].as_str().unwrap_or("-")).collect()
}

#[test]
fn pages_come_newest_first_and_say_how_many_fit_in_all() {
    let rig = Rig::new();
    let log = rig.open();
    acts(&log, 0..3000);
    let mut index = Index::new(&rig.paths());

    let newest = index.page(&reads, 0, 3).unwrap();
    let later = index.page(&reads, 1998, 10).unwrap();
    let beyond = index.page(&reads, 9999, 10).unwrap();

    assert_eq!(paths_of(&newest), ["/r/2999", "/r/2998", "/r/2996"]);
    assert_eq!(paths_of(&later), ["/r/2", "/r/1"]);
    assert_eq!((newest.total, later.total, beyond.total, beyond.hits.len()), (2000, 2000, 2000, 0));
    // The first record of a file is LOG_OPENED.
    assert_eq!(newest.hits[0].number, 3001);
    assert_eq!(newest.hits[0].record["seq"], 3001);
}

#[test]
fn what_is_added_and_rotated_while_pages_are_read_is_found_once_and_in_order() {
    let rig = Rig::new();
    let log = rig.open();
    acts(&log, 0..10);
    let mut index = Index::new(&rig.paths());
    assert_eq!(index.page(&reads, 0, 100).unwrap().total, 6);

    acts(&log, 10..13);
    let rotated = log.rotate().unwrap();
    acts(&log, 13..16);
    let page = index.page(&reads, 0, 100).unwrap();

    let expected = ["/r/14", "/r/13", "/r/11", "/r/10", "/r/8", "/r/7", "/r/5", "/r/4", "/r/2", "/r/1"];
    assert_eq!(paths_of(&page), expected);
    let numbers: Vec<u64> = page.hits.iter().map(|hit| hit.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    assert_ne!(page.hits[0].file, page.hits[9].file);

    // A pruned file takes its records along, and what is left keeps its name.
    fs::remove_file(rotated).unwrap();
    let left = index.page(&reads, 0, 100).unwrap();
    assert_eq!(paths_of(&left), ["/r/14", "/r/13"]);
    assert_eq!(left.hits[0].file, page.hits[0].file);
}

#[test]
fn pages_read_while_the_log_is_written_and_rotated_are_whole_and_lose_nothing() {
    const ACTS: usize = 1500;
    let rig = Rig::new();
    let log = rig.open();
    let mut index = Index::new(&rig.paths());
    let (mut totals, mut last) = (Vec::new(), 0);

    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for from in (0..ACTS).step_by(10) {
                acts(&log, from..from + 10);
                if from % 100 == 90 {
                    log.rotate().unwrap();
                }
            }
        });
        while last < ACTS * 2 / 3 {
            let page = index.page(&reads, 0, 500).unwrap();
            let numbers: Vec<u64> = page.hits.iter().map(|hit| hit.number).collect();
            assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
            let paths = paths_of(&page);
            let wanted: Vec<String> =
                (0..ACTS).filter(|number| number % 3 != 0).map(|number| format!("/r/{number}")).collect();
            let expected = wanted.iter().take(usize::try_from(page.total).unwrap()).rev().take(500);
            assert!(expected.eq(paths), "what was written first is there first, without a gap");
            last = usize::try_from(page.total).unwrap();
            totals.push(last);
        }
        writing.join().unwrap();
    });

    assert!(totals.is_sorted(), "{totals:?}");
}

#[test]
fn the_name_of_a_file_stays_through_a_rotation_and_tells_two_records_of_one_number_apart() {
    let rig = Rig::new();
    let log = rig.open();
    let first = log.append(act("FILE_READ", "/r/before", None)).unwrap();
    log.rotate().unwrap();
    let second = log.append(act("FILE_READ", "/r/after", None)).unwrap();

    let of = |file: Option<&str>| find(&rig.paths(), 2, file).unwrap().map(|hit| hit.record["details"]["path"].clone());

    assert_eq!((first.seq, second.seq), (2, 2));
    assert_eq!(of(Some(&first.file)), Some(json!("/r/before")));
    assert_eq!(of(Some(&second.file)), Some(json!("/r/after")));
    assert_eq!(of(None), Some(json!("/r/after")));
    assert_eq!(of(Some("another")), None);
    let found = find(&rig.paths(), 2, Some(&first.file)).unwrap().unwrap();
    let paged = Index::new(&rig.paths()).page(&reads, 1, 1).unwrap().hits.remove(0);
    assert_eq!(found, paged);
}

#[test]
fn lines_that_are_no_records_are_passed_over_and_counted_and_a_torn_one_waits_for_its_end() {
    let rig = Rig::new();
    let log = rig.open();
    acts(&log, 1..3);
    log.close();
    let mut file = File::options().append(true).open(rig.paths().log).unwrap();
    let last = fs::read_to_string(rig.paths().log).unwrap().lines().last().unwrap().to_owned();
    file.write_all(b"not a record\n{\"op\":7}\n\xff\xfe\n").unwrap();
    file.write_all(&last.as_bytes()[..40]).unwrap();
    let mut index = Index::new(&rig.paths());

    let torn = index.page(&reads, 0, 10).unwrap();
    file.write_all(&last.as_bytes()[40..]).unwrap();
    file.write_all(b"\n").unwrap();
    let whole = index.page(&reads, 0, 10).unwrap();

    assert_eq!((torn.total, torn.unreadable), (2, 3));
    assert_eq!((whole.total, whole.unreadable), (3, 3));
}

#[test]
fn a_file_that_was_written_anew_is_read_anew() {
    let rig = Rig::new();
    let log = rig.open();
    acts(&log, 0..20);
    log.close();
    let mut index = Index::new(&rig.paths());
    assert_eq!(index.page(&everything, 0, 100).unwrap().total, 21);
    let text = fs::read_to_string(rig.paths().log).unwrap();

    // Same beginning, then something else of another length.
    let kept: Vec<&str> = text.lines().take(3).collect();
    fs::write(rig.paths().log, format!("{}\n", kept.join("\n"))).unwrap();
    let cut = index.page(&everything, 0, 100).unwrap();
    let garbled = text.replace("/r/0", "\"/r/0");
    fs::write(rig.paths().log, garbled).unwrap();
    let changed = index.page(&everything, 0, 100).unwrap();

    assert_eq!((cut.total, cut.hits.len()), (3, 3));
    assert_eq!((changed.total, changed.unreadable, changed.hits.len()), (20, 1, 20));
}

#[test]
fn a_log_that_is_not_there_has_no_records() {
    let rig = Rig::new();

    assert_eq!(Index::new(&rig.paths()).page(&everything, 0, 10).unwrap(), Page::default());
    assert_eq!(find(&rig.paths(), 1, None).unwrap(), None);
}

#[test]
fn a_record_of_another_client_is_found_with_its_fields_in_any_order() {
    let rig = Rig::new();
    fs::create_dir_all(rig.paths().log.parent().unwrap()).unwrap();
    let line = r#"{"ts":1712345678.0,"op":"FILE_READ","session_id":"s","request_id":"r","details":{"path":"/a"},"result":{"ok":true,"exit_code":null,"duration_ms":2,"error_code":null},"seq":1,"prev_hmac":null,"hmac":"00aa","machine_id":"m","shim_version":"v"}"#;
    fs::write(rig.paths().log, format!("{line}\n")).unwrap();

    let page = Index::new(&rig.paths()).page(&reads, 0, 10).unwrap();

    assert_eq!(paths_of(&page), ["/a"]);
    assert_eq!(page.hits[0].file, "00aa");
}

#[test]
fn the_reason_of_a_decision_has_room_beside_the_longest_command() {
    let rig = Rig::new();
    let log = rig.open();
    let argv: Vec<String> = (0..40).map(|word| format!("{word}{}", "x".repeat(4000))).collect();
    let Value::Object(details) = json!({ "argv": argv, "decision": { "rule": "mode", "power": "shell" } }) else {
        panic!("no object")
    };
    log.append(Record { details, ..act("EXECUTE_COMMAND", "", None) }).unwrap();

    let found = find(&rig.paths(), 2, None).unwrap().unwrap();

    assert_eq!(found.record["details"]["decision"], json!({ "rule": "mode", "power": "shell" }));
    assert!(found.record.to_string().len() < 64 * 1024);
    assert_eq!(log.verify_all(false, &|| false).unwrap().findings, []);
}

#[test]
fn a_check_and_a_bundle_are_made_while_the_log_is_written_and_rotated() {
    let rig = Rig::new();
    let log = rig.open();
    acts(&log, 0..200);
    let done = std::sync::atomic::AtomicBool::new(false);

    let (reports, bundles) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut number = 200;
            while !done.load(std::sync::atomic::Ordering::Relaxed) && number < 2_000 {
                acts(&log, number..number + 10);
                number += 10;
                if number % 100 == 0 {
                    log.rotate().unwrap();
                }
            }
        });
        let reports: Vec<_> = (0..3).map(|_| log.verify_all(false, &|| false).unwrap()).collect();
        let bundles: Vec<_> = (0..3).map(|at| log.export(&rig.dir.path().join(format!("{at}.zip"))).unwrap()).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        writing.join().unwrap();
        (reports, bundles)
    });

    for report in reports {
        assert_eq!(report.findings, []);
    }
    for bundle in bundles {
        assert!(bundle.records >= 201, "{bundle:?}");
        assert_eq!(bundle.files.iter().filter(|name| *name == "audit.log").count(), 1);
    }
    let stopped = log.verify_all(false, &|| true).unwrap_err();
    assert_eq!(stopped.kind(), io::ErrorKind::Interrupted);
    assert!(log.export(&rig.dir.path().join("0.zip")).is_err());
    let empty: Map<String, Value> = Map::new();
    log.append(Record { details: empty, ..act("FILE_READ", "", None) }).unwrap();
}
