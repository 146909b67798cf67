//! Which accounts there are beside that of the configuration, and which one is in use: `accounts.json` in the state folder.
//!
//! The account `default` is what the configuration names; no address of it is kept here. Which platform its chats in the state
//! folder belong to is kept apart (`default-platform.json`), since the configuration may name another one any day. A file that cannot be trusted stays
//! as it is, nothing is written over it, and `default` alone is offered. Tokens are not here but in the store of secrets
//! (`secrets::entries::of`). Whether an address may be dialled is the engine's question.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use drawbridge_core::escape_outside_text;
use drawbridge_os::private;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Id of the account that the configuration names.
pub const DEFAULT: &str = "default";
/// So many accounts are kept at most, `default` not counted.
pub const MOST_ACCOUNTS: usize = 16;
/// The longest name, in characters.
pub const LONGEST_NAME: usize = 40;
/// The longest id, in characters.
const LONGEST_ID: usize = 32;
/// The longest client id, in characters.
const LONGEST_CLIENT: usize = 200;
/// The longest address, in characters.
const LONGEST_ADDRESS: usize = 500;
const VERSION: u32 = 1;

/// An account that was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAccount {
    /// Names it in files, commands and the store of secrets: small letters, digits and dashes. Made by us.
    pub id: String,
    /// The person's name for it, safe to show.
    pub name: String,
    /// Base of the platform's addresses.
    pub platform_url: String,
    /// The OAuth client id.
    pub client_id: String,
    /// 16 hex digits at random. Grants are signed under it, so that those of a removed account are worthless also when one
    /// of the same name is added later.
    pub key: String,
}

/// Why accounts did not change.
#[derive(Debug, thiserror::Error)]
pub enum AccountsFault {
    /// The file cannot be trusted and is not overwritten.
    #[error("the list of accounts {} cannot be read ({why}), so it is not changed; mend it, or move it away to begin with an empty list", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It could not be written; nothing changed.
    #[error("the list of accounts {} could not be saved: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The name cannot be used.
    #[error("the name {0}; take 1 to {LONGEST_NAME} characters that can be seen")]
    Name(&'static str),
    /// Another account has the name.
    #[error("there is an account of this name already; take another name, or remove that one first")]
    NameTaken,
    /// The client id cannot be used.
    #[error("the client id is not usable; take it as your platform's operator wrote it, without blanks")]
    Client,
    /// The address is too long.
    #[error("the platform's address is longer than {LONGEST_ADDRESS} characters")]
    Address,
    /// There are too many.
    #[error("there are {MOST_ACCOUNTS} accounts already; remove one first")]
    TooMany,
    /// There is none with this id.
    #[error("there is no account {0}; look at the list of accounts")]
    Unknown(String),
    /// The account is the one in use, or `default`.
    #[error(
        "the account {0} cannot be removed: it is the one in use or the one of the configuration; use another one first"
    )]
    Needed(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers, so nothing was added")]
    NoRandom,
}

/// Whose chats lie in the state folder itself.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    v: u32,
    platform_url: String,
    client_id: String,
}

impl First {
    fn new(platform_url: &str, client_id: &str) -> Self {
        Self { v: VERSION, platform_url: platform_url.to_owned(), client_id: client_id.to_owned() }
    }

    fn digest(&self) -> String {
        let digest = Sha256::digest(format!("{}\n{}", self.platform_url, self.client_id));
        drawbridge_core::hex::encode(&digest[..8])
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    v: u32,
    in_use: String,
    accounts: Vec<StoredAccount>,
}

impl Document {
    fn empty() -> Self {
        Self { v: VERSION, in_use: DEFAULT.to_owned(), accounts: Vec::new() }
    }

    fn has(&self, id: &str) -> bool {
        id == DEFAULT || self.accounts.iter().any(|account| account.id == id)
    }
}

/// The accounts of a state folder. Every change is on disk before it is seen.
#[derive(Debug)]
pub struct AccountBook {
    path: PathBuf,
    broken: Option<String>,
    document: Mutex<Document>,
}

impl AccountBook {
    /// Reads the accounts. `usable` says of each address why it cannot be used, if so: that makes the whole file worthless,
    /// since only a hand can have written it.
    #[must_use]
    pub fn open(state_dir: &Path, usable: &dyn Fn(&str) -> Result<(), String>) -> Self {
        let path = state_dir.join("accounts.json");
        let read = match private::read(&path) {
            Ok(bytes) => parse(&bytes, usable),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Document::empty()),
            Err(error) => Err(error.to_string()),
        };
        let (document, broken) = match read {
            Ok(document) => (document, None),
            Err(why) => (Document::empty(), Some(why)),
        };
        Self { path, broken, document: Mutex::new(document) }
    }

    /// Returns why the file cannot be trusted, if so: then `default` alone is there, and nothing can be changed.
    #[must_use]
    pub fn trouble(&self) -> Option<AccountsFault> {
        self.broken.clone().map(|why| AccountsFault::Broken { path: self.path.clone(), why })
    }

    /// Returns the accounts beside `default`, in the order they were added.
    #[must_use]
    pub fn list(&self) -> Vec<StoredAccount> {
        self.lock().accounts.clone()
    }

    /// Returns the ids of all accounts, `default` first.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let document = self.lock();
        std::iter::once(DEFAULT.to_owned()).chain(document.accounts.iter().map(|one| one.id.clone())).collect()
    }

    /// Returns one account; none for `default` and for unknown ones.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<StoredAccount> {
        self.lock().accounts.iter().find(|account| account.id == id).cloned()
    }

    /// Finds the id that a person means: an id, or a name in any case of letters.
    #[must_use]
    pub fn find(&self, named: &str) -> Option<String> {
        let named = named.trim();
        let document = self.lock();
        if document.has(named) {
            return Some(named.to_owned());
        }
        let found = document.accounts.iter().find(|account| same_name(&account.name, named));
        found.map(|account| account.id.clone())
    }

    /// Returns how the account `default` is told apart at this platform (16 hex digits): none at the first one that it was used
    /// with, whose chats lie in the state folder itself. Reads a small file.
    #[must_use]
    pub fn default_apart(&self, platform_url: &str, client_id: &str) -> Option<String> {
        let asked = First::new(platform_url, client_id);
        match private::read(&self.first()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Ok(bytes) if serde_json::from_slice::<First>(&bytes).is_ok_and(|first| first == asked) => None,
            // What cannot be read is somebody else's: at worst a folder has to be attached once more.
            Ok(_) | Err(_) => Some(asked.digest()),
        }
    }

    /// Tells whether nobody has used the account `default` yet, as far as is known.
    #[must_use]
    pub fn default_is_new(&self) -> bool {
        matches!(self.first().try_exists(), Ok(false))
    }

    /// Notes the first platform that the account `default` is used with. Only while there is none.
    ///
    /// # Errors
    /// The fault of the file system.
    pub fn note_first(&self, platform_url: &str, client_id: &str) -> io::Result<()> {
        if !self.default_is_new() {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&First::new(platform_url, client_id)).map_err(io::Error::other)?;
        private::replace(&self.first(), &bytes)
    }

    fn first(&self) -> PathBuf {
        self.path.with_file_name("default-platform.json")
    }

    /// Returns the id of the account that a start uses.
    #[must_use]
    pub fn in_use(&self) -> String {
        self.lock().in_use.clone()
    }

    /// Adds an account, which is not in use yet.
    ///
    /// # Errors
    /// [`AccountsFault`]; nothing changed then.
    pub fn add(&self, name: &str, platform_url: &str, client_id: &str) -> Result<StoredAccount, AccountsFault> {
        let name = name.trim();
        check_name(name)?;
        let (platform_url, client_id) = (platform_url.trim(), client_id.trim());
        if !is_client(client_id) {
            return Err(AccountsFault::Client);
        }
        if platform_url.chars().count() > LONGEST_ADDRESS {
            return Err(AccountsFault::Address);
        }
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|_| AccountsFault::NoRandom)?;
        let key = drawbridge_core::hex::encode(random);
        self.change(|document| {
            if document.accounts.len() >= MOST_ACCOUNTS {
                return Err(AccountsFault::TooMany);
            }
            if same_name(name, DEFAULT) || document.accounts.iter().any(|other| same_name(&other.name, name)) {
                return Err(AccountsFault::NameTaken);
            }
            let account = StoredAccount {
                id: new_id(name, &|id| document.has(id)),
                name: name.to_owned(),
                platform_url: platform_url.to_owned(),
                client_id: client_id.to_owned(),
                key: key.clone(),
            };
            document.accounts.push(account.clone());
            Ok(account)
        })
    }

    /// Makes an account the one that a start uses.
    ///
    /// # Errors
    /// [`AccountsFault`]; nothing changed then.
    pub fn choose(&self, id: &str) -> Result<(), AccountsFault> {
        self.change(|document| {
            if !document.has(id) {
                return Err(unknown(id));
            }
            document.in_use = id.to_owned();
            Ok(())
        })
    }

    /// Takes an account from the list. Its tokens and its folder are the caller's to drop first.
    ///
    /// # Errors
    /// [`AccountsFault`]; nothing changed then.
    pub fn remove(&self, id: &str) -> Result<(), AccountsFault> {
        self.removable(id)?;
        self.change(|document| {
            document.accounts.retain(|account| account.id != id);
            Ok(())
        })
    }

    /// Tells whether [`AccountBook::remove`] could take an account away.
    ///
    /// # Errors
    /// Why not.
    pub fn removable(&self, id: &str) -> Result<(), AccountsFault> {
        if let Some(fault) = self.trouble() {
            return Err(fault);
        }
        let document = self.lock();
        if !document.has(id) {
            return Err(unknown(id));
        }
        if id == DEFAULT || document.in_use == id {
            return Err(AccountsFault::Needed(id.to_owned()));
        }
        Ok(())
    }

    fn change<T>(&self, edit: impl FnOnce(&mut Document) -> Result<T, AccountsFault>) -> Result<T, AccountsFault> {
        if let Some(fault) = self.trouble() {
            return Err(fault);
        }
        let mut document = self.lock();
        let mut next = document.clone();
        let value = edit(&mut next)?;
        let fault = |error| AccountsFault::Io { path: self.path.clone(), error };
        let bytes = serde_json::to_vec_pretty(&next).map_err(|error| fault(io::Error::other(error)))?;
        // Only by whoever changes it: to a reader, what is being written looks like a left-over.
        private::sweep(&self.path);
        private::replace(&self.path, &bytes).map_err(fault)?;
        *document = next;
        Ok(value)
    }

    fn lock(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the folder of what is kept for one account alone: the state folder itself for `default`, unless that is told apart
/// ([`apart`]). It need not be there.
#[must_use]
pub fn folder(state_dir: &Path, id: &str) -> PathBuf {
    if id == DEFAULT { state_dir.to_owned() } else { state_dir.join("accounts").join(id) }
}

/// Names the folder of the chats of `default` at a platform where it is told apart. No id of an account has a dot.
#[must_use]
pub fn apart(digest: &str) -> String {
    format!("{DEFAULT}.{digest}")
}

/// Makes the folder of an account if it is missing.
///
/// # Errors
/// The fault of the file system.
pub fn make_folder(state_dir: &Path, id: &str) -> io::Result<PathBuf> {
    let folder = folder(state_dir, id);
    private::create_folder(&folder)?;
    Ok(folder)
}

/// Removes what is kept for an account alone. Never that of `default`.
///
/// # Errors
/// The fault of the file system. A folder that is not there is fine.
pub fn remove_folder(state_dir: &Path, id: &str) -> io::Result<()> {
    if !is_id(id) || id == DEFAULT {
        return Err(io::Error::other("this account has no folder of its own"));
    }
    match std::fs::remove_dir_all(folder(state_dir, id)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn parse(bytes: &[u8], usable: &dyn Fn(&str) -> Result<(), String>) -> Result<Document, String> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let version: Versioned = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if version.v != VERSION {
        return Err(format!("it is of version {}, and this Drawbridge knows {VERSION}", version.v));
    }
    let document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if document.accounts.len() > MOST_ACCOUNTS {
        return Err(format!("it holds more than {MOST_ACCOUNTS} accounts"));
    }
    for (at, account) in document.accounts.iter().enumerate() {
        let shown = escape_outside_text(&account.id);
        if !is_id(&account.id) || account.id == DEFAULT {
            return Err(format!("{shown:?} is no id of an account"));
        }
        let earlier = &document.accounts[..at];
        if earlier.iter().any(|other| other.id == account.id || same_name(&other.name, &account.name)) {
            return Err(format!("there are two accounts {shown:?}"));
        }
        check_name(&account.name).map_err(|fault| format!("account {shown:?}: {fault}"))?;
        if !is_client(&account.client_id) {
            return Err(format!("account {shown:?} has no usable client id"));
        }
        if account.key.len() != 16 || !account.key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("account {shown:?} has no key"));
        }
        usable(&account.platform_url).map_err(|why| format!("account {shown:?}: {why}"))?;
    }
    if !document.has(&document.in_use) {
        return Err("the account in use is not in it".to_owned());
    }
    Ok(document)
}

fn check_name(name: &str) -> Result<(), AccountsFault> {
    match name.chars().count() {
        0 => return Err(AccountsFault::Name("is empty")),
        1..=LONGEST_NAME => {}
        _ => return Err(AccountsFault::Name("is too long")),
    }
    if name.trim() != name || escape_outside_text(name) != name {
        return Err(AccountsFault::Name("holds characters that cannot be seen"));
    }
    Ok(())
}

fn same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn is_client(id: &str) -> bool {
    (1..=LONGEST_CLIENT).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(fits) && !id.starts_with('-')
}

/// Makes an id out of a name that is not `taken`.
fn new_id(name: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut id = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            id.push(c);
        } else if !id.is_empty() && !id.ends_with('-') {
            id.push('-');
        }
        if id.len() >= LONGEST_ID - 4 {
            break;
        }
    }
    let id = id.trim_end_matches('-');
    let id = if id.is_empty() { "account" } else { id };
    if !taken(id) {
        return id.to_owned();
    }
    (2..).map(|number: u32| format!("{id}-{number}")).find(|id| !taken(id)).unwrap_or_default()
}

fn unknown(id: &str) -> AccountsFault {
    AccountsFault::Unknown(escape_outside_text(id))
}

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
