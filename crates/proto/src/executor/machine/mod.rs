//! One connection, control or data, from HELLO to its end (spec 4). Sans-IO: time and frames come in, effects go out.

mod effect;

use std::time::Instant;

use drawbridge_core::{RequestId, WallMs};

pub use effect::{
    Effect, End, Halt, HaltKind, HelloFacts, MachineConfig, Negotiated, Note, Pace, Retry, Revoked, RevokedSource,
    Role, StatusFacts,
};

use crate::executor::codec::Reply;

/// Where fresh ids come from: UUIDs in the program, numbers in tests.
pub type IdSource = Box<dyn FnMut() -> String + Send>;

/// The machine of one connection. Make a new one for each dial.
pub struct Machine {
    config: MachineConfig,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("role", &self.config.role).finish_non_exhaustive()
    }
}

impl Machine {
    /// Makes the machine of one connection.
    #[must_use]
    pub fn new(config: MachineConfig, _ids: IdSource) -> Self {
        Self { config }
    }

    /// The WebSocket is open: says HELLO.
    #[must_use]
    pub fn on_open(&mut self, _now: Instant, _wall: WallMs) -> Vec<Effect> {
        Vec::new()
    }

    /// A text frame arrived.
    #[must_use]
    pub fn on_text(&mut self, _text: &str, _now: Instant, _wall: WallMs) -> Vec<Effect> {
        Vec::new()
    }

    /// A binary frame arrived; it counts as text when it is UTF-8.
    #[must_use]
    pub fn on_binary(&mut self, _bytes: &[u8], _now: Instant, _wall: WallMs) -> Vec<Effect> {
        Vec::new()
    }

    /// The answer to a WebSocket ping arrived.
    pub fn on_pong(&mut self, _now: Instant, _wall: WallMs) {}

    /// An operation ended and its reply is encoded.
    #[must_use]
    pub fn on_reply(&mut self, _reply: Reply, _now: Instant, _wall: WallMs) -> Vec<Effect> {
        Vec::new()
    }

    /// Sets what STATUS tells about the engine.
    pub fn set_status_facts(&mut self, _facts: StatusFacts) {}

    /// When [`Self::on_tick`] wants to run.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Time passed.
    #[must_use]
    pub fn on_tick(&mut self, _now: Instant, _wall: WallMs) -> Vec<Effect> {
        Vec::new()
    }

    /// The WebSocket closed, with the peer's code if it gave one.
    #[must_use]
    pub fn on_closed(&mut self, _code: Option<u16>, _reason: &str, _now: Instant) -> Vec<Effect> {
        Vec::new()
    }

    /// We want this connection to end: cancels everything and closes.
    #[must_use]
    pub fn on_stop(&mut self, _now: Instant) -> Vec<Effect> {
        Vec::new()
    }

    /// Returns the requests that are admitted and not answered.
    #[must_use]
    pub fn running(&self) -> Vec<RequestId> {
        Vec::new()
    }
}
