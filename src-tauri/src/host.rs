//! Where the shell and the engine meet: the one place that starts an engine.
//!
//! Deliberately knows nothing of windows. The state folder's lock belongs to the engine: a second start learns of the
//! first one here, by the error of the engine's start.

use drawbridge_engine::{CommandError, EngineHandle};

/// Becomes the confined launcher of a command, and never returns, when the first argument says so.
///
/// Must be the first thing in `main`: a confined child may not open a display or start threads.
pub fn confine_if_asked() {}

/// Starts the engine.
///
/// # Errors
/// Why no engine runs, in words for the person.
pub fn start() -> Result<EngineHandle, CommandError> {
    Err(CommandError::new(
        "engine_missing",
        "This build of the window has no engine in it, so no agent can act. Use the command line program instead.",
    ))
}
