//! USB by libusb. It is begun for each look and for each open device and ended with it, so that nothing of it stays.

mod facts;
mod transfer;

use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{DeviceId, UsbData, UsbEndpoint};
use rusb::{Context, DeviceHandle, Error, UsbContext as _};

use self::transfer::{Kind, Transfer};
use super::{HardwareFault, Moved, Setup, Stop, UsbConnection, UsbDevice, UsbDevices, UsbFunction, absent, names};

const HUB: u8 = 0x09;

/// The system's devices.
pub(super) struct LibUsb;

type Listed = (rusb::Device<Context>, UsbDevice);

impl UsbDevices for LibUsb {
    fn found(&self) -> Result<Vec<UsbDevice>, HardwareFault> {
        Ok(listed()?.into_iter().map(|(_, seen)| seen).collect())
    }

    fn open(&self, device: &DeviceId) -> Result<Box<dyn UsbConnection>, HardwareFault> {
        let (real, seen): (Vec<_>, Vec<_>) = listed()?.into_iter().unzip();
        let names = names(&seen);
        let here = real.into_iter().zip(seen).zip(names).find(|(_, name)| name == device);
        let ((real, device), _) = here.ok_or_else(absent)?;
        let handle = real.open().map_err(|fault| not_opened(fault, &device))?;
        Ok(Box::new(Connection { handle, device }))
    }
}

fn listed() -> Result<Vec<Listed>, HardwareFault> {
    // Without USB in the machine libusb reports a fault; it is none.
    if !facts::has_usb() {
        return Ok(Vec::new());
    }
    let cannot = |fault: Error| {
        HardwareFault::new(DeviceFault::NoSystem, format!("USB cannot be used on this computer: libusb says: {fault}"))
    };
    let context = Context::new().map_err(cannot)?;
    let devices = context.devices().map_err(cannot)?;
    Ok(devices.iter().filter_map(|device| seen(&device).map(|seen| (device, seen))).collect())
}

/// What a device says of itself; none for a hub, and for one that goes at this very moment.
fn seen(device: &rusb::Device<Context>) -> Option<UsbDevice> {
    let told = device.device_descriptor().ok()?;
    if told.class_code() == HUB {
        return None;
    }
    let ports = device.port_numbers().unwrap_or_default();
    let version = told.usb_version();
    let mut seen = UsbDevice {
        vendor: told.vendor_id(),
        product: told.product_id(),
        bus: device.bus_number(),
        address: device.address(),
        ports,
        usb_version: format!("{}.{}", version.major(), version.minor()),
        class: [told.class_code(), told.sub_class_code(), told.protocol_code()],
        manufacturer: None,
        product_name: None,
        serial: None,
        functions: Vec::new(),
        denied: None,
    };
    // Without an active configuration it has no functions.
    if let Ok(active) = device.active_config_descriptor() {
        seen.functions = active.interfaces().filter_map(|one| function(&one)).collect();
        facts::add_drivers(&mut seen, active.number());
    }
    facts::add_words(&mut seen, device, &told);
    seen.denied = facts::denied(&seen);
    Some(seen)
}

fn function(one: &rusb::Interface<'_>) -> Option<UsbFunction> {
    let mut first: Option<(u8, UsbFunction)> = None;
    let mut classes = Vec::new();
    for setting in one.descriptors() {
        let class = [setting.class_code(), setting.sub_class_code(), setting.protocol_code()];
        if first.as_ref().is_none_or(|(number, _)| setting.setting_number() < *number) {
            let endpoints = setting.endpoint_descriptors().map(|endpoint| UsbEndpoint {
                address: endpoint.address(),
                transfer: kind_name(endpoint.transfer_type()),
                max_packet: endpoint.max_packet_size(),
            });
            let function = UsbFunction {
                number: one.number(),
                class,
                other_classes: Vec::new(),
                driver: None,
                endpoints: endpoints.collect(),
            };
            first = Some((setting.setting_number(), function));
        }
        classes.push(class);
    }
    let (_, function) = first?;
    let other_classes = classes.into_iter().filter(|class| *class != function.class).collect();
    Some(UsbFunction { other_classes, ..function })
}

const fn kind_name(kind: rusb::TransferType) -> &'static str {
    match kind {
        rusb::TransferType::Control => "control",
        rusb::TransferType::Isochronous => "isochronous",
        rusb::TransferType::Bulk => "bulk",
        rusb::TransferType::Interrupt => "interrupt",
    }
}

struct Connection {
    handle: DeviceHandle<Context>,
    device: UsbDevice,
}

impl UsbConnection for Connection {
    fn device(&self) -> &UsbDevice {
        &self.device
    }

    fn claim(&mut self, interface: u8) -> Result<(), HardwareFault> {
        self.handle.claim_interface(interface).map_err(|fault| {
            if fault == Error::Busy {
                return busy(interface, facts::driver(&self.device, interface).as_deref());
            }
            failed(fault)
        })
    }

    fn release(&mut self, interface: u8) {
        // It fails only where the device is gone, and then there is nothing to give back.
        let _ = self.handle.release_interface(interface);
    }

    fn control(
        &mut self,
        setup: Setup,
        data: &UsbData,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Moved, HardwareFault> {
        Transfer { kind: Kind::Control(setup), data, timeout, stop }.run(&self.handle)
    }

    fn transfer(
        &mut self,
        endpoint: &UsbEndpoint,
        data: &UsbData,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<Moved, HardwareFault> {
        let kind = if endpoint.transfer == "interrupt" {
            Kind::Interrupt(endpoint.address)
        } else {
            Kind::Bulk(endpoint.address)
        };
        Transfer { kind, data, timeout, stop }.run(&self.handle)
    }

    fn clear_halt(&mut self, endpoint: u8) -> Result<(), HardwareFault> {
        self.handle.clear_halt(endpoint).map_err(failed)
    }
}

pub(super) fn busy(interface: u8, driver: Option<&str>) -> HardwareFault {
    let message = match driver {
        Some(driver) => format!(
            "a driver of the system ({driver}) uses interface {interface}; Drawbridge never takes a device from a driver. Use \
             what the driver offers, such as a serial port, or unbind the driver for this device"
        ),
        None => format!("another program uses interface {interface}; close it and try again"),
    };
    HardwareFault::new(DeviceFault::Busy, message)
}

fn not_opened(fault: Error, device: &UsbDevice) -> HardwareFault {
    if fault == Error::Access {
        let why = device.denied.clone().unwrap_or_else(|| "the system does not let this user open it".to_owned());
        return HardwareFault::new(DeviceFault::Denied, why);
    }
    if matches!(fault, Error::NoDevice | Error::NotFound) {
        return absent();
    }
    if fault == Error::NotSupported {
        let why = "this system has no driver that lets programs use the device; on Windows, WinUSB is one";
        return HardwareFault::new(DeviceFault::NoSystem, why);
    }
    failed(fault)
}

/// What a call of libusb failed with.
fn failed(fault: Error) -> HardwareFault {
    let (kind, message) = match fault {
        Error::NoDevice | Error::NotFound => (DeviceFault::Unplugged, "it was unplugged".to_owned()),
        Error::Busy => (DeviceFault::Busy, "another program uses it; close it and try again".to_owned()),
        Error::Access => (DeviceFault::Denied, "the system does not let this user use it".to_owned()),
        Error::Pipe => (DeviceFault::Refused, "the device refused the request (a stall)".to_owned()),
        Error::Timeout => (DeviceFault::Timeout, "the device did not answer in time".to_owned()),
        Error::Overflow => (DeviceFault::Overrun, transfer::OVERFLOW.to_owned()),
        Error::NotSupported => (DeviceFault::Unsupported, "this system cannot do that with USB devices".to_owned()),
        Error::Io | Error::InvalidParam | Error::Interrupted | Error::NoMem | Error::BadDescriptor | Error::Other => {
            (DeviceFault::Io, format!("libusb says: {fault}"))
        }
    };
    HardwareFault::new(kind, message)
}
