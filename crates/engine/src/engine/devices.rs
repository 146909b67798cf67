//! What the person says of devices, and using them from here.

use super::Core;
use super::aside::Wait;
use crate::handle::CommandError;

impl Core {
    pub(super) fn look_at_devices(&self) -> Wait {
        Box::pin(async { Err(not_built()) })
    }

    pub(super) fn share_device(&self, _id: &str, _shared: bool) -> Result<Wait, CommandError> {
        Err(not_built())
    }

    pub(super) fn add_port(&self, _path: String) -> Result<Wait, CommandError> {
        Err(not_built())
    }

    pub(super) fn remove_port(&self, _path: String) -> Result<Wait, CommandError> {
        Err(not_built())
    }
}

fn not_built() -> CommandError {
    CommandError::new("not_built", "This version of Drawbridge cannot do that yet.")
}
