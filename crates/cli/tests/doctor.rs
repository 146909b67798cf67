//! `drawbridge doctor` with the real binary and real parts: an encrypted file, a log that was changed, a platform whose clock
//! is wrong, a full disk, a folder that cannot be written, keychains on a bus of their own.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]
#![allow(clippy::print_stderr, reason = "what was skipped is said aloud")]

mod rig;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use drawbridge_practice::Switches;
use rig::{Rig, finish, said};
use serde_json::Value;
use tokio::process::Command;

/// What one look found.
struct Found(Vec<Value>);

impl Found {
    fn read(output: &Output) -> Self {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(output)));
        assert_eq!(output.status.code(), Some(i32::try_from(report["exit"].as_i64().unwrap()).unwrap()));
        Self(report["checks"].as_array().unwrap().clone())
    }

    /// The state and the text of the worst finding of a check.
    fn of(&self, check: &str) -> (&str, &str) {
        let rank = |state: &str| ["ok", "info", "warn", "fail"].iter().position(|known| *known == state).unwrap();
        let all = self.0.iter().filter(|one| one["check"] == check);
        let worst = all.max_by_key(|one| rank(one["state"].as_str().unwrap()));
        let worst = worst.unwrap_or_else(|| panic!("no {check} in {:?}", self.0));
        assert!(worst["state"] != "fail" || worst["fix"].is_string(), "{worst}");
        (worst["state"].as_str().unwrap(), worst["text"].as_str().unwrap())
    }
}

async fn look(rig: &Rig) -> Found {
    Found::read(&rig.run(&["doctor", "--json"]).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_place_is_found_sound_with_the_engine_and_without() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let running = look(&rig).await;
    assert_eq!(started.stop().await, Some(0));
    let stopped = look(&rig).await;

    for (found, engine) in [(&running, "ok"), (&stopped, "info")] {
        assert_eq!(found.of("engine").0, engine);
        for check in ["config", "state_folder", "settings", "secrets", "sign_in", "audit_log", "network", "clock"] {
            assert_eq!(found.of(check).0, "ok", "{check}: {}", found.of(check).1);
        }
    }
    let log = rig.state().join("audit.log");
    assert!(running.of("audit_log").1.contains("records are sound (files: 1)"), "{}", running.of("audit_log").1);
    assert!(stopped.of("audit_log").1.contains(log.to_str().unwrap()));
    rig.assert_nothing_in_clear(&[], format!("{:?}{:?}", running.0, stopped.0).as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_log_a_wrong_passphrase_and_none_are_told_apart() {
    let rig = Rig::signed_in().await;
    assert_eq!(rig.start(&[]).await.stop().await, Some(0));
    let log = rig.state().join("audit.log");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("HELLO", "HALLO", 1)).unwrap();
    assert_eq!(look(&rig).await.of("audit_log").0, "fail");

    let file = std::fs::read(drawbridge_store::secrets::SecretFile::path(&rig.state())).unwrap();
    let mut wrong = rig.command(&["doctor", "--json"]);
    wrong.env("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", "another passphrase");
    let found = Found::read(&finish(wrong).await);
    assert_eq!(found.of("secrets").0, "fail");
    assert!(found.of("secrets").1.contains("passphrase does not open"), "{}", found.of("secrets").1);
    assert!(found.0.iter().all(|one| one["check"] != "sign_in"));
    assert_eq!(std::fs::read(drawbridge_store::secrets::SecretFile::path(&rig.state())).unwrap(), file);

    let mut none = rig.command(&["doctor", "--json"]);
    none.env_remove("DRAWBRIDGE_KEYCHAIN_PASSPHRASE");
    let found = Found::read(&finish(none).await);
    assert!(found.of("secrets").1.contains("its passphrase is not known here"), "{}", found.of("secrets").1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_nobody_serves_is_said_by_step_and_others_stay_fine() {
    let rig = Rig::signed_in().await;
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = rig.command(&["doctor", "--json"]);
    command.env("DRAWBRIDGE_PLATFORM_URL", format!("ws://{gone}"));

    let found = Found::read(&finish(command).await);

    assert_eq!(found.of("network").0, "fail");
    assert!(found.of("network").1.contains(&gone.port().to_string()), "{}", found.of("network").1);
    assert_eq!(found.of("secrets").0, "ok");
    assert!(found.0.iter().all(|one| one["check"] != "clock"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_wrong_by_a_day_is_told_with_its_distance() {
    let rig = Rig::signed_in().await;
    rig.script.switches(Switches { clock_ahead_s: 86_400, ..Switches::default() });

    let found = look(&rig).await;

    assert_eq!(found.of("clock").0, "fail");
    assert!(found.of("clock").1.contains("behind the platform's"), "{}", found.of("clock").1);
    assert_eq!(found.of("network").0, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_configuration_is_a_finding_and_the_rest_is_still_looked_at() {
    let rig = Rig::signed_in().await;
    rig.configure("max_concurent = 3");

    let found = look(&rig).await;

    assert_eq!(found.of("config").0, "fail");
    assert!(found.of("config").1.contains("max_concurrent"), "{}", found.of("config").1);
    assert_eq!(found.of("state_folder").0, "ok");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "a small disk is made by mounting one")]
async fn a_full_disk_and_a_nearly_full_one_are_told() {
    let rig = Rig::new().await;
    drawbridge_os::private::create_folder(&rig.state()).unwrap();
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "true"]);
    if !tried.output().await.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no disk can be mounted here");
        return;
    }
    for (size, state) in [("10m", "fail"), ("100m", "warn"), ("400m", "ok")] {
        let mut command = wrapped(&rig, "unshare");
        let mount = "mount -t tmpfs -o mode=700,size=\"$1\" none \"$DRAWBRIDGE_STATE_DIR\" && shift && exec \"$@\"";
        command.args(["--mount", "sh", "-c", mount, "sh", size]);
        command.args([env!("CARGO_BIN_EXE_drawbridge"), "doctor", "--json"]);

        let found = Found::read(&finish(command).await);

        assert_eq!(found.of("disk_space").0, state, "{}", found.of("disk_space").1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_an_ordinary_user_cannot_write_is_told_to_them() {
    let rig = Rig::new().await;
    drawbridge_os::private::create_folder(&rig.state()).unwrap();
    if !drawbridge_os::machine::is_elevated() {
        std::fs::set_permissions(rig.state(), std::fs::Permissions::from_mode(0o500)).unwrap();
        assert_eq!(look(&rig).await.of("state_folder").0, "fail");
        return;
    }
    // The superuser may write everywhere, so the program runs as nobody: from a place that nobody may enter.
    let program = rig.dir.path().join("drawbridge");
    std::fs::copy(env!("CARGO_BIN_EXE_drawbridge"), &program).unwrap();
    open(rig.dir.path(), 0o755);
    open(&program, 0o755);
    std::os::unix::fs::chown(rig.state(), Some(65534), Some(65534)).unwrap();
    open(&rig.state(), 0o500);
    let mut command = wrapped(&rig, "setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(["doctor", "--json"]);

    let found = Found::read(&finish(command).await);

    assert_eq!(found.of("state_folder").0, "fail");
    assert!(found.of("state_folder").1.contains("cannot be written"), "{}", found.of("state_folder").1);
    assert_eq!(found.of("elevation").0, "ok");
}

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Another program with the environment of the rig.
fn wrapped(rig: &Rig, program: &str) -> Command {
    let model = rig.command(&[]);
    let mut command = Command::new(program);
    command.env_clear();
    for (name, value) in model.as_std().get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.kill_on_drop(true);
    command
}

/// A bus without any activation: nothing of the developer's own desktop is started, and nothing can pop up.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=RUNTIME</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"#;
/// The daemon answers before it has its name.
const OPEN: &str = r"printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null
gdbus wait --session --timeout 30 org.freedesktop.secrets";
/// What a session has whose keyring was opened once and closed since.
const LOCKED: &str = r#"printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null
gdbus wait --session --timeout 30 org.freedesktop.secrets
gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets \
  --method org.freedesktop.Secret.Service.Lock "['/org/freedesktop/secrets/collection/login']" >/dev/null"#;
/// Own a name and never read: the bus delivers every call, and no answer comes.
const SILENT: &str = r#"
python3=/usr/bin/python3; "$python3" -c 'import dbus' 2>/dev/null || python3=python3
"$python3" -c '
import dbus, time
bus = dbus.SessionBus()
bus.request_name("org.freedesktop.secrets")
print("owned", flush=True)
time.sleep(60)' > "$XDG_RUNTIME_DIR/owned" & other=$!
until [ -s "$XDG_RUNTIME_DIR/owned" ]; do kill -0 $other || exit 9; done"#;
/// Offer a tray and notifications, as a desktop does.
const DESKTOP: &str = r#"
python3=/usr/bin/python3; "$python3" -c 'import dbus' 2>/dev/null || python3=python3
"$python3" -c '
import dbus, time
bus = dbus.SessionBus()
bus.request_name("org.kde.StatusNotifierWatcher")
bus.request_name("org.freedesktop.Notifications")
print("owned", flush=True)
time.sleep(60)' > "$XDG_RUNTIME_DIR/owned" & other=$!
until [ -s "$XDG_RUNTIME_DIR/owned" ]; do kill -0 $other || exit 9; done"#;

/// Looks within a session bus of its own after `before` was run there; none where a tool is missing.
async fn look_on_a_bus(rig: &Rig, before: &str, tools: &[&str]) -> Option<Found> {
    for tool in ["dbus-run-session", "gdbus"].iter().chain(tools) {
        let mut tried = Command::new(tool);
        tried.arg(if *tool == "gdbus" { "help" } else { "--version" });
        if !tried.output().await.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {tool} is not installed");
            return None;
        }
    }
    let runtime = rig.dir.path().join("run");
    drawbridge_os::private::create_folder(&runtime).unwrap();
    drawbridge_os::private::create_folder(&rig.state()).unwrap();
    let bus = rig.dir.path().join("bus.conf");
    std::fs::write(&bus, BUS.replace("RUNTIME", runtime.to_str().unwrap())).unwrap();
    let mut command = wrapped(rig, "dbus-run-session");
    let script = format!(
        "other=; {before}\nDISPLAY=:no-such-display \"$@\"; ended=$?; [ -z \"$other\" ] || kill $other; exit $ended"
    );
    command.env_remove("DRAWBRIDGE_KEYCHAIN_PASSPHRASE").env("XDG_RUNTIME_DIR", &runtime);
    command.env("XDG_DATA_HOME", rig.dir.path().join("data"));
    command.arg(format!("--config-file={}", bus.display())).args(["--", "sh", "-c", &script, "sh"]);
    command.args([env!("CARGO_BIN_EXE_drawbridge"), "doctor", "--json"]);
    Some(Found::read(&finish(command).await))
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "the Secret Service is for Linux")]
async fn a_keychain_is_open_locked_missing_or_silent() {
    let keyring = ["gnome-keyring-daemon"];
    for (before, tools, state, words) in [
        (OPEN, &keyring[..], "ok", "in the keychain of this computer, and it answers"),
        (LOCKED, &keyring[..], "fail", "keychain of this computer is locked"),
        ("", &[][..], "fail", "There is no place for secrets"),
        (SILENT, &[][..], "fail", "is there and does not answer"),
    ] {
        let rig = Rig::new().await;
        let Some(found) = look_on_a_bus(&rig, before, tools).await else { continue };

        assert_eq!(found.of("secrets").0, state, "{before}: {}", found.of("secrets").1);
        assert!(found.of("secrets").1.contains(words), "{before}: {}", found.of("secrets").1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "other desktops bring both themselves")]
async fn a_desktop_shows_tray_and_notifications_or_does_not() {
    for (before, tray, notifications) in [(DESKTOP, "ok", "ok"), ("", "warn", "warn")] {
        let rig = Rig::new().await;
        let Some(found) = look_on_a_bus(&rig, before, &[]).await else { continue };

        assert_eq!((found.of("tray").0, found.of("notifications").0), (tray, notifications), "{before}");
        assert!(found.of("display").1.contains("X11"));
    }
}
