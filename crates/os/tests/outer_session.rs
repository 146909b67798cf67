//! The process table seen from a program whose session leader lives outside of its process namespace, as after entering a
//! container: its own session is then number 0. The test starts itself again behind bubblewrap to get there.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::process::Command;

use drawbridge_os::process::{Start, adopt_orphans, spawn};

const INSIDE: &str = "DRAWBRIDGE_TEST_INSIDE";
const NAME: &str = "a_command_ends_whole_when_our_own_session_is_outside_of_the_namespace";

#[test]
fn a_command_ends_whole_when_our_own_session_is_outside_of_the_namespace() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    // A limit only for a broken run: what this test looks for could also hang it.
    let output = Command::new("timeout")
        .args(["--signal=KILL", "60", "bwrap"])
        .args(["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid", "--"])
        .arg(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn inside() {
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    let session = own.rsplit(')').next().unwrap().split_ascii_whitespace().nth(3).unwrap();
    assert_eq!(session, "0", "this does not show what it is meant to: {own}");
    adopt_orphans().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut running = spawn(start("sleep 765433 & setsid sleep 765433 & exit 7")).unwrap();

        assert_eq!(running.wait().await.unwrap(), 7);
        assert!(!running.settle_if_quiet(), "two strays are left");
        running.end().await.unwrap();
        assert_eq!(running.tree().members(), Vec::<i32>::new());

        let mut quiet = spawn(start("true")).unwrap();
        assert_eq!(quiet.wait().await.unwrap(), 0);
        assert!(quiet.settle_if_quiet());
    });
}

fn start(line: &str) -> Start {
    Start {
        program: "/bin/bash".into(),
        name: "bash".into(),
        args: vec!["-c".into(), line.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        folder: None,
        pass: None,
        wrapped: false,
    }
}
