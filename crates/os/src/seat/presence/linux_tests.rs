use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A session bus of its own; none where there is no bus program.
fn bus() -> Option<(Ended, String)> {
    let bus = Command::new("dbus-daemon")
        .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut bus = Ended(bus.ok()?);
    let mut address = String::new();
    BufReader::new(bus.0.stdout.take()?).read_line(&mut address).ok()?;
    Some((bus, address.trim().to_owned()))
}

#[derive(Debug)]
struct Locker {
    locked: bool,
}

#[zbus::interface(name = "org.gnome.ScreenSaver")]
impl Locker {
    fn get_active(&self) -> bool {
        self.locked
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_one_who_locks_is_believed_and_others_say_nothing() {
    let Some((_bus, address)) = bus() else {
        eprintln!("skipped: no dbus-daemon");
        return;
    };
    let address = OsStr::new(&address);
    assert!(!on_bus(Some(address)), "nobody is there");
    let serve = |locked| {
        let builder = Builder::address(address.to_str().unwrap()).unwrap();
        let builder = builder.name("org.gnome.ScreenSaver").unwrap();
        builder.serve_at("/org/gnome/ScreenSaver", Locker { locked }).unwrap().build().unwrap()
    };

    let open = serve(false);
    assert!(!on_bus(Some(address)));
    open.close().unwrap();
    let _locked = serve(true);
    assert!(on_bus(Some(address)));
}

#[test]
fn no_bus_and_a_bus_that_is_gone_say_nothing() {
    assert!(!on_bus(None));
    assert!(!on_bus(Some(OsStr::new(""))));
    assert!(!on_bus(Some(OsStr::new("unix:path=/nonexistent/bus"))));
    assert!(!on_bus(Some(OsStr::new("nonsense"))));
}

#[test]
fn a_display_without_a_saver_is_not_locked() {
    let display = drawbridge_testkit::display::Display::start(320, 240).unwrap();
    let seat = Seat::x11(display.name());
    assert!(!locked(&seat));

    // A dark screen is not a locked one.
    display.run("xset", &["s", "activate"]).unwrap();
    assert!(!saver_now(&seat));
    drop(display);
    assert!(!saver_now(&seat));
}
