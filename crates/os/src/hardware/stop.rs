//! Ending what waits for a device, from another thread.

use std::io::{self, PipeReader, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Said once, it holds for good. Cheap to clone: all clones are one.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    said: AtomicBool,
    /// Readable once it is said, so that a wait for a device can wait for this as well.
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
        Ok(Self(Arc::new(Inner { said: AtomicBool::new(false), reader, writer })))
    }

    /// Says it: what waits ends at once, and what begins later does not begin.
    pub fn say(&self) {
        if !self.0.said.swap(true, Ordering::SeqCst) {
            // One byte always fits into an empty pipe. It stays there: whoever waits is to see it.
            let _ = io::Write::write(&mut &self.0.writer, b"x");
        }
    }

    /// Tells whether it was said.
    #[must_use]
    pub fn is_said(&self) -> bool {
        self.0.said.load(Ordering::SeqCst)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Stop {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.reader.as_fd()
    }
}
