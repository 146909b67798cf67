//! Keys of model servers on the command line: taken from standard input or a terminal that does not show them, never from a word of the
//! command, and changed in the store of secrets only while no engine runs.

use std::io::{self, ErrorKind, IsTerminal as _, Read as _};

use anyhow::{Context as _, bail};
use drawbridge_engine::{Command, ConfiguredModels, checked_key, key_address, known_server};
use drawbridge_os::terminal;
use drawbridge_policy::ModelServer;
use drawbridge_store::config::FlagOverrides;
use drawbridge_store::model_keys;
use drawbridge_store::secrets::NoPlaceForSecrets;
use drawbridge_store::state_dir::Owner;
use secrecy::SecretString;
use serde_json::json;
use zeroize::Zeroizing;

use crate::coded::{CONFIGURATION, coded};
use crate::models::note;
use crate::place::{Place, Reach};
use crate::{configuration, out, stopped};

/// More than any key has, in bytes.
const KEY_BYTES: u64 = 4096;

/// Sets or forgets the key of a server.
pub(crate) async fn run(url: String, stdin: bool, forget: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) if forget => {
            client.send(&Command::SetModelKey { url, key: None }).await?;
        }
        Reach::Running(_) => bail!(
            "while Drawbridge runs, keys are set on the Models page of its window, so nothing was done; end it first, or use its window"
        ),
        Reach::Stopped(owner) => {
            let (url, key) = if forget {
                (key_address(&url)?, None)
            } else {
                let server = server_of(&place, &url)?;
                let key = ask(stdin, &server)?;
                (server.url, Some(key))
            };
            let is_set = key.is_some();
            store(&place, owner, url.clone(), key).await?;
            note(&place, "model_key", json!({ "url": url, "set": is_set }));
        }
    }
    out::line(if forget { "the key is forgotten" } else { "the key is set" })?;
    Ok(0)
}

fn server_of(place: &Place, url: &str) -> anyhow::Result<ModelServer> {
    let loaded = configuration::load(place, FlagOverrides::default())?;
    let (_, state) = stopped::settings(place);
    Ok(known_server(url, &ConfiguredModels::of(&loaded.config), &state)?)
}

/// Takes the key of a server and checks it before anything is kept.
pub(crate) fn ask(stdin: bool, server: &ModelServer) -> anyhow::Result<SecretString> {
    let typed = if stdin { from_standard_input()? } else { from_terminal()? };
    Ok(checked_key(&typed, server)?.secret().clone())
}

fn from_standard_input() -> anyhow::Result<SecretString> {
    let mut text = Zeroizing::new(String::new());
    let read = io::stdin().lock().take(KEY_BYTES + 1).read_to_string(&mut text);
    read.context("the key on standard input cannot be read as text, so nothing was changed")?;
    if text.len() as u64 > KEY_BYTES {
        bail!("what came on standard input is longer than any key, so nothing was changed");
    }
    Ok(SecretString::from(text.as_str()))
}

fn from_terminal() -> anyhow::Result<SecretString> {
    if !io::stdin().is_terminal() {
        bail!("nobody can be asked for the key here; hand it over on standard input with --stdin");
    }
    match terminal::ask_hidden("API key: ") {
        Ok(answer) => Ok(SecretString::from(answer)),
        Err(fault) if fault.kind() == ErrorKind::Interrupted => bail!("nothing was changed"),
        Err(fault) => bail!("{fault}; hand the key over on standard input with --stdin"),
    }
}

/// Keeps the key of a server, or forgets it. The owner of the state folder is who may.
pub(crate) async fn store(
    place: &Place,
    owner: Owner,
    url: String,
    key: Option<SecretString>,
) -> anyhow::Result<Owner> {
    let place = place.clone();
    let work = move || {
        let secrets = match place.secrets() {
            // Where nothing was ever kept there is nothing to forget.
            Err(NoPlaceForSecrets::Nowhere { .. }) if key.is_none() => return Ok(owner),
            other => other.map_err(|fault| coded(CONFIGURATION, fault))?,
        };
        model_keys::set(secrets.as_ref(), &url, key.as_ref()).map_err(|fault| coded(CONFIGURATION, fault))?;
        Ok(owner)
    };
    tokio::task::spawn_blocking(work).await?
}
