//! What came in by a port and was not read yet. Bounded: what is too much pushes out the oldest, which is counted, or waits when the
//! other side can be held back.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use drawbridge_core::hardware::{ReadEnd, SerialBytes, SerialRead};
use drawbridge_os::hardware::HardwareFault;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes kept at most.
pub(super) const CAPACITY: usize = 1024 * 1024;
/// Memory that an emptied inbox keeps.
const KEPT: usize = 64 * 1024;

/// The inbox of one port.
pub(super) struct Inbox {
    state: Mutex<State>,
    came: Notify,
    room: Condvar,
    /// The other side is held back when it is full; else the oldest bytes are lost.
    holds_back: bool,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// So many bytes went out of the front, read or lost.
    gone: u64,
    /// So many were lost since the last read.
    lost: u64,
    ended: Option<HardwareFault>,
}

impl Inbox {
    pub(super) fn new(holds_back: bool) -> Self {
        Self { state: Mutex::default(), came: Notify::new(), room: Condvar::new(), holds_back }
    }

    /// Takes what came in. Waits for room where the other side can be held back.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut bytes = bytes;
        let mut state = self.lock();
        while self.holds_back && state.ended.is_none() && state.bytes.len() + bytes.len() > CAPACITY {
            // What there is room for, as a reader may wait for just that.
            let (fits, rest) = bytes.split_at((CAPACITY - state.bytes.len()).min(bytes.len()));
            state.bytes.extend(fits);
            bytes = rest;
            self.came.notify_waiters();
            let is_full = |state: &mut State| state.ended.is_none() && state.bytes.len() >= CAPACITY;
            state = self.room.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        }
        let over = (state.bytes.len() + bytes.len()).saturating_sub(CAPACITY).min(state.bytes.len());
        state.bytes.drain(..over);
        state.gone += over as u64;
        state.lost += over as u64;
        state.bytes.extend(bytes);
        drop(state);
        self.came.notify_waiters();
    }

    /// Nothing more comes, for this reason. The first one counts.
    pub(super) fn end(&self, why: HardwareFault) {
        self.lock().ended.get_or_insert(why);
        self.came.notify_waiters();
        self.room.notify_all();
    }

    /// Returns why nothing more comes, if so.
    pub(super) fn ended(&self) -> Option<HardwareFault> {
        self.lock().ended.clone()
    }

    /// Waits until the pattern or enough bytes have come, at most until `deadline`, and takes them out. Dropping the wait takes
    /// nothing.
    ///
    /// # Errors
    /// Nothing more comes, and what came is not enough.
    pub(super) async fn read(&self, read: &SerialRead, deadline: Instant) -> Result<SerialBytes, HardwareFault> {
        let most = usize::try_from(read.max_bytes).unwrap_or(usize::MAX);
        let mut search = read.until.clone().map(Search::new);
        loop {
            // From here on no call is missed.
            let came = self.came.notified();
            tokio::pin!(came);
            came.as_mut().enable();
            {
                let mut state = self.lock();
                if let Some(length) = search.as_mut().and_then(|search| search.go_on(&state, most)) {
                    return Ok(self.take(&mut state, length, ReadEnd::Pattern));
                }
                if state.bytes.len() >= most {
                    return Ok(self.take(&mut state, most, ReadEnd::Length));
                }
                if let Some(why) = &state.ended {
                    return Err(why.clone());
                }
            }
            if tokio::time::timeout_at(deadline, came).await.is_err() {
                return Ok(self.take_late(most));
            }
        }
    }

    /// Takes out what has come: time is up.
    pub(super) fn take_late(&self, most: usize) -> SerialBytes {
        self.take(&mut self.lock(), most, ReadEnd::Timeout)
    }

    /// Says that nothing came, and leaves everything: it was another reader's turn all the time.
    pub(super) fn nothing(&self) -> SerialBytes {
        SerialBytes { bytes: Vec::new(), ended: ReadEnd::Timeout, lost: 0, waiting: self.lock().bytes.len() as u64 }
    }

    fn take(&self, state: &mut State, most: usize, ended: ReadEnd) -> SerialBytes {
        let count = most.min(state.bytes.len());
        let bytes: Vec<u8> = state.bytes.drain(..count).collect();
        state.gone += count as u64;
        state.bytes.shrink_to(KEPT);
        self.room.notify_all();
        SerialBytes { bytes, ended, lost: std::mem::take(&mut state.lost), waiting: state.bytes.len() as u64 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for a pattern in what comes, each byte once however it comes (Knuth, Morris, Pratt).
struct Search {
    pattern: Vec<u8>,
    /// For each place in the pattern: how much of its beginning still fits when the next byte does not.
    back: Vec<usize>,
    /// So much of the pattern fits so far.
    fits: usize,
    /// The bytes before the first one looked at had gone.
    from: u64,
    /// So many bytes from there were looked at.
    seen: usize,
}

impl Search {
    fn new(pattern: Vec<u8>) -> Self {
        let mut search = Self { back: vec![0; pattern.len()], pattern, fits: 0, from: 0, seen: 0 };
        for place in 1..search.pattern.len() {
            if let Some(byte) = search.pattern.get(place).copied() {
                search.step(byte);
            }
            if let Some(back) = search.back.get_mut(place) {
                *back = search.fits;
            }
        }
        search.fits = 0;
        search
    }

    fn step(&mut self, byte: u8) {
        while self.fits > 0 && self.pattern.get(self.fits) != Some(&byte) {
            self.fits = self.back.get(self.fits - 1).copied().unwrap_or(0);
        }
        if self.pattern.get(self.fits) == Some(&byte) {
            self.fits += 1;
        }
    }

    /// Goes on with what came since. Returns the number of bytes up to the end of the pattern, if it is in the first `most`.
    fn go_on(&mut self, state: &State, most: usize) -> Option<usize> {
        if state.gone != self.from {
            // The oldest were lost meanwhile: what fitted may be among them.
            (self.from, self.seen, self.fits) = (state.gone, 0, 0);
        }
        for byte in state.bytes.range(self.seen.min(state.bytes.len())..state.bytes.len().min(most).max(self.seen)) {
            self.step(*byte);
            self.seen += 1;
            if self.fits == self.pattern.len() {
                return Some(self.seen);
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
