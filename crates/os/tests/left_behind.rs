//! What a killed engine left behind is ended by the next one. In a process of its own: the owner is set once.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::process::{Command, Stdio};

use drawbridge_os::process::{MARKER_VARIABLE, take_over};

fn alive(needle: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(needle))
        })
        .count()
}

#[test]
fn commands_of_a_killed_engine_are_ended_and_those_of_others_are_not() {
    let start = |mark: &str, time: &str| {
        let line = format!("setsid sleep {time} & sleep {time} & disown -a 2>/dev/null; true");
        let status = Command::new("bash")
            .args(["-c", &line])
            .env(MARKER_VARIABLE, mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    };
    start("0123abcd-of-an-earlier-run", "765431");
    start("ffff0000-of-somebody-else", "765432");
    assert_eq!((alive("sleep 765431"), alive("sleep 765432")), (2, 2));

    let ended = take_over("0123abcd");

    assert_eq!((ended, alive("sleep 765431"), alive("sleep 765432")), (2, 0, 2));
    assert_eq!(take_over("ffff0000"), 2);
    assert_eq!(alive("sleep 765432"), 0);
}
