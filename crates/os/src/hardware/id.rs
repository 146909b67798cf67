//! Names of devices: the same after unplugging and restarts, another one for another device, and nothing in them that tells a serial
//! number. Pure: whoever lists devices says what they are.

use drawbridge_core::hardware::{DeviceId, DeviceKind};
use sha2::{Digest as _, Sha256};

/// What a USB device is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsbIdentity {
    /// Vendor id.
    pub vendor: u16,
    /// Product id.
    pub product: u16,
    /// Its serial number, if it tells one and no other device there tells the same.
    pub serial: Option<String>,
    /// Where it is plugged in, for example `1-1.4`: counts only without a serial number.
    pub topology: String,
}

impl UsbIdentity {
    fn parts(&self) -> Vec<Vec<u8>> {
        let what = [self.vendor.to_be_bytes().to_vec(), self.product.to_be_bytes().to_vec()];
        let which = match self.serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty()) {
            Some(serial) => [b"serial".to_vec(), serial.as_bytes().to_vec()],
            None => [b"topology".to_vec(), self.topology.as_bytes().to_vec()],
        };
        what.into_iter().chain(which).collect()
    }
}

/// Names a USB device.
#[must_use]
pub fn usb(identity: &UsbIdentity) -> DeviceId {
    of_parts(DeviceKind::Usb, &identity.parts())
}

/// Names a serial port of a USB device: by its interface, and by the number of the port where an interface has several.
#[must_use]
pub fn serial_of_usb(identity: &UsbIdentity, interface: Option<u8>, port: u32) -> DeviceId {
    let mut parts = identity.parts();
    parts.push(interface.map(|number| vec![number]).unwrap_or_default());
    parts.push(port.to_be_bytes().to_vec());
    of_parts(DeviceKind::Serial, &parts)
}

/// Names a serial port that is known by its path alone, as it is written: built in, or named by the person.
#[must_use]
pub fn serial_of_path(path: &str) -> DeviceId {
    of_parts(DeviceKind::Serial, &[b"path".to_vec(), path.as_bytes().to_vec()])
}

/// Names a GPIO chip by what it is called, in plain letters: `gpio-pinctrl-bcm2711`.
#[must_use]
pub fn gpio(called: &str) -> DeviceId {
    DeviceId::plain(DeviceKind::Gpio, called)
}

fn of_parts(kind: DeviceKind, parts: &[Vec<u8>]) -> DeviceId {
    let mut hash = Sha256::new();
    for part in parts {
        // With their lengths, so that no two lists of parts run together to the same bytes.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, e, f, ..] = digest;
    DeviceId::of_digest(kind, [a, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter() -> UsbIdentity {
        UsbIdentity {
            vendor: 0x0403,
            product: 0x6001,
            serial: Some("A50285BI".to_owned()),
            topology: "1-1.4".to_owned(),
        }
    }

    #[test]
    fn a_device_with_a_serial_number_keeps_its_name_in_another_socket() {
        let moved = UsbIdentity { topology: "2-3".to_owned(), ..adapter() };
        assert_eq!(usb(&moved), usb(&adapter()));
        assert_eq!(serial_of_usb(&moved, Some(0), 0), serial_of_usb(&adapter(), Some(0), 0));
        assert!(!usb(&adapter()).as_str().to_lowercase().contains("a50285bi"));
    }

    #[test]
    fn without_one_the_socket_counts_and_an_empty_one_is_none() {
        let plain = UsbIdentity { serial: None, ..adapter() };
        let moved = UsbIdentity { topology: "2-3".to_owned(), ..plain.clone() };
        assert_ne!(usb(&plain), usb(&moved));
        assert_eq!(usb(&UsbIdentity { serial: Some(" ".to_owned()), ..plain.clone() }), usb(&plain));
        // A serial number that reads like a socket is no socket.
        assert_ne!(usb(&UsbIdentity { serial: Some("1-1.4".to_owned()), ..plain.clone() }), usb(&plain));
    }

    #[test]
    fn another_device_interface_port_or_kind_has_another_name() {
        let names = [
            serial_of_usb(&adapter(), Some(0), 0),
            serial_of_usb(&adapter(), Some(1), 0),
            serial_of_usb(&adapter(), None, 0),
            serial_of_usb(&adapter(), Some(0), 1),
            serial_of_usb(&UsbIdentity { product: 0x6010, ..adapter() }, Some(0), 0),
            serial_of_usb(&UsbIdentity { serial: Some("A50285BJ".to_owned()), ..adapter() }, Some(0), 0),
            serial_of_path("/dev/ttyS0"),
            serial_of_path("/dev/ttyS1"),
            usb(&adapter()),
        ];
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
    }

    #[test]
    fn names_have_the_form_that_is_stored() {
        // Shares are stored by these names: another way to make them would take every share away.
        assert_eq!(serial_of_path("/dev/ttyS0").as_str(), "serial-09d1f047740a");
        assert_eq!(gpio("pinctrl-bcm2711").as_str(), "gpio-pinctrl-bcm2711");
        assert_eq!(gpio("GPIO Mockup/A").as_str(), "gpio-gpio-mockup-a");
    }
}
