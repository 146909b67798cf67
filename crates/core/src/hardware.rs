//! Devices on the desk: what they are called and what may be done with them (spec 12). Free of any wire format.
//!
//! The platform's protocol has no messages for devices; these operations come from the command line and from later adapters.

mod device;
mod gpio;
mod id;
mod op;
mod serial;
mod usb;

pub use device::{Device, DeviceKind, DevicePlace};
pub use gpio::{Bias, Edge, GpioAct, LineEvent, LineEvents};
pub use id::{BadDeviceId, DeviceId};
pub use op::{HardwareAct, HardwareOp, HardwareOutcome};
pub use serial::{Flow, LineChange, LineStates, Parity, ReadEnd, SerialAct, SerialBytes, SerialRead, SerialSettings};
pub use usb::{UsbAct, UsbData, UsbDescription, UsbEndpoint, UsbInterface};
