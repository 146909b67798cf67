//! Links, sessions, dispatcher, consent and events: the running Drawbridge.

pub mod account;
pub mod accounts;
mod board;
mod consent;
pub mod control;
pub mod device_act;
pub mod diagnostics;
pub mod dial;
mod dispatcher;
pub mod doctor;
mod engine;
pub mod explain;
pub mod gate;
mod handle;
mod hardware;
mod journal;
mod link;
pub mod managed;
mod models;
pub mod net;
mod policy_cell;
pub mod prefs;
pub mod probe;
mod prompts;
mod record;
mod rule_list;
mod screen;
mod sessions;
pub mod token_vault;
pub mod updates;
pub mod view;

pub use drawbridge_caps::hardware::System as DeviceSystem;
pub use drawbridge_proto::executor::dialer::Backoff;
pub use engine::{Engine, EngineOptions, ExitKind, Host, Overlay, StartError};
pub use handle::{Command, CommandError, EngineHandle, EngineSide, Passphrase, Reply};
pub use hardware::{device_rows, devices_here, label_of};
pub use models::{
    ConfiguredModels, add_server, checked_key, checked_server, configured_servers, key_address, known_server,
    remove_server,
};
pub use prompts::{PROMPT_ACTIONS, PROMPT_KINDS, PROMPT_LABELS, PROMPT_WALLS};
