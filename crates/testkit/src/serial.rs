//! Serial lines for the tests: two pseudo-terminals that `socat` joins, with a path at both ends.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Two joined terminals. Gone with this.
#[derive(Debug)]
pub struct Line {
    socat: Child,
    near: PathBuf,
    far: PathBuf,
    /// Kept open: it says more there.
    told: BufReader<ChildStderr>,
}

impl Line {
    /// Joins two terminals, `near` and `far` in this folder, and returns when bytes go through.
    ///
    /// # Errors
    /// `socat` is missing or does not begin.
    pub fn between(folder: &Path) -> io::Result<Self> {
        let (near, far) = (folder.join("near"), folder.join("far"));
        let end = |path: &Path| format!("pty,raw,echo=0,link={}", path.display());
        let mut socat = Command::new("socat")
            .args(["-d", "-d", &end(&near), &end(&far)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let told = BufReader::new(socat.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let mut line = Self { socat, near, far, told };
        let mut said = String::new();
        while !said.ends_with("]\n") || !said.contains("starting data transfer loop") {
            if line.told.read_line(&mut said)? == 0 {
                return Err(io::Error::other(format!("socat ended before it began: {said}")));
            }
        }
        Ok(line)
    }

    /// The path of one end.
    #[must_use]
    pub fn near(&self) -> &Path {
        &self.near
    }

    /// The path of the other end.
    #[must_use]
    pub fn far(&self) -> &Path {
        &self.far
    }

    /// Pulls the plug: both ends are gone when this returns.
    pub fn unplug(&mut self) {
        // It has ended already, which is as good.
        let _ = self.socat.kill();
        let _ = self.socat.wait();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.unplug();
    }
}
