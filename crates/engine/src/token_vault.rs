//! The tokens in the store of secrets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drawbridge_core::WallMs;
use drawbridge_os::private;
use drawbridge_store::accounts::{self, DEFAULT};
use drawbridge_store::refresh_lock::RefreshLock;
use drawbridge_store::secrets::entries::{self, OfAccount};
use drawbridge_store::secrets::{SecretFault, SecretPlace, SecretStore};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::account::{TokenOrigin, TokenVault, Tokens, VaultFault};

/// Keeps the token pair of one account of one state folder. One turn at a time over all processes by a lock file in the
/// account's folder.
#[derive(Debug)]
pub struct SecretVault {
    secrets: Arc<dyn SecretStore>,
    state_dir: PathBuf,
    account: String,
}

impl SecretVault {
    /// Takes the store and the state folder it belongs to, for the account `default`.
    #[must_use]
    pub fn new(secrets: Arc<dyn SecretStore>, state_dir: PathBuf) -> Self {
        Self { secrets, state_dir, account: DEFAULT.to_owned() }
    }

    /// The same for the account with this id.
    #[must_use]
    pub fn of(self, account: &str) -> Self {
        Self { account: account.to_owned(), ..self }
    }

    /// Tells whether a pair is kept. Reads no more of it than it must.
    ///
    /// # Errors
    /// [`SecretFault`].
    pub fn holds_tokens(secrets: &dyn SecretStore, account: &str) -> Result<bool, SecretFault> {
        Ok(secrets.get(&entries::of(account).refresh_token)?.is_some())
    }

    fn read(&self, name: &str) -> Result<Option<SecretString>, VaultFault> {
        self.secrets.get(name).map_err(fault)
    }

    /// Lies there while a refresh token is on its way.
    fn mark(&self) -> PathBuf {
        accounts::folder(&self.state_dir, &self.account).join("refresh.started")
    }
}

impl TokenVault for SecretVault {
    fn load(&self) -> Result<Option<Tokens>, VaultFault> {
        let names = entries::of(&self.account);
        let (Some(access), Some(refresh)) = (self.read(&names.access_token)?, self.read(&names.refresh_token)?) else {
            return Ok(None);
        };
        // The times are no secret of their own, but they belong to the pair; without them the platform's word is waited for.
        let times = self.read(&names.token_times)?;
        let times: Value =
            times.and_then(|text| serde_json::from_str(text.expose_secret()).ok()).unwrap_or(Value::Null);
        let time = |name: &str| times.get(name).and_then(Value::as_i64).map(WallMs);
        let text = |name: &str| times.get(name).and_then(Value::as_str).map(str::to_owned);
        let origin = text("platform").zip(text("client_id"));
        Ok(Some(Tokens {
            access,
            refresh,
            expires_at: time("expires_at_ms"),
            refresh_expires_at: time("refresh_expires_at_ms"),
            obtained_at: time("obtained_at_ms"),
            origin: origin.map(|(platform, client_id)| TokenOrigin { platform, client_id }),
        }))
    }

    fn save(&self, tokens: &Tokens) -> Result<(), VaultFault> {
        let times = json!({
            "expires_at_ms": tokens.expires_at.map(|time| time.0),
            "refresh_expires_at_ms": tokens.refresh_expires_at.map(|time| time.0),
            "obtained_at_ms": tokens.obtained_at.map(|time| time.0),
            "platform": tokens.origin.as_ref().map(|origin| &origin.platform),
            "client_id": tokens.origin.as_ref().map(|origin| &origin.client_id),
        });
        let times = SecretString::from(times.to_string());
        let OfAccount { access_token, refresh_token, token_times } = entries::of(&self.account);
        if self.secrets.place() == SecretPlace::Keychain && self.load()?.is_some_and(|old| old.origin != tokens.origin)
        {
            // Entries are stored one by one there. A crash in between must leave no token beside the name of another platform.
            self.clear()?;
        }
        // The refresh token first: where entries are stored one by one, it is the one that must not be lost.
        self.secrets
            .set_all(&[(&refresh_token, &tokens.refresh), (&access_token, &tokens.access), (&token_times, &times)])
            .map_err(fault)
    }

    fn clear(&self) -> Result<(), VaultFault> {
        let OfAccount { access_token, refresh_token, token_times } = entries::of(&self.account);
        for name in [access_token, refresh_token, token_times] {
            self.secrets.delete(&name).map_err(fault)?;
        }
        self.note_renewal(false);
        Ok(())
    }

    fn turn(&self) -> Result<Box<dyn Send>, VaultFault> {
        let folder = accounts::make_folder(&self.state_dir, &self.account).map_err(fault)?;
        Ok(Box::new(RefreshLock::acquire(&folder).map_err(fault)?))
    }

    fn note_renewal(&self, under_way: bool) -> bool {
        let mark = self.mark();
        let before = mark.exists();
        let noted = match (under_way, before) {
            (true, _) => lay(&mark),
            (false, true) => std::fs::remove_file(&mark),
            (false, false) => Ok(()),
        };
        if let Err(error) = noted {
            tracing::debug!(%error, "it was not noted how a renewal of the sign-in goes");
        }
        before
    }
}

fn lay(mark: &Path) -> std::io::Result<()> {
    private::options().create(true).truncate(true).write(true).open(mark).map(drop)
}

fn fault(fault: impl std::fmt::Display) -> VaultFault {
    VaultFault(fault.to_string())
}
