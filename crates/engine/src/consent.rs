//! The consent broker: questions for the person, and what they answered (spec 15.6, DESIGN §4).
//!
//! A question counts only once it is painted. It lives 60 seconds and is then denied by itself. The platform gives up
//! earlier than that, so a request gets an early "ask again shortly" while its question stays open; the answer is then kept for five
//! minutes, bound to the very same operation and to the state of everything that was shown ([`seal`]), and used once. Every
//! question and every answer is written down before it has any effect. This module decides nothing about rules.

pub(crate) mod ask;
mod key;
mod open;
pub(crate) mod seal;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use drawbridge_core::{BrowsePlace, Clock, LinkId, OpError, Power, PromptId, SessionId};
use drawbridge_os::root::DirectoryIdentity;
use drawbridge_policy::{CommandRule, Question};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::prompts::{self, PromptFacts};
use crate::view::{PromptAnswer, PromptView};

use key::Key;
use open::{About, Open};
use seal::Seal;

/// How long a question stays before it is denied by itself.
pub(crate) const PROMPT_LIFE: Duration = Duration::from_secs(60);
/// After so long without being painted a question counts as unseen, so that somebody else brings it up (FB-26).
const PAINT_WITHIN: Duration = Duration::from_secs(3);
/// How long an answer is kept for a request that did not wait for it.
const ANSWER_LIFE: Duration = Duration::from_secs(300);
/// When the peer is told to ask again.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Questions open at once, over all chats. More are refused: a flood must not bury the one that matters.
const MAX_OPEN: usize = 16;
/// Answers kept at once; the oldest goes.
const MAX_KEPT: usize = 64;

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

/// Writes down what is asked and answered. False when it could not be written: then nothing is done.
pub(crate) trait Ledger: Send + Sync {
    /// A question was put.
    fn asked(&self, session: Option<&SessionId>, power: Power, operation: &str) -> bool;
    /// A question ended with this word.
    fn answered(&self, session: Option<&SessionId>, power: Power, operation: &str, answer: &str) -> bool;
}

/// What the person chose, or what took the choice from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Yes, once.
    Once,
    /// Yes, and the power is allowed for the chat from now on.
    Chat,
    /// Yes, and this command is always allowed from now on.
    Always,
    /// No.
    Deny,
    /// Nobody answered in time.
    Expired,
    /// It was never on screen.
    Unseen,
    /// The bridge went up.
    Raised,
    /// The chat was detached, or what it asked for became impossible.
    Withdrawn,
    /// The yes was for one request, and another one got it.
    Again,
    /// The answer could not be written down.
    Unrecorded,
}

impl Heard {
    /// The word of the audit log.
    const fn word(self) -> &'static str {
        match self {
            Self::Once => "allow_once",
            Self::Chat => "allow_chat",
            Self::Always => "allow_always",
            Self::Deny => "deny",
            Self::Expired => "expired",
            Self::Unseen => "unseen",
            Self::Raised => "raised",
            Self::Withdrawn => "withdrawn",
            Self::Again | Self::Unrecorded => "none",
        }
    }
}

/// An answer with what it is bound to.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) heard: Heard,
    /// The state of everything that was shown.
    pub(crate) seal: Arc<Seal>,
    /// The folder that the person chose instead.
    pub(crate) chosen: Option<BrowsePlace>,
}

/// What one question shows and what an answer to it is bound to.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) facts: PromptFacts,
    pub(crate) seal: Seal,
    /// The rule that "Always allow" would make.
    pub(crate) rule: Option<CommandRule>,
}

struct KeptAnswer {
    told: Told,
    session: Option<SessionId>,
    until: Instant,
}

#[derive(Default)]
struct Inner {
    next: u64,
    open: BTreeMap<PromptId, Open>,
    kept: BTreeMap<Key, KeptAnswer>,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerFault {
    /// No such question, or it is over.
    Unknown,
    /// It was never on screen, or not as it is now.
    NotPainted,
    /// This answer was not offered.
    NotOffered,
    /// Nobody could read all of it, so nobody can allow it.
    CutShort,
}

/// A question that was taken off the table to be answered. Nobody else can answer it meanwhile.
pub(crate) struct Taken {
    id: PromptId,
    heard: Heard,
    open: Open,
}

impl Taken {
    /// Returns the chat and the power concerned.
    pub(crate) fn about(&self) -> (Option<&SessionId>, Power) {
        (self.open.about.session.as_ref(), self.open.about.power)
    }

    /// Returns the rule that "Always allow" makes.
    pub(crate) fn rule(&self) -> Option<&CommandRule> {
        self.open.rule.as_ref()
    }
}

/// The broker. One for the whole engine.
pub(crate) struct Broker {
    clock: Arc<dyn Clock>,
    board: Arc<Board>,
    ledger: Arc<dyn Ledger>,
    inner: Mutex<Inner>,
    me: Weak<Broker>,
}

impl Broker {
    pub(crate) fn new(clock: Arc<dyn Clock>, board: Arc<Board>, ledger: Arc<dyn Ledger>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { clock, board, ledger, inner: Mutex::default(), me: me.clone() })
    }

    /// Puts a question, or joins the same one, and waits as long as the asker can.
    ///
    /// # Errors
    /// The error for the peer: waiting, cancelled, or the log cannot be written.
    pub(crate) async fn ask(
        &self,
        question: &Question,
        shown: Shown,
        asker: &Asker,
        deadline: tokio::time::Instant,
    ) -> Result<Told, OpError> {
        let waiting = || OpError::WaitingForConsent { power: question.power(), retry_after: RETRY_AFTER };
        let mut answer = self.open(question, shown, asker)?;
        let told = tokio::select! {
            biased;
            told = &mut answer => Some(told.map_err(|_| OpError::Cancelled)),
            () = asker.cancel.cancelled() => Some(Err(OpError::Cancelled)),
            () = tokio::time::sleep_until(deadline) => None,
        };
        // An answer that came in this very moment must not be lost: from here on no other can come.
        answer.close();
        let told = told.unwrap_or_else(|| answer.try_recv().map_err(|_| waiting()));
        self.board.touch();
        told
    }

    /// Tells whether a question could be put now, or is open already.
    pub(crate) fn has_room(&self, question: &Question, asker: &Asker) -> bool {
        let key = Key::of(question);
        let inner = self.lock();
        inner.open.values().any(|open| open.key == key) || inner.has_room(asker, question.session())
    }

    /// Notes that a question is on screen.
    pub(crate) fn painted(&self, id: PromptId, revision: u64) -> Result<(), AnswerFault> {
        let mut inner = self.lock();
        let open = inner.open.get_mut(&id).ok_or(AnswerFault::Unknown)?;
        if open.view.revision == revision {
            open.painted = true;
            open.view.unseen = false;
        }
        drop(inner);
        self.board.touch();
        Ok(())
    }

    /// Takes a question off the table to answer it. [`Broker::finish`] or [`Broker::put_back`] must follow.
    ///
    /// # Errors
    /// [`AnswerFault`] when the question is over, was not on screen as it is, or did not offer this answer. A no always
    /// counts.
    pub(crate) fn take(&self, id: PromptId, revision: u64, answer: PromptAnswer) -> Result<Taken, AnswerFault> {
        let mut inner = self.lock();
        let open = inner.open.get(&id).ok_or(AnswerFault::Unknown)?;
        let seen = open.painted && open.view.revision == revision;
        let heard = match answer {
            PromptAnswer::Deny => Heard::Deny,
            _ if !seen => return Err(AnswerFault::NotPainted),
            _ if open.view.cut => return Err(AnswerFault::CutShort),
            PromptAnswer::AllowOnce => Heard::Once,
            PromptAnswer::AllowChat if open.view.can_allow_chat => Heard::Chat,
            PromptAnswer::AllowAlways if open.view.always.is_some() && open.rule.is_some() => Heard::Always,
            PromptAnswer::AllowChat | PromptAnswer::AllowAlways => return Err(AnswerFault::NotOffered),
        };
        let open = inner.open.remove(&id).ok_or(AnswerFault::Unknown)?;
        Ok(Taken { id, heard, open })
    }

    /// Puts a question back: its answer could not be carried out.
    pub(crate) fn put_back(&self, taken: Taken) {
        self.lock().open.insert(taken.id, taken.open);
        self.expire_later(taken.id);
        self.board.touch();
    }

    /// Writes the answer down and hands it to whoever waits. What else the same answer settles is settled with it.
    pub(crate) fn finish(&self, taken: Taken) {
        let (heard, about) = (taken.heard, taken.open.about.clone());
        self.settle(taken.open, heard);
        if heard == Heard::Chat {
            let same = |open: &Open| open.view.can_allow_chat && open.about.same_power_and_chat(&about);
            self.close_where(same, |_| Heard::Chat);
        }
        self.board.touch();
    }

    /// Denies every question that is open. Returns how many.
    pub(crate) fn deny_all(&self) -> usize {
        self.close_where(|_| true, |_| Heard::Deny)
    }

    /// Denies everything that waits, and forgets every answer: the bridge went up.
    pub(crate) fn raise(&self) {
        self.close_where(|_| true, |_| Heard::Raised);
        self.lock().kept.clear();
    }

    /// Takes back the questions and the kept answers of a chat that was detached.
    pub(crate) fn forget_chat(&self, session: &SessionId) {
        self.close_where(|open| open.about.session.as_ref() == Some(session), |_| Heard::Withdrawn);
        self.lock().kept.retain(|_, kept| kept.session.as_ref() != Some(session));
    }

    /// Takes back the questions that policy would not ask any more. Whoever waits hears from policy why.
    pub(crate) fn withdraw(&self, which: impl Fn(&str, Option<&SessionId>) -> bool) {
        self.close_where(|open| which(open.about.operation, open.about.session.as_ref()), |_| Heard::Withdrawn);
    }

    /// Tells whether a chat has a question open: such a chat is not idle.
    pub(crate) fn has_open(&self, session: &SessionId) -> bool {
        self.lock().open.values().any(|open| open.about.session.as_ref() == Some(session))
    }

    /// Returns the open questions, oldest first.
    pub(crate) fn views(&self) -> Vec<PromptView> {
        self.lock().open.values().map(Open::view).collect()
    }

    /// Returns the folder that a question about attaching one is about, as the platform named it.
    ///
    /// # Errors
    /// [`AnswerFault::Unknown`] when the question is over, [`AnswerFault::NotOffered`] when it is about something else.
    pub(crate) fn attach_place(&self, id: PromptId) -> Result<BrowsePlace, AnswerFault> {
        let inner = self.lock();
        let open = inner.open.get(&id).ok_or(AnswerFault::Unknown)?;
        open.place.clone().ok_or(AnswerFault::NotOffered)
    }

    /// Puts another folder into a question about attaching one. It must be painted anew, and its time begins anew.
    ///
    /// # Errors
    /// [`AnswerFault::Unknown`] when the question is over.
    pub(crate) fn choose(
        &self,
        id: PromptId,
        place: BrowsePlace,
        path: &str,
        identity: DirectoryIdentity,
    ) -> Result<(), AnswerFault> {
        let mut inner = self.lock();
        let open = inner.open.get_mut(&id).ok_or(AnswerFault::Unknown)?;
        let mut facts = PromptFacts::default();
        prompts::attach(path, false, true, &mut facts);
        open.view.details = facts.details;
        open.view.folder = facts.folder;
        open.seal = Arc::new(Seal::of_folder(path.to_owned(), identity));
        open.chosen = Some(place);
        open.ends = tokio::time::Instant::now() + PROMPT_LIFE;
        open.view.expires_at_ms = self.clock.wall().plus(PROMPT_LIFE).0;
        let revision = open.changed();
        drop(inner);
        self.look_after(id, revision);
        self.board.touch();
        Ok(())
    }

    /// Takes the answer that was kept for this very operation, if there is one.
    pub(crate) fn take_kept(&self, question: &Question) -> Option<Told> {
        let mut inner = self.lock();
        let now = self.clock.now();
        inner.kept.retain(|_, kept| kept.until > now);
        inner.kept.remove(&Key::of(question)).map(|kept| kept.told)
    }

    /// Opens a question or joins the same one.
    fn open(&self, question: &Question, shown: Shown, asker: &Asker) -> Result<oneshot::Receiver<Told>, OpError> {
        let (sender, receiver) = oneshot::channel();
        let key = Key::of(question);
        let mut inner = self.lock();
        if let Some((id, open)) = inner.open.iter_mut().find(|(_, open)| open.key == key) {
            let (id, changed) = (*id, open.join(sender, shown));
            drop(inner);
            if let Some(revision) = changed {
                self.look_after(id, revision);
            }
            self.board.touch();
            return Ok(receiver);
        }
        if !inner.has_room(asker, question.session()) {
            return Err(OpError::WaitingForConsent { power: question.power(), retry_after: RETRY_AFTER });
        }
        let about = About::of(question);
        if !self.ledger.asked(about.session.as_ref(), about.power, about.operation) {
            return Err(OpError::AuditUnavailable);
        }
        inner.next += 1;
        let id = PromptId::new(inner.next);
        let expires_at_ms = self.clock.wall().plus(PROMPT_LIFE).0;
        inner.open.insert(id, Open::new(id, question, shown, asker.link, expires_at_ms, sender));
        drop(inner);
        self.expire_later(id);
        self.look_after(id, 0);
        self.board.touch();
        Ok(receiver)
    }

    fn expire_later(&self, id: PromptId) {
        let me = self.me.clone();
        tokio::spawn(async move {
            loop {
                let Some(ends) = me.upgrade().and_then(|broker| broker.lock().open.get(&id).map(|open| open.ends))
                else {
                    return;
                };
                if ends > tokio::time::Instant::now() {
                    tokio::time::sleep_until(ends).await;
                } else if let Some(broker) = me.upgrade() {
                    broker.expire(id);
                }
            }
        });
    }

    /// Denies a question whose time is over, unless it got more time meanwhile.
    fn expire(&self, id: PromptId) {
        let now = tokio::time::Instant::now();
        let over = |open: &Open| open.id == id && open.ends <= now;
        self.close_where(over, |open| if open.painted { Heard::Expired } else { Heard::Unseen });
    }

    /// Marks a question that nobody has painted in time.
    fn look_after(&self, id: PromptId, revision: u64) {
        let me = self.me.clone();
        tokio::spawn(async move {
            tokio::time::sleep(PAINT_WITHIN).await;
            let Some(broker) = me.upgrade() else { return };
            if let Some(open) = broker.lock().open.get_mut(&id)
                && open.view.revision == revision
                && !open.painted
            {
                open.view.unseen = true;
            }
            broker.board.touch();
        });
    }

    fn close_where(&self, which: impl Fn(&Open) -> bool, heard: impl Fn(&Open) -> Heard) -> usize {
        let closed: Vec<Open> = {
            let mut inner = self.lock();
            let ids: Vec<PromptId> = inner.open.iter().filter(|(_, open)| which(open)).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| inner.open.remove(id)).collect()
        };
        let count = closed.len();
        for open in closed {
            let heard = heard(&open);
            self.settle(open, heard);
        }
        if count > 0 {
            self.board.touch();
        }
        count
    }

    /// Ends a question: writes it down, then tells who waits. A yes for once is for the first request that still waits;
    /// with nobody waiting the answer is kept.
    fn settle(&self, open: Open, heard: Heard) {
        let about = &open.about;
        let recorded = self.ledger.answered(about.session.as_ref(), about.power, about.operation, heard.word());
        let heard = if recorded { heard } else { Heard::Unrecorded };
        let told = Told { heard, seal: open.seal, chosen: open.chosen };
        let mut delivered = false;
        for waiter in open.waiters {
            let heard = if heard == Heard::Once && delivered { Heard::Again } else { heard };
            delivered |= waiter.send(Told { heard, ..told.clone() }).is_ok();
        }
        if matches!(heard, Heard::Once | Heard::Deny) && !delivered {
            let kept = KeptAnswer { told, session: open.about.session, until: self.clock.now() + ANSWER_LIFE };
            self.lock().keep(open.key, kept);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Counts by chat as well: a chat that connects anew is a new link and no new chat.
    fn has_room(&self, asker: &Asker, chat: Option<&SessionId>) -> bool {
        let most = asker.max_open.max(1);
        let of_link = self.open.values().filter(|open| open.link == asker.link).count();
        let of_chat = self.open.values().filter(|open| chat.is_some() && open.about.session.as_ref() == chat).count();
        self.open.len() < MAX_OPEN && of_link < most && of_chat < most
    }

    fn keep(&mut self, key: Key, answer: KeptAnswer) {
        if self.kept.len() >= MAX_KEPT
            && let Some(oldest) = self.kept.iter().min_by_key(|(_, kept)| kept.until).map(|(key, _)| *key)
        {
            self.kept.remove(&oldest);
        }
        self.kept.insert(key, answer);
    }
}

#[cfg(test)]
#[path = "consent_tests.rs"]
mod tests;
