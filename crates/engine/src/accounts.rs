//! Which account a run uses, and how accounts come and go. The list itself is in `drawbridge_store::accounts`.
//!
//! Accounts share the person's powers, their rules for commands, the audit log and the undo store. Everything that a platform
//! could use is kept apart: tokens, the turn to refresh them, attached folders, the key that signs grants, and what was
//! allowed or forbidden for single chats. So it is for the account `default` when the configuration names another platform. The
//! undo store is for the person alone: no platform can take anything back.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_policy::GrantKey;
use drawbridge_store::accounts::{self, AccountBook, AccountsFault, DEFAULT, StoredAccount};
use drawbridge_store::bindings::{Bindings, BindingsFault};
use drawbridge_store::config::{Loaded, Origin};
use drawbridge_store::managed::Managed;
use drawbridge_store::secrets::SecretStore;

use crate::account::{PlatformUrl, PlatformUrlFault, TokenVault as _};
use crate::managed::{PlatformNotAllowed, check_platform};
use crate::token_vault::SecretVault;
use crate::view::AccountRow;

/// Why this run uses the account of the configuration, whatever was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// A flag or the environment names the platform.
    Run,
    /// The platform is the practice platform inside the program.
    Practice,
    /// An organisation has fixed the platform.
    Organisation,
}

impl Fixed {
    /// Tells what fixes the platform of a configuration, if something does.
    #[must_use]
    pub fn of(loaded: &Loaded) -> Option<Self> {
        if loaded.managed.as_ref().is_some_and(|policy| policy.accounts_fixed) {
            return Some(Self::Organisation);
        }
        match loaded.origins.get("platform_url") {
            Some(Origin::Flag | Origin::Env) => Some(Self::Run),
            Some(Origin::Managed) => Some(Self::Organisation),
            Some(Origin::Default | Origin::File) | None => None,
        }
    }

    /// Returns the stable name, for the page.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Practice => "practice",
            Self::Organisation => "organisation",
        }
    }

    /// Says it to the person.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Run => {
                "a flag or the environment names the platform of this run, so no other account can be used; start Drawbridge without it"
            }
            Self::Practice => "this is a trial on the practice platform; end the trial to use another account",
            Self::Organisation => {
                "an organisation has fixed the platform on this computer, so no other account can be used"
            }
        }
    }
}

/// The account that the configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// Base of its addresses.
    pub platform_url: String,
    /// Its OAuth client id.
    pub client_id: String,
}

/// An account with everything that a run needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Its id.
    pub id: String,
    /// The person's name for it.
    pub name: String,
    /// Its platform.
    pub platform: PlatformUrl,
    /// The OAuth client id.
    pub client_id: String,
    /// Tells its grants from those of every other account; none for `default`, whose grants are older than accounts, at the
    /// first platform that it was used with.
    key: Option<String>,
    /// Names the folder of its chats.
    place: String,
}

impl Chosen {
    /// Takes the account that a start uses.
    ///
    /// # Errors
    /// [`PlatformUrlFault`] when its address cannot be used.
    pub fn of_start(
        book: &AccountBook,
        configured: &Configured,
        fixed: Option<Fixed>,
    ) -> Result<Self, PlatformUrlFault> {
        let id = if fixed.is_some() { DEFAULT.to_owned() } else { book.in_use() };
        let chosen = Self::of(book, &id, configured)?;
        // A trial has a state folder of its own, and its platform comes back on any port.
        if fixed == Some(Fixed::Practice) {
            return Ok(Self { key: None, place: DEFAULT.to_owned(), ..chosen });
        }
        Ok(chosen)
    }

    /// Notes at the first use of `default` whose chats lie in the state folder from now on, and returns the account as it is
    /// then. Tokens that are kept already tell better than the configuration, which may have changed since. Blocks.
    ///
    /// # Errors
    /// The fault of the file system: without the note nothing could be told apart later.
    pub(crate) fn settled(
        self,
        book: &AccountBook,
        fixed: Option<Fixed>,
        secrets: &Arc<dyn SecretStore>,
        state_dir: &Path,
    ) -> std::io::Result<Self> {
        if self.id != DEFAULT || fixed == Some(Fixed::Practice) || !book.default_is_new() {
            return Ok(self);
        }
        let kept = self.vault(secrets.clone(), state_dir).load().ok().flatten().and_then(|tokens| tokens.origin);
        let (platform, client_id) = match &kept {
            Some(origin) => (origin.platform.as_str(), origin.client_id.as_str()),
            None => (self.platform.shown(), self.client_id.as_str()),
        };
        book.note_first(platform, client_id)?;
        Ok(Self::default_at(book, self.platform, self.client_id))
    }

    fn default_at(book: &AccountBook, platform: PlatformUrl, client_id: String) -> Self {
        let key = book.default_apart(platform.shown(), &client_id);
        let place = key.as_deref().map_or_else(|| DEFAULT.to_owned(), accounts::apart);
        Self { id: DEFAULT.to_owned(), name: DEFAULT.to_owned(), platform, client_id, key, place }
    }

    /// Takes one account by its id; `default` for an unknown one.
    ///
    /// # Errors
    /// [`PlatformUrlFault`] when its address cannot be used.
    pub fn of(book: &AccountBook, id: &str, configured: &Configured) -> Result<Self, PlatformUrlFault> {
        match book.get(id) {
            Some(StoredAccount { id, name, platform_url, client_id, key }) => {
                let (platform, place) = (PlatformUrl::parse(&platform_url)?, id.clone());
                Ok(Self { id, name, platform, client_id, key: Some(key), place })
            }
            None => {
                let platform = PlatformUrl::parse(&configured.platform_url)?;
                Ok(Self::default_at(book, platform, configured.client_id.clone()))
            }
        }
    }

    /// Derives the key that signs its grants. Address and client id are part of it: an account whose entry was changed by
    /// hand has no grants.
    #[must_use]
    pub fn grant_key(&self, audit_key: &[u8; 32]) -> GrantKey {
        match &self.key {
            None => GrantKey::derive(audit_key),
            Some(key) => {
                let of = format!("{key}\n{}\n{}", self.platform.shown(), self.client_id);
                GrantKey::derive_for(audit_key, &of)
            }
        }
    }

    /// Names what holds for its chats in the settings: never the same for two accounts, also not one after the other.
    #[must_use]
    pub fn settings_name(&self) -> &str {
        self.key.as_deref().unwrap_or(DEFAULT)
    }

    /// Opens its attached folders.
    ///
    /// # Errors
    /// [`BindingsFault`].
    pub fn bindings(&self, state_dir: &Path) -> Result<Bindings, BindingsFault> {
        let folder = accounts::make_folder(state_dir, &self.place)
            .map_err(|error| BindingsFault::Io { path: self.folder(state_dir), error })?;
        Bindings::open(&folder)
    }

    /// Returns the folder of its attached folders. It need not be there.
    #[must_use]
    pub fn folder(&self, state_dir: &Path) -> PathBuf {
        accounts::folder(state_dir, &self.place)
    }

    /// Returns where its tokens rest.
    #[must_use]
    pub fn vault(&self, secrets: Arc<dyn SecretStore>, state_dir: &Path) -> SecretVault {
        SecretVault::new(secrets, state_dir.to_owned()).of(&self.id)
    }
}

/// Why an account was not added, chosen or removed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeFault {
    /// The platform's address.
    #[error(transparent)]
    Platform(#[from] PlatformUrlFault),
    /// An organisation does not allow the platform.
    #[error(transparent)]
    NotAllowed(#[from] PlatformNotAllowed),
    /// The list of accounts.
    #[error(transparent)]
    List(#[from] AccountsFault),
    /// The platform of this run is fixed.
    #[error("{}", .0.why())]
    Fixed(Fixed),
    /// What is kept for the account could not be dropped; the account is still there.
    #[error("what is kept for the account could not be dropped ({0}), so it stays; try again")]
    Dropping(String),
}

impl ChangeFault {
    /// Returns the stable name, for the page: it tells which field is concerned.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Platform(PlatformUrlFault::Forbidden(_)) => "account_platform_plain",
            Self::Platform(PlatformUrlFault::Unusable(_)) | Self::List(AccountsFault::Address) => "account_platform",
            Self::NotAllowed(_) => "account_platform_managed",
            Self::List(AccountsFault::Name(_)) => "account_name",
            Self::List(AccountsFault::NameTaken) => "account_name_taken",
            Self::List(AccountsFault::Client) => "account_client",
            Self::List(AccountsFault::TooMany) => "too_many_accounts",
            Self::List(AccountsFault::Unknown(_)) => "unknown_account",
            Self::List(AccountsFault::Needed(_)) => "account_needed",
            Self::List(AccountsFault::Broken { .. }) => "accounts_broken",
            Self::List(AccountsFault::Io { .. } | AccountsFault::NoRandom) | Self::Dropping(_) => "not_stored",
            Self::Fixed(_) => "account_fixed",
        }
    }
}

/// Opens the list of accounts of a state folder.
#[must_use]
pub fn open_book(state_dir: &Path) -> AccountBook {
    AccountBook::open(state_dir, &|url| PlatformUrl::parse(url).map(drop).map_err(|fault| fault.to_string()))
}

/// Adds an account. Blocks.
///
/// # Errors
/// [`ChangeFault`]; nothing changed then.
pub fn add(
    book: &AccountBook,
    policy: Option<&Managed>,
    name: &str,
    platform_url: &str,
    client_id: &str,
) -> Result<StoredAccount, ChangeFault> {
    let platform = PlatformUrl::parse(platform_url)?;
    check_platform(policy, &platform)?;
    Ok(book.add(name, platform.shown(), client_id)?)
}

/// Removes an account with everything that is kept for it alone; what of it lies in the settings is the caller's. Its tokens
/// are not revoked: the platform still honours them. Blocks.
///
/// # Errors
/// [`ChangeFault`]; the account is still there then, and may be signed out.
pub fn remove(
    book: &AccountBook,
    state_dir: &Path,
    secrets: Arc<dyn SecretStore>,
    id: &str,
) -> Result<(), ChangeFault> {
    book.removable(id)?;
    let dropping = |fault: &dyn std::fmt::Display| ChangeFault::Dropping(fault.to_string());
    let vault = SecretVault::new(secrets, state_dir.to_owned()).of(id);
    {
        // A refresh that is under way would store its tokens after they were dropped.
        let _turn = vault.turn().map_err(|fault| dropping(&fault))?;
        vault.clear().map_err(|fault| dropping(&fault))?;
    }
    accounts::remove_folder(state_dir, id).map_err(|fault| dropping(&fault))?;
    Ok(book.remove(id)?)
}

/// Lists all accounts, the one of this run first. Reads the store of secrets, so it blocks; an account whose tokens cannot
/// be read counts as signed out.
#[must_use]
pub fn rows(book: &AccountBook, configured: &Configured, in_use: &str, secrets: &dyn SecretStore) -> Vec<AccountRow> {
    let mut rows: Vec<AccountRow> = book
        .ids()
        .into_iter()
        .filter_map(|id| {
            let account = Chosen::of(book, &id, configured).ok()?;
            let signed_in = SecretVault::holds_tokens(secrets, &id).unwrap_or_else(|fault| {
                tracing::warn!(%fault, "it cannot be told whether an account is signed in");
                false
            });
            Some(AccountRow {
                active: id == in_use,
                signed_in,
                fixed: id == DEFAULT,
                platform_url: account.platform.shown().to_owned(),
                client_id: account.client_id,
                name: account.name,
                id,
            })
        })
        .collect();
    rows.sort_by_key(|row| !row.active);
    rows
}

/// What the engine's task, its jobs and its pictures share of the accounts.
pub(crate) struct Accounts {
    pub(crate) book: AccountBook,
    pub(crate) chosen: Chosen,
    pub(crate) fixed: Option<Fixed>,
    configured: Configured,
    state_dir: PathBuf,
    secrets: Arc<dyn SecretStore>,
    rows: Mutex<Vec<AccountRow>>,
}

impl Accounts {
    /// Takes what was opened. Blocks.
    pub(crate) fn new(
        book: AccountBook,
        chosen: Chosen,
        fixed: Option<Fixed>,
        configured: Configured,
        state_dir: PathBuf,
        secrets: Arc<dyn SecretStore>,
    ) -> Self {
        let accounts = Self { book, chosen, fixed, configured, state_dir, secrets, rows: Mutex::default() };
        accounts.look();
        accounts
    }

    /// Reads anew who is signed in, and tells whether that differs from before. Blocks.
    pub(crate) fn look(&self) -> bool {
        let rows = rows(&self.book, &self.configured, &self.chosen.id, self.secrets.as_ref());
        let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = *known != rows;
        *known = rows;
        differs
    }

    /// Returns the rows as they were last looked at. `signed_in`: whether the account of this run has tokens now.
    pub(crate) fn rows(&self, signed_in: bool) -> Vec<AccountRow> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for row in rows.iter_mut().filter(|row| row.active) {
            row.signed_in = signed_in;
        }
        rows
    }

    /// Adds an account; without a client id with the configured one. Blocks.
    pub(crate) fn add(
        &self,
        policy: Option<&Managed>,
        name: &str,
        platform_url: &str,
        client_id: Option<&str>,
    ) -> Result<StoredAccount, ChangeFault> {
        if let Some(fixed @ (Fixed::Practice | Fixed::Organisation)) = self.fixed {
            return Err(ChangeFault::Fixed(fixed));
        }
        let client_id = client_id.filter(|id| !id.trim().is_empty()).unwrap_or(&self.configured.client_id);
        let added = add(&self.book, policy, name, platform_url, client_id)?;
        self.look();
        Ok(added)
    }

    /// Makes an account that of the next start. Blocks.
    pub(crate) fn choose(&self, policy: Option<&Managed>, id: &str) -> Result<(), ChangeFault> {
        if let Some(fixed) = self.fixed {
            return Err(ChangeFault::Fixed(fixed));
        }
        if let Some(account) = self.book.get(id) {
            check_platform(policy, &PlatformUrl::parse(&account.platform_url)?)?;
        }
        Ok(self.book.choose(id)?)
    }

    /// Removes an account, and returns how the settings name what holds for its chats. Blocks.
    pub(crate) fn remove(&self, id: &str) -> Result<Option<String>, ChangeFault> {
        if id == self.chosen.id {
            return Err(AccountsFault::Needed(id.to_owned()).into());
        }
        let settings_name = self.book.get(id).map(|account| account.key);
        remove(&self.book, &self.state_dir, self.secrets.clone(), id)?;
        self.look();
        Ok(settings_name)
    }
}
