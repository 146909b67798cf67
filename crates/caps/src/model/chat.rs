//! One answer from its first byte to its last: lines are put together, understood, kept within bounds and handed on.

use std::time::Duration;

use drawbridge_core::model::{FinishReason, Piece, TokenCounts};
use drawbridge_core::{FRAME_LIMIT_BYTES, OpError};
use futures_util::future::BoxFuture;
use hyper::body::Bytes;
use tokio::time::{Instant, sleep_until, timeout};

use super::backend::{Backend, Line, Said};
use super::fault::Fault;
use super::http::Answer;
use crate::Pieces;

/// The longest silence once an answer has begun (spec 11). Before that, the server may be loading a model or reading a long
/// prompt on a slow processor, and says nothing meanwhile: only the limit of the whole holds.
pub(crate) const READ_LIMIT: Duration = Duration::from_secs(60);
/// What may still come after the end of the text: counts and an end mark.
const TAIL_LIMIT: Duration = Duration::from_secs(2);
/// Pieces leave at most this often (spec 15.3).
const PIECE_EVERY: Duration = Duration::from_millis(30);
/// The longest line.
const MAX_LINE_BYTES: usize = 1024 * 1024;
/// Lines without sense that are skipped.
const MAX_MALFORMED: u32 = 64;
/// The longest answer, counted as it stands in a frame; the rest of the frame gets the room that is left.
const MAX_ANSWER_BYTES: usize = FRAME_LIMIT_BYTES - 64 * 1024;

/// What came of a question.
#[derive(PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) content: String,
    pub(crate) finish: FinishReason,
    pub(crate) tokens: TokenCounts,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unheard {
    /// The server is at fault.
    Fault(Fault),
    /// Nobody takes the pieces any more.
    Cancelled,
}

impl From<Fault> for Unheard {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Hears an answer out and hands its pieces on as they come.
pub(crate) async fn hear(
    answer: Answer,
    backend: &dyn Backend,
    pieces: Option<Pieces>,
    tell_end: bool,
) -> Result<Heard, Unheard> {
    let mut outlet = Outlet::new(pieces);
    let mut ear = Ear::new(answer);
    let mut heard = Heard { content: String::new(), finish: FinishReason::Stop, tokens: TokenCounts::default() };
    let mut room = MAX_ANSWER_BYTES;
    loop {
        let said = tokio::select! {
            biased;
            sent = outlet.work() => {
                sent?;
                continue;
            }
            said = ear.next(backend) => said?,
        };
        let Some(said) = said else { break };
        heard.tokens.prompt = said.tokens.prompt.or(heard.tokens.prompt);
        heard.tokens.completion = said.tokens.completion.or(heard.tokens.completion);
        if let Some(finish) = said.finish {
            heard.finish = finish;
        }
        let (kept, cost) = fitting(&said.text, room);
        room -= cost;
        heard.content.push_str(kept);
        outlet.push(kept);
        if kept.len() < said.text.len() {
            heard.finish = FinishReason::Length;
            break;
        }
    }
    drop(ear);
    outlet.finish(tell_end.then_some(heard.finish)).await?;
    Ok(heard)
}

/// Returns the longest head of `text` that takes at most `room` bytes in a frame, and what it takes.
fn fitting(text: &str, room: usize) -> (&str, usize) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        let cost = match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{C}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        if used + cost > room {
            return (text.get(..at).unwrap_or_default(), used);
        }
        used += cost;
    }
    (text, used)
}

/// Listens to the server.
struct Ear {
    answer: Answer,
    lines: Lines,
    begun: bool,
    /// The text is complete since then; only counts may follow.
    complete: Option<Instant>,
    malformed: u32,
    over: bool,
}

impl Ear {
    fn new(answer: Answer) -> Self {
        Self { answer, lines: Lines::default(), begun: false, complete: None, malformed: 0, over: false }
    }

    /// Returns the next thing that the server says; none once the answer is complete. Can be dropped and called again.
    async fn next(&mut self, backend: &dyn Backend) -> Result<Option<Said>, Fault> {
        loop {
            if self.over {
                return Ok(None);
            }
            while let Some(line) = self.lines.next() {
                if let Some(said) = self.understand(backend.line(&line))? {
                    return Ok(Some(said));
                }
            }
            match self.read().await {
                Ok(Some(bytes)) => {
                    self.begun = true;
                    self.lines.push(&bytes)?;
                }
                // The last line may lack its end.
                Ok(None) => {
                    self.over = true;
                    let rest = self.lines.rest();
                    if let Some(said) = self.understand(backend.line(&rest))? {
                        return if self.complete.is_some() { Ok(Some(said)) } else { Err(Fault::EndedEarly) };
                    }
                    self.ended()?;
                }
                Err(fault) => {
                    self.over = true;
                    // Whatever breaks after the end of the text is no matter of the answer.
                    self.complete.map(|_| ()).ok_or(fault)?;
                }
            }
        }
    }

    fn ended(&self) -> Result<(), Fault> {
        if self.complete.is_some() { Ok(()) } else { Err(Fault::EndedEarly) }
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Fault> {
        match self.complete {
            Some(since) => tokio::time::timeout_at(since + TAIL_LIMIT, self.answer.chunk()).await.unwrap_or(Ok(None)),
            None if self.begun => {
                timeout(READ_LIMIT, self.answer.chunk()).await.unwrap_or(Err(Fault::Slow(READ_LIMIT)))
            }
            None => self.answer.chunk().await,
        }
    }

    fn understand(&mut self, line: Line) -> Result<Option<Said>, Fault> {
        match line {
            Line::Nothing => Ok(None),
            Line::Failed(words) => Err(Fault::Told(words)),
            Line::Malformed => {
                self.malformed += 1;
                if self.malformed > MAX_MALFORMED { Err(Fault::Nonsense) } else { Ok(None) }
            }
            Line::Said(said) => {
                if (said.finish.is_some() || said.last) && self.complete.is_none() {
                    self.complete = Some(Instant::now());
                }
                self.over |= said.last;
                Ok(Some(said))
            }
        }
    }
}

/// Puts lines together from bytes that come in any pieces.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// No line ends before here.
    searched: usize,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
        // All lines that are complete have been taken before, so what is here is one line and what just came.
        if self.bytes.len() > MAX_LINE_BYTES + bytes.len() {
            return Err(Fault::TooMuch("one line of its answer is too long"));
        }
        Ok(())
    }

    /// Returns the next complete line, without its end.
    fn next(&mut self) -> Option<Vec<u8>> {
        let unseen = self.bytes.get(self.searched..)?;
        let Some(at) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return None;
        };
        let end = self.searched + at;
        let line = trimmed(self.bytes.get(self.start..end)?);
        self.start = end + 1;
        self.searched = end + 1;
        Some(line)
    }

    /// Returns what is left at the end.
    fn rest(&mut self) -> Vec<u8> {
        let rest = trimmed(self.bytes.get(self.start..).unwrap_or_default());
        *self = Self::default();
        rest
    }
}

fn trimmed(line: &[u8]) -> Vec<u8> {
    line.strip_suffix(b"\r").unwrap_or(line).to_vec()
}

/// Hands pieces on: the first at once, then no more often than the peer should be told, and whole letters only. While the peer
/// takes its time, pieces become one.
struct Outlet {
    pieces: Option<Pieces>,
    waiting: String,
    sending: Option<BoxFuture<'static, Result<(), OpError>>>,
    next: Instant,
}

impl Outlet {
    fn new(pieces: Option<Pieces>) -> Self {
        Self { pieces, waiting: String::new(), sending: None, next: Instant::now() }
    }

    fn push(&mut self, text: &str) {
        if self.pieces.is_some() {
            self.waiting.push_str(text);
        }
    }

    /// Moves one piece a step further. Never ends while there is nothing to do. Can be dropped and called again.
    async fn work(&mut self) -> Result<(), Unheard> {
        if self.sending.is_none() {
            if self.waiting.is_empty() {
                return std::future::pending().await;
            }
            // A timer that has run out would still take a turn.
            if self.next > Instant::now() {
                sleep_until(self.next).await;
            }
            self.begin();
        }
        if let Some(sending) = &mut self.sending {
            let sent = sending.await;
            self.sending = None;
            sent.map_err(|_| Unheard::Cancelled)?;
        }
        Ok(())
    }

    fn begin(&mut self) {
        let Some(pieces) = self.pieces.clone() else { return };
        let text = std::mem::take(&mut self.waiting);
        self.next = Instant::now() + PIECE_EVERY;
        self.sending = Some(Box::pin(async move { pieces.send(Piece::Delta(text)).await }));
    }

    /// Sends what is left, and then the end.
    async fn finish(mut self, end: Option<FinishReason>) -> Result<(), Unheard> {
        if self.sending.is_some() {
            self.work().await?;
        }
        if !self.waiting.is_empty() {
            self.next = Instant::now();
            self.work().await?;
        }
        match (self.pieces, end) {
            (Some(pieces), Some(end)) => pieces.send(Piece::Finish(end)).await.map_err(|_| Unheard::Cancelled),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
