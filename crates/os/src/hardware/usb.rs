//! USB devices.

use std::sync::Arc;

use drawbridge_core::hardware::Device;

/// What USB devices a system has.
pub trait UsbDevices: Send + Sync {
    /// Looks which are there. Blocks, a moment.
    fn list(&self) -> Vec<Device>;
}

/// Returns this system's.
#[must_use]
pub fn of_system() -> Arc<dyn UsbDevices> {
    Arc::new(None)
}

/// No USB devices at all.
struct None;

impl UsbDevices for None {
    fn list(&self) -> Vec<Device> {
        Vec::new()
    }
}
