//! Not built yet.
use std::sync::Arc;

use drawbridge_core::OpError;
use drawbridge_core::hardware::{Device, DeviceId, HardwareOutcome, SerialAct};
use drawbridge_os::hardware::serial::SerialPorts;

use super::holding::Holding;
use crate::RunCtx;

#[derive(Clone)]
pub(super) struct Serial {
    system: Arc<dyn SerialPorts>,
    holding: Holding,
}

impl Serial {
    pub(super) fn new(system: Arc<dyn SerialPorts>, holding: Holding) -> Self {
        Self { system, holding }
    }

    pub(super) fn look(&self, added: &[String]) -> Vec<Device> {
        self.system.list(added)
    }

    pub(super) async fn run(
        &self,
        device: &DeviceId,
        act: SerialAct,
        _added: Vec<String>,
        ctx: &RunCtx,
    ) -> Result<HardwareOutcome, OpError> {
        if act == SerialAct::Close {
            self.holding.close_by(device, ctx.holder)?;
        }
        Err(OpError::Unsupported { feature: "hardware".to_owned(), why: "this version does not do it".to_owned() })
    }
}
