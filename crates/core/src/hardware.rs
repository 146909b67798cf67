//! Devices on the desk: what they are called and what may be done with them (spec 12). Free of any wire format.
//!
//! The platform's protocol has no messages for devices; these operations come from the command line and from later adapters.

use std::fmt::{self, Write as _};
use std::time::Duration;

/// Names a device for sharing. Stable over unplugging and restarts, and bound to what the device is: another device in the same
/// place has another name. Lower-case letters, digits and `-`, `.`, `:`; never a serial number in clear.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(String);

/// Why a text names no device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a device has 1 to 128 characters: lower-case letters, digits, `-`, `.`, `:`")]
pub struct BadDeviceId;

impl DeviceId {
    /// Longest name, in characters.
    pub const MAX: usize = 128;

    /// Checks and takes a name.
    ///
    /// # Errors
    /// [`BadDeviceId`].
    pub fn parse(text: &str) -> Result<Self, BadDeviceId> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte);
        if text.is_empty() || text.len() > Self::MAX || !text.bytes().all(fits) {
            return Err(BadDeviceId);
        }
        Ok(Self(text.to_owned()))
    }

    /// Names a device by the beginning of a digest over what it is: `serial-0a1b2c3d4e5f`.
    #[must_use]
    pub fn of_digest(kind: DeviceKind, digest: [u8; 6]) -> Self {
        let mut name = format!("{}-", kind.name());
        for byte in digest {
            // Writing into a String cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self(name)
    }

    /// Names a device by what it is called. Letters become lower case, what does not fit becomes `-`, and a long name is cut.
    #[must_use]
    pub fn plain(kind: DeviceKind, called: &str) -> Self {
        let fit = |c: char| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '.' | ':') => c,
            _ => '-',
        };
        Self(format!("{}-", kind.name()).chars().chain(called.chars().map(fit)).take(Self::MAX).collect())
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Kinds of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceKind {
    /// A serial port.
    Serial,
    /// A USB device.
    Usb,
    /// A GPIO chip.
    Gpio,
}

impl DeviceKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Serial, Self::Usb, Self::Gpio];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Usb => "usb",
            Self::Gpio => "gpio",
        }
    }

    /// Finds a kind by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A device that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name for sharing.
    pub id: DeviceId,
    /// Where it is.
    pub place: DevicePlace,
    /// In words, cleaned: no control characters, no serial number, at most 128 characters. Not yet safe to show.
    pub description: String,
    /// Why this user cannot open it, if that can be told without opening it: what is missing and which group gives it.
    pub denied: Option<String>,
}

impl Device {
    /// Returns its kind.
    #[must_use]
    pub const fn kind(&self) -> DeviceKind {
        match &self.place {
            DevicePlace::Serial { .. } => DeviceKind::Serial,
            DevicePlace::Usb { .. } => DeviceKind::Usb,
            DevicePlace::Gpio { .. } => DeviceKind::Gpio,
        }
    }
}

/// Where a device is at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevicePlace {
    /// A serial port.
    Serial {
        /// Its path or name, for example `/dev/ttyUSB0` or `COM3`.
        port: String,
    },
    /// A USB device.
    Usb {
        /// Vendor id.
        vendor: u16,
        /// Product id.
        product: u16,
        /// Bus number.
        bus: u8,
        /// Address on the bus.
        address: u8,
    },
    /// A GPIO chip.
    Gpio {
        /// Its name, for example `gpiochip0`.
        chip: String,
        /// Number of lines.
        lines: u32,
    },
}

/// Something to do with a device. Contents are never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HardwareOp {
    /// The device.
    pub device: DeviceId,
    /// What to do.
    pub act: HardwareAct,
}

impl HardwareOp {
    /// Returns the name under which the audit log and the window know it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match &self.act {
            HardwareAct::Serial(act) => match act {
                SerialAct::Open(_) => "HARDWARE_SERIAL_OPEN",
                SerialAct::Write { .. } => "HARDWARE_SERIAL_WRITE",
                SerialAct::Read(_) => "HARDWARE_SERIAL_READ",
                SerialAct::Lines(_) => "HARDWARE_SERIAL_LINES",
                SerialAct::Close => "HARDWARE_SERIAL_CLOSE",
            },
            HardwareAct::Usb(act) => match act {
                UsbAct::Describe => "HARDWARE_USB_DESCRIBE",
                UsbAct::Control { .. } => "HARDWARE_USB_CONTROL",
                UsbAct::Transfer { .. } => "HARDWARE_USB_TRANSFER",
            },
            HardwareAct::Gpio(act) => match act {
                GpioAct::Read { .. } => "HARDWARE_GPIO_READ",
                GpioAct::Write { .. } => "HARDWARE_GPIO_WRITE",
                GpioAct::Watch { .. } => "HARDWARE_GPIO_WATCH",
                GpioAct::Release { .. } => "HARDWARE_GPIO_RELEASE",
            },
        }
    }
}

/// What to do with a device.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum HardwareAct {
    /// With a serial port.
    Serial(SerialAct),
    /// With a USB device.
    Usb(UsbAct),
    /// With a GPIO chip.
    Gpio(GpioAct),
}

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

/// What to do with a USB device.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum UsbAct {
    /// Tells its descriptors.
    Describe,
    /// A control transfer on the default pipe.
    Control {
        /// `bmRequestType`: direction, type and recipient.
        request_type: u8,
        /// `bRequest`.
        request: u8,
        /// `wValue`.
        value: u16,
        /// `wIndex`.
        index: u16,
        /// What goes out or how much may come in.
        data: UsbData,
        /// At most so long.
        timeout: Duration,
    },
    /// A bulk or interrupt transfer; which of both, the end point's descriptor says. Its interface is claimed for it.
    Transfer {
        /// The end point's address with its direction bit.
        endpoint: u8,
        /// What goes out or how much may come in.
        data: UsbData,
        /// At most so long.
        timeout: Duration,
    },
}

/// The data of a transfer.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum UsbData {
    /// Out, to the device.
    Out(Vec<u8>),
    /// In, at most so many bytes.
    In(u32),
}

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

/// What came of an act with a device.
#[derive(Clone, PartialEq, Eq)]
pub enum HardwareOutcome {
    /// Done, with nothing more to say.
    Done,
    /// So many bytes went out.
    Written {
        /// Bytes.
        bytes: u64,
    },
    /// Bytes came in.
    Read(SerialBytes),
    /// How the lines are that the other side drives.
    Lines(LineStates),
    /// What a USB device says of itself.
    Described(UsbDescription),
    /// Bytes came in by USB.
    Received(Vec<u8>),
    /// A line was read.
    Level {
        /// It is high.
        high: bool,
    },
    /// Changes of a line, oldest first.
    Events(Vec<LineEvent>),
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

/// What a USB device says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbDescription {
    /// Vendor id.
    pub vendor: u16,
    /// Product id.
    pub product: u16,
    /// USB version, for example "2.0".
    pub usb_version: String,
    /// Class, subclass, protocol.
    pub class: [u8; 3],
    /// Its maker in its own words; none where it says nothing or may not be asked.
    pub manufacturer: Option<String>,
    /// Its name in its own words.
    pub product_name: Option<String>,
    /// Its interfaces in the configuration that is active.
    pub interfaces: Vec<UsbInterface>,
}

/// An interface of a USB device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbInterface {
    /// Its number.
    pub number: u8,
    /// Class, subclass, protocol.
    pub class: [u8; 3],
    /// A driver of the system has it.
    pub driver_active: bool,
    /// Its end points.
    pub endpoints: Vec<UsbEndpoint>,
}

/// An end point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbEndpoint {
    /// Its address with its direction bit.
    pub address: u8,
    /// "control", "isochronous", "bulk" or "interrupt".
    pub transfer: &'static str,
    /// The largest packet in bytes.
    pub max_packet: u16,
}

/// A change of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineEvent {
    /// Low to high.
    pub rising: bool,
    /// Time since the watching began.
    pub at: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_plain() {
        for good in ["serial-0a1b2c3d4e5f", "usb-2341:0043-1.4", "gpio-gpiochip0"] {
            assert_eq!(DeviceId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "Serial", "a b", "a/b", "ü", "a\n", &"x".repeat(129)] {
            assert_eq!(DeviceId::parse(bad), Err(BadDeviceId), "{bad:?}");
        }
    }

    #[test]
    fn names_that_are_made_here_are_names() {
        let made = [
            DeviceId::of_digest(DeviceKind::Serial, [0, 1, 0xfe, 0xff, 0x10, 0xa0]),
            DeviceId::plain(DeviceKind::Gpio, "Pinctrl BCM/2711 ü"),
            DeviceId::plain(DeviceKind::Gpio, &"x".repeat(500)),
            DeviceId::plain(DeviceKind::Gpio, ""),
        ];
        assert_eq!(made[0].as_str(), "serial-0001feff10a0");
        assert_eq!(made[1].as_str(), "gpio-pinctrl-bcm-2711--");
        for name in made {
            assert_eq!(DeviceId::parse(name.as_str()), Ok(name));
        }
    }
}
