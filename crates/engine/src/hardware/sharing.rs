//! Which devices the configuration means, and how a device is told: to the platform, and to a person.

use drawbridge_core::escape_outside_text;
use drawbridge_core::hardware::{Device, DevicePlace};
use drawbridge_proto::executor::wire::HardwareDevice;
use drawbridge_store::config::DeviceMatch;

/// Tells whether the configuration shares a device.
pub(super) fn is_configured(configured: &[DeviceMatch], device: &Device) -> bool {
    configured.iter().any(|one| matches(one, device))
}

/// Returns the entry by which the configuration shares a device, as it stands there. Not yet safe to show.
pub(super) fn entry_for(configured: &[DeviceMatch], device: &Device) -> Option<String> {
    configured.iter().find(|one| matches(one, device)).map(ToString::to_string)
}

/// Tells whether the configuration names a serial port.
pub(super) fn is_configured_port(configured: &[DeviceMatch], path: &str) -> bool {
    configured.iter().any(|one| one.port() == Some(path))
}

pub(super) fn matches(wanted: &DeviceMatch, device: &Device) -> bool {
    match (wanted, &device.place) {
        (DeviceMatch::Port(wanted), DevicePlace::Serial { port }) => wanted == port,
        (DeviceMatch::Usb { vendor, product }, DevicePlace::Usb { vendor: v, product: p, .. }) => {
            (vendor, product) == (v, p)
        }
        (DeviceMatch::Gpio(wanted), DevicePlace::Gpio { chip, .. }) => wanted == chip,
        (DeviceMatch::Port(_) | DeviceMatch::Usb { .. } | DeviceMatch::Gpio(_), _) => false,
    }
}

/// Returns where a device is, in words. Not yet safe to show.
pub(super) fn place_of(place: &DevicePlace) -> String {
    match place {
        DevicePlace::Serial { port } => port.clone(),
        DevicePlace::Usb { vendor, product, bus, .. } => format!("{vendor:04x}:{product:04x}, bus {bus}"),
        DevicePlace::Gpio { chip, .. } => chip.clone(),
    }
}

/// Tells a device to the platform (spec 12). `end` is where its path leads to: names beneath `/dev/serial/by-id` hold serial numbers,
/// and a path of the person's own is nobody's business.
pub(super) fn in_hello(device: &Device, end: Option<&str>) -> HardwareDevice {
    // A port that the person added says nothing of itself, and its path is theirs.
    let said = device.description.trim();
    let desc = if said.is_empty() { "Serial port".to_owned() } else { escape_outside_text(said) };
    match &device.place {
        DevicePlace::Serial { port } => HardwareDevice::Serial { port: escape_outside_text(end.unwrap_or(port)), desc },
        DevicePlace::Usb { vendor, product, .. } => {
            HardwareDevice::Usb { vid: format!("{vendor:04x}"), pid: format!("{product:04x}"), desc }
        }
        DevicePlace::Gpio { chip, .. } => HardwareDevice::Gpio { chip: chip.clone(), desc },
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_core::hardware::DeviceId;

    use super::*;

    fn device(place: DevicePlace) -> Device {
        Device { id: DeviceId::parse("x-1").unwrap(), place, description: "Board\u{202e}".to_owned(), denied: None }
    }

    #[test]
    fn a_device_is_meant_by_its_port_ids_or_chip() {
        let serial = device(DevicePlace::Serial { port: "/dev/ttyUSB0".to_owned() });
        let usb = device(DevicePlace::Usb { vendor: 0x2341, product: 0x0043, bus: 1, address: 7 });
        let gpio = device(DevicePlace::Gpio { chip: "gpiochip0".to_owned(), lines: 58, names: Vec::new() });
        let wanted = [
            DeviceMatch::Port("/dev/ttyUSB0".to_owned()),
            DeviceMatch::Usb { vendor: 0x2341, product: 0x0043 },
            DeviceMatch::Gpio("gpiochip0".to_owned()),
        ];

        for (at, wanted) in wanted.iter().enumerate() {
            let meant = [&serial, &usb, &gpio].map(|device| matches(wanted, device));
            assert_eq!(meant, [at == 0, at == 1, at == 2], "{wanted}");
        }
        assert!(!matches(&DeviceMatch::Port("/dev/ttyUSB1".to_owned()), &serial));
        assert!(!matches(&DeviceMatch::Usb { vendor: 0x2341, product: 0x0042 }, &usb));
    }

    #[test]
    fn the_platform_is_told_four_digits_and_nothing_that_hides() {
        let usb = in_hello(&device(DevicePlace::Usb { vendor: 0x2341, product: 0x43, bus: 1, address: 7 }), None);

        let told = serde_json::to_value(usb).unwrap();
        assert_eq!((&told["type"], &told["vid"], &told["pid"]), (&"usb".into(), &"2341".into(), &"0043".into()));
        assert!(!told["desc"].as_str().unwrap().contains('\u{202e}'));
    }
}
