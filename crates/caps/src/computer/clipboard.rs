//! CLIPBOARD_READ, CLIPBOARD_WRITE and pasting (spec 10.4, 10.8).

use drawbridge_core::{OpError, Outcome};

use super::{Inner, Job};

/// What the agent put into the clipboard last, told from others without keeping it.
#[derive(Debug, Default)]
pub(super) struct OwnText {}

pub(super) fn read(inner: &Inner, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, job);
    Err(OpError::Unsupported { feature: "clipboard.read".to_owned(), why: "this version cannot do it".to_owned() })
}

pub(super) fn write(inner: &Inner, text: &str, job: &Job) -> Result<Outcome, OpError> {
    let _ = (inner, text, job);
    Err(OpError::Unsupported { feature: "clipboard.write".to_owned(), why: "this version cannot do it".to_owned() })
}

/// Pastes a text into the window with the keyboard. Puts back what was in the clipboard before, if wanted and if nobody else has
/// changed it meanwhile. `chord` presses the paste chord.
pub(super) fn paste(
    inner: &Inner,
    text: &str,
    preserve: bool,
    job: &Job,
    chord: &mut dyn FnMut() -> Result<(), OpError>,
) -> Result<(), OpError> {
    let _ = (inner, text, preserve, job, chord);
    Err(OpError::Unsupported { feature: "clipboard.write".to_owned(), why: "this version cannot do it".to_owned() })
}
