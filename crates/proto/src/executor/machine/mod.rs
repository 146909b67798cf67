//! One connection, control or data, from HELLO to its end (spec 4).
//!
//! Sans-IO: time and frames come in, effects go out. It does not dial, wait, read files or ask anybody; the dialer
//! decides what follows its end.

mod effect;
mod ends;
mod handshake;
mod keepalive;
mod requests;

use std::time::{Duration, Instant};

use drawbridge_core::model::Piece;
use drawbridge_core::{FRAME_LIMIT_BYTES, RequestId, WallMs};

pub use effect::{
    Effect, End, Halt, HaltKind, HelloFacts, MachineConfig, Negotiated, Note, Pace, Retry, Revoked, RevokedSource,
    Role, StatusFacts,
};

use super::codec::{Incoming, Reply, decode, parts, seconds};
use super::wire::{Empty, Envelope, FromClient, SessionRevoked};
use handshake::Failed;
use keepalive::{Keepalive, Look};
use requests::Admitted;

/// How long the platform has to answer HELLO.
const ACK_WITHIN: Duration = Duration::from_secs(10);
/// How often STATUS is sent.
const STATUS_EVERY: Duration = Duration::from_secs(30);
/// How often malformed frames are mentioned.
const MALFORMED_NOTE_EVERY: Duration = Duration::from_secs(60);

/// Where fresh ids come from: UUIDs in the program, numbers in tests.
pub type IdSource = Box<dyn FnMut() -> String + Send>;

enum State {
    /// The WebSocket is not open yet.
    New,
    /// HELLO is out.
    Shaking { hello_id: String, until: Instant, open: Open },
    /// HELLO_ACK was good.
    Ready { negotiated: Negotiated, admitted: Admitted, status_due: Instant, open: Open },
    /// Ended. Nothing is sent any more.
    Over,
}

/// What every open connection has.
struct Open {
    since: Instant,
    keepalive: Keepalive,
}

/// The machine of one connection. Make a new one for each dial.
pub struct Machine {
    config: MachineConfig,
    ids: IdSource,
    state: State,
    facts: StatusFacts,
    malformed: u64,
    malformed_noted: Option<Instant>,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::New => "new",
            State::Shaking { .. } => "shaking hands",
            State::Ready { .. } => "ready",
            State::Over => "over",
        };
        f.debug_struct("Machine").field("role", &self.config.role).field("state", &state).finish_non_exhaustive()
    }
}

impl Machine {
    /// Makes the machine of one connection.
    #[must_use]
    pub fn new(config: MachineConfig, ids: IdSource) -> Self {
        Self { config, ids, state: State::New, facts: StatusFacts::default(), malformed: 0, malformed_noted: None }
    }

    /// The WebSocket is open: says HELLO.
    #[must_use]
    pub fn on_open(&mut self, now: Instant, wall: WallMs) -> Vec<Effect> {
        let State::New = self.state else { return Vec::new() };
        let hello_id = (self.ids)();
        let (text, note) = handshake::hello(&mut self.config, &hello_id, seconds(wall));
        let open = Open { since: now, keepalive: Keepalive::starting(now, wall) };
        self.state = State::Shaking { hello_id, until: now + ACK_WITHIN, open };
        let mut effects: Vec<Effect> = note.map(Effect::Note).into_iter().collect();
        effects.push(Effect::Send(text));
        effects
    }

    /// A text frame arrived.
    #[must_use]
    pub fn on_text(&mut self, text: &str, now: Instant, wall: WallMs) -> Vec<Effect> {
        let mut effects = self.look(now, wall);
        if text.len() > FRAME_LIMIT_BYTES {
            let reason = "The platform sent a message larger than 16 MiB.".to_owned();
            effects.extend(self.finish(
                1009,
                "message too big",
                End::Retry(ends::retry(None, "message_too_large", reason)),
            ));
            return effects;
        }
        effects.extend(match &self.state {
            State::New | State::Over => Vec::new(),
            State::Shaking { .. } => self.shake(text, now),
            State::Ready { .. } => self.serve(text, now, wall),
        });
        effects
    }

    /// A binary frame arrived; it counts as text when it is UTF-8.
    #[must_use]
    pub fn on_binary(&mut self, bytes: &[u8], now: Instant, wall: WallMs) -> Vec<Effect> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.on_text(text, now, wall),
            Err(_) => match &self.state {
                State::New | State::Over => Vec::new(),
                State::Shaking { .. } => self.fail(handshake::not_an_ack("bytes that are no text")),
                State::Ready { .. } => self.malformed("not UTF-8".to_owned(), now),
            },
        }
    }

    /// The answer to a WebSocket ping arrived.
    pub fn on_pong(&mut self, now: Instant, wall: WallMs) {
        if let Some(open) = self.open_mut() {
            open.keepalive.on_pong(now, wall);
        }
    }

    /// An operation ended and its reply is encoded. Ignored when the request has its answer already.
    #[must_use]
    pub fn on_reply(&mut self, reply: Reply, now: Instant, wall: WallMs) -> Vec<Effect> {
        self.answer(reply, None, now, wall)
    }

    /// The same with an answer that may have to stay here once its turn to be sent comes: then `instead` is sent, which answers the same
    /// request.
    #[must_use]
    pub fn on_reply_or(&mut self, reply: Reply, instead: Reply, now: Instant, wall: WallMs) -> Vec<Effect> {
        self.answer(reply, Some(instead), now, wall)
    }

    fn answer(&mut self, reply: Reply, instead: Option<Reply>, now: Instant, wall: WallMs) -> Vec<Effect> {
        let mut effects = self.look(now, wall);
        let State::Ready { negotiated, admitted, .. } = &mut self.state else { return effects };
        let full = admitted.is_full();
        if !admitted.release(reply.id()) {
            effects.push(Effect::Note(Note::ReplyWithoutRequest(reply.id().clone())));
            return effects;
        }
        let framed = |reply: Reply| reply.into_frame(wall, &negotiated.version, admitted.free());
        effects.push(match instead {
            Some(instead) => Effect::SendEither { frame: framed(reply), instead: framed(instead) },
            None => Effect::Send(framed(reply)),
        });
        if full {
            effects.push(self.status(now, wall));
        }
        effects
    }

    /// A part of the answer to a request that still runs. Ignored when the request has its answer already.
    #[must_use]
    pub fn on_piece(&mut self, id: &RequestId, piece: &Piece, wall: WallMs) -> Vec<Effect> {
        let State::Ready { negotiated, admitted, .. } = &self.state else { return Vec::new() };
        let Some(op) = admitted.op_of(id) else { return Vec::new() };
        parts(op, id, piece, wall, &negotiated.version).into_iter().map(Effect::Send).collect()
    }

    /// Sets what STATUS tells about the engine.
    pub fn set_status_facts(&mut self, facts: StatusFacts) {
        self.facts = facts;
    }

    /// When [`Self::on_tick`] wants to run.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::New | State::Over => None,
            State::Shaking { until, open, .. } => Some(open.keepalive.deadline().min(*until)),
            State::Ready { admitted, status_due, open, .. } => {
                let due = open.keepalive.deadline().min(*status_due);
                Some(admitted.deadline().map_or(due, |by| by.min(due)))
            }
        }
    }

    /// Time passed.
    #[must_use]
    pub fn on_tick(&mut self, now: Instant, wall: WallMs) -> Vec<Effect> {
        let mut effects = self.look(now, wall);
        let Some(open) = self.open_mut() else { return effects };
        if open.keepalive.is_dead(now) {
            let reason = "The platform did not answer a sign of life.".to_owned();
            effects.extend(self.finish(1011, "keepalive timeout", End::Retry(ends::retry(None, "silent", reason))));
            return effects;
        }
        if open.keepalive.take_ping(now) {
            effects.push(Effect::WsPing);
        }
        match &mut self.state {
            State::New | State::Over => {}
            State::Shaking { until, .. } => {
                if *until <= now {
                    let reason = "The platform did not answer the greeting within 10 seconds.".to_owned();
                    effects.extend(self.finish(
                        1002,
                        "no HELLO_ACK",
                        End::Retry(ends::retry(None, "no_greeting", reason)),
                    ));
                }
            }
            State::Ready { .. } => effects.extend(self.tick_ready(now, wall)),
        }
        effects
    }

    /// The WebSocket closed, with the peer's code if it gave one.
    #[must_use]
    pub fn on_closed(&mut self, code: Option<u16>, reason: &str, _now: Instant) -> Vec<Effect> {
        match &self.state {
            State::Over => Vec::new(),
            State::New | State::Shaking { .. } | State::Ready { .. } => self.end(ends::of_close(code, reason)),
        }
    }

    /// We want this connection to end: cancels everything and closes.
    #[must_use]
    pub fn on_stop(&mut self, _now: Instant) -> Vec<Effect> {
        self.finish(1000, "stopped", End::Stopped)
    }

    /// Returns the requests that are admitted and not answered.
    #[must_use]
    pub fn running(&self) -> Vec<RequestId> {
        match &self.state {
            State::Ready { admitted, .. } => admitted.ids(),
            State::New | State::Shaking { .. } | State::Over => Vec::new(),
        }
    }

    fn open_mut(&mut self) -> Option<&mut Open> {
        match &mut self.state {
            State::Shaking { open, .. } | State::Ready { open, .. } => Some(open),
            State::New | State::Over => None,
        }
    }

    fn look(&mut self, now: Instant, wall: WallMs) -> Vec<Effect> {
        match self.open_mut().map(|open| open.keepalive.look(now, wall)) {
            Some(Look::Jumped { seconds }) => vec![Effect::Note(Note::ClockJump { seconds }), Effect::WsPing],
            Some(Look::Usual) | None => Vec::new(),
        }
    }

    fn shake(&mut self, text: &str, now: Instant) -> Vec<Effect> {
        let State::Shaking { hello_id, .. } = &self.state else { return Vec::new() };
        let checked = match decode(text) {
            Incoming::HelloAck { id, ack: Ok(ack) } => handshake::check(&self.config, hello_id, &id, &ack),
            Incoming::HelloAck { ack: Err(why), .. } => Err(handshake::not_an_ack(&why)),
            // The one verdict that is worth more than the order of frames.
            Incoming::Revoked(revoked) => return self.revoked(revoked),
            Incoming::Request(request) => Err(handshake::not_an_ack(request.kind.name())),
            Incoming::Ping { .. } => Err(handshake::not_an_ack("PING")),
            Incoming::Answer(name) | Incoming::UnknownType(name) => Err(handshake::not_an_ack(&name)),
            Incoming::OtherMajor { version } => Err(handshake::not_an_ack(&format!("protocol version {version}"))),
            Incoming::Malformed(why) => Err(handshake::not_an_ack(&why)),
        };
        let negotiated = match checked {
            Ok(negotiated) => negotiated,
            Err(failed) => return self.fail(failed),
        };
        let ready = Effect::Ready(negotiated.clone());
        let admitted = Admitted::up_to(negotiated.limits.max_concurrent);
        if let State::Shaking { open, .. } = std::mem::replace(&mut self.state, State::Over) {
            self.state = State::Ready { negotiated, admitted, status_due: now + STATUS_EVERY, open };
        }
        vec![ready]
    }

    fn serve(&mut self, text: &str, now: Instant, wall: WallMs) -> Vec<Effect> {
        let State::Ready { negotiated, admitted, .. } = &mut self.state else { return Vec::new() };
        match decode(text) {
            Incoming::Request(request) => admitted.take_in(&request, &self.config.role, negotiated, now, wall),
            Incoming::Ping { id } => {
                let mut pong = Envelope::new(id.as_str(), seconds(wall), FromClient::Pong(Empty {}));
                pong.version = Some(negotiated.version.clone());
                vec![Effect::Send(pong.to_text())]
            }
            Incoming::Revoked(revoked) => self.revoked(revoked),
            Incoming::HelloAck { .. } => vec![Effect::Note(Note::AnswerFromPlatform("HELLO_ACK".to_owned()))],
            Incoming::Answer(name) => vec![Effect::Note(Note::AnswerFromPlatform(name))],
            Incoming::UnknownType(name) => vec![Effect::Note(Note::UnknownType(name))],
            Incoming::OtherMajor { version } => vec![Effect::Note(Note::OtherMajor { version })],
            Incoming::Malformed(why) => self.malformed(why, now),
        }
    }

    fn tick_ready(&mut self, now: Instant, wall: WallMs) -> Vec<Effect> {
        let State::Ready { negotiated, admitted, status_due, .. } = &mut self.state else { return Vec::new() };
        let full = admitted.is_full();
        let mut effects = admitted.end_overdue(negotiated, now, wall);
        let freed = full && !admitted.is_full();
        let due = *status_due <= now;
        if due {
            *status_due = now + STATUS_EVERY;
        }
        if freed || due {
            effects.push(self.status(now, wall));
        }
        effects
    }

    fn status(&mut self, now: Instant, wall: WallMs) -> Effect {
        let id = (self.ids)();
        let State::Ready { negotiated, admitted, open, .. } = &self.state else { return Effect::Send(String::new()) };
        requests::status(id, negotiated, admitted, self.facts, now.saturating_duration_since(open.since), wall)
    }

    fn malformed(&mut self, why: String, now: Instant) -> Vec<Effect> {
        self.malformed += 1;
        let quiet = self.malformed_noted.is_some_and(|at| now.saturating_duration_since(at) < MALFORMED_NOTE_EVERY);
        if quiet {
            return Vec::new();
        }
        self.malformed_noted = Some(now);
        vec![Effect::Note(Note::MalformedFrames { count: self.malformed, latest: why })]
    }

    fn revoked(&mut self, revoked: SessionRevoked) -> Vec<Effect> {
        let SessionRevoked { reason, new_shim_machine_id } = revoked;
        let end = Revoked { reason, source: RevokedSource::Frame, close_code: None, new_shim_machine_id };
        self.finish(4428, "SESSION_REVOKED", End::Revoked(end))
    }

    fn fail(&mut self, failed: Failed) -> Vec<Effect> {
        self.finish(failed.code, &failed.close_reason, failed.end)
    }

    fn finish(&mut self, code: u16, reason: &str, end: End) -> Vec<Effect> {
        if matches!(self.state, State::Over) {
            return Vec::new();
        }
        let mut effects = self.end(end);
        let last = effects.len().saturating_sub(1);
        effects.insert(last, Effect::Close { code, reason: reason.to_owned() });
        effects
    }

    /// Whatever runs is cancelled: its answer has nowhere to go.
    fn end(&mut self, end: End) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.running().into_iter().map(Effect::Abort).collect();
        self.state = State::Over;
        effects.push(Effect::Ended(end));
        effects
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
