//! The consent broker: questions for the person, and what they answered (spec 15.6, DESIGN §4).
//!
//! A question counts only once it is painted. It lives 60 seconds and is then denied by itself. The platform gives up
//! earlier than that, so a request gets an early "ask again shortly" while its question stays open; the answer is then kept for five
//! minutes, bound to the very same operation, and used once. This module decides nothing about rules.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use drawbridge_core::{Clock, LinkId, OpError, Operation, Power, PromptId, SessionId};
use drawbridge_policy::{Permit, Question};
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::policy_cell::PolicyCell;
use crate::view::{PromptAnswer, PromptDetail, PromptView};

/// How long a question stays before it is denied by itself.
pub(crate) const PROMPT_LIFE: Duration = Duration::from_secs(60);
/// How long an answer is kept for a request that did not wait for it.
const ANSWER_LIFE: Duration = Duration::from_secs(300);
/// When the peer is told to ask again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Questions open at once, over all chats. More are refused: a flood must not bury the one that matters.
const MAX_OPEN: usize = 16;

/// What a question shows besides the operation's own facts.
#[derive(Debug, Clone)]
pub(crate) struct PromptFacts {
    /// The platform's address.
    pub(crate) platform: String,
    /// One plain sentence, safe to show.
    pub(crate) summary: String,
    /// Exact facts, safe to show.
    pub(crate) details: Vec<PromptDetail>,
    /// "Allow for this chat" may be offered.
    pub(crate) can_allow_chat: bool,
}

/// Who asks, and how long they can wait.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    /// The connection that carries the request.
    pub(crate) link: LinkId,
    /// Questions that this connection may have open: its slots less one.
    pub(crate) max_open: usize,
    /// When the peer must have some answer.
    pub(crate) patience: Duration,
    /// Fires when the request is gone.
    pub(crate) cancel: CancellationToken,
}

/// What the person chose, or what took the choice from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Once,
    Chat,
    Deny,
    Unseen,
    Raised,
    Gone,
}

/// The same chat and the same operation, down to the last byte.
type Key = [u8; 32];

struct Open {
    key: Key,
    link: LinkId,
    power: Power,
    session: Option<SessionId>,
    view: PromptView,
    painted: bool,
    waiters: Vec<oneshot::Sender<Heard>>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    open: BTreeMap<PromptId, Open>,
    kept: BTreeMap<Key, (Heard, Instant)>,
}

/// What came of answering a question; for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// The chat.
    pub(crate) session: Option<SessionId>,
    /// The power concerned.
    pub(crate) power: Power,
    /// The operation's name.
    pub(crate) operation: String,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerFault {
    /// No such question, or it is over.
    Unknown,
    /// It was never on screen.
    NotPainted,
}

/// The broker. One for the whole engine.
pub(crate) struct Broker {
    policy: Arc<PolicyCell>,
    clock: Arc<dyn Clock>,
    board: Arc<Board>,
    inner: Mutex<Inner>,
    me: Weak<Broker>,
}

impl Broker {
    pub(crate) fn new(policy: Arc<PolicyCell>, clock: Arc<dyn Clock>, board: Arc<Board>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { policy, clock, board, inner: Mutex::default(), me: me.clone() })
    }

    /// Asks the person and waits as long as the asker can.
    ///
    /// # Errors
    /// The error for the peer: declined, waiting, nobody there, raised or cancelled.
    pub(crate) async fn ask(&self, question: Question, facts: PromptFacts, asker: &Asker) -> Result<Permit, OpError> {
        let power = question.power();
        let key = key_of(question.session(), question.operation());
        if let Some(heard) = self.take_kept(&key) {
            return self.conclude(question, heard);
        }
        let Some(answer) = self.open(&question, key, facts, asker) else {
            return Err(OpError::WaitingForConsent { power, retry_after: RETRY_AFTER });
        };
        tokio::select! {
            heard = answer => self.conclude(question, heard.unwrap_or(Heard::Gone)),
            () = tokio::time::sleep(asker.patience) => {
                Err(OpError::WaitingForConsent { power, retry_after: RETRY_AFTER })
            }
            () = asker.cancel.cancelled() => Err(OpError::Cancelled),
        }
    }

    /// Notes that a question is on screen.
    pub(crate) fn painted(&self, id: PromptId, revision: u64) -> Result<(), AnswerFault> {
        let mut inner = self.lock();
        let open = inner.open.get_mut(&id).ok_or(AnswerFault::Unknown)?;
        if open.view.revision == revision {
            open.painted = true;
        }
        Ok(())
    }

    /// Takes the person's answer.
    ///
    /// # Errors
    /// [`AnswerFault`] when the question is over or was never on screen.
    pub(crate) fn answer(&self, id: PromptId, revision: u64, answer: PromptAnswer) -> Result<Answered, AnswerFault> {
        let painted = {
            let inner = self.lock();
            let open = inner.open.get(&id).ok_or(AnswerFault::Unknown)?;
            open.painted && open.view.revision == revision
        };
        if !painted && answer != PromptAnswer::Deny {
            return Err(AnswerFault::NotPainted);
        }
        let heard = match answer {
            PromptAnswer::AllowOnce | PromptAnswer::AllowAlways => Heard::Once,
            PromptAnswer::AllowChat => Heard::Chat,
            PromptAnswer::Deny => Heard::Deny,
        };
        self.close(id, heard).ok_or(AnswerFault::Unknown)
    }

    /// Denies everything that waits, and forgets every answer: the bridge went up.
    pub(crate) fn raise(&self) {
        let ids: Vec<PromptId> = self.lock().open.keys().copied().collect();
        for id in ids {
            self.close(id, Heard::Raised);
        }
        self.lock().kept.clear();
    }

    /// Takes back the questions of a chat that was detached.
    pub(crate) fn forget_chat(&self, session: &SessionId) {
        let ids: Vec<PromptId> = {
            let inner = self.lock();
            inner.open.iter().filter(|(_, open)| open.session.as_ref() == Some(session)).map(|(id, _)| *id).collect()
        };
        for id in ids {
            self.close(id, Heard::Gone);
        }
    }

    /// Tells whether a chat has a question open: such a chat is not idle.
    pub(crate) fn has_open(&self, session: &SessionId) -> bool {
        self.lock().open.values().any(|open| open.session.as_ref() == Some(session))
    }

    /// Returns the open questions, oldest first.
    pub(crate) fn views(&self) -> Vec<PromptView> {
        self.lock().open.values().map(|open| open.view.clone()).collect()
    }

    fn take_kept(&self, key: &Key) -> Option<Heard> {
        let mut inner = self.lock();
        let now = self.clock.now();
        inner.kept.retain(|_, (_, until)| *until > now);
        inner.kept.remove(key).map(|(heard, _)| heard)
    }

    /// Opens a question or joins the same one; none when there is no room.
    fn open(
        &self,
        question: &Question,
        key: Key,
        facts: PromptFacts,
        asker: &Asker,
    ) -> Option<oneshot::Receiver<Heard>> {
        let (sender, receiver) = oneshot::channel();
        let mut inner = self.lock();
        if let Some(open) = inner.open.values_mut().find(|open| open.key == key) {
            open.waiters.push(sender);
            return Some(receiver);
        }
        let of_link = inner.open.values().filter(|open| open.link == asker.link).count();
        if inner.open.len() >= MAX_OPEN || of_link >= asker.max_open.max(1) {
            return None;
        }
        inner.next += 1;
        let id = PromptId::new(inner.next);
        let view = PromptView {
            id: id.get(),
            power: question.power().name().to_owned(),
            platform: facts.platform,
            session_id: question.session().map(|session| session.as_str().to_owned()),
            operation: question.operation().name().to_owned(),
            summary: facts.summary,
            details: facts.details,
            can_allow_chat: facts.can_allow_chat,
            waiting: 1,
            ..PromptView::default()
        };
        let view = PromptView { expires_at_ms: self.clock.wall().plus(PROMPT_LIFE).0, ..view };
        let open = Open {
            key,
            link: asker.link,
            power: question.power(),
            session: question.session().cloned(),
            view,
            painted: false,
            waiters: vec![sender],
        };
        inner.open.insert(id, open);
        drop(inner);
        self.expire_later(id);
        self.board.touch();
        Some(receiver)
    }

    fn expire_later(&self, id: PromptId) {
        let me = self.me.clone();
        tokio::spawn(async move {
            tokio::time::sleep(PROMPT_LIFE).await;
            if let Some(broker) = me.upgrade() {
                let painted = broker.lock().open.get(&id).is_some_and(|open| open.painted);
                broker.close(id, if painted { Heard::Deny } else { Heard::Unseen });
            }
        });
    }

    /// Ends a question. The first request that still waits gets the answer; others of the same kind ask again. With nobody
    /// waiting the answer is kept.
    fn close(&self, id: PromptId, heard: Heard) -> Option<Answered> {
        let mut inner = self.lock();
        let open = inner.open.remove(&id)?;
        let mut delivered = false;
        for waiter in open.waiters {
            let for_all = heard != Heard::Once;
            if for_all || !delivered {
                delivered |= waiter.send(heard).is_ok();
            }
        }
        let worth_keeping = match heard {
            Heard::Once | Heard::Chat | Heard::Deny => true,
            Heard::Unseen | Heard::Raised | Heard::Gone => false,
        };
        if worth_keeping && !delivered {
            inner.kept.insert(open.key, (heard, self.clock.now() + ANSWER_LIFE));
        }
        drop(inner);
        self.board.touch();
        Some(Answered { session: open.session, power: open.power, operation: open.view.operation })
    }

    fn conclude(&self, question: Question, heard: Heard) -> Result<Permit, OpError> {
        let power = question.power();
        match heard {
            Heard::Once | Heard::Chat => question.approve(&self.policy.get()),
            Heard::Deny => Err(question.decline()),
            Heard::Unseen => Err(OpError::NoUi { power }),
            Heard::Raised => Err(OpError::Raised { power }),
            Heard::Gone => Err(OpError::Cancelled),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key_of(session: Option<&SessionId>, operation: &Operation) -> Key {
    /// Feeds every byte that `Hash` sees into SHA-256, so that no two operations share a key by chance.
    struct Feed(Sha256);
    impl Hasher for Feed {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut feed = Feed(Sha256::new());
    session.hash(&mut feed);
    operation.hash(&mut feed);
    feed.0.finalize().into()
}

#[cfg(test)]
#[path = "consent_tests.rs"]
mod tests;
