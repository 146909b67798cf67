//! USB devices of this machine, whatever it has, and recorded ones.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking"
)]

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
fn what_no_agent_gets_says_so_and_advises_no_rule() {
    let bus = desk();
    let mut key = security_key();
    key.denied = Some("add a udev rule".to_owned());
    bus.plug(key, |_, _, _| Ok(Moved::Out(0)));

    let denied: Vec<Option<String>> = bus.list().into_iter().map(|one| one.denied).collect();

    assert_eq!((&denied[0], &denied[1], &denied[5]), (&None, &None, &None));
    for guarded in [2, 3, 4, 6, 7] {
        assert!(denied[guarded].as_ref().unwrap().starts_with("agents never use it: it is "), "{denied:?}");
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

#[cfg(target_os = "linux")]
mod gadget {
    //! A device that the kernel plays to itself, where it has `dummy_hcd` and this user may set it up: no recording, but libusb, the
    //! kernel and real transfers.

    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use drawbridge_os::hardware::usb::UsbConnection;

    use super::*;

    const HERE: &str = "/sys/kernel/config/usb_gadget";
    const LONG: Duration = Duration::from_secs(60);

    /// Three functions: one that gives and takes zeros, a serial port that no driver knows, and one that a driver takes.
    struct Gadget(PathBuf);

    impl Gadget {
        fn plug_in() -> Result<Self, String> {
            let path = Path::new(HERE).join(format!("drawbridge-{}", std::process::id()));
            fs::create_dir(&path).map_err(|fault| format!("{}: {fault}", path.display()))?;
            let gadget = Self(path);
            gadget.set_up().map_err(|fault| fault.to_string())?;
            Ok(gadget)
        }

        fn set_up(&self) -> std::io::Result<()> {
            let words = [
                ("idVendor", "0x1209"),
                ("idProduct", "0x0001"),
                ("strings/0x409/manufacturer", "Drawbridge"),
                ("strings/0x409/product", "Test gadget"),
                ("strings/0x409/serialnumber", "GADGET-SERIAL-1"),
            ];
            fs::create_dir_all(self.0.join("strings/0x409"))?;
            for (name, text) in words {
                fs::write(self.0.join(name), text)?;
            }
            let config = self.0.join("configs/c.1");
            fs::create_dir(&config)?;
            for function in ["SourceSink.0", "gser.0", "acm.0"] {
                let place = self.0.join("functions").join(function);
                fs::create_dir(&place)?;
                symlink(&place, config.join(function))?;
            }
            let free = fs::read_dir("/sys/class/udc")?.flatten().next();
            let free = free.ok_or_else(|| std::io::Error::other("there is no USB device controller"))?;
            fs::write(self.0.join("UDC"), free.file_name().as_encoded_bytes())
        }

        fn unplug(&self) {
            fs::write(self.0.join("UDC"), "\n").unwrap();
        }
    }

    impl Drop for Gadget {
        fn drop(&mut self) {
            let _ = fs::write(self.0.join("UDC"), "\n");
            for function in ["SourceSink.0", "gser.0", "acm.0"] {
                let _ = fs::remove_file(self.0.join("configs/c.1").join(function));
                let _ = fs::remove_dir(self.0.join("functions").join(function));
            }
            for folder in ["configs/c.1", "strings/0x409", ""] {
                let _ = fs::remove_dir(self.0.join(folder));
            }
        }
    }

    /// Waits until the host has set the device up.
    fn plugged_in() -> UsbDevice {
        let system = usb::of_system();
        loop {
            let found = system.found().unwrap();
            let here = found.into_iter().find(|one| (one.vendor, one.product) == (0x1209, 0x0001));
            if let Some(here) = here.filter(|one| one.functions.len() == 4) {
                return here;
            }
            std::thread::yield_now();
        }
    }

    fn endpoint(device: &UsbDevice, function: usize, goes_in: bool) -> drawbridge_core::hardware::UsbEndpoint {
        let fits = |one: &&drawbridge_core::hardware::UsbEndpoint| (one.address & 0x80 != 0) == goes_in;
        device.functions[function].endpoints.iter().find(fits).unwrap().clone()
    }

    fn open(device: &UsbDevice) -> Box<dyn UsbConnection> {
        let system = usb::of_system();
        let here = |place: &DevicePlace| matches!(place, DevicePlace::Usb { bus, address, .. } if (*bus, *address) == (device.bus, device.address));
        let listed = system.list().into_iter().find(|one| here(&one.place)).unwrap();
        assert_eq!(listed.description, "Drawbridge Test gadget");
        system.open(&listed.id).unwrap()
    }

    #[test]
    fn a_real_device_is_described_asked_stopped_and_unplugged() {
        let gadget = match Gadget::plug_in() {
            Ok(gadget) => gadget,
            Err(why) => {
                println!("SKIPPED USB through the kernel: no device can be played here ({why})");
                return;
            }
        };
        let device = plugged_in();
        let stop = Stop::new().unwrap();
        assert!(!format!("{device:?}").contains("GADGET-SERIAL"));
        let mut open_one = open(&device);
        let told = open_one.control(GET_DEVICE, &UsbData::In(18), LONG, &stop).unwrap();
        let Moved::In(bytes) = told else { panic!("{told:?}") };
        assert_eq!((bytes.len(), &bytes[8..12]), (18, [0x09, 0x12, 0x01, 0x00].as_slice()));

        // Zeros in and out, many packets at once.
        open_one.claim(0).unwrap();
        let (source, sink) = (endpoint(&device, 0, true), endpoint(&device, 0, false));
        let read = open_one.transfer(&source, &UsbData::In(1 << 20), LONG, &stop).unwrap();
        assert!(
            matches!(&read, Moved::In(bytes) if !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)),
            "{read:?}"
        );
        let wrote = open_one.transfer(&sink, &UsbData::Out(vec![0; 100_000]), LONG, &stop);
        assert_eq!(wrote, Ok(Moved::Out(100_000)));
        open_one.clear_halt(source.address).unwrap();

        // A stall, more than was asked for, and nobody who answers.
        let unknown = Setup { request_type: 0x40, request: 0x99, value: 0, index: 0 };
        assert_eq!(
            open_one.control(unknown, &UsbData::Out(vec![1]), LONG, &stop).unwrap_err().fault,
            DeviceFault::Refused
        );
        let few = open_one.transfer(&source, &UsbData::In(10), LONG, &stop).unwrap_err();
        assert_eq!(few.fault, DeviceFault::Unsupported, "{few}");
        open_one.claim(1).unwrap();
        let silent = endpoint(&device, 1, true);
        let late = open_one.transfer(&silent, &UsbData::In(64), Duration::from_millis(50), &stop).unwrap_err();
        assert_eq!(late.fault, DeviceFault::Timeout);

        // What is claimed or has a driver is nobody else's.
        let mut second = open(&device);
        assert_eq!(second.claim(0).unwrap_err().fault, DeviceFault::Busy);
        if let Some(driver) = &device.functions[2].driver {
            let busy = second.claim(2).unwrap_err();
            assert!(busy.fault == DeviceFault::Busy && busy.message.contains(driver.as_str()), "{busy}");
        } else {
            println!("SKIPPED a device that a driver has: cdc_acm is not there");
        }
        drop(second);

        // Bytes that somebody writes at the other end.
        let mut port = fs::OpenOptions::new().write(true).open("/dev/ttyGS0").unwrap();
        port.write_all(b"hello").unwrap();
        assert_eq!(open_one.transfer(&silent, &UsbData::In(64), LONG, &stop), Ok(Moved::In(b"hello".to_vec())));
        drop(port);

        // Ended from another thread, and unplugged under a transfer.
        let its_stop = Stop::new().unwrap();
        let ended = std::thread::scope(|threads| {
            let waits = threads.spawn(|| open_one.transfer(&silent, &UsbData::In(64), LONG, &its_stop));
            its_stop.say();
            waits.join().unwrap()
        });
        assert_eq!(ended.unwrap_err().fault, DeviceFault::NotOpen);
        let gone = std::thread::scope(|threads| {
            let waits = threads.spawn(|| open_one.transfer(&silent, &UsbData::In(64), LONG, &stop));
            gadget.unplug();
            waits.join().unwrap()
        });
        assert_eq!(gone.unwrap_err().fault, DeviceFault::Unplugged);
        assert_eq!(
            open_one.control(GET_DEVICE, &UsbData::In(18), LONG, &stop).unwrap_err().fault,
            DeviceFault::Unplugged
        );
    }
}
