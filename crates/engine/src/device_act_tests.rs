//! What is taken for an act and what is not.

use std::path::Path;
use std::time::Duration;

use drawbridge_core::hardware::{
    Flow, HardwareAct, HardwareOutcome, LineEvent, LineEvents, Parity, ReadEnd, SerialAct, SerialBytes, SerialRead,
    SerialSettings,
};
use drawbridge_core::{DeviceFault, OpError};

use super::*;
use crate::handle::CommandError;

fn of(act: DeviceAct) -> Result<HardwareAct, CommandError> {
    operation("serial-1", act, None).map(|op| op.act)
}

fn open(baud: u32, data_bits: u8, parity: &str, stop_bits: u8, flow: &str) -> DeviceAct {
    DeviceAct::SerialOpen { baud, data_bits, parity: parity.to_owned(), stop_bits, flow: flow.to_owned() }
}

#[test]
fn settings_of_a_port_are_taken_within_their_bounds() {
    let taken = of(open(115_200, 7, "even", 2, "hardware")).unwrap();

    let settings =
        SerialSettings { baud: 115_200, data_bits: 7, parity: Parity::Even, stop_bits: 2, flow: Flow::Hardware };
    assert!(taken == HardwareAct::Serial(SerialAct::Open(settings)));
    for (wrong, field) in [
        (open(49, 8, "none", 1, "none"), "baud"),
        (open(4_000_001, 8, "none", 1, "none"), "baud"),
        (open(9600, 9, "none", 1, "none"), "data_bits"),
        (open(9600, 8, "mark", 1, "none"), "parity"),
        (open(9600, 8, "none", 3, "none"), "stop_bits"),
        (open(9600, 8, "none", 1, "dtr"), "flow"),
    ] {
        let fault = of(wrong).err().unwrap();
        assert_eq!(fault.code, "bad_act");
        assert!(fault.message.contains(&format!("field {field} must be")), "{}", fault.message);
    }
}

#[test]
fn bytes_are_base64_and_not_too_many() {
    let write = |data: &str| DeviceAct::SerialWrite { data: DeviceBytes(data.to_owned()) };
    assert!(
        of(write("TTEwNCBTMjAwCg==")).unwrap()
            == HardwareAct::Serial(SerialAct::Write { bytes: b"M104 S200\n".to_vec() })
    );

    let most = DeviceAct::SerialWrite { data: DeviceBytes::of(&vec![0; MAX_OUT_BYTES]) };
    assert!(of(most).is_ok());
    let more = DeviceAct::SerialWrite { data: DeviceBytes::of(&vec![0; MAX_OUT_BYTES + 1]) };
    for wrong in [write("no base64!"), write(""), more] {
        assert_eq!(of(wrong).err().unwrap().code, "bad_act");
    }
}

#[test]
fn a_read_waits_within_its_bounds() {
    let read = |until: Option<&[u8]>, max_bytes, timeout_ms| DeviceAct::SerialRead {
        until: until.map(DeviceBytes::of),
        max_bytes,
        timeout_ms,
    };
    let wanted = SerialRead { until: Some(b"ok\n".to_vec()), max_bytes: 64, timeout: Duration::from_millis(1500) };
    assert!(of(read(Some(b"ok\n"), 64, 1500)).unwrap() == HardwareAct::Serial(SerialAct::Read(wanted)));
    for wrong in [
        read(Some(b""), 64, 1),
        read(Some(&[b'x'; MAX_PATTERN_BYTES + 1]), 64, 1),
        read(None, 0, 1),
        read(None, MAX_IN_BYTES + 1, 1),
        read(None, 1, MAX_WAIT_MS + 1),
    ] {
        assert_eq!(of(wrong).err().unwrap().code, "bad_act");
    }
}

#[test]
fn a_usb_transfer_goes_the_way_that_its_highest_bit_says() {
    let transfer = |endpoint, out: Option<&[u8]>, max_bytes| DeviceAct::UsbTransfer {
        endpoint,
        out: out.map(DeviceBytes::of),
        max_bytes,
        timeout_ms: 100,
    };
    assert!(of(transfer(0x81, None, Some(64))).is_ok());
    assert!(of(transfer(0x02, Some(b"x"), None)).is_ok());
    for wrong in [
        transfer(0x81, Some(b"x"), None),
        transfer(0x02, None, Some(64)),
        transfer(0x81, None, None),
        transfer(0x02, Some(b"x"), Some(1)),
        transfer(0x81, None, Some(MAX_IN_BYTES + 1)),
    ] {
        assert_eq!(of(wrong).err().unwrap().code, "bad_act");
    }
    let control = |request_type, out: Option<&[u8]>, max_bytes| DeviceAct::UsbControl {
        request_type,
        request: 1,
        value: 0,
        index: 0,
        out: out.map(DeviceBytes::of),
        max_bytes,
        timeout_ms: 1000,
    };
    assert!(of(control(0xC0, None, Some(18))).is_ok());
    assert!(of(control(0x40, Some(b""), None)).is_ok(), "a request without data is usual");
    assert_eq!(of(control(0xC0, None, Some(65_536))).err().unwrap().code, "bad_act");
}

#[test]
fn lines_and_names_are_checked() {
    let watch = |edge: &str, bias: &str, max_events| DeviceAct::GpioWatch {
        line: 4,
        bias: bias.to_owned(),
        edge: edge.to_owned(),
        max_events,
        timeout_ms: 10,
    };
    assert!(of(watch("falling", "up", 1)).is_ok());
    for wrong in
        [watch("sideways", "up", 1), watch("both", "left", 1), watch("both", "up", 0), watch("both", "up", 10_001)]
    {
        assert_eq!(of(wrong).err().unwrap().code, "bad_act");
    }
    let long = DeviceAct::SerialLines { dtr: Some(true), rts: None, break_ms: Some(5001) };
    assert_eq!(of(long).err().unwrap().code, "bad_act");
    let odd = operation("../dev/sda", DeviceAct::SerialClose, None).err().unwrap();
    assert_eq!(odd.code, "unknown_device");
}

#[test]
fn what_came_of_it_is_told_and_shows_no_bytes() {
    let read = SerialBytes { bytes: b"secret".to_vec(), ended: ReadEnd::Pattern, lost: 3, waiting: 9 };
    let told = result(HardwareOutcome::Read(read));

    let wanted =
        serde_json::json!({ "result": "read", "data": "c2VjcmV0", "ended": "pattern", "lost": 3, "waiting": 9 });
    assert_eq!(serde_json::to_value(&told).unwrap(), wanted);
    assert!(!format!("{told:?}").contains("c2Vj"));
    let event = LineEvent { rising: true, at: Duration::from_micros(2500) };
    let told = result(HardwareOutcome::Events(LineEvents { events: vec![event], lost: 3 }));
    assert_eq!(told, DeviceResult::Events { events: vec![LineEventView { rising: true, at_us: 2500 }], lost: 3 });
}

#[test]
fn every_fault_has_a_code_of_its_own_and_says_what_to_do() {
    let device =
        |fault| OpError::Device { device: "serial-1".to_owned(), fault, message: "join the group dialout".to_owned() };
    let said = fault(&device(DeviceFault::Denied));
    assert_eq!(said.code, "device_denied");
    assert!(said.message.contains("join the group dialout"), "{}", said.message);
    assert_eq!(fault(&device(DeviceFault::Busy)).code, "device_busy");
    let not_shared = fault(&OpError::DeviceNotShared { device: "usb-1\u{202e}".to_owned() });
    assert_eq!(not_shared.code, "device_not_shared");
    assert!(
        !not_shared.message.contains('\u{202e}') && not_shared.message.contains("[hardware]"),
        "{}",
        not_shared.message
    );
}

#[test]
fn the_audit_log_and_the_page_know_each_fault_by_a_code_of_its_own() {
    let faults = [
        DeviceFault::Absent,
        DeviceFault::Unplugged,
        DeviceFault::Busy,
        DeviceFault::Denied,
        DeviceFault::NotOpen,
        DeviceFault::AlreadyOpen,
        DeviceFault::Unsupported,
        DeviceFault::Timeout,
        DeviceFault::Refused,
        DeviceFault::Overrun,
        DeviceFault::NoSystem,
        DeviceFault::Io,
    ];
    let device = |fault| OpError::Device { device: "serial-1".to_owned(), fault, message: String::new() };
    let mut codes: Vec<&str> = faults.iter().map(|fault| recorded(&device(*fault)).unwrap()).collect();
    codes.push(recorded(&OpError::Cancelled).unwrap());
    let distinct: std::collections::BTreeSet<&str> = codes.iter().copied().collect();
    assert_eq!(distinct.len(), 13);
    for language in ["en", "de"] {
        let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../ui/src/lib/text/{language}/devices.ts"));
        let texts = std::fs::read_to_string(texts).unwrap();
        for code in &codes {
            assert!(texts.contains(&format!("'refused.{code}': ")), "{language} has no words for {code}");
        }
    }
    assert_eq!(recorded(&OpError::DeviceNotShared { device: "serial-1".to_owned() }), None, "policy says why");
}
