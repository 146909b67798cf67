//! What an act asks for, checked once, with the name of the field that is wrong.

use std::time::Duration;

use drawbridge_core::hardware::{
    Bias, DeviceId, Edge, Flow, GpioAct, HardwareAct, HardwareOp, LineChange, Parity, SerialAct, SerialRead,
    SerialSettings, UsbAct, UsbData,
};

use super::{
    DeviceAct, DeviceBytes, MAX_BREAK_MS, MAX_EVENTS, MAX_IN_BYTES, MAX_OUT_BYTES, MAX_PATTERN_BYTES, MAX_WAIT_MS,
};
use crate::handle::CommandError;
use crate::record::shown;

/// Makes an operation of an act.
///
/// # Errors
/// `unknown_device` for what cannot be a device's name, `bad_act` with the field that is wrong.
pub(crate) fn operation(device: &str, act: DeviceAct, hold: Option<u64>) -> Result<HardwareOp, CommandError> {
    let device = device_named(device)?;
    Ok(HardwareOp { device, act: checked(act)?, hold })
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
