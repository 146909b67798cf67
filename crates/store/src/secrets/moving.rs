//! Moving all secrets between the keychain and the encrypted file, so that a crash at any moment leaves one whole store.
//!
//! Which store counts is decided by one thing alone: a file that is there wins. So the moment in which the file gets or loses
//! its name is the switch. What was there before it is whole until then; what is there after it was read back before. A mark in
//! the state folder says that a move is under way, so that the next owner takes away what is left of the other side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use drawbridge_os::keychain::{Keychain, KeychainState};
use drawbridge_os::private;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::{SecretFault, SecretFile, SecretPlace, SecretStore};

/// The shortest passphrase of a new file, in characters. The key derivation makes each guess dear, not impossible.
pub const MIN_PASSPHRASE_CHARS: usize = 8;
const MARK_VERSION: u32 = 1;

/// A store that can be looked at without asking the person anything.
pub trait KeychainStore: SecretStore {
    /// Looks whether it can be used now. May block for seconds.
    fn state(&self) -> KeychainState;
}

impl KeychainStore for Keychain {
    fn state(&self) -> KeychainState {
        self.probe()
    }
}

/// Why secrets were not moved. They are all where they were. Each message holds its cause, so none is named as the source of
/// another and told twice.
#[derive(Debug, thiserror::Error)]
pub enum MoveFault {
    /// They are there already.
    #[error("the secrets are there already, so nothing was moved")]
    There,
    /// The passphrase is too short for a new file.
    #[error(
        "the passphrase has fewer than {MIN_PASSPHRASE_CHARS} characters, so nothing was moved; choose a longer one"
    )]
    ShortPassphrase,
    /// The keychain cannot be used.
    #[error("{why}, so nothing was moved; unlock or install a keychain and try again")]
    NoKeychain {
        /// In words.
        why: String,
    },
    /// One of the stores.
    #[error("nothing was moved: {0}")]
    Store(SecretFault),
    /// What was written does not read back.
    #[error("nothing was moved: the new place did not give back what was put into it")]
    Different,
    /// The mark of the move.
    #[error("nothing was moved: the state folder cannot be written: {0}")]
    Mark(std::io::Error),
}

impl From<SecretFault> for MoveFault {
    fn from(fault: SecretFault) -> Self {
        Self::Store(fault)
    }
}

/// The secrets moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Why the old place still holds some of them, if it does. The next start takes them away.
    pub left: Option<String>,
}

/// The secrets of a state folder, in a place that can change while they are used.
#[derive(Debug)]
pub struct Secrets {
    state_dir: PathBuf,
    keychain: Arc<dyn KeychainStore>,
    now: RwLock<Arc<dyn SecretStore>>,
    /// The same as `now` where that is the file.
    file: RwLock<Option<Arc<SecretFile>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    v: u32,
    from: Source,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Source {
    Keychain,
    File,
}

impl Secrets {
    /// Takes the keychain for the place.
    #[must_use]
    pub fn in_keychain(state_dir: &Path, keychain: Arc<dyn KeychainStore>) -> Self {
        let now: Arc<dyn SecretStore> = Arc::new(InKeychain(keychain.clone()));
        Self { state_dir: state_dir.to_owned(), keychain, now: RwLock::new(now), file: RwLock::new(None) }
    }

    /// Takes the opened file for the place.
    #[must_use]
    pub fn in_file(state_dir: &Path, keychain: Arc<dyn KeychainStore>, file: SecretFile) -> Self {
        let file = Arc::new(file);
        Self {
            state_dir: state_dir.to_owned(),
            keychain,
            now: RwLock::new(file.clone()),
            file: RwLock::new(Some(file)),
        }
    }

    /// Looks whether the keychain could be used. May block for seconds.
    #[must_use]
    pub fn keychain_state(&self) -> KeychainState {
        self.keychain.state()
    }

    /// Moves everything into a new file under this passphrase. `names` are all entries that may be there. For the owner of the
    /// state folder alone; others wait meanwhile. Blocks for seconds.
    ///
    /// # Errors
    /// [`MoveFault`]; everything is in the keychain then, and goes on to be used there.
    pub fn move_to_file(&self, passphrase: SecretString, names: &[String]) -> Result<Moved, MoveFault> {
        check_passphrase(&passphrase)?;
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        if now.place() == SecretPlace::File {
            return Err(MoveFault::There);
        }
        let mut entries = BTreeMap::new();
        for name in names {
            if let Some(value) = now.get(name)? {
                entries.insert(name.clone(), value);
            }
        }
        self.mark(Source::Keychain).map_err(MoveFault::Mark)?;
        let file = match SecretFile::create(&self.state_dir, passphrase, entries) {
            Ok(file) => Arc::new(file),
            Err(fault) => {
                self.unmark();
                return Err(fault.into());
            }
        };
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = Some(file.clone());
        *now = file;
        Ok(Moved { left: self.clear_keychain(names) })
    }

    /// Moves everything from the file into the keychain, and removes the file. `names` as in [`Secrets::move_to_file`].
    ///
    /// # Errors
    /// [`MoveFault`]; everything is in the file then, and goes on to be used there.
    pub fn move_to_keychain(&self, names: &[String]) -> Result<Moved, MoveFault> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = self.file.read().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Err(MoveFault::There);
        };
        match self.keychain.state() {
            KeychainState::Ready => {}
            KeychainState::Locked => {
                return Err(MoveFault::NoKeychain { why: "the keychain of this computer is locked".to_owned() });
            }
            KeychainState::None { why } => return Err(MoveFault::NoKeychain { why }),
        }
        let entries = file.all()?;
        let mut touched: Vec<String> = names.to_vec();
        touched.extend(entries.keys().filter(|name| !names.contains(name)).cloned());
        self.mark(Source::File).map_err(MoveFault::Mark)?;
        let copied = self.copy_to_keychain(&touched, &entries).and_then(|()| Ok(file.remove()?));
        if let Err(fault) = copied {
            // The mark stays where not all of the copies could be taken away.
            self.clear_keychain(&touched);
            return Err(fault);
        }
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = None;
        *now = Arc::new(InKeychain(self.keychain.clone()));
        self.unmark();
        Ok(Moved { left: None })
    }

    /// Takes away what a move that broke off left on the side that does not count. For the owner of the state folder, before
    /// anything is moved. Returns why something is still left, if so.
    pub fn tidy(&self, names: &[String]) -> Option<String> {
        // Without a mark nobody is kept waiting.
        match self.marked() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(why) => return Some(why),
        }
        // A move in this process must not meet it: what that one has just copied would be taken away.
        let _turn = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let from = self.marked().ok().flatten()?;
        SecretFile::sweep_draft(&self.state_dir);
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner).clone();
        match (from, file) {
            // Nothing was switched yet, or everything was.
            (Source::Keychain | Source::File, None) => {
                self.unmark();
                None
            }
            (Source::Keychain | Source::File, Some(file)) => {
                let mut touched = names.to_vec();
                match file.all() {
                    Ok(entries) => touched.extend(entries.into_keys().filter(|name| !names.contains(name))),
                    Err(fault) => return Some(fault.to_string()),
                }
                match self.keychain.state() {
                    KeychainState::Ready => self.clear_keychain(&touched),
                    KeychainState::Locked => Some("the keychain of this computer is locked".to_owned()),
                    KeychainState::None { why } => Some(why),
                }
            }
        }
    }

    /// Writes every entry and reads it back. What the file does not have, the keychain must not have either.
    fn copy_to_keychain(&self, names: &[String], entries: &BTreeMap<String, SecretString>) -> Result<(), MoveFault> {
        for name in names {
            match entries.get(name) {
                Some(value) => self.keychain.set(name, value)?,
                None => self.keychain.delete(name)?,
            }
        }
        for name in names {
            let kept = self.keychain.get(name)?;
            if kept.as_ref().map(ExposeSecret::expose_secret) != entries.get(name).map(ExposeSecret::expose_secret) {
                return Err(MoveFault::Different);
            }
        }
        Ok(())
    }

    /// Takes every entry out of the keychain, and then the mark away. Says why not, where that failed.
    fn clear_keychain(&self, names: &[String]) -> Option<String> {
        let cleared = names.iter().try_for_each(|name| self.keychain.delete(name));
        match cleared {
            Ok(()) => {
                self.unmark();
                None
            }
            Err(fault) => Some(fault.to_string()),
        }
    }

    fn mark_path(&self) -> PathBuf {
        self.state_dir.join("secrets.moving")
    }

    fn mark(&self, from: Source) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(&Mark { v: MARK_VERSION, from }).map_err(std::io::Error::other)?;
        private::sweep(&self.mark_path());
        private::replace(&self.mark_path(), &bytes)
    }

    fn unmark(&self) {
        match private::remove(&self.mark_path()) {
            Ok(()) => {}
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {}
            // It costs one look at the next start.
            Err(fault) => tracing::warn!(%fault, "the mark of a finished move of secrets stays"),
        }
    }

    fn marked(&self) -> Result<Option<Source>, String> {
        let path = self.mark_path();
        let bytes = match private::read(&path) {
            Ok(bytes) => bytes,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(fault) => return Err(format!("{}: {fault}", path.display())),
        };
        match serde_json::from_slice::<Mark>(&bytes) {
            Ok(mark) if mark.v == MARK_VERSION => Ok(Some(mark.from)),
            Ok(_) | Err(_) => Err(format!(
                "{} cannot be read, so what an interrupted move of secrets left stays; remove that file once no entries \
                 of Drawbridge are left in the place that is not used",
                path.display()
            )),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Arc<dyn SecretStore>> {
        self.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another process may have moved them: from then on the keychain is no place to write to.
    fn still_here(&self, now: &Arc<dyn SecretStore>) -> Result<(), SecretFault> {
        let path = SecretFile::path(&self.state_dir);
        if now.place() == SecretPlace::Keychain && path.symlink_metadata().is_ok() {
            return Err(SecretFault::Moved(path));
        }
        Ok(())
    }
}

impl SecretStore for Secrets {
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
        let now = self.read();
        self.still_here(&now)?;
        now.get(name)
    }

    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
        let now = self.read();
        self.still_here(&now)?;
        now.set_all(values)
    }

    fn delete(&self, name: &str) -> Result<(), SecretFault> {
        let now = self.read();
        self.still_here(&now)?;
        now.delete(name)
    }

    fn place(&self) -> SecretPlace {
        self.read().place()
    }

    fn writes_are_cheap(&self) -> bool {
        self.read().writes_are_cheap()
    }
}

/// The keychain as one of the two stores.
#[derive(Debug)]
struct InKeychain(Arc<dyn KeychainStore>);

impl SecretStore for InKeychain {
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
        self.0.get(name)
    }

    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
        self.0.set_all(values)
    }

    fn delete(&self, name: &str) -> Result<(), SecretFault> {
        self.0.delete(name)
    }

    fn place(&self) -> SecretPlace {
        SecretPlace::Keychain
    }
}

/// Tells whether a passphrase is long enough for a new file.
///
/// # Errors
/// [`MoveFault::ShortPassphrase`].
pub fn check_passphrase(passphrase: &SecretString) -> Result<(), MoveFault> {
    if passphrase.expose_secret().chars().count() < MIN_PASSPHRASE_CHARS {
        return Err(MoveFault::ShortPassphrase);
    }
    Ok(())
}
