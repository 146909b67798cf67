//! Keys of model servers, in the store of secrets and nowhere else: one entry that maps the address of a server to its key.
//!
//! One entry, since every move of secrets must know by name all that there can be. They belong to the state folder: a server is the same
//! whichever account is in use. Whether an address or a key is any good is not decided here.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use zeroize::{Zeroize, Zeroizing};

use crate::secrets::{SecretFault, SecretStore, entries};

/// Keys by the addresses of their servers.
pub type ModelKeys = BTreeMap<String, SecretString>;

/// Reads all keys. An entry that makes no sense counts as none: keys can be set anew. May block for seconds.
///
/// # Errors
/// [`SecretFault`] when the place of secrets cannot be read.
pub fn read(store: &dyn SecretStore) -> Result<ModelKeys, SecretFault> {
    let Some(text) = store.get(entries::MODEL_KEYS)? else { return Ok(ModelKeys::new()) };
    match serde_json::from_str::<BTreeMap<String, String>>(text.expose_secret()) {
        Ok(keys) => Ok(keys.into_iter().map(|(url, key)| (url, SecretString::from(key))).collect()),
        Err(_) => {
            tracing::warn!("the kept keys of model servers make no sense, so none is used; set them once more");
            Ok(ModelKeys::new())
        }
    }
}

/// Sets the key of a server, or forgets it, and returns all that are left. The caller sees to it that nobody else does so at the same
/// time. May block for seconds.
///
/// # Errors
/// [`SecretFault`]; the keys are as they were then.
pub fn set(store: &dyn SecretStore, url: &str, key: Option<&SecretString>) -> Result<ModelKeys, SecretFault> {
    let mut keys = read(store)?;
    let changed = match key {
        Some(key) => {
            keys.insert(url.to_owned(), key.clone());
            true
        }
        None => keys.remove(url).is_some(),
    };
    if !changed {
        return Ok(keys);
    }
    if keys.is_empty() {
        store.delete(entries::MODEL_KEYS)?;
    } else {
        store.set(entries::MODEL_KEYS, &text_of(&keys))?;
    }
    Ok(keys)
}

fn text_of(keys: &ModelKeys) -> SecretString {
    let mut plain: BTreeMap<&str, String> =
        keys.iter().map(|(url, key)| (url.as_str(), key.expose_secret().to_owned())).collect();
    // Text by text is always JSON.
    let text = Zeroizing::new(serde_json::to_string(&plain).unwrap_or_default());
    plain.values_mut().for_each(Zeroize::zeroize);
    SecretString::from(text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::SecretFile;

    fn file(dir: &tempfile::TempDir) -> SecretFile {
        SecretFile::open(dir.path(), SecretString::from("a long passphrase")).unwrap()
    }

    fn shown(keys: &ModelKeys) -> Vec<(&str, &str)> {
        keys.iter().map(|(url, key)| (url.as_str(), key.expose_secret())).collect()
    }

    #[test]
    fn each_server_has_its_key_until_it_is_forgotten_and_nothing_is_left_of_the_last_one() {
        let dir = tempfile::TempDir::new().unwrap();
        let store = file(&dir);
        assert!(read(&store).unwrap().is_empty());
        let key = |text: &str| SecretString::from(text);

        set(&store, "http://a", Some(&key("one"))).unwrap();
        set(&store, "http://b", Some(&key("two"))).unwrap();
        set(&store, "http://a", Some(&key("three"))).unwrap();
        let again = file(&dir);
        assert_eq!(shown(&read(&again).unwrap()), [("http://a", "three"), ("http://b", "two")]);

        assert_eq!(shown(&set(&again, "http://a", None).unwrap()), [("http://b", "two")]);
        assert_eq!(shown(&set(&again, "http://unknown", None).unwrap()), [("http://b", "two")]);
        assert!(set(&again, "http://b", None).unwrap().is_empty());
        assert!(again.get(entries::MODEL_KEYS).unwrap().is_none());
    }

    #[test]
    fn an_entry_without_sense_is_none_and_can_be_set_anew() {
        let dir = tempfile::TempDir::new().unwrap();
        let store = file(&dir);
        store.set(entries::MODEL_KEYS, &SecretString::from("[1, 2")).unwrap();
        assert!(read(&store).unwrap().is_empty());

        set(&store, "http://a", Some(&SecretString::from("one"))).unwrap();

        assert_eq!(shown(&read(&store).unwrap()), [("http://a", "one")]);
        assert!(entries::all([]).contains(&entries::MODEL_KEYS.to_owned()), "a move takes them along");
    }
}
