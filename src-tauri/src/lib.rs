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

/// Writes the program's own log where it was started. `DRAWBRIDGE_LOG` says how much.
#[cfg(feature = "desktop")]
pub fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;
    let wanted = std::env::var("DRAWBRIDGE_LOG").ok().filter(|text| !text.is_empty());
    let filter = wanted.and_then(|text| EnvFilter::try_new(text).ok()).unwrap_or_else(|| EnvFilter::new("info"));
    // A log that is there already stays.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
