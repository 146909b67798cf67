//! A port and what is behind it: a joined pair of pseudo-terminals whose far end the test reads and writes.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tempfile::TempDir;

use crate::serial::Line;

/// Bytes come at once; a machine that is busy with other tests may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pair. Unplugged when it is dropped.
#[derive(Debug)]
pub struct PtyPair {
    folder: TempDir,
    line: Line,
    far: File,
    came: Receiver<u8>,
}

impl PtyPair {
    /// Makes a pair in a folder of its own.
    ///
    /// # Errors
    /// What the system says, or `socat` is not there.
    pub fn start() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let line = Line::between(folder.path())?;
        let (far, came) = listen(&line)?;
        Ok(Self { folder, line, far, came })
    }

    /// The path of the port.
    #[must_use]
    pub fn port(&self) -> &Path {
        self.line.near()
    }

    /// Sends bytes to the port.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.far.write_all(bytes)
    }

    /// Takes so many bytes that were written to the port.
    ///
    /// # Errors
    /// They do not come.
    pub fn receive(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let next = || self.came.recv_timeout(PATIENCE).map_err(io::Error::other);
        (0..count).map(|_| next()).collect()
    }

    /// Pulls the plug: nothing is at the path any more.
    ///
    /// # Errors
    /// What the system says.
    pub fn unplug(&mut self) -> io::Result<()> {
        self.line.unplug();
        for end in [self.line.near(), self.line.far()] {
            match std::fs::remove_file(end) {
                Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
                _ => {}
            }
        }
        Ok(())
    }

    /// Kills what serves it: the link stays behind and leads to nothing.
    pub fn kill(&mut self) {
        self.line.unplug();
    }

    /// Plugs it in again, at the same path.
    ///
    /// # Errors
    /// What the system says, or `socat` is not there.
    pub fn plug_in(&mut self) -> io::Result<()> {
        self.line = Line::between(self.folder.path())?;
        (self.far, self.came) = listen(&self.line)?;
        Ok(())
    }
}

/// Reads the far end in a thread, which ends with the pair.
fn listen(line: &Line) -> io::Result<(File, Receiver<u8>)> {
    let far = File::options().read(true).write(true).open(line.far())?;
    let mut reader = far.try_clone()?;
    let (say, came) = mpsc::channel();
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(count) = reader.read(&mut part) {
            let heard = part.iter().take(count).all(|byte| say.send(*byte).is_ok());
            if count == 0 || !heard {
                return;
            }
        }
    });
    Ok((far, came))
}
