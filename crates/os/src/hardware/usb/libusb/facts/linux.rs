//! Linux: the kernel tells strings and drivers in files that everybody may read.

use std::fs;
use std::path::{Path, PathBuf};

use rusb::{Context, DeviceDescriptor};

use crate::hardware::access;
use crate::hardware::usb::UsbDevice;

const DEVICES: &str = "/sys/bus/usb/devices";
const NODES: &str = "/dev/bus/usb";

/// Tells whether the machine has USB at all.
pub(in super::super) fn has_usb() -> bool {
    Path::new(DEVICES).is_dir() || Path::new(NODES).is_dir()
}

/// Adds what the device calls itself, as the kernel read it when the device was plugged in.
pub(in super::super) fn add_words(seen: &mut UsbDevice, _: &rusb::Device<Context>, _: &DeviceDescriptor) {
    let folder = folder(seen);
    let said = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    (seen.manufacturer, seen.product_name, seen.serial) = (said("manufacturer"), said("product"), said("serial"));
}

/// Adds which interfaces drivers have.
pub(in super::super) fn add_drivers(seen: &mut UsbDevice, configuration: u8) {
    let place = seen.topology();
    for function in &mut seen.functions {
        let link = Path::new(DEVICES).join(format!("{place}:{configuration}.{}", function.number)).join("driver");
        let target = fs::read_link(link).ok();
        function.driver = target
            .and_then(|target| target.file_name().map(|name| name.to_string_lossy().into_owned()))
            // Not a driver, but a program that claimed it.
            .filter(|name| name != "usbfs");
    }
}

/// Returns the driver that had an interface at the last look.
pub(in super::super) fn driver(device: &UsbDevice, interface: u8) -> Option<String> {
    device.functions.iter().find(|one| one.number == interface).and_then(|one| one.driver.clone())
}

/// Tells why this user cannot open it, and what gives it.
pub(in super::super) fn denied(device: &UsbDevice) -> Option<String> {
    let node = Path::new(NODES).join(format!("{:03}/{:03}", device.bus, device.address));
    let why = access::denied(&node)?;
    Some(format!(
        "{why}. The udev rule: SUBSYSTEM==\"usb\", ATTR{{idVendor}}==\"{:04x}\", ATTR{{idProduct}}==\"{:04x}\", TAG+=\"uaccess\" \
         in /etc/udev/rules.d/70-drawbridge.rules; then plug the device in again",
        device.vendor, device.product
    ))
}

fn folder(device: &UsbDevice) -> PathBuf {
    Path::new(DEVICES).join(device.topology())
}
