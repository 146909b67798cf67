//! The output budget over both streams (spec 9.5). Pure: bytes in, texts out.

/// The end of `stderr` when something was left out. Counts towards the budget.
pub(super) const MARKER: &[u8] = b"\n[command output truncated]\n";

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// What a command wrote, up to the budget, in order of arrival.
#[derive(Debug)]
pub(super) struct Output {
    budget: usize,
    out: Vec<u8>,
    err: Vec<u8>,
    out_cut: bool,
    err_cut: bool,
}

/// The two texts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) truncated: bool,
}

impl Output {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, out: Vec::new(), err: Vec::new(), out_cut: false, err_cut: false }
    }

    /// Takes bytes; what is over the budget is dropped.
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let room = self.budget.saturating_sub(self.out.len() + self.err.len());
        // Once something was dropped, nothing after it may be kept: it would look as if it followed directly.
        let full = self.out_cut || self.err_cut;
        let taken = if full { &[] } else { bytes.get(..room).unwrap_or(bytes) };
        let (kept, cut) = match stream {
            Stream::Out => (&mut self.out, &mut self.out_cut),
            Stream::Err => (&mut self.err, &mut self.err_cut),
        };
        kept.extend_from_slice(taken);
        *cut |= taken.len() < bytes.len();
    }

    /// Makes the texts.
    pub(super) fn finish(mut self) -> Texts {
        let truncated = self.out_cut || self.err_cut;
        if truncated {
            let marker = MARKER.get(..self.budget).unwrap_or(MARKER);
            let room = self.budget - marker.len();
            let over = (self.out.len() + self.err.len()).saturating_sub(room);
            let from_out = over.min(self.out.len());
            self.out.truncate(self.out.len() - from_out);
            self.err.truncate(self.err.len() - (over - from_out));
            if self.out_cut || from_out > 0 {
                drop_broken_end(&mut self.out);
            }
            if self.err_cut || over > from_out {
                drop_broken_end(&mut self.err);
            }
            self.err.extend_from_slice(marker);
        }
        Texts { out: text(self.out), err: text(self.err), truncated }
    }
}

/// Drops the beginning of a character at the end. Bytes that are no text in any case stay and are replaced later.
fn drop_broken_end(bytes: &mut Vec<u8>) {
    let look = bytes.len().saturating_sub(4);
    let tail = bytes.get(look..).unwrap_or_default();
    let start = tail.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000);
    if let Some(start) = start
        && let Err(fault) = std::str::from_utf8(tail.get(start..).unwrap_or_default())
        && fault.error_len().is_none()
    {
        bytes.truncate(look + start);
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|fault| String::from_utf8_lossy(fault.as_bytes()).into_owned())
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
