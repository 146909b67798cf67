//! A lock ends with the process that holds it, however that ends (spec 3.6, `cli.md`: after `kill -9` no stale lock remains).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use drawbridge_os::lockfile::{LockFault, LockFile};

const PLACE: &str = "LOCKFILE_TO_HOLD";

#[test]
fn a_killed_holder_leaves_no_lock_and_is_named_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owner.lock");
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holder", "--ignored", "--nocapture"])
        .env(PLACE, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let held = BufReader::new(holder.stdout.take().unwrap()).lines().any(|line| line.unwrap().ends_with("holds it"));
    assert!(held);

    let refused = LockFile::try_acquire(&path).unwrap_err();
    assert!(matches!(refused, LockFault::Held { pid: Some(pid), .. } if pid == holder.id()), "{refused}");
    assert!(LockFile::is_held(&path));

    // SIGKILL on Unix: nothing is cleaned up.
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(!LockFile::is_held(&path));
    let _lock = LockFile::try_acquire(&path).unwrap();
}

#[test]
fn a_pipe_under_the_name_of_a_lock_is_told_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owner.lock");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());

    assert!(!LockFile::is_held(&path));
    let refused = LockFile::try_acquire(&path).unwrap_err();
    assert!(
        matches!(&refused, LockFault::Io { error, .. } if error.to_string().contains("not a regular file")),
        "{refused}"
    );
}

/// Holds the lock until its standard input ends or it is killed. Does nothing when run by hand.
#[test]
#[ignore = "started by the other test of this file"]
fn holder() {
    let Some(path) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let _lock = LockFile::try_acquire(&path).unwrap();
    println!("\n{} holds it", std::process::id());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}
