//! The real binary on a state folder in which something is broken, newer, full or read-only: explained, never overwritten, and
//! nobody is dialled.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test ends where its ground is missing")]

mod rig;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rig::{Rig, finish, said};
use serde_json::Value;
use tokio::process::Command;

#[tokio::test]
async fn what_cannot_be_trusted_ends_a_headless_start_with_78_and_stays_as_it_is() {
    let rig = Rig::signed_in().await;
    rig.start(&[]).await.stop().await;
    let broken = [
        ("bindings.json", "{\"v\":1,", "move the file away"),
        ("bindings.json", "", "move the file away"),
        ("bindings.json", "{\"v\":2,\"sessions\":{},\"more\":[]}", "its version is 2"),
        ("keychain-name", "../another", "holds no name of keychain entries"),
        ("keychain-name", "", "holds no name of keychain entries"),
        ("secrets.enc", "", "it is not in the expected form"),
        ("secrets.enc", "{\"v\":2,\"pepper\":true}", "written by a newer Drawbridge"),
        ("secrets.enc", "{\"v\":1}", "it is not in the expected form"),
        ("../config/config.toml", "colour = \"red\"\n", "colour"),
        ("../config/config.toml", "platform_url = \n", "config.toml"),
    ];
    let frames = rig.script.frames(0).len();
    for (name, content, words) in broken {
        let path = rig.state().join(name);
        let whole = fs::read(&path).ok();
        fs::write(&path, content).unwrap();
        let before = files(&rig.state());

        let output = rig.run(&["start", "--headless"]).await;

        assert_eq!(output.status.code(), Some(78), "{name} {content:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{name} {content:?}: {}", said(&output));
        assert_eq!(fs::read_to_string(&path).unwrap(), content, "{name}");
        let changed = changed(&before, &files(&rig.state()));
        assert!(changed.is_empty(), "{name} {content:?}: {changed:?}");
        match whole {
            Some(whole) => fs::write(&path, whole).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    assert_eq!(rig.script.frames(0).len(), frames, "nobody was dialled");
    // Put back, everything goes on.
    rig.start(&[]).await.stop().await;
}

#[tokio::test]
async fn settings_that_cannot_be_trusted_refuse_everything_and_stay_as_they_are() {
    let rig = Rig::signed_in().await;
    rig.start(&[]).await.stop().await;
    rig.expect(0, &["raise"]).await;
    rig.expect(0, &["lower"]).await;
    for content in ["{\"v\":2,", "{\"v\":99,\"raised\":false}", "[]"] {
        fs::write(rig.state().join("settings.json"), content).unwrap();

        let started = rig.start(&[]).await;
        let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
        started.stop().await;

        assert_eq!(status["trouble"]["code"], "settings_broken", "{status}");
        assert_eq!(fs::read_to_string(rig.state().join("settings.json")).unwrap(), content);
    }
}

#[tokio::test]
async fn what_costs_no_more_than_itself_is_kept_aside_or_left_and_the_engine_runs() {
    let rig = Rig::signed_in().await;
    rig.start(&[]).await.stop().await;
    for (name, content) in [
        ("accounts.json", "{\"v\":1,"),
        ("accounts.json", "{\"v\":9,\"accounts\":[]}"),
        ("undo/journal.jsonl", "no journal"),
        ("secrets.moving", "{\"v\":7}"),
        ("window.json", "{\"zoom\":"),
    ] {
        let path = rig.state().join(name);
        fs::write(&path, content).unwrap();

        rig.start(&[]).await.stop().await;

        let still = fs::read_to_string(&path).is_ok_and(|text| text == content);
        let kept = files(&rig.state()).values().any(|bytes| bytes == content.as_bytes());
        assert!(still || kept, "{name}: what was there is gone");
        let _ = fs::remove_file(&path);
    }
}

/// A limit on the size of files is a full disk for one program alone.
#[tokio::test]
async fn a_full_disk_is_told_by_its_folder_and_leaves_nothing_half_written() {
    let rig = Rig::signed_in().await;
    rig.start(&[]).await.stop().await;
    let before = files(&rig.state());
    let frames = rig.script.frames(0).len();

    for words in [&["start", "--headless"][..], &["raise"]] {
        let output = finish(through_shell(&rig, "ulimit -f 0; trap '' XFSZ", words)).await;

        let told = said(&output);
        assert_eq!(output.status.code(), Some(if words[0] == "start" { 78 } else { 1 }), "{words:?}: {told}");
        assert!(told.contains(rig.state().to_str().unwrap()) && told.contains("File too large"), "{told}");
    }
    let after = files(&rig.state());
    for (name, bytes) in &before {
        assert!(after[name].starts_with(bytes), "{} was cut", name.display());
    }
    let left: Vec<&PathBuf> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(rig.script.frames(0).len(), frames, "nobody was dialled");
    rig.start(&[]).await.stop().await;
}

#[tokio::test]
async fn a_home_that_cannot_be_written_is_told_by_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("drawbridge");
    fs::copy(env!("CARGO_BIN_EXE_drawbridge"), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere, so somebody else has to try.
    let root = drawbridge_os::machine::is_elevated();
    let mut command = if root { Command::new("setpriv") } else { Command::new(&program) };
    if root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    command.args(["start", "--headless"]).env_clear().env("HOME", home.path());
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", rig::PASSPHRASE);
    command.env("DRAWBRIDGE_PLATFORM_URL", "ws://127.0.0.1:9");

    let output = finish(command).await;

    assert_eq!(output.status.code(), Some(78), "{}", said(&output));
    let told = said(&output);
    assert!(told.contains(home.path().to_str().unwrap()) && told.contains("denied"), "{told}");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "nothing was made");
}

/// The program behind a shell that sets something up first.
fn through_shell(rig: &Rig, first: &str, words: &[&str]) -> Command {
    let as_usual = rig.command(words);
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(as_usual.as_std().get_program()).args(words);
    command.env_clear();
    for (key, value) in as_usual.as_std().get_envs() {
        command.env(key, value.unwrap());
    }
    command.kill_on_drop(true);
    command
}

/// Names of what is there no more, new, or of another content.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

/// Every file below a folder with its content, apart from what only says who holds a lock.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = rig::files_below(folder);
    found.retain(|path| path.extension().is_none_or(|end| end != "lock"));
    found.into_iter().map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect()
}
