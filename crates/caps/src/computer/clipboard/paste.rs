//! Pasting: a long text goes through the clipboard into the window with the keyboard (spec 10.4).
//!
//! Nothing here waits a fixed time for the window: the seat tells when it has read the text. Only then does the clipboard get back
//! what it held, all formats or none, and only while it still holds our text. Terminals paste with another chord; the caller
//! chooses it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drawbridge_core::OpError;
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::clipboard::{Clipboard, Kept, PutBack, Reader};

use super::own::Wrote;
use super::{WRITE, fits, guard, switched_on, told};
use crate::computer::{Inner, Job};

/// The most that is kept of what the clipboard held before, in bytes over all formats.
const MAX_KEPT: u64 = 64 * 1024 * 1024;
/// How long the window may take until it begins to read.
const BEGIN_LIMIT: Duration = Duration::from_secs(1);
/// How long it may take in all.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How long one look at the window takes at most before the operation's end is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Some programs read a second time right after the first.
const GRACE: Duration = Duration::from_millis(50);

/// Pastes a text into the window with the keyboard. Puts back what was in the clipboard before, if wanted and if nobody else has
/// changed it meanwhile. `chord` presses the paste chord. When it cannot be put back later, nothing is pasted.
pub(in super::super) fn paste(
    inner: &Inner,
    text: &str,
    preserve: bool,
    job: &Job,
    chord: &mut dyn FnMut() -> Result<(), OpError>,
) -> Result<(), OpError> {
    switched_on(job, WRITE)?;
    fits(text, job)?;
    guard::unlocked(inner, WRITE)?;
    job.go_on()?;
    let clipboard = inner.seats.clipboard().map_err(|fault| told(inner, WRITE, job, fault))?;
    let before = if preserve { Some(Before::take(inner, job, &clipboard)?) } else { None };
    job.go_on()?;
    let counter = clipboard.write_text(text).map_err(|fault| told(inner, WRITE, job, fault))?;
    inner.own_text.wrote(job.session.as_ref(), text, counter, inner.clock.now());
    // From here on the clipboard is put back whatever comes.
    let pasted = press(inner, &*clipboard, job, chord);
    let restored = before.map_or(Ok(()), |before| before.put_back(inner, text, job));
    pasted.and(restored)
}

/// What was in the clipboard before.
struct Before {
    clipboard: Arc<dyn Clipboard>,
    kept: Kept,
    wrote: Option<Wrote>,
}

impl Before {
    fn take(inner: &Inner, job: &Job, clipboard: &Arc<dyn Clipboard>) -> Result<Self, OpError> {
        let kept = clipboard.keep(MAX_KEPT).map_err(|fault| {
            if matches!(fault, SeatFault::NoDisplay(_)) {
                return told(inner, WRITE, job, fault);
            }
            unsupported(format!(
                "what the clipboard holds now cannot be put back afterwards ({fault}), so nothing was pasted; type the text, or paste \
                 without preserve_clipboard"
            ))
        })?;
        Ok(Self { clipboard: clipboard.clone(), kept, wrote: inner.own_text.last() })
    }

    fn put_back(self, inner: &Inner, text: &str, job: &Job) -> Result<(), OpError> {
        let mut done = self.clipboard.put_back(&self.kept, None);
        if done == Ok(PutBack::Changed)
            && let Some(seen) = self.taken_over(text)
        {
            done = self.clipboard.put_back(&self.kept, Some(seen));
        }
        match done {
            Ok(PutBack::Done { counter }) if self.kept.ours => inner.own_text.put_back(self.wrote, counter),
            Ok(PutBack::Done { .. }) => inner.own_text.set(self.wrote),
            // What the person copied meanwhile is worth more than what was there before.
            Ok(PutBack::Changed) => {}
            Err(fault @ SeatFault::NoDisplay(_)) => return Err(told(inner, WRITE, job, fault)),
            Err(fault) => {
                return Err(unsupported(format!(
                    "the text was pasted, but the clipboard could not get back what it held before ({fault})"
                )));
            }
        }
        Ok(())
    }

    /// Returns the count of changes at which another program holds exactly our text: some editors take over what is pasted into
    /// them, and nobody has copied anything then.
    fn taken_over(&self, text: &str) -> Option<u64> {
        let found = self.clipboard.read_text(u64::try_from(text.len()).ok()?).ok()?;
        found.look.counter.filter(|_| found.text.as_deref() == Some(text))
    }
}

/// Presses the chord and returns once the window has taken the text.
fn press(
    inner: &Inner,
    clipboard: &dyn Clipboard,
    job: &Job,
    chord: &mut dyn FnMut() -> Result<(), OpError>,
) -> Result<(), OpError> {
    clipboard.expect_reader().map_err(|fault| told(inner, WRITE, job, fault))?;
    chord()?;
    let began = Instant::now();
    loop {
        let reader = clipboard.await_reader(LOOK_EVERY).map_err(|fault| told(inner, WRITE, job, fault))?;
        job.go_on()?;
        let waited = began.elapsed();
        match reader {
            Reader::Target => {
                std::thread::sleep(GRACE);
                return Ok(());
            }
            // Some programs let another one read for them; who it was cannot be told.
            Reader::Another | Reader::Unknown if waited >= BEGIN_LIMIT => return Ok(()),
            Reader::Nobody if waited >= BEGIN_LIMIT => {
                return Err(unsupported(
                    "the window with the keyboard did not take the text from the clipboard".to_owned(),
                ));
            }
            Reader::Reading if waited >= READ_LIMIT => {
                return Err(unsupported("the window with the keyboard did not take the text to its end".to_owned()));
            }
            Reader::Another | Reader::Unknown | Reader::Nobody | Reader::Reading => {}
        }
    }
}

fn unsupported(why: String) -> OpError {
    OpError::Unsupported { feature: "input.paste".to_owned(), why }
}
