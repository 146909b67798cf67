//! One link across its connections: when to dial, how long to wait, when to give up (spec 4.6, 1.4).
//!
//! Sans-IO. At most one attempt is alive at any time, and a verdict counts only for the connection on which it arrived
//! (spec 15.2). It does not renew tokens itself; it only says when.

use std::time::{Duration, Instant};

use drawbridge_core::LinkId;

use super::machine::{End, Halt, HaltKind, Pace, Retry};

/// Where the random part of a wait comes from: a number from 0 up to 1.
pub type Jitter = Box<dyn FnMut() -> f64 + Send>;
/// Gives a number that was never used before in this run.
pub type NextLink = Box<dyn FnMut() -> LinkId + Send>;

/// A connection that lived this long counts as healthy: the wait starts small again.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);
/// So many wrong answers to HELLO in a row are the end (spec 4.3 row 1).
const BAD_HANDSHAKES_MAX: u32 = 5;
/// The longest `Retry-After` that is honoured.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// A token this close to its end may be the reason of a 403 (spec 1.4).
const TOKEN_NEARLY_OLD: Duration = Duration::from_secs(60);
/// Tokens live an hour: a renewal this long ago says nothing about a refusal now.
const RENEWAL_COUNTS_FOR: Duration = Duration::from_secs(30 * 60);

/// How waits grow: `min(base · 2^n, max)` plus a random part of up to `jitter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub base: Duration,
    /// The longest wait, without the random part.
    pub max: Duration,
    /// The longest random part.
    pub jitter: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(1), max: Duration::from_secs(60), jitter: Duration::from_secs(5) }
    }
}

impl Backoff {
    fn wait(&self, attempt: u32, fraction: f64) -> Duration {
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        let growing = self.base.saturating_mul(2_u32.saturating_pow(attempt.min(31)));
        growing.min(self.max).saturating_add(self.jitter.mul_f64(fraction))
    }
}

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
        /// Stable name of the reason.
        code: &'static str,
        /// Why, for people.
        reason: String,
    },
    /// Give up until the person acts.
    Halt(Halt),
    /// An attempt or connection that is no longer wanted: end it.
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
    /// The token could not be renewed for such a reason: it is still the one that was refused.
    NotRenewed(String),
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
    /// The network came up, the machine woke, the program started; ends a wait, never a halt.
    Surroundings,
}

#[derive(Debug)]
enum State {
    /// Not wanted, or not yet.
    Resting,
    /// One attempt is alive: dialling, shaking hands or serving.
    Alive { link: LinkId, ready_at: Option<Instant> },
    /// Between two attempts.
    Waiting { until: Instant, refresh_first: bool },
    /// Given up until the person acts.
    Halted,
}

/// The dialer of one link.
pub struct Dialer {
    backoff: Backoff,
    jitter: Jitter,
    next_link: NextLink,
    state: State,
    /// Failed attempts since the last healthy connection.
    failures: u32,
    /// Orderly closes in a row of connections that did not live long.
    short_lives: u32,
    bad_handshakes: u32,
    /// When the token was last renewed because of a refusal that nothing has disproved yet.
    renewed_at: Option<Instant>,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").field("state", &self.state).field("failures", &self.failures).finish_non_exhaustive()
    }
}

impl Dialer {
    /// Makes a dialer that rests.
    #[must_use]
    pub fn new(backoff: Backoff, jitter: Jitter, next_link: NextLink) -> Self {
        Self {
            backoff,
            jitter,
            next_link,
            state: State::Resting,
            failures: 0,
            short_lives: 0,
            bad_handshakes: 0,
            renewed_at: None,
        }
    }

    /// A connection is wanted now. At most one attempt is alive whatever comes in.
    #[must_use]
    pub fn on_wanted(&mut self, wish: Wish, _now: Instant) -> Vec<DialEffect> {
        match self.state {
            State::Alive { .. } => Vec::new(),
            State::Resting => self.dial(false),
            State::Waiting { refresh_first, .. } => self.dial(refresh_first),
            State::Halted => match wish {
                Wish::Surroundings => Vec::new(),
                Wish::Person => {
                    self.failures = 0;
                    self.short_lives = 0;
                    self.bad_handshakes = 0;
                    self.renewed_at = None;
                    self.dial(false)
                }
            },
        }
    }

    /// No connection is wanted any more. A halt stays one: only the person ends it.
    #[must_use]
    pub fn on_unwanted(&mut self) -> Vec<DialEffect> {
        match self.state {
            State::Alive { link, .. } => {
                self.state = State::Resting;
                vec![DialEffect::Drop(link)]
            }
            State::Waiting { .. } => {
                self.state = State::Resting;
                Vec::new()
            }
            State::Resting | State::Halted => Vec::new(),
        }
    }

    /// The attempt failed before the WebSocket was open.
    #[must_use]
    pub fn on_dial_failed(
        &mut self,
        link: LinkId,
        failure: DialFailure,
        token: TokenAge,
        now: Instant,
    ) -> Vec<DialEffect> {
        if !self.is_current(link) {
            return Vec::new();
        }
        match failure {
            DialFailure::Network(what) => {
                let reason = format!("The platform cannot be reached: {what}.");
                self.retry_after_failure(Duration::ZERO, "unreachable", reason, now)
            }
            DialFailure::NotRenewed(what) => {
                // The next refusal would be none of a new token, and without one there is nothing to dial with.
                self.renewed_at = None;
                self.failures = self.failures.saturating_add(1);
                let reason = format!("The platform cannot be reached: {what}.");
                self.wait(self.failures - 1, Duration::ZERO, true, ("unreachable", reason), now)
            }
            DialFailure::SignInNeeded(what) => {
                self.halt(HaltKind::Auth, "sign_in_needed", format!("{what} Sign in again."))
            }
            DialFailure::Status { status: 401, .. } => self.refused(
                "sign_in_refused",
                "The platform does not accept this sign-in (401), also after renewing it. Sign in again.",
                now,
            ),
            DialFailure::Status { status: 403, .. } => {
                let words = "The platform does not allow this computer in (403): the chat belongs to another account, \
                             or the feature is off for this one. Check the account at the platform, then connect again.";
                let old = match token {
                    TokenAge::Left(left) => left <= TOKEN_NEARLY_OLD,
                    TokenAge::Unknown => true,
                };
                if old {
                    self.refused("not_allowed", words, now)
                } else {
                    self.halt(HaltKind::Auth, "not_allowed", words.to_owned())
                }
            }
            DialFailure::Status { status, retry_after } => {
                let (code, reason) = match status {
                    429 => ("busy", "The platform asks for patience (429).".to_owned()),
                    500..=599 => ("unavailable", format!("The platform is not available ({status}).")),
                    _ => {
                        let words =
                            format!("The platform's address answered with {status} instead of opening the link.");
                        ("odd_answer", words)
                    }
                };
                self.retry_after_failure(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX), code, reason, now)
            }
        }
    }

    /// The WebSocket is open. The link counts as good only once [`Self::on_ready`] was called.
    pub fn on_connected(&mut self, link: LinkId, _now: Instant) {
        if self.is_current(link) {
            // The upgrade took the token: whatever was renewed was good.
            self.renewed_at = None;
        }
    }

    /// The handshake is done.
    pub fn on_ready(&mut self, link: LinkId, now: Instant) {
        if let State::Alive { link: current, ready_at } = &mut self.state
            && *current == link
        {
            *ready_at = Some(now);
            self.bad_handshakes = 0;
        }
    }

    /// The connection ended. Ends of older connections are ignored: a newer one is not theirs to judge.
    #[must_use]
    pub fn on_ended(&mut self, link: LinkId, end: &End, now: Instant) -> Vec<DialEffect> {
        let State::Alive { link: current, ready_at } = self.state else { return Vec::new() };
        if current != link {
            return Vec::new();
        }
        let healthy = ready_at.is_some_and(|at| now.saturating_duration_since(at) >= HEALTHY_AFTER);
        if healthy {
            self.failures = 0;
            self.short_lives = 0;
        }
        match end {
            End::Retry(retry) => self.retry(retry, healthy, now),
            End::Halt(halt) => self.halt(halt.kind, halt.code, halt.reason.clone()),
            End::Revoked(revoked) => {
                let (code, words) = revoked_words(&revoked.reason);
                self.halt(HaltKind::Protocol, code, words)
            }
            End::Stopped => {
                self.state = State::Resting;
                Vec::new()
            }
        }
    }

    /// When [`Self::on_tick`] wants to run.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Waiting { until, .. } => Some(until),
            State::Resting | State::Alive { .. } | State::Halted => None,
        }
    }

    /// Time passed.
    #[must_use]
    pub fn on_tick(&mut self, now: Instant) -> Vec<DialEffect> {
        match self.state {
            State::Waiting { until, refresh_first } if until <= now => self.dial(refresh_first),
            State::Waiting { .. } | State::Resting | State::Alive { .. } | State::Halted => Vec::new(),
        }
    }

    /// Tells whether the link is given up until the person acts.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        matches!(self.state, State::Halted)
    }

    fn is_current(&self, link: LinkId) -> bool {
        matches!(self.state, State::Alive { link: current, .. } if current == link)
    }

    fn dial(&mut self, refresh_first: bool) -> Vec<DialEffect> {
        let link = (self.next_link)();
        self.state = State::Alive { link, ready_at: None };
        vec![if refresh_first { DialEffect::RefreshThenDial(link) } else { DialEffect::Dial(link) }]
    }

    fn retry(&mut self, retry: &Retry, healthy: bool, now: Instant) -> Vec<DialEffect> {
        if retry.bad_handshake {
            self.bad_handshakes += 1;
            if self.bad_handshakes >= BAD_HANDSHAKES_MAX {
                let words = format!(
                    "{} It did so {BAD_HANDSHAKES_MAX} times in a row, so the link stays down. Update Drawbridge, or \
                     check the platform's address, then connect again.",
                    retry.reason
                );
                return self.halt(HaltKind::Protocol, "odd_greetings", words);
            }
        }
        // A routine expiry: the renewed token opens the next connection at once.
        if retry.refresh_first && healthy {
            return self.dial(true);
        }
        let attempt = match retry.pace {
            Pace::Grow => {
                self.failures = self.failures.saturating_add(1);
                self.failures - 1
            }
            // An orderly close starts from the base again. A peer that does nothing but accept and close in order
            // still sees the wait grow.
            Pace::Base => {
                self.failures = 0;
                self.short_lives = self.short_lives.saturating_add(1);
                self.short_lives - 1
            }
        };
        self.wait(attempt, Duration::ZERO, retry.refresh_first, (retry.code, retry.reason.clone()), now)
    }

    fn retry_after_failure(
        &mut self,
        at_least: Duration,
        code: &'static str,
        reason: String,
        now: Instant,
    ) -> Vec<DialEffect> {
        self.failures = self.failures.saturating_add(1);
        self.wait(self.failures - 1, at_least, false, (code, reason), now)
    }

    /// The token was refused: renew it once, give up at the second refusal.
    fn refused(&mut self, code: &'static str, words: &str, now: Instant) -> Vec<DialEffect> {
        let renewed = self.renewed_at.is_some_and(|at| now.saturating_duration_since(at) < RENEWAL_COUNTS_FOR);
        if renewed {
            return self.halt(HaltKind::Auth, code, words.to_owned());
        }
        self.renewed_at = Some(now);
        self.dial(true)
    }

    fn wait(
        &mut self,
        attempt: u32,
        at_least: Duration,
        refresh_first: bool,
        (code, reason): (&'static str, String),
        now: Instant,
    ) -> Vec<DialEffect> {
        let wait = self.backoff.wait(attempt, (self.jitter)()).max(at_least);
        let until = now + wait;
        self.state = State::Waiting { until, refresh_first };
        vec![DialEffect::Wait { until, code, reason }]
    }

    fn halt(&mut self, kind: HaltKind, code: &'static str, reason: String) -> Vec<DialEffect> {
        self.state = State::Halted;
        vec![DialEffect::Halt(Halt { kind, code, reason })]
    }
}

/// The stable name, and the words.
fn revoked_words(reason: &str) -> (&'static str, String) {
    match reason {
        "another_shim_connected" | "session_taken_over" => (
            "taken_over",
            "Another client of this account took the link over. Stop that one, then connect again here.".to_owned(),
        ),
        "user_revoked" | "session_revoked" => (
            "revoked",
            "The access of this computer was revoked at the platform. Sign in again to give it back.".to_owned(),
        ),
        "platform_shutdown" => {
            ("platform_ends", "The platform is shutting down. Connect again once it is back.".to_owned())
        }
        "protocol_version_mismatch" => (
            "other_version",
            "The platform speaks another version of the protocol. Update Drawbridge, then connect again.".to_owned(),
        ),
        other => {
            let words = format!(
                "The platform ended the link for good ({}). Connect again when that is settled.",
                drawbridge_core::escape_outside_text(super::codec::cut_at(other, 100))
            );
            ("ended", words)
        }
    }
}

#[cfg(test)]
#[path = "dialer_tests.rs"]
mod tests;
