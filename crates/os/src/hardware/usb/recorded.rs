//! Devices as they were once recorded, for tests and for trying things without them: what they say of themselves is real, what they
//! answer is up to whoever sets them up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{DeviceId, UsbData, UsbEndpoint};

use super::{HardwareFault, Moved, Setup, Stop, UsbConnection, UsbDevice, UsbDevices, UsbFunction, absent, names};

/// What a device was asked.
#[derive(Clone, PartialEq, Eq)]
pub enum Asked {
    /// By a control transfer.
    Control(Setup, UsbData),
    /// By another one on this end point.
    Transfer(u8, UsbData),
    /// To end the stall of this end point.
    ClearHalt(u8),
}

/// What it answers. May wait; `stop` and the timeout end that.
pub type Answer = dyn Fn(&Asked, Duration, &Stop) -> Result<Moved, HardwareFault> + Send + Sync;

/// A bus with recorded devices. Cheap to clone: all clones are one.
#[derive(Clone, Default)]
pub struct Recorded(Arc<Mutex<Bus>>);

#[derive(Default)]
struct Bus {
    plugged: Vec<(UsbDevice, Arc<Answer>)>,
    seen: Vec<String>,
    claimed: Vec<(u8, u8, u8)>,
    /// USB cannot be used at all.
    broken: Option<String>,
}

impl Recorded {
    /// Plugs a device in.
    pub fn plug(
        &self,
        device: UsbDevice,
        answer: impl Fn(&Asked, Duration, &Stop) -> Result<Moved, HardwareFault> + Send + Sync + 'static,
    ) {
        self.lock().plugged.push((device, Arc::new(answer)));
    }

    /// Unplugs a device, also while it is in use.
    pub fn unplug(&self, vendor: u16, product: u16) {
        self.lock().plugged.retain(|(one, _)| (one.vendor, one.product) != (vendor, product));
    }

    /// Makes USB as a whole unusable, with this reason.
    pub fn break_down(&self, why: &str) {
        self.lock().broken = Some(why.to_owned());
    }

    /// Returns what was opened, claimed, released and closed, in order: `open 2341:0043`, `claim 0`.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.lock().seen.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Bus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsbDevices for Recorded {
    fn found(&self) -> Result<Vec<UsbDevice>, HardwareFault> {
        let bus = self.lock();
        match &bus.broken {
            Some(why) => Err(HardwareFault::new(DeviceFault::NoSystem, why.clone())),
            None => Ok(bus.plugged.iter().map(|(one, _)| one.clone()).collect()),
        }
    }

    fn open(&self, device: &DeviceId) -> Result<Box<dyn UsbConnection>, HardwareFault> {
        let found = self.found()?;
        let here = found.iter().zip(names(&found)).find(|(_, name)| name == device);
        let (device, _) = here.ok_or_else(absent)?;
        if let Some(why) = &device.denied {
            return Err(HardwareFault::new(DeviceFault::Denied, why.clone()));
        }
        self.lock().seen.push(format!("open {:04x}:{:04x}", device.vendor, device.product));
        Ok(Box::new(Connection { bus: self.clone(), device: device.clone() }))
    }
}

struct Connection {
    bus: Recorded,
    device: UsbDevice,
}

impl Connection {
    fn ask(&self, asked: &Asked, timeout: Duration, stop: &Stop) -> Result<Moved, HardwareFault> {
        let unplugged = || HardwareFault::new(DeviceFault::Unplugged, "it was unplugged");
        let answer = || {
            let bus = self.bus.lock();
            let here = bus.plugged.iter().find(|(one, _)| *one == self.device);
            here.map(|(_, answer)| Arc::clone(answer)).ok_or_else(unplugged)
        };
        let told = answer()?(asked, timeout, stop);
        // Whoever went while it was asked answers no more.
        answer()?;
        told
    }

    fn key(&self, interface: u8) -> (u8, u8, u8) {
        (self.device.bus, self.device.address, interface)
    }
}

impl UsbConnection for Connection {
    fn device(&self) -> &UsbDevice {
        &self.device
    }

    fn claim(&mut self, interface: u8) -> Result<(), HardwareFault> {
        let driver =
            self.device.functions.iter().find(|one| one.number == interface).and_then(|one| one.driver.clone());
        if let Some(driver) = driver {
            return Err(super::libusb::busy(interface, Some(&driver)));
        }
        let key = self.key(interface);
        let mut bus = self.bus.lock();
        if bus.claimed.contains(&key) {
            return Err(super::libusb::busy(interface, None));
        }
        bus.claimed.push(key);
        bus.seen.push(format!("claim {interface}"));
        Ok(())
    }

    fn release(&mut self, interface: u8) {
        let key = self.key(interface);
        let mut bus = self.bus.lock();
        bus.claimed.retain(|one| *one != key);
        bus.seen.push(format!("release {interface}"));
    }

    fn control(
        &mut self,
        setup: Setup,
        data: &UsbData,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Moved, HardwareFault> {
        self.ask(&Asked::Control(setup, data.clone()), timeout, stop)
    }

    fn transfer(
        &mut self,
        endpoint: &UsbEndpoint,
        data: &UsbData,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Moved, HardwareFault> {
        self.ask(&Asked::Transfer(endpoint.address, data.clone()), timeout, stop)
    }

    fn clear_halt(&mut self, endpoint: u8) -> Result<(), HardwareFault> {
        let stop = Stop::new().map_err(|fault| HardwareFault::new(DeviceFault::Io, fault.to_string()))?;
        self.ask(&Asked::ClearHalt(endpoint), Duration::from_secs(1), &stop).map(drop)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (here, address) = (self.device.bus, self.device.address);
        let mut bus = self.bus.lock();
        bus.claimed.retain(|(bus, device, _)| (*bus, *device) != (here, address));
        bus.seen.push(format!("close {:04x}:{:04x}", self.device.vendor, self.device.product));
    }
}

/// Waits as a device that says nothing: until the time is up or it is stopped.
///
/// # Errors
/// Always: `Timeout`, or `NotOpen` when it was stopped.
pub fn silence(timeout: Duration, stop: &Stop) -> Result<Moved, HardwareFault> {
    const STEP: Duration = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while waited < timeout {
        if stop.is_said() {
            return Err(HardwareFault::new(DeviceFault::NotOpen, "it was ended from here before the device answered"));
        }
        std::thread::sleep(STEP);
        waited += STEP;
    }
    Err(HardwareFault::new(DeviceFault::Timeout, "the device did not answer in time"))
}

/// A device with its bus, address and sockets all at once, without words.
fn plain(vendor: u16, product: u16, address: u8, class: [u8; 3], functions: Vec<UsbFunction>) -> UsbDevice {
    UsbDevice {
        vendor,
        product,
        bus: 1,
        address,
        ports: vec![1, address],
        usb_version: "2.0".to_owned(),
        class,
        manufacturer: None,
        product_name: None,
        serial: None,
        functions,
        denied: None,
    }
}

fn called(device: UsbDevice, manufacturer: &str, product: &str, serial: &str) -> UsbDevice {
    UsbDevice {
        manufacturer: Some(manufacturer.to_owned()).filter(|text| !text.is_empty()),
        product_name: Some(product.to_owned()).filter(|text| !text.is_empty()),
        serial: Some(serial.to_owned()).filter(|text| !text.is_empty()),
        ..device
    }
}

fn function(number: u8, class: [u8; 3], driver: &str, endpoints: &[(u8, &'static str, u16)]) -> UsbFunction {
    let endpoint =
        |&(address, transfer, max_packet): &(u8, &'static str, u16)| UsbEndpoint { address, transfer, max_packet };
    UsbFunction {
        number,
        class,
        other_classes: Vec::new(),
        driver: Some(driver.to_owned()).filter(|driver| !driver.is_empty()),
        endpoints: endpoints.iter().map(endpoint).collect(),
    }
}

/// An Arduino Uno, whose serial port a driver of the system has.
#[must_use]
pub fn arduino_uno() -> UsbDevice {
    let functions = vec![
        function(0, [0x02, 0x02, 0x01], "cdc_acm", &[(0x82, "interrupt", 8)]),
        function(1, [0x0a, 0x00, 0x00], "cdc_acm", &[(0x04, "bulk", 64), (0x83, "bulk", 64)]),
    ];
    let device = plain(0x2341, 0x0043, 4, [0x02, 0x00, 0x00], functions);
    called(device, "Arduino (www.arduino.cc)", "", "85430353531351B0D1A1")
}

/// A serial adapter of FTDI without its driver.
#[must_use]
pub fn ftdi() -> UsbDevice {
    let functions = vec![function(0, [0xff, 0xff, 0xff], "", &[(0x81, "bulk", 64), (0x02, "bulk", 64)])];
    called(plain(0x0403, 0x6001, 5, [0, 0, 0], functions), "FTDI", "FT232R USB UART", "A50285BI")
}

/// A keyboard with its extra keys.
#[must_use]
pub fn keyboard() -> UsbDevice {
    let functions = vec![
        function(0, [0x03, 0x01, 0x01], "usbhid", &[(0x81, "interrupt", 8)]),
        function(1, [0x03, 0x00, 0x00], "usbhid", &[(0x82, "interrupt", 4)]),
    ];
    called(plain(0x046d, 0xc31c, 6, [0, 0, 0], functions), "Logitech", "USB Keyboard", "")
}

/// A stick.
#[must_use]
pub fn stick() -> UsbDevice {
    let functions = vec![function(0, [0x08, 0x06, 0x50], "usb-storage", &[(0x81, "bulk", 512), (0x02, "bulk", 512)])];
    called(plain(0x0781, 0x5567, 7, [0, 0, 0], functions), "SanDisk", "Cruzer Blade", "4C530001230112116441")
}

/// A security key that types, signs and is a smart card.
#[must_use]
pub fn security_key() -> UsbDevice {
    let functions = vec![
        function(0, [0x03, 0x01, 0x01], "usbhid", &[(0x81, "interrupt", 8)]),
        function(1, [0x03, 0x00, 0x00], "usbhid", &[(0x04, "interrupt", 64), (0x84, "interrupt", 64)]),
        function(2, [0x0b, 0x00, 0x00], "", &[(0x02, "bulk", 64), (0x82, "bulk", 64), (0x83, "interrupt", 8)]),
    ];
    called(plain(0x1050, 0x0407, 8, [0, 0, 0], functions), "Yubico", "YubiKey OTP+FIDO+CCID", "")
}

/// A debugger of a development board: the maker's own interface, a disk for dropping programs onto, and a serial port.
#[must_use]
pub fn debugger() -> UsbDevice {
    let functions = vec![
        function(0, [0xff, 0xff, 0xff], "", &[(0x81, "bulk", 64), (0x01, "bulk", 64), (0x82, "bulk", 64)]),
        function(1, [0x08, 0x06, 0x50], "usb-storage", &[(0x83, "bulk", 64), (0x03, "bulk", 64)]),
        function(2, [0x02, 0x02, 0x01], "cdc_acm", &[(0x84, "interrupt", 10)]),
        function(3, [0x0a, 0x00, 0x00], "cdc_acm", &[(0x05, "bulk", 64), (0x85, "bulk", 64)]),
    ];
    called(
        plain(0x0483, 0x374b, 9, [0xef, 0x02, 0x01], functions),
        "STMicroelectronics",
        "STM32 STLink",
        "066DFF485550755187",
    )
}

/// A network adapter that stands for a modem's kin.
#[must_use]
pub fn network_adapter() -> UsbDevice {
    let functions = vec![
        function(0, [0x02, 0x0d, 0x00], "", &[(0x81, "interrupt", 16)]),
        function(1, [0x0a, 0x00, 0x01], "", &[(0x82, "bulk", 512), (0x03, "bulk", 512)]),
    ];
    called(plain(0x0bda, 0x8156, 10, [0, 0, 0], functions), "Realtek", "USB 10/100/1G/2.5G LAN", "4013000001")
}
