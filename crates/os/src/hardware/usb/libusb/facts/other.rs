//! Elsewhere the device itself is asked for its strings, which opens it for a moment.

use std::time::Duration;

use rusb::{Context, DeviceDescriptor};

use crate::hardware::usb::UsbDevice;

/// A device that is there answers at once.
const ASKED: Duration = Duration::from_millis(200);

pub(in super::super) const fn has_usb() -> bool {
    true
}

pub(in super::super) fn add_words(seen: &mut UsbDevice, device: &rusb::Device<Context>, told: &DeviceDescriptor) {
    let Ok(handle) = device.open() else { return };
    let Some(language) = handle.read_languages(ASKED).ok().and_then(|all| all.first().copied()) else { return };
    seen.manufacturer = handle.read_manufacturer_string(language, told, ASKED).ok();
    seen.product_name = handle.read_product_string(language, told, ASKED).ok();
    seen.serial = handle.read_serial_number_string(language, told, ASKED).ok();
    for function in &mut seen.functions {
        // Without a name: the system tells only that there is one.
        function.driver =
            handle.kernel_driver_active(function.number).ok().filter(|has| *has).map(|_| "its own".to_owned());
    }
}

pub(in super::super) const fn add_drivers(_: &mut UsbDevice, _: u8) {}

pub(in super::super) fn driver(device: &UsbDevice, interface: u8) -> Option<String> {
    device.functions.iter().find(|one| one.number == interface).and_then(|one| one.driver.clone())
}

pub(in super::super) const fn denied(_: &UsbDevice) -> Option<String> {
    None
}
