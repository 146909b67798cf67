//! Devices: serial ports, USB, GPIO. What is there, opening it, and using it.
//!
//! A trait for each kind, so that what the system offers can be told apart from what is done with it. Decides nothing about who
//! may use what: that is `policy`, and who holds what is in `caps`.

pub mod access;
pub mod gpio;
pub mod id;
pub mod port;
pub mod serial;
mod stop;
pub mod usb;
pub mod watch;
pub mod words;

use drawbridge_core::DeviceFault;

pub use stop::Stop;

/// Why something with a device failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HardwareFault {
    /// What kind of thing.
    pub fault: DeviceFault,
    /// What happened, what it means and what to do. Never holds bytes of a device; not yet safe to show.
    pub message: String,
}

impl HardwareFault {
    /// Makes one.
    #[must_use]
    pub fn new(fault: DeviceFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }
}
