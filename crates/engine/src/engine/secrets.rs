//! Where the secrets of a running engine rest, and moving them to another place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_core::escape_outside_text;
use drawbridge_os::keychain::KeychainState;
use drawbridge_store::secrets::{
    MIN_PASSPHRASE_CHARS, MoveFault, Moved, SecretPlace, SecretStore as _, Secrets, entries,
};
use serde_json::json;

use super::Core;
use super::aside::Job;
use crate::accounts::Accounts;
use crate::board::Board;
use crate::handle::{CommandError, Passphrase, Reply};
use crate::journal::Journal;
use crate::view::{Notice, SecretsView};

/// The place for secrets as the picture shows it. Asking the store itself would wait for a move that runs.
pub(super) struct Place {
    secrets: Arc<Secrets>,
    accounts: Arc<Accounts>,
    shown: Mutex<SecretPlace>,
    keychain_ready: AtomicBool,
}

impl Place {
    pub(super) fn new(secrets: Arc<Secrets>, accounts: Arc<Accounts>) -> Self {
        let shown = Mutex::new(secrets.place());
        Self { secrets, accounts, shown, keychain_ready: AtomicBool::new(false) }
    }

    pub(super) fn view(&self) -> SecretsView {
        let (place, to) = match *self.shown.lock().unwrap_or_else(PoisonError::into_inner) {
            SecretPlace::Keychain => (KEYCHAIN, Some(FILE)),
            SecretPlace::File if self.keychain_ready.load(Ordering::Acquire) => (FILE, Some(KEYCHAIN)),
            SecretPlace::File => (FILE, None),
        };
        SecretsView { place: place.to_owned(), movable_to: to.map(str::to_owned) }
    }

    /// Takes away what a move that broke off left, and where a window can offer a move, looks whether the keychain could be
    /// moved to. Blocks for seconds.
    pub(super) fn look_around(&self, board: &Board, has_window: bool) {
        if let Some(why) = self.secrets.tidy(&self.names()) {
            board.add_notice(left_behind(&why));
        }
        if has_window && self.secrets.place() == SecretPlace::File {
            self.keychain_ready.store(self.secrets.keychain_state() == KeychainState::Ready, Ordering::Release);
            board.touch();
        }
    }

    fn names(&self) -> Vec<String> {
        let ids = self.accounts.book.ids();
        entries::all(ids.iter().map(String::as_str))
    }

    fn moved_to(&self, place: SecretPlace) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = place;
        // It was just in use.
        self.keychain_ready.store(true, Ordering::Release);
    }
}

const KEYCHAIN: &str = "keychain";
const FILE: &str = "file";

impl Core {
    /// Moves all secrets. What runs keeps running; whoever needs a secret meanwhile waits.
    pub(super) fn move_secrets(&self, to: &str, passphrase: Option<Passphrase>) -> Result<Job, CommandError> {
        if self.accounts.book.trouble().is_some() {
            let why = "The list of accounts cannot be read, so nobody knows which secrets there are. Mend it first.";
            return Err(CommandError::new("accounts_broken", why));
        }
        let to = match to {
            KEYCHAIN => SecretPlace::Keychain,
            FILE => SecretPlace::File,
            other => {
                let why = format!("There is no place named {}.", escape_outside_text(other));
                return Err(CommandError::new("unknown_place", why));
            }
        };
        let (place, board, journal) = (self.secrets.clone(), self.board.clone(), self.journal.clone());
        Ok(Box::new(move || {
            let moved = match to {
                SecretPlace::Keychain => place.secrets.move_to_keychain(&place.names()),
                SecretPlace::File => {
                    let Some(passphrase) = passphrase.filter(|passphrase| !passphrase.is_empty()) else {
                        let why = "A new file needs a passphrase. Choose one first.";
                        return Err(CommandError::new("no_passphrase", why));
                    };
                    place.secrets.move_to_file(passphrase.into_secret(), &place.names())
                }
            };
            tell(&moved.map_err(|fault| refused(&fault))?, to, &place, &board, &journal);
            Ok(Reply::Done)
        }))
    }
}

fn tell(moved: &Moved, to: SecretPlace, place: &Place, board: &Board, journal: &Journal) {
    place.moved_to(to);
    let name = if to == SecretPlace::File { FILE } else { KEYCHAIN };
    journal.event(None, "POLICY_CHANGED", json!({ "secrets": name }));
    if let Some(why) = &moved.left {
        board.add_notice(left_behind(why));
    }
}

fn refused(fault: &MoveFault) -> CommandError {
    let code = match fault {
        MoveFault::There => "already_there",
        MoveFault::ShortPassphrase => {
            let why = format!("The passphrase has fewer than {MIN_PASSPHRASE_CHARS} characters. Choose a longer one.");
            return CommandError::new("short_passphrase", why);
        }
        MoveFault::NoKeychain { .. } => "no_keychain",
        MoveFault::Store(_) | MoveFault::Different | MoveFault::Mark(_) => "not_moved",
    };
    CommandError::new(code, super::commands::sentence(&fault.to_string()))
}

fn left_behind(why: &str) -> Notice {
    Notice {
        code: "secrets_left".to_owned(),
        message: format!(
            "Your secrets were moved, but the place where they were before still holds some of them ({}). Drawbridge does not use those any more, and takes them away at its next start.",
            escape_outside_text(why)
        ),
    }
}
