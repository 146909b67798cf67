//! Tells when devices come and go, at no cost while nothing does.
//!
//! Linux: the kernel tells of changes beneath `/dev`, also in a container. Elsewhere, and where the kernel's watches are used up,
//! a look every few seconds. Which devices there are now is not told here: whoever wants to know looks.

#[cfg(target_os = "linux")]
mod told;

use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Stop, gpio, serial, usb};

/// How often to look where nothing tells.
const LOOK: Duration = Duration::from_secs(4);

/// Watches until it is dropped, which ends its thread.
#[derive(Debug)]
pub struct Watch {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// What the thread does.
type Work = Box<dyn FnOnce(&Stop, &dyn Fn()) + Send>;

impl Watch {
    /// Begins to watch. `paths` are ports that the person named, which may lie anywhere. `changed` is called from a thread of its own
    /// after something may have come or gone; it must not drop this.
    ///
    /// # Errors
    /// The system has no more handles or threads.
    pub fn start(paths: &[PathBuf], changed: Box<dyn Fn() + Send>) -> io::Result<Self> {
        Self::run(watcher(Path::new("/dev"), paths), changed)
    }

    fn run(work: Work, changed: Box<dyn Fn() + Send>) -> io::Result<Self> {
        let stop = Stop::new()?;
        let ends = stop.clone();
        let thread =
            std::thread::Builder::new().name("device-watch".to_owned()).spawn(move || work(&ends, &*changed))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.say();
        // A watcher that failed has nothing more to say.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(target_os = "linux")]
fn watcher(dev: &Path, paths: &[PathBuf]) -> Work {
    match told::Changes::beneath(dev, paths) {
        Ok(mut changes) => Box::new(move |stop, changed| changes.tell(stop, changed)),
        Err(error) => {
            tracing::info!(%error, "the system tells nothing of devices that come and go: looking every few seconds");
            looker(paths.to_vec())
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn watcher(_: &Path, paths: &[PathBuf]) -> Work {
    looker(paths.to_vec())
}

fn looker(paths: Vec<PathBuf>) -> Work {
    Box::new(move |stop, changed| {
        let mut before = looks(&paths);
        while !stop.wait(LOOK) {
            let now = looks(&paths);
            if now != before {
                before = now;
                changed();
            }
        }
    })
}

/// What is there, in a form that can be compared.
fn looks(paths: &[PathBuf]) -> String {
    let there: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
    let found = (serial::of_system().list(&[]), usb::of_system().list(), gpio::of_system().list());
    format!("{there:?} {found:?}")
}

#[cfg(test)]
#[path = "watch/watch_tests.rs"]
mod tests;
