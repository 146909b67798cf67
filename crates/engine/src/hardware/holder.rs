//! Whoever may hold devices, and that nothing stays open behind one that has gone.

use std::sync::Arc;

use drawbridge_core::LinkId;
use tokio::runtime::Handle;

use super::{COMMAND_LINE, Devices, close};

/// A holder that is there, such as one connection of a link. What it has open is closed with this, however it ends.
///
/// Numbers of connections never come again: nobody could use or close what one of them left open.
pub(crate) struct Holder {
    devices: Arc<Devices>,
    link: LinkId,
}

impl Devices {
    /// Notes that a holder is there from now on. `called` is what the window calls it: the id of a chat, or a name of ours.
    pub(crate) fn holder(self: &Arc<Self>, link: LinkId, called: &str) -> Holder {
        self.holders().insert(link, called.to_owned());
        Holder { devices: self.clone(), link }
    }

    /// Returns what a holder is called.
    pub(super) fn called(&self, holder: LinkId) -> String {
        if holder == COMMAND_LINE {
            return "cli".to_owned();
        }
        self.holders().get(&holder).cloned().unwrap_or_else(|| format!("link {holder}"))
    }
}

impl Holder {
    /// It goes: closes what it has open, within a bound. Everything that it started has to have ended.
    pub(crate) async fn end(self) {
        let (hardware, link) = (self.devices.hardware.clone(), self.link);
        if hardware.holds(link) {
            close("what a link held", move || hardware.close_of(link)).await;
            self.devices.board.touch();
        }
    }
}

impl Drop for Holder {
    /// Also when it broke off without a goodbye.
    fn drop(&mut self) {
        self.devices.holders().remove(&self.link);
        if !self.devices.hardware.holds(self.link) {
            return;
        }
        let (devices, link) = (self.devices.clone(), self.link);
        let work = move || {
            devices.hardware.close_of(link);
            devices.board.touch();
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
    }
}
