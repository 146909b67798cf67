//! `usb` and `gpio` with the real binary, against an engine in this process whose devices are recorded ones.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::hardware::UsbData;
use drawbridge_engine::{DeviceSystem, Engine, EngineOptions, Host};
use drawbridge_os::folders::Folders;
use drawbridge_os::hardware::usb::Moved;
use drawbridge_os::hardware::usb::recorded::{Asked, ftdi, keyboard};
use drawbridge_os::hardware::{gpio, serial, usb};
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use rig::{PASSPHRASE, Rig, said};
use serde_json::Value;

const CHIP: &str = "gpiochip0";
const ADAPTER: &str = "0403:6001";

struct Desk {
    rig: Rig,
    board: gpio::recorded::Recorded,
    engine: Engine,
}

impl Desk {
    /// An adapter, a keyboard and a chip, all shared by the configuration.
    async fn new() -> Self {
        let rig = Rig::signed_in().await;
        let share = format!("\"usb:{ADAPTER}\", \"usb:046d:c31c\", \"gpio:{CHIP}\"");
        rig.configure(&format!("enable_hardware = true\n[hardware]\nshare = [{share}]"));
        let bus = usb::recorded::Recorded::default();
        bus.plug(ftdi(), |asked, _, _| match asked {
            Asked::Transfer(0x02, UsbData::Out(bytes)) => Ok(Moved::Out(bytes.len())),
            Asked::Transfer(0x81, UsbData::In(_)) => Ok(Moved::In(b"ok\x1b[2J".to_vec())),
            Asked::Control(_, UsbData::In(_)) => Ok(Moved::In(vec![0x01, 0x60])),
            Asked::Control(..) | Asked::Transfer(..) | Asked::ClearHalt(_) => Ok(Moved::Out(0)),
        });
        bus.plug(keyboard(), |_, _, _| panic!("it was asked"));
        let board = gpio::recorded::Recorded::default();
        board.add(gpio::GpioChip {
            name: CHIP.to_owned(),
            label: Some("pinctrl-bcm2711".to_owned()),
            parent: "fe200000.gpio".to_owned(),
            lines: 58,
            names: vec![(4, "RELAY".to_owned()), (5, "LED".to_owned()), (6, "LED".to_owned())],
            denied: None,
        });
        let (config, state) = (rig.dir.path().join("config"), rig.state());
        let flags = FlagOverrides { platform_url: Some(rig.practice.ws_url()), ..FlagOverrides::default() };
        let loaded =
            Config::load(&ConfigLayers { env: &|_| None, ..ConfigLayers::of_process(&config, flags) }).unwrap();
        let folders = Folders { state: state.clone(), config, logs: state };
        let mut options = EngineOptions::from_config(&loaded, folders, Host::Headless);
        options.passphrase = Some(PASSPHRASE.into());
        options.hardware = Some(
            DeviceSystem { serial: serial::of_system(), usb: Arc::new(bus), gpio: Arc::new(board.clone()) }.into(),
        );
        let engine = Engine::start(options).await.unwrap();
        let mut pictures = engine.handle().subscribe();
        pictures.wait_for(|now| now.devices.devices.iter().filter(|row| row.shared).count() == 3).await.unwrap();
        Self { rig, board, engine }
    }

    fn record(&self, op: &str) -> Value {
        self.rig.audit().into_iter().find(|record| record["op"] == op).unwrap_or_else(|| panic!("no {op}"))
    }

    async fn end(self) {
        self.engine.stop();
        self.engine.wait().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_usb_device_is_described_and_asked() {
    let desk = Desk::new().await;
    let rig = &desk.rig;

    let listed = rig.expect(0, &["devices"]).await;
    assert!(listed.contains("FTDI FT232R USB UART") && listed.contains("keyboard"), "{listed}");
    let described = rig.expect(0, &["usb", "describe", ADAPTER]).await;
    assert!(
        described.starts_with("0403:6001  USB 2.0") && described.contains("end point 0x81: bulk in"),
        "{described}"
    );
    let words = ["usb", "control", ADAPTER, "--request-type", "0xC0", "--request", "5", "--in", "2"];
    assert_eq!(rig.expect(0, &words).await, "0160\n");
    let words = ["usb", "transfer", ADAPTER, "--endpoint", "0x02", "--hex", "47 11 08 15"];
    assert_eq!(rig.expect(0, &words).await, "4 bytes written\n");
    let words = ["usb", "transfer", ADAPTER, "--endpoint", "0x81", "--in", "64"];
    assert_eq!(rig.expect(0, &words).await, "6f6b1b5b324a\n");
    let raw = rig.run(&["usb", "transfer", ADAPTER, "--endpoint", "0x81", "--in", "64", "--raw"]).await;
    assert_eq!(raw.stdout, b"ok\x1b[2J", "a pipe gets the bytes as they are");
    let wrong = rig.run(&["usb", "transfer", ADAPTER, "--endpoint", "0x02", "--in", "4"]).await;
    assert!(wrong.status.code() != Some(0) && said(&wrong).contains("goes out"), "{}", said(&wrong));
    let typed = rig.run(&["usb", "transfer", "046d:c31c", "--endpoint", "0x81", "--in", "8"]).await;
    assert!(typed.status.code() == Some(1) && said(&typed).contains("keyboard"), "{}", said(&typed));

    assert_eq!(desk.record("HARDWARE_USB_CONTROL")["details"]["size_bytes_returned"], 2);
    assert_eq!(desk.record("HARDWARE_USB_TRANSFER")["details"]["size_bytes"], 4);
    desk.rig.assert_nothing_in_clear(&["47110815", "A50285BI"], b"");
    desk.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_read_driven_and_watched() {
    let desk = Desk::new().await;
    let rig = &desk.rig;
    desk.board.set(CHIP, 4, true, Duration::ZERO);

    assert_eq!(rig.expect(0, &["gpio", "read", CHIP, "4"]).await, "1\n");
    assert_eq!(rig.expect(0, &["gpio", "read", CHIP, "5", "--pull", "down"]).await, "0\n");
    rig.expect(0, &["gpio", "write", CHIP, "17", "1"]).await;
    let listed = rig.expect(0, &["devices"]).await;
    assert!(listed.contains("open by cli"), "{listed}");
    let (board, waits) = (desk.board.clone(), desk.board.clone());
    let moved = async {
        tokio::task::spawn_blocking(move || waits.wait_for_watch(CHIP, 6)).await.unwrap();
        board.set(CHIP, 6, true, Duration::from_millis(1500));
    };
    let (seen, ()) = tokio::join!(rig.expect(0, &["gpio", "watch", CHIP, "6", "--edge", "rising"]), moved);
    assert_eq!(seen, "rising 1.500000\n");
    let late = rig.run(&["gpio", "watch", CHIP, "7", "--timeout", "0"]).await;
    assert!(late.status.code() == Some(1) && said(&late).contains("0 of 1 changes"), "{}", said(&late));
    rig.expect(0, &["gpio", "release", CHIP, "17"]).await;
    let by_name = format!("{CHIP}:RELAY");
    rig.expect(0, &["gpio", "write", &by_name, "1"]).await;
    assert_eq!(desk.board.driven(CHIP, 4), Some(true));
    rig.expect(0, &["gpio", "release", CHIP, "RELAY"]).await;
    assert_eq!(desk.board.driven(CHIP, 4), None);
    assert!(rig.expect(0, &["devices"]).await.contains("lines with names: 4 RELAY, 5 LED, 6 LED"));
    // What is driven by somebody else is not taken over, and the end of a hold lets go what it drove alone.
    rig.expect(0, &["gpio", "write", CHIP, "8", "1"]).await;
    let refused = rig.run(&["gpio", "write", CHIP, "8", "0", "--hold"]).await;
    assert!(refused.status.code() == Some(1) && said(&refused).contains("driven already"), "{}", said(&refused));
    assert_eq!(desk.board.driven(CHIP, 8), Some(true));
    let mut holds = rig.command(&["gpio", "write", CHIP, "9", "1", "--hold"]).spawn().unwrap();
    let driven = |line, wanted| {
        let board = desk.board.clone();
        rig::within(async move {
            while board.driven(CHIP, line) != wanted {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
    };
    driven(9, Some(true)).await;
    rig.expect(0, &["gpio", "release", CHIP, "9"]).await;
    rig.expect(0, &["gpio", "write", CHIP, "9", "0"]).await;
    let id = holds.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(rig::within(holds.wait()).await.unwrap().code(), Some(0));
    assert_eq!(desk.board.driven(CHIP, 9), Some(false));
    rig.expect(0, &["gpio", "release", CHIP, "9"]).await;
    let mut holds = rig.command(&["gpio", "write", CHIP, "9", "1", "--hold"]).spawn().unwrap();
    driven(9, Some(true)).await;
    holds.kill().await.unwrap();
    driven(9, None).await;
    rig.expect(0, &["gpio", "release", CHIP, "8"]).await;
    let several = rig.run(&["gpio", "read", CHIP, "LED"]).await;
    assert!(several.status.code() == Some(1) && said(&several).contains("5, 6"), "{}", said(&several));
    let none = rig.run(&["gpio", "read", CHIP, "58"]).await;
    assert_eq!(none.status.code(), Some(1), "it has 58 lines");

    assert_eq!(desk.record("HARDWARE_GPIO_WRITE")["details"]["level"], "high");
    assert_eq!(desk.record("HARDWARE_GPIO_WATCH")["details"]["events"], 1);
    desk.end().await;
}
