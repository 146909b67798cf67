//! Devices on the desk: what is there, who holds it, and using it (spec 12).
//!
//! A device is used by one holder at a time. Everything is closed when the holder goes, when a person stops everything, and when
//! the device is no longer shared.

use std::sync::Arc;

use drawbridge_core::hardware::{Device, DeviceId};
use drawbridge_core::{Clock, LinkId, OpError, Outcome, Power};
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;

use crate::{Capability, RunCtx};

/// The capability. Cheap to clone.
#[derive(Clone)]
pub struct Hardware {
    #[expect(dead_code, reason = "not built yet")]
    clock: Arc<dyn Clock>,
}

/// Who has a device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The device.
    pub device: DeviceId,
    /// By whom.
    pub holder: LinkId,
    /// Since when, Unix milliseconds.
    pub since_ms: i64,
    /// In words: "9600 8N1", "lines 4, 17".
    pub how: String,
}

impl Hardware {
    /// Makes the capability. Opens nothing and looks at nothing yet.
    #[must_use]
    pub const fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }

    /// Looks which devices are there. Blocks, a moment. `ports` are serial ports that the person named by path.
    #[must_use]
    pub fn look(&self, _ports: &[String]) -> Vec<Device> {
        Vec::new()
    }

    /// Returns what is open.
    #[must_use]
    pub fn held(&self) -> Vec<Held> {
        Vec::new()
    }

    /// Closes what a device has open: it is no longer shared. Blocks, a moment.
    pub fn close(&self, _device: &DeviceId) {}

    /// Closes what a holder has open: it is gone. Blocks, a moment.
    pub fn close_of(&self, _holder: LinkId) {}

    /// Closes everything: stop, end, power off. Blocks, a moment.
    pub fn close_all(&self) {}
}

impl Capability for Hardware {
    fn power(&self) -> Power {
        Power::Hardware
    }

    fn run<'a>(&'a self, _permit: Permit, _ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            Err(OpError::Unsupported { feature: "hardware".to_owned(), why: "this version does not do it".to_owned() })
        })
    }
}
