//! CLIPBOARD_READ, CLIPBOARD_WRITE and pasting (spec 10.4, 10.8).
//!
//! What the agent wrote is told from what others put there by three facts: the seat says whose it is, the count of changes, and a
//! digest of the text. The text itself is not kept. A mark for secrets comes first whoever holds the clipboard, except on a text
//! of ours: our own writes carry the mark of the system to stay out of clipboard histories, and that mark says nothing about them.

mod own;
mod paste;

use drawbridge_core::computer::ClipboardReason;
use drawbridge_core::{OpError, Outcome};
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::clipboard::{Found, Look};

pub(super) use own::OwnText;
pub(super) use paste::paste;

use super::faults::met;
use super::{ClipboardRule, Inner, Job, guard};

const READ: &str = "clipboard.read";
const WRITE: &str = "clipboard.write";

/// Reads the text, as far as the person's rule lets the agent.
pub(super) fn read(inner: &Inner, job: &Job) -> Result<Outcome, OpError> {
    switched_on(job, READ)?;
    guard::unlocked(inner, READ)?;
    let clipboard = inner.seats.clipboard().map_err(|fault| told(inner, READ, job, fault))?;
    // First without its content, so that what may not be read is not even asked for.
    let look = clipboard.look().map_err(|fault| told(inner, READ, job, fault))?;
    may_read(inner, job, &look)?;
    job.go_on()?;
    if !look.has_text {
        return Err(no_text(&look));
    }
    let found = clipboard.read_text(job.max_bytes).map_err(|fault| told(inner, READ, job, fault))?;
    // It may be another one by now.
    may_read(inner, job, &found.look)?;
    let Found { look, text } = found;
    let text = text.ok_or_else(|| no_text(&look))?;
    if job.rules.clipboard == ClipboardRule::OwnText {
        inner.own_text.same(job.session.as_ref(), &text, inner.clock.now())?;
    }
    job.go_on()?;
    Ok(Outcome::Clipboard(text))
}

/// Writes a text. It is there when this returns.
pub(super) fn write(inner: &Inner, text: &str, job: &Job) -> Result<Outcome, OpError> {
    switched_on(job, WRITE)?;
    fits(text, job)?;
    guard::unlocked(inner, WRITE)?;
    job.go_on()?;
    let clipboard = inner.seats.clipboard().map_err(|fault| told(inner, WRITE, job, fault))?;
    let counter = clipboard.write_text(text).map_err(|fault| told(inner, WRITE, job, fault))?;
    inner.own_text.wrote(job.session.as_ref(), text, counter, inner.clock.now());
    Ok(Outcome::ClipboardWritten { size_bytes: text.len() as u64 })
}

fn switched_on(job: &Job, feature: &str) -> Result<(), OpError> {
    match job.rules.clipboard {
        ClipboardRule::OwnText | ClipboardRule::Foreign => Ok(()),
        ClipboardRule::Off => Err(OpError::Unsupported {
            feature: feature.to_owned(),
            why: "the clipboard is switched off on this computer; only the person there can switch it on".to_owned(),
        }),
    }
}

fn fits(text: &str, job: &Job) -> Result<(), OpError> {
    let attempted_bytes = text.len() as u64;
    if attempted_bytes > job.max_bytes {
        return Err(OpError::TooLarge { what: "the text", max_bytes: job.max_bytes, attempted_bytes });
    }
    Ok(())
}

/// Decides by what the clipboard says about itself: marks first, then whose it is.
fn may_read(inner: &Inner, job: &Job, look: &Look) -> Result<(), OpError> {
    if let Some(marker) = look.concealed {
        return Err(OpError::ClipboardConcealed { reason: ClipboardReason::ConcealedType { marker } });
    }
    match job.rules.clipboard {
        ClipboardRule::Foreign => Ok(()),
        ClipboardRule::OwnText => inner.own_text.unchanged(job.session.as_ref(), look, inner.clock.now()),
        ClipboardRule::Off => switched_on(job, READ),
    }
}

fn no_text(look: &Look) -> OpError {
    let why = if look.formats.is_empty() {
        "the clipboard is empty"
    } else {
        "the clipboard holds no text (an image, files or something else), and only text can be read"
    };
    OpError::Unsupported { feature: READ.to_owned(), why: why.to_owned() }
}

/// Turns a fault of the seat into the error for the peer.
fn told(inner: &Inner, feature: &str, job: &Job, fault: SeatFault) -> OpError {
    let why = match fault {
        SeatFault::TooLarge(attempted_bytes) => {
            return OpError::TooLarge { what: "the clipboard's text", max_bytes: job.max_bytes, attempted_bytes };
        }
        SeatFault::Gone => "the program that held the clipboard went away in the middle".to_owned(),
        SeatFault::NoAnswer(who) => {
            format!("{who} did not answer in time; try again, or ask the person to copy it again")
        }
        SeatFault::NoDisplay(_) => {
            inner.seats.forget_clipboard();
            return met(&inner.seats, feature, fault);
        }
        SeatFault::Unsupported(_) | SeatFault::Permission { .. } | SeatFault::Other(_) => {
            return met(&inner.seats, feature, fault);
        }
    };
    OpError::Unsupported { feature: feature.to_owned(), why }
}

#[cfg(test)]
#[path = "clipboard/clipboard_tests.rs"]
mod tests;
