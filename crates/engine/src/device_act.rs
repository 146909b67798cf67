//! Using a device from the command line: how an act and what comes of it look on the control socket.
//!
//! What an act asks for becomes an operation of `core` in `checks`, and what came of it is put into words in `told`. Bytes are base64,
//! and show themselves in no debug output.

mod checks;
mod told;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub(crate) use checks::{device_named, operation, unknown_device};
pub(crate) use told::{fault, recorded, result};

/// Bytes that go out in one act, at most.
pub const MAX_OUT_BYTES: usize = 64 * 1024;
/// Bytes that come in by one act, at most.
pub const MAX_IN_BYTES: u32 = 1024 * 1024;
/// Bytes of a pattern, at most.
pub const MAX_PATTERN_BYTES: usize = 1024;
/// The longest that one act may wait, in milliseconds.
pub const MAX_WAIT_MS: u32 = 60_000;
/// The longest break, in milliseconds.
pub const MAX_BREAK_MS: u32 = 5000;
/// Changes of a line that one act may wait for.
pub const MAX_EVENTS: u32 = 10_000;

/// Bytes on their way to or from a device, as base64. Shows itself nowhere.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceBytes(String);

impl DeviceBytes {
    /// Takes bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(STANDARD.encode(bytes))
    }

    /// Returns the bytes; none where the text is no base64.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.0).ok()
    }
}

impl std::fmt::Debug for DeviceBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeviceBytes(..)")
    }
}

/// Something to do with a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum DeviceAct {
    /// Opens a serial port.
    SerialOpen {
        /// Bits a second, 50 to 4,000,000.
        baud: u32,
        /// 5 to 8.
        data_bits: u8,
        /// "none", "even" or "odd".
        parity: String,
        /// 1 or 2.
        stop_bits: u8,
        /// "none", "software" or "hardware".
        flow: String,
    },
    /// Writes to a serial port.
    SerialWrite {
        /// At most 64 KiB.
        #[ts(type = "string")]
        data: DeviceBytes,
    },
    /// Reads from a serial port.
    SerialRead {
        /// Until these bytes have come; at most 1 KiB.
        #[serde(default)]
        #[ts(type = "string | null")]
        until: Option<DeviceBytes>,
        /// At most so many bytes, 1 to 1 MiB.
        max_bytes: u32,
        /// At most so long, up to 60 s.
        timeout_ms: u32,
    },
    /// Sets and reads the lines beside the data.
    SerialLines {
        /// Data terminal ready; none leaves it.
        #[serde(default)]
        dtr: Option<bool>,
        /// Request to send; none leaves it.
        #[serde(default)]
        rts: Option<bool>,
        /// A break of so long, 1 to 5000 ms.
        #[serde(default)]
        break_ms: Option<u32>,
    },
    /// Closes a serial port.
    SerialClose,
    /// Tells what a USB device says of itself.
    UsbDescribe,
    /// A control transfer.
    UsbControl {
        /// `bmRequestType`.
        request_type: u8,
        /// `bRequest`.
        request: u8,
        /// `wValue`.
        value: u16,
        /// `wIndex`.
        index: u16,
        /// What goes out, at most 64 KiB less one byte.
        #[serde(default)]
        #[ts(type = "string | null")]
        out: Option<DeviceBytes>,
        /// Or so many bytes may come in.
        #[serde(default)]
        max_bytes: Option<u32>,
        /// At most so long, 1 ms to 60 s.
        timeout_ms: u32,
    },
    /// A bulk or interrupt transfer.
    UsbTransfer {
        /// The end point's address with its direction bit.
        endpoint: u8,
        /// What goes out, at most 64 KiB.
        #[serde(default)]
        #[ts(type = "string | null")]
        out: Option<DeviceBytes>,
        /// Or so many bytes may come in, up to 1 MiB.
        #[serde(default)]
        max_bytes: Option<u32>,
        /// At most so long, 1 ms to 60 s.
        timeout_ms: u32,
    },
    /// Reads a line.
    GpioRead {
        /// Its number on the chip.
        line: u32,
        /// "as_is", "up", "down" or "none".
        bias: String,
    },
    /// Drives a line.
    GpioWrite {
        /// Its number on the chip.
        line: u32,
        /// High.
        high: bool,
    },
    /// Waits for changes of a line.
    GpioWatch {
        /// Its number on the chip.
        line: u32,
        /// "as_is", "up", "down" or "none".
        bias: String,
        /// "rising", "falling" or "both".
        edge: String,
        /// At most so many, 1 to 10,000.
        max_events: u32,
        /// At most so long, 1 ms to 60 s.
        timeout_ms: u32,
    },
    /// Lets a driven line go.
    GpioRelease {
        /// Its number on the chip.
        line: u32,
    },
}

/// What came of an act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum DeviceResult {
    /// Done.
    Done,
    /// So many bytes went out.
    Written {
        /// Bytes.
        #[ts(type = "number")]
        bytes: u64,
    },
    /// Bytes came in by a serial port.
    Read {
        /// They.
        #[ts(type = "string")]
        data: DeviceBytes,
        /// Why reading ended: "pattern", "length" or "timeout".
        ended: String,
        /// So many bytes were lost before these.
        #[ts(type = "number")]
        lost: u64,
        /// So many more wait.
        #[ts(type = "number")]
        waiting: u64,
    },
    /// The lines that the other side drives.
    Lines {
        /// Clear to send.
        cts: bool,
        /// Data set ready.
        dsr: bool,
        /// Ring indicator.
        ring: bool,
        /// Carrier detect.
        carrier: bool,
    },
    /// What a USB device says of itself.
    Described {
        /// It.
        usb: UsbView,
    },
    /// Bytes came in by USB.
    Received {
        /// They.
        #[ts(type = "string")]
        data: DeviceBytes,
    },
    /// A line was read.
    Level {
        /// It is high.
        high: bool,
    },
    /// Changes of a line, oldest first.
    Events {
        /// They.
        events: Vec<LineEventView>,
        /// So many more came before the last of them and were lost.
        #[serde(default)]
        #[ts(type = "number")]
        lost: u64,
    },
}

/// What a USB device says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UsbView {
    /// Vendor id, four hex digits.
    pub vendor: String,
    /// Product id, four hex digits.
    pub product: String,
    /// USB version.
    pub usb_version: String,
    /// Class, subclass, protocol.
    pub class: [u8; 3],
    /// Its maker in its own words, safe to show.
    pub manufacturer: Option<String>,
    /// Its name in its own words, safe to show.
    pub product_name: Option<String>,
    /// Its interfaces.
    pub interfaces: Vec<UsbInterfaceView>,
}

/// An interface of a USB device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UsbInterfaceView {
    /// Its number.
    pub number: u8,
    /// Class, subclass, protocol.
    pub class: [u8; 3],
    /// A driver of the system has it.
    pub driver_active: bool,
    /// Its end points.
    pub endpoints: Vec<UsbEndpointView>,
}

/// An end point of a USB device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UsbEndpointView {
    /// Its address with its direction bit.
    pub address: u8,
    /// "control", "isochronous", "bulk" or "interrupt".
    pub transfer: String,
    /// The largest packet in bytes.
    pub max_packet: u16,
}

/// A change of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LineEventView {
    /// Low to high.
    pub rising: bool,
    /// Microseconds since the watching began.
    #[ts(type = "number")]
    pub at_us: u64,
}

#[cfg(test)]
#[path = "device_act_tests.rs"]
mod tests;
