//! The local model and private files as the engine sees them: which servers may be asked, what is offered to a chat, and what a person
//! sees of it. Decides nothing: `policy` does.

use std::sync::Arc;

use drawbridge_caps::model::Model;
use drawbridge_caps::privacy::Privacy;
use drawbridge_core::{Clock, Power, SessionId};

use crate::board::Board;
use crate::policy_cell::PolicyCell;
use crate::view::{ChatPrivacyView, ModelsView};

/// The local model. One for the whole engine.
pub(crate) struct Models {
    pub(crate) model: Model,
    pub(crate) privacy: Privacy,
    policy: Arc<PolicyCell>,
    #[expect(dead_code, reason = "not built yet")]
    board: Arc<Board>,
}

impl Models {
    /// Asks nobody yet. `configured` is the server that the configuration names.
    pub(crate) fn new(
        _configured: &str,
        policy: Arc<PolicyCell>,
        board: Arc<Board>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let model = Model::new(clock.clone());
        Arc::new(Self { privacy: Privacy::new(model.clone(), clock), model, policy, board })
    }

    /// Looks which models there are, if the power is on in this chat. Waits a moment for it and no longer.
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub(crate) async fn look(self: &Arc<Self>, _session: Option<&SessionId>) {}

    /// Returns the models that HELLO offers to a chat, or on the control link.
    pub(crate) fn offer(&self, session: Option<&SessionId>) -> Vec<String> {
        if self.policy.get().offers_in(Power::LocalModel, session) { self.model.offered() } else { Vec::new() }
    }

    /// Waits until other models can be asked than the last HELLO said.
    pub(crate) async fn changed(&self) {
        std::future::pending::<()>().await;
    }

    /// Returns what the window shows.
    pub(crate) fn view(&self) -> ModelsView {
        let state = self.policy.get();
        ModelsView { private_all: state.privacy.all, review: state.privacy.review, ..ModelsView::default() }
    }

    /// Returns what the window shows of the privacy of a chat.
    pub(crate) fn chat_view(&self, session: &SessionId) -> ChatPrivacyView {
        let state = self.policy.get();
        ChatPrivacyView {
            on: state.is_private(Some(session)),
            own: state.privacy.chats.get(session).copied(),
            asked: Vec::new(),
        }
    }
}
