//! Where secrets are kept: the system's keychain, or a file encrypted under a passphrase (spec 2).
//!
//! There is no third place. Nothing is ever kept in clear, and a key that cannot be read is never replaced.

mod file;
mod moving;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drawbridge_os::folders::Folders;
use drawbridge_os::keychain::{Keychain, KeychainFault, KeychainState};
use drawbridge_os::private;
use secrecy::{ExposeSecret as _, SecretString};

pub use file::SecretFile;
pub use moving::{KeychainStore, MIN_PASSPHRASE_CHARS, MoveFault, Moved, Secrets, check_passphrase};

use crate::audit::AuditKey;

/// Names of entries. Tokens belong to one account; the audit key and the head belong to the state folder.
pub mod entries {
    /// The platform's access token, of the account named by the configuration.
    pub const ACCESS_TOKEN: &str = "default/access_token";
    /// The platform's refresh token, of the account named by the configuration.
    pub const REFRESH_TOKEN: &str = "default/refresh_token";
    /// When that pair was got, when it ends and whom it is for, as JSON.
    pub const TOKEN_TIMES: &str = "default/token_times";
    /// The audit key, as 64 hex digits.
    pub const AUDIT_KEY: &str = "default/audit_key";
    /// The copy of the audit log's head.
    pub const AUDIT_HEAD: &str = "default/audit_head";
    /// Keys that could not be used and that the person set aside, one a line.
    pub const AUDIT_KEY_ASIDE: &str = "default/audit_key_aside";

    /// Keys of model servers, as JSON; see `model_keys`.
    pub const MODEL_KEYS: &str = "default/model_keys";

    /// Names of the entries of one account.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct OfAccount {
        /// The platform's access token.
        pub access_token: String,
        /// The platform's refresh token.
        pub refresh_token: String,
        /// When the pair was got, when it ends and whom it is for, as JSON.
        pub token_times: String,
    }

    /// Names the entries of an account by its id; `default` is that of the configuration.
    #[must_use]
    pub fn of(account: &str) -> OfAccount {
        OfAccount {
            access_token: format!("{account}/access_token"),
            refresh_token: format!("{account}/refresh_token"),
            token_times: format!("{account}/token_times"),
        }
    }

    /// Names everything that a state folder with these further accounts can keep. See `accounts::AccountBook::ids`.
    #[must_use]
    pub fn all<'a>(accounts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut names: Vec<String> =
            [AUDIT_KEY, AUDIT_HEAD, AUDIT_KEY_ASIDE, MODEL_KEYS].into_iter().map(str::to_owned).collect();
        for account in std::iter::once("default").chain(accounts.into_iter().filter(|id| *id != "default")) {
            let OfAccount { access_token, refresh_token, token_times } = of(account);
            names.extend([refresh_token, access_token, token_times]);
        }
        names
    }
}

/// Where a store keeps its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPlace {
    /// The system's keychain.
    Keychain,
    /// The encrypted file.
    File,
}

/// Why a secret could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SecretFault {
    /// The keychain.
    #[error(transparent)]
    Keychain(#[from] KeychainFault),
    /// The passphrase does not open the file, or the file was changed.
    #[error("the passphrase does not open {}, or the file was changed; the file stays as it is", .0.display())]
    WrongPassphrase(PathBuf),
    /// A newer Drawbridge wrote the file.
    #[error("the secret file {} was written by a newer Drawbridge (version {version} of the file); it stays as it is, so start that Drawbridge again", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// Another process moved the secrets into the file.
    #[error("the secrets were moved to {} meanwhile; start again to use them there", .0.display())]
    Moved(PathBuf),
    /// The file is no secret file.
    #[error("the secret file {} is damaged ({why}); it stays as it is", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The file cannot be read or written.
    #[error("the secret file {} cannot be used: {why}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
}

/// Named secrets. Calls may block for seconds: never call from an async thread.
pub trait SecretStore: Send + Sync + std::fmt::Debug {
    /// Reads an entry as it is now, also when another process wrote it.
    ///
    /// # Errors
    /// [`SecretFault`]. A missing entry is no error.
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault>;
    /// Writes an entry durably.
    ///
    /// # Errors
    /// [`SecretFault`]; the old value is still there then.
    fn set(&self, name: &str, value: &SecretString) -> Result<(), SecretFault> {
        self.set_all(&[(name, value)])
    }
    /// Writes several entries; in the file in one step. In the keychain one after the other, a refresh token first: the
    /// old one is spent already, and an access token can be got again.
    ///
    /// # Errors
    /// [`SecretFault`].
    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault>;
    /// Removes an entry; a missing one is fine.
    ///
    /// # Errors
    /// [`SecretFault`].
    fn delete(&self, name: &str) -> Result<(), SecretFault>;
    /// Tells where the entries are.
    fn place(&self) -> SecretPlace;
    /// False where each write derives a key, so that writing often is no good idea.
    fn writes_are_cheap(&self) -> bool {
        self.place() == SecretPlace::Keychain
    }
}

impl SecretStore for Keychain {
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
        Ok(Self::get(self, name)?.map(SecretString::from))
    }

    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
        refresh_first(values)
            .into_iter()
            .try_for_each(|(name, value)| Ok(Self::set(self, name, value.expose_secret())?))
    }

    fn delete(&self, name: &str) -> Result<(), SecretFault> {
        Ok(Self::delete(self, name)?)
    }

    fn place(&self) -> SecretPlace {
        SecretPlace::Keychain
    }
}

fn refresh_first<'a, T: Copy>(values: &[(&'a str, T)]) -> Vec<(&'a str, T)> {
    let mut ordered = values.to_vec();
    ordered.sort_by_key(|(name, _)| !name.ends_with("/refresh_token"));
    ordered
}

/// There is no place for secrets: the command line ends with 78.
#[derive(Debug, thiserror::Error)]
pub enum NoPlaceForSecrets {
    /// No keychain, no passphrase.
    #[error(
        "there is no place to keep secrets: {keychain}. Unlock or install a keychain, or set DRAWBRIDGE_KEYCHAIN_PASSPHRASE to use an encrypted file"
    )]
    Nowhere {
        /// What is wrong with the keychain.
        keychain: String,
        /// It is there and wants the person first.
        locked: bool,
    },
    /// The encrypted file is there and its passphrase is not.
    #[error(
        "the secrets are in {}; set DRAWBRIDGE_KEYCHAIN_PASSPHRASE to open it, or move that file and the audit log away to begin anew with this computer's keychain", .0.display()
    )]
    PassphraseMissing(PathBuf),
    /// The encrypted file cannot be opened.
    #[error(transparent)]
    File(#[from] SecretFault),
}

/// Reads the passphrase from the environment: `DRAWBRIDGE_KEYCHAIN_PASSPHRASE`, or the name another client uses.
#[must_use]
pub fn passphrase_from_env() -> Option<SecretString> {
    ["DRAWBRIDGE_KEYCHAIN_PASSPHRASE", "AUTOGPT_SHIM_KEYCHAIN_PASSPHRASE"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
        .map(SecretString::from)
}

/// Name of this program's entries in the keychain.
const KEYCHAIN_SERVICE: &str = "drawbridge";
/// Under this name nothing is ever kept.
const NO_SERVICE: &str = "drawbridge-nothing";

/// Returns the keychain entries that belong to a state folder. The system's own state folder uses the plain name. Every other
/// one has a name of its own, kept in the folder, so that two folders of one person never share a sign-in or an
/// audit key, and a copied folder goes on with its own. A folder that is not there yet has no entries, and looking makes nothing:
/// make the folder before anything is stored.
///
/// # Errors
/// When the name cannot be kept or what is kept is no name.
pub fn keychain_of(state_dir: &Path) -> std::io::Result<Keychain> {
    let own = Folders::resolve(None, None).is_ok_and(|system| system.state == state_dir);
    if own {
        return Ok(Keychain::for_service(KEYCHAIN_SERVICE));
    }
    if !state_dir.exists() {
        return Ok(Keychain::for_service(NO_SERVICE));
    }
    let path = state_dir.join("keychain-name");
    let read = || Ok::<_, std::io::Error>(String::from_utf8_lossy(&private::read(&path)?).trim().to_owned());
    let name = match read() {
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {
            let mut random = [0_u8; 8];
            getrandom::fill(&mut random).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
            let name = drawbridge_core::hex::encode(random);
            // Another process may make it at this very moment, and has its secrets under its name then.
            private::create_once(&path, name.as_bytes())?;
            read()?
        }
        read => read?,
    };
    if name.len() != 16 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let why = format!("{} holds no name of keychain entries; put the file back as it was", path.display());
        return Err(std::io::Error::other(why));
    }
    Ok(Keychain::for_service(&format!("{KEYCHAIN_SERVICE}-{name}")))
}

/// Opens the place for secrets. A file that is there wins, since it belongs to this very state folder; without one the
/// keychain is used if it is ready, else a new file under the passphrase. Blocks for 3 s at most, and for one key
/// derivation.
///
/// A file without its passphrase is refused even when a keychain is ready and holds entries of ours: those belong to
/// another state folder or another time. Their audit key does not fit this folder's log, and their refresh token may be
/// spent, which would sign the person out everywhere.
///
/// # Errors
/// [`NoPlaceForSecrets`]. A wrong passphrase leaves the file untouched.
pub fn open_secrets(
    state_dir: &Path,
    passphrase: Option<SecretString>,
    keychain: &Keychain,
) -> Result<Arc<Secrets>, NoPlaceForSecrets> {
    let path = SecretFile::path(state_dir);
    let in_file = |passphrase| {
        let file = SecretFile::open(state_dir, passphrase)?;
        Ok(Arc::new(Secrets::in_file(state_dir, Arc::new(keychain.clone()), file)))
    };
    // Whatever stands there, also a link that leads nowhere: nothing is put in its place.
    let is_there = match path.symlink_metadata() {
        Ok(_) => true,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => false,
        Err(err) => return Err(SecretFault::Io { path, why: err.to_string() }.into()),
    };
    if is_there {
        let passphrase = passphrase.ok_or_else(|| NoPlaceForSecrets::PassphraseMissing(path.clone()))?;
        return in_file(passphrase);
    }
    let (why, locked) = match keychain.probe() {
        KeychainState::Ready => return Ok(Arc::new(Secrets::in_keychain(state_dir, Arc::new(keychain.clone())))),
        KeychainState::Locked => ("the keychain of this computer is locked".to_owned(), true),
        KeychainState::None { why } => (why, false),
    };
    match passphrase {
        Some(passphrase) => in_file(passphrase),
        None => Err(NoPlaceForSecrets::Nowhere { keychain: why, locked }),
    }
}

/// Why there is no audit key.
#[derive(Debug, thiserror::Error)]
pub enum AuditKeyFault {
    /// The store.
    #[error(transparent)]
    Store(#[from] SecretFault),
    /// What is stored is no key. It is never replaced: the log would be orphaned.
    #[error("the stored audit key is damaged; it is not replaced, since the old log could never be checked again")]
    Damaged,
    /// There is a log and no key to it.
    #[error(
        "there is an audit log but no key to it in the {0}; open the place that held the key, or move the old log away"
    )]
    MissingBesideLog(&'static str),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// Reads the audit key, and makes one when there is neither a key nor a log.
///
/// # Errors
/// [`AuditKeyFault`].
pub fn audit_key(store: &dyn SecretStore, log_exists: bool) -> Result<AuditKey, AuditKeyFault> {
    if let Some(text) = store.get(entries::AUDIT_KEY)? {
        return AuditKey::from_hex(text.expose_secret()).ok_or(AuditKeyFault::Damaged);
    }
    if log_exists {
        return Err(AuditKeyFault::MissingBesideLog(match store.place() {
            SecretPlace::Keychain => "keychain",
            SecretPlace::File => "secret file",
        }));
    }
    let mut bytes = zeroize::Zeroizing::new([0_u8; 32]);
    getrandom::fill(&mut bytes[..]).map_err(|_| AuditKeyFault::NoRandom)?;
    let key = AuditKey::new(*bytes);
    store.set(entries::AUDIT_KEY, &SecretString::from(key.to_hex().as_str()))?;
    Ok(key)
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
