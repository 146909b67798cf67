//! Where this installation keeps its things, and who may touch them now: the running engine or we.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use drawbridge_engine::control::{Client, ControlError};
use drawbridge_os::folders::Folders;
use drawbridge_store::audit::{AuditKey, AuditPaths};
use drawbridge_store::secrets::{self, NoPlaceForSecrets, SecretStore as _, Secrets, entries};
use drawbridge_store::state_dir::{Owner, OwnerFault, StateDir};
use secrecy::ExposeSecret as _;

/// An engine that is starting or ending owns the folder for a moment without answering; so long do we wait for it.
const OWNER_WAIT: Duration = Duration::from_secs(5);
const OWNER_LOOK: Duration = Duration::from_millis(50);

/// The folders of this installation.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) folders: Folders,
}

/// Who may touch the state folder now.
pub(crate) enum Reach {
    /// An engine runs; it is asked.
    Running(Box<Client>),
    /// None runs, and none can start while this is held.
    Stopped(Owner),
}

/// Why there is no audit key to use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKey {
    /// The place that holds it.
    #[error(transparent)]
    Secrets(#[from] NoPlaceForSecrets),
    /// It could not be read.
    #[error(transparent)]
    Unreadable(#[from] secrets::SecretFault),
    /// What is stored is no key.
    #[error("the stored audit key is damaged, so nothing can be checked with it")]
    Damaged,
    /// None was made yet.
    #[error("there is no audit key here; the first start of Drawbridge makes one")]
    Missing,
}

/// The engine's answer does not fit the question: it is of another version. What it said may be secret.
pub(crate) fn odd_answer() -> anyhow::Error {
    anyhow::anyhow!("the running Drawbridge answered something else; it may be of another version, so start it again")
}

impl Place {
    pub(crate) fn from_env() -> anyhow::Result<Self> {
        Ok(Self { folders: Folders::from_env()? })
    }

    /// Tells whether anything was ever kept here. Reading commands must not make the folder.
    pub(crate) fn exists(&self) -> bool {
        self.folders.state.is_dir()
    }

    /// Connects to the running engine; none when there is none.
    ///
    /// # Errors
    /// When one runs and cannot be talked to.
    pub(crate) async fn engine(&self) -> anyhow::Result<Option<Client>> {
        if !self.exists() {
            return Ok(None);
        }
        let state = StateDir::open(&self.folders.state)?;
        match Client::connect(&state.control_socket()).await {
            Ok(client) => Ok(Some(client)),
            Err(ControlError::NotRunning) => Ok(None),
            Err(err) => Err(err.into()),
        }
    }

    /// Finds the running engine, or becomes the owner of the state folder, which is made if need be.
    ///
    /// # Errors
    /// When somebody owns the folder and does not answer.
    pub(crate) async fn reach(&self) -> anyhow::Result<Reach> {
        let state = StateDir::open(&self.folders.state)?;
        let give_up = tokio::time::Instant::now() + OWNER_WAIT;
        loop {
            if let Some(client) = self.engine().await? {
                return Ok(Reach::Running(Box::new(client)));
            }
            match state.lock() {
                Ok(owner) => return Ok(Reach::Stopped(owner)),
                Err(OwnerFault::Owned { pid, .. }) if tokio::time::Instant::now() >= give_up => {
                    let who = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
                    bail!("Drawbridge is running{who} and does not answer, so nothing was done; end it and try again");
                }
                Err(OwnerFault::Owned { .. }) => tokio::time::sleep(OWNER_LOOK).await,
                Err(fault @ OwnerFault::Lock(_)) => return Err(fault.into()),
            }
        }
    }

    /// Opens the place for secrets. Blocks for seconds at worst.
    pub(crate) fn secrets(&self) -> Result<Arc<Secrets>, NoPlaceForSecrets> {
        let keychain = secrets::keychain_of(&self.folders.state)
            .map_err(|fault| NoPlaceForSecrets::Nowhere { keychain: fault.to_string(), locked: false })?;
        secrets::open_secrets(&self.folders.state, secrets::passphrase_from_env(), &keychain)
    }

    /// Reads the audit key and never makes one.
    pub(crate) fn audit_key(&self) -> Result<(AuditKey, Arc<Secrets>), NoKey> {
        let secrets = self.secrets()?;
        let text = secrets.get(entries::AUDIT_KEY)?.ok_or(NoKey::Missing)?;
        let key = AuditKey::from_hex(text.expose_secret()).ok_or(NoKey::Damaged)?;
        Ok((key, secrets))
    }

    /// Returns where the audit log is.
    pub(crate) fn audit_paths(&self) -> AuditPaths {
        AuditPaths { log: self.folders.logs.join("audit.log"), state_dir: self.folders.state.clone() }
    }
}
