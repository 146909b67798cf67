//! Links, sessions, dispatcher, consent and events: the running Drawbridge.

mod handle;
pub mod view;

pub use handle::{Command, CommandError, EngineHandle, Reply};
