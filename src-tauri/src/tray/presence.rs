//! Tells whether this desktop shows tray icons at all: an icon that nobody draws is no sign of a running program.

use std::sync::mpsc;
use std::time::Duration;

/// Who draws tray icons registers this name on the session bus.
#[cfg(not(any(windows, target_vendor = "apple")))]
const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// A bus that does not answer by then is as good as none.
#[cfg(not(any(windows, target_vendor = "apple")))]
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Tells whether somebody draws our icon now.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(crate) fn is_shown() -> bool {
    let (tell, answer) = mpsc::channel();
    // On a thread of its own, since a stuck bus must not keep the window from opening.
    std::thread::spawn(move || {
        let _ = tell.send(watcher_is_there().unwrap_or(false));
    });
    answer.recv_timeout(ANSWER_WITHIN).unwrap_or(false)
}

/// Tells whether somebody draws our icon now: the system itself does.
#[cfg(any(windows, target_vendor = "apple"))]
pub(crate) const fn is_shown() -> bool {
    true
}

#[cfg(not(any(windows, target_vendor = "apple")))]
fn watcher_is_there() -> zbus::Result<bool> {
    let bus = zbus::blocking::Connection::session()?;
    let names = zbus::blocking::fdo::DBusProxy::new(&bus)?;
    Ok(names.name_has_owner(WATCHER.try_into()?)?)
}
