//! Chips without a board, for tests and for trying things: lines that somebody else moves by hand.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Bias, Edge, LineEvent};

use super::{DrivenLine, Gaps, GpioChip, GpioChips, HardwareFault, Stop, WatchedLine, no_line};

/// So many changes are kept for a watch, as the kernel keeps them: of more, the oldest are lost.
const KEPT_EVENTS: usize = 1024;
/// How often a watch looks whether to stop.
const STEP: Duration = Duration::from_millis(5);

/// Chips that are there. Cheap to clone: all clones are one.
#[derive(Clone, Default)]
pub struct Recorded(Arc<Inner>);

#[derive(Default)]
struct Inner {
    board: Mutex<Board>,
    changed: Condvar,
}

#[derive(Default)]
struct Board {
    chips: Vec<GpioChip>,
    lines: BTreeMap<(String, u32), Line>,
}

#[derive(Default)]
struct Line {
    high: bool,
    bias: Bias,
    /// Who has it.
    consumer: Option<String>,
    /// It is an output.
    driven: bool,
    watched: Option<Edge>,
    /// Numbered from 1 on.
    events: VecDeque<(u32, LineEvent)>,
    /// The number of the last change.
    numbered: u32,
}

impl Line {
    /// Moves it from outside. True when that counts for whoever watches it.
    fn set(&mut self, high: bool, at: Duration) -> bool {
        let moved = self.high != high;
        self.high = high;
        let counts = self.watched.is_some_and(|edge| match edge {
            Edge::Both => true,
            Edge::Rising => high,
            Edge::Falling => !high,
        });
        if !moved || !counts {
            return false;
        }
        if self.events.len() == KEPT_EVENTS {
            self.events.pop_front();
        }
        self.numbered = self.numbered.wrapping_add(1);
        self.events.push_back((self.numbered, LineEvent { rising: high, at }));
        true
    }
}

impl Recorded {
    /// Adds a chip.
    pub fn add(&self, chip: GpioChip) {
        self.lock().chips.push(chip);
    }

    /// Takes a chip away, also while it is in use.
    pub fn remove(&self, name: &str) {
        self.lock().chips.retain(|chip| chip.name != name);
        self.0.changed.notify_all();
    }

    /// Gives a line to another program.
    pub fn use_elsewhere(&self, name: &str, line: u32, consumer: &str) {
        self.lock().lines.entry((name.to_owned(), line)).or_default().consumer = Some(consumer.to_owned());
    }

    /// Moves a line from outside, so long after the beginning of the watch, if one is watched.
    pub fn set(&self, name: &str, line: u32, high: bool, at: Duration) {
        if self.lock().lines.entry((name.to_owned(), line)).or_default().set(high, at) {
            self.0.changed.notify_all();
        }
    }

    /// Moves a line so many times, faster than anybody can look.
    pub fn burst(&self, name: &str, line: u32, times: u32, at: Duration) {
        let mut board = self.lock();
        let line = board.lines.entry((name.to_owned(), line)).or_default();
        for _ in 0..times {
            line.set(!line.high, at);
        }
        self.0.changed.notify_all();
    }

    /// Returns the level that a line is driven to; none when it is not driven.
    #[must_use]
    pub fn driven(&self, name: &str, line: u32) -> Option<bool> {
        self.lock().lines.get(&(name.to_owned(), line)).filter(|line| line.driven).map(|line| line.high)
    }

    /// Returns how a line was pulled last.
    #[must_use]
    pub fn bias(&self, name: &str, line: u32) -> Bias {
        self.lock().lines.get(&(name.to_owned(), line)).map_or(Bias::AsIs, |line| line.bias)
    }

    /// Waits until a line is watched.
    pub fn wait_for_watch(&self, name: &str, line: u32) {
        let key = (name.to_owned(), line);
        let mut board = self.lock();
        while board.lines.get(&key).is_none_or(|line| line.watched.is_none()) {
            board = self.0.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.0.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line for this program.
    fn take<T>(&self, chip: &GpioChip, number: u32, with: impl FnOnce(&mut Line) -> T) -> Result<T, HardwareFault> {
        if number >= chip.lines {
            return Err(no_line(chip, number));
        }
        let mut board = self.lock();
        if !board.chips.iter().any(|one| one.name == chip.name) {
            return Err(gone());
        }
        let line = board.lines.entry((chip.name.clone(), number)).or_default();
        if let Some(consumer) = &line.consumer {
            return Err(HardwareFault::new(
                DeviceFault::Busy,
                format!("line {number} is used by \"{consumer}\"; end that, or use another line"),
            ));
        }
        let taken = with(line);
        self.0.changed.notify_all();
        Ok(taken)
    }
}

impl GpioChips for Recorded {
    fn found(&self) -> Vec<GpioChip> {
        self.lock().chips.clone()
    }

    fn read(&self, chip: &GpioChip, line: u32, bias: Bias) -> Result<bool, HardwareFault> {
        self.take(chip, line, |line| {
            line.bias = bias;
            line.high
        })
    }

    fn drive(&self, chip: &GpioChip, line: u32, high: bool) -> Result<Box<dyn DrivenLine>, HardwareFault> {
        self.take(chip, line, |line| {
            (line.driven, line.high, line.consumer) = (true, high, Some("drawbridge".to_owned()));
        })?;
        Ok(Box::new(Taken { board: self.clone(), key: (chip.name.clone(), line), gaps: Gaps::default() }))
    }

    fn watch(&self, chip: &GpioChip, line: u32, bias: Bias, edge: Edge) -> Result<Box<dyn WatchedLine>, HardwareFault> {
        self.take(chip, line, |line| {
            (line.bias, line.watched, line.consumer) = (bias, Some(edge), Some("drawbridge".to_owned()));
            line.events.clear();
            line.numbered = 0;
        })?;
        Ok(Box::new(Taken { board: self.clone(), key: (chip.name.clone(), line), gaps: Gaps::default() }))
    }
}

/// A line that is taken, given back with it.
struct Taken {
    board: Recorded,
    key: (String, u32),
    gaps: Gaps,
}

impl Taken {
    fn with<T>(&self, with: impl FnOnce(&mut Line) -> T) -> Result<T, HardwareFault> {
        let mut board = self.board.lock();
        if !board.chips.iter().any(|one| one.name == self.key.0) {
            return Err(gone());
        }
        board.lines.get_mut(&self.key).map(with).ok_or_else(gone)
    }
}

impl DrivenLine for Taken {
    fn set(&mut self, high: bool) -> Result<(), HardwareFault> {
        self.with(|line| line.high = high)
    }

    fn level(&mut self) -> Result<bool, HardwareFault> {
        self.with(|line| line.high)
    }
}

impl WatchedLine for Taken {
    fn next(&mut self, wait: Duration, stop: &Stop) -> Result<Option<LineEvent>, HardwareFault> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some((number, event)) = self.with(|line| line.events.pop_front())? {
                self.gaps.saw(number);
                return Ok(Some(event));
            }
            if stop.is_said() || waited >= wait {
                return Ok(None);
            }
            let board = self.board.lock();
            drop(self.board.0.changed.wait_timeout(board, STEP).unwrap_or_else(PoisonError::into_inner));
            waited += STEP;
        }
    }

    fn lost(&self) -> u64 {
        self.gaps.lost
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(line) = self.board.lock().lines.get_mut(&self.key) {
            (line.driven, line.watched, line.consumer) = (false, None, None);
        }
    }
}

fn gone() -> HardwareFault {
    HardwareFault::new(DeviceFault::Unplugged, "the GPIO chip is gone")
}
