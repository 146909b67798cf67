use drawbridge_core::DeviceFault::{self, Refused, Unsupported};

use super::*;
use crate::hardware::usb::recorded::{arduino_uno, debugger, ftdi, keyboard, network_adapter, security_key, stick};

const fn setup(request_type: u8, request: u8, value: u16, index: u16) -> Setup {
    Setup { request_type, request, value, index }
}

fn fault<T: std::fmt::Debug>(result: Result<T, HardwareFault>) -> DeviceFault {
    result.unwrap_err().fault
}

#[test]
fn each_interface_is_judged_by_its_kind_and_by_what_stands_beside_it() {
    let judged =
        |device: &UsbDevice| -> Vec<_> { device.functions.iter().map(|one| interface(device, one.number)).collect() };
    assert_eq!(judged(&arduino_uno()), [None, None]);
    assert_eq!(judged(&ftdi()), [None]);
    assert_eq!(judged(&keyboard()), [Some(Guarded::Input), Some(Guarded::Input)]);
    assert_eq!(judged(&stick()), [Some(Guarded::Storage)]);
    assert_eq!(judged(&security_key()), [Some(Guarded::Input), Some(Guarded::Input), Some(Guarded::SmartCard)]);
    assert_eq!(judged(&debugger()), [None, Some(Guarded::Storage), None, None]);
    // The data of a network adapter look like those of a serial port.
    assert_eq!(judged(&network_adapter()), [Some(Guarded::Network), Some(Guarded::Network)]);
}

#[test]
fn a_kind_that_nobody_listed_is_guarded() {
    for known in [[0x02, 0x02, 0x01], [0x0a, 0, 0], [0xff, 0x42, 0x01], [0xfe, 0x01, 0x02], [0xfe, 0x03, 0x00]] {
        assert_eq!(class(known), None, "{known:02x?}");
    }
    for (unknown, kind) in [
        ([0x00, 0, 0], Guarded::Other),
        ([0x02, 0x06, 0], Guarded::Network),
        ([0x06, 1, 1], Guarded::Pictures),
        ([0x07, 1, 2], Guarded::Printer),
        ([0x0e, 1, 0], Guarded::Video),
        ([0x11, 0, 0], Guarded::Other),
        ([0x5a, 0, 0], Guarded::Other),
        ([0xe0, 1, 1], Guarded::Radio),
        ([0xef, 4, 1], Guarded::Other),
        ([0xfe, 0x7f, 0], Guarded::Other),
    ] {
        assert_eq!(class(unknown), Some(kind), "{unknown:02x?}");
    }
}

#[test]
fn an_interface_is_what_any_of_its_settings_is() {
    let mut device = ftdi();
    device.functions[0].other_classes = vec![[0x08, 0x06, 0x62]];
    assert_eq!(interface(&device, 0), Some(Guarded::Storage));
}

#[test]
fn a_device_that_is_of_a_guarded_kind_as_a_whole_hides_behind_no_interface() {
    let mut device = ftdi();
    device.class = [0xe0, 0x01, 0x01];
    assert_eq!(interface(&device, 0), Some(Guarded::Radio));
    assert_eq!(fault(transfer(&device, 0x81, true)), Refused);
}

#[test]
fn new_firmware_is_possible_unless_the_device_has_a_guarded_part() {
    let firmware = |mut device: UsbDevice| {
        let mut dfu = device.functions[0].clone();
        (dfu.number, dfu.class, dfu.endpoints) = (7, [0xfe, 0x01, 0x01], Vec::new());
        device.functions.push(dfu);
        interface(&device, 7)
    };
    assert_eq!(firmware(ftdi()), None);
    assert_eq!(firmware(keyboard()), Some(Guarded::Firmware));
}

#[test]
fn transfers_go_to_open_interfaces_alone() {
    let (interface, endpoint) = transfer(&ftdi(), 0x81, true).unwrap();
    assert_eq!((interface, endpoint.transfer, endpoint.max_packet), (0, "bulk", 64));
    assert_eq!(transfer(&debugger(), 0x01, false).unwrap().0, 0);

    assert_eq!(fault(transfer(&debugger(), 0x83, true)), Refused);
    assert_eq!(fault(transfer(&keyboard(), 0x81, true)), Refused);
    assert_eq!(fault(transfer(&ftdi(), 0x83, true)), Unsupported);
    assert_eq!(fault(transfer(&ftdi(), 0x81, false)), Unsupported);
    let said = transfer(&ftdi(), 0x05, false).unwrap_err().message;
    assert!(said.contains("0x05") && said.contains("0x81, 0x02"), "{said}");
    let said = transfer(&stick(), 0x81, true).unwrap_err().message;
    assert!(said.contains("interface 0 is a disk"), "{said}");
}

#[test]
fn isochronous_end_points_are_told_apart() {
    let mut device = ftdi();
    device.functions[0].endpoints[0].transfer = "isochronous";
    assert_eq!(fault(transfer(&device, 0x81, true)), Unsupported);
}

#[test]
fn reading_descriptors_and_states_is_possible() {
    for (request_type, request) in [(0x80, 6), (0x80, 0), (0x80, 8)] {
        assert_eq!(control(&ftdi(), setup(request_type, request, 0x0100, 0), true), Ok(Allowed::Control(None)));
    }
    assert_eq!(control(&ftdi(), setup(0x81, 10, 0, 0), true), Ok(Allowed::Control(Some(0))));
    assert_eq!(control(&ftdi(), setup(0x82, 0, 0, 0x81), true), Ok(Allowed::Control(Some(0))));
}

#[test]
fn nothing_standard_changes_a_device() {
    // Clear feature, set feature, set address, set descriptor, set configuration; set interface; a halt that is set.
    for request in [1, 3, 5, 7, 9] {
        assert_eq!(fault(control(&ftdi(), setup(0x00, request, 1, 0), false)), Refused, "{request}");
    }
    assert_eq!(fault(control(&ftdi(), setup(0x01, 11, 1, 0), false)), Refused);
    assert_eq!(fault(control(&ftdi(), setup(0x02, 3, 0, 0x81), false)), Refused);
    assert_eq!(
        control(&ftdi(), setup(0x02, 1, 0, 0x81), false),
        Ok(Allowed::ClearHalt { interface: 0, endpoint: 0x81 })
    );
}

#[test]
fn requests_of_class_and_maker_go_to_open_interfaces() {
    // FTDI's set baud rate goes to the device; a serial port's line coding to its interface.
    assert_eq!(control(&ftdi(), setup(0x40, 3, 0x4138, 0), false), Ok(Allowed::Control(None)));
    assert_eq!(control(&arduino_uno(), setup(0x21, 0x20, 0, 0), false), Ok(Allowed::Control(Some(0))));
    assert_eq!(control(&debugger(), setup(0x21, 0x20, 0, 2), false), Ok(Allowed::Control(Some(2))));

    // A reset of mass storage; a report to a keyboard; a request that could concern every part.
    assert_eq!(fault(control(&debugger(), setup(0x21, 0xff, 0, 1), false)), Refused);
    assert_eq!(fault(control(&keyboard(), setup(0x21, 9, 0x0200, 0), false)), Refused);
    assert_eq!(fault(control(&debugger(), setup(0x40, 1, 0, 0), false)), Refused);
    assert_eq!(fault(control(&debugger(), setup(0x43, 1, 0, 0), false)), Refused);
    assert_eq!(control(&debugger(), setup(0x80, 6, 0x0100, 0), true), Ok(Allowed::Control(None)));
    assert_eq!(fault(control(&keyboard(), setup(0x80, 6, 0x0100, 0), true)), Refused);
}

#[test]
fn the_high_byte_of_an_index_hides_no_interface() {
    assert_eq!(fault(control(&debugger(), setup(0x21, 0xff, 0, 0x7701), false)), Refused);
    assert_eq!(control(&ftdi(), setup(0x41, 1, 0, 0x7700), false), Ok(Allowed::Control(Some(0))));
    assert_eq!(fault(control(&ftdi(), setup(0x41, 1, 0, 9), false)), Unsupported);
}

#[test]
fn what_contradicts_itself_or_is_reserved_is_not_sent() {
    assert_eq!(fault(control(&ftdi(), setup(0x80, 6, 0x0100, 0), false)), Unsupported);
    assert_eq!(fault(control(&ftdi(), setup(0x40, 1, 0, 0), true)), Unsupported);
    assert_eq!(fault(control(&ftdi(), setup(0x60, 1, 0, 0), false)), Unsupported);
    assert_eq!(fault(control(&ftdi(), setup(0x44, 1, 0, 0), false)), Unsupported);
    assert_eq!(fault(control(&ftdi(), setup(0x42, 1, 0, 0x07), false)), Unsupported);
}

#[test]
fn a_device_that_is_not_set_up_tells_its_descriptors_and_no_more() {
    let mut device = ftdi();
    device.functions.clear();
    assert_eq!(control(&device, setup(0x80, 6, 0x0100, 0), true), Ok(Allowed::Control(None)));
    assert_eq!(fault(control(&device, setup(0x40, 1, 0, 0), false)), Refused);
}
