//! What a test, or the console page through `/api/practice`, can make the platform do.

use crate::state::{Asked, Chat, Fault, FrameRecord, Inner, Out, Reply, Scope, Shared, Switches};
use crate::{ConsentMode, oauth};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

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

impl Script {
    /// Who answers the sign-in page.
    pub fn consent(&self, mode: ConsentMode) {
        self.0.change(|s| s.oauth.consent = mode);
    }

    /// Replaces all switches.
    pub fn switches(&self, switches: Switches) {
        self.0.change(|s| s.switches = switches);
    }

    /// Expires every access token now; open sockets are closed with 4401.
    pub fn expire_access_tokens(&self) {
        self.0.change(|s| {
            s.oauth.access.clear();
            for link in s.links.values() {
                let _ = link.out.send(Out::Close(4401, "Access token expired".to_owned()));
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
    #[must_use]
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

    /// Sends one request and awaits its terminal answer with the server's clock, or `limit` instead.
    ///
    /// # Errors
    /// Every [`Failure`] but `Mismatch`.
    pub async fn request(
        &self,
        scope: &Scope,
        kind: &str,
        payload: Value,
        limit: Option<Duration>,
    ) -> Result<Reply, Failure> {
        let clocks = &self.0.clocks;
        let limit = limit.unwrap_or(match scope {
            Scope::Control(_) if kind == "DETACH_SESSION" => clocks.detach,
            Scope::Control(_) => clocks.control,
            Scope::Data(_) => clocks.data,
        });
        if matches!(scope, Scope::Data(_)) {
            let free = self.0.until(|s| s.live(scope).is_none_or(|(_, l)| l.capacity != Some(0)).then_some(()));
            tokio::time::timeout(clocks.capacity, free).await.map_err(|_| Failure::Overloaded)?;
        }
        let waiting = self.0.change(|s| ask(s, scope, kind, &payload))?;
        let reply = tokio::time::timeout(limit, waiting)
            .await
            .map_err(|_| Failure::TimedOut)?
            .map_err(|_| Failure::Disconnected)?;
        if reply.kind == "ERROR" { Err(Failure::Refused { reply }) } else { Ok(reply) }
    }

    /// One page of the folder browser; `at` is `(browse_id, directory_ref)`.
    ///
    /// # Errors
    /// As [`Script::request`].
    pub async fn browse(
        &self,
        machine: &str,
        at: Option<(&str, &str)>,
        cursor: Option<&str>,
    ) -> Result<Value, Failure> {
        let mut payload = json!({});
        if let Some((browse, directory)) = at {
            payload = json!({ "browse_id": browse, "directory_ref": directory });
        }
        if let Some(cursor) = cursor {
            payload["cursor"] = json!(cursor);
        }
        Ok(self.request(&Scope::Control(machine.to_owned()), "DIRECTORY_LIST_REQUEST", payload, None).await?.payload)
    }

    /// Attaches a browsed folder to a chat and stores the grant.
    ///
    /// # Errors
    /// As [`Script::request`]; `Mismatch` when the answer is not a whole record for this chat.
    pub async fn attach(&self, machine: &str, chat: &str, browse: &str, directory: &str) -> Result<Value, Failure> {
        let scope = Scope::Control(machine.to_owned());
        let connection = self.0.look().live(&scope).and_then(|(_, l)| l.connection_id.clone());
        let payload = json!({ "session_id": chat, "browse_id": browse, "directory_ref": directory, "expected_connection_id": connection });
        let record = self.request(&scope, "ATTACH_SESSION", payload, None).await?.payload;
        let fingerprint = record["fingerprint"].as_str().unwrap_or_default();
        let whole = record["session_id"] == chat
            && record["allowed_root"].as_str().is_some_and(|r| !r.is_empty())
            && fingerprint.len() == 64
            && fingerprint.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && record["revision"].as_u64().is_some_and(|r| r >= 1)
            && record["root_grant"].as_str().is_some_and(|g| (1..=131_072).contains(&g.len()));
        if !whole {
            return Err(self.mismatch("SESSION_ATTACHED is not a whole record for this chat"));
        }
        self.0.change(|s| {
            s.chats.insert(chat.to_owned(), Chat { machine_id: Some(machine.to_owned()), grant: Some(record.clone()) });
        });
        Ok(record)
    }

    fn mismatch(&self, text: &str) -> Failure {
        self.0.fault(0, "record_mismatch", text);
        Failure::Mismatch { text: text.to_owned() }
    }

    fn stored(&self, chat: &str) -> Result<(Scope, Value), Failure> {
        let known = self.chat(chat).and_then(|c| Some((Scope::Control(c.machine_id?), c.grant?)));
        known.ok_or_else(|| Failure::Unknown { text: format!("chat {chat} has no folder") })
    }

    /// Activates an attached chat and waits for its data socket.
    ///
    /// # Errors
    /// As [`Script::request`]; `Mismatch` when the answer differs from the stored record; `TimedOut` without data socket.
    pub async fn activate(&self, chat: &str) -> Result<Value, Failure> {
        let (scope, grant) = self.stored(chat)?;
        self.start(
            chat,
            &scope,
            "ACTIVATE_SESSION",
            json!({ "session_id": chat, "revision": grant["revision"] }),
            &grant,
            &["session_id", "allowed_root", "fingerprint", "revision"],
        )
        .await
    }

    /// Restores a chat from its stored grant and waits for its data socket.
    ///
    /// # Errors
    /// As [`Script::activate`].
    pub async fn restore(&self, chat: &str) -> Result<Value, Failure> {
        let (scope, grant) = self.stored(chat)?;
        self.start(
            chat,
            &scope,
            "RESTORE_SESSION",
            json!({ "session_id": chat, "root_grant": grant["root_grant"] }),
            &grant,
            &["session_id", "allowed_root", "fingerprint", "revision", "root_grant"],
        )
        .await
    }

    async fn start(
        &self,
        chat: &str,
        scope: &Scope,
        kind: &str,
        ask: Value,
        grant: &Value,
        same: &[&str],
    ) -> Result<Value, Failure> {
        let answer = self.request(scope, kind, ask, None).await?.payload;
        if let Some(key) = same.iter().find(|k| answer[**k] != grant[**k]) {
            return Err(self.mismatch(&format!("{kind}: {key} differs from the stored record")));
        }
        let data = Scope::Data(chat.to_owned());
        tokio::time::timeout(self.0.clocks.data_socket, self.connected(&data, true))
            .await
            .map_err(|_| Failure::TimedOut)?;
        Ok(answer)
    }

    /// Detaches a chat; the stored grant stays, for a later restore.
    ///
    /// # Errors
    /// As [`Script::request`].
    pub async fn detach(&self, chat: &str) -> Result<Reply, Failure> {
        let (scope, _) = self.stored(chat)?;
        self.request(&scope, "DETACH_SESSION", json!({ "session_id": chat }), None).await
    }

    /// PING over the protocol; the answer is PONG.
    ///
    /// # Errors
    /// As [`Script::request`].
    pub async fn ping(&self, scope: &Scope) -> Result<Reply, Failure> {
        self.request(scope, "PING", json!({}), None).await
    }

    fn send(&self, scope: &Scope, out: Out) -> Result<(), Failure> {
        let s = self.0.look();
        let (_, link) = s.live(scope).ok_or(Failure::NotConnected)?;
        link.out.send(out).map_err(|_| Failure::NotConnected)
    }

    /// Sends any text as one frame.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn send_text(&self, scope: &Scope, text: impl Into<String>) -> Result<(), Failure> {
        self.send(scope, Out::Text(text.into()))
    }

    /// Sends any bytes as one binary frame.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn send_binary(&self, scope: &Scope, bytes: Vec<u8>) -> Result<(), Failure> {
        self.send(scope, Out::Binary(bytes))
    }

    /// Closes with a code.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn close(&self, scope: &Scope, code: u16, reason: &str) -> Result<(), Failure> {
        self.send(scope, Out::Close(code, reason.to_owned()))
    }

    /// Ends the connection without a close frame.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn cut(&self, scope: &Scope) -> Result<(), Failure> {
        self.send(scope, Out::Drop)
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

    /// Everything at a glance, with frames after `since_frame`; the body of `GET /api/practice/state`.
    #[must_use]
    pub fn state(&self, since_frame: u64) -> Value {
        let s = self.0.look();
        let links: Vec<Value> = s
            .links
            .iter()
            .filter(|(_, l)| l.ready)
            .map(|(n, l)| json!({ "link": n, "scope": l.scope, "hello": l.hello, "granted": l.granted, "connection_id": l.connection_id, "capacity": l.capacity, "max_concurrent": l.max_concurrent, "outstanding": l.asked.len(), "status": l.status }))
            .collect();
        let frames: Vec<&FrameRecord> = s.frames.iter().filter(|f| f.n > since_frame).collect();
        json!({ "links": links, "chats": s.chats, "frames": frames, "faults": s.faults, "consent": s.oauth.consent })
    }
}

fn ask(s: &mut Inner, scope: &Scope, kind: &str, payload: &Value) -> Result<oneshot::Receiver<Reply>, Failure> {
    let n = s.live(scope).map(|(n, _)| n).ok_or(Failure::NotConnected)?;
    let link = s.links.get_mut(&n).ok_or(Failure::NotConnected)?;
    if link.asked.len() >= 256 {
        return Err(Failure::Overloaded);
    }
    let id = uuid::Uuid::new_v4().to_string();
    let frame = json!({ "type": kind, "id": id, "ts": crate::socket::now(), "payload": payload }).to_string();
    link.out.send(Out::Text(frame)).map_err(|_| Failure::NotConnected)?;
    let (answer, waiting) = oneshot::channel();
    link.next_ask += 1;
    link.asked.insert(link.next_ask, Asked { id, kind: kind.to_owned(), born: Instant::now(), answer: Some(answer) });
    Ok(waiting)
}
