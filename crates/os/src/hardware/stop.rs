//! Ending what waits for a device, from another thread.

use std::io::{self, PipeReader, PipeWriter};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Said once, it holds for good. Cheap to clone: all clones are one.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    said: Mutex<bool>,
    saying: Condvar,
    /// Readable once it is said, so that a wait for a device can wait for this as well.
    #[cfg_attr(not(unix), expect(dead_code, reason = "waited for by what waits for handles"))]
    reader: PipeReader,
    writer: PipeWriter,
}

impl Stop {
    /// Makes one that is not said.
    ///
    /// # Errors
    /// The system has no more handles.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self(Arc::new(Inner { said: Mutex::new(false), saying: Condvar::new(), reader, writer })))
    }

    /// Says it: what waits ends at once, and what begins later does not begin.
    pub fn say(&self) {
        let mut said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
        if !*said {
            *said = true;
            self.0.saying.notify_all();
            // One byte always fits into an empty pipe. It stays there: whoever waits is to see it.
            let _ = io::Write::write(&mut &self.0.writer, b"x");
        }
    }

    /// Tells whether it was said.
    #[must_use]
    pub fn is_said(&self) -> bool {
        *self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is said, at most so long, and tells whether it was.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.saying.wait_timeout_while(said, at_most, |said| !*said);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Stop {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.reader.as_fd()
    }
}
