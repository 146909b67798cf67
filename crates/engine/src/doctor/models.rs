//! Servers of local models: those of a running engine as it sees them, else those that a start would ask, asked once.

use std::path::Path;
use std::sync::Arc;

use drawbridge_core::{Power, PowerMode};
use drawbridge_store::secrets;
use drawbridge_store::settings::Settings;
use secrecy::SecretString;

use super::door::Door;
use super::{Finding, FindingState, Input, words};
use crate::managed;
use crate::models::keys::Keys;
use crate::models::{ConfiguredModels, look_once};
use crate::net::{NetConfig, NetSettings};
use crate::view::{ModelServerView, Snapshot};

const CHECK: &str = "local_model_server";

/// Each server, where the power is on or the configuration asks for it.
pub(super) async fn servers(input: &Input, door: &Door) -> Vec<Finding> {
    match door.snapshot() {
        // A stopped bridge asks nobody.
        Some(snapshot) if snapshot.raised || !is_on(snapshot) => Vec::new(),
        Some(snapshot) => findings(&snapshot.models.servers),
        None => findings(&of_next_start(input).await),
    }
}

fn is_on(snapshot: &Snapshot) -> bool {
    snapshot.powers.iter().any(|one| one.power == Power::LocalModel.name() && one.mode != PowerMode::Off.name())
}

/// What the next start would ask, with or without a window.
async fn of_next_start(input: &Input) -> Vec<ModelServerView> {
    let (folder, config) = (input.folders.state.clone(), input.config());
    let Ok(mut state) = tokio::task::spawn_blocking(move || Settings::peek(&folder)).await else { return Vec::new() };
    if config.enable_local_llm {
        state.modes.insert(Power::LocalModel, PowerMode::Allowed);
    }
    if let Some(policy) = input.config.as_ref().ok().and_then(|loaded| loaded.managed.as_ref()) {
        managed::limit(policy, &mut state);
    }
    if !state.offers(Power::LocalModel) {
        return Vec::new();
    }
    // A network that cannot be used as it is configured is a finding of its own.
    let trust = NetSettings { extra_roots: config.tls.extra_roots.clone(), ..NetSettings::default() };
    let net = NetConfig::new(&trust).unwrap_or_else(|_| NetConfig::direct());
    let place = (input.folders.state.clone(), input.passphrase.clone());
    let keys =
        tokio::task::spawn_blocking(move || keys(&place.0, place.1)).await.unwrap_or_else(|_| Keys::unreadable());
    look_once(&ConfiguredModels::of(&config), net, &keys, &state).await
}

/// The keys of servers. Why they cannot be read is a finding of its own.
fn keys(state: &Path, passphrase: Option<SecretString>) -> Arc<Keys> {
    let keychain = secrets::keychain_of(state).ok();
    let opened = keychain.and_then(|keychain| secrets::open_secrets(state, passphrase, &keychain).ok());
    opened.map_or_else(Keys::unreadable, |store| Keys::new(Some(store)))
}

fn findings(servers: &[ModelServerView]) -> Vec<Finding> {
    let somebody_answers = servers.iter().any(|server| server.answers);
    servers.iter().map(|server| finding(server, somebody_answers)).collect()
}

fn finding(server: &ModelServerView, somebody_answers: bool) -> Finding {
    let url = &server.url;
    if let Some(why) = &server.trouble {
        // Who has one that answers need not have the usual one as well.
        let state = if somebody_answers { FindingState::Info } else { FindingState::Warn };
        return Finding::new(CHECK, state, &words::MODEL_MISSING, &[("url", url), ("why", why)]);
    }
    if !server.answers {
        return Finding::info(CHECK, &words::MODEL_UNASKED, &[("url", url)]);
    }
    let name = server.name.as_deref().unwrap_or(&server.api);
    let count = server.models.len();
    match (count, server.far) {
        (0, _) => Finding::warn(CHECK, &words::MODEL_EMPTY, &[("url", url), ("name", &name)]),
        (_, false) => Finding::ok(CHECK, &words::MODEL_THERE, &[("url", url), ("name", &name), ("count", &count)]),
        (_, true) => Finding::ok(CHECK, &words::MODEL_FAR, &[("url", url), ("name", &name), ("count", &count)]),
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "models_tests.rs"]
mod tests;
