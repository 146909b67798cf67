//! Links, sessions, dispatcher, consent and events: the running Drawbridge.

pub mod account;
pub mod control;
pub mod dial;
mod handle;
pub mod net;
pub mod view;

pub use handle::{Command, CommandError, EngineHandle, EngineSide, Reply};
