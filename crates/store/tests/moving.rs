//! Moving secrets between a real keychain and the encrypted file, ended at every step: one whole store is always left, and
//! the next start takes away what the other side still has.
//!
//! Each scenario runs in this very program, started again on a session bus of its own with its own secret service. Where the
//! tools are missing a test says so and passes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use drawbridge_os::keychain::{Keychain, KeychainState};
use drawbridge_store::secrets::{
    KeychainStore, MoveFault, SecretFault, SecretFile, SecretPlace, SecretStore, Secrets, entries, open_secrets,
};
use secrecy::{ExposeSecret as _, SecretString};

const SCENARIO: &str = "MOVING_SCENARIO";
const STATE: &str = "MOVING_STATE";
const DIES_AT: &str = "MOVING_DIES_AT";
const SERVICE: &str = "drawbridge-moving-test";
const PASSPHRASE: &str = "a passphrase for tests";
/// Longer than any scenario makes calls to the keychain.
const MOST_CALLS: u32 = 200;
const ABORTED: i32 = 134;

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=RUNTIME</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"#;
const UNLOCKED: &str = "printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null && \"$0\" \"$@\"";

/// What a state folder with one further account keeps.
fn kept() -> Vec<(&'static str, &'static str)> {
    vec![
        (entries::ACCESS_TOKEN, "acc-5f0b2c7e9d1a4e38"),
        (entries::REFRESH_TOKEN, "ref-90c1d3e5f7a9b2c4"),
        (entries::AUDIT_KEY, "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"),
        ("work/refresh_token", "ref-of-work-77aa"),
    ]
}

fn names() -> Vec<String> {
    entries::all(["work"])
}

#[test]
fn a_move_there_and_back_keeps_everything_and_leaves_nothing_behind() {
    inside_a_bus("there_and_back");
}

#[test]
fn a_program_killed_at_any_call_leaves_one_whole_store_and_the_next_start_tidies() {
    inside_a_bus("killed");
}

#[test]
fn a_keyring_that_locks_on_the_way_loses_nothing() {
    inside_a_bus("locks");
}

#[test]
fn a_disk_that_is_full_or_read_only_loses_nothing() {
    inside_a_bus("no_room");
}

#[test]
fn another_program_that_moved_the_secrets_is_noticed() {
    inside_a_bus("moved_elsewhere");
}

#[test]
#[ignore = "started by the other tests of this file inside a bus of their own"]
fn inside() {
    let Ok(scenario) = std::env::var(SCENARIO) else { return };
    // The daemon returns before it has its name on the bus. The limit of the whole world ends this, too.
    while Keychain::for_service(SERVICE).probe() != KeychainState::Ready {
        std::thread::yield_now();
    }
    match scenario.as_str() {
        "there_and_back" => there_and_back(),
        "killed" => killed(),
        "locks" => locks(),
        "no_room" => no_room(),
        "moved_elsewhere" => moved_elsewhere(),
        // In a program of its own, which is to die.
        "step_to_file" => drop(dying().move_to_file(SecretString::from(PASSPHRASE), &names())),
        "step_to_keychain" => drop(dying().move_to_keychain(&names())),
        "step_tidy" => drop(dying().tidy(&names())),
        "step_no_room" => without_room(),
        other => panic!("no scenario {other}"),
    }
    println!("ran {scenario}");
}

fn there_and_back() {
    let state = tempfile::tempdir().unwrap();
    let keychain = Keychain::for_service(SERVICE);
    fill(&keychain);
    let secrets = open_secrets(state.path(), None, &keychain).unwrap();
    let held: Arc<dyn SecretStore> = secrets.clone();
    assert_eq!(secrets.place(), SecretPlace::Keychain);
    assert!(matches!(secrets.move_to_file(SecretString::from("short"), &names()), Err(MoveFault::ShortPassphrase)));

    assert_eq!(secrets.move_to_file(SecretString::from(PASSPHRASE), &names()).unwrap().left, None);

    // Whoever held the store before sees the new place.
    assert_eq!(held.place(), SecretPlace::File);
    whole(held.as_ref());
    empty(&keychain);
    only(state.path(), &["secrets.enc"]);
    held.set("work/access_token", &SecretString::from("later")).unwrap();
    assert!(matches!(secrets.move_to_file(SecretString::from(PASSPHRASE), &names()), Err(MoveFault::There)));
    drop((held, secrets));

    let secrets = open_secrets(state.path(), Some(SecretString::from(PASSPHRASE)), &keychain).unwrap();
    assert_eq!(secrets.tidy(&names()), None);
    // An entry of an account that was forgotten here, in the file and on no list.
    secrets.set("old/refresh_token", &SecretString::from("unlisted")).unwrap();
    assert_eq!(secrets.move_to_keychain(&names()).unwrap().left, None);

    assert_eq!(secrets.place(), SecretPlace::Keychain);
    whole(secrets.as_ref());
    for (name, value) in [("work/access_token", "later"), ("old/refresh_token", "unlisted")] {
        assert_eq!(secrets.get(name).unwrap().unwrap().expose_secret(), value);
    }
    only(state.path(), &[]);
    assert!(matches!(secrets.move_to_keychain(&names()), Err(MoveFault::There)));
}

/// Each call to the keychain in turn is the last thing that a program does.
fn killed() {
    for step in ["step_to_file", "step_to_keychain"] {
        let (mut died, mut tidied) = (0, false);
        for call in 1..MOST_CALLS {
            let state = begin(step);
            let code = run_step(step, state.path(), call);
            let secrets = open(state.path());
            whole(secrets.as_ref());
            // The tidying is killed as well, at each of its calls, and begins anew. Once is enough: it always does the same.
            let to_tidy = secrets.place() == SecretPlace::File && state.path().join("secrets.moving").exists();
            if to_tidy && !std::mem::replace(&mut tidied, true) {
                let killed = (1..MOST_CALLS).take_while(|call| run_step("step_tidy", state.path(), *call) != 0);
                assert!(killed.inspect(|_| whole(secrets.as_ref())).count() > 2);
            }
            assert_eq!(open(state.path()).tidy(&names()), None);
            whole(open(state.path()).as_ref());
            match open(state.path()).place() {
                SecretPlace::Keychain => only(state.path(), &[]),
                SecretPlace::File => {
                    empty(&Keychain::for_service(SERVICE));
                    only(state.path(), &["secrets.enc"]);
                }
            }
            if code == 0 {
                break;
            }
            assert_eq!(code, ABORTED, "{step} at call {call}");
            died += 1;
        }
        assert!(tidied && died > 5 && died < MOST_CALLS - 2, "{step} died {died} times");
    }
}

fn locks() {
    for step in ["to_file", "to_keychain"] {
        let mut failed = 0;
        // Each refused call costs a prompt that nobody sees, so not every call is tried.
        for call in (1..MOST_CALLS).step_by(4) {
            unlock();
            let state = begin(&format!("step_{step}"));
            let secrets = through(state.path(), After { calls: call, then: lock });
            let moved = if step == "to_file" {
                secrets.move_to_file(SecretString::from(PASSPHRASE), &names())
            } else {
                secrets.move_to_keychain(&names())
            };
            let place = secrets.place();
            unlock();

            whole(open(state.path()).as_ref());
            assert_eq!(open(state.path()).place(), place, "{step} at {call}: the next start uses the same");
            match moved {
                Ok(moved) if moved.left.is_none() => break,
                // Switched, and what is left is told.
                Ok(moved) => assert!(moved.left.is_some() && place == SecretPlace::File, "{step} at {call}"),
                Err(_) => assert_eq!(place == SecretPlace::File, step == "to_keychain", "{step} at {call}"),
            }
            failed += 1;
            assert_eq!(open(state.path()).tidy(&names()), None);
            whole(open(state.path()).as_ref());
            if place == SecretPlace::File {
                empty(&Keychain::for_service(SERVICE));
            }
        }
        assert!(failed > 2, "{step} failed {failed} times");
    }
}

fn no_room() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = begin("step_to_file");
    // A limit on the size of files is a full disk for one program alone.
    assert_eq!(run_step("step_no_room", state.path(), 0), 0);
    let secrets = open(state.path());
    assert_eq!(secrets.place(), SecretPlace::Keychain);
    whole(secrets.as_ref());
    assert_eq!(secrets.tidy(&names()), None);
    only(state.path(), &[]);

    if rustix_is_root() {
        println!("SKIPPED: a read-only folder stops nobody who is root");
        return;
    }
    let mode = |mode| std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let refused = secrets.move_to_file(SecretString::from(PASSPHRASE), &names()).unwrap_err();
    mode(0o700);
    assert!(matches!(refused, MoveFault::Mark(_)), "{refused}");
    whole(secrets.as_ref());
}

fn rustix_is_root() -> bool {
    drawbridge_os::machine::is_elevated()
}

/// Runs in a program whose files may not grow.
fn without_room() {
    let refused = dying().move_to_file(SecretString::from(PASSPHRASE), &names()).unwrap_err();
    assert!(refused.to_string().contains("nothing was moved"), "{refused}");
}

fn moved_elsewhere() {
    let state = begin("step_to_file");
    let (one, other) = (open(state.path()), open(state.path()));

    one.move_to_file(SecretString::from(PASSPHRASE), &names()).unwrap();

    let late = other.set(entries::ACCESS_TOKEN, &SecretString::from("late"));
    assert!(matches!(late, Err(SecretFault::Moved(_))), "{late:?}");
    assert!(matches!(other.get(entries::ACCESS_TOKEN), Err(SecretFault::Moved(_))));
    whole(one.as_ref());
    empty(&Keychain::for_service(SERVICE));
}

/// A state folder whose secrets are where the step begins.
fn begin(step: &str) -> tempfile::TempDir {
    let state = tempfile::tempdir().unwrap();
    let keychain = Keychain::for_service(SERVICE);
    for name in names() {
        keychain.delete(&name).unwrap();
    }
    if step.ends_with("to_file") {
        fill(&keychain);
    } else {
        fill(&SecretFile::open(state.path(), SecretString::from(PASSPHRASE)).unwrap());
    }
    state
}

fn open(state: &Path) -> Arc<Secrets> {
    let passphrase = SecretFile::path(state).exists().then(|| SecretString::from(PASSPHRASE));
    open_secrets(state, passphrase, &Keychain::for_service(SERVICE)).unwrap()
}

/// Opens the place as [`open`] does, with a keychain to which something happens.
fn through(state: &Path, after: After) -> Arc<Secrets> {
    let keychain: Arc<dyn KeychainStore> =
        Arc::new(Watched { real: Keychain::for_service(SERVICE), after, made: AtomicU32::new(0) });
    if SecretFile::path(state).exists() {
        let file = SecretFile::open(state, SecretString::from(PASSPHRASE)).unwrap();
        Arc::new(Secrets::in_file(state, keychain, file))
    } else {
        Arc::new(Secrets::in_keychain(state, keychain))
    }
}

fn dying() -> Arc<Secrets> {
    let state = PathBuf::from(std::env::var_os(STATE).unwrap());
    let calls = std::env::var(DIES_AT).unwrap().parse().unwrap();
    through(&state, After { calls, then: || std::process::abort() })
}

fn run_step(step: &str, state: &Path, call: u32) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    let limit = if step == "step_no_room" { "ulimit -f 0; trap '' XFSZ; exec" } else { "ulimit -c 0; exec" };
    command.args(["-c", &format!("{limit} \"$0\" \"$@\"")]).arg(program);
    command.args(["--exact", "inside", "--ignored", "--nocapture"]);
    command.env(SCENARIO, step).env(STATE, state).env(DIES_AT, call.to_string());
    let output = command.output().unwrap();
    match output.status.code() {
        Some(code) => {
            assert_eq!(
                code,
                0,
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            code
        }
        None => output.status.signal().map_or(-1, |signal| 128 + signal),
    }
}

fn fill(store: &dyn SecretStore) {
    for (name, value) in kept() {
        store.set(name, &SecretString::from(value)).unwrap();
    }
}

fn whole(store: &dyn SecretStore) {
    for (name, value) in kept() {
        assert_eq!(
            store.get(name).unwrap().map(|value| value.expose_secret().to_owned()).as_deref(),
            Some(value),
            "{name}"
        );
    }
}

fn empty(keychain: &Keychain) {
    for name in names() {
        assert_eq!(keychain.get(&name).unwrap(), None, "{name} is still in the keychain");
    }
}

/// No other file of secrets is there, also none half written.
fn only(state: &Path, wanted: &[&str]) {
    let mut found: Vec<String> = std::fs::read_dir(state)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("secrets") && name != "secrets.lock")
        .collect();
    found.sort();
    assert_eq!(found, wanted);
}

/// Something that happens right before a call.
#[derive(Clone, Copy)]
struct After {
    calls: u32,
    then: fn(),
}

/// The real keychain, to which something happens before one of the calls.
struct Watched {
    real: Keychain,
    after: After,
    made: AtomicU32,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watched")
    }
}

impl Watched {
    fn count(&self) {
        if self.made.fetch_add(1, Ordering::Relaxed) + 1 == self.after.calls {
            (self.after.then)();
        }
    }
}

impl SecretStore for Watched {
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
        self.count();
        SecretStore::get(&self.real, name)
    }

    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
        self.count();
        self.real.set_all(values)
    }

    fn delete(&self, name: &str) -> Result<(), SecretFault> {
        self.count();
        SecretStore::delete(&self.real, name)
    }

    fn place(&self) -> SecretPlace {
        SecretPlace::Keychain
    }
}

impl KeychainStore for Watched {
    fn state(&self) -> KeychainState {
        self.count();
        self.real.probe()
    }
}

/// Locks the collection of the test's own keyring, or gives it its password again as a login does, and waits until it has.
const KEYRING: &str = r#"
import dbus, sys
bus = dbus.SessionBus()
keyring = bus.get_object("org.freedesktop.secrets", "/org/freedesktop/secrets")
service = dbus.Interface(keyring, "org.freedesktop.Secret.Service")
login = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
if sys.argv[1] == "lock":
    service.Lock([login])
else:
    _, session = service.OpenSession("plain", dbus.String("", variant_level=1))
    inner = dbus.Interface(keyring, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface")
    secret = dbus.Struct((session, dbus.ByteArray(b""), dbus.ByteArray(b"pass"), "text/plain"), signature="oayays")
    inner.UnlockWithMasterPassword(login, secret)
"#;

fn lock() {
    keyring("lock");
}

fn unlock() {
    keyring("unlock");
}

fn keyring(what: &str) {
    let done = Command::new(python()).args(["-c", KEYRING, what]).output().unwrap();
    assert!(done.status.success(), "{what}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The Python that has D-Bus.
fn python() -> &'static str {
    if works("/usr/bin/python3", &["-c", "import dbus"]) { "/usr/bin/python3" } else { "python3" }
}

fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn inside_a_bus(scenario: &str) {
    for (tool, args) in [
        ("dbus-run-session", &["--version"][..]),
        ("timeout", &["--version"]),
        ("gnome-keyring-daemon", &["--version"]),
        (python(), &["-c", "import dbus"]),
    ] {
        if !works(tool, args) {
            println!("SKIPPED: {tool} is not installed, so \"{scenario}\" was not tried");
            return;
        }
    }
    let home = tempfile::tempdir().unwrap();
    let bus = home.path().join("bus.conf");
    std::fs::write(&bus, BUS.replace("RUNTIME", &home.path().display().to_string())).unwrap();
    // The limit only ends a test that hangs.
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "300", "dbus-run-session"]).arg(format!("--config-file={}", bus.display()));
    command.args(["--", "sh", "-c", UNLOCKED]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "inside", "--ignored", "--nocapture"]);
    for (key, _) in std::env::vars_os().filter(|(key, _)| key.to_string_lossy().starts_with("XDG_")) {
        command.env_remove(key);
    }
    for key in ["DISPLAY", "WAYLAND_DISPLAY", "GNOME_KEYRING_CONTROL"] {
        command.env_remove(key);
    }
    command.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path()).env("XDG_DATA_HOME", home.path().join("data"));
    command.env(SCENARIO, scenario);
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("ran "), "{scenario} ended with {}:\n{said}", output.status);
}
