//! The list of accounts on the command line. A running engine changes it itself; while none runs, the folder's lock is ours.

use std::path::PathBuf;

use anyhow::Context as _;
use drawbridge_core::escape_outside_text;
use drawbridge_engine::Command;
use drawbridge_engine::accounts::{self, Chosen, Configured, Fixed, open_book};
use drawbridge_engine::token_vault::SecretVault;
use drawbridge_engine::view::AccountRow;
use drawbridge_store::accounts::{AccountBook, DEFAULT, folder};
use drawbridge_store::config::{FlagOverrides, Loaded};
use drawbridge_store::secrets::SecretStore;
use drawbridge_store::settings::Settings;
use serde_json::{Value, json};

use crate::args::AccountsVerb;
use crate::coded::{CONFIGURATION, coded};
use crate::place::{Place, Reach};
use crate::{account, audit, configuration, out};

pub(crate) async fn run(verb: Option<AccountsVerb>, json: bool) -> anyhow::Result<u8> {
    match verb {
        None => list(json).await,
        Some(AccountsVerb::Add { name, platform_url, client_id }) => add(&name, &platform_url, client_id).await,
        Some(AccountsVerb::Use { account }) => choose(&account).await,
        Some(AccountsVerb::Remove { account }) => remove(&account).await,
        Some(AccountsVerb::Forget { account }) => account::forget(account).await,
    }
}

/// Returns the account that the configuration names.
pub(crate) fn configured(loaded: &Loaded) -> Configured {
    Configured { platform_url: loaded.config.platform_url.clone(), client_id: loaded.config.oauth_client_id.clone() }
}

/// Returns the account that a start would use.
///
/// # Errors
/// The configuration cannot be used.
pub(crate) fn of_start(place: &Place) -> anyhow::Result<Chosen> {
    let loaded = configuration::load(place, FlagOverrides::default())?;
    let chosen = Chosen::of_start(&open_book(&place.folders.state), &configured(&loaded), Fixed::of(&loaded));
    chosen.map_err(|fault| coded(CONFIGURATION, fault))
}

/// Where things of the account in use are kept: the folder of its chats, and its name in the settings. Works also where the
/// configuration cannot be used, since what a person takes back must never wait for that.
pub(crate) fn kept_for(place: &Place) -> (PathBuf, String) {
    let state = &place.folders.state;
    let book = open_book(state);
    let loaded = configuration::load(place, FlagOverrides::default());
    let (fixed, chosen) = match &loaded {
        Ok(loaded) => {
            let fixed = Fixed::of(loaded);
            (fixed.is_some(), Chosen::of_start(&book, &configured(loaded), fixed).ok())
        }
        Err(_) => (false, None),
    };
    if let Some(chosen) = chosen {
        return (chosen.folder(state), chosen.settings_name().to_owned());
    }
    let id = if fixed { DEFAULT.to_owned() } else { book.in_use() };
    let name = book.get(&id).map_or_else(|| DEFAULT.to_owned(), |account| account.key);
    (folder(state, &id), name)
}

/// Says that there is no account of this name.
pub(crate) fn unknown(book: &AccountBook, named: &str) -> String {
    match book.trouble() {
        Some(trouble) => trouble.to_string(),
        None => format!("there is no account {}; look at `drawbridge accounts`", escape_outside_text(named)),
    }
}

async fn list(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let rows: Vec<(AccountRow, Option<bool>)> = match place.engine().await? {
        Some(mut client) => {
            let now = client.snapshot().await?;
            now.accounts.into_iter().map(|row| (row.clone(), Some(row.signed_in))).collect()
        }
        None => stopped_rows(&place).await?,
    };
    if let Some(trouble) = open_book(&place.folders.state).trouble() {
        out::complain(&trouble.to_string());
    }
    for (row, signed_in) in &rows {
        if json {
            let mut line = serde_json::to_value(row)?;
            line["signed_in"] = signed_in.map_or(Value::Null, Value::from);
            out::line(&line.to_string())?;
        } else {
            out::line(&shown(row, *signed_in))?;
        }
    }
    Ok(0)
}

fn shown(row: &AccountRow, signed_in: Option<bool>) -> String {
    let state = match signed_in {
        Some(true) => "signed in",
        Some(false) => "signed out",
        None => "not known: its place for secrets is closed",
    };
    let text = |text: &str| escape_outside_text(text);
    let named = if row.name == row.id { String::new() } else { format!("  ({})", text(&row.name)) };
    let mark = if row.active { '*' } else { ' ' };
    let (id, at, client) = (text(&row.id), text(&row.platform_url), text(&row.client_id));
    format!("{mark} {id}{named}  {at}  client {client}  {state}")
}

/// Lists the accounts while no engine runs. Without the place for secrets nobody can say who is signed in.
async fn stopped_rows(place: &Place) -> anyhow::Result<Vec<(AccountRow, Option<bool>)>> {
    let loaded = configuration::load(place, FlagOverrides::default())?;
    let in_use = of_start(place)?.id;
    let configured = configured(&loaded);
    let place = place.clone();
    let rows = move || {
        let secrets = if place.exists() { place.secrets().ok() } else { None };
        let book = open_book(&place.folders.state);
        let rows = book.ids().into_iter().filter_map(|id| {
            let account = Chosen::of(&book, &id, &configured).ok()?;
            let signed_in = match &secrets {
                Some(secrets) => SecretVault::holds_tokens(secrets.as_ref(), &id).ok(),
                None if place.exists() => None,
                None => Some(false),
            };
            let row = AccountRow {
                active: id == in_use,
                signed_in: signed_in.unwrap_or(false),
                fixed: id == DEFAULT,
                platform_url: account.platform.shown().to_owned(),
                client_id: account.client_id,
                name: account.name,
                id,
            };
            Some((row, signed_in))
        });
        rows.collect()
    };
    Ok(tokio::task::spawn_blocking(rows).await?)
}

async fn add(name: &str, platform_url: &str, client_id: Option<String>) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let loaded = configuration::load(&place, FlagOverrides::default())?;
    let mut wanted = configured(&loaded);
    platform_url.clone_into(&mut wanted.platform_url);
    wanted.client_id = client_id.unwrap_or(wanted.client_id);
    let added = add_for_sign_in(&place, &loaded, name, &wanted).await?;
    out::complain(&format!("added; sign in with `drawbridge auth --profile {}`", added.id));
    Ok(0)
}

/// Adds an account, by the engine if one runs.
///
/// # Errors
/// Why it was not added.
pub(crate) async fn add_for_sign_in(
    place: &Place,
    loaded: &Loaded,
    name: &str,
    wanted: &Configured,
) -> anyhow::Result<Chosen> {
    let configured_fault = |fault: accounts::ChangeFault| coded(CONFIGURATION, fault);
    match place.reach().await? {
        Reach::Running(mut client) => {
            let Configured { platform_url, client_id } = wanted.clone();
            let command = Command::AddAccount { name: name.to_owned(), platform_url, client_id: Some(client_id) };
            client.send(&command).await?;
        }
        Reach::Stopped(_owner) => {
            refuse_if_managed(loaded)?;
            let book = open_book(&place.folders.state);
            let policy = loaded.managed.as_ref();
            let added = accounts::add(&book, policy, name, &wanted.platform_url, &wanted.client_id);
            note(place, &json!({ "account_added": added.map_err(configured_fault)?.id }));
        }
    }
    let book = open_book(&place.folders.state);
    let id = book.find(name).context("the account was added and is gone again")?;
    Ok(Chosen::of(&book, &id, &configured(loaded))?)
}

/// What an organisation has fixed, a stopped program does not change either.
///
/// # Errors
/// It has fixed the account.
pub(crate) fn refuse_if_managed(loaded: &Loaded) -> anyhow::Result<()> {
    match Fixed::of(loaded) {
        Some(fixed @ Fixed::Organisation) => Err(coded(CONFIGURATION, anyhow::anyhow!(fixed.why()))),
        Some(Fixed::Run | Fixed::Practice) | None => Ok(()),
    }
}

async fn choose(named: &str) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let id = find(&place, named)?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            client.send(&Command::UseAccount { id }).await?;
            out::complain("the running Drawbridge goes on with its account; this one is used from the next start on");
        }
        Reach::Stopped(_owner) => {
            let loaded = configuration::load(&place, FlagOverrides::default())?;
            refuse_if_managed(&loaded)?;
            let book = open_book(&place.folders.state);
            let before = book.in_use();
            let of_it = Chosen::of(&book, &id, &configured(&loaded))?;
            drawbridge_engine::managed::check_platform(loaded.managed.as_ref(), &of_it.platform)?;
            book.choose(&id)?;
            if before != id {
                note(&place, &json!({ "account": id }));
            }
            if let Some(fixed) = Fixed::of(&loaded) {
                out::complain(&format!("stored, but {}", fixed.why()));
            }
        }
    }
    Ok(0)
}

async fn remove(named: &str) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let id = find(&place, named)?;
    remove_quietly(&place, &id).await?;
    out::complain(
        "removed, with what was kept for it here. If it was signed in, the platform still honours its tokens until they end; to end them there too, take this computer's access back in the platform's own settings",
    );
    Ok(0)
}

/// Removes an account, by the engine if one runs.
///
/// # Errors
/// Why it is still there.
pub(crate) async fn remove_quietly(place: &Place, id: &str) -> anyhow::Result<()> {
    match place.reach().await? {
        Reach::Running(mut client) => drop(client.send(&Command::RemoveAccount { id: id.to_owned() }).await?),
        Reach::Stopped(_owner) => {
            let book = open_book(&place.folders.state);
            let key = book.get(id).map(|account| account.key);
            book.removable(id)?;
            let (place, id) = (place.clone(), id.to_owned());
            let work = move || -> anyhow::Result<()> {
                let state = &place.folders.state;
                let secrets: std::sync::Arc<dyn SecretStore> = place.secrets()?;
                accounts::remove(&book, state, secrets, &id)?;
                let (settings, policy) = Settings::open(state);
                settings.forget_account(key.as_deref().unwrap_or_default());
                // What stays is of no use to anybody: no other account gets that name.
                let _ = policy.broken.is_none().then(|| settings.save(&policy));
                note(&place, &json!({ "account_removed": id }));
                Ok(())
            };
            tokio::task::spawn_blocking(work).await??;
        }
    }
    Ok(())
}

fn find(place: &Place, named: &str) -> anyhow::Result<String> {
    let book = open_book(&place.folders.state);
    book.find(named).with_context(|| unknown(&book, named))
}

fn note(place: &Place, details: &Value) {
    audit::note(place, None, "POLICY_CHANGED", details.as_object().cloned().unwrap_or_default());
}
