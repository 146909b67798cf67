//! Wire formats and protocol machines, without any I/O.
//!
//! One module per protocol. A module turns frames into [`drawbridge_core::Operation`]s and outcomes into frames, and
//! decides when a connection opens, waits and ends. It never opens a socket, reads a clock or asks a person.

pub mod executor;
