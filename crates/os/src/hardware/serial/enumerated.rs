//! Finding and opening serial ports on macOS and Windows, by the library's list.
//!
//! Left out: who holds a port, and looking again after opening; the list is looked at right before.

use std::path::Path;
use std::sync::Arc;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Device, DeviceId, DevicePlace, SerialSettings};
use serialport::{SerialPortInfo, SerialPortType, UsbPortInfo};

use super::{SerialLink, SerialPorts};
use crate::hardware::id::{self, UsbIdentity};
use crate::hardware::words::describe;
use crate::hardware::{HardwareFault, access, port};

/// The serial ports of this machine.
pub(super) struct Ports;

impl SerialPorts for Ports {
    fn list(&self, added: &[String]) -> Vec<Device> {
        let ports = serialport::available_ports().unwrap_or_default();
        let mut found: Vec<Device> = ports.into_iter().filter(is_shown).map(as_device).collect();
        let there = |path: &&String| port::check(Path::new(path)).is_ok();
        found.extend(added.iter().filter(there).map(|path| Device {
            id: id::serial_of_path(path),
            place: DevicePlace::Serial { port: path.clone() },
            // Its path is all that is known of it.
            description: String::new(),
            denied: access::denied(Path::new(path)),
        }));
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found.dedup_by(|one, other| one.id == other.id);
        found
    }

    fn open(
        &self,
        device: &DeviceId,
        added: &[String],
        settings: &SerialSettings,
    ) -> Result<Arc<dyn SerialLink>, HardwareFault> {
        let place = self.list(added).into_iter().find(|found| found.id == *device).map(|found| found.place);
        let Some(DevicePlace::Serial { port }) = place else {
            return Err(HardwareFault::new(DeviceFault::Absent, "it is not plugged in now; plug it in and try again"));
        };
        open(&port, settings)
    }
}

#[cfg(unix)]
fn open(port: &str, settings: &SerialSettings) -> Result<Arc<dyn SerialLink>, HardwareFault> {
    use super::tty::{Opened, Tty};
    let opened = Opened::open(Path::new(port))?;
    opened.lock(Path::new(port))?;
    Ok(Arc::new(Tty::begin(opened, Path::new(port), settings, None)?))
}

#[cfg(windows)]
fn open(port: &str, settings: &SerialSettings) -> Result<Arc<dyn SerialLink>, HardwareFault> {
    Ok(Arc::new(super::windows::Com::open(port, settings)?))
}

/// macOS lists each port twice; the "tty" one waits for a carrier when it is opened.
fn is_shown(found: &SerialPortInfo) -> bool {
    !found.port_name.starts_with("/dev/tty.")
}

fn as_device(found: SerialPortInfo) -> Device {
    let (id, description) = match &found.port_type {
        SerialPortType::UsbPort(usb) => (id::serial_of_usb(&identity(usb, &found.port_name), None, 0), words(usb)),
        SerialPortType::PciPort | SerialPortType::BluetoothPort | SerialPortType::Unknown => {
            (id::serial_of_path(&found.port_name), describe(&[Some("Serial port"), Some(&found.port_name)], None))
        }
    };
    Device {
        id,
        denied: access::denied(Path::new(&found.port_name)),
        place: DevicePlace::Serial { port: found.port_name },
        description,
    }
}

fn identity(usb: &UsbPortInfo, name: &str) -> UsbIdentity {
    // The name of the port counts beside a serial number as well: the list does not tell which interface it is.
    UsbIdentity {
        vendor: usb.vid,
        product: usb.pid,
        serial: usb.serial_number.as_ref().map(|serial| format!("{serial}\n{name}")),
        topology: name.to_owned(),
    }
}

fn words(usb: &UsbPortInfo) -> String {
    let said = describe(&[usb.manufacturer.as_deref(), usb.product.as_deref()], usb.serial_number.as_deref());
    if said.is_empty() { format!("USB serial port {:04x}:{:04x}", usb.vid, usb.pid) } else { said }
}
