//! GPIO chips: what to do with their lines, and what these answer.

use std::time::Duration;

/// What to do with lines of a GPIO chip.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum GpioAct {
    /// Reads a line as input.
    Read {
        /// Its number on the chip.
        line: u32,
        /// Pull it.
        bias: Bias,
    },
    /// Drives a line as output. It is held until it is released.
    Write {
        /// Its number on the chip.
        line: u32,
        /// High.
        high: bool,
    },
    /// Waits for changes of a line.
    Watch {
        /// Its number on the chip.
        line: u32,
        /// Pull it.
        bias: Bias,
        /// Which changes.
        edge: Edge,
        /// At most so many, 1 to 10,000.
        max_events: u32,
        /// At most so long.
        timeout: Duration,
    },
    /// Lets a driven line go.
    Release {
        /// Its number on the chip.
        line: u32,
    },
}

impl GpioAct {
    /// Returns the line concerned.
    #[must_use]
    pub const fn line(&self) -> u32 {
        match self {
            Self::Read { line, .. } | Self::Write { line, .. } | Self::Watch { line, .. } | Self::Release { line } => {
                *line
            }
        }
    }
}

/// How an input is pulled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Bias {
    /// As it is.
    #[default]
    AsIs,
    /// Up.
    PullUp,
    /// Down.
    PullDown,
    /// Not at all.
    None,
}

/// Which changes of a line count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Low to high.
    Rising,
    /// High to low.
    Falling,
    /// Both.
    #[default]
    Both,
}

/// Changes of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineEvents {
    /// They, oldest first.
    pub events: Vec<LineEvent>,
    /// So many more came before the last of them and were lost, since they came faster than anybody took them.
    pub lost: u64,
}

/// A change of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineEvent {
    /// Low to high.
    pub rising: bool,
    /// Time since the watching began.
    pub at: Duration,
}
