//! What the person says of servers of local models, and their own tries.

use super::Core;
use super::aside::Wait;
use super::commands::Done;
use crate::handle::CommandError;

impl Core {
    pub(super) fn add_model_server(&self, _url: &str, _api: &str, _far: bool, _parallel: u32) -> Done {
        Err(not_built())
    }

    pub(super) fn remove_model_server(&self, _url: &str) -> Done {
        Err(not_built())
    }

    pub(super) fn find_model_servers(&self) -> Wait {
        Box::pin(async { Err(not_built()) })
    }

    pub(super) fn look_at_models(&self) -> Wait {
        Box::pin(async { Err(not_built()) })
    }

    pub(super) fn try_model(&self, _model: String, _text: String) -> Done {
        Err(not_built())
    }

    pub(super) fn trial_text(&self, _id: u64) -> Done {
        Err(not_built())
    }

    pub(super) fn stop_trial(&self, _id: u64) -> Done {
        Err(not_built())
    }
}

fn not_built() -> CommandError {
    CommandError::new("not_built", "This version of Drawbridge cannot do that yet.")
}
