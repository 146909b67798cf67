//! The tokens in the store of secrets.

use std::path::PathBuf;
use std::sync::Arc;

use drawbridge_core::WallMs;
use drawbridge_store::refresh_lock::RefreshLock;
use drawbridge_store::secrets::{SecretStore, entries};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::account::{TokenVault, Tokens, VaultFault};

/// Keeps the token pair of one state folder. One turn at a time over all processes by a lock file in that folder.
#[derive(Debug)]
pub struct SecretVault {
    secrets: Arc<dyn SecretStore>,
    state_dir: PathBuf,
}

impl SecretVault {
    /// Takes the store and the state folder it belongs to.
    #[must_use]
    pub fn new(secrets: Arc<dyn SecretStore>, state_dir: PathBuf) -> Self {
        Self { secrets, state_dir }
    }

    fn read(&self, name: &str) -> Result<Option<SecretString>, VaultFault> {
        self.secrets.get(name).map_err(fault)
    }
}

impl TokenVault for SecretVault {
    fn load(&self) -> Result<Option<Tokens>, VaultFault> {
        let (Some(access), Some(refresh)) = (self.read(entries::ACCESS_TOKEN)?, self.read(entries::REFRESH_TOKEN)?)
        else {
            return Ok(None);
        };
        // The times are no secret of their own, but they belong to the pair; without them the platform's word is waited for.
        let times = self.read(entries::TOKEN_TIMES)?;
        let times: Value =
            times.and_then(|text| serde_json::from_str(text.expose_secret()).ok()).unwrap_or(Value::Null);
        let time = |name: &str| times.get(name).and_then(Value::as_i64).map(WallMs);
        Ok(Some(Tokens { access, refresh, expires_at: time("expires_at_ms"), obtained_at: time("obtained_at_ms") }))
    }

    fn save(&self, tokens: &Tokens) -> Result<(), VaultFault> {
        let times = json!({
            "expires_at_ms": tokens.expires_at.map(|time| time.0),
            "obtained_at_ms": tokens.obtained_at.map(|time| time.0),
        });
        let times = SecretString::from(times.to_string());
        // The refresh token first: where entries are stored one by one, it is the one that must not be lost.
        self.secrets
            .set_all(&[
                (entries::REFRESH_TOKEN, &tokens.refresh),
                (entries::ACCESS_TOKEN, &tokens.access),
                (entries::TOKEN_TIMES, &times),
            ])
            .map_err(fault)
    }

    fn clear(&self) -> Result<(), VaultFault> {
        for name in [entries::ACCESS_TOKEN, entries::REFRESH_TOKEN, entries::TOKEN_TIMES] {
            self.secrets.delete(name).map_err(fault)?;
        }
        Ok(())
    }

    fn turn(&self) -> Result<Box<dyn Send>, VaultFault> {
        Ok(Box::new(RefreshLock::acquire(&self.state_dir).map_err(fault)?))
    }
}

fn fault(fault: impl std::fmt::Display) -> VaultFault {
    VaultFault(fault.to_string())
}
