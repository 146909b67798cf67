//! Something to do with a device, and what came of it. What belongs to one kind alone is in the file of that kind.

use super::{DeviceId, GpioAct, LineEvents, LineStates, SerialAct, SerialBytes, UsbAct, UsbDescription};

/// Something to do with a device. Contents are never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HardwareOp {
    /// The device.
    pub device: DeviceId,
    /// What to do.
    pub act: HardwareAct,
    /// The hold under which it is done: what is opened under one is closed under no other.
    pub hold: Option<u64>,
}

impl HardwareOp {
    /// Returns the name under which the audit log and the window know it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match &self.act {
            HardwareAct::Serial(act) => match act {
                SerialAct::Open(_) => "HARDWARE_SERIAL_OPEN",
                SerialAct::Write { .. } => "HARDWARE_SERIAL_WRITE",
                SerialAct::Read(_) => "HARDWARE_SERIAL_READ",
                SerialAct::Lines(_) => "HARDWARE_SERIAL_LINES",
                SerialAct::Close => "HARDWARE_SERIAL_CLOSE",
            },
            HardwareAct::Usb(act) => match act {
                UsbAct::Describe => "HARDWARE_USB_DESCRIBE",
                UsbAct::Control { .. } => "HARDWARE_USB_CONTROL",
                UsbAct::Transfer { .. } => "HARDWARE_USB_TRANSFER",
            },
            HardwareAct::Gpio(act) => match act {
                GpioAct::Read { .. } => "HARDWARE_GPIO_READ",
                GpioAct::Write { .. } => "HARDWARE_GPIO_WRITE",
                GpioAct::Watch { .. } => "HARDWARE_GPIO_WATCH",
                GpioAct::Release { .. } => "HARDWARE_GPIO_RELEASE",
            },
        }
    }
}

/// What to do with a device.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum HardwareAct {
    /// With a serial port.
    Serial(SerialAct),
    /// With a USB device.
    Usb(UsbAct),
    /// With a GPIO chip.
    Gpio(GpioAct),
}

/// What came of an act with a device.
#[derive(Clone, PartialEq, Eq)]
pub enum HardwareOutcome {
    /// Done, with nothing more to say.
    Done,
    /// So many bytes went out.
    Written {
        /// Bytes.
        bytes: u64,
    },
    /// Bytes came in.
    Read(SerialBytes),
    /// How the lines are that the other side drives.
    Lines(LineStates),
    /// What a USB device says of itself.
    Described(UsbDescription),
    /// Bytes came in by USB.
    Received(Vec<u8>),
    /// A line was read.
    Level {
        /// It is high.
        high: bool,
    },
    /// Changes of a line.
    Events(LineEvents),
}
