//! Serial ports: what to do with one, and what it answers.

use std::time::Duration;

/// What to do with a serial port. All but opening need an open port.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum SerialAct {
    /// Opens it for this holder alone. What comes in from then on is kept until it is read.
    Open(SerialSettings),
    /// Writes bytes and waits until they have left.
    Write {
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Reads what came in.
    Read(SerialRead),
    /// Sets and reads the lines beside the data.
    Lines(LineChange),
    /// Closes it.
    Close,
}

/// Settings of a serial port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SerialSettings {
    /// Bits a second, 50 to 4,000,000.
    pub baud: u32,
    /// 5 to 8.
    pub data_bits: u8,
    /// Parity.
    pub parity: Parity,
    /// 1 or 2.
    pub stop_bits: u8,
    /// Flow control.
    pub flow: Flow,
}

impl Default for SerialSettings {
    fn default() -> Self {
        Self { baud: 9600, data_bits: 8, parity: Parity::None, stop_bits: 1, flow: Flow::None }
    }
}

/// Parity bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parity {
    /// None.
    None,
    /// Even.
    Even,
    /// Odd.
    Odd,
}

impl Parity {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Even => "even",
            Self::Odd => "odd",
        }
    }

    /// Finds it by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Even, Self::Odd].into_iter().find(|one| one.name() == name)
    }
}

/// Flow control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// None.
    None,
    /// By XON and XOFF.
    Software,
    /// By RTS and CTS.
    Hardware,
}

impl Flow {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Software => "software",
            Self::Hardware => "hardware",
        }
    }

    /// Finds it by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Software, Self::Hardware].into_iter().find(|one| one.name() == name)
    }
}

/// How much to read: until the first of these is met. What comes after a pattern stays for the next read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SerialRead {
    /// Until these bytes have come, which are part of what is read.
    pub until: Option<Vec<u8>>,
    /// At most so many bytes, at least 1.
    pub max_bytes: u32,
    /// At most so long; then what has come is the answer, and nothing is a good answer too.
    pub timeout: Duration,
}

/// The lines beside the data; none leaves one as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LineChange {
    /// Data terminal ready.
    pub dtr: Option<bool>,
    /// Request to send.
    pub rts: Option<bool>,
    /// A break of so long, at most 5 s.
    pub send_break: Option<Duration>,
}

/// Bytes that came in by a serial port.
#[derive(Clone, PartialEq, Eq)]
pub struct SerialBytes {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Why reading ended.
    pub ended: ReadEnd,
    /// So many bytes were lost before these, since nobody read them in time.
    pub lost: u64,
    /// So many more wait.
    pub waiting: u64,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadEnd {
    /// The pattern came.
    Pattern,
    /// Enough bytes came.
    Length,
    /// Time was up.
    Timeout,
}

impl ReadEnd {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Length => "length",
            Self::Timeout => "timeout",
        }
    }
}

/// How the lines are that the other side drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineStates {
    /// Clear to send.
    pub cts: bool,
    /// Data set ready.
    pub dsr: bool,
    /// Ring indicator.
    pub ring: bool,
    /// Carrier detect.
    pub carrier: bool,
}
