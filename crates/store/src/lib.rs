//! What is kept: configuration, settings, audit log, secrets, attachments.
//!
//! Everything lives in one state folder that can be copied as a whole. Nothing here decides what may be done; the rules
//! are in `drawbridge-policy`.

pub mod accounts;
pub mod audit;
pub mod bindings;
pub mod config;
pub mod log;
pub mod managed;
pub mod model_keys;
pub mod refresh_lock;
pub mod secrets;
pub mod settings;
pub mod state_dir;
pub mod undo;
