//! Everything that is printed goes through here, unbuffered and without a panic when the reader has gone.

use std::io::{self, Write as _};

/// Prints one line on standard output at once.
///
/// # Errors
/// What the system says, for example when the reader has gone.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Says on standard error what went wrong.
pub(crate) fn complain(text: &str) {
    // With standard error gone there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "drawbridge: {text}");
}
