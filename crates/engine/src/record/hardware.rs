//! What the audit log and the window say about devices: which, what, how much; never the bytes.
//!
//! Where a device is and what it is called, the dispatcher adds: an operation holds its name alone.

use drawbridge_core::hardware::{
    Bias, Edge, Flow, GpioAct, HardwareAct, HardwareOp, HardwareOutcome, LineChange, Parity, SerialAct, SerialSettings,
    UsbAct, UsbData,
};
use serde_json::{Map, Value, json};

/// Returns the details that are known before it runs.
pub(super) fn details(op: &HardwareOp) -> Value {
    let mut details = match &op.act {
        HardwareAct::Serial(act) => serial(act),
        HardwareAct::Usb(act) => usb(act),
        HardwareAct::Gpio(act) => gpio(act),
    };
    if let Some(fields) = details.as_object_mut() {
        fields.insert("device".to_owned(), op.device.as_str().into());
    }
    details
}

fn serial(act: &SerialAct) -> Value {
    match act {
        SerialAct::Open(open) => json!({ "settings": settings(open), "flow": open.flow.name() }),
        SerialAct::Write { bytes } => json!({ "size_bytes": bytes.len() }),
        SerialAct::Read(read) => json!({
            "max_bytes": read.max_bytes,
            "timeout_ms": ms(read.timeout),
            "until_length": read.until.as_ref().map(Vec::len),
        }),
        SerialAct::Lines(LineChange { dtr, rts, send_break }) => {
            json!({ "dtr": dtr, "rts": rts, "break_ms": send_break.map(ms) })
        }
        SerialAct::Close => json!({}),
    }
}

fn usb(act: &UsbAct) -> Value {
    match act {
        UsbAct::Describe => json!({}),
        UsbAct::Control { request_type, request, value, index, data, timeout } => json!({
            "request_type": byte(*request_type),
            "request": byte(*request),
            "value": word(*value),
            "index": word(*index),
            "size_bytes": size_out(data),
            "max_bytes": size_in(data),
            "timeout_ms": ms(*timeout),
        }),
        UsbAct::Transfer { endpoint, data, timeout } => json!({
            "endpoint": byte(*endpoint),
            "size_bytes": size_out(data),
            "max_bytes": size_in(data),
            "timeout_ms": ms(*timeout),
        }),
    }
}

fn gpio(act: &GpioAct) -> Value {
    match act {
        GpioAct::Read { line, bias } => json!({ "line": line, "bias": bias_name(*bias) }),
        GpioAct::Write { line, high } => json!({ "line": line, "level": level(*high) }),
        GpioAct::Watch { line, bias, edge, max_events, timeout } => json!({
            "line": line,
            "bias": bias_name(*bias),
            "edge": edge_name(*edge),
            "max_events": max_events,
            "timeout_ms": ms(*timeout),
        }),
        GpioAct::Release { line } => json!({ "line": line }),
    }
}

/// Returns what is known only afterwards.
pub(super) fn afterwards(outcome: &HardwareOutcome) -> Option<Value> {
    Some(match outcome {
        HardwareOutcome::Done => return None,
        HardwareOutcome::Written { bytes } => json!({ "size_bytes_written": bytes }),
        HardwareOutcome::Read(read) => json!({
            "size_bytes_returned": read.bytes.len(),
            "ended": read.ended.name(),
            "lost": read.lost,
        }),
        HardwareOutcome::Lines(lines) => {
            json!({ "cts": lines.cts, "dsr": lines.dsr, "ring": lines.ring, "carrier": lines.carrier })
        }
        HardwareOutcome::Described(usb) => json!({ "interfaces": usb.interfaces.len() }),
        HardwareOutcome::Received(bytes) => json!({ "size_bytes_returned": bytes.len() }),
        HardwareOutcome::Level { high } => json!({ "level": level(*high) }),
        HardwareOutcome::Events(told) => json!({ "events": told.events.len(), "lost": told.lost }),
    })
}

/// Returns what a record is about; none for records of other operations.
pub(super) fn subject(op: &str, details: &Map<String, Value>) -> Option<String> {
    let what = op.strip_prefix("HARDWARE_")?;
    let text = |key: &str| details.get(key).and_then(Value::as_str);
    let number = |key: &str| details.get(key).and_then(Value::as_u64);
    let device = text("label").or_else(|| text("device")).unwrap_or_default();
    // Words of our own stand in the names of the details too: what is searched for is found there.
    let more = match what {
        "SERIAL_OPEN" => text("settings").map(str::to_owned),
        "SERIAL_WRITE" => number("size_bytes").map(|size| format!("{size} bytes")),
        "SERIAL_READ" => number("size_bytes_returned").map(|size| format!("{size} bytes")),
        "USB_CONTROL" => text("request").map(|request| format!("request {request}")),
        "USB_TRANSFER" => text("endpoint").map(|endpoint| format!("endpoint {endpoint}")),
        "GPIO_READ" | "GPIO_WRITE" | "GPIO_WATCH" | "GPIO_RELEASE" => number("line").map(|line| match text("level") {
            Some(level) => format!("line {line} {level}"),
            None => format!("line {line}"),
        }),
        _ => None,
    };
    Some(more.map_or_else(|| device.to_owned(), |more| format!("{device}: {more}")))
}

/// Says what an operation would do, in one plain sentence.
pub(super) fn sentence(op: &HardwareOp) -> String {
    let wish = match &op.act {
        HardwareAct::Serial(act) => match act {
            SerialAct::Open(_) => "open a serial port".to_owned(),
            SerialAct::Write { bytes } => format!("send {} to a serial port", counted(bytes.len(), "byte")),
            SerialAct::Read(_) => "read what came in by a serial port".to_owned(),
            SerialAct::Lines(_) => "set the lines of a serial port".to_owned(),
            SerialAct::Close => "close a serial port".to_owned(),
        },
        HardwareAct::Usb(act) => match act {
            UsbAct::Describe => "ask a USB device what it is".to_owned(),
            UsbAct::Control { data, .. } | UsbAct::Transfer { data, .. } => match data {
                UsbData::Out(bytes) => format!("send {} to a USB device", counted(bytes.len(), "byte")),
                UsbData::In(_) => "read from a USB device".to_owned(),
            },
        },
        HardwareAct::Gpio(act) => match act {
            GpioAct::Read { line, .. } => format!("read line {line} of a GPIO chip"),
            GpioAct::Write { line, high } => format!("set line {line} of a GPIO chip {}", level(*high)),
            GpioAct::Watch { line, .. } => format!("watch line {line} of a GPIO chip"),
            GpioAct::Release { line } => format!("let line {line} of a GPIO chip go"),
        },
    };
    format!("A program on this computer wants to {wish}")
}

/// Settings of a serial port in the usual short form: "115200 8N1".
pub(crate) fn settings(open: &SerialSettings) -> String {
    let parity = match open.parity {
        Parity::None => 'N',
        Parity::Even => 'E',
        Parity::Odd => 'O',
    };
    let flow = match open.flow {
        Flow::None => "",
        Flow::Software => " XON/XOFF",
        Flow::Hardware => " RTS/CTS",
    };
    format!("{} {}{parity}{}{flow}", open.baud, open.data_bits, open.stop_bits)
}

/// A byte as the papers of devices write it.
pub(crate) fn byte(value: u8) -> String {
    format!("0x{value:02x}")
}

/// Two bytes as the papers of devices write them.
pub(crate) fn word(value: u16) -> String {
    format!("0x{value:04x}")
}

/// The level of a line.
pub(crate) const fn level(high: bool) -> &'static str {
    if high { "high" } else { "low" }
}

/// How a line is pulled.
pub(crate) const fn bias_name(bias: Bias) -> &'static str {
    match bias {
        Bias::AsIs => "as_is",
        Bias::PullUp => "up",
        Bias::PullDown => "down",
        Bias::None => "none",
    }
}

const fn edge_name(edge: Edge) -> &'static str {
    match edge {
        Edge::Rising => "rising",
        Edge::Falling => "falling",
        Edge::Both => "both",
    }
}

const fn size_out(data: &UsbData) -> Option<usize> {
    match data {
        UsbData::Out(bytes) => Some(bytes.len()),
        UsbData::In(_) => None,
    }
}

const fn size_in(data: &UsbData) -> Option<u32> {
    match data {
        UsbData::Out(_) => None,
        UsbData::In(most) => Some(*most),
    }
}

fn ms(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
#[path = "hardware_tests.rs"]
mod tests;
