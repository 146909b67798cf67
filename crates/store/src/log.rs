//! The program's own log: on standard error, and in `drawbridge.log` of the folder for logs. The audit log is another thing
//! ([`crate::audit`]): that one tells what agents did, this one what the program went through.
//!
//! Contents, typed text, environment values and tokens are never logged (invariant 6). What stands here is the net beneath:
//! every line is made one line, cut when it is long, and cleared of what looks like a secret before anybody sees it; what other
//! libraries say is let through from `info` on alone, since some of them log whole messages; and a fault of the program is
//! told by its place, not by its message, which may quote contents.
//!
//! A log that cannot be written stops nothing: it is said once, and the latest lines wait in memory.

mod filter;
mod keeper;
mod panics;
mod redact;

use std::cell::Cell;
use std::io::{self, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use drawbridge_core::{escape_outside_text, shorten_middle};
use drawbridge_os::private::{self, Links};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use keeper::Keeper;
use redact::Redactor;

/// Name of the newest file; older ones have `.1` to `.4` behind it.
pub const FILE: &str = "drawbridge.log";
/// Says how much is logged (`cli.md`).
const WANTED: &str = "DRAWBRIDGE_LOG";
/// A longer line is cut in its middle.
const LONGEST_LINE: usize = 4096;
/// So much of a file is read to find its last lines.
const TAIL_BYTES: u64 = 256 * 1024;
/// Where the level stands in a line, after the time.
const LEVEL: std::ops::Range<usize> = 28..33;

static KEEPER: Mutex<Keeper> = Mutex::new(Keeper::new());
static REDACTOR: OnceLock<Redactor> = OnceLock::new();

thread_local! {
    /// This thread is writing a line. What it logs meanwhile must not wait for itself.
    static WRITING: Cell<bool> = const { Cell::new(false) };
}

/// Begins to log on standard error, as `DRAWBRIDGE_LOG` says. Lines for the file wait until [`keep_in`]. Once for each process;
/// returns what is wrong with the variable, in words, if something is.
#[must_use]
pub fn start() -> Option<String> {
    let wanted = std::env::var(WANTED).ok().filter(|text| !text.is_empty());
    let (filter, problem) = filter::of(wanted.as_deref());
    let lines = Lines { colours: io::stderr().is_terminal() };
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(lines);
    // A log that is there already stays; that is so in tests alone.
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
    panics::tell_without_their_messages();
    problem.map(|problem| format!("{WANTED} is not usable ({problem}); info is logged"))
}

/// Names the folder of the file. The file is written as soon as the folder is there and no other Drawbridge writes it.
pub fn keep_in(folder: &Path) {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    keeper.keep_in(folder.to_owned());
}

/// Clears a text of what looks like a secret and writes the home folder as `~`. A net, and no licence to log such things.
#[must_use]
pub fn redacted(text: &str) -> String {
    REDACTOR.get_or_init(Redactor::of_process).clear(text)
}

/// Returns the last lines of the log in this folder, oldest first; none where there is no log.
///
/// # Errors
/// When it is there and cannot be read.
pub fn last_lines(folder: &Path, count: usize) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for path in [older(folder, 1), folder.join(FILE)] {
        match tail(&path) {
            Ok(text) => lines.extend(text.lines().map(ToOwned::to_owned)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lines.split_off(lines.len().saturating_sub(count)))
}

fn older(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{FILE}.{number}"))
}

fn tail(path: &Path) -> io::Result<String> {
    let mut file = private::open_regular(path, std::fs::File::options().read(true), Links::Refused)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line is torn when the reading began in its middle.
    Ok(if start > 0 { text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default() } else { text })
}

/// Takes one event at a time.
#[derive(Debug, Clone, Copy)]
struct Lines {
    colours: bool,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl io::Write for Lines {
    /// The layer above gives each event whole.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let text = escape_outside_text(text.trim_end_matches('\n'));
        let line = shorten_middle(&redacted(&text), LONGEST_LINE);
        self.show(&line);
        if !WRITING.replace(true) {
            KEEPER.lock().unwrap_or_else(PoisonError::into_inner).write(&line);
            WRITING.set(false);
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn show(self, line: &str) {
        let colour = match line.get(LEVEL).map(str::trim) {
            Some("ERROR") => "31",
            Some("WARN") => "33",
            Some("INFO") => "32",
            _ => "2",
        };
        let mut out = io::stderr().lock();
        // With standard error gone there is nobody to tell.
        let _ = match (self.colours, line.get(..LEVEL.start), line.get(LEVEL), line.get(LEVEL.end..)) {
            (true, Some(time), Some(level), Some(rest)) => {
                writeln!(out, "\x1b[2m{time}\x1b[0m\x1b[{colour}m{level}\x1b[0m{rest}")
            }
            _ => writeln!(out, "{line}"),
        };
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
