use std::process::{Child, Command, Stdio};

use drawbridge_core::computer::ComputerOp;

use super::super::Rules;
use super::super::windows::tests::{Rig, job};
use super::*;

/// A started program that the test ends by its number.
struct Started(u32);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = Command::new("/bin/kill").args(["-9", &self.0.to_string()]).status();
    }
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn by_id(id: &str, args: &[&str]) -> AppLaunchOp {
    AppLaunchOp {
        bundle_id: Some(id.to_owned()),
        executable_path: None,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        activate: true,
    }
}

fn by_path(path: &str, args: &[&str]) -> AppLaunchOp {
    AppLaunchOp { bundle_id: None, executable_path: Some(path.to_owned()), ..by_id("", args) }
}

fn free() -> Rules {
    Rules { terminals: true, ..Rules::default() }
}

impl Rig {
    fn launch(&self, op: AppLaunchOp, rules: Rules) -> Result<Option<u32>, OpError> {
        let done = self.perform(&ComputerOp::AppLaunch(op), &job(rules))?;
        let Outcome::Launched { pid } = done else { panic!("{done:?}") };
        Ok(pid)
    }

    fn refused(&self, op: AppLaunchOp, rules: Rules) -> (&'static str, String) {
        match self.launch(op, rules) {
            Err(OpError::ProtectedApp { reason, why, .. }) => (reason, why),
            Err(OpError::Unsupported { why, .. }) => ("unsupported", why),
            Err(OpError::InvalidPayload(fault)) => ("invalid", fault.field),
            other => panic!("{other:?}"),
        }
    }

    fn apps(&self, include_background: bool, rules: Rules) -> Vec<AppFacts> {
        let listed = self.perform(&ComputerOp::AppList { include_background }, &job(rules)).unwrap();
        let Outcome::Apps(apps) = listed else { panic!("{listed:?}") };
        apps
    }
}

#[test]
fn an_editor_is_started_with_a_file_gets_the_keyboard_and_is_listed() {
    let rig = Rig::managed();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes & more.txt");
    std::fs::write(&file, "hello").unwrap();
    let _before = rig.record("before", "Alpha", "0,0");

    let pid = rig.launch(by_id("l3afpad", &[file.to_str().unwrap()]), Rules::default()).unwrap().unwrap();
    let _editor = Started(pid);

    let window =
        rig.until(|windows| windows.iter().find(|window| window.owner.pid == Some(pid) && window.focused).cloned());
    assert!(window.title.contains("notes & more.txt"), "{}", window.title);
    let apps = rig.apps(false, Rules::default());
    assert_eq!((apps[0].pid, apps[0].is_frontmost, apps[0].window_count), (pid, true, 1));
    assert_eq!(apps[0].bundle_id.as_deref(), Some("l3afpad"));
    assert_eq!(apps[0].executable_path.as_deref(), Some("/usr/bin/l3afpad"));
    assert_eq!(apps.iter().map(|app| app.is_frontmost).collect::<Vec<_>>(), [true, false]);
    // An app without a window on this display is one in the background.
    assert!(rig.apps(true, Rules::default()).iter().any(|app| app.pid == pid));
    let never = Rules { never_apps: vec!["l3afpad".to_owned()], ..Rules::default() };
    assert!(rig.apps(true, never).iter().all(|app| app.pid != pid));
}

#[test]
fn an_app_that_shows_no_window_was_started_all_the_same() {
    let rig = Rig::bare();

    let pid = rig.launch(by_path("/bin/sleep", &["1000"]), free()).unwrap().unwrap();

    let _sleeper = Started(pid);
    assert_eq!(std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().trim(), "sleep");
}

#[test]
fn what_takes_commands_or_runs_other_programs_counts_as_a_command() {
    let rig = Rig::managed();
    for op in [
        by_id("debian-xterm", &["-e", "id"]),
        by_id("vim", &["-c", "!id"]),
        by_id("python3.11", &["-c", "print(1)"]),
        by_path("/bin/sh", &["-c", "id"]),
        by_path("/usr/bin/xterm", &[]),
        by_path("/usr/bin/env", &["id"]),
        by_path("/usr/bin/python3", &["-c", "print(1)"]),
        by_path("/usr/bin/find", &["/", "-exec", "id", ";"]),
        by_path("/usr/bin/xdotool", &["type", "x"]),
        by_path("/bin/cat", &[]),
        // Options make an ordinary app load what the agent wrote, or start it.
        by_id("l3afpad", &["--gtk-module=/tmp/any.so"]),
        by_id("l3afpad", &["/tmp/file", "-x"]),
        by_path("/usr/bin/chromium", &["--renderer-cmd-prefix=xterm -e"]),
    ] {
        let named = format!("{op:?}");
        assert_eq!(rig.refused(op, Rules::default()).0, "terminal", "{named}");
    }
}

#[test]
fn protected_apps_are_not_started_whatever_else_is_allowed() {
    let rig = Rig::managed();
    let folder = tempfile::tempdir().unwrap();
    let vault = folder.path().join("keepassxc");
    std::os::unix::fs::symlink("/bin/true", &vault).unwrap();

    let (reason, _) = rig.refused(by_id("gcr-prompter", &[]), free());
    assert_eq!(reason, "password_manager");
    let own = std::env::current_exe().unwrap();
    assert_eq!(rig.refused(by_path(own.to_str().unwrap(), &[]), free()).0, "drawbridge");
    assert_eq!(rig.refused(by_path(vault.to_str().unwrap(), &[]), free()).0, "password_manager");
    let only = Rules { only_apps: Some(vec!["gimp".to_owned()]), ..free() };
    assert_eq!(rig.refused(by_id("l3afpad", &[]), only).0, "not_listed");
    let never = Rules { never_apps: vec!["L3afpad".to_owned()], ..free() };
    assert_eq!(rig.refused(by_path("/usr/bin/l3afpad", &[]), never).0, "excluded");
}

#[test]
fn what_cannot_be_started_is_told_from_what_may_not() {
    let rig = Rig::managed();
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no program").unwrap();

    for op in [
        by_id("../x", &[]),
        by_id("no.such.App", &[]),
        by_path("/nonexistent/program", &[]),
        by_path(folder.path().to_str().unwrap(), &[]),
        by_path(text.to_str().unwrap(), &[]),
        AppLaunchOp { bundle_id: None, executable_path: None, args: vec![], activate: false },
    ] {
        let named = format!("{op:?}");
        assert_eq!(rig.refused(op, free()).0, "unsupported", "{named}");
    }
    assert_eq!(rig.refused(by_path("l3afpad", &[]), free()), ("invalid", "executable_path".to_owned()));
    assert_eq!(rig.refused(by_id("l3afpad", &["a\0b"]), free()), ("invalid", "args".to_owned()));
    let many = vec!["x"; MAX_ARGS + 1];
    assert_eq!(rig.refused(by_id("l3afpad", &many), free()), ("invalid", "args".to_owned()));
    let long = "x".repeat(MAX_ARG_BYTES + 1);
    assert_eq!(rig.refused(by_id("l3afpad", &[&long]), free()), ("invalid", "args".to_owned()));
}

#[test]
fn a_cancelled_start_starts_nothing_and_protected_apps_are_not_listed() {
    let rig = Rig::managed();
    let _vault = rig.record("Vault", "KeePassXC", "0,0");
    let mut command = rig.display.command("xterm");
    let terminal = command.args(["-e", "cat"]).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let terminal = Ended(terminal);
    rig.until(|windows| {
        windows.iter().any(|window| window.owner.pid == Some(terminal.0.id()) && window.visible).then_some(())
    });

    let apps = rig.apps(false, Rules::default());

    assert_eq!(apps.iter().map(|app| app.pid).collect::<Vec<_>>(), [terminal.0.id()], "a terminal may be seen");
    let cancelled = job(Rules::default());
    cancelled.cancel.cancel();
    let op = ComputerOp::AppLaunch(by_id("l3afpad", &[]));
    assert!(matches!(rig.perform(&op, &cancelled), Err(OpError::Cancelled)));
    assert_eq!(rig.apps(false, Rules::default()).len(), 1);
}
