//! macOS and Windows, through the libraries that know them. Thin: what a system cannot tell here is said, not guessed.
//!
//! None of this has run yet; it is held by a check that it compiles. What it lacks beside the X11 part: the pointer is not drawn
//! into pictures; keys held by a process that was killed outright are released by no watchdog; on Windows nobody tells the
//! person's own input from ours; menus are not told from windows.

pub(super) mod app;
pub(super) mod clipboard;
pub(super) mod input;
mod keys;
pub(super) mod screen;
pub(super) mod window;
