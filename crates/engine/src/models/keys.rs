//! Keys of model servers while the engine runs: read from the store of secrets when they are first wanted, changed there and here at once.
//! A keychain that is locked keeps no server from being asked: one that wants a key says so itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_caps::model::{KnownKey, ServerKey};
use drawbridge_store::model_keys::{self, ModelKeys};
use drawbridge_store::secrets::{SecretFault, SecretStore};
use secrecy::ExposeSecret as _;

/// The keys. They print themselves nowhere.
pub(crate) struct Keys {
    /// None keeps nothing.
    store: Option<Arc<dyn SecretStore>>,
    known: Mutex<Known>,
    /// One reads or writes at a time. Holds the addresses of keys that were to be forgotten and are still kept: none of them is used.
    turn: Mutex<BTreeSet<String>>,
}

enum Known {
    Unread,
    Read(ModelKeys),
    Unreadable,
}

impl Keys {
    /// Takes the store and reads nothing yet; without one there are no keys.
    pub(crate) fn new(store: Option<Arc<dyn SecretStore>>) -> Arc<Self> {
        Arc::new(Self { store, known: Mutex::new(Known::Unread), turn: Mutex::default() })
    }

    /// Makes keys of which nobody knows anything: what keeps them cannot be opened.
    pub(crate) fn unreadable() -> Arc<Self> {
        Arc::new(Self { store: None, known: Mutex::new(Known::Unreadable), turn: Mutex::default() })
    }

    /// Reads the keys unless that was done or failed already. Does not block, whatever the keychain does.
    pub(crate) async fn ready(self: &Arc<Self>) {
        if matches!(*self.lock(), Known::Unread) {
            let me = self.clone();
            // Whatever breaks off leaves them unread, and the next look tries again.
            let _ = tokio::task::spawn_blocking(move || me.read()).await;
        }
    }

    /// Lets the next look read them once more where they could not be read: the person asks for it.
    pub(crate) fn retry(&self) {
        let mut known = self.lock();
        if matches!(*known, Known::Unreadable) && self.store.is_some() {
            *known = Known::Unread;
        }
    }

    fn read(&self) {
        let owed = self.turn();
        if !matches!(*self.lock(), Known::Unread) {
            return;
        }
        let read = self.store.as_ref().map_or_else(|| Ok(ModelKeys::new()), |store| model_keys::read(store.as_ref()));
        *self.lock() = match read {
            Ok(mut keys) => {
                keys.retain(|url, _| !owed.contains(url));
                Known::Read(keys)
            }
            Err(fault) => {
                tracing::warn!(%fault, "the keys of model servers cannot be read");
                Known::Unreadable
            }
        };
    }

    /// Tells what is known of the key of a server, by its address as it is kept.
    pub(crate) fn of(&self, url: &str) -> KnownKey {
        match &*self.lock() {
            Known::Unread => KnownKey::None,
            Known::Unreadable => KnownKey::Unreadable,
            Known::Read(keys) => {
                let key = keys.get(url).and_then(|key| ServerKey::parse(key.expose_secret()).ok());
                key.map_or(KnownKey::None, KnownKey::Set)
            }
        }
    }

    /// Sets the key of a server or forgets it, durably, and what could not be forgotten before with it. Blocks for seconds at worst.
    ///
    /// # Errors
    /// [`SecretFault`]; a key that was to be forgotten is not used here any more all the same.
    pub(crate) fn set(&self, url: &str, key: Option<&ServerKey>) -> Result<(), SecretFault> {
        let mut owed = self.turn();
        if key.is_none() {
            let is_none = if let Known::Read(keys) = &mut *self.lock() { keys.remove(url).is_none() } else { false };
            if is_none && !owed.contains(url) {
                return Ok(());
            }
            owed.insert(url.to_owned());
        }
        let Some(store) = &self.store else { return Ok(()) };
        let mut left = None;
        while let Some(gone) = owed.first() {
            left = Some(model_keys::set(store.as_ref(), gone, None)?);
            owed.pop_first();
        }
        if let Some(key) = key {
            left = Some(model_keys::set(store.as_ref(), url, Some(key.secret()))?);
        }
        if let Some(left) = left {
            *self.lock() = Known::Read(left);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use drawbridge_store::secrets::SecretPlace;
    use secrecy::SecretString;

    use super::*;

    /// A keychain that can be locked.
    #[derive(Debug, Default)]
    struct Chain {
        entry: Mutex<Option<String>>,
        locked: AtomicBool,
    }

    impl Chain {
        fn open(&self) -> Result<MutexGuard<'_, Option<String>>, SecretFault> {
            if self.locked.load(Ordering::Acquire) {
                return Err(SecretFault::Io { path: PathBuf::from("chain"), why: "locked".to_owned() });
            }
            Ok(self.entry.lock().unwrap())
        }
    }

    impl SecretStore for Chain {
        fn get(&self, _: &str) -> Result<Option<SecretString>, SecretFault> {
            Ok(self.open()?.clone().map(SecretString::from))
        }

        fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
            let mut entry = self.open()?;
            *entry = values.first().map(|(_, value)| value.expose_secret().to_owned());
            Ok(())
        }

        fn delete(&self, _: &str) -> Result<(), SecretFault> {
            *self.open()? = None;
            Ok(())
        }

        fn place(&self) -> SecretPlace {
            SecretPlace::Keychain
        }
    }

    fn kind(keys: &Keys, url: &str) -> &'static str {
        match keys.of(url) {
            KnownKey::None => "none",
            KnownKey::Set(_) => "set",
            KnownKey::Unreadable => "unreadable",
        }
    }

    #[tokio::test]
    async fn a_keychain_that_is_locked_meanwhile_loses_nothing_and_is_read_once_it_is_open() {
        let chain = Arc::new(Chain::default());
        let key = ServerKey::parse("sk-one").unwrap();
        let first = Keys::new(Some(chain.clone()));
        first.ready().await;
        assert_eq!(kind(&first, "http://a"), "none");
        first.set("http://a", Some(&key)).unwrap();
        assert_eq!((kind(&first, "http://a"), kind(&first, "http://b")), ("set", "none"));

        chain.locked.store(true, Ordering::Release);
        assert!(first.set("http://b", Some(&key)).is_err());
        assert_eq!((kind(&first, "http://a"), kind(&first, "http://b")), ("set", "none"));
        let next = Keys::new(Some(chain.clone()));
        next.ready().await;
        assert_eq!(kind(&next, "http://a"), "unreadable");
        chain.locked.store(false, Ordering::Release);
        next.ready().await;
        assert_eq!(kind(&next, "http://a"), "unreadable", "nobody asked for it");
        next.retry();
        next.ready().await;
        assert_eq!(kind(&next, "http://a"), "set");

        chain.locked.store(true, Ordering::Release);
        assert!(next.set("http://a", None).is_err(), "it is still kept");
        assert_eq!(kind(&next, "http://a"), "none", "and is sent no more");
    }

    #[tokio::test]
    async fn what_could_not_be_forgotten_is_forgotten_once_the_keychain_is_open_and_never_used_meanwhile() {
        let key = ServerKey::parse("sk-one").unwrap();
        let locked = |chain: &Chain, on| chain.locked.store(on, Ordering::Release);
        for again in [true, false] {
            let chain = Arc::new(Chain::default());
            let keys = Keys::new(Some(chain.clone()));
            keys.set("http://a", Some(&key)).unwrap();
            keys.set("http://b", Some(&key)).unwrap();
            locked(&chain, true);
            assert!(keys.set("http://a", None).is_err());
            locked(&chain, false);

            if again {
                keys.set("http://a", None).unwrap();
            } else {
                keys.set("http://c", Some(&key)).unwrap();
            }

            assert_eq!((kind(&keys, "http://a"), kind(&keys, "http://b")), ("none", "set"));
            assert!(!chain.open().unwrap().as_ref().unwrap().contains("http://a"), "it is kept no more");
        }

        let chain = Arc::new(Chain::default());
        Keys::new(Some(chain.clone())).set("http://a", Some(&key)).unwrap();
        let keys = Keys::new(Some(chain.clone()));
        locked(&chain, true);
        assert!(keys.set("http://a", None).is_err());
        locked(&chain, false);
        keys.ready().await;
        assert_eq!(kind(&keys, "http://a"), "none", "nor was it read before");
    }
}
