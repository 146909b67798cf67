//! USB devices of this machine, whatever it has, and recorded ones.

use std::collections::BTreeSet;
use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{DeviceId, DevicePlace, UsbData};
use drawbridge_os::hardware::Stop;
use drawbridge_os::hardware::usb::recorded::{
    Recorded, arduino_uno, debugger, ftdi, keyboard, network_adapter, security_key, silence, stick,
};
use drawbridge_os::hardware::usb::{self, Moved, Setup, UsbDevice, UsbDevices as _};

const GET_DEVICE: Setup = Setup { request_type: 0x80, request: 6, value: 0x0100, index: 0 };

fn desk() -> Recorded {
    let bus = Recorded::default();
    for device in [arduino_uno(), ftdi(), keyboard(), stick(), security_key(), debugger(), network_adapter()] {
        bus.plug(device, |_, _, _| Ok(Moved::In(Vec::new())));
    }
    bus
}

fn changed(mut device: UsbDevice, change: impl FnOnce(&mut UsbDevice)) -> UsbDevice {
    change(&mut device);
    device
}

#[test]
fn this_machine_is_looked_at_without_a_fault_and_tells_no_serial_number() {
    let system = usb::of_system();

    let found = system.found().expect("a machine without USB has no devices, which is no fault");
    let listed = system.list();

    let there = std::path::Path::new("/sys/bus/usb/devices").is_dir();
    println!(
        "this machine {} USB, with {} devices that are no hubs",
        if there { "has" } else { "has no" },
        found.len()
    );
    assert!(there || found.is_empty());
    assert_eq!(listed.len(), found.len());
    assert!(found.iter().all(|one| one.class[0] != 0x09), "hubs are left out");
    for (device, one) in listed.iter().zip(&found) {
        assert_eq!(system.find(&device.id).as_ref(), Ok(one));
    }
}

#[test]
fn a_device_that_is_not_there_is_absent() {
    let gone = DeviceId::parse("usb-0a1b2c3d4e5f").unwrap();

    assert_eq!(usb::of_system().find(&gone).unwrap_err().fault, DeviceFault::Absent);
    assert_eq!(usb::of_system().open(&gone).map(drop).unwrap_err().fault, DeviceFault::Absent);
}

#[test]
fn each_device_has_a_name_of_its_own_and_words_without_its_serial_number() {
    let listed = desk().list();

    let names: BTreeSet<&str> = listed.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(names.len(), 7);
    assert!(names.iter().all(|name| name.starts_with("usb-")), "{names:?}");
    let words: Vec<&str> = listed.iter().map(|one| one.description.as_str()).collect();
    assert_eq!(words[..3], ["Arduino (www.arduino.cc)", "FTDI FT232R USB UART", "Logitech USB Keyboard"]);
    assert_eq!(listed[0].place, DevicePlace::Usb { vendor: 0x2341, product: 0x0043, bus: 1, address: 4 });
    let all = format!("{listed:?} {:?}", desk().found());
    for serial in ["85430353531351B0D1A1", "A50285BI", "4C530001230112116441", "066DFF485550755187"] {
        assert!(!all.to_lowercase().contains(&serial.to_lowercase()), "{serial}");
    }
}

#[test]
fn a_name_follows_the_device_into_another_socket_and_no_other_device_takes_it() {
    let name_at = |address: u8, ports: Vec<u8>| {
        let bus = Recorded::default();
        let device = changed(ftdi(), |one| (one.address, one.ports) = (address, ports));
        bus.plug(device, |_, _, _| Ok(Moved::Out(0)));
        bus.list().remove(0).id
    };
    assert_eq!(name_at(5, vec![1, 5]), name_at(9, vec![3]));

    // Two that tell one serial number are told apart by their sockets.
    let bus = Recorded::default();
    bus.plug(ftdi(), |_, _, _| Ok(Moved::Out(0)));
    bus.plug(changed(ftdi(), |one| (one.address, one.ports) = (9, vec![3])), |_, _, _| Ok(Moved::Out(0)));
    let both = bus.list();
    assert_ne!(both[0].id, both[1].id);
    assert_ne!(both[0].id, name_at(5, vec![1, 5]));
}

#[test]
fn what_a_device_says_of_itself_is_described_and_cleaned() {
    let bus = Recorded::default();
    let device = changed(ftdi(), |one| one.product_name = Some("evil\u{202e}\u{7} board A50285BI".to_owned()));
    bus.plug(device, |_, _, _| Ok(Moved::Out(0)));

    let told = bus.found().unwrap()[0].description();

    assert_eq!((told.vendor, told.product, told.usb_version.as_str()), (0x0403, 0x6001, "2.0"));
    assert_eq!((told.manufacturer.as_deref(), told.product_name.as_deref()), (Some("FTDI"), Some("evil board")));
    assert_eq!(told.interfaces.len(), 1);
    assert_eq!((told.interfaces[0].class, told.interfaces[0].driver_active), ([0xff, 0xff, 0xff], false));
    assert_eq!(told.interfaces[0].endpoints[0].transfer, "bulk");
    assert!(arduino_uno().description().interfaces.iter().all(|one| one.driver_active));
}

#[test]
fn usb_that_cannot_be_used_says_why_and_lists_nothing() {
    let bus = desk();
    bus.break_down("USB cannot be used on this computer: libusb says: Other error");

    assert_eq!(bus.found().unwrap_err().fault, DeviceFault::NoSystem);
    assert_eq!(bus.list(), []);
}

#[test]
fn an_interface_goes_to_one_program_and_comes_back_with_the_connection() {
    let bus = desk();
    let name = bus.list()[1].id.clone();
    let mut first = bus.open(&name).unwrap();
    let mut second = bus.open(&name).unwrap();

    first.claim(0).unwrap();
    assert_eq!(second.claim(0).unwrap_err().fault, DeviceFault::Busy);
    drop(first);
    second.claim(0).unwrap();
    drop(second);

    let seen = ["open 0403:6001", "open 0403:6001", "claim 0", "close 0403:6001", "claim 0", "close 0403:6001"];
    assert_eq!(bus.seen(), seen);
}

#[test]
fn a_driver_keeps_its_device_and_is_named() {
    let bus = desk();
    let mut arduino = bus.open(&bus.list()[0].id).unwrap();

    let fault = arduino.claim(1).unwrap_err();

    assert_eq!(fault.fault, DeviceFault::Busy);
    assert!(fault.message.contains("cdc_acm") && fault.message.contains("serial port"), "{}", fault.message);
}

#[test]
fn a_device_that_goes_while_it_is_asked_is_unplugged_and_a_silent_one_times_out() {
    let bus = Recorded::default();
    let its_bus = bus.clone();
    bus.plug(ftdi(), move |_, timeout, stop| {
        its_bus.unplug(0x0403, 0x6001);
        silence(timeout, stop)
    });
    let name = bus.list()[0].id.clone();
    let mut open = bus.open(&name).unwrap();
    let stop = Stop::new().unwrap();

    let told = open.control(GET_DEVICE, &UsbData::In(18), Duration::from_millis(10), &stop);

    assert_eq!(told.unwrap_err().fault, DeviceFault::Unplugged);
    assert_eq!(bus.open(&name).map(drop).unwrap_err().fault, DeviceFault::Absent);
}
