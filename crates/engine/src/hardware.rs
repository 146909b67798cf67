//! Devices as the engine sees them: which are there, which the person shared, what HELLO tells of them. Decides nothing: `policy` does.

use std::sync::Arc;

use drawbridge_caps::hardware::Hardware;
use drawbridge_core::{Clock, SessionId};
use drawbridge_proto::executor::wire::HardwareDevice;

use crate::board::Board;
use crate::policy_cell::PolicyCell;
use crate::view::DevicesView;

/// Devices. One for the whole engine.
pub(crate) struct Devices {
    pub(crate) hardware: Hardware,
    #[expect(dead_code, reason = "not built yet")]
    policy: Arc<PolicyCell>,
    #[expect(dead_code, reason = "not built yet")]
    board: Arc<Board>,
}

impl Devices {
    /// Looks at nothing yet.
    pub(crate) fn new(policy: Arc<PolicyCell>, board: Arc<Board>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { hardware: Hardware::new(clock), policy, board })
    }

    /// Returns the shared devices that are there, for HELLO to a chat or on the control link.
    pub(crate) fn offer(&self, _session: Option<&SessionId>) -> Vec<HardwareDevice> {
        Vec::new()
    }

    /// Waits until other devices are there than the last HELLO said.
    pub(crate) async fn changed(&self) {
        std::future::pending::<()>().await;
    }

    /// Closes everything: stop and end.
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub(crate) async fn stop(&self) {}

    /// Returns what the window shows.
    pub(crate) fn view(&self) -> DevicesView {
        DevicesView::default()
    }
}
