//! The keychain on Linux against real buses and a real secret service, each in a world of its own (spec 2.1).
//!
//! Each test starts this very program again inside that world, since a process talks to one session bus only. Where the
//! tools are missing, a test says so and passes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use drawbridge_os::keychain::{Keychain, KeychainFault, KeychainState};
use secret_service::EncryptionType;
use secret_service::blocking::SecretService;

/// Names the scenario for the program inside.
const SCENARIO: &str = "KEYCHAIN_SCENARIO";

/// A bus without any activation: nothing of the developer's own desktop is started, and nothing can pop up.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=RUNTIME</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"#;

const UNLOCKED: &str = "printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null && \"$0\" \"$@\"";
const WITHOUT_COLLECTION: &str = "gnome-keyring-daemon --start --components=secrets >/dev/null && \"$0\" \"$@\"";
const ALONE: &str = "\"$0\" \"$@\"";
/// Owns the name and never reads: the bus delivers every call, and no answer comes.
const SILENT: &str = r#"
python3=/usr/bin/python3; "$python3" -c 'import dbus' 2>/dev/null || python3=python3
"$python3" -c '
import dbus, sys, time
bus = dbus.SessionBus()
bus.request_name("org.freedesktop.secrets")
print("owned", flush=True)
time.sleep(60)' > "$XDG_RUNTIME_DIR/owned" & silent=$!
until [ -s "$XDG_RUNTIME_DIR/owned" ]; do kill -0 $silent || exit 9; done
"$0" "$@"; ended=$?
kill $silent; exit $ended"#;

#[test]
fn an_open_keychain_keeps_reads_and_forgets_entries() {
    inside_a_bus("open", UNLOCKED, &["gnome-keyring-daemon"]);
}

#[test]
fn a_locked_collection_is_told_as_locked_and_opens_no_prompt() {
    inside_a_bus("locked", UNLOCKED, &["gnome-keyring-daemon"]);
}

#[test]
fn a_secret_service_without_a_collection_wants_the_person_first() {
    inside_a_bus("no_collection", WITHOUT_COLLECTION, &["gnome-keyring-daemon"]);
}

#[test]
fn a_bus_without_a_secret_service_is_no_keychain() {
    inside_a_bus("no_service", ALONE, &[]);
}

#[test]
fn a_service_that_never_answers_is_given_up_after_one_call() {
    if !["/usr/bin/python3", "python3"].iter().any(|python| works(python, &["-c", "import dbus"])) {
        println!("SKIPPED: no Python with D-Bus here, so a silent secret service cannot be played");
        return;
    }
    inside_a_bus("silent_service", SILENT, &[]);
}

#[test]
fn without_a_bus_there_is_no_keychain() {
    let home = world();
    let mut command = inner("no_bus", home.path());
    command.env_remove("DBUS_SESSION_BUS_ADDRESS");
    run(command);
}

#[test]
fn a_bus_that_never_answers_is_given_up() {
    let home = world();
    let path = home.path().join("bus");
    // Connections are taken by the kernel, and nobody ever reads from them.
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut command = inner("silent_bus", home.path());
    command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", path.display()));
    run(command);
}

/// What runs inside a world. Says nothing when it was not started by one of the tests above.
#[test]
#[ignore = "started by the other tests of this file inside a bus of their own"]
fn inside() {
    let Ok(scenario) = std::env::var(SCENARIO) else { return };
    if ["open", "locked", "no_collection"].contains(&scenario.as_str()) {
        // The daemon returns before it has its name on the bus. The limit of the whole world ends this, too.
        while SecretService::connect(EncryptionType::Plain).is_err() {
            std::thread::yield_now();
        }
    }
    let keychain = Keychain::for_service("drawbridge-test");
    match scenario.as_str() {
        "open" => open(&keychain),
        "locked" => locked(&keychain),
        "no_collection" => assert_eq!(keychain.probe(), KeychainState::Locked),
        "no_service" | "no_bus" => {
            let KeychainState::None { why } = keychain.probe() else { panic!("there is none") };
            assert!(why.contains("no secret service can be reached"), "{why}");
            assert!(matches!(keychain.get("default/audit_key"), Err(KeychainFault::Failed(_))));
            assert!(matches!(keychain.set("default/audit_key", "x"), Err(KeychainFault::Failed(_))));
        }
        "silent_service" | "silent_bus" => {
            let KeychainState::None { why } = keychain.probe() else { panic!("it never answers") };
            assert_eq!(why, "the keychain of this computer does not answer");
            // From now on nothing waits any more, also not through a clone.
            let threads = threads();
            assert_eq!(keychain.get("default/audit_key"), Err(KeychainFault::NoAnswer));
            assert_eq!(keychain.clone().set("default/audit_key", "x"), Err(KeychainFault::NoAnswer));
            assert_eq!(threads, self::threads());
        }
        other => panic!("no scenario {other}"),
    }
    println!("ran {scenario}");
}

fn open(keychain: &Keychain) {
    assert_eq!(keychain.probe(), KeychainState::Ready);
    assert_eq!(keychain.get("default/access_token"), Ok(None));
    keychain.delete("default/access_token").unwrap();

    let long = "t".repeat(2560);
    keychain.set("default/access_token", "one").unwrap();
    keychain.set("default/refresh_token", &long).unwrap();
    keychain.set("default/access_token", "zwei ☃").unwrap();

    let other = Keychain::for_service("drawbridge-test");
    assert_eq!(other.get("default/access_token").unwrap().as_deref(), Some("zwei ☃"));
    assert_eq!(other.get("default/refresh_token").unwrap(), Some(long));
    assert_eq!(Keychain::for_service("another").get("default/access_token"), Ok(None));
    other.delete("default/access_token").unwrap();
    assert_eq!(keychain.get("default/access_token"), Ok(None));
    assert_eq!(keychain.probe(), KeychainState::Ready);
    // What is open need not be asked for.
    assert_eq!(keychain.ask_to_open(), Ok(KeychainState::Ready));
}

fn locked(keychain: &Keychain) {
    keychain.set("default/access_token", "one").unwrap();
    let service = SecretService::connect(EncryptionType::Plain).unwrap();
    service.get_default_collection().unwrap().lock().unwrap();

    assert_eq!(keychain.probe(), KeychainState::Locked);
    // There is no prompter on this bus, so unlocking is refused: never the value, never "there is none".
    let refused = keychain.get("default/access_token");
    assert!(refused.is_err(), "{refused:?}");
    assert!(keychain.set("default/access_token", "two").is_err());
    // Asking the person comes to nothing where nobody can be asked, and says so in time.
    assert!(keychain.ask_to_open().is_err());
    assert_eq!(keychain.probe(), KeychainState::Locked);
    assert!(service.get_default_collection().unwrap().is_locked().unwrap());
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

/// A home and a runtime folder of its own.
fn world() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    home
}

fn settle(command: &mut Command, scenario: &str, home: &Path) {
    for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("XDG_")) {
        command.env_remove(key);
    }
    for key in ["DISPLAY", "WAYLAND_DISPLAY", "GNOME_KEYRING_CONTROL"] {
        command.env_remove(key);
    }
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home).env("XDG_DATA_HOME", home.join("data"));
    command.env(SCENARIO, scenario);
}

fn inner(scenario: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "inside", "--ignored", "--nocapture"]);
    settle(&mut command, scenario, home);
    command
}

fn inside_a_bus(scenario: &str, shell: &str, tools: &[&str]) {
    for tool in ["dbus-run-session", "timeout"].iter().chain(tools) {
        if !works(tool, &["--version"]) {
            println!("SKIPPED: {tool} is not installed, so \"{scenario}\" was not tried");
            return;
        }
    }
    let home = world();
    let bus = home.path().join("bus.conf");
    std::fs::write(&bus, BUS.replace("RUNTIME", &home.path().display().to_string())).unwrap();
    // The limit only ends a test that hangs.
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", "dbus-run-session"]).arg(format!("--config-file={}", bus.display()));
    command.args(["--", "sh", "-c", shell]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "inside", "--ignored", "--nocapture"]);
    settle(&mut command, scenario, home.path());
    run(command);
}

fn run(mut command: Command) {
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("ran "), "{command:?} ended with {}:\n{said}", output.status);
}
