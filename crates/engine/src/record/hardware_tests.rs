//! Every act tells which device, what and how much, and never the bytes.

use std::time::Duration;

use drawbridge_core::hardware::{DeviceId, ReadEnd, SerialBytes, SerialRead};

use super::*;

fn op(act: HardwareAct) -> HardwareOp {
    HardwareOp { device: DeviceId::parse("serial-1").unwrap(), act, hold: None }
}

fn serial(act: SerialAct) -> HardwareOp {
    op(HardwareAct::Serial(act))
}

#[test]
fn an_opened_port_is_told_with_its_settings() {
    let settings =
        SerialSettings { baud: 115_200, data_bits: 7, parity: Parity::Even, stop_bits: 2, flow: Flow::Hardware };

    let told = details(&serial(SerialAct::Open(settings)));

    assert_eq!(told, json!({ "device": "serial-1", "settings": "115200 7E2 RTS/CTS", "flow": "hardware" }));
}

#[test]
fn bytes_that_go_out_come_in_or_are_waited_for_are_only_counted() {
    let secret = b"PIN 4711".to_vec();
    let write = details(&serial(SerialAct::Write { bytes: secret.clone() }));
    let wanted = SerialRead { until: Some(secret.clone()), max_bytes: 64, timeout: Duration::from_millis(250) };
    let read = details(&serial(SerialAct::Read(wanted)));
    let came = SerialBytes { bytes: secret.clone(), ended: ReadEnd::Pattern, lost: 3, waiting: 1 };
    let came = afterwards(&HardwareOutcome::Read(came)).unwrap();
    let out = UsbAct::Transfer { endpoint: 2, data: UsbData::Out(secret.clone()), timeout: Duration::from_secs(1) };
    let out = details(&op(HardwareAct::Usb(out)));
    let received = afterwards(&HardwareOutcome::Received(secret)).unwrap();

    assert_eq!(write, json!({ "device": "serial-1", "size_bytes": 8 }));
    assert_eq!(read, json!({ "device": "serial-1", "max_bytes": 64, "timeout_ms": 250, "until_length": 8 }));
    assert_eq!(came, json!({ "size_bytes_returned": 8, "ended": "pattern", "lost": 3 }));
    assert_eq!(
        out,
        json!({ "device": "serial-1", "endpoint": "0x02", "size_bytes": 8, "max_bytes": null, "timeout_ms": 1000 })
    );
    assert_eq!(received, json!({ "size_bytes_returned": 8 }));
    for told in [write, read, came, out, received] {
        assert!(!told.to_string().contains("4711"), "{told}");
    }
}

#[test]
fn a_usb_request_and_a_line_are_told_by_their_numbers() {
    let control = UsbAct::Control {
        request_type: 0xc0,
        request: 1,
        value: 0x0302,
        index: 0,
        data: UsbData::In(18),
        timeout: Duration::from_secs(1),
    };
    let told = details(&op(HardwareAct::Usb(control)));
    assert_eq!(told["request_type"], "0xc0");
    assert_eq!((&told["request"], &told["value"]), (&json!("0x01"), &json!("0x0302")));
    assert_eq!((&told["max_bytes"], &told["size_bytes"]), (&json!(18), &Value::Null));
    let drive = op(HardwareAct::Gpio(GpioAct::Write { line: 17, high: true }));
    assert_eq!(details(&drive), json!({ "device": "serial-1", "line": 17, "level": "high" }));
    assert_eq!(sentence(&drive), "A program on this computer wants to set line 17 of a GPIO chip high");
}

#[test]
fn a_record_is_about_its_device_and_what_was_done() {
    let of = |op: &str, details: Value| subject(op, details.as_object().unwrap());
    let label = "Practice board";

    let open = of("HARDWARE_SERIAL_OPEN", json!({ "device": "serial-1", "label": label, "settings": "9600 8N1" }));
    assert_eq!(open.as_deref(), Some("Practice board: 9600 8N1"));
    let read = of("HARDWARE_SERIAL_READ", json!({ "device": "serial-1", "label": label, "size_bytes_returned": 5 }));
    assert_eq!(read.as_deref(), Some("Practice board: 5 bytes"));
    let level = of("HARDWARE_GPIO_READ", json!({ "device": "gpio-a", "line": 4, "level": "low" }));
    assert_eq!(level.as_deref(), Some("gpio-a: line 4 low"));
    assert_eq!(of("HARDWARE_SERIAL_CLOSE", json!({ "device": "serial-1" })).as_deref(), Some("serial-1"));
    assert_eq!(of("FILE_READ", json!({ "path": "/x" })), None);
}
