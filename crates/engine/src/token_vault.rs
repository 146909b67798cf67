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
        if self.secrets.place() == SecretPlace::Keychain && self.load()?.is_none_or(|old| old.origin != tokens.origin) {
            // Entries are stored one by one there. A crash in between must leave no token beside the name of another platform,
            // and none without a name, which would count for every platform: so nothing first, then the name.
            self.clear()?;
            return self
                .secrets
                .set_all(&[(&token_times, &times), (&refresh_token, &tokens.refresh), (&access_token, &tokens.access)])
                .map_err(fault);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;

    /// A keychain that takes so many changes and then is gone, as when the program is killed.
    #[derive(Debug)]
    struct Chain {
        entries: Mutex<BTreeMap<String, String>>,
        left: Mutex<usize>,
    }

    impl Chain {
        fn change(&self, edit: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<(), SecretFault> {
            let mut left = self.left.lock().unwrap();
            let gone = || SecretFault::Io { path: PathBuf::from("chain"), why: "gone".to_owned() };
            *left = left.checked_sub(1).ok_or_else(gone)?;
            edit(&mut self.entries.lock().unwrap());
            Ok(())
        }
    }

    impl SecretStore for Chain {
        fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
            Ok(self.entries.lock().unwrap().get(name).cloned().map(SecretString::from))
        }

        fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
            values.iter().try_for_each(|(name, value)| {
                self.change(|entries| drop(entries.insert((*name).to_owned(), value.expose_secret().to_owned())))
            })
        }

        fn delete(&self, name: &str) -> Result<(), SecretFault> {
            self.change(|entries| drop(entries.remove(name)))
        }

        fn place(&self) -> SecretPlace {
            SecretPlace::Keychain
        }
    }

    fn pair(of: &str) -> Tokens {
        Tokens {
            access: SecretString::from(format!("access {of}")),
            refresh: SecretString::from(format!("refresh {of}")),
            expires_at: None,
            refresh_expires_at: None,
            obtained_at: Some(WallMs(1)),
            origin: Some(TokenOrigin { platform: format!("https://{of}.example"), client_id: "c".to_owned() }),
        }
    }

    #[test]
    fn a_save_that_is_cut_off_never_leaves_a_token_of_one_platform_for_another() {
        for before in [None, Some("one")] {
            for most in 0..10 {
                let dir = tempfile::TempDir::new().unwrap();
                let chain = Arc::new(Chain { entries: Mutex::default(), left: Mutex::new(100) });
                let vault = SecretVault::new(chain.clone(), dir.path().to_owned());
                if let Some(one) = before {
                    vault.save(&pair(one)).unwrap();
                }

                *chain.left.lock().unwrap() = most;
                let whole = vault.save(&pair("two")).is_ok();

                let Some(kept) = vault.load().unwrap() else { continue };
                let origin = kept.origin.unwrap_or_else(|| panic!("a pair without a name, cut off after {most}"));
                let of = if origin.platform == "https://two.example" { "two" } else { "one" };
                assert_eq!(kept.access.expose_secret(), format!("access {of}"), "{before:?}, {most}");
                assert_eq!(kept.refresh.expose_secret(), format!("refresh {of}"), "{before:?}, {most}");
                assert!(!whole || of == "two");
            }
        }
    }
}
