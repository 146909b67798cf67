//! The desktop shell of Drawbridge: the windows and the tray around the engine.
//!
//! Deliberately without rules: what may happen is decided in the engine. A window is made when it is wanted and
//! destroyed when it is closed, so that the tray alone idles light.

#[cfg(feature = "desktop")]
pub mod args;
#[cfg(feature = "desktop")]
mod around;
#[cfg(feature = "desktop")]
mod commands;
#[cfg(feature = "desktop")]
mod copy;
#[cfg(feature = "desktop")]
mod dialogs;
#[cfg(feature = "desktop")]
mod doctor;
#[cfg(feature = "desktop")]
mod events;
#[cfg(feature = "desktop")]
mod handover;
#[cfg(feature = "desktop")]
pub mod host;
#[cfg(feature = "desktop")]
mod hotkey;
#[cfg(feature = "desktop")]
mod login;
#[cfg(feature = "desktop")]
mod notify;
#[cfg(feature = "desktop")]
mod outside;
#[cfg(feature = "desktop")]
mod practice;
#[cfg(feature = "desktop")]
mod prefs;
#[cfg(feature = "desktop")]
mod rescue;
#[cfg(feature = "desktop")]
mod shell;
#[cfg(feature = "desktop")]
mod tray;
#[cfg(feature = "desktop")]
mod updates;
#[cfg(feature = "desktop")]
mod window;
#[cfg(feature = "desktop")]
mod words;

#[cfg(feature = "desktop")]
pub use shell::{Launch, Trial, run, tell};

/// Begins to write the program's own log where it was started. `DRAWBRIDGE_LOG` says how much. Its file is named by the host.
#[cfg(feature = "desktop")]
pub fn start_the_log() {
    if let Some(problem) = drawbridge_store::log::start() {
        tracing::warn!("{problem}");
    }
}
