//! Why an engine did not start.

use std::path::PathBuf;

use drawbridge_os::machine::UnsupportedMachine;
use drawbridge_os::root::RootFault;
use drawbridge_store::audit::AuditFault;
use drawbridge_store::bindings::BindingsFault;
use drawbridge_store::secrets::{AuditKeyFault, NoPlaceForSecrets};
use drawbridge_store::state_dir::{OwnerFault, StateDirFault};

use crate::account::{AccountError, PlatformUrlFault};
use crate::managed::PlatformNotAllowed;
use crate::net::NetFault;

/// Why an engine did not start. Nothing was dialled and nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process owns the state folder.
    #[error(transparent)]
    Owner(#[from] OwnerFault),
    /// The state folder cannot be used.
    #[error(transparent)]
    StateDir(#[from] StateDirFault),
    /// No place for secrets.
    #[error(transparent)]
    Secrets(#[from] NoPlaceForSecrets),
    /// No audit key.
    #[error("the audit log cannot be kept: {0}")]
    AuditKey(#[from] AuditKeyFault),
    /// The audit log cannot be opened.
    #[error(transparent)]
    Audit(#[from] AuditFault),
    /// The platform's address cannot be used.
    #[error(transparent)]
    PlatformUrl(#[from] PlatformUrlFault),
    /// The organisation does not allow the platform.
    #[error(transparent)]
    Platform(#[from] PlatformNotAllowed),
    /// The network cannot be used as it is configured.
    #[error(transparent)]
    Net(#[from] NetFault),
    /// The list of attachments cannot be read.
    #[error(transparent)]
    Bindings(#[from] BindingsFault),
    /// The folder of a data link cannot be used.
    #[error("the folder {} cannot be used: {fault}", .path.display())]
    Root {
        /// The folder.
        path: PathBuf,
        /// Why.
        fault: RootFault,
    },
    /// A kind of machine that the protocol does not know.
    #[error(transparent)]
    Machine(#[from] UnsupportedMachine),
    /// The stored tokens cannot be read.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Nobody is signed in.
    #[error("you are not signed in, so there is nothing to connect to; run `drawbridge auth` first")]
    NotSignedIn,
    /// The sign-in that is kept is for another platform.
    #[error("{0}")]
    SignedInElsewhere(AccountError),
    /// The screen was asked for, and nothing of it can be seen or used here.
    #[error("computer use was asked for and cannot be had here: {why}; {hint}")]
    NoScreen {
        /// Why.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// Something of the system.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        why: String,
    },
}

impl StartError {
    /// Returns the exit code of `drawbridge start` (`cli.md`).
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NotSignedIn | Self::SignedInElsewhere(_) => 77,
            Self::Owner(OwnerFault::Owned { .. }) => 1,
            Self::Owner(OwnerFault::Lock(_))
            | Self::StateDir(_)
            | Self::Secrets(_)
            | Self::AuditKey(_)
            | Self::Audit(_)
            | Self::PlatformUrl(_)
            | Self::Platform(_)
            | Self::Net(_)
            | Self::Bindings(_)
            | Self::Root { .. }
            | Self::Machine(_)
            | Self::Account(_)
            | Self::NoScreen { .. }
            | Self::System { .. } => 78,
        }
    }
}
