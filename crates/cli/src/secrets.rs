//! Where secrets rest, and moving them. Only while no engine runs: a running one has them in its hands, and its window moves
//! them.

use std::io::ErrorKind;

use anyhow::bail;
use drawbridge_core::escape_outside_text;
use drawbridge_engine::accounts;
use drawbridge_os::keychain::KeychainState;
use drawbridge_os::terminal;
use drawbridge_store::secrets::{self, MoveFault, SecretFile, SecretPlace, SecretStore as _, Secrets, entries};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::args::SecretsVerb;
use crate::coded::{CONFIGURATION, coded};
use crate::out;
use crate::place::{Place, Reach};

pub(crate) async fn run(verb: SecretsVerb) -> anyhow::Result<u8> {
    match verb {
        SecretsVerb::Show { json } => show(json).await,
        SecretsVerb::Move { to } => move_to(to.into()).await,
    }
}

async fn show(as_json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let running = match place.engine().await? {
        Some(mut client) => Some(client.snapshot().await?.secrets.place).filter(|place| !place.is_empty()),
        None => None,
    };
    let file = SecretFile::path(&place.folders.state);
    let in_file = running.as_deref().map_or_else(|| file.symlink_metadata().is_ok(), |place| place == "file");
    if in_file {
        let shown = escape_outside_text(&file.display().to_string());
        let words = format!("secrets are in the encrypted file {shown}");
        out::line(&if as_json { json!({ "place": "file", "path": shown }).to_string() } else { words })?;
        return Ok(0);
    }
    let keychain = secrets::keychain_of(&place.folders.state)?;
    let state = tokio::task::spawn_blocking(move || keychain.probe()).await?;
    let (name, words) = match state {
        KeychainState::Ready => ("ready", "secrets are in the keychain of this computer".to_owned()),
        KeychainState::Locked => ("locked", "secrets are in the keychain of this computer, which is locked".to_owned()),
        KeychainState::None { why } => {
            ("none", format!("there is no place for secrets: {}", escape_outside_text(&why)))
        }
    };
    let place = if name == "none" { None } else { Some("keychain") };
    out::line(&if as_json { json!({ "place": place, "keychain": name }).to_string() } else { words })?;
    Ok(0)
}

async fn move_to(to: SecretPlace) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let owner = match place.reach().await? {
        Reach::Stopped(owner) => owner,
        Reach::Running(_) => bail!(
            "Drawbridge is running and uses its secrets, so nothing was moved; move them in its window under Settings, or \
             end it first"
        ),
    };
    let moved = tokio::task::spawn_blocking(move || {
        // Held to the end: no engine may start in between.
        let _owner = owner;
        move_stopped(&place, to)
    });
    moved.await?
}

fn move_stopped(place: &Place, to: SecretPlace) -> anyhow::Result<u8> {
    let book = accounts::open_book(&place.folders.state);
    if let Some(fault) = book.trouble() {
        bail!("{fault}; nobody knows which secrets there are, so nothing was moved");
    }
    let ids = book.ids();
    let names = entries::all(ids.iter().map(String::as_str));
    let in_file = SecretFile::path(&place.folders.state).symlink_metadata().is_ok();
    if in_file == (to == SecretPlace::File) {
        bail!("{}", MoveFault::There);
    }
    let passphrase = passphrase(in_file)?;
    let store = open(place, in_file.then(|| passphrase.clone()))?;
    if let Some(why) = store.tidy(&names) {
        out::complain(&format!("an earlier move left entries behind that cannot be taken away yet: {why}"));
    }
    let moved = match to {
        SecretPlace::File => store.move_to_file(passphrase, &names),
        SecretPlace::Keychain => store.move_to_keychain(&names),
    };
    let moved = moved.map_err(|fault| match fault {
        MoveFault::There | MoveFault::Different => fault.into(),
        MoveFault::ShortPassphrase | MoveFault::NoKeychain { .. } | MoveFault::Store(_) | MoveFault::Mark(_) => {
            coded(CONFIGURATION, fault)
        }
    })?;
    if let Some(why) = moved.left {
        out::complain(&format!("the keychain still holds some of them ({why}); the next start takes them away"));
    }
    out::line(match store.place() {
        SecretPlace::File => "the secrets are in the encrypted file now; each start needs its passphrase",
        SecretPlace::Keychain => "the secrets are in the keychain now; the encrypted file is gone",
    })?;
    Ok(0)
}

fn open(place: &Place, passphrase: Option<SecretString>) -> anyhow::Result<std::sync::Arc<Secrets>> {
    let keychain = secrets::keychain_of(&place.folders.state)?;
    secrets::open_secrets(&place.folders.state, passphrase, &keychain).map_err(|fault| coded(CONFIGURATION, fault))
}

/// The passphrase of the file that is there, or of the one to be made: from the environment, or asked for on the terminal.
fn passphrase(there: bool) -> anyhow::Result<SecretString> {
    if let Some(passphrase) = secrets::passphrase_from_env() {
        return Ok(passphrase);
    }
    let first = ask(if there { "Passphrase: " } else { "New passphrase: " })?;
    if there {
        return Ok(first);
    }
    // Before the second question: nobody should type it twice in vain.
    secrets::check_passphrase(&first).map_err(|fault| coded(CONFIGURATION, fault))?;
    if ask("The same again: ")?.expose_secret() != first.expose_secret() {
        bail!("the two are not the same, so nothing was moved");
    }
    Ok(first)
}

fn ask(question: &str) -> anyhow::Result<SecretString> {
    match terminal::ask_hidden(question) {
        Ok(answer) if answer.is_empty() => bail!("no passphrase was typed, so nothing was moved"),
        Ok(answer) => Ok(SecretString::from(answer)),
        Err(fault) if fault.kind() == ErrorKind::Interrupted => bail!("nothing was moved"),
        Err(fault) => Err(coded(
            CONFIGURATION,
            anyhow::anyhow!("{fault}; set DRAWBRIDGE_KEYCHAIN_PASSPHRASE to the passphrase of the encrypted file"),
        )),
    }
}
