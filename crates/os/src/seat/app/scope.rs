//! Moves a started app out of our own unit of the service manager.
//!
//! A manager ends everything in a unit when its first process ends: an app that was started from a service would go with it. What
//! the app itself started before it was moved stays behind. Where no such manager runs, nothing is needed.

use std::ffi::OsStr;
use std::time::Duration;

use zbus::blocking::connection::Builder;
use zbus::blocking::fdo::DBusProxy;
use zbus::names::BusName;
use zbus::zvariant::Value;

/// How long the manager may take.
const LIMIT: Duration = Duration::from_millis(500);

const MANAGER: &str = "org.freedesktop.systemd1";

/// Gives a process a scope of its own among the apps of the desktop. Tells whether somebody did it.
pub(super) fn move_out(bus: Option<&OsStr>, app: &str, pid: u32) -> bool {
    let Some(bus) = bus.and_then(OsStr::to_str).filter(|address| !address.is_empty()) else { return false };
    let moved = || -> zbus::Result<bool> {
        let bus = Builder::address(bus)?.method_timeout(LIMIT).build()?;
        if !DBusProxy::new(&bus)?.name_has_owner(BusName::try_from(MANAGER)?)? {
            return Ok(false);
        }
        let properties = [
            ("PIDs", Value::from(vec![pid])),
            ("Slice", Value::from("app.slice")),
            ("CollectMode", Value::from("inactive-or-failed")),
        ];
        let others: [(&str, Vec<(&str, Value<'_>)>); 0] = [];
        let unit = (unit(app, pid), "fail", &properties[..], &others[..]);
        let interface = "org.freedesktop.systemd1.Manager";
        bus.call_method(Some(MANAGER), "/org/freedesktop/systemd1", Some(interface), "StartTransientUnit", &unit)?;
        Ok(true)
    };
    moved().unwrap_or_else(|fault| {
        tracing::debug!(%fault, "a started app stays in the unit of this program");
        false
    })
}

/// The name of a scope, as desktops build it. Dashes part it, so an app's name has none.
fn unit(app: &str, pid: u32) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '_' };
    let app: String = app.chars().take(100).map(plain).collect();
    format!("app-drawbridge-{app}-{pid}.scope")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::{Sender, channel};

    use zbus::zvariant::{OwnedObjectPath, OwnedValue};

    use super::*;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    type Properties = Vec<(String, OwnedValue)>;

    struct Manager(Sender<(String, String, HashMap<String, OwnedValue>)>);

    #[zbus::interface(name = "org.freedesktop.systemd1.Manager")]
    impl Manager {
        fn start_transient_unit(
            &self,
            name: String,
            mode: String,
            properties: Properties,
            _aux: Vec<(String, Properties)>,
        ) -> OwnedObjectPath {
            self.0.send((name, mode, properties.into_iter().collect())).unwrap();
            OwnedObjectPath::try_from("/job/1").unwrap()
        }
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn an_app_gets_a_scope_of_its_own_where_a_manager_runs() {
        let bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(bus) = bus else {
            eprintln!("skipped: no dbus-daemon");
            return;
        };
        let mut bus = Ended(bus);
        let mut address = String::new();
        BufReader::new(bus.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = OsStr::new(address.trim());
        assert!(!move_out(Some(address), "org.example.App", 1234), "nobody is there");

        let (told, asked) = channel();
        let builder = Builder::address(address.to_str().unwrap()).unwrap().name(MANAGER).unwrap();
        let _manager = builder.serve_at("/org/freedesktop/systemd1", Manager(told)).unwrap().build().unwrap();

        assert!(move_out(Some(address), "org.example.A-p/p", 1234));
        let (name, mode, properties) = asked.recv().unwrap();
        assert_eq!((&*name, &*mode), ("app-drawbridge-org.example.A_p_p-1234.scope", "fail"));
        assert_eq!(Vec::<u32>::try_from(properties["PIDs"].try_clone().unwrap()).unwrap(), [1234]);
        assert_eq!(<&str>::try_from(&properties["Slice"]).unwrap(), "app.slice");
    }

    #[test]
    fn without_a_bus_nothing_is_moved() {
        assert!(!move_out(None, "app", 1));
        assert!(!move_out(Some(OsStr::new("")), "app", 1));
        assert!(!move_out(Some(OsStr::new("unix:path=/nonexistent/bus")), "app", 1));
    }
}
