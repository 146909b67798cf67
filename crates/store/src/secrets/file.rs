//! `secrets.enc`: all entries in one file, AES-256-GCM under a key from a passphrase by Argon2id (spec 2.2).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Key, Nonce};
use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawbridge_os::lockfile::{LockFault, LockFile};
use drawbridge_os::private::{self, Stamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{SecretFault, SecretPlace, SecretStore};

/// The version that is written and read.
const VERSION: u64 = 1;
/// Far more than all entries together ever are.
const SIZE_LIMIT_BYTES: usize = 4 * 1024 * 1024;
const M_KIB: u32 = 65_536;
const T: u32 = 3;
const P: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    v: u64,
    kdf: String,
    m_kib: u32,
    t: u32,
    p: u32,
    salt: String,
    nonce: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    ct: String,
}

/// The encrypted file, opened.
pub struct SecretFile {
    path: PathBuf,
    passphrase: SecretString,
    known: Mutex<Known>,
}

struct Known {
    stamp: Option<Stamp>,
    entries: BTreeMap<String, SecretString>,
}

impl std::fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SecretFile {
    /// Returns where the file of a state folder is.
    #[must_use]
    pub fn path(state_dir: &Path) -> PathBuf {
        state_dir.join("secrets.enc")
    }

    /// Opens the file, which derives the key once; a missing one is empty and is made by the first write.
    ///
    /// # Errors
    /// [`SecretFault::WrongPassphrase`] and the others; the file stays untouched.
    pub fn open(state_dir: &Path, passphrase: SecretString) -> Result<Self, SecretFault> {
        let path = Self::path(state_dir);
        // Only in a turn of our own: what looks like a left-over may be what another process is writing.
        if let Ok(_turn) = LockFile::try_acquire(&path.with_file_name("secrets.lock")) {
            private::sweep(&path);
        }
        let known = read(&path, &passphrase)?;
        Ok(Self { path, passphrase, known: Mutex::new(known) })
    }

    /// Makes the file with these entries where none is. It is written beside its place, opened again with the passphrase and
    /// compared, and only then gets its name, so that what has the name can be opened.
    ///
    /// # Errors
    /// [`SecretFault`]; nothing has the file's name then, or what had it still has.
    pub fn create(
        state_dir: &Path,
        passphrase: SecretString,
        entries: BTreeMap<String, SecretString>,
    ) -> Result<Self, SecretFault> {
        let path = Self::path(state_dir);
        let _turn = turn(&path)?;
        if path.symlink_metadata().is_ok() {
            return Err(io_fault(&path, "it is there already"));
        }
        let draft = draft_of(&path);
        let made = (|| {
            let bytes = seal(&path, &passphrase, &entries)?;
            private::replace(&draft, &bytes).map_err(|error| io_fault(&path, error))?;
            if !same(&read(&draft, &passphrase)?.entries, &entries) {
                return Err(io_fault(&path, "it could not be read back as it was written"));
            }
            private::put_in_place(&draft, &path).map_err(|error| io_fault(&path, error))?;
            private::stamp(&path).map_err(|error| io_fault(&path, error))
        })();
        match made {
            Ok(stamp) => Ok(Self { path, passphrase, known: Mutex::new(Known { stamp, entries }) }),
            Err(fault) => {
                // What matters is the fault; a draft that stays is swept with the next move.
                let _ = std::fs::remove_file(&draft);
                Err(fault)
            }
        }
    }

    /// Removes what a crash in [`SecretFile::create`] left: a draft, whole or half written.
    pub(super) fn sweep_draft(state_dir: &Path) {
        let path = Self::path(state_dir);
        if let Ok(_turn) = turn(&path) {
            private::sweep(&path);
            let _ = std::fs::remove_file(draft_of(&path));
        }
    }

    /// Reads every entry.
    ///
    /// # Errors
    /// [`SecretFault`].
    pub fn all(&self) -> Result<BTreeMap<String, SecretString>, SecretFault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.renew(&mut known)?;
        Ok(known.entries.clone())
    }

    /// Removes the file. Everything in it must be somewhere else by now.
    ///
    /// # Errors
    /// [`SecretFault`]; the file is still there then.
    pub(super) fn remove(&self) -> Result<(), SecretFault> {
        let _turn = turn(&self.path)?;
        private::remove(&self.path).map_err(|error| self.io(error))
    }

    fn io(&self, error: impl std::fmt::Display) -> SecretFault {
        io_fault(&self.path, error)
    }

    fn renew(&self, known: &mut Known) -> Result<(), SecretFault> {
        let stamp = private::stamp(&self.path).map_err(|error| self.io(error))?;
        if stamp.is_none() && known.stamp.is_some() {
            // Made anew it would hold one entry and hide where the others are.
            return Err(self.io("it was moved or removed meanwhile"));
        }
        if stamp != known.stamp {
            *known = read(&self.path, &self.passphrase)?;
        }
        Ok(())
    }

    fn change(&self, edit: impl FnOnce(&mut BTreeMap<String, SecretString>)) -> Result<(), SecretFault> {
        // The turn keeps other writers out, of this process as well. What is known is not locked while the key is derived,
        // so that reading never waits for that.
        let _turn = turn(&self.path)?;
        let mut entries = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            self.renew(&mut known)?;
            known.entries.clone()
        };
        edit(&mut entries);
        let bytes = seal(&self.path, &self.passphrase, &entries)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        private::replace(&self.path, &bytes).map_err(|error| self.io(error))?;
        known.entries = entries;
        known.stamp = private::stamp(&self.path).map_err(|error| self.io(error))?;
        Ok(())
    }
}

impl SecretStore for SecretFile {
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.renew(&mut known)?;
        Ok(known.entries.get(name).cloned())
    }

    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
        self.change(|entries| {
            for (name, value) in values {
                entries.insert((*name).to_owned(), (*value).clone());
            }
        })
    }

    fn delete(&self, name: &str) -> Result<(), SecretFault> {
        if self.get(name)?.is_none() {
            return Ok(());
        }
        self.change(|entries| {
            entries.remove(name);
        })
    }

    fn place(&self) -> SecretPlace {
        SecretPlace::File
    }
}

/// Where a new file is written before it has its name.
fn draft_of(path: &Path) -> PathBuf {
    path.with_file_name("secrets.enc.new")
}

/// Keeps other writers out, of this process as well.
fn turn(path: &Path) -> Result<LockFile, SecretFault> {
    LockFile::acquire(&path.with_file_name("secrets.lock")).map_err(|fault| match fault {
        LockFault::Io { error, .. } => io_fault(path, error),
        held @ (LockFault::Held { .. } | LockFault::LookedAt { .. }) => io_fault(path, held),
    })
}

fn same(one: &BTreeMap<String, SecretString>, other: &BTreeMap<String, SecretString>) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, value), (other_name, other_value))| {
            name == other_name && value.expose_secret() == other_value.expose_secret()
        })
}

fn io_fault(path: &Path, error: impl std::fmt::Display) -> SecretFault {
    SecretFault::Io { path: path.to_owned(), why: error.to_string() }
}

/// Takes the file apart. Only its version is looked at first: whatever else a newer one holds is not ours to judge.
fn parse(path: &Path, bytes: &[u8]) -> Result<Sealed, SecretFault> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u64,
    }
    let damaged = || SecretFault::Damaged { path: path.to_owned(), why: "it is not in the expected form".to_owned() };
    let Versioned { v } = serde_json::from_slice(bytes).map_err(|_| damaged())?;
    if v > VERSION {
        return Err(SecretFault::Newer { path: path.to_owned(), version: v });
    }
    serde_json::from_slice(bytes).map_err(|_| damaged())
}

fn read(path: &Path, passphrase: &SecretString) -> Result<Known, SecretFault> {
    let damaged = |why: &str| SecretFault::Damaged { path: path.to_owned(), why: why.to_owned() };
    let stamp = private::stamp(path).map_err(|error| io_fault(path, error))?;
    if stamp.is_none() {
        if path.symlink_metadata().is_ok() {
            return Err(io_fault(path, "it is a link that leads nowhere"));
        }
        return Ok(Known { stamp, entries: BTreeMap::new() });
    }
    let bytes = private::read(path).map_err(|error| io_fault(path, error))?;
    if bytes.len() > SIZE_LIMIT_BYTES {
        return Err(damaged("it is far larger than Drawbridge ever writes it"));
    }
    let mut sealed = parse(path, &bytes)?;
    // Other costs could be a trick to fill the memory, or to weaken the next write.
    if sealed.v != VERSION || sealed.kdf != "argon2id" || (sealed.m_kib, sealed.t, sealed.p) != (M_KIB, T, P) {
        return Err(damaged("its key is not derived as Drawbridge does it"));
    }
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| damaged("it is not in the expected form"));
    let ct = decode(&std::mem::take(&mut sealed.ct))?;
    let salt = decode(&sealed.salt)?;
    let nonce: [u8; 12] = decode(&sealed.nonce)?.try_into().map_err(|_| damaged("its nonce has a wrong length"))?;
    if salt.len() != 16 {
        return Err(damaged("its salt has a wrong length"));
    }
    let cipher = cipher(path, passphrase, &salt)?;
    let aad = associated(&sealed);
    let plain = cipher
        .decrypt(&Nonce::from(nonce), Payload { msg: &ct, aad: &aad })
        .map(Zeroizing::new)
        .map_err(|_| SecretFault::WrongPassphrase(path.to_owned()))?;
    let entries: BTreeMap<String, String> =
        serde_json::from_slice(&plain).map_err(|_| damaged("its content is no map"))?;
    Ok(Known { stamp, entries: entries.into_iter().map(|(name, value)| (name, SecretString::from(value))).collect() })
}

fn seal(
    path: &Path,
    passphrase: &SecretString,
    entries: &BTreeMap<String, SecretString>,
) -> Result<Vec<u8>, SecretFault> {
    let mut random = [0_u8; 28];
    getrandom::fill(&mut random).map_err(|_| io_fault(path, "the system gives no random numbers"))?;
    let (salt, nonce) = random.split_at(16);
    let mut sealed = Sealed {
        v: VERSION,
        kdf: "argon2id".to_owned(),
        m_kib: M_KIB,
        t: T,
        p: P,
        salt: STANDARD.encode(salt),
        nonce: STANDARD.encode(nonce),
        ct: String::new(),
    };
    let map: BTreeMap<&str, &str> =
        entries.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    let plain = Zeroizing::new(serde_json::to_vec(&map).map_err(|error| io_fault(path, error))?);
    let cipher = cipher(path, passphrase, salt)?;
    let nonce: [u8; 12] = nonce.try_into().map_err(|_| io_fault(path, "a nonce of a wrong length"))?;
    let ct = cipher
        .encrypt(&Nonce::from(nonce), Payload { msg: &plain, aad: &associated(&sealed) })
        .map_err(|_| io_fault(path, "it could not be encrypted"))?;
    sealed.ct = STANDARD.encode(ct);
    serde_json::to_vec(&sealed).map_err(|error| io_fault(path, error))
}

/// The canonical JSON of all fields but the cipher text.
fn associated(sealed: &Sealed) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(sealed).unwrap_or_default()
}

#[cfg(test)]
thread_local! {
    /// How often this thread derived a key.
    pub(super) static DERIVED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

fn cipher(path: &Path, passphrase: &SecretString, salt: &[u8]) -> Result<Aes256Gcm, SecretFault> {
    #[cfg(test)]
    DERIVED.set(DERIVED.get() + 1);
    let params = Params::new(M_KIB, T, P, Some(32)).map_err(|error| io_fault(path, error))?;
    let mut key = Zeroizing::new([0_u8; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.expose_secret().as_bytes(), salt, &mut key[..])
        .map_err(|error| io_fault(path, error))?;
    Ok(Aes256Gcm::new(&Key::<Aes256Gcm>::from(*key)))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
