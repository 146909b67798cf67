//! The desktop shell of Drawbridge: one window and the tray around the engine.
//!
//! Deliberately without rules: what may happen is decided in the engine. The window is made when it is wanted and
//! destroyed when it is closed, so that the tray alone idles light.

#[cfg(feature = "desktop")]
mod commands;
#[cfg(feature = "desktop")]
mod events;
#[cfg(feature = "desktop")]
pub mod host;
#[cfg(feature = "desktop")]
mod shell;
#[cfg(feature = "desktop")]
pub mod tray;
#[cfg(feature = "desktop")]
mod window;

#[cfg(feature = "desktop")]
pub use shell::run;
