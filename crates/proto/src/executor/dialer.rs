//! One link across its connections: when to dial, how long to wait, when to give up (spec 4.6, 1.4). Sans-IO.

use std::time::{Duration, Instant};

use drawbridge_core::LinkId;

use super::machine::{End, Halt};

/// Where the random part of a wait comes from: a number from 0 up to 1.
pub type Jitter = Box<dyn FnMut() -> f64 + Send>;

/// What the caller must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialEffect {
    /// Dial under this number, with the token at hand.
    Dial(LinkId),
    /// Renew the access token, then dial under this number.
    RefreshThenDial(LinkId),
    /// Nothing until then.
    Wait {
        /// When the next attempt is due.
        until: Instant,
        /// Why, for people.
        reason: String,
    },
    /// Give up until the person acts.
    Halt(Halt),
    /// A connection that is no longer wanted: end it.
    Drop(LinkId),
}

/// Why the WebSocket did not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialFailure {
    /// The server answered the upgrade with another status.
    Status {
        /// The HTTP status.
        status: u16,
        /// The `Retry-After` header, if it was a number of seconds.
        retry_after: Option<Duration>,
    },
    /// No answer: network, TLS, proxy.
    Network(String),
    /// The token could not be renewed and a new sign-in is needed.
    SignInNeeded(String),
}

/// What is known about the token that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAge {
    /// It has so much time left; zero when expired.
    Left(Duration),
    /// Its expiry is unknown.
    Unknown,
}

/// Who wants a connection now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The person; also ends a halt.
    Person,
    /// The network came up or the machine woke; ends a wait only.
    Surroundings,
}

/// The dialer of one link.
pub struct Dialer {
    _jitter: Jitter,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").finish_non_exhaustive()
    }
}

impl Dialer {
    /// Makes a dialer that rests. `next_link` gives a number that was never used before in this run.
    #[must_use]
    pub fn new(jitter: Jitter, _next_link: Box<dyn FnMut() -> LinkId + Send>) -> Self {
        Self { _jitter: jitter }
    }

    /// A connection is wanted now. At most one attempt is alive whatever comes in.
    #[must_use]
    pub fn on_wanted(&mut self, _wish: Wish, _now: Instant) -> Vec<DialEffect> {
        Vec::new()
    }

    /// No connection is wanted any more.
    #[must_use]
    pub fn on_unwanted(&mut self) -> Vec<DialEffect> {
        Vec::new()
    }

    /// The attempt failed before the WebSocket was open.
    #[must_use]
    pub fn on_dial_failed(
        &mut self,
        _link: LinkId,
        _failure: DialFailure,
        _token: TokenAge,
        _now: Instant,
    ) -> Vec<DialEffect> {
        Vec::new()
    }

    /// The WebSocket is open.
    pub fn on_connected(&mut self, _link: LinkId, _now: Instant) {}

    /// The handshake is done.
    pub fn on_ready(&mut self, _link: LinkId, _now: Instant) {}

    /// The connection ended. Ends of older connections are ignored.
    #[must_use]
    pub fn on_ended(&mut self, _link: LinkId, _end: &End, _now: Instant) -> Vec<DialEffect> {
        Vec::new()
    }

    /// When [`Self::on_tick`] wants to run.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Time passed.
    #[must_use]
    pub fn on_tick(&mut self, _now: Instant) -> Vec<DialEffect> {
        Vec::new()
    }
}
