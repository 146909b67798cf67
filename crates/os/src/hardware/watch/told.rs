//! Changes beneath `/dev`, as the kernel tells them of every folder concerned.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::hardware::Stop;

/// Plugging in one device makes many changes: this long without one, and it is told. Permissions come a moment after the device.
const QUIET: Duration = Duration::from_millis(200);
/// Told at the latest so long after the first change.
const LATEST: Duration = Duration::from_secs(2);
/// Links that are followed from a path; the kernel follows more, and nobody has so many.
const MOST_LINKS: usize = 8;
/// What devices are called, and the folders that hold some.
const DEVICES: [&str; 5] = ["tty", "rfcomm", "gpiochip", "bus", "serial"];

/// Which names in a folder count.
#[derive(Default)]
struct Names {
    all: bool,
    devices: bool,
    these: BTreeSet<OsString>,
}

impl Names {
    fn count(&self, name: &OsStr) -> bool {
        self.all
            || self.these.contains(name)
            || (self.devices && DEVICES.iter().any(|begin| name.as_bytes().starts_with(begin.as_bytes())))
    }
}

/// Changes beneath a folder.
pub(super) struct Changes {
    told: OwnedFd,
    dev: PathBuf,
    paths: Vec<PathBuf>,
    watched: BTreeMap<i32, Names>,
}

impl Changes {
    pub(super) fn beneath(dev: &Path, paths: &[PathBuf]) -> io::Result<Self> {
        let told = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut changes = Self { told, dev: dev.to_owned(), paths: paths.to_vec(), watched: BTreeMap::new() };
        changes.watch()?;
        Ok(changes)
    }

    /// Watches the folders that are there now. A folder that is watched already stays so.
    fn watch(&mut self) -> io::Result<()> {
        self.watched.clear();
        let dev = self.dev.clone();
        self.add(&dev)?.devices = true;
        // Each folder before what is in it is looked at: what comes in between is told.
        let usb = dev.join("bus/usb");
        for folder in [dev.join("bus"), usb.clone()] {
            self.add_all(&folder);
        }
        for bus in std::fs::read_dir(&usb).into_iter().flatten().flatten() {
            self.add_all(&bus.path());
        }
        for path in self.paths.clone() {
            self.watch_links(&path);
        }
        Ok(())
    }

    /// Watches a folder for every name. One that is not there comes with a change of the one above it.
    fn add_all(&mut self, folder: &Path) {
        if let Ok(names) = self.add(folder) {
            names.all = true;
        }
    }

    /// Watches a path and what it leads to: a link stays behind when the program that serves a pseudo-terminal is killed.
    fn watch_links(&mut self, path: &Path) {
        let mut at = path.to_owned();
        for _ in 0..MOST_LINKS {
            self.watch_path(&at);
            let (Ok(leads_to), Some(folder)) = (std::fs::read_link(&at), at.parent()) else { return };
            at = folder.join(leads_to);
        }
    }

    /// Watches the nearest folder above a path that is there, for the name that leads on to it.
    fn watch_path(&mut self, path: &Path) {
        let mut below = path;
        while let (Some(folder), Some(name)) = (below.parent(), below.file_name()) {
            if let Ok(names) = self.add(folder) {
                names.these.insert(name.to_owned());
                return;
            }
            below = folder;
        }
    }

    fn add(&mut self, folder: &Path) -> io::Result<&mut Names> {
        let changes = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ATTRIB;
        let number = inotify::add_watch(&self.told, folder, changes | WatchFlags::ONLYDIR)?;
        Ok(self.watched.entry(number).or_default())
    }

    /// Calls `changed` after changes, until it is stopped.
    pub(super) fn tell(&mut self, stop: &Stop, changed: &dyn Fn()) {
        while self.wait(stop, None) {
            if !self.take() {
                continue;
            }
            let latest = Instant::now() + LATEST;
            while Instant::now() < latest && self.wait(stop, Some(QUIET)) {
                self.take();
            }
            if stop.is_said() {
                return;
            }
            if let Err(error) = self.watch() {
                tracing::info!(%error, "devices that come and go are not told any more");
                return;
            }
            changed();
        }
    }

    /// Waits for changes. False: stopped, or none came in time.
    fn wait(&self, stop: &Stop, at_most: Option<Duration>) -> bool {
        let at_most = at_most.and_then(|wait| Timespec::try_from(wait).ok());
        loop {
            let mut wanted = [PollFd::new(&self.told, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut wanted, at_most.as_ref()) {
                Err(Errno::INTR) => {}
                Err(_) | Ok(0) => return false,
                Ok(_) => return !stop.is_said(),
            }
        }
    }

    /// Takes the changes that are there, and tells whether one counts.
    fn take(&self) -> bool {
        let mut buffer = [const { MaybeUninit::uninit() }; 4096];
        let mut changes = inotify::Reader::new(&self.told, &mut buffer);
        let mut counts = false;
        while let Ok(change) = changes.next() {
            let name = change.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            counts |= match (self.watched.get(&change.wd()), name) {
                (Some(names), Some(name)) => names.count(name),
                // Too many at once to tell which, or a folder itself.
                (None, _) | (Some(_), None) => change.events().contains(ReadFlags::QUEUE_OVERFLOW),
            };
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_does_not_count() {
        let devices = Names { devices: true, these: ["port".into()].into(), ..Names::default() };
        for name in ["ttyUSB0", "ttyACM1", "rfcomm0", "gpiochip2", "bus", "serial", "port"] {
            assert!(devices.count(OsStr::new(name)), "{name}");
        }
        for name in ["sda1", "loop7", "dm-0", "input", "port2"] {
            assert!(!devices.count(OsStr::new(name)), "{name}");
        }
        assert!(Names { all: true, ..Names::default() }.count(OsStr::new("007")));
        assert!(!Names::default().count(OsStr::new("ttyUSB0")));
    }
}
