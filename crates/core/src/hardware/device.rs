//! Devices that are there: their kinds, where they are, what they say of themselves.

use super::DeviceId;

/// Kinds of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceKind {
    /// A serial port.
    Serial,
    /// A USB device.
    Usb,
    /// A GPIO chip.
    Gpio,
}

impl DeviceKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Serial, Self::Usb, Self::Gpio];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Usb => "usb",
            Self::Gpio => "gpio",
        }
    }

    /// Finds a kind by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A device that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name for sharing.
    pub id: DeviceId,
    /// Where it is.
    pub place: DevicePlace,
    /// In words, cleaned: no control characters, no serial number, at most 128 characters. Not yet safe to show.
    pub description: String,
    /// Why this user cannot open it, if that can be told without opening it: what is missing and which group gives it.
    pub denied: Option<String>,
}

impl Device {
    /// Returns its kind.
    #[must_use]
    pub const fn kind(&self) -> DeviceKind {
        match &self.place {
            DevicePlace::Serial { .. } => DeviceKind::Serial,
            DevicePlace::Usb { .. } => DeviceKind::Usb,
            DevicePlace::Gpio { .. } => DeviceKind::Gpio,
        }
    }
}

/// Where a device is at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DevicePlace {
    /// A serial port.
    Serial {
        /// Its path or name, for example `/dev/ttyUSB0` or `COM3`.
        port: String,
    },
    /// A USB device.
    Usb {
        /// Vendor id.
        vendor: u16,
        /// Product id.
        product: u16,
        /// Bus number.
        bus: u8,
        /// Address on the bus.
        address: u8,
    },
    /// A GPIO chip.
    Gpio {
        /// Its name, for example `gpiochip0`.
        chip: String,
        /// Number of lines.
        lines: u32,
        /// Lines that the board gives a name, by their numbers. Several may have one name. Not yet safe to show.
        names: Vec<(u32, String)>,
    },
}
