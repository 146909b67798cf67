//! Using a device from the command line: how an act and what comes of it look on the control socket.
//!
//! Everything is checked here once, with the name of the field that is wrong, and becomes an operation of `core`. Bytes are
//! base64, and show themselves in no debug output.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawbridge_core::hardware::{
    Bias, DeviceId, Edge, Flow, GpioAct, HardwareAct, HardwareOp, HardwareOutcome, LineChange, Parity, SerialAct,
    SerialRead, SerialSettings, UsbAct, UsbData, UsbDescription,
};
use drawbridge_core::{DeviceFault, OpError, escape_outside_text};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::handle::CommandError;
use crate::record::shown;

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

/// Makes an operation of an act.
///
/// # Errors
/// `unknown_device` for what cannot be a device's name, `bad_act` with the field that is wrong.
pub(crate) fn operation(device: &str, act: DeviceAct) -> Result<HardwareOp, CommandError> {
    let device = device_named(device)?;
    Ok(HardwareOp { device, act: checked(act)? })
}

/// Takes a device's name.
///
/// # Errors
/// `unknown_device`.
pub(crate) fn device_named(text: &str) -> Result<DeviceId, CommandError> {
    DeviceId::parse(text).map_err(|_| unknown_device(text))
}

/// Says that there is no such device.
pub(crate) fn unknown_device(text: &str) -> CommandError {
    let message = format!("There is no device named {}. Look at the list of devices.", shown(text));
    CommandError::new("unknown_device", message)
}

fn checked(act: DeviceAct) -> Result<HardwareAct, CommandError> {
    Ok(match act {
        DeviceAct::SerialOpen { baud, data_bits, parity, stop_bits, flow } => {
            let settings = SerialSettings {
                baud: within("baud", baud, 50, 4_000_000)?,
                data_bits: within("data_bits", data_bits, 5, 8)?,
                parity: named("parity", &parity, "none, even or odd", Parity::from_name)?,
                stop_bits: within("stop_bits", stop_bits, 1, 2)?,
                flow: named("flow", &flow, "none, software or hardware", Flow::from_name)?,
            };
            HardwareAct::Serial(SerialAct::Open(settings))
        }
        DeviceAct::SerialWrite { data } => {
            let bytes = bytes("data", &data, MAX_OUT_BYTES)?;
            if bytes.is_empty() {
                return Err(bad("data", "must not be empty"));
            }
            HardwareAct::Serial(SerialAct::Write { bytes })
        }
        DeviceAct::SerialRead { until, max_bytes, timeout_ms } => {
            let until = until.map(|until| bytes("until", &until, MAX_PATTERN_BYTES)).transpose()?;
            if until.as_ref().is_some_and(Vec::is_empty) {
                return Err(bad("until", "must not be empty"));
            }
            HardwareAct::Serial(SerialAct::Read(SerialRead {
                until,
                max_bytes: within("max_bytes", max_bytes, 1, MAX_IN_BYTES)?,
                timeout: wait(timeout_ms, 0)?,
            }))
        }
        DeviceAct::SerialLines { dtr, rts, break_ms } => {
            let send_break = break_ms.map(|ms| within("break_ms", ms, 1, MAX_BREAK_MS)).transpose()?;
            let send_break = send_break.map(|ms| Duration::from_millis(ms.into()));
            HardwareAct::Serial(SerialAct::Lines(LineChange { dtr, rts, send_break }))
        }
        DeviceAct::SerialClose => HardwareAct::Serial(SerialAct::Close),
        DeviceAct::UsbDescribe => HardwareAct::Usb(UsbAct::Describe),
        DeviceAct::UsbControl { request_type, request, value, index, out, max_bytes, timeout_ms } => {
            // The length field of a control transfer has 16 bits.
            let most = u16::MAX.into();
            let data = data(request_type, "request_type", out.as_ref(), max_bytes, (most, u16::MAX.into()))?;
            let timeout = wait(timeout_ms, 1)?;
            HardwareAct::Usb(UsbAct::Control { request_type, request, value, index, data, timeout })
        }
        DeviceAct::UsbTransfer { endpoint, out, max_bytes, timeout_ms } => {
            let data = data(endpoint, "endpoint", out.as_ref(), max_bytes, (MAX_OUT_BYTES, MAX_IN_BYTES))?;
            HardwareAct::Usb(UsbAct::Transfer { endpoint, data, timeout: wait(timeout_ms, 1)? })
        }
        DeviceAct::GpioRead { line, bias } => {
            HardwareAct::Gpio(GpioAct::Read { line, bias: named("bias", &bias, BIASES, bias_named)? })
        }
        DeviceAct::GpioWrite { line, high } => HardwareAct::Gpio(GpioAct::Write { line, high }),
        DeviceAct::GpioWatch { line, bias, edge, max_events, timeout_ms } => HardwareAct::Gpio(GpioAct::Watch {
            line,
            bias: named("bias", &bias, BIASES, bias_named)?,
            edge: named("edge", &edge, "rising, falling or both", edge_named)?,
            max_events: within("max_events", max_events, 1, MAX_EVENTS)?,
            timeout: wait(timeout_ms, 1)?,
        }),
        DeviceAct::GpioRelease { line } => HardwareAct::Gpio(GpioAct::Release { line }),
    })
}

const BIASES: &str = "as_is, up, down or none";

fn bias_named(name: &str) -> Option<Bias> {
    [("as_is", Bias::AsIs), ("up", Bias::PullUp), ("down", Bias::PullDown), ("none", Bias::None)]
        .into_iter()
        .find_map(|(known, bias)| (known == name).then_some(bias))
}

fn edge_named(name: &str) -> Option<Edge> {
    [("rising", Edge::Rising), ("falling", Edge::Falling), ("both", Edge::Both)]
        .into_iter()
        .find_map(|(known, edge)| (known == name).then_some(edge))
}

/// Takes what a transfer carries. The highest bit of `direction` says which way it goes.
fn data(
    direction: u8,
    field: &'static str,
    out: Option<&DeviceBytes>,
    max_bytes: Option<u32>,
    (most_out, most_in): (usize, u32),
) -> Result<UsbData, CommandError> {
    match (direction & 0x80 != 0, out, max_bytes) {
        (true, None, Some(most)) => Ok(UsbData::In(within("max_bytes", most, 0, most_in)?)),
        (false, Some(data), None) => Ok(UsbData::Out(bytes("out", data, most_out)?)),
        (true, _, _) => {
            Err(bad(field, "means data to this computer (its highest bit is set): say how much may come in"))
        }
        (false, _, _) => {
            Err(bad(field, "means data to the device (its highest bit is not set): say which bytes go out"))
        }
    }
}

fn bytes(field: &'static str, data: &DeviceBytes, most: usize) -> Result<Vec<u8>, CommandError> {
    let bytes = data.bytes().ok_or_else(|| bad(field, "is no base64"))?;
    if bytes.len() > most {
        return Err(bad(field, &format!("has {} bytes; {most} are the most", bytes.len())));
    }
    Ok(bytes)
}

fn within<T: PartialOrd + std::fmt::Display>(
    field: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<T, CommandError> {
    if value < least || value > most {
        return Err(bad(field, &format!("must be from {least} to {most}")));
    }
    Ok(value)
}

fn wait(ms: u32, least: u32) -> Result<Duration, CommandError> {
    Ok(Duration::from_millis(within("timeout_ms", ms, least, MAX_WAIT_MS)?.into()))
}

fn named<T>(
    field: &'static str,
    name: &str,
    choices: &str,
    find: impl Fn(&str) -> Option<T>,
) -> Result<T, CommandError> {
    find(name).ok_or_else(|| bad(field, &format!("must be {choices}")))
}

fn bad(field: &'static str, why: &str) -> CommandError {
    CommandError::new("bad_act", format!("Nothing was done: the field {field} {why}."))
}

/// Makes what came of an act fit for the control socket.
pub(crate) fn result(outcome: HardwareOutcome) -> DeviceResult {
    match outcome {
        HardwareOutcome::Done => DeviceResult::Done,
        HardwareOutcome::Written { bytes } => DeviceResult::Written { bytes },
        HardwareOutcome::Read(read) => DeviceResult::Read {
            data: DeviceBytes::of(&read.bytes),
            ended: read.ended.name().to_owned(),
            lost: read.lost,
            waiting: read.waiting,
        },
        HardwareOutcome::Lines(lines) => {
            DeviceResult::Lines { cts: lines.cts, dsr: lines.dsr, ring: lines.ring, carrier: lines.carrier }
        }
        HardwareOutcome::Described(description) => DeviceResult::Described { usb: usb(description) },
        HardwareOutcome::Received(bytes) => DeviceResult::Received { data: DeviceBytes::of(&bytes) },
        HardwareOutcome::Level { high } => DeviceResult::Level { high },
        HardwareOutcome::Events(events) => {
            let at_us = |at: Duration| u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
            let view = events.into_iter().map(|one| LineEventView { rising: one.rising, at_us: at_us(one.at) });
            DeviceResult::Events { events: view.collect() }
        }
    }
}

fn usb(said: UsbDescription) -> UsbView {
    let safe = |text: Option<String>| text.map(|text| escape_outside_text(&text));
    let interfaces = said.interfaces.into_iter().map(|interface| UsbInterfaceView {
        number: interface.number,
        class: interface.class,
        driver_active: interface.driver_active,
        endpoints: interface
            .endpoints
            .into_iter()
            .map(|endpoint| UsbEndpointView {
                address: endpoint.address,
                transfer: endpoint.transfer.to_owned(),
                max_packet: endpoint.max_packet,
            })
            .collect(),
    });
    UsbView {
        vendor: format!("{:04x}", said.vendor),
        product: format!("{:04x}", said.product),
        usb_version: escape_outside_text(&said.usb_version),
        class: said.class,
        manufacturer: safe(said.manufacturer),
        product_name: safe(said.product_name),
        interfaces: interfaces.collect(),
    }
}

/// Says why an act failed, with a stable code for each reason.
pub(crate) fn fault(error: &OpError) -> CommandError {
    let said = |code: &str| CommandError::new(code, crate::engine::sentence(&escape_outside_text(&error.to_string())));
    // A device's name stays as it is written.
    let of_device = |code: &str| {
        CommandError::new(code, crate::engine::sentence(&escape_outside_text(&format!("the device {error}"))))
    };
    match error {
        OpError::DeviceNotShared { device } => CommandError::new(
            "device_not_shared",
            format!(
                "No device named {} is shared. Share it in the window, or without a window in config.toml (share under [hardware]).",
                shown(device)
            ),
        ),
        OpError::Device { fault, .. } => of_device(device_code(*fault)),
        OpError::PowerOff { .. } => CommandError::new(
            "power_off",
            "The power over devices is switched off. Switch it on in the window, or start with --enable-hardware.",
        ),
        OpError::NoUi { .. } => CommandError::new(
            "no_ui",
            "Devices are set to ask before each use, and nobody can be asked here. Set the power to allowed, or start Drawbridge with its window.",
        ),
        OpError::Declined { .. } => {
            CommandError::new("declined", "The question was answered with no, so nothing was done.")
        }
        OpError::WaitingForConsent { .. } => CommandError::new(
            "waiting_for_consent",
            "Nobody has answered the question yet, so nothing was done. Answer it in the window and try again.",
        ),
        OpError::Raised { .. } => {
            CommandError::new("raised", "The bridge is raised, so nothing may act. Lower it first.")
        }
        OpError::Cancelled => CommandError::new("cancelled", "The act was ended before it was done."),
        OpError::AuditUnavailable => said("audit_unavailable"),
        OpError::Overloaded { .. } => said("busy"),
        OpError::Unsupported { .. } => said("unsupported"),
        OpError::InvalidPayload(_) | OpError::TooLarge { .. } => said("bad_act"),
        OpError::OutsideRoot { .. }
        | OpError::BadPath { .. }
        | OpError::ReservedName { .. }
        | OpError::NotFound { .. }
        | OpError::NotEmpty { .. }
        | OpError::Exists { .. }
        | OpError::File { .. }
        | OpError::ShellNotAvailable { .. }
        | OpError::CommandStart { .. }
        | OpError::ConfinementMissing { .. }
        | OpError::ChangedSinceAsked { .. }
        | OpError::DirectoryUnavailable { .. }
        | OpError::GrantInvalid { .. }
        | OpError::NotAttached { .. }
        | OpError::AlreadyActive { .. }
        | OpError::RevisionMismatch { .. }
        | OpError::NoSuchMonitor { .. }
        | OpError::OutOfBounds { .. }
        | OpError::WindowStale { .. }
        | OpError::PermissionPending { .. }
        | OpError::ProtectedApp { .. }
        | OpError::CannotType { .. }
        | OpError::TypingStopped { .. }
        | OpError::ClipboardConcealed { .. }
        | OpError::ModelNotAvailable { .. }
        | OpError::ModelBusy { .. }
        | OpError::ModelFailed { .. }
        | OpError::StubStale { .. }
        | OpError::PrivacyMode { .. }
        | OpError::TookTooLong { .. }
        | OpError::ReferenceInvalid
        | OpError::Internal(_) => said("failed"),
    }
}

const fn device_code(fault: DeviceFault) -> &'static str {
    match fault {
        DeviceFault::Absent => "device_absent",
        DeviceFault::Unplugged => "device_unplugged",
        DeviceFault::Busy => "device_busy",
        DeviceFault::Denied => "device_denied",
        DeviceFault::NotOpen => "device_not_open",
        DeviceFault::AlreadyOpen => "device_already_open",
        DeviceFault::Unsupported => "device_unsupported",
        DeviceFault::Timeout => "device_timeout",
        DeviceFault::Refused => "device_refused",
        DeviceFault::NoSystem => "device_no_system",
        DeviceFault::Io => "device_failed",
    }
}

#[cfg(test)]
#[path = "device_act_tests.rs"]
mod tests;
