//! What a person may say of servers of local models, the same in the window and on the command line. Changes only what it is given.

use drawbridge_caps::model::ServerKey;
use drawbridge_core::escape_outside_text;
use drawbridge_policy::{Ceilings, MAX_MODEL_SERVERS, ModelApi, ModelServer, PolicyState};
use drawbridge_store::config::Config;
use secrecy::{ExposeSecret as _, SecretString};

use super::server_view;
use super::servers::{self, ConfiguredModels, is_elsewhere, parse};
use crate::engine::sentence;
use crate::handle::CommandError;
use crate::managed::managed;
use crate::record::shown;
use crate::view::ModelServerView;

/// Requests that a server can be set to take at once.
const MOST_AT_ONCE: u8 = 16;

/// Checks a server that a person wants to add.
///
/// # Errors
/// `unknown_api`, `bad_parallel`, `bad_server`, `far_server` where it is on another computer and nobody said that this is meant,
/// `managed`.
pub fn checked_server(
    url: &str,
    api: &str,
    far: bool,
    parallel: u32,
    ceilings: &Ceilings,
) -> Result<ModelServer, CommandError> {
    let unknown = || CommandError::new("unknown_api", format!("There is no interface named {}.", shown(api)));
    let api = ModelApi::from_name(api).ok_or_else(unknown)?;
    let at_once = u8::try_from(parallel).ok().filter(|count| (1..=MOST_AT_ONCE).contains(count));
    let at_once = at_once.ok_or_else(|| {
        let message = format!("A server takes 1 to {MOST_AT_ONCE} requests at once.");
        CommandError::new("bad_parallel", message)
    })?;
    let bad = |why| CommandError::new("bad_server", format!("{why} Nothing was added."));
    let server = parse(url, api, far, at_once).map_err(bad)?;
    let elsewhere = is_elsewhere(&server.url);
    if ceilings.near_models && (elsewhere || far) {
        let by = escape_outside_text(&ceilings.by);
        return Err(managed(&format!("{by} lets only servers of models on this computer be asked")));
    }
    if elsewhere && !far {
        let message = format!(
            "{} is on another computer, so everything that a model is to read would go there. Nothing was added. If that is what you want, say so; on the command line that is --far.",
            shown(&server.url)
        );
        return Err(CommandError::new("far_server", message));
    }
    Ok(server)
}

/// Adds a server to settings, or changes how the one at this address is asked.
///
/// # Errors
/// `too_many_servers`.
pub fn add_server(state: &mut PolicyState, server: ModelServer) -> Result<(), CommandError> {
    if let Some(known) = state.model_servers.iter_mut().find(|other| other.url == server.url) {
        *known = server;
        return Ok(());
    }
    if state.model_servers.len() >= MAX_MODEL_SERVERS {
        let message = format!("{MAX_MODEL_SERVERS} servers are there already, and no more can be. Remove one first.");
        return Err(CommandError::new("too_many_servers", message));
    }
    state.model_servers.push(server);
    Ok(())
}

/// Takes a server out of settings, by its address in any spelling. Returns the address as it was kept.
///
/// # Errors
/// `server_from_config`, `unknown_server`.
pub fn remove_server(
    state: &mut PolicyState,
    url: &str,
    configured: &ConfiguredModels,
) -> Result<String, CommandError> {
    let url = parse(url, ModelApi::Auto, true, servers::ONE_AT_A_TIME).map_or_else(|_| url.to_owned(), |it| it.url);
    if let Some(index) = state.model_servers.iter().position(|server| server.url == url) {
        return Ok(state.model_servers.remove(index).url);
    }
    Err(if servers::of_config(configured).iter().any(|entry| entry.server.url == url) {
        let message = format!("{} is named in the configuration, so it is removed there.", shown(&url));
        CommandError::new("server_from_config", message)
    } else {
        let message = format!("No server {} is known here. Look at the list of servers.", shown(&url));
        CommandError::new("unknown_server", message)
    })
}

/// Finds a server by its address in any spelling.
///
/// # Errors
/// `bad_server` for what is no address, `unknown_server`.
pub fn known_server(
    url: &str,
    configured: &ConfiguredModels,
    state: &PolicyState,
) -> Result<ModelServer, CommandError> {
    let wanted = key_address(url)?;
    let all = servers::all(&servers::of_config(configured), state);
    let found = all.into_iter().map(|entry| entry.server).find(|server| server.url == wanted);
    found.ok_or_else(|| {
        let message = format!("No server {} is known here. Add it first.", shown(&wanted));
        CommandError::new("unknown_server", message)
    })
}

/// Returns the address by which the key of a server is kept. It need not be known: a key can be forgotten whose server has left the
/// configuration. What is told never repeats what is no address, since it may hold a password.
///
/// # Errors
/// `bad_server`.
pub fn key_address(url: &str) -> Result<String, CommandError> {
    let parsed = parse(url, ModelApi::Auto, true, servers::ONE_AT_A_TIME);
    parsed
        .map(|server| server.url)
        .map_err(|why| CommandError::new("bad_server", format!("{why} Nothing was changed.")))
}

/// Checks a key that a person gives for a server. What is told never repeats it.
///
/// # Errors
/// `bad_key`, `key_in_clear` where others could read it on its way.
pub fn checked_key(key: &SecretString, server: &ModelServer) -> Result<ServerKey, CommandError> {
    let key = ServerKey::parse(key.expose_secret()).map_err(|fault| {
        CommandError::new("bad_key", format!("{} Nothing was changed.", sentence(&fault.to_string())))
    })?;
    if ServerKey::goes_in_clear(&server.url, server.far) {
        let message = format!(
            "{} is on another computer and its address is not encrypted, so others on the way could read the key. Nothing was changed. Use an https address, or a server on this computer.",
            shown(&server.url)
        );
        return Err(CommandError::new("key_in_clear", message));
    }
    Ok(key)
}

/// Describes the servers that a start would ask, and asks none of them.
#[must_use]
pub fn configured_servers(config: &Config, state: &PolicyState) -> Vec<ModelServerView> {
    let entries = servers::all(&servers::of_config(&ConfiguredModels::of(config)), state);
    let mut taken = std::collections::HashSet::new();
    entries.iter().map(|entry| server_view(entry, None, false, &mut taken)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T: std::fmt::Debug>(result: Result<T, CommandError>) -> String {
        result.unwrap_err().code
    }

    #[test]
    fn what_a_person_writes_is_checked_and_brought_into_one_form() {
        let free = Ceilings::default();
        let server = checked_server(" HTTP://LocalHost:11434/v1/ ", "auto", false, 2, &free).unwrap();
        assert_eq!(server.url, "http://localhost:11434");
        assert_eq!((server.api, server.far, server.parallel), (ModelApi::Auto, false, 2));

        assert_eq!(code(checked_server("http://127.0.0.1:1", "gopher", false, 1, &free)), "unknown_api");
        assert_eq!(code(checked_server("http://127.0.0.1:1", "auto", false, 0, &free)), "bad_parallel");
        assert_eq!(code(checked_server("http://127.0.0.1:1", "auto", false, 17, &free)), "bad_parallel");
        assert_eq!(code(checked_server("ftp://127.0.0.1", "auto", false, 1, &free)), "bad_server");
        assert_eq!(code(checked_server("http://192.0.2.1:1", "auto", false, 1, &free)), "far_server");
        checked_server("http://192.0.2.1:1", "openai", true, 1, &free).unwrap();
        let fixed = Ceilings { by: "Example".to_owned(), near_models: true, ..Ceilings::default() };
        let told = checked_server("http://192.0.2.1:1", "openai", true, 1, &fixed).unwrap_err();
        assert!(told.code == "managed" && told.message.contains("Example"), "{told:?}");
    }

    #[test]
    fn a_key_is_checked_for_the_server_that_it_is_for_and_never_repeated() {
        let free = Ceilings::default();
        let mut state = PolicyState::defaults();
        for (url, far) in [("http://192.0.2.1:1", true), ("https://192.0.2.1", true), ("http://127.0.0.1:1", true)] {
            add_server(&mut state, checked_server(url, "auto", far, 1, &free).unwrap()).unwrap();
        }
        let configured = ConfiguredModels { ollama_url: "http://localhost:11434".to_owned(), ..Default::default() };
        let server = |url| known_server(url, &configured, &state);
        let check = |key: &str, url| checked_key(&SecretString::from(key), &server(url).unwrap());

        assert_eq!(code(server("http://127.0.0.1:2")), "unknown_server");
        let told = server("http://me:secret@localhost:11434").unwrap_err();
        assert!(told.code == "bad_server" && !told.message.contains("secret"), "{told:?}");
        for good in ["https://192.0.2.1/v1", "http://127.0.0.1:1/", "HTTP://localhost:11434"] {
            check("sk-abc", good).unwrap();
        }
        let clear = check("sk-abc", "http://192.0.2.1:1").unwrap_err();
        assert!(clear.code == "key_in_clear" && clear.message.contains("https"), "{clear:?}");
        for bad in ["", "sk abc", "sk-\u{e4}bc", "sk-abc\r\nHost: x"] {
            let told = check(bad, "http://127.0.0.1:1").unwrap_err();
            assert!(told.code == "bad_key" && !told.message.contains("abc"), "{told:?}");
        }
    }

    #[test]
    fn a_server_is_there_once_and_the_list_is_bounded() {
        let free = Ceilings::default();
        let mut state = PolicyState::defaults();
        for port in 0..MAX_MODEL_SERVERS {
            let url = format!("http://127.0.0.1:{}", 2000 + port);
            add_server(&mut state, checked_server(&url, "auto", false, 1, &free).unwrap()).unwrap();
        }
        let again = checked_server("http://127.0.0.1:2000/", "ollama", false, 4, &free).unwrap();
        add_server(&mut state, again.clone()).unwrap();
        assert_eq!((state.model_servers.len(), &state.model_servers[0]), (MAX_MODEL_SERVERS, &again));
        let one_more = checked_server("http://127.0.0.1:9", "auto", false, 1, &free).unwrap();
        assert_eq!(code(add_server(&mut state, one_more)), "too_many_servers");

        let configured = ConfiguredModels { ollama_url: "http://localhost:11434".to_owned(), ..Default::default() };
        assert_eq!(remove_server(&mut state, "http://127.0.0.1:2000/v1", &configured).unwrap(), again.url);
        assert_eq!(code(remove_server(&mut state, "http://127.0.0.1:2000", &configured)), "unknown_server");
        assert_eq!(code(remove_server(&mut state, "http://LOCALHOST:11434/", &configured)), "server_from_config");
    }
}
