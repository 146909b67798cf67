//! What is kept: the sign-in, the settings, the log; and what happens when it cannot be kept.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by panicking and say what they skip"
)]

mod rig;

use std::fs;
use std::path::Path;
use std::process::Command as Program;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{AccountState, LinkState};
use drawbridge_engine::{Command, ExitKind};
use drawbridge_practice::{ConsentMode, Switches};
use rig::{Rig, Wish, text, write};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_survives_a_restart_and_a_sign_out_ends_it() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.stop().await;
    rig.start_again().await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;

    rig.handle.send(Command::SignOut).await.unwrap();
    let picture = rig.until(|picture| picture.account.state == AccountState::SignedOut).await;
    let again = rig.handle.send(Command::Connect).await.unwrap_err();

    assert_eq!(picture.link.state, LinkState::Off);
    assert_eq!(again.code, "signed_out");
    rig.stop().await;
    rig.start_again().await;
    assert_eq!(rig.handle.snapshot().account.state, AccountState::SignedOut);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_is_denied_leaves_the_old_one_alone_and_says_why() {
    let rig = Rig::start(Wish::headless()).await;
    rig.script.consent(ConsentMode::Deny);

    let reply = rig.handle.send(Command::SignIn).await.unwrap();
    let drawbridge_engine::Reply::AuthorizeUrl { url } = reply else { panic!("{reply:?}") };
    reqwest::get(&url).await.unwrap();

    let picture = rig.until(|picture| picture.account.problem.is_some()).await;
    assert_eq!(picture.account.state, AccountState::SignedIn);
    assert_eq!(picture.link.state, LinkState::Connected);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_lies_in_clear_in_the_state_folder() {
    let mut rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("a"), "content-canary")).await.unwrap();
    let grant = text(&rig.script.chat(&chat).unwrap().grant.unwrap()["root_grant"]);
    let frames = rig.script.frames(0);
    assert!(!frames.is_empty());
    rig.stop().await;

    let mut seen = 0;
    each_file(&rig.state_dir(), &mut |path, bytes| {
        seen += 1;
        for secret in ["content-canary", "a passphrase for tests", grant.as_str(), "access_token", "refresh_token"] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret:.20} is in clear in {}", path.display());
        }
    });
    assert!(seen >= 4, "only {seen} files were looked at");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_cannot_be_read_refuse_everything_and_stay_as_they_are() {
    let mut rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    rig.stop().await;
    let settings = rig.state_dir().join("settings.json");
    fs::write(&settings, "{\"v\":99}").unwrap();
    rig.start_again().await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;

    let picture = rig.handle.snapshot();
    let restored = rig.script.restore(&chat).await;
    let changed =
        rig.handle.send(Command::SetPower { power: "shell".to_owned(), mode: "allowed".to_owned() }).await.unwrap_err();

    assert_eq!(picture.trouble.as_ref().map(|trouble| trouble.code.as_str()), Some("settings_broken"));
    assert!(restored.is_err(), "{restored:?}");
    assert_eq!(changed.code, "not_stored");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"v\":99}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_written_stops_everything() {
    let small = tempfile::TempDir::new().unwrap();
    let mounted = Program::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(small.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a small file system cannot be mounted here (needs root)");
        return;
    }
    let _unmount = Unmount(small.path().to_owned());
    let rig = Rig::start_in(Wish::headless().with(Power::Shell, PowerMode::Allowed), small.path()).await;
    let (chat, folder) = rig.chat_in("project").await;
    rig.ask(&chat, "FILE_STAT", json!({ "path": folder })).await.unwrap();
    fs::write(small.path().join("ballast"), vec![0_u8; 2 << 20]).unwrap_err();

    // The current page of the log may still have room for a few records.
    let mut answers = Vec::new();
    for number in 0..64 {
        let path = folder.join(format!("{number}"));
        let answer = rig.ask(&chat, "FILE_STAT", json!({ "path": path })).await;
        let refused = answer.is_err();
        answers.push(answer);
        if refused {
            break;
        }
    }
    let after = rig.refused(&chat, "FILE_WRITE", write(&folder.join("late"), "x")).await;
    let picture = rig.until(|picture| picture.audit.unavailable).await;

    assert!(answers.last().unwrap().is_err(), "the log was never full");
    assert_eq!(after["details"]["reason"], "audit_unavailable");
    assert!(!folder.join("late").exists());
    assert_eq!(picture.trouble.unwrap().code, "audit_unavailable");
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_platform_that_does_not_answer_a_sign_out() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.script.switches(Switches { ignore_revoke: true, ..Switches::default() });
    let signing_out = tokio::spawn({
        let handle = rig.handle.clone();
        async move { handle.send(Command::SignOut).await }
    });
    // The links are closed before the platform is asked.
    rig.until(|picture| picture.link.state == LinkState::Off).await;

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();

    assert!(rig.handle.snapshot().raised);
    assert!(!signing_out.is_finished(), "the platform was never asked");
    assert_eq!(rig.stop().await, ExitKind::Stopped);
    assert_eq!(signing_out.await.unwrap().unwrap_err().code, "engine_gone");
}

struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Program::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn each_file(folder: &Path, look: &mut impl FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, look);
        } else if path.is_file() {
            look(&path, &fs::read(&path).unwrap());
        }
    }
}
