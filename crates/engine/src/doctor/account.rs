//! Secrets, sign-in and the audit log. A running engine is asked; without one the place for secrets is opened for a moment.

use std::sync::Arc;

use drawbridge_core::{Clock as _, SystemClock};
use drawbridge_os::keychain::{KeychainFault, KeychainState};
use drawbridge_store::audit::{self, AuditKey, AuditPaths, HeadCopy};
use drawbridge_store::secrets::{self, NoPlaceForSecrets, SecretFault, SecretFile, SecretPlace, SecretStore, entries};
use secrecy::ExposeSecret as _;

use super::door::{Asked, Door};
use super::{AUDIT, Finding, FindingState, Input, SECRETS, limit, words};
use crate::account::TokenVault as _;
use crate::view::{AccountState, Snapshot};
use crate::{Command, Reply};

pub(super) async fn findings(input: &Arc<Input>, door: &Door) -> Vec<Finding> {
    let Door::Running(snapshot, asked) = door else {
        let input = Arc::clone(input);
        return limit::within(SECRETS + AUDIT, "secrets", "", move || without_engine(&input)).await;
    };
    let its_input = Arc::clone(input);
    let from_keychain = snapshot.secrets.place != "file";
    let look = move || secrets_in_use(&its_input, from_keychain);
    let secrets = limit::within(SECRETS, "secrets", "in use", look).await;
    // A keychain that is not open would ask the person, and one that does not answer is given up by the engine for good.
    let audit = if secrets.iter().all(|one| one.state == FindingState::Ok) {
        audit_by_engine(snapshot, asked).await
    } else {
        Finding::info("audit_log", &words::AUDIT_UNTRIED, &[])
    };
    secrets.into_iter().chain([signed_in(&snapshot.account.state), audit]).collect()
}

/// The engine has opened the place. A keychain may have been locked since.
fn secrets_in_use(input: &Input, from_keychain: bool) -> Vec<Finding> {
    let file = SecretFile::path(&input.folders.state);
    if !from_keychain || file.symlink_metadata().is_ok() {
        return vec![Finding::ok("secrets", &words::SECRETS_FILE, &[])];
    }
    vec![match secrets::keychain_of(&input.folders.state).map(|keychain| keychain.probe()) {
        Ok(KeychainState::Ready) => Finding::ok("secrets", &words::SECRETS_KEYCHAIN, &[]),
        Ok(KeychainState::Locked | KeychainState::None { .. }) => Finding::fail("secrets", &words::SECRETS_LOST, &[]),
        Err(fault) => Finding::fail("secrets", &words::SECRETS_UNUSABLE, &[("why", &fault)]),
    }]
}

fn signed_in(state: &AccountState) -> Finding {
    const CHECK: &str = "sign_in";
    match state {
        AccountState::SignedIn => Finding::ok(CHECK, &words::SIGN_IN_HERE, &[]),
        AccountState::SigningIn => Finding::info(CHECK, &words::SIGN_IN_UNDER_WAY, &[]),
        AccountState::SignedOut => Finding::warn(CHECK, &words::SIGN_IN_NONE, &[]).with_action("sign_in"),
        AccountState::Expired => Finding::fail(CHECK, &words::SIGN_IN_EXPIRED, &[]).with_action("sign_in"),
        AccountState::Refused => Finding::fail(CHECK, &words::SIGN_IN_REFUSED, &[]).with_action("sign_in"),
    }
}

async fn audit_by_engine(snapshot: &Snapshot, asked: &Asked) -> Finding {
    const CHECK: &str = "audit_log";
    if snapshot.audit.unavailable {
        return Finding::fail(CHECK, &words::AUDIT_NOT_WRITTEN, &[]).with_action("open_state_folder");
    }
    let Ok(answer) = tokio::time::timeout(AUDIT, asked.send(Command::AuditVerify)).await else {
        return limit::silent(CHECK, AUDIT);
    };
    match answer {
        Ok(Reply::Verified { report }) if report.sound => {
            Finding::ok(CHECK, &words::AUDIT_SOUND_ALL, &[("records", &report.records), ("files", &report.files)])
        }
        Ok(Reply::Verified { report }) => {
            let first = report.findings.first().map(|one| format!("{}, {}", one.label, one.value)).unwrap_or_default();
            broken(report.findings.len(), &first)
        }
        Ok(_) => {
            Finding::fail(CHECK, &words::AUDIT_UNREADABLE, &[("why", &"the running Drawbridge is of another version")])
        }
        Err(why) => Finding::fail(CHECK, &words::AUDIT_UNREADABLE, &[("why", &why)]),
    }
}

fn broken(count: usize, first: &str) -> Finding {
    Finding::fail("audit_log", &words::AUDIT_BROKEN, &[("count", &count), ("first", &first)])
        .with_action("open_state_folder")
}

fn without_engine(input: &Input) -> Vec<Finding> {
    match open(input) {
        Err(finding) => vec![*finding],
        Ok(store) => {
            let words = match store.place() {
                SecretPlace::Keychain => &words::SECRETS_KEYCHAIN,
                SecretPlace::File if SecretFile::path(&input.folders.state).exists() => &words::SECRETS_FILE,
                SecretPlace::File => &words::SECRETS_FILE_LATER,
            };
            vec![Finding::ok("secrets", words, &[]), tokens(input, &store), log(input, store.as_ref())]
        }
    }
}

/// Opens the place for secrets, or says why not. Never makes a file.
fn open(input: &Input) -> Result<Arc<dyn SecretStore>, Box<Finding>> {
    const CHECK: &str = "secrets";
    let unusable = |why: &dyn std::fmt::Display| Finding::fail(CHECK, &words::SECRETS_UNUSABLE, &[("why", why)]);
    let state = &input.folders.state;
    let keychain = secrets::keychain_of(state).map_err(|fault| Box::new(unusable(&fault)))?;
    let opened = secrets::open_secrets(state, input.passphrase.clone(), &keychain);
    let finding = |fault| match fault {
        NoPlaceForSecrets::Nowhere { locked: true, .. } => Finding::fail(CHECK, &words::SECRETS_LOCKED, &[]),
        NoPlaceForSecrets::Nowhere { keychain, .. } if keychain == KeychainFault::NoAnswer.to_string() => {
            Finding::fail(CHECK, &words::SECRETS_SILENT, &[])
        }
        NoPlaceForSecrets::Nowhere { keychain, .. } => {
            Finding::fail(CHECK, &words::SECRETS_NONE, &[("why", &keychain)])
        }
        NoPlaceForSecrets::PassphraseMissing(path) => {
            Finding::fail(CHECK, &words::SECRETS_NO_PASSPHRASE, &[("path", &path.display())])
        }
        NoPlaceForSecrets::File(SecretFault::WrongPassphrase(path)) => {
            Finding::fail(CHECK, &words::SECRETS_WRONG, &[("path", &path.display())])
        }
        NoPlaceForSecrets::File(fault) => unusable(&fault),
    };
    opened.map(|store| -> Arc<dyn SecretStore> { store }).map_err(|fault| Box::new(finding(fault)))
}

/// The tokens of the account that a start uses are there, or not. Whether the platform takes them only a start shows.
fn tokens(input: &Input, store: &Arc<dyn SecretStore>) -> Finding {
    // An address that cannot be used is said by its own check.
    let Ok(chosen) = input.chosen() else { return signed_in(&AccountState::SignedOut) };
    match chosen.vault(Arc::clone(store), &input.folders.state).load() {
        Ok(Some(tokens)) if tokens.has_run_out(SystemClock.wall(), true) => signed_in(&AccountState::Expired),
        Ok(Some(_)) => signed_in(&AccountState::SignedIn),
        Ok(None) => signed_in(&AccountState::SignedOut),
        Err(fault) => Finding::fail("sign_in", &words::SIGN_IN_UNREADABLE, &[("why", &fault)]),
    }
}

/// The current file against its chain; `drawbridge audit verify-all` reads the older ones, too.
fn log(input: &Input, store: &dyn SecretStore) -> Finding {
    const CHECK: &str = "audit_log";
    let folders = &input.folders;
    let paths = AuditPaths { log: folders.logs.join("audit.log"), state_dir: folders.state.clone() };
    let path = paths.log.display();
    if !paths.log.exists() {
        return Finding::info(CHECK, &words::AUDIT_LATER, &[("path", &path)]);
    }
    let no_key = |why: &dyn std::fmt::Display| Finding::fail(CHECK, &words::AUDIT_NO_KEY, &[("why", why)]);
    let text = match store.get(entries::AUDIT_KEY) {
        Ok(Some(text)) => text,
        Ok(None) => return no_key(&"none is stored"),
        Err(fault) => return no_key(&fault),
    };
    let Some(key) = AuditKey::from_hex(text.expose_secret()) else { return no_key(&"what is stored is damaged") };
    match audit::verify(&paths, &key, HeadCopy::In(store), false) {
        Ok(report) if report.is_sound() => Finding::ok(CHECK, &words::AUDIT_SOUND, &[("path", &path)]),
        Ok(report) => {
            let first = report.findings.first().map(ToString::to_string).unwrap_or_default();
            broken(report.findings.len(), &first)
        }
        Err(fault) => Finding::fail(CHECK, &words::AUDIT_UNREADABLE, &[("why", &fault)]),
    }
}
