//! Why an engine did not start, as the window shows it, and what may be done about it there.

use std::path::PathBuf;

use drawbridge_core::escape_outside_text;
use drawbridge_os::folders::Folders;
use drawbridge_os::keychain::{Keychain, KeychainFault};
use drawbridge_store::bindings::BindingsFault;
use drawbridge_store::secrets::{AuditKeyFault, NoPlaceForSecrets, SecretFault, SecretFile};

use super::aside::Aside;
use crate::engine::StartError;
use crate::handle::CommandError;
use crate::view::{GateKind, GateView};

/// What is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) kind: GateKind,
    /// A stable name for the answer to an attempt that led here.
    pub(super) code: &'static str,
    /// What happened, what it means, what to do: sentences.
    pub(super) message: String,
    /// The file or folder concerned.
    pub(super) path: Option<PathBuf>,
    pub(super) can_make_file: bool,
    pub(super) can_ask_keychain: bool,
    /// What may be set aside.
    pub(super) aside: Option<Aside>,
}

impl Trouble {
    pub(super) fn new(kind: GateKind, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, code, message, path: None, can_make_file: false, can_ask_keychain: false, aside: None }
    }

    /// Something that only the person can mend, outside of the program.
    pub(super) fn other(fault: &dyn std::fmt::Display) -> Self {
        let message = format!(
            "{} Nothing was connected and no agent can act. Repair this, then try again.",
            sentence(&fault.to_string())
        );
        Self::new(GateKind::Other, "not_started", message)
    }

    fn at(self, path: PathBuf) -> Self {
        Self { path: Some(path), ..self }
    }

    fn with(self, aside: Aside) -> Self {
        Self { aside: Some(aside), ..self }
    }

    /// Waiting may help: the keychain can be opened or come up meanwhile.
    pub(super) fn waits_for_keychain(&self) -> bool {
        matches!(self.kind, GateKind::KeychainLocked | GateKind::NoKeychain)
    }

    pub(super) fn view(&self, problem: Option<&CommandError>, busy: bool) -> GateView {
        GateView {
            kind: self.kind,
            message: escape_outside_text(&self.message),
            path: self.path.as_ref().map(|path| escape_outside_text(&path.display().to_string())),
            can_make_file: self.can_make_file,
            can_set_aside: self.aside.is_some(),
            can_ask_keychain: self.can_ask_keychain,
            problem: problem.map(|problem| escape_outside_text(&problem.message)),
            problem_code: problem.map(|problem| problem.code.clone()),
            busy,
        }
    }
}

/// Says what an engine's fault means here.
pub(super) fn trouble_of(fault: &StartError, folders: &Folders) -> Trouble {
    match fault {
        StartError::Secrets(fault) => of_secrets(fault, folders),
        StartError::AuditKey(fault) => of_audit_key(fault, folders),
        StartError::Bindings(fault @ BindingsFault::Broken { path, .. }) => {
            Trouble::new(GateKind::BrokenFile, "broken_file", sentence(&fault.to_string()))
                .at(path.clone())
                .with(Aside::Bindings(path.clone()))
        }
        StartError::Owner(_)
        | StartError::StateDir(_)
        | StartError::Audit(_)
        | StartError::PlatformUrl(_)
        | StartError::Platform(_)
        | StartError::Net(_)
        | StartError::Bindings(BindingsFault::Io { .. })
        | StartError::Root { .. }
        | StartError::Machine(_)
        | StartError::Account(_)
        | StartError::NotSignedIn
        | StartError::SignedInElsewhere(_)
        | StartError::NoScreen { .. }
        | StartError::System { .. } => Trouble::other(fault),
    }
}

fn of_secrets(fault: &NoPlaceForSecrets, folders: &Folders) -> Trouble {
    match fault {
        NoPlaceForSecrets::Nowhere { keychain, locked } => no_keychain(keychain, *locked, folders),
        NoPlaceForSecrets::PassphraseMissing(path) => passphrase_wanted(path.clone(), "passphrase_wanted"),
        NoPlaceForSecrets::File(SecretFault::WrongPassphrase(path)) => {
            passphrase_wanted(path.clone(), "wrong_passphrase")
        }
        NoPlaceForSecrets::File(fault @ (SecretFault::Damaged { path, .. } | SecretFault::Newer { path, .. })) => {
            Trouble::new(GateKind::BrokenFile, "broken_file", sentence(&fault.to_string()))
                .at(path.clone())
                .with(Aside::SecretFile)
        }
        NoPlaceForSecrets::File(fault) => of_store(fault, folders),
    }
}

fn of_audit_key(fault: &AuditKeyFault, folders: &Folders) -> Trouble {
    let log = folders.logs.join("audit.log");
    match fault {
        AuditKeyFault::Store(fault) => of_store(fault, folders),
        AuditKeyFault::MissingBesideLog(_) => {
            Trouble::new(GateKind::BrokenFile, "broken_file", sentence(&fault.to_string()))
                .at(log)
                .with(Aside::AuditLog)
        }
        AuditKeyFault::Damaged => Trouble::new(GateKind::BrokenFile, "broken_file", sentence(&fault.to_string()))
            .at(log)
            .with(Aside::AuditKey),
        AuditKeyFault::NoRandom => Trouble::other(fault),
    }
}

fn of_store(fault: &SecretFault, folders: &Folders) -> Trouble {
    match fault {
        SecretFault::Keychain(fault) => {
            no_keychain(&fault.to_string(), matches!(fault, KeychainFault::Locked), folders)
        }
        SecretFault::WrongPassphrase(path) => passphrase_wanted(path.clone(), "wrong_passphrase"),
        SecretFault::Io { path, .. } => Trouble { path: Some(path.clone()), ..Trouble::other(fault) },
        SecretFault::Damaged { .. } | SecretFault::Newer { .. } | SecretFault::Moved(_) => Trouble::other(fault),
    }
}

/// A log that is there already has its key in the keychain: a new file beside it could not go on with that log, so the log has
/// to be set aside first, by a step of its own.
fn no_keychain(why: &str, locked: bool, folders: &Folders) -> Trouble {
    let log = folders.logs.join("audit.log");
    let has_log = log.symlink_metadata().is_ok();
    let has_file = SecretFile::path(&folders.state).symlink_metadata().is_ok();
    let (kind, code, message) = if locked {
        let message = "The keychain of this computer is locked, and your sign-in and the key of the audit log are kept in \
                       it. Nothing was connected and no agent can act. Unlock the keychain; Drawbridge goes on by itself.";
        (GateKind::KeychainLocked, "keychain_locked", message.to_owned())
    } else {
        let message = format!(
            "{} Your sign-in must not lie in a plain file, so Drawbridge needs a keychain or an encrypted file under a \
             passphrase. Nothing was connected and no agent can act.",
            sentence(why)
        );
        (GateKind::NoKeychain, "no_keychain", message)
    };
    Trouble {
        can_make_file: !has_log && !has_file,
        can_ask_keychain: locked && Keychain::can_ask(),
        aside: (has_log && !has_file).then_some(Aside::AuditLog),
        path: has_log.then_some(log),
        ..Trouble::new(kind, code, message)
    }
}

fn passphrase_wanted(path: PathBuf, code: &'static str) -> Trouble {
    let message = "Your sign-in and the key of the audit log are in an encrypted file, and only its passphrase opens it. \
                   Nothing was connected and no agent can act until then.";
    Trouble::new(GateKind::PassphraseWanted, code, message).at(path).with(Aside::SecretFile)
}

/// Makes a fault's words a sentence.
pub(super) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if words.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
