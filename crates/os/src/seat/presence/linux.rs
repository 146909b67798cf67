//! Linux: what the desktop's services and the login service say about the lock, and the X server's screen saver.
//!
//! A screen that is only dark is not locked.

use std::ffi::OsStr;
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use x11rb::protocol::screensaver::{self, Kind, State};
use zbus::blocking::Connection;
use zbus::blocking::connection::Builder;
use zbus::blocking::fdo::DBusProxy;
use zbus::names::BusName;

use super::super::{Seat, SeatKind, x11};

/// How long the services may take together.
const LIMIT: Duration = Duration::from_millis(300);

/// How long an answer holds.
const HOLDS: Duration = Duration::from_secs(1);

/// Those who lock the screen of a desktop: name, path and interface.
const LOCKERS: [(&str, &str, &str); 4] = [
    ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver"),
    ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver", "org.gnome.ScreenSaver"),
    ("org.cinnamon.ScreenSaver", "/org/cinnamon/ScreenSaver", "org.cinnamon.ScreenSaver"),
    ("org.mate.ScreenSaver", "/org/mate/ScreenSaver", "org.mate.ScreenSaver"),
];

const LOGIN: &str = "org.freedesktop.login1";
const OWN_SESSION: &str = "/org/freedesktop/login1/session/auto";

/// What was told last, and whether somebody is asking at this moment.
#[derive(Default)]
struct Told {
    last: Option<(Instant, bool)>,
    asking: bool,
}

static TOLD: Mutex<Told> = Mutex::new(Told { last: None, asking: false });

pub(super) fn locked(seat: &Seat) -> bool {
    // The services speak of the session in which this program runs and of no other display.
    of_this_session(seat) && services() || saver(seat)
}

/// What the X server said last, and of which display.
static SAVER: Mutex<Option<(Seat, Instant, bool)>> = Mutex::new(None);

/// Tells whether a program of its own has taken over the screen as the X server's saver.
fn saver(seat: &Seat) -> bool {
    let mut last = SAVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((asked, at, locked)) = &*last
        && asked == seat
        && at.elapsed() < HOLDS
    {
        return *locked;
    }
    let locked = saver_now(seat);
    *last = Some((seat.clone(), Instant::now(), locked));
    locked
}

fn of_this_session(seat: &Seat) -> bool {
    match seat.kind {
        SeatKind::X11 => std::env::var_os("DISPLAY").is_some_and(|display| Some(&display) == seat.display.as_ref()),
        SeatKind::Wayland => true,
        SeatKind::Wsl | SeatKind::MacOs | SeatKind::Windows | SeatKind::None => false,
    }
}

/// Asks the services on a thread of its own, so that a stuck bus keeps nobody waiting; while it is stuck, nobody else asks it.
fn services() -> bool {
    {
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        let last = told.last.map(|(at, locked)| (at.elapsed(), locked));
        match last {
            Some((age, locked)) if age < HOLDS || told.asking => return locked,
            None if told.asking => return false,
            Some(_) | None => told.asking = true,
        }
    }
    let (answer, answered) = mpsc::channel();
    let asked = std::thread::Builder::new().name("lock-state".to_owned()).spawn(move || {
        let locked = on_bus(std::env::var_os("DBUS_SESSION_BUS_ADDRESS").as_deref()) || by_login();
        let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        *told = Told { last: Some((Instant::now(), locked)), asking: false };
        let _ = answer.send(locked);
    });
    if asked.is_err() {
        TOLD.lock().unwrap_or_else(PoisonError::into_inner).asking = false;
        return false;
    }
    answered.recv_timeout(LIMIT).unwrap_or_else(|_| {
        let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
        told.last.is_some_and(|(_, locked)| locked)
    })
}

/// Asks those on a session bus who lock the screen. Starts none of them: who does not run locks nothing.
pub(super) fn on_bus(address: Option<&OsStr>) -> bool {
    let bus = address.and_then(OsStr::to_str).filter(|address| !address.is_empty());
    let bus = bus.and_then(|address| Builder::address(address).ok()?.method_timeout(LIMIT).build().ok());
    let Some(bus) = bus else { return false };
    LOCKERS.iter().any(|locker| says_active(&bus, locker).unwrap_or(false))
}

fn says_active(bus: &Connection, (name, path, interface): &(&'static str, &str, &str)) -> zbus::Result<bool> {
    if !DBusProxy::new(bus)?.name_has_owner(BusName::try_from(*name)?)? {
        return Ok(false);
    }
    bus.call_method(Some(*name), *path, Some(*interface), "GetActive", &())?.body().deserialize()
}

fn by_login() -> bool {
    let told = || -> zbus::Result<bool> {
        let bus = Builder::system()?.method_timeout(LIMIT).build()?;
        let asked = ("org.freedesktop.login1.Session", "LockedHint");
        let answer =
            bus.call_method(Some(LOGIN), OWN_SESSION, Some("org.freedesktop.DBus.Properties"), "Get", &asked)?;
        let value: zbus::zvariant::OwnedValue = answer.body().deserialize()?;
        Ok(bool::try_from(value).unwrap_or(false))
    };
    told().unwrap_or(false)
}

/// Asks the X server. A dark screen does not count.
fn saver_now(seat: &Seat) -> bool {
    if seat.kind != SeatKind::X11 {
        return false;
    }
    let Ok((connection, number)) = x11::connect(seat, Some(LIMIT)) else { return false };
    let told = || {
        let root = x11rb::connection::Connection::setup(&connection).roots.get(number)?.root;
        screensaver::query_info(&connection, root).ok()?.reply().ok()
    };
    told().is_some_and(|info| info.state == u8::from(State::ON) && info.kind == Kind::EXTERNAL)
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
