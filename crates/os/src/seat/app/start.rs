//! Starting an app so that it belongs to the desktop: a session of its own, no input and no output of ours, the environment of
//! the desktop without what is only for us.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::scope;
use crate::process::{APP_MARK, MARKER_VARIABLE, start_apart};

/// What only this process was told: by the service manager that started it, and by who passed it the focus.
const ONLY_OURS: [&str; 10] = [
    "DESKTOP_STARTUP_ID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "NOTIFY_SOCKET",
    "SYSTEMD_EXEC_PID",
    "WATCHDOG_USEC",
    "XDG_ACTIVATION_TOKEN",
];

/// The environment for an app: ours without our own variables, and without what a bundle of ours brought into it.
pub(super) fn environment(all: &[(OsString, OsString)], display: Option<&OsStr>) -> Vec<(OsString, OsString)> {
    let bundle = all.iter().find(|(name, _)| name == "APPDIR").map(|(_, value)| value.as_bytes());
    let in_bundle = |part: &[u8]| bundle.is_some_and(|bundle| !bundle.is_empty() && part.starts_with(bundle));
    let mut kept: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in all {
        let ours = name.as_bytes().starts_with(b"DRAWBRIDGE_")
            || ONLY_OURS.iter().any(|only| name == only)
            || (bundle.is_some() && matches!(name.as_bytes(), b"APPDIR" | b"APPIMAGE" | b"ARGV0" | b"OWD"));
        if ours || name == "DISPLAY" && display.is_some() {
            continue;
        }
        if !value.as_bytes().split(|byte| *byte == b':').any(in_bundle) {
            kept.push((name.clone(), value.clone()));
            continue;
        }
        let rest: Vec<&[u8]> =
            value.as_bytes().split(|byte| *byte == b':').filter(|part| !in_bundle(part) && !part.is_empty()).collect();
        if !rest.is_empty() {
            kept.push((name.clone(), OsStr::from_bytes(&rest.join(&b':')).to_owned()));
        }
    }
    kept.extend(display.map(|display| ("DISPLAY".into(), display.to_owned())));
    kept.push((MARKER_VARIABLE.into(), APP_MARK.into()));
    kept
}

/// Starts a program with exactly these words and returns its number. `app` names it to the service manager.
pub(super) fn start(
    app: &str,
    program: &Path,
    args: &[String],
    environment: &[(OsString, OsString)],
    folder: &Path,
) -> std::io::Result<u32> {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    own_session(&mut command);
    let mut started = None;
    let pid = start_apart(|| {
        let child = command.spawn()?;
        let pid = child.id();
        started = Some(child);
        Ok(pid)
    })?;
    if let Some(mut child) = started {
        let bus = environment.iter().find(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS").map(|(_, bus)| bus.clone());
        let app = app.to_owned();
        // Somebody has to take it out of the process table once it has ended; it may live for days.
        std::thread::Builder::new().name("app".to_owned()).spawn(move || {
            scope::move_out(bus.as_deref(), &app, pid);
            let _ = child.wait();
        })?;
    }
    Ok(pid)
}

#[expect(unsafe_code, reason = "a session of its own is made between start and program")]
fn own_session(command: &mut Command) {
    // SAFETY: the one call allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// Whoever may write to it, or owns it and could allow that. The administrator may write to everything; for that one only what
/// all may write to counts.
pub(super) fn user_can_change(file: &Path) -> bool {
    let Ok(facts) = std::fs::metadata(file) else { return true };
    let user = rustix::process::geteuid();
    let writable = || rustix::fs::access(file, rustix::fs::Access::WRITE_OK).is_ok();
    facts.mode() & 0o002 != 0 || (!user.is_root() && (facts.uid() == user.as_raw() || writable()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(all: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        all.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn an_app_gets_the_environment_of_the_desktop_without_ours() {
        let ours = pairs(&[
            ("HOME", "/home/a"),
            ("DISPLAY", ":0"),
            ("DRAWBRIDGE_KEYCHAIN_PASSPHRASE", "secret"),
            ("DRAWBRIDGE_COMMAND", "owner-1"),
            ("NOTIFY_SOCKET", "/run/x"),
            ("LANG", "de_DE.UTF-8"),
        ]);

        let given = environment(&ours, Some(OsStr::new(":7")));

        assert_eq!(
            given,
            pairs(&[("HOME", "/home/a"), ("LANG", "de_DE.UTF-8"), ("DISPLAY", ":7"), ("DRAWBRIDGE_COMMAND", "app")])
        );
    }

    #[test]
    fn libraries_of_a_bundle_stay_in_the_bundle() {
        let ours = pairs(&[
            ("APPDIR", "/tmp/.mount_x"),
            ("PATH", "/tmp/.mount_x/usr/bin:/usr/bin:/bin"),
            ("LD_LIBRARY_PATH", "/tmp/.mount_x/usr/lib:"),
            ("DISPLAY", ":0"),
        ]);

        assert_eq!(
            environment(&ours, None),
            pairs(&[("PATH", "/usr/bin:/bin"), ("DISPLAY", ":0"), ("DRAWBRIDGE_COMMAND", "app")])
        );
    }
}
