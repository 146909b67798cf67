//! Which servers of local models there are: those that the configuration names, then those that the person added. A server that may
//! not be asked stays in the list with the reason, so that nobody wonders where it is.

use drawbridge_caps::model::{ModelLimits, ServerFault, parse_server};
use drawbridge_core::escape_outside_text;
use drawbridge_policy::{Ceilings, ModelApi, ModelServer, PolicyState};
use drawbridge_store::config::{Config, redacted_url};
use oauth2::url::Url;

use crate::engine::sentence;
use crate::net::is_loopback;

/// Servers of the configuration, as they are written there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredModels {
    /// The first one, on this computer; empty for none.
    pub ollama_url: String,
    /// Further ones on this computer.
    pub servers: Vec<String>,
    /// Further ones that may be on other computers.
    pub far: Vec<String>,
    /// The most that a question may take at any.
    pub limits: ModelLimits,
}

impl ConfiguredModels {
    /// Takes what is configured.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            ollama_url: config.ollama_url.clone(),
            servers: config.models.servers.clone(),
            far: config.models.far.clone(),
            limits: ModelLimits {
                context_tokens: config.models.max_context,
                answer_tokens: config.models.max_answer_tokens,
            },
        }
    }
}

/// A server that somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) server: ModelServer,
    /// The configuration names it.
    pub(crate) from_config: bool,
    /// Why it may not be asked, safe to show.
    pub(crate) refused: Option<String>,
}

/// The least that a server takes at once, which is what one that loads a model needs.
pub(crate) const ONE_AT_A_TIME: u8 = 1;

/// Takes what the configuration names. An address that cannot be used stays, with what is wrong with it and without a password that it
/// may hold: from here on it is shown and recorded.
pub(super) fn of_config(configured: &ConfiguredModels) -> Vec<Entry> {
    let first = [&configured.ollama_url].into_iter().filter(|url| !url.is_empty());
    let near = first.chain(&configured.servers).map(|url| (url, false));
    let all = near.chain(configured.far.iter().map(|url| (url, true)));
    all.map(|(url, far)| match parse(url, ModelApi::Auto, far, ONE_AT_A_TIME) {
        Ok(server) => Entry { server, from_config: true, refused: None },
        Err(why) => Entry {
            server: ModelServer { url: redacted_url(url), api: ModelApi::Auto, far, parallel: ONE_AT_A_TIME },
            from_config: true,
            refused: Some(why),
        },
    })
    .collect()
}

/// Checks an address and brings its spellings together. Whether it may be asked is another question.
///
/// # Errors
/// What is wrong with it, in a sentence that is safe to show.
pub(crate) fn parse(url: &str, api: ModelApi, far: bool, parallel: u8) -> Result<ModelServer, String> {
    match parse_server(url, true) {
        Ok(url) => Ok(ModelServer { url, api, far, parallel }),
        Err(fault) => Err(sentence(&fault.to_string())),
    }
}

/// Returns every server, best first and each once, with what stands in its way.
pub(super) fn all(configured: &[Entry], state: &PolicyState) -> Vec<Entry> {
    let added =
        state.model_servers.iter().map(|server| Entry { server: server.clone(), from_config: false, refused: None });
    let mut list: Vec<Entry> = Vec::new();
    for mut entry in configured.iter().cloned().chain(added) {
        // A name can lead anywhere: what it leads to is looked at with every connection then.
        entry.server.far &= !state.ceilings.near_models;
        entry.refused = entry.refused.or_else(|| obstacle(&entry.server, &state.ceilings));
        match list.iter_mut().find(|other| other.server.url == entry.server.url) {
            None => list.push(entry),
            // What the person says of a server goes further than the place where it was named first.
            Some(other) if other.refused.is_some() && entry.refused.is_none() => *other = entry,
            Some(other) => other.server.far |= entry.server.far,
        }
    }
    list
}

/// Says why a server may not be asked, if so.
fn obstacle(server: &ModelServer, ceilings: &Ceilings) -> Option<String> {
    if server.far || !is_elsewhere(&server.url) {
        return None;
    }
    if ceilings.near_models {
        let by = escape_outside_text(&ceilings.by);
        return Some(format!("It is not on this computer, and {by} lets only servers on this computer be asked."));
    }
    let why = "It is not on this computer, so it is not asked: everything that a model is to read would go there. If that \
               is what you want, add it on the Models page and say so, or name it in far under [models] in config.toml.";
    Some(why.to_owned())
}

/// Tells whether an address is surely one of another computer.
pub(crate) fn is_elsewhere(url: &str) -> bool {
    parse_server(url, false) == Err(ServerFault::Far)
}

/// Tells whether what is asked of a server may leave this computer.
pub(crate) fn leaves(server: &ModelServer) -> bool {
    let here = || Url::parse(&server.url).is_ok_and(|url| url.host_str().is_some_and(is_loopback));
    is_elsewhere(&server.url) || (server.far && !here())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str, far: bool) -> ModelServer {
        parse(url, ModelApi::Auto, far, 1).unwrap()
    }

    fn shown(list: &[Entry]) -> Vec<(&str, bool, bool)> {
        list.iter().map(|one| (one.server.url.trim_end_matches('/'), one.from_config, one.refused.is_some())).collect()
    }

    #[test]
    fn each_address_is_there_once_and_what_the_configuration_names_comes_first() {
        let configured = of_config(&ConfiguredModels {
            ollama_url: "http://127.0.0.1:11434/".to_owned(),
            servers: vec!["http://127.0.0.1:1234".to_owned(), "http://127.0.0.1:11434".to_owned()],
            far: vec!["http://192.0.2.7:8080".to_owned()],
            ..ConfiguredModels::default()
        });
        let mut state = PolicyState::defaults();
        state.model_servers = vec![server("http://127.0.0.1:1234/", false), server("http://127.0.0.1:9000", false)];

        let list = all(&configured, &state);

        assert_eq!(
            shown(&list),
            [
                ("http://127.0.0.1:11434", true, false),
                ("http://127.0.0.1:1234", true, false),
                ("http://192.0.2.7:8080", true, false),
                ("http://127.0.0.1:9000", false, false),
            ]
        );
    }

    #[test]
    fn a_server_elsewhere_is_asked_only_where_somebody_said_so() {
        let configured = of_config(&ConfiguredModels {
            ollama_url: "http://192.0.2.7:11434".to_owned(),
            ..ConfiguredModels::default()
        });
        let mut state = PolicyState::defaults();
        let refused = all(&configured, &state);
        assert_eq!(shown(&refused), [("http://192.0.2.7:11434", true, true)]);
        assert!(refused[0].refused.as_ref().unwrap().contains("Models page"), "{refused:?}");

        state.model_servers = vec![server("http://192.0.2.7:11434", true)];
        assert_eq!(shown(&all(&configured, &state)), [("http://192.0.2.7:11434", false, false)]);

        state.ceilings = Ceilings { by: "Example".to_owned(), near_models: true, ..Ceilings::default() };
        let forbidden = all(&configured, &state);
        assert_eq!(shown(&forbidden), [("http://192.0.2.7:11434", true, true)]);
        assert!(forbidden[0].refused.as_ref().unwrap().contains("Example"), "{forbidden:?}");
    }

    #[test]
    fn an_address_that_cannot_be_used_stays_in_the_list_with_its_fault() {
        let configured = of_config(&ConfiguredModels {
            ollama_url: "http://me:secret@127.0.0.1:11434".to_owned(),
            ..ConfiguredModels::default()
        });

        let list = all(&configured, &PolicyState::defaults());

        assert_eq!(list.len(), 1);
        assert!(list[0].refused.is_some() && list[0].server.url.contains("@127.0.0.1:11434"), "{list:?}");
        assert!(!format!("{list:?}").contains("secret"), "{list:?}");
    }
}
