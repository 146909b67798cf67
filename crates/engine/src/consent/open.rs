//! One open question.

use std::sync::Arc;

use drawbridge_core::{BrowsePlace, LinkId, Operation, Power, PromptId, SessionId, SessionOp};
use drawbridge_policy::{CommandRule, Question};
use tokio::sync::oneshot;

use super::key::Key;
use super::seal::Seal;
use super::{PROMPT_LIFE, Shown, Told};
use crate::view::PromptView;

/// What a question is about, for the audit log.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) session: Option<SessionId>,
    pub(super) power: Power,
    pub(super) operation: &'static str,
}

impl About {
    pub(super) fn of(question: &Question) -> Self {
        Self { session: question.session().cloned(), power: question.power(), operation: question.operation().name() }
    }

    pub(super) fn same_power_and_chat(&self, other: &Self) -> bool {
        self.power == other.power && self.session == other.session
    }
}

/// One open question.
pub(super) struct Open {
    pub(super) id: PromptId,
    pub(super) key: Key,
    pub(super) link: LinkId,
    pub(super) about: About,
    pub(super) view: PromptView,
    pub(super) seal: Arc<Seal>,
    pub(super) rule: Option<CommandRule>,
    /// The folder of an attachment as the platform named it.
    pub(super) place: Option<BrowsePlace>,
    /// The folder that the person chose instead.
    pub(super) chosen: Option<BrowsePlace>,
    pub(super) painted: bool,
    pub(super) ends: tokio::time::Instant,
    pub(super) waiters: Vec<oneshot::Sender<Told>>,
}

impl Open {
    pub(super) fn new(
        id: PromptId,
        question: &Question,
        shown: Shown,
        link: LinkId,
        expires_at_ms: i64,
        waiter: oneshot::Sender<Told>,
    ) -> Self {
        let about = About::of(question);
        let place = match question.operation() {
            Operation::Session(SessionOp::Attach { place, .. }) => Some(place.clone()),
            Operation::Session(_)
            | Operation::File(_)
            | Operation::Command(_)
            | Operation::Browse(_)
            | Operation::Computer(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => None,
        };
        let view = PromptView {
            id: id.get(),
            power: about.power.name().to_owned(),
            session_id: about.session.as_ref().map(|session| session.as_str().to_owned()),
            operation: about.operation.to_owned(),
            can_choose_folder: place.is_some(),
            expires_at_ms,
            ..PromptView::default()
        };
        let mut open = Self {
            id,
            key: Key::of(question),
            link,
            about,
            view,
            seal: Arc::default(),
            rule: None,
            place,
            chosen: None,
            painted: false,
            ends: tokio::time::Instant::now() + PROMPT_LIFE,
            waiters: vec![waiter],
        };
        open.show(shown);
        open
    }

    /// Lets one more request wait for the answer. When the world is another one by now, the question shows that from here
    /// on, and its new revision is returned.
    pub(super) fn join(&mut self, waiter: oneshot::Sender<Told>, shown: Shown) -> Option<u64> {
        // Requests that are gone must not pile up.
        self.waiters.retain(|waiter| !waiter.is_closed());
        self.waiters.push(waiter);
        if self.chosen.is_some() || *self.seal == shown.seal {
            return None;
        }
        self.show(shown);
        Some(self.changed())
    }

    /// Returns what the window shows at this moment.
    pub(super) fn view(&self) -> PromptView {
        let waiting = self.waiters.iter().filter(|waiter| !waiter.is_closed()).count();
        PromptView { waiting: u32::try_from(waiting).unwrap_or(u32::MAX), ..self.view.clone() }
    }

    /// Notes that something else is shown now: it must be painted before an answer counts. Returns the revision.
    pub(super) fn changed(&mut self) -> u64 {
        self.view.revision += 1;
        self.view.unseen = false;
        self.painted = false;
        self.view.revision
    }

    fn show(&mut self, shown: Shown) {
        let facts = shown.facts;
        let cut = !facts.is_whole();
        self.view.platform = facts.platform;
        self.view.summary = facts.summary;
        self.view.details = facts.details;
        self.view.argv = facts.argv;
        self.view.diff = facts.diff;
        self.view.folder = facts.folder;
        self.view.cut = cut;
        self.view.can_allow_chat = facts.can_allow_chat && !cut;
        self.view.always = facts.always.filter(|_| !cut);
        self.seal = Arc::new(shown.seal);
        self.rule = shown.rule;
    }
}
