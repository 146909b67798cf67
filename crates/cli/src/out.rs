//! Everything that is printed goes through here, unbuffered and without a panic when the reader has gone.

use std::io::{self, Write as _};

/// Whoever read standard output has seen enough. The program then ends without a word, as a program in a pipe does.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the output any more")]
struct ReaderGone;

/// Prints one line on standard output at once.
///
/// # Errors
/// What the system says, for example when the reader has gone.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut line = Vec::with_capacity(text.len() + 1);
    line.extend_from_slice(text.as_bytes());
    line.push(b'\n');
    bytes(&line)
}

/// Prints bytes as they are on standard output at once.
///
/// # Errors
/// What the system says, for example when the reader has gone.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|fault| {
        let unread = fault.kind() == io::ErrorKind::BrokenPipe;
        if unread { io::Error::new(fault.kind(), ReaderGone) } else { fault }
    })
}

/// Tells whether this error is that nobody reads standard output any more, and not that some other pipe broke.
pub(crate) fn is_unread(error: &anyhow::Error) -> bool {
    let fault = error.downcast_ref::<io::Error>();
    fault.and_then(io::Error::get_ref).is_some_and(<dyn std::error::Error + Send + Sync>::is::<ReaderGone>)
}

/// Says on standard error what went wrong.
pub(crate) fn complain(text: &str) {
    // With standard error gone there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "drawbridge: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unread_output_ends_without_a_word() {
        let unread = io::Error::new(io::ErrorKind::BrokenPipe, ReaderGone);
        assert!(is_unread(&unread.into()));
        assert!(!is_unread(&io::Error::from(io::ErrorKind::BrokenPipe).into()));
        assert!(!is_unread(&anyhow::anyhow!("Broken pipe")));
    }
}
