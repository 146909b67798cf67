//! The platform's side of the work: requests with the server's clocks, the folder browser, and what a chat remembers of
//! its folder (spec 15.4, 15.5). What a test does to a socket is in the `script` module.

use crate::outbox::Out;
use crate::parts::Progress;
use crate::script::{Failure, Script};
use crate::state::{Asked, Chat, Inner, Link, Reply, Scope};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Requests open on one socket.
const OUTSTANDING_MAX: usize = 256;

/// What [`Script::operate`] did.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Worked {
    /// Whether the chat's folder had to be restored first.
    pub restored: bool,
    /// The machine's answer.
    #[serde(flatten)]
    pub reply: Reply,
}

/// Something that came of a request to a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// The payload of a part.
    Part(Value),
    /// The end: the whole answer, or why there is none.
    End(Result<Worked, Failure>),
}

/// An answer of a model that is on its way.
pub struct Answer {
    parts: mpsc::UnboundedReceiver<Value>,
    end: oneshot::Receiver<Result<Reply, Failure>>,
    limit: Duration,
    restored: bool,
    over: bool,
}

impl Answer {
    /// Waits for what comes next; none after the end. The limit begins anew with each part.
    pub async fn next(&mut self) -> Option<Heard> {
        if self.over {
            return None;
        }
        let heard = tokio::time::timeout(self.limit, async {
            tokio::select! {
                // All parts come before the end.
                biased;
                Some(part) = self.parts.recv() => Heard::Part(part),
                end = &mut self.end => Heard::End(worked(self.restored, end)),
            }
        })
        .await
        .unwrap_or(Heard::End(Err(Failure::TimedOut)));
        self.over = matches!(heard, Heard::End(_));
        Some(heard)
    }

    /// Waits for the end; gives the text of the parts beside it.
    ///
    /// # Errors
    /// As [`Script::request`].
    pub async fn whole(mut self) -> Result<(Vec<Value>, Reply), Failure> {
        let mut parts = Vec::new();
        while let Some(heard) = self.next().await {
            match heard {
                Heard::Part(part) => parts.push(part),
                Heard::End(end) => return end.map(|worked| (parts, worked.reply)),
            }
        }
        Err(Failure::Disconnected)
    }
}

fn worked(restored: bool, end: Result<Result<Reply, Failure>, oneshot::error::RecvError>) -> Result<Worked, Failure> {
    match end.map_err(|_| Failure::Disconnected)?? {
        reply if reply.kind == "ERROR" => Err(Failure::Refused { reply }),
        reply => Ok(Worked { restored, reply }),
    }
}

/// Requests the server sends again by itself after a reconnect (spec 15.4).
const RETRIED: [&str; 10] = [
    "FILE_READ",
    "FILE_STAT",
    "FILE_LIST",
    "CURSOR_POSITION_REQUEST",
    "DISPLAY_INFO_REQUEST",
    "WINDOW_LIST_REQUEST",
    "APP_LIST_REQUEST",
    "PERMISSIONS_CHECK_REQUEST",
    "CLIPBOARD_READ",
    "SCREENSHOT_REQUEST",
];

impl Script {
    /// Sends one request and awaits its terminal answer with the server's clock, or `limit` instead. When the connection
    /// ends first, requests of the server's own list are sent once more after it is back.
    ///
    /// # Errors
    /// Every [`Failure`].
    pub async fn request(
        &self,
        scope: &Scope,
        kind: &str,
        payload: Value,
        limit: Option<Duration>,
    ) -> Result<Reply, Failure> {
        let first = self.request_once(scope, kind, payload.clone(), limit).await;
        if first != Err(Failure::Disconnected) || !RETRIED.contains(&kind) {
            return first;
        }
        let back = self.connected(scope, true);
        tokio::time::timeout(self.0.clocks.reconnect, back).await.map_err(|_| Failure::Disconnected)?;
        let second = self.request_once(scope, kind, payload, limit).await?;
        Ok(Reply { retried: true, ..second })
    }

    /// As [`Script::request`], but never sent again.
    ///
    /// # Errors
    /// Every [`Failure`].
    pub async fn request_once(
        &self,
        scope: &Scope,
        kind: &str,
        payload: Value,
        limit: Option<Duration>,
    ) -> Result<Reply, Failure> {
        self.ask(scope, kind, payload, limit).await?.whole().await.map(|(_, reply)| reply)
    }

    /// Sends one request whose answer may come in parts, which are given as they come.
    ///
    /// # Errors
    /// `NotConnected`, `Overloaded`; every other [`Failure`] is the end of the answer.
    pub async fn ask(
        &self,
        scope: &Scope,
        kind: &str,
        payload: Value,
        limit: Option<Duration>,
    ) -> Result<Answer, Failure> {
        let clocks = &self.0.clocks;
        let limit = limit.unwrap_or(match scope {
            Scope::Control(_) if kind == "DETACH_SESSION" => clocks.detach,
            Scope::Control(_) => clocks.control,
            Scope::Data(_) if kind.starts_with("LOCAL_LLM_") => clocks.model,
            Scope::Data(_) => clocks.data,
        });
        if matches!(scope, Scope::Data(_)) && kind != "PING" {
            let free = self.0.until(|s| s.live(scope).is_none_or(|(_, l)| l.capacity != Some(0)).then_some(()));
            tokio::time::timeout(clocks.capacity, free).await.map_err(|_| Failure::Overloaded)?;
        }
        let (listener, parts) = mpsc::unbounded_channel();
        let end = self.0.change(|s| ask(s, scope, kind, &payload, listener))?;
        Ok(Answer { parts, end, limit, restored: false, over: false })
    }

    /// As [`Script::ask`] in a chat, whose folder is restored first when its socket is gone.
    ///
    /// # Errors
    /// As [`Script::restore`] and [`Script::ask`].
    pub async fn ask_in_chat(
        &self,
        chat: &str,
        kind: &str,
        payload: Value,
        limit: Option<Duration>,
    ) -> Result<Answer, Failure> {
        let scope = Scope::Data(chat.to_owned());
        let restored = self.bring_back(chat, &scope).await?;
        Ok(Answer { restored, ..self.ask(&scope, kind, payload, limit).await? })
    }

    /// Runs one data request in a chat as a later turn of the real server does: when the chat's socket is gone, its
    /// folder is restored by the stored grant first, and an idempotent request whose socket ended is sent once more.
    ///
    /// # Errors
    /// As [`Script::restore`] and [`Script::request`].
    pub async fn operate(
        &self,
        chat: &str,
        kind: &str,
        payload: Value,
        limit: Option<Duration>,
    ) -> Result<Worked, Failure> {
        let scope = Scope::Data(chat.to_owned());
        let mut restored = self.bring_back(chat, &scope).await?;
        let mut answer = self.request_once(&scope, kind, payload.clone(), limit).await;
        if answer == Err(Failure::Disconnected) && RETRIED.contains(&kind) {
            restored |= self.bring_back(chat, &scope).await?;
            answer = self.request_once(&scope, kind, payload, limit).await;
            answer = answer.map(|reply| Reply { retried: true, ..reply });
        }
        Ok(Worked { restored, reply: answer? })
    }

    async fn bring_back(&self, chat: &str, scope: &Scope) -> Result<bool, Failure> {
        let gone = self.0.look().live(scope).is_none();
        if gone {
            self.restore(chat).await?;
        }
        Ok(gone)
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
    /// As [`Script::request`]; `Mismatch` when the answer is for another chat.
    pub async fn attach(&self, machine: &str, chat: &str, browse: &str, directory: &str) -> Result<Value, Failure> {
        let scope = Scope::Control(machine.to_owned());
        let connection = self.0.look().live(&scope).and_then(|(_, l)| l.connection_id.clone());
        let payload = json!({ "session_id": chat, "browse_id": browse, "directory_ref": directory, "expected_connection_id": connection });
        let record = self.request(&scope, "ATTACH_SESSION", payload, None).await?.payload;
        // Its bounds were checked when it came.
        let whole = record["session_id"] == chat;
        if !whole {
            return Err(self.mismatch("SESSION_ATTACHED is for another chat"));
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
}

fn ask(
    s: &mut Inner,
    scope: &Scope,
    kind: &str,
    payload: &Value,
    listener: mpsc::UnboundedSender<Value>,
) -> Result<oneshot::Receiver<Result<Reply, Failure>>, Failure> {
    let n = s.live(scope).map(|(n, _)| n).ok_or(Failure::NotConnected)?;
    ask_link(s.links.get_mut(&n).ok_or(Failure::NotConnected)?, kind, payload, Some(listener))
}

/// Queues a request on a link and remembers it.
pub(crate) fn ask_link(
    link: &mut Link,
    kind: &str,
    payload: &Value,
    listener: Option<mpsc::UnboundedSender<Value>>,
) -> Result<oneshot::Receiver<Result<Reply, Failure>>, Failure> {
    link.forget_old();
    if link.asked.len() >= OUTSTANDING_MAX {
        return Err(Failure::Overloaded);
    }
    let id = uuid::Uuid::new_v4().to_string();
    let frame = json!({ "type": kind, "id": id, "ts": crate::socket::now(), "payload": payload }).to_string();
    link.out.send(Out::Text(frame))?;
    let (answer, waiting) = oneshot::channel();
    link.next_ask += 1;
    let (born, progress) = (Instant::now(), Progress::of(kind, payload, listener));
    let asked = Asked { id, kind: kind.to_owned(), born, heard: born, progress, answer: Some(answer) };
    link.asked.insert(link.next_ask, asked);
    Ok(waiting)
}
