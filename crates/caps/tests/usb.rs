//! Agents and USB devices: recorded ones, through the capability as the dispatcher uses it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests fail by panicking")]

mod desk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use desk::{Desk, fault};
use drawbridge_core::DeviceFault::{Absent, Busy, Denied, Io, Refused, Timeout, Unplugged, Unsupported};
use drawbridge_core::hardware::{DeviceId, HardwareAct, HardwareOutcome, UsbAct, UsbData};
use drawbridge_core::{DeviceFault, OpError, Outcome};
use drawbridge_os::hardware::HardwareFault;
use drawbridge_os::hardware::usb::recorded::{
    Asked, Recorded, arduino_uno, debugger, ftdi, keyboard, security_key, silence, stick,
};
use drawbridge_os::hardware::usb::{Moved, Setup, UsbDevice, UsbDevices as _};

const SECOND: Duration = Duration::from_secs(1);

/// A bus with one device that answers so.
fn bus_with(
    device: UsbDevice,
    answer: impl Fn(&Asked, Duration, &drawbridge_os::hardware::Stop) -> Result<Moved, HardwareFault>
    + Send
    + Sync
    + 'static,
) -> (Recorded, Desk, DeviceId) {
    let bus = Recorded::default();
    bus.plug(device, answer);
    let name = bus.list().remove(0).id;
    (bus.clone(), Desk::with_usb(bus), name)
}

fn control(request_type: u8, request: u8, value: u16, index: u16, data: UsbData) -> HardwareAct {
    HardwareAct::Usb(UsbAct::Control { request_type, request, value, index, data, timeout: SECOND })
}

fn transfer(endpoint: u8, data: UsbData) -> HardwareAct {
    HardwareAct::Usb(UsbAct::Transfer { endpoint, data, timeout: SECOND })
}

fn received(result: Result<Outcome, OpError>) -> Vec<u8> {
    match result.unwrap() {
        Outcome::Hardware(HardwareOutcome::Received(bytes)) => bytes,
        _ => panic!("something else came"),
    }
}

#[tokio::test]
async fn any_device_is_described_and_describing_opens_none() {
    for device in [arduino_uno(), ftdi(), keyboard(), stick(), security_key(), debugger()] {
        let (bus, desk, name) = bus_with(device.clone(), |_, _, _| panic!("it was asked"));

        let told = desk.run(&name, HardwareAct::Usb(UsbAct::Describe)).await.unwrap();

        let Outcome::Hardware(HardwareOutcome::Described(told)) = told else { panic!("something else came") };
        assert_eq!(told, device.description());
        assert_eq!(bus.seen(), [""; 0]);
    }
}

#[tokio::test]
async fn a_control_transfer_goes_in_and_out_and_gives_everything_back() {
    let (bus, desk, name) = bus_with(ftdi(), |asked, _, _| match asked {
        Asked::Control(Setup { request_type: 0xc0, request: 5, value: 0, index: 0 }, UsbData::In(2)) => {
            Ok(Moved::In(vec![0x01, 0x60]))
        }
        Asked::Control(Setup { request_type: 0x40, request: 3, value: 0x4138, index: 0 }, UsbData::Out(none)) => {
            assert!(none.is_empty());
            Ok(Moved::Out(0))
        }
        Asked::Control(Setup { request_type: 0x41, .. }, UsbData::Out(bytes)) => Ok(Moved::Out(bytes.len())),
        _ => panic!("it was asked something else"),
    });

    assert_eq!(received(desk.run(&name, control(0xc0, 5, 0, 0, UsbData::In(2))).await), [0x01, 0x60]);
    let done = desk.run(&name, control(0x40, 3, 0x4138, 0, UsbData::Out(Vec::new()))).await.unwrap();
    assert!(matches!(done, Outcome::Hardware(HardwareOutcome::Done)));
    let wrote = desk.run(&name, control(0x41, 9, 0, 0, UsbData::Out(vec![1, 2, 3]))).await.unwrap();
    assert!(matches!(wrote, Outcome::Hardware(HardwareOutcome::Written { bytes: 3 })));

    // Only what concerns an interface claims it.
    assert_eq!(
        bus.seen(),
        [
            "open 0403:6001",
            "close 0403:6001",
            "open 0403:6001",
            "close 0403:6001",
            "open 0403:6001",
            "claim 0",
            "release 0",
            "close 0403:6001",
        ]
    );
    assert_eq!(desk.hardware.held(), []);
}

#[tokio::test]
async fn bytes_go_in_and_out_of_an_end_point() {
    let (bus, desk, name) = bus_with(ftdi(), |asked, timeout, _| match asked {
        Asked::Transfer(0x81, UsbData::In(64)) => {
            assert_eq!(timeout, SECOND);
            Ok(Moved::In(b"\x01\x60hello".to_vec()))
        }
        Asked::Transfer(0x02, UsbData::Out(bytes)) => Ok(Moved::Out(bytes.len() - 1)),
        Asked::ClearHalt(0x81) => Ok(Moved::Out(0)),
        _ => panic!("it was asked something else"),
    });

    assert_eq!(received(desk.run(&name, transfer(0x81, UsbData::In(64))).await), b"\x01\x60hello");
    let wrote = desk.run(&name, transfer(0x02, UsbData::Out(b"AT\r\n".to_vec()))).await.unwrap();
    assert!(
        matches!(wrote, Outcome::Hardware(HardwareOutcome::Written { bytes: 3 })),
        "what left is told, not what was meant"
    );
    let cleared = desk.run(&name, control(0x02, 1, 0, 0x81, UsbData::Out(Vec::new()))).await.unwrap();
    assert!(matches!(cleared, Outcome::Hardware(HardwareOutcome::Done)));
    assert_eq!(bus.seen()[..4], ["open 0403:6001", "claim 0", "release 0", "close 0403:6001"]);
}

#[tokio::test]
async fn what_is_guarded_is_not_even_opened() {
    for (device, act) in [
        (keyboard(), transfer(0x81, UsbData::In(8))),
        (keyboard(), control(0x21, 9, 0x0200, 0, UsbData::Out(vec![0; 8]))),
        (stick(), transfer(0x02, UsbData::Out(vec![0; 31]))),
        (stick(), control(0xa1, 0xfe, 0, 0, UsbData::In(1))),
        (security_key(), transfer(0x04, UsbData::Out(vec![0; 64]))),
        (security_key(), transfer(0x82, UsbData::In(64))),
        (debugger(), transfer(0x83, UsbData::In(64))),
        (debugger(), control(0x40, 1, 0, 0, UsbData::Out(Vec::new()))),
        (ftdi(), control(0x00, 9, 1, 0, UsbData::Out(Vec::new()))),
        (ftdi(), control(0x00, 5, 1, 0, UsbData::Out(Vec::new()))),
    ] {
        let (bus, desk, name) = bus_with(device.clone(), |_, _, _| panic!("it was asked"));

        assert_eq!(fault(desk.run(&name, act).await), Refused, "{device:?}");
        assert_eq!(bus.seen(), [""; 0], "{device:?}");
    }
}

#[tokio::test]
async fn the_open_part_of_a_device_works_beside_its_guarded_one() {
    let (_, desk, name) = bus_with(debugger(), |_, _, _| Ok(Moved::In(vec![7])));

    assert_eq!(received(desk.run(&name, transfer(0x81, UsbData::In(64))).await), [7]);
}

#[tokio::test]
async fn what_a_device_or_the_system_refuses_is_told_apart() {
    let said = |kind: DeviceFault| move |_: &Asked, _: Duration, _: &_| Err(HardwareFault::new(kind, "so it is"));
    for kind in [Refused, Timeout, Unplugged, Io] {
        let (bus, desk, name) = bus_with(ftdi(), said(kind));
        assert_eq!(fault(desk.run(&name, transfer(0x81, UsbData::In(64))).await), kind);
        assert_eq!(bus.seen().last().map(String::as_str), Some("close 0403:6001"));
    }

    let (_, desk, name) = bus_with(arduino_uno(), |_, _, _| panic!("it was asked"));
    let busy = desk.run(&name, transfer(0x83, UsbData::In(64))).await.map(drop).unwrap_err();
    assert!(busy.to_string().contains("cdc_acm"), "{busy}");
    assert_eq!(fault(Err(busy)), Busy);

    let mut denied = ftdi();
    denied.denied = Some("this user may not open /dev/bus/usb/001/005: it belongs to the group plugdev".to_owned());
    let (_, desk, name) = bus_with(denied, |_, _, _| panic!("it was asked"));
    let told = desk.run(&name, transfer(0x81, UsbData::In(64))).await.map(drop).unwrap_err();
    assert!(told.to_string().contains("the group plugdev"), "{told}");
    assert_eq!(fault(Err(told)), Denied);

    let (bus, desk, name) = bus_with(ftdi(), |_, _, _| panic!("it was asked"));
    assert_eq!(fault(desk.run(&name, transfer(0x85, UsbData::In(64))).await), Unsupported);
    bus.unplug(0x0403, 0x6001);
    assert_eq!(fault(desk.run(&name, transfer(0x81, UsbData::In(64))).await), Absent);
    assert_eq!(fault(desk.run(&name, HardwareAct::Usb(UsbAct::Describe)).await), Absent);
}

#[tokio::test]
async fn what_is_too_much_or_too_long_is_asked_of_no_device() {
    let (bus, desk, name) = bus_with(ftdi(), |_, _, _| panic!("it was asked"));
    let timed = |timeout| HardwareAct::Usb(UsbAct::Transfer { endpoint: 0x81, data: UsbData::In(1), timeout });
    for act in [
        control(0xc0, 5, 0, 0, UsbData::In(65_536)),
        transfer(0x81, UsbData::In(1024 * 1024 + 1)),
        transfer(0x02, UsbData::Out(vec![0; 1024 * 1024 + 1])),
        transfer(0x81, UsbData::In(0)),
        timed(Duration::ZERO),
        timed(Duration::from_millis(60_001)),
    ] {
        let told = desk.run(&name, act).await.map(drop);
        assert!(matches!(told, Err(OpError::InvalidPayload(_))), "{told:?}");
    }
    assert_eq!(bus.seen(), [""; 0]);
}

#[tokio::test]
async fn a_device_that_goes_in_the_middle_is_unplugged() {
    let bus = Recorded::default();
    let its_bus = bus.clone();
    bus.plug(ftdi(), move |_, _, _| {
        its_bus.unplug(0x0403, 0x6001);
        Ok(Moved::In(vec![1]))
    });
    let name = bus.list().remove(0).id;
    let desk = Desk::with_usb(bus);

    assert_eq!(fault(desk.run(&name, transfer(0x81, UsbData::In(64))).await), Unplugged);
    assert_eq!(desk.hardware.held(), []);
}

/// A device that never answers; it says when it was asked.
fn silent() -> (Recorded, Desk, DeviceId, Arc<AtomicBool>) {
    let asked = Arc::new(AtomicBool::new(false));
    let its_asked = Arc::clone(&asked);
    let (bus, desk, name) = bus_with(ftdi(), move |_, timeout, stop| {
        its_asked.store(true, Ordering::SeqCst);
        silence(timeout * 60, stop)
    });
    (bus, desk, name, asked)
}

async fn until(asked: &AtomicBool) {
    while !asked.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_transfer_that_waits_ends_with_its_request_and_frees_the_device() {
    let (bus, desk, name, asked) = silent();

    let (told, ()) = tokio::join!(desk.run(&name, transfer(0x81, UsbData::In(64))), async {
        until(&asked).await;
        assert_eq!(desk.hardware.held()[0].how, "a transfer");
        desk.cancel.cancel();
    });

    assert!(matches!(told.map(drop), Err(OpError::Cancelled)));
    assert_eq!(bus.seen().last().map(String::as_str), Some("close 0403:6001"));
    assert_eq!(desk.hardware.held(), []);
}

#[tokio::test]
async fn a_stop_and_a_share_taken_back_end_a_transfer_that_waits() {
    for all in [true, false] {
        let (bus, desk, name, asked) = silent();

        let (told, ()) = tokio::join!(desk.run(&name, transfer(0x81, UsbData::In(64))), async {
            until(&asked).await;
            let (hardware, name) = (desk.hardware.clone(), name.clone());
            let close = move || if all { hardware.close_all() } else { hardware.close(&name) };
            tokio::task::spawn_blocking(close).await.unwrap();
            // Closing has closed when it returns.
            assert_eq!(bus.seen().last().map(String::as_str), Some("close 0403:6001"));
        });

        assert!(matches!(told.map(drop), Err(OpError::Cancelled)));
    }
}

#[tokio::test]
async fn one_device_serves_one_request_at_a_time() {
    let (_, desk, name, asked) = silent();
    let other = desk.of_another_holder();

    let (_, ()) = tokio::join!(desk.run(&name, transfer(0x81, UsbData::In(64))), async {
        until(&asked).await;
        let second = desk.run(&name, transfer(0x02, UsbData::Out(vec![1]))).await.map(drop).unwrap_err();
        assert!(second.to_string().contains("another request"), "{second}");
        assert_eq!(fault(Err(second)), Busy);
        assert_eq!(fault(other.run(&name, transfer(0x02, UsbData::Out(vec![1]))).await), Busy);
        desk.cancel.cancel();
    });
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_any_more_frees_the_device() {
    let (bus, desk, name, asked) = silent();
    tokio::select! {
        _ = desk.run(&name, transfer(0x81, UsbData::In(64))) => panic!("it answered"),
        () = until(&asked) => {}
    }

    // Its thread ends by itself; this waits for that.
    while bus.seen().last().map(String::as_str) != Some("close 0403:6001") {
        tokio::task::yield_now().await;
    }
}
