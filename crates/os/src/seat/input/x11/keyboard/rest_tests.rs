//! Tests of rest.

use std::process::{Command, Stdio};

use super::*;

#[test]
fn a_process_that_waits_is_at_rest_and_one_that_is_gone_is_not() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut rest = Rest::of(child.id());

    let begun = Instant::now();
    let since = loop {
        if let Some(since) = rest.since(Instant::now()) {
            break since;
        }
    };

    assert!(since >= begun);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(rest.since(Instant::now()), None);
}

#[test]
fn a_process_that_was_awake_in_between_begins_anew() {
    let mut rest = Rest { process: 1, first: None };
    let now = Instant::now();
    rest.first = Some(Look { at: now, sleeps: 0 });

    // Nobody sleeps zero times: it was awake.
    assert_eq!(rest.since(now + QUIET), None);
    // This very thread looks, so this process is never at rest.
    assert_eq!(Rest::of(std::process::id()).since(now), None);
}
