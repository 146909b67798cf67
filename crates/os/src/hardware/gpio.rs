//! GPIO chips.

use std::sync::Arc;

use drawbridge_core::hardware::Device;

/// What GPIO chips a system has.
pub trait GpioChips: Send + Sync {
    /// Looks which are there. Blocks, a moment.
    fn list(&self) -> Vec<Device>;
}

/// Returns this system's.
#[must_use]
pub fn of_system() -> Arc<dyn GpioChips> {
    Arc::new(None)
}

/// No GPIO chips at all.
struct None;

impl GpioChips for None {
    fn list(&self) -> Vec<Device> {
        Vec::new()
    }
}
