//! What the person says of private files.

use super::Core;
use super::commands::Done;
use crate::handle::CommandError;

impl Core {
    pub(super) fn set_privacy(&self, _session_id: Option<&str>, _on: Option<bool>) -> Done {
        Err(not_built())
    }

    pub(super) fn set_privacy_review(&self, _on: bool) -> Done {
        Err(not_built())
    }
}

fn not_built() -> CommandError {
    CommandError::new("not_built", "This version of Drawbridge cannot do that yet.")
}
