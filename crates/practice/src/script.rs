//! What a test, or the console page through `/api/practice`, can make the platform do.

use crate::outbox::{Out, Unsent};
use crate::state::{Chat, Fault, FrameRecord, Reply, Scope, Shared, Switches};
use crate::{ConsentMode, oauth};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A handle on a running platform. Cheap to clone.
#[derive(Clone)]
pub struct Script(pub(crate) Arc<Shared>);

/// Why a request brought no answer of its own type.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// Nothing is connected there.
    NotConnected,
    /// The server's clock ran out.
    TimedOut,
    /// The machine reported no free slot for too long, or 256 requests are open.
    Overloaded,
    /// The connection ended first.
    Disconnected,
    /// The machine answered ERROR.
    Refused {
        /// The whole answer.
        reply: Reply,
    },
    /// The answer differs from what the platform has stored.
    Mismatch {
        /// In words.
        text: String,
    },
    /// The chat, machine or argument is unknown.
    Unknown {
        /// In words.
        text: String,
    },
}

impl From<Unsent> for Failure {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::Gone => Self::NotConnected,
            Unsent::Full => Self::Overloaded,
        }
    }
}

impl Script {
    /// Who answers the sign-in page.
    pub fn consent(&self, mode: ConsentMode) {
        self.0.change(|s| s.oauth.consent = mode);
    }

    /// Visits an authorize address as a browser would, and gives the address to which the visit leads back. None when the
    /// address is not valid, or a person has to press a button first.
    #[must_use]
    pub fn visit(&self, authorize_url: &str) -> Option<String> {
        oauth::visit(&self.0, authorize_url)
    }

    /// Replaces all switches.
    pub fn switches(&self, switches: Switches) {
        // Whole milliseconds, at least one: a PING without pause would be a flood.
        let every = switches.ping_every_ms.map(|ms| Duration::from_millis(ms.max(1)));
        self.0.ping_every.send_replace(every);
        self.0.change(|s| s.switches = switches);
    }

    /// Expires every access token now; open sockets are closed with 4401.
    pub fn expire_access_tokens(&self) {
        self.0.change(|s| {
            s.oauth.access.clear();
            for link in s.links.values() {
                let _ = link.out.close(4401, "Access token expired");
            }
        });
    }

    /// Revokes every token family; sockets get SESSION_REVOKED and 4428.
    pub fn revoke_all(&self) {
        self.0.change(|s| {
            let families: Vec<String> = s.oauth.refresh.values().map(|t| t.family.clone()).collect();
            for family in families {
                if !s.oauth.revoked.contains(&family) {
                    oauth::revoke_family(s, &family, "user_revoked");
                }
            }
        });
    }

    /// Makes a chat; its id is made up when none is given.
    pub fn new_chat(&self, id: Option<&str>) -> String {
        let id = id.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        self.0.change(|s| s.chats.entry(id.clone()).or_default().clone());
        id
    }

    /// A chat as stored.
    #[must_use]
    pub fn chat(&self, id: &str) -> Option<Chat> {
        self.0.look().chats.get(id).cloned()
    }

    /// Machine ids with a control socket.
    #[must_use]
    pub fn machines(&self) -> Vec<String> {
        let s = self.0.look();
        s.links
            .values()
            .filter(|l| l.ready)
            .filter_map(|l| if let Scope::Control(m) = &l.scope { Some(m.clone()) } else { None })
            .collect()
    }

    /// Waits for any control socket; gives its machine id.
    pub async fn machine(&self) -> String {
        self.0
            .until(|s| {
                s.links.values().rev().find_map(|l| {
                    if let (true, Scope::Control(m)) = (l.ready, &l.scope) { Some(m.clone()) } else { None }
                })
            })
            .await
    }

    /// Waits until the socket is up (or, with `false`, gone).
    pub async fn connected(&self, scope: &Scope, up: bool) {
        self.0.until(|s| (s.live(scope).is_some() == up).then_some(())).await;
    }

    /// Waits for the first recorded frame with `n > after` that fits.
    pub async fn frame(&self, after: u64, mut fits: impl FnMut(&FrameRecord) -> bool) -> FrameRecord {
        self.0.until(|s| s.frames.iter().find(|f| f.n > after && fits(f)).cloned()).await
    }

    /// Recorded frames with `n > after`.
    #[must_use]
    pub fn frames(&self, after: u64) -> Vec<FrameRecord> {
        self.0.look().frames.iter().filter(|f| f.n > after).cloned().collect()
    }

    /// Everything a machine did against the protocol.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.0.look().faults.clone()
    }

    /// Forgets the faults.
    pub fn clear_faults(&self) {
        self.0.change(|s| s.faults.clear());
    }

    fn send(&self, scope: &Scope, out: Out) -> Result<(), Failure> {
        let s = self.0.look();
        let (_, link) = s.live(scope).ok_or(Failure::NotConnected)?;
        Ok(link.out.send(out)?)
    }

    /// Sends any text as one frame.
    ///
    /// # Errors
    /// `NotConnected`; `Overloaded` when 64 MiB wait for this socket.
    pub fn send_text(&self, scope: &Scope, text: impl Into<String>) -> Result<(), Failure> {
        self.send(scope, Out::Text(text.into()))
    }

    /// Sends any bytes as one binary frame.
    ///
    /// # Errors
    /// `NotConnected`; `Overloaded` when 64 MiB wait for this socket.
    pub fn send_binary(&self, scope: &Scope, bytes: Vec<u8>) -> Result<(), Failure> {
        self.send(scope, Out::Binary(bytes))
    }

    /// Closes with a code, any of 1000 to 4999: 4500 is the server's own fault. It never waits: what is queued gets
    /// [`crate::Clocks::closing`], even when the other side does not read.
    ///
    /// # Errors
    /// `NotConnected`; `Unknown` for no close code.
    pub fn close(&self, scope: &Scope, code: u16, reason: &str) -> Result<(), Failure> {
        if !(1000..5000).contains(&code) {
            return Err(Failure::Unknown { text: format!("{code} is no close code") });
        }
        let s = self.0.look();
        let (_, link) = s.live(scope).ok_or(Failure::NotConnected)?;
        Ok(link.out.close(code, reason)?)
    }

    /// Ends the connection without a close frame.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn cut(&self, scope: &Scope) -> Result<(), Failure> {
        let s = self.0.look();
        let (_, link) = s.live(scope).ok_or(Failure::NotConnected)?;
        link.out.cut();
        Ok(())
    }

    /// Stops or resumes reading from a socket.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn stall(&self, scope: &Scope, stalled: bool) -> Result<(), Failure> {
        let s = self.0.look();
        let (_, link) = s.live(scope).ok_or(Failure::NotConnected)?;
        link.stalled.send_replace(stalled);
        Ok(())
    }

    /// Everything at a glance, with the newest `most` frames after `since_frame`; the body of `GET /api/practice/state`.
    /// `version` grows with every change, `last_frame` is the number of the newest frame.
    #[must_use]
    pub fn state(&self, since_frame: u64, most: usize) -> Value {
        let version = self.0.version();
        let s = self.0.look();
        let links: Vec<Value> = s
            .links
            .iter()
            .filter(|(_, l)| l.ready)
            .map(|(n, l)| json!({ "link": n, "scope": l.scope, "hello": l.hello, "granted": l.granted, "connection_id": l.connection_id, "capacity": l.capacity, "max_concurrent": l.max_concurrent, "outstanding": l.asked.len(), "status": l.status }))
            .collect();
        let mut frames: Vec<&FrameRecord> =
            s.frames.iter().rev().take_while(|f| f.n > since_frame).take(most).collect();
        frames.reverse();
        json!({ "version": version, "last_frame": s.next_frame, "links": links, "chats": s.chats, "frames": frames, "faults": s.faults, "consent": s.oauth.consent, "switches": s.switches })
    }
}
