//! The log as a process has it.

use std::fs;

use super::*;

#[test]
fn the_last_lines_come_from_both_files_and_a_torn_beginning_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(last_lines(dir.path(), 10).unwrap(), Vec::<String>::new());
    fs::write(older(dir.path(), 1), "a\nb\n").unwrap();
    fs::write(dir.path().join(FILE), "c\nd\n").unwrap();
    assert_eq!(last_lines(dir.path(), 3).unwrap(), ["b", "c", "d"]);

    let long = format!("{}\nlast\n", "x".repeat(300 * 1024));
    fs::write(dir.path().join(FILE), long).unwrap();
    assert_eq!(last_lines(dir.path(), 1).unwrap(), ["last"]);
    fs::remove_file(dir.path().join(FILE)).unwrap();
    fs::create_dir(dir.path().join(FILE)).unwrap();
    assert!(last_lines(dir.path(), 1).is_err());
}

#[test]
fn every_event_is_one_safe_line_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(start(), None);
    keep_in(dir.path());

    tracing::info!(token = "s3cret", "one\ntwo \u{202e}");
    tracing::info!("{}", "long ".repeat(4000));
    let secret = "contents of a file".to_owned();
    let panicked = std::thread::spawn(move || panic!("found {secret}")).join();
    assert!(panicked.is_err());
    // The file is found full of room again also by a line that the keeper itself gives rise to.
    tracing::info!("after the fault");

    let text = fs::read_to_string(dir.path().join(FILE)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].contains("one␊two \\u{202E}") && lines[0].contains("<redacted>"), "{text}");
    assert!(!text.contains("s3cret") && !text.contains("contents of a file"), "{text}");
    assert!(lines[1].chars().count() <= LONGEST_LINE && lines[1].contains(" … "));
    assert!(lines[2].contains("a fault of the program") && lines[2].contains("log_tests.rs:"), "{text}");
    assert!(lines[3].ends_with("after the fault"));
    assert_eq!(lines[0].get(LEVEL), Some(" INFO"), "colours are put where the level stands");
}
