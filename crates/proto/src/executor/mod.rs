//! The Local PC Executor protocol, wire version 1.1 (spec 4, 8, 9, 15).
//!
//! * [`wire`]: every message of both directions as plain data;
//! * [`codec`]: frames in, frames out, without needless copies;
//! * [`map`]: a request becomes an operation, checked once;
//! * [`errors`]: what went wrong becomes a code and details;
//! * [`machine`]: one connection;
//! * [`dialer`]: one link over all its connections.
//!
//! Nothing here reads a clock or does I/O: time comes in, effects go out.

pub mod codec;
pub mod dialer;
pub mod errors;
pub mod machine;
pub mod map;
pub mod wire;

/// The wire version that we speak: the highest of our major.
pub const VERSION: &str = "1.1";
/// Our major version.
pub const MAJOR: u32 = 1;
/// Our minor version.
pub const MINOR: u32 = 1;
