//! The system's keychain: Keychain Services, Credential Manager, or the Secret Service over D-Bus (spec 2.1).
//!
//! Every call runs on a thread of its own with a time limit, since a locked keychain may wait for a prompt nobody sees.
//! Once a call did not come back, the keychain counts as not answering for the rest of this run: no thread piles up.
//! Nothing here decides what is kept, and nothing falls back to another place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

#[cfg(target_os = "linux")]
mod secret_service;

/// How long one call may take.
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// How long the person may take to answer the keychain's own question.
const PERSON_LIMIT: Duration = Duration::from_secs(120);
/// How long the first look may take; a start must not wait longer.
const PROBE_LIMIT: Duration = Duration::from_millis(2500);

/// What the first look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeychainState {
    /// It can be used now.
    Ready,
    /// It is there and wants the person first.
    Locked,
    /// There is none, or it does not answer; with the reason in words.
    None {
        /// Why.
        why: String,
    },
}

/// Why a call to the keychain failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeychainFault {
    /// Locked, or the person refused.
    #[error("the keychain of this computer is locked; unlock it and try again")]
    Locked,
    /// No answer in time.
    #[error("the keychain of this computer does not answer")]
    NoAnswer,
    /// Something else.
    #[error("the keychain of this computer cannot be used: {0}")]
    Failed(String),
}

/// Entries of one service in the keychain. Clones share the memory of a keychain that did not answer.
#[derive(Debug, Clone)]
pub struct Keychain {
    service: Arc<str>,
    silent: Arc<AtomicBool>,
}

impl Keychain {
    /// Names the service. Touches nothing yet.
    #[must_use]
    pub fn for_service(service: &str) -> Self {
        Self { service: service.into(), silent: Arc::new(AtomicBool::new(false)) }
    }

    /// Uses the keychain no more in this run: every call answers [`KeychainFault::NoAnswer`] at once.
    pub fn give_up(&self) {
        self.silent.store(true, Ordering::Release);
    }

    /// Looks whether the keychain can be used, without asking the person anything. Takes 2.5 s at most.
    #[must_use]
    pub fn probe(&self) -> KeychainState {
        match self.within(PROBE_LIMIT, probe) {
            Ok(state) => state,
            Err(KeychainFault::Locked) => KeychainState::Locked,
            Err(fault) => KeychainState::None { why: fault.to_string() },
        }
    }

    /// Asks the person to open the keychain, by the keychain's own dialog, and to make one where there is none yet. Only where
    /// [`Keychain::can_ask`]; elsewhere it only looks. Takes as long as the person does, two minutes at most.
    ///
    /// # Errors
    /// [`KeychainFault`]; [`KeychainFault::Locked`] when the person said no.
    pub fn ask_to_open(&self) -> Result<KeychainState, KeychainFault> {
        self.within(PERSON_LIMIT, ask_to_open)
    }

    /// Tells whether this system's keychain can be asked to show its own dialog.
    #[must_use]
    pub const fn can_ask() -> bool {
        cfg!(target_os = "linux")
    }

    /// Reads an entry; none when it was never set. Takes 5 s at most.
    ///
    /// # Errors
    /// [`KeychainFault`].
    pub fn get(&self, name: &str) -> Result<Option<String>, KeychainFault> {
        self.with_entry(name, |entry| match entry.get_password() {
            Ok(text) => Ok(Some(text)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(err) => Err(err),
        })
    }

    /// Writes an entry. Takes 5 s at most.
    ///
    /// # Errors
    /// [`KeychainFault`].
    pub fn set(&self, name: &str, value: &str) -> Result<(), KeychainFault> {
        let value = value.to_owned();
        self.with_entry(name, move |entry| entry.set_password(&value))
    }

    /// Removes an entry; one that is missing is fine. Takes 5 s at most.
    ///
    /// # Errors
    /// [`KeychainFault`].
    pub fn delete(&self, name: &str) -> Result<(), KeychainFault> {
        self.with_entry(name, |entry| match entry.delete_credential() {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(err) => Err(err),
        })
    }

    fn with_entry<T: Send + 'static>(
        &self,
        name: &str,
        call: impl FnOnce(&keyring::Entry) -> keyring::Result<T> + Send + 'static,
    ) -> Result<T, KeychainFault> {
        let (service, name) = (self.service.clone(), name.to_owned());
        self.within(CALL_LIMIT, move || {
            let entry = keyring::Entry::new(&service, &name).map_err(|err| fault(&err))?;
            call(&entry).map_err(|err| fault(&err))
        })
    }

    fn within<T: Send + 'static>(
        &self,
        limit: Duration,
        call: impl FnOnce() -> Result<T, KeychainFault> + Send + 'static,
    ) -> Result<T, KeychainFault> {
        if self.silent.load(Ordering::Acquire) {
            return Err(KeychainFault::NoAnswer);
        }
        let (answer, answered) = sync_channel(1);
        let thread = std::thread::Builder::new().name("keychain".to_owned()).spawn(move || {
            // Nobody waits any more when the limit has passed.
            let _ = answer.send(call());
        });
        if let Err(err) = thread {
            return Err(KeychainFault::Failed(format!("no thread could be started: {err}")));
        }
        match answered.recv_timeout(limit) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                self.give_up();
                Err(KeychainFault::NoAnswer)
            }
            // The thread died in a library; that is the library's fault, and an answer of a kind.
            Err(RecvTimeoutError::Disconnected) => Err(KeychainFault::Failed("its library failed".to_owned())),
        }
    }
}

#[cfg(target_os = "linux")]
fn probe() -> Result<KeychainState, KeychainFault> {
    Ok(secret_service::probe())
}

#[cfg(target_os = "linux")]
fn ask_to_open() -> Result<KeychainState, KeychainFault> {
    secret_service::ask_to_open()
}

#[cfg(not(target_os = "linux"))]
fn ask_to_open() -> Result<KeychainState, KeychainFault> {
    probe()
}

#[cfg(not(target_os = "linux"))]
fn probe() -> Result<KeychainState, KeychainFault> {
    match keyring::Entry::store_status() {
        Ok(()) => Ok(KeychainState::Ready),
        Err(err) => Err(fault(err)),
    }
}

/// Only the kind of a fault is told on: its details may hold what was being stored.
fn fault(err: &keyring::Error) -> KeychainFault {
    use keyring::Error;
    match err {
        Error::NoStorageAccess(_) => KeychainFault::Locked,
        Error::PlatformFailure(err) => KeychainFault::Failed(err.to_string()),
        Error::NoDefaultStore => KeychainFault::Failed("there is none".to_owned()),
        Error::BadEncoding(_) | Error::BadDataFormat(..) | Error::BadStoreFormat(_) => {
            KeychainFault::Failed("an entry is damaged".to_owned())
        }
        Error::Ambiguous(_) => KeychainFault::Failed("an entry is there twice".to_owned()),
        Error::TooLong(..) => KeychainFault::Failed("an entry is too long for it".to_owned()),
        Error::NoEntry | Error::Invalid(..) | Error::NotSupportedByStore(_) | _ => {
            KeychainFault::Failed("it refused the request".to_owned())
        }
    }
}
