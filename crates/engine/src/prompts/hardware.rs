//! What a question about a device shows: which device, and exactly what would be done with it.
//!
//! Bytes that would go out are shown whole: as text where they are one, else as hexadecimal digits. What does not fit can only be
//! denied, as everywhere.

use drawbridge_core::hardware::{GpioAct, HardwareAct, HardwareOp, LineChange, SerialAct, UsbAct, UsbData};
use serde_json::Value;

use super::label::Label;
use super::{PromptFacts, push};
use crate::consent::seal::Scene;
use crate::record::hardware::{bias_name, byte, level, settings, word};
use crate::view::PromptDetail;

/// Adds the facts of an operation on a device.
pub(super) fn facts(op: &HardwareOp, scene: &Scene, facts: &mut PromptFacts) {
    let known = scene.devices.facts(&op.device);
    let text = |key: &str| known.get(key).and_then(Value::as_str);
    let details = &mut facts.details;
    push(details, Label::Device, text("label").unwrap_or(op.device.as_str()));
    if let Some(place) = text("place") {
        push(details, Label::DevicePlace, place);
    }
    act(&op.act, details);
}

fn act(act: &HardwareAct, details: &mut Vec<PromptDetail>) {
    match act {
        HardwareAct::Serial(act) => serial(act, details),
        HardwareAct::Usb(act) => usb(act, details),
        HardwareAct::Gpio(act) => gpio(act, details),
    }
}

fn serial(act: &SerialAct, details: &mut Vec<PromptDetail>) {
    match act {
        SerialAct::Open(open) => push(details, Label::PortSettings, &settings(open)),
        SerialAct::Write { bytes } => out(bytes, details),
        SerialAct::Read(read) => {
            if let Some(until) = &read.until {
                shown(Label::Until, Label::UntilBytes, until, details);
            }
            push(details, Label::MostBytes, &read.max_bytes.to_string());
            push(details, Label::Duration, &read.timeout.as_millis().to_string());
        }
        SerialAct::Lines(LineChange { dtr, rts, send_break }) => {
            let named =
                |name: &str, on: &Option<bool>| on.map(|on| format!("{name} {}", if on { "on" } else { "off" }));
            let lines: Vec<String> = [named("DTR", dtr), named("RTS", rts)].into_iter().flatten().collect();
            if !lines.is_empty() {
                push(details, Label::PortLines, &lines.join(", "));
            }
            if let Some(time) = send_break {
                push(details, Label::Break, &time.as_millis().to_string());
            }
        }
        SerialAct::Close => {}
    }
}

fn usb(act: &UsbAct, details: &mut Vec<PromptDetail>) {
    match act {
        UsbAct::Describe => {}
        UsbAct::Control { request_type, request, value, index, data, timeout } => {
            let numbers = [
                format!("bmRequestType {}", byte(*request_type)),
                format!("bRequest {}", byte(*request)),
                format!("wValue {}", word(*value)),
                format!("wIndex {}", word(*index)),
            ];
            push(details, Label::UsbRequest, &numbers.join(", "));
            transferred(data, details);
            push(details, Label::Duration, &timeout.as_millis().to_string());
        }
        UsbAct::Transfer { endpoint, data, timeout } => {
            push(details, Label::UsbEndpoint, &byte(*endpoint));
            transferred(data, details);
            push(details, Label::Duration, &timeout.as_millis().to_string());
        }
    }
}

fn gpio(act: &GpioAct, details: &mut Vec<PromptDetail>) {
    push(details, Label::GpioLine, &act.line().to_string());
    match act {
        GpioAct::Read { bias, .. } => push(details, Label::Pull, bias_name(*bias)),
        GpioAct::Write { high, .. } => push(details, Label::Level, level(*high)),
        GpioAct::Watch { bias, timeout, .. } => {
            push(details, Label::Pull, bias_name(*bias));
            push(details, Label::Duration, &timeout.as_millis().to_string());
        }
        GpioAct::Release { .. } => {}
    }
}

fn transferred(data: &UsbData, details: &mut Vec<PromptDetail>) {
    match data {
        UsbData::Out(bytes) => out(bytes, details),
        UsbData::In(most) => push(details, Label::MostBytes, &most.to_string()),
    }
}

fn out(bytes: &[u8], details: &mut Vec<PromptDetail>) {
    if !bytes.is_empty() {
        shown(Label::Text, Label::Bytes, bytes, details);
    }
    push(details, Label::Size, &bytes.len().to_string());
}

/// Shows bytes as text if they are one, else as digits.
fn shown(as_text: Label, as_bytes: Label, bytes: &[u8], details: &mut Vec<PromptDetail>) {
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(plain) => push(details, as_text, text),
        Ok(_) | Err(_) => {
            let digits: Vec<String> = bytes.iter().map(|byte| drawbridge_core::hex::encode([*byte])).collect();
            push(details, as_bytes, &digits.join(" "));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drawbridge_core::hardware::{SerialRead, SerialSettings};

    use super::*;

    fn told(wanted: HardwareAct) -> Vec<(String, String)> {
        let mut details = Vec::new();
        act(&wanted, &mut details);
        details.into_iter().map(|detail| (detail.label, detail.value)).collect()
    }

    fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
        wanted.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_person_sees_what_would_be_sent() {
        let gcode = HardwareAct::Serial(SerialAct::Write { bytes: b"M104 S200\n".to_vec() });
        let [(label, text), size] = told(gcode).try_into().unwrap();
        assert_eq!((label.as_str(), size), ("text", ("size".to_owned(), "10".to_owned())));
        assert!(text.starts_with("M104 S200"), "{text}");

        let binary = HardwareAct::Serial(SerialAct::Write { bytes: vec![0x00, 0xff, 0x1b] });
        assert_eq!(told(binary), pairs(&[("bytes", "00 ff 1b"), ("size", "3")]));
        // What hides or turns text round is shown as what it is.
        let hidden = HardwareAct::Serial(SerialAct::Write { bytes: "a\u{202e}b".as_bytes().to_vec() });
        assert!(!told(hidden)[0].1.contains('\u{202e}'));
    }

    #[test]
    fn a_text_too_long_to_show_is_told_to_be_cut() {
        let long = HardwareAct::Serial(SerialAct::Write { bytes: vec![b'x'; super::super::DETAIL_CHARS + 1] });
        assert!(told(long).iter().any(|(label, _)| label == "left_out"));
    }

    #[test]
    fn settings_requests_and_lines_are_told_exactly() {
        let open = HardwareAct::Serial(SerialAct::Open(SerialSettings::default()));
        assert_eq!(told(open), pairs(&[("port_settings", "9600 8N1")]));
        let read = SerialRead { until: Some(b"ok\0".to_vec()), max_bytes: 9, timeout: Duration::from_secs(2) };
        assert_eq!(
            told(HardwareAct::Serial(SerialAct::Read(read))),
            pairs(&[("until_bytes", "6f 6b 00"), ("most_bytes", "9"), ("duration", "2000")])
        );
        let control = UsbAct::Control {
            request_type: 0x40,
            request: 9,
            value: 1,
            index: 2,
            data: UsbData::Out(Vec::new()),
            timeout: Duration::from_secs(1),
        };
        assert_eq!(
            told(HardwareAct::Usb(control)),
            pairs(&[
                ("usb_request", "bmRequestType 0x40, bRequest 0x09, wValue 0x0001, wIndex 0x0002"),
                ("size", "0"),
                ("duration", "1000")
            ])
        );
        let drive = HardwareAct::Gpio(GpioAct::Write { line: 17, high: true });
        assert_eq!(told(drive), pairs(&[("gpio_line", "17"), ("level", "high")]));
    }
}
