//! USB devices: which are there, what they say of themselves, and transfers.
//!
//! Looking opens no device. Nothing here takes a device from a driver of the system, changes its configuration or resets it. What
//! may be asked of which device says [`guard`], and whoever asks goes by it. Left out: isochronous transfers, other settings of an
//! interface than its first one, hubs.

pub mod guard;
mod libusb;
pub mod recorded;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::hardware::{Device, DeviceId, DevicePlace, UsbData, UsbDescription, UsbEndpoint, UsbInterface};

use super::id::{self, UsbIdentity};
use super::{HardwareFault, Stop, words};

/// What USB devices a system has.
pub trait UsbDevices: Send + Sync {
    /// Looks which are there, apart from hubs. None at all on a computer without USB. Blocks, a moment; opens nothing.
    ///
    /// # Errors
    /// `NoSystem`: USB cannot be used here, with the reason.
    fn found(&self) -> Result<Vec<UsbDevice>, HardwareFault>;

    /// Opens one. What the device is, is looked up again and must be what the name says. Claims nothing. Blocks, a moment.
    ///
    /// # Errors
    /// `Absent`, `Denied` with what gives it, `NoSystem`, `Io`.
    fn open(&self, device: &DeviceId) -> Result<Box<dyn UsbConnection>, HardwareFault>;

    /// Looks which are there, in the words that all kinds share; none where USB cannot be used. Blocks, a moment.
    fn list(&self) -> Vec<Device> {
        let found = self.found().unwrap_or_default();
        let names = names(&found);
        found.iter().zip(names).map(|(one, id)| one.as_device(id)).collect()
    }

    /// Finds one by its name.
    ///
    /// # Errors
    /// `Absent`, `NoSystem`.
    fn find(&self, device: &DeviceId) -> Result<UsbDevice, HardwareFault> {
        let found = self.found()?;
        let names = names(&found);
        let here = found.into_iter().zip(names).find(|(_, id)| id == device);
        here.map(|(one, _)| one).ok_or_else(absent)
    }
}

/// An open USB device. Everything it claimed is given back with it. Calls block.
pub trait UsbConnection: Send {
    /// Returns what it is.
    fn device(&self) -> &UsbDevice;

    /// Takes an interface for this program alone.
    ///
    /// # Errors
    /// `Busy`: a driver of the system or another program has it. `Unplugged`, `Io`.
    fn claim(&mut self, interface: u8) -> Result<(), HardwareFault>;

    /// Gives an interface back.
    fn release(&mut self, interface: u8);

    /// Does a control transfer, until `timeout` or `stop`.
    ///
    /// # Errors
    /// `Refused` when the device stalls, `Timeout`, `Unplugged`, `Overrun` when more comes than was asked for, `Io`.
    fn control(&mut self, setup: Setup, data: &UsbData, timeout: Duration, stop: &Stop)
    -> Result<Moved, HardwareFault>;

    /// Does a bulk or interrupt transfer, as its end point says, until `timeout` or `stop`. What came or left until then is the
    /// answer.
    ///
    /// # Errors
    /// As [`control`](Self::control); `Timeout` only when nothing moved.
    fn transfer(
        &mut self,
        endpoint: &UsbEndpoint,
        data: &UsbData,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Moved, HardwareFault>;

    /// Ends the stall of an end point, on both sides.
    ///
    /// # Errors
    /// `Unplugged`, `Refused`, `Io`.
    fn clear_halt(&mut self, endpoint: u8) -> Result<(), HardwareFault>;
}

/// The first bytes of a control transfer, but for the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// `bmRequestType`.
    pub request_type: u8,
    /// `bRequest`.
    pub request: u8,
    /// `wValue`.
    pub value: u16,
    /// `wIndex`.
    pub index: u16,
}

/// What a transfer moved.
#[derive(Clone, PartialEq, Eq)]
pub enum Moved {
    /// So many bytes went out.
    Out(usize),
    /// These came in.
    In(Vec<u8>),
}

impl fmt::Debug for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Out(count) => write!(f, "Out({count})"),
            Self::In(bytes) => write!(f, "In(<{} bytes>)", bytes.len()),
        }
    }
}

/// A USB device that is there.
#[derive(Clone, PartialEq, Eq)]
pub struct UsbDevice {
    /// Vendor id.
    pub vendor: u16,
    /// Product id.
    pub product: u16,
    /// Bus number.
    pub bus: u8,
    /// Address on the bus.
    pub address: u8,
    /// The sockets from the computer to it.
    pub ports: Vec<u8>,
    /// USB version, for example "2.0".
    pub usb_version: String,
    /// Class, subclass, protocol of the device as a whole.
    pub class: [u8; 3],
    /// Its maker in its own words. Not yet safe to show.
    pub manufacturer: Option<String>,
    /// Its name in its own words. Not yet safe to show.
    pub product_name: Option<String>,
    /// Its serial number. Leaves this module in no form but as part of a digest.
    pub(crate) serial: Option<String>,
    /// Its functions in the configuration that is active. Empty while none is.
    pub functions: Vec<UsbFunction>,
    /// Why this user cannot open it.
    pub denied: Option<String>,
}

impl fmt::Debug for UsbDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UsbDevice({:04x}:{:04x} at {})", self.vendor, self.product, self.topology())
    }
}

/// An interface of a USB device with all its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbFunction {
    /// Its number.
    pub number: u8,
    /// Class, subclass, protocol of its first setting, which is the one in use.
    pub class: [u8; 3],
    /// The same of its other settings.
    pub other_classes: Vec<[u8; 3]>,
    /// The driver of the system that has it, by name where that is known.
    pub driver: Option<String>,
    /// The end points of its first setting.
    pub endpoints: Vec<UsbEndpoint>,
}

impl UsbDevice {
    /// Returns where it is plugged in: `1-1.4`.
    #[must_use]
    pub fn topology(&self) -> String {
        let ports: Vec<String> = self.ports.iter().map(u8::to_string).collect();
        format!("{}-{}", self.bus, ports.join("."))
    }

    /// Returns what it says of itself, made safe to show.
    #[must_use]
    pub fn description(&self) -> UsbDescription {
        let said = |text: &Option<String>| {
            Some(words::describe(&[text.as_deref()], self.serial.as_deref())).filter(|text| !text.is_empty())
        };
        UsbDescription {
            vendor: self.vendor,
            product: self.product,
            usb_version: self.usb_version.clone(),
            class: self.class,
            manufacturer: said(&self.manufacturer),
            product_name: said(&self.product_name),
            interfaces: self.functions.iter().map(UsbFunction::as_interface).collect(),
        }
    }

    fn as_device(&self, id: DeviceId) -> Device {
        let said =
            words::describe(&[self.manufacturer.as_deref(), self.product_name.as_deref()], self.serial.as_deref());
        let description = if said.is_empty() { "USB device".to_owned() } else { said };
        let place =
            DevicePlace::Usb { vendor: self.vendor, product: self.product, bus: self.bus, address: self.address };
        // What no agent gets needs no rule that opens it.
        let denied = guard::wholly(self).or_else(|| self.denied.clone());
        Device { id, place, description, denied }
    }
}

impl UsbFunction {
    fn as_interface(&self) -> UsbInterface {
        UsbInterface {
            number: self.number,
            class: self.class,
            driver_active: self.driver.is_some(),
            endpoints: self.endpoints.clone(),
        }
    }
}

/// Names devices in their order. A serial number that several tell is none, as some makers give all their devices the same one.
fn names(found: &[UsbDevice]) -> Vec<DeviceId> {
    let key = |one: &UsbDevice| (one.vendor, one.product, one.serial.clone());
    let mut told: BTreeMap<_, usize> = BTreeMap::new();
    for one in found {
        *told.entry(key(one)).or_default() += 1;
    }
    let identity = |one: &UsbDevice| UsbIdentity {
        vendor: one.vendor,
        product: one.product,
        serial: one.serial.clone().filter(|_| told.get(&key(one)) == Some(&1)),
        topology: one.topology(),
    };
    found.iter().map(|one| id::usb(&identity(one))).collect()
}

fn absent() -> HardwareFault {
    HardwareFault::new(drawbridge_core::DeviceFault::Absent, "it is not plugged in; plug it in and try again")
}

/// Returns this system's. Nothing is begun before it is asked.
#[must_use]
pub fn of_system() -> Arc<dyn UsbDevices> {
    Arc::new(libusb::LibUsb)
}
