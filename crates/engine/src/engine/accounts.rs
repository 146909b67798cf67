//! Accounts by the person's wish: adding, choosing, removing, forgetting tokens here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::Core;
use super::aside::{Job, Wait};
use super::commands::{account_fault, sentence};
use crate::accounts::ChangeFault;
use crate::handle::{CommandError, Reply};

/// While one of these lives, tokens are being taken back, and nothing may be dialled with them.
#[derive(Debug)]
pub(super) struct Leaving(Arc<AtomicUsize>);

impl Leaving {
    pub(super) fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Core {
    pub(super) fn add_account(&self, name: String, platform_url: String, client_id: Option<String>) -> Job {
        let (accounts, journal, board) = (self.accounts.clone(), self.journal.clone(), self.board.clone());
        let policy = self.overlay.managed.clone();
        Box::new(move || {
            let added = accounts.add(policy.as_ref(), &name, &platform_url, client_id.as_deref());
            let added = added.map_err(|fault| refused(&fault))?;
            journal.event(None, "POLICY_CHANGED", json!({ "account_added": added.id }));
            board.touch();
            Ok(Reply::Done)
        })
    }

    pub(super) fn use_account(&self, id: String) -> Result<Job, CommandError> {
        if self.signing_in() {
            let why = "A sign-in is under way. Finish or cancel it first, then choose the account.";
            return Err(CommandError::new("signing_in", why));
        }
        let (accounts, journal) = (self.accounts.clone(), self.journal.clone());
        let policy = self.overlay.managed.clone();
        Ok(Box::new(move || {
            let before = accounts.book.in_use();
            accounts.choose(policy.as_ref(), &id).map_err(|fault| refused(&fault))?;
            if before != id {
                journal.event(None, "POLICY_CHANGED", json!({ "account": id }));
            }
            Ok(Reply::Done)
        }))
    }

    pub(super) fn remove_account(&self, id: String) -> Job {
        let (accounts, journal, board) = (self.accounts.clone(), self.journal.clone(), self.board.clone());
        let (settings, policy) = (self.settings.clone(), self.policy.clone());
        Box::new(move || {
            let name = accounts.remove(&id).map_err(|fault| refused(&fault))?;
            settings.forget_account(name.as_deref().unwrap_or_default());
            // Written again without it. What stays is of no use to anybody, since no other account gets that name.
            if let Err(fault) = policy.change(|_| {}) {
                tracing::warn!(%fault, "what held for chats of a removed account is still in the settings");
            }
            journal.event(None, "POLICY_CHANGED", json!({ "account_removed": id }));
            board.touch();
            Ok(Reply::Done)
        })
    }

    /// Drops the tokens here alone. The links go with them.
    pub(super) async fn forget_tokens(&mut self) -> Wait {
        let leaving = Leaving::begin(&self.leaving);
        self.account.cancel_sign_in();
        self.stop_links().await;
        let (account, journal, still_signed_in) =
            (self.account.clone(), self.journal.clone(), self.signed_in.0.clone());
        let id = self.accounts.chosen.id.clone();
        Box::pin(async move {
            match account.forget().await {
                Ok(()) => {
                    journal.event(None, "POLICY_CHANGED", json!({ "tokens_forgotten": id }));
                    Ok(Reply::Done)
                }
                Err(fault) => {
                    drop(leaving);
                    let _ = still_signed_in.send(true).await;
                    Err(account_fault(fault))
                }
            }
        })
    }
}

fn refused(fault: &ChangeFault) -> CommandError {
    CommandError::new(fault.code(), sentence(&fault.to_string()))
}
