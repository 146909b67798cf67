//! What the person says of private files: in which chats contents stay here, and whether they read answers before they leave.
//!
//! A change counts at the next operation. What was described where contents may leave again is forgotten, and questions that policy would
//! not ask any more are taken back.

use drawbridge_core::model::MAX_PREVIEW_BYTES;
use drawbridge_core::{SessionId, escape_outside_text};
use drawbridge_policy::{MAX_PRIVACY_CHATS, PolicyState};
use serde_json::{Value, json};

use super::Core;
use super::commands::{Done, not_stored};
use crate::handle::{CommandError, Reply};
use crate::managed::managed;

impl Core {
    /// Says whether contents of files stay here: in a chat, or in every chat that says nothing of its own. None follows what holds for all.
    pub(super) fn set_privacy(&self, session_id: Option<&str>, on: Option<bool>) -> Done {
        let session = session_id.map(|id| self.known_or_legacy(id)).transpose()?;
        let before = self.policy.get();
        if before.ceilings.private && on != Some(true) {
            let by = escape_outside_text(&before.ceilings.by);
            return Err(managed(&format!("{by} keeps contents of files on this computer")));
        }
        match session {
            Some(session) => self.set_chat_privacy(&before, &session, on),
            None => {
                let on =
                    on.ok_or_else(|| CommandError::new("unknown_mode", "For all chats it is either on or off."))?;
                let details = json!({ "private": on });
                self.change_privacy(on, None, details, move |state| state.privacy.all = on)
            }
        }
    }

    fn set_chat_privacy(&self, before: &PolicyState, session: &SessionId, on: Option<bool>) -> Done {
        let chats = &before.privacy.chats;
        if on.is_some() && !chats.contains_key(session) && chats.len() >= MAX_PRIVACY_CHATS {
            return Err(CommandError::new(
                "too_many_rules",
                format!(
                    "{MAX_PRIVACY_CHATS} chats say for themselves already whether contents stay here, so nothing has changed. Keep contents in all chats instead, or let chats follow that."
                ),
            ));
        }
        let details = json!({ "chat": session.as_str(), "private": on });
        let stricter = on.unwrap_or(before.privacy.all);
        let chat = session.clone();
        self.change_privacy(stricter, Some(session), details, move |state| {
            match on {
                Some(on) => state.privacy.chats.insert(chat.clone(), on),
                None => state.privacy.chats.remove(&chat),
            };
        })
    }

    /// Says whether answers about private files are read by the person before they leave.
    pub(super) fn set_privacy_review(&self, on: bool) -> Done {
        let details = json!({ "review_answers": on });
        self.change_privacy(on, None, details, move |state| state.privacy.review = on)
    }

    /// Says how many first bytes may leave with the description of a private file.
    pub(super) fn set_privacy_preview(&self, bytes: u16) -> Done {
        if bytes > MAX_PREVIEW_BYTES {
            let message =
                format!("At most {MAX_PREVIEW_BYTES} first bytes of a private file may leave, so nothing has changed.");
            return Err(CommandError::new("too_many_bytes", message));
        }
        let before = self.policy.get();
        if bytes > 0 && before.ceilings.no_preview {
            let by = escape_outside_text(&before.ceilings.by);
            return Err(managed(&format!("{by} lets no first bytes of private files leave this computer")));
        }
        let details = json!({ "preview_bytes": bytes });
        let stricter = bytes <= before.preview_bytes();
        self.change_privacy(stricter, None, details, move |state| state.privacy.preview_bytes = Some(bytes))
    }

    /// Changes what holds. In the strict direction it counts even where it cannot be stored.
    fn change_privacy(
        &self,
        stricter: bool,
        session: Option<&SessionId>,
        details: Value,
        edit: impl Fn(&mut PolicyState),
    ) -> Done {
        let stored = if stricter { self.policy.tighten(edit) } else { self.policy.change(edit) };
        if !stricter && let Err(why) = stored {
            return Err(not_stored(why));
        }
        let now = self.policy.get();
        self.models.privacy.forget_stubs_of_open(|session| now.is_private(Some(session)));
        self.broker.withdraw(|operation, session| match operation {
            "FILE_READ" => now.is_private(session),
            "FILE_READ_STUB" | "LOCAL_LLM_TURN" => !now.is_private(session),
            _ => false,
        });
        self.journal.event(session, "POLICY_CHANGED", details);
        self.board.touch();
        match stored {
            Ok(_) => Ok(Reply::Done),
            Err(why) => Err(CommandError::new(
                "not_stored",
                format!(
                    "It holds now, but it could not be stored ({why}), so it ends when Drawbridge ends. Make room on the disk and try again."
                ),
            )),
        }
    }
}
