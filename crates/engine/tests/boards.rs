//! USB devices and GPIO lines through a whole engine and a platform: recorded ones, told in HELLO, used and written down.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use drawbridge_caps::hardware::System;
use drawbridge_core::hardware::{Device, DeviceId, DevicePlace, SerialSettings, UsbData};
use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::device_act::{DeviceAct, DeviceBytes, DeviceResult};
use drawbridge_engine::view::DeviceView;
use drawbridge_engine::{Command, CommandError, Reply};
use drawbridge_os::hardware::HardwareFault;
use drawbridge_os::hardware::serial::{SerialLink, SerialPorts};
use drawbridge_os::hardware::usb::recorded::{Asked, ftdi, keyboard, stick};
use drawbridge_os::hardware::usb::{Moved, UsbDevice};
use drawbridge_os::hardware::{gpio, serial, usb};
use drawbridge_policy::MAX_DEVICES;
use drawbridge_store::config::DeviceMatch;
use rig::{Rig, Wish};
use serde_json::{Value, json};

const CHIP: &str = "gpiochip0";

struct Desk {
    rig: Rig,
    bus: usb::recorded::Recorded,
    board: gpio::recorded::Recorded,
}

impl Desk {
    /// An adapter, a keyboard, a stick that this user may not open, and a chip: all of them shared.
    async fn new() -> Self {
        let bus = usb::recorded::Recorded::default();
        bus.plug(ftdi(), |asked, _, _| match asked {
            Asked::Transfer(0x02, UsbData::Out(bytes)) => Ok(Moved::Out(bytes.len())),
            Asked::Transfer(0x81, UsbData::In(_)) => Ok(Moved::In(b"ok 0815".to_vec())),
            Asked::Control(_, UsbData::In(_)) => Ok(Moved::In(vec![0x01, 0x60])),
            Asked::Control(..) | Asked::Transfer(..) | Asked::ClearHalt(_) => Ok(Moved::Out(0)),
        });
        let denied = "this user may not open it: it belongs to the group plugdev".to_owned();
        let mut closed = ftdi();
        (closed.product, closed.denied) = (0x6010, Some(denied));
        for device in [keyboard(), stick(), closed] {
            bus.plug(device, |_, _, _| panic!("it was asked"));
        }
        let board = gpio::recorded::Recorded::default();
        board.add(gpio::GpioChip {
            name: CHIP.to_owned(),
            label: Some("pinctrl-bcm2711".to_owned()),
            parent: "fe200000.gpio".to_owned(),
            lines: 58,
            names: vec![(4, "RELAY".to_owned()), (5, "LED".to_owned()), (6, "LED".to_owned())],
            denied: None,
        });
        let mut wish = Wish::headless().with(Power::Hardware, PowerMode::Allowed);
        let of = |device: UsbDevice| DeviceMatch::Usb { vendor: device.vendor, product: device.product };
        let other = DeviceMatch::Usb { vendor: 0x0403, product: 0x6010 };
        wish.devices = vec![of(ftdi()), of(keyboard()), of(stick()), other, DeviceMatch::Gpio(CHIP.to_owned())];
        wish.hardware = Some(
            System { serial: serial::of_system(), usb: Arc::new(bus.clone()), gpio: Arc::new(board.clone()) }.into(),
        );
        let rig = Rig::start(wish).await;
        rig.until(|now| now.devices.devices.iter().filter(|row| row.shared && row.present).count() == 5).await;
        Self { rig, bus, board }
    }

    fn row(&self, fits: impl Fn(&DeviceView) -> bool) -> DeviceView {
        self.rig.handle.snapshot().devices.devices.iter().find(|row| fits(row)).unwrap().clone()
    }

    fn named(&self, place: &str) -> DeviceView {
        self.row(|row| row.place.starts_with(place))
    }

    async fn act(&self, device: &DeviceView, act: DeviceAct) -> Result<DeviceResult, CommandError> {
        let reply = self.rig.handle.send(Command::UseDevice { device: device.id.clone(), act, hold: None }).await?;
        let Reply::Device { result } = reply else { panic!("another answer: {reply:?}") };
        Ok(result)
    }

    /// Waits until the control link says these devices, and returns the capabilities beside them.
    async fn said(&self, wanted: &[Value]) -> Vec<Value> {
        let hello = || {
            let state = self.rig.script.state(0, 0);
            let links = state["links"].as_array().unwrap().clone();
            links.into_iter().rev().find(|link| link["scope"].to_string().contains(&self.rig.machine))
        };
        let says = |link: Value| link["hello"]["hardware_devices"].as_array().is_some_and(|said| said == wanted);
        self.rig.until(|_| hello().is_some_and(says)).await;
        hello().unwrap()["hello"]["capabilities"].as_array().unwrap().clone()
    }

    fn record(&self, op: &str) -> Value {
        self.rig.audit().into_iter().find(|record| record["op"] == op).unwrap_or_else(|| panic!("no {op}"))
    }
}

fn adapter() -> Value {
    json!({ "type": "usb", "vid": "0403", "pid": "6001", "desc": "FTDI FT232R USB UART" })
}

fn chip() -> Value {
    json!({ "type": "gpio", "chip": CHIP, "desc": "pinctrl-bcm2711" })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platform_is_told_of_what_can_be_used_and_follows_what_comes_and_goes() {
    let desk = Desk::new().await;

    // Shared as well, and no agent gets anything of them: a keyboard, a stick, and what this user may not open.
    let mut both = vec![adapter(), chip()];
    both.sort_by_key(|one| one["type"].to_string());
    let capabilities = desk.said(&both).await;
    for (capability, there) in [("hardware_serial", false), ("hardware_usb", true), ("hardware_gpio", true)] {
        assert_eq!(capabilities.contains(&json!(capability)), there, "{capability}");
    }
    for row in [desk.named("046d:c31c"), desk.named("0403:6010")] {
        assert!(row.shared && row.denied.is_some(), "{row:?}");
    }

    desk.bus.unplug(0x0403, 0x6001);
    desk.rig.handle.send(Command::LookAtDevices).await.unwrap();
    let capabilities = desk.said(&[chip()]).await;
    assert!(!capabilities.contains(&json!("hardware_usb")));
    desk.board.remove(CHIP);
    desk.rig.handle.send(Command::LookAtDevices).await.unwrap();
    let capabilities = desk.said(&[]).await;
    assert!(!capabilities.contains(&json!("hardware_gpio")));
    desk.rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_usb_device_is_described_asked_and_recorded_without_its_bytes() {
    let desk = Desk::new().await;
    let device = desk.named("0403:6001");

    let DeviceResult::Described { usb } = desk.act(&device, DeviceAct::UsbDescribe).await.unwrap() else {
        panic!("no description")
    };
    assert_eq!((usb.vendor.as_str(), usb.product_name.as_deref()), ("0403", Some("FT232R USB UART")));
    let out = Some(DeviceBytes::of(b"PIN 4711"));
    let sent = DeviceAct::UsbTransfer { endpoint: 0x02, out, max_bytes: None, timeout_ms: 1000 };
    assert_eq!(desk.act(&device, sent).await.unwrap(), DeviceResult::Written { bytes: 8 });
    let came = DeviceAct::UsbTransfer { endpoint: 0x81, out: None, max_bytes: Some(64), timeout_ms: 1000 };
    let wanted = DeviceResult::Received { data: DeviceBytes::of(b"ok 0815") };
    assert_eq!(desk.act(&device, came).await.unwrap(), wanted);
    let control = |request_type, max_bytes, out| DeviceAct::UsbControl {
        request_type,
        request: 5,
        value: 0,
        index: 0,
        out,
        max_bytes,
        timeout_ms: 1000,
    };
    let wanted = DeviceResult::Received { data: DeviceBytes::of(&[0x01, 0x60]) };
    assert_eq!(desk.act(&device, control(0xc0, Some(2), None)).await.unwrap(), wanted);
    assert_eq!(desk.act(&device, control(0x40, Some(2), None)).await.unwrap_err().code, "bad_act");

    let details = desk.record("HARDWARE_USB_TRANSFER")["details"].clone();
    assert_eq!((&details["endpoint"], &details["size_bytes"]), (&json!("0x02"), &json!(8)));
    assert_eq!((&details["kind"], &details["label"]), (&json!("usb"), &json!("FTDI FT232R USB UART")));
    assert_eq!(details["decision"]["verdict"], "allow");
    assert_eq!(desk.record("HARDWARE_USB_DESCRIBE")["result"]["ok"], true);
    assert_eq!(desk.record("HARDWARE_USB_CONTROL")["details"]["request"], "0x05");
    let log = std::fs::read_to_string(desk.rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("PIN 4711") && !log.contains("ok 0815") && !log.contains("A50285BI"));

    // Whoever shares a keyboard shares no typing, and nothing of it is opened.
    let before = desk.bus.seen();
    let typed = DeviceAct::UsbTransfer { endpoint: 0x81, out: None, max_bytes: Some(8), timeout_ms: 1000 };
    let refused = desk.act(&desk.named("046d:c31c"), typed).await.unwrap_err();
    assert!(refused.message.contains("keyboard"), "{refused:?}");
    assert_eq!(desk.bus.seen(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_read_driven_watched_and_let_go() {
    let desk = Desk::new().await;
    let device = desk.named(CHIP);
    desk.board.set(CHIP, 4, true, Duration::ZERO);

    let read = DeviceAct::GpioRead { line: 4, bias: "as_is".to_owned() };
    assert_eq!(desk.act(&device, read).await.unwrap(), DeviceResult::Level { high: true });
    desk.act(&device, DeviceAct::GpioWrite { line: 17, high: true }).await.unwrap();
    let held = desk.rig.until(|now| now.devices.devices.iter().any(|row| row.held_by.is_some())).await;
    let held = held.devices.devices.iter().find(|row| row.held_by.is_some()).unwrap().clone();
    assert_eq!((held.id.as_str(), held.held_by.as_deref()), (device.id.as_str(), Some("cli")));
    let (board, waits) = (desk.board.clone(), desk.board.clone());
    let watch = DeviceAct::GpioWatch {
        line: 5,
        bias: "up".to_owned(),
        edge: "both".to_owned(),
        max_events: 1,
        timeout_ms: 60_000,
    };
    let (events, ()) = tokio::join!(desk.act(&device, watch), async {
        tokio::task::spawn_blocking(move || waits.wait_for_watch(CHIP, 5)).await.unwrap();
        board.set(CHIP, 5, true, Duration::from_micros(7));
    });
    let DeviceResult::Events { events, lost: 0 } = events.unwrap() else { panic!("no changes") };
    assert_eq!((events.len(), events[0].rising, events[0].at_us), (1, true, 7));
    desk.act(&device, DeviceAct::GpioRelease { line: 17 }).await.unwrap();

    let of = |op: &str| desk.record(op)["details"].clone();
    assert_eq!((&of("HARDWARE_GPIO_READ")["line"], &of("HARDWARE_GPIO_READ")["level"]), (&json!(4), &json!("high")));
    assert_eq!(of("HARDWARE_GPIO_WRITE")["level"], "high");
    assert_eq!(of("HARDWARE_GPIO_WATCH")["events"], 1);
    assert_eq!(
        (&of("HARDWARE_GPIO_RELEASE")["kind"], &of("HARDWARE_GPIO_RELEASE")["place"]),
        (&json!("gpio"), &json!(CHIP))
    );

    // Raised: what is driven is let go at once.
    desk.act(&device, DeviceAct::GpioWrite { line: 18, high: true }).await.unwrap();
    desk.rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    assert!(desk.rig.handle.snapshot().devices.devices.iter().all(|row| row.held_by.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_devices_are_shared_and_no_more() {
    let bus = usb::recorded::Recorded::default();
    for product in 0..=u16::try_from(MAX_DEVICES).unwrap() {
        bus.plug(product_of(product), |_, _, _| panic!("it was asked"));
    }
    let mut wish = Wish::headless().with(Power::Hardware, PowerMode::Allowed).with_window();
    wish.hardware = Some(
        System { serial: serial::of_system(), usb: Arc::new(bus), gpio: Arc::new(gpio::recorded::Recorded::default()) }
            .into(),
    );
    let rig = Rig::start(wish).await;
    rig.handle.send(Command::LookAtDevices).await.unwrap();
    let devices = rig.handle.snapshot().devices.devices.clone();
    let usb: Vec<_> = devices.iter().filter(|row| row.kind == "usb").collect();
    let share =
        async |row: &DeviceView, shared| rig.handle.send(Command::ShareDevice { id: row.id.clone(), shared }).await;

    for row in &usb[..MAX_DEVICES] {
        share(row, true).await.unwrap();
    }
    assert_eq!(share(usb[MAX_DEVICES], true).await.unwrap_err().code, "too_many_devices");
    share(usb[0], true).await.unwrap();
    share(usb[0], false).await.unwrap();
    share(usb[MAX_DEVICES], true).await.unwrap();
}

fn product_of(product: u16) -> UsbDevice {
    let mut device = ftdi();
    (device.product, device.ports) = (product, vec![1, u8::try_from(product).unwrap()]);
    device
}

/// Serial ports of a driver that hangs until the other end of this is gone.
struct Hanging(Mutex<mpsc::Receiver<()>>);

impl SerialPorts for Hanging {
    fn list(&self, _: &[String]) -> Vec<Device> {
        let _ = self.0.lock().unwrap().recv();
        Vec::new()
    }

    fn open(&self, _: &DeviceId, _: &[String], _: &SerialSettings) -> Result<Arc<dyn SerialLink>, HardwareFault> {
        panic!("it was opened")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_hangs_is_told_and_holds_up_neither_hello_nor_other_commands() {
    let (lets_go, hangs) = mpsc::channel();
    let mut wish = Wish::headless().with(Power::Hardware, PowerMode::Allowed);
    wish.hardware = Some(
        System {
            serial: Arc::new(Hanging(Mutex::new(hangs))),
            usb: Arc::new(usb::recorded::Recorded::default()),
            gpio: Arc::new(gpio::recorded::Recorded::default()),
        }
        .into(),
    );
    let mut rig = Rig::start(wish).await;
    let looks = tokio::spawn({
        let handle = rig.handle.clone();
        async move { handle.send(Command::LookAtDevices).await }
    });
    let (chat, folder) = rig.chat_in("project").await;
    std::fs::write(folder.join("a.txt"), "x").unwrap();
    assert_eq!(rig.ask(&chat, "FILE_READ", rig::read(&folder.join("a.txt"))).await.unwrap()["content"], "x");

    assert_eq!(looks.await.unwrap().unwrap_err().code, "devices_silent");

    drop(lets_go);
    rig.until(|now| now.devices.looked).await;
    rig.handle.send(Command::LookAtDevices).await.unwrap();
    rig.stop().await;
}

/// Serial ports that the system lists.
struct Listed(Vec<Device>);

impl SerialPorts for Listed {
    fn list(&self, _: &[String]) -> Vec<Device> {
        self.0.clone()
    }

    fn open(&self, _: &DeviceId, _: &[String], _: &SerialSettings) -> Result<Arc<dyn SerialLink>, HardwareFault> {
        panic!("it was opened")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_the_system_lists_is_shared_in_the_list_and_not_added() {
    let port = "/dev/ttyUSB7".to_owned();
    let listed = Device {
        id: DeviceId::parse("serial-7").unwrap(),
        place: DevicePlace::Serial { port: port.clone() },
        description: "Adapter\u{202e}".to_owned(),
        denied: None,
    };
    let mut wish = Wish::headless().with_window();
    wish.hardware = Some(
        System {
            serial: Arc::new(Listed(vec![listed])),
            usb: Arc::new(usb::recorded::Recorded::default()),
            gpio: Arc::new(gpio::recorded::Recorded::default()),
        }
        .into(),
    );
    let rig = Rig::start(wish).await;

    let refused = rig.handle.send(Command::AddPort { path: port.clone() }).await.unwrap_err();

    assert_eq!((refused.code.as_str(), refused.message.contains(&port)), ("port_listed", true), "{refused:?}");
    rig.handle.send(Command::ShareDevice { id: "serial-7".to_owned(), shared: true }).await.unwrap();
    let row = rig.handle.snapshot().devices.devices[0].clone();
    assert_eq!((row.shared, row.added, row.description.as_str()), (true, None, "Adapter\\u{202E}"));
}
