//! The words of `devices`, `serial`, `usb` and `gpio`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use drawbridge_core::hex;

#[derive(Debug, Subcommand)]
pub(crate) enum DevicesVerb {
    /// Shares a device with agents. While Drawbridge runs this is done in its window
    Share {
        /// Its name, a unique beginning of it, its port, its chip, or its USB ids such as 2341:0043
        #[arg(value_name = "ID")]
        device: String,
    },
    /// Takes a device back and closes it
    Unshare {
        /// Its name, a unique beginning of it, its port, its chip, or its USB ids such as 2341:0043
        #[arg(value_name = "ID")]
        device: String,
    },
    /// Adds a serial port that the system does not list, such as a pseudo-terminal. While Drawbridge runs this is done in its window
    AddPort {
        /// Its whole path
        path: String,
    },
    /// Removes a port that was added, and takes it back
    RemovePort {
        /// Its path
        path: String,
    },
}

/// A shared device.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Its name as `devices` shows it, a unique beginning of it, its port, its chip, or its USB ids such as 2341:0043
    #[arg(value_name = "ID")]
    pub(crate) device: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SerialVerb {
    /// Opens a port and keeps it open for the next commands: until `close`, after ten minutes without use, or until it is taken back
    Open(SerialOpen),
    /// Writes to an open port and waits until everything has left
    Write(SerialWrite),
    /// Reads what came in by an open port since it was opened or read last. What comes after a pattern stays for the next read
    Read(SerialRead),
    /// Sets the lines that this side drives, and tells those of the other side
    Lines(SerialLines),
    /// Closes a port
    Close(Named),
}

/// How to open a port.
#[derive(Debug, Args)]
pub(crate) struct SerialOpen {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Bits a second
    #[arg(long, default_value_t = 115_200, value_parser = clap::value_parser!(u32).range(50..=4_000_000))]
    pub(crate) baud: u32,
    /// Data bits
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(5..=8))]
    pub(crate) data_bits: u8,
    /// Parity
    #[arg(long, default_value = "none")]
    pub(crate) parity: ParityName,
    /// Stop bits
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) stop_bits: u8,
    /// Flow control
    #[arg(long, default_value = "none")]
    pub(crate) flow: FlowName,
    /// Stay and hold it: closed when this command ends, by Ctrl-C or otherwise. Other commands can use it meanwhile
    #[arg(long)]
    pub(crate) hold: bool,
}

/// Parity.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ParityName {
    /// None
    None,
    /// Even
    Even,
    /// Odd
    Odd,
}

/// Flow control.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum FlowName {
    /// None
    None,
    /// By XON and XOFF
    Software,
    /// By RTS and CTS
    Hardware,
}

/// What to write.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["text", "hex", "file"]))]
pub(crate) struct SerialWrite {
    #[command(flatten)]
    pub(crate) named: Named,
    /// A text; `-` takes standard input
    pub(crate) text: Option<String>,
    /// Bytes as hexadecimal digits
    #[arg(long, value_name = "HEX", value_parser = bytes)]
    pub(crate) hex: Option<Bytes>,
    /// The bytes of a file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Ends it with this
    #[arg(long, value_name = "END")]
    pub(crate) newline: Option<Newline>,
}

/// The end of a line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Newline {
    /// Line feed
    Lf,
    /// Carriage return and line feed
    Crlf,
    /// Carriage return
    Cr,
}

impl Newline {
    pub(crate) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
            Self::Cr => b"\r",
        }
    }
}

/// How much to read.
#[derive(Debug, Args)]
pub(crate) struct SerialRead {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Until this text has come; exit 1 when it does not come in time
    #[arg(long, value_name = "TEXT", conflicts_with = "until_hex")]
    pub(crate) until: Option<String>,
    /// Until these bytes have come
    #[arg(long, value_name = "HEX", value_parser = bytes)]
    pub(crate) until_hex: Option<Bytes>,
    /// So many bytes; exit 1 when they do not come in time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) length: Option<u32>,
    /// At most so long
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Print hexadecimal digits instead of the bytes themselves
    #[arg(long, conflicts_with = "json")]
    pub(crate) hex: bool,
    /// One JSON object, with the bytes as base64
    #[arg(long)]
    pub(crate) json: bool,
}

/// The lines of a port.
#[derive(Debug, Args)]
pub(crate) struct SerialLines {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Data terminal ready
    #[arg(long, value_name = "on|off", value_parser = on_off)]
    pub(crate) dtr: Option<bool>,
    /// Request to send
    #[arg(long, value_name = "on|off", value_parser = on_off)]
    pub(crate) rts: Option<bool>,
    /// Sends a break of so long
    #[arg(long = "break", value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub(crate) break_ms: Option<u32>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsbVerb {
    /// Tells what a device says of itself
    Describe {
        #[command(flatten)]
        named: Named,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// A control transfer on the default pipe
    Control(UsbControl),
    /// A bulk or interrupt transfer; which of both, the device says
    Transfer(UsbTransfer),
}

/// A control transfer.
#[derive(Debug, Args)]
pub(crate) struct UsbControl {
    #[command(flatten)]
    pub(crate) named: Named,
    /// `bmRequestType`, for example 0xC0
    #[arg(long, value_name = "BYTE", value_parser = byte)]
    pub(crate) request_type: u8,
    /// `bRequest`
    #[arg(long, value_name = "BYTE", value_parser = byte)]
    pub(crate) request: u8,
    /// `wValue`
    #[arg(long, value_name = "WORD", default_value = "0", value_parser = word)]
    pub(crate) value: u16,
    /// `wIndex`
    #[arg(long, value_name = "WORD", default_value = "0", value_parser = word)]
    pub(crate) index: u16,
    #[command(flatten)]
    pub(crate) data: UsbData,
}

/// A bulk or interrupt transfer.
#[derive(Debug, Args)]
pub(crate) struct UsbTransfer {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The end point, for example 0x81; from 0x80 on it gives data
    #[arg(long, value_name = "BYTE", value_parser = byte)]
    pub(crate) endpoint: u8,
    #[command(flatten)]
    pub(crate) data: UsbData,
}

/// What a transfer carries.
#[derive(Debug, Args)]
pub(crate) struct UsbData {
    /// At most so many bytes come in; they are printed as hexadecimal digits
    #[arg(long = "in", value_name = "N", conflicts_with_all = ["hex", "file"])]
    pub(crate) most: Option<u32>,
    /// Bytes that go out, as hexadecimal digits
    #[arg(long, value_name = "HEX", value_parser = bytes, conflicts_with = "file")]
    pub(crate) hex: Option<Bytes>,
    /// The bytes of a file go out
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// At most so long
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Print the bytes themselves
    #[arg(long, requires = "most")]
    pub(crate) raw: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GpioVerb {
    /// Reads a line: prints 1 or 0
    Read {
        #[command(flatten)]
        line: Line,
        /// How to pull it
        #[arg(long, default_value = "as-is")]
        pull: Pull,
    },
    /// Drives a line; it is held until `release`, until the chip is taken back, or until the engine ends
    #[command(allow_missing_positional = true)]
    Write {
        #[command(flatten)]
        line: Line,
        /// 0 or 1
        #[arg(value_parser = level, action = clap::ArgAction::Set)]
        level: bool,
        /// Stay and hold it: let go when this command ends, by Ctrl-C or otherwise
        #[arg(long)]
        hold: bool,
    },
    /// Waits for changes of a line; exit 1 when fewer come in time
    Watch {
        #[command(flatten)]
        line: Line,
        /// Which changes
        #[arg(long, default_value = "both")]
        edge: EdgeName,
        /// So many
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        count: u32,
        /// At most so long
        #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
        timeout: f64,
        /// How to pull it
        #[arg(long, default_value = "as-is")]
        pull: Pull,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Lets a driven line go
    Release {
        #[command(flatten)]
        line: Line,
    },
}

/// A line of a chip.
#[derive(Debug, Args)]
pub(crate) struct Line {
    /// The chip, as `devices` shows it; with the line behind a colon, as in gpiochip0:RELAY
    #[arg(value_name = "ID")]
    pub(crate) chip: String,
    /// Its number on the chip, or its name if the board gives it one of its own
    #[arg(value_name = "LINE")]
    pub(crate) line: Option<String>,
}

/// How an input is pulled.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Pull {
    /// As it is
    AsIs,
    /// Up
    Up,
    /// Down
    Down,
    /// Not at all
    None,
}

/// Which changes count.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EdgeName {
    /// Low to high
    Rising,
    /// High to low
    Falling,
    /// Both
    Both,
}

/// Bytes that were given as digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Takes hexadecimal digits, in pairs; blanks and colons between them are fine.
fn bytes(text: &str) -> Result<Bytes, String> {
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | ':')).collect();
    match hex::decode(&digits) {
        Ok(bytes) if !bytes.is_empty() => Ok(Bytes(bytes)),
        Ok(_) => Err("there is no digit; bytes are pairs of hexadecimal digits, such as 0d0a or 0d:0a".to_owned()),
        Err(why) => Err(format!("{why}; bytes are pairs of hexadecimal digits, such as 0d0a or 0d:0a")),
    }
}

fn number(text: &str, most: u32) -> Result<u32, String> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match hex {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => u32::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    };
    number.filter(|number| *number <= most).ok_or_else(|| format!("a number from 0 to {most} or 0x{most:x}"))
}

fn byte(text: &str) -> Result<u8, String> {
    number(text, u8::MAX.into()).map(|number| u8::try_from(number).unwrap_or(u8::MAX))
}

fn word(text: &str) -> Result<u16, String> {
    number(text, u16::MAX.into()).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}

fn level(text: &str) -> Result<bool, String> {
    match text {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err("0 or 1".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.0..=60.0).contains(seconds));
    seconds.ok_or_else(|| "a number of seconds from 0 to 60".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_bytes_and_others_are_refused() {
        assert_eq!(bytes("0d0A"), Ok(Bytes(vec![13, 10])));
        assert_eq!(bytes("de:ad be:ef"), Ok(Bytes(vec![0xde, 0xad, 0xbe, 0xef])));
        for wrong in ["", "0", "0g", "é0", "0x0d", " :"] {
            assert!(bytes(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn numbers_of_requests_are_decimal_or_hexadecimal() {
        assert_eq!((byte("0xC0"), byte("192"), word("0xffff")), (Ok(192), Ok(192), Ok(65_535)));
        for wrong in ["256", "0x100", "-1", "0x", "0x+1", "c0", ""] {
            assert!(byte(wrong).is_err(), "{wrong:?}");
        }
        assert!(word("65536").is_err());
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["-1", "61", "NaN", "inf", "x"] {
            assert!(seconds(wrong).is_err(), "{wrong:?}");
        }
    }
}
