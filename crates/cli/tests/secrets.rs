//! The real binary and the places for secrets: a keychain that is ready, locked, absent or silent; moving between it and the
//! encrypted file.
//!
//! Each scenario is a small script on a session bus of its own. Where the tools are missing a test says so and passes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test ends where its ground is missing")]

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=RUNTIME</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"#;

/// What every script begins with. `keyring lock` and `keyring unlock` act on the test's own keyring; `is CODE WORDS…` runs the
/// program, expects the exit code and keeps what was said in `$said`; `has TEXT` and `hasnt TEXT` look at that.
const COMMON: &str = r#"
set -u
py=/usr/bin/python3; "$py" -c 'import dbus' 2>/dev/null || py=python3
keyring() { "$py" - "$1" <<'PY'
import dbus, sys, time
bus = dbus.SessionBus()
end = time.monotonic() + 30
while not bus.name_has_owner("org.freedesktop.secrets") and time.monotonic() < end: time.sleep(0.02)
ring = bus.get_object("org.freedesktop.secrets", "/org/freedesktop/secrets")
service = dbus.Interface(ring, "org.freedesktop.Secret.Service")
login = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
if sys.argv[1] == "lock": service.Lock([login])
elif sys.argv[1] == "unlock":
    _, session = service.OpenSession("plain", dbus.String("", variant_level=1))
    inner = dbus.Interface(ring, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface")
    inner.UnlockWithMasterPassword(login, dbus.Struct((session, dbus.ByteArray(b""), dbus.ByteArray(b"pass"), "text/plain"), signature="oayays"))
PY
}
fail() { echo "FAILED: $*"; echo "$said"; exit 1; }
is() { wanted=$1; shift; said=$("$DRAWBRIDGE" "$@" 2>&1 </dev/null); code=$?; [ "$code" = "$wanted" ] || fail "$* ended with $code, not $wanted"; }
has() { case "$said" in *"$1"*) ;; *) fail "not said: $1" ;; esac; }
hasnt() { case "$said" in *"$1"*) fail "said: $1" ;; esac; }
key() { "$DRAWBRIDGE" audit key --show 2>/dev/null </dev/null; }
nothing_in_clear() { ! grep -rqF "$1" "$DRAWBRIDGE_STATE_DIR" || fail "$1 is in a file"; }
said=
"#;
const WITH_KEYRING: &str =
    "printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null; keyring wait\n";

#[test]
fn secrets_move_there_and_back_and_the_log_can_be_checked_all_the_while() {
    on_a_bus(
        WITH_KEYRING,
        r#"
is 77 start --headless
is 0 secrets show --json; has '"place":"keychain"'; has '"keychain":"ready"'
before=$(key); [ ${#before} = 64 ] || fail "no key"
is 78 secrets move file; has DRAWBRIDGE_KEYCHAIN_PASSPHRASE
is 1 secrets move keychain; has 'there already'
export DRAWBRIDGE_KEYCHAIN_PASSPHRASE=short
is 78 secrets move file; has 'fewer than 8 characters'
[ ! -e "$DRAWBRIDGE_STATE_DIR/secrets.enc" ] || fail "a file was made"
export DRAWBRIDGE_KEYCHAIN_PASSPHRASE='a passphrase for tests'
is 0 secrets move file; has 'encrypted file now'
is 0 secrets show --json; has '"place":"file"'
[ "$(key)" = "$before" ] || fail "another key"
is 0 audit verify
is 77 start --headless
is 1 secrets move file; has 'there already'
nothing_in_clear "$before"; nothing_in_clear "$DRAWBRIDGE_KEYCHAIN_PASSPHRASE"
sum=$(cksum < "$DRAWBRIDGE_STATE_DIR/secrets.enc")
DRAWBRIDGE_KEYCHAIN_PASSPHRASE='wrong passphrase' is 78 secrets move keychain; has 'does not open'
DRAWBRIDGE_KEYCHAIN_PASSPHRASE='wrong passphrase' is 78 start --headless; has 'does not open'
[ "$sum" = "$(cksum < "$DRAWBRIDGE_STATE_DIR/secrets.enc")" ] || fail "the file was changed"
keyring lock
is 78 secrets move keychain; has locked
[ "$sum" = "$(cksum < "$DRAWBRIDGE_STATE_DIR/secrets.enc")" ] || fail "the file was changed"
keyring unlock
is 0 secrets move keychain; has 'keychain now'
unset DRAWBRIDGE_KEYCHAIN_PASSPHRASE
[ ! -e "$DRAWBRIDGE_STATE_DIR/secrets.enc" ] || fail "the file is still there"
[ "$(key)" = "$before" ] || fail "another key"
is 0 audit verify
is 77 start --headless
"#,
        &["gnome-keyring-daemon"],
    );
}

#[test]
fn a_locked_keychain_is_told_as_locked_and_nothing_is_kept_elsewhere() {
    on_a_bus(
        WITH_KEYRING,
        r#"
is 77 start --headless
before=$(key)
keyring lock
is 78 start --headless; has 'the keychain of this computer is locked'; hasnt "$before"
is 78 auth --no-browser; has locked
is 0 secrets show --json; has '"keychain":"locked"'
"$DRAWBRIDGE" doctor > "$HOME/doctor" 2>&1 </dev/null; grep -qi locked "$HOME/doctor" || { cat "$HOME/doctor"; fail "the check-up does not say it"; }
[ ! -e "$DRAWBRIDGE_STATE_DIR/secrets.enc" ] || fail "a file was made"
nothing_in_clear "$before"
keyring unlock
is 77 start --headless
[ "$(key)" = "$before" ] || fail "another key"
"#,
        &["gnome-keyring-daemon"],
    );
}

#[test]
fn without_a_keychain_only_a_passphrase_helps() {
    on_a_bus(
        "",
        r#"
is 78 start --headless; has 'no place to keep secrets'; has DRAWBRIDGE_KEYCHAIN_PASSPHRASE
is 78 auth --no-browser
is 0 secrets show --json; has '"place":null'
is 78 secrets move file; has DRAWBRIDGE_KEYCHAIN_PASSPHRASE
[ ! -e "$DRAWBRIDGE_STATE_DIR/secrets.enc" ] || fail "a file was made"
export DRAWBRIDGE_KEYCHAIN_PASSPHRASE='a passphrase for tests'
is 77 start --headless
before=$(key); [ ${#before} = 64 ] || fail "no key"
nothing_in_clear "$before"
is 78 secrets move keychain; has 'nothing was moved'
unset DRAWBRIDGE_KEYCHAIN_PASSPHRASE
AUTOGPT_SHIM_KEYCHAIN_PASSPHRASE='a passphrase for tests' is 77 start --headless
is 78 start --headless; has 'the secrets are in'
"#,
        &[],
    );
}

#[test]
fn a_secret_service_that_never_answers_is_given_up_and_told() {
    on_a_bus(
        r#"
"$py" -c '
import dbus, time
bus = dbus.SessionBus()
bus.request_name("org.freedesktop.secrets")
print("owned", flush=True)
time.sleep(120)' > "$HOME/owned" & silent=$!
trap 'kill $silent' EXIT
until [ -s "$HOME/owned" ]; do kill -0 $silent || exit 9; done
"#,
        r#"
is 78 start --headless; has 'does not answer'
is 0 secrets show --json; has '"keychain":"none"'
"$DRAWBRIDGE" doctor > "$HOME/doctor" 2>&1 </dev/null; grep -q 'not answer' "$HOME/doctor" || { cat "$HOME/doctor"; fail "the check-up does not say it"; }
export DRAWBRIDGE_KEYCHAIN_PASSPHRASE='a passphrase for tests'
is 77 start --headless
"#,
        &[],
    );
}

fn on_a_bus(first: &str, script: &str, tools: &[&str]) {
    for tool in ["dbus-run-session", "timeout"].iter().chain(tools) {
        if !works(tool, &["--version"]) {
            println!("SKIPPED: {tool} is not installed, so this was not tried");
            return;
        }
    }
    if !["/usr/bin/python3", "python3"].iter().any(|python| works(python, &["-c", "import dbus"])) {
        println!("SKIPPED: no Python with D-Bus here, so this was not tried");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let bus = home.path().join("bus.conf");
    std::fs::write(&bus, BUS.replace("RUNTIME", &home.path().display().to_string())).unwrap();
    // The limit only ends a test that hangs.
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "180", "dbus-run-session"]).arg(format!("--config-file={}", bus.display()));
    command.args(["--", "bash", "-c", &format!("{COMMON}{first}{script}\necho all done")]);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path());
    command.env("XDG_RUNTIME_DIR", home.path()).env("XDG_DATA_HOME", home.path().join("data"));
    command.env("DRAWBRIDGE", env!("CARGO_BIN_EXE_drawbridge")).env("DRAWBRIDGE_STATE_DIR", home.path().join("state"));
    command.env("DRAWBRIDGE_CONFIG_DIR", home.path().join("config")).env("DRAWBRIDGE_PLATFORM_URL", "ws://127.0.0.1:9");
    let output = command.output().unwrap();
    assert!(said(&output).contains("all done"), "{}:\n{}", output.status, said(&output));
}

fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
