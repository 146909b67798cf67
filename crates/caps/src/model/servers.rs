//! The servers that may be asked: what was found at each, and who asks there now.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::OpError;
use drawbridge_policy::{ModelApi, ModelServer};
use tokio_util::sync::CancellationToken;

use super::address::{Address, ServerFault};
use super::backend::Found;
use super::fault::Fault;
use super::key::KnownKey;
use super::{ModelFacts, ServerState};

/// All servers, best first.
#[derive(Default)]
pub(crate) struct Servers {
    state: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    entries: Vec<Entry>,
    /// Numbers are never used again, so that what comes late for a server that is gone meets no other.
    next: u64,
}

struct Entry {
    number: u64,
    state: ServerState,
    exact: bool,
    key: KnownKey,
    /// What the server listed last, names and sizes; none while it does not answer.
    listed: Option<Vec<(String, Option<u64>)>>,
    /// Models that it lists and did not have when they were asked (404). They stay off the list until the server lists something
    /// else, was away meanwhile, or the person asks again: else each look would offer them anew and each question take them away.
    missing: HashSet<String>,
    /// Those that got another chance since.
    retried: HashSet<String>,
    /// Contexts by name and size, asked for once.
    contexts: BTreeMap<(String, Option<u64>), u64>,
    /// Fires when the server is taken out of the settings.
    gone: CancellationToken,
}

/// A server as it is to be looked at.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) number: u64,
    pub(crate) server: ModelServer,
    pub(crate) address: Result<Address, ServerFault>,
    pub(crate) key: KnownKey,
}

/// The right to ask a server now. It is given back when dropped.
pub(crate) struct Seat {
    servers: Arc<Servers>,
    pub(crate) target: Target,
    pub(crate) api: ModelApi,
    pub(crate) model: ModelFacts,
    pub(crate) exact: bool,
    pub(crate) gone: CancellationToken,
}

impl Servers {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets which servers there are. What was found at those that stay is kept; requests to others end.
    pub(crate) fn set(&self, servers: Vec<ModelServer>) {
        let mut kept = self.lock();
        let mut old = std::mem::take(&mut kept.entries);
        for server in servers {
            let same = |entry: &Entry| is_same(&entry.state.server, &server);
            let entry = match old.iter().position(same) {
                Some(at) => {
                    let mut entry = old.swap_remove(at);
                    entry.state.server = server;
                    entry
                }
                None => {
                    kept.next += 1;
                    Entry::new(kept.next, server)
                }
            };
            kept.entries.push(entry);
        }
        for entry in old {
            entry.gone.cancel();
        }
    }

    /// Sets the keys of servers, by their addresses. What runs goes on with the key that it began with.
    pub(crate) fn set_keys(&self, key_of: impl Fn(&str) -> KnownKey) {
        for entry in &mut self.lock().entries {
            entry.key = key_of(&entry.state.server.url);
        }
    }

    /// Gives models that answered 404 another chance, one each: whoever asks for this may do so every second.
    pub(crate) fn retry_missing(&self) {
        for entry in &mut self.lock().entries {
            let Entry { missing, retried, .. } = entry;
            missing.retain(|model| !retried.insert(model.clone()));
            entry.mark();
        }
    }

    pub(crate) fn states(&self) -> Vec<ServerState> {
        self.lock().entries.iter().map(|entry| entry.state.clone()).collect()
    }

    pub(crate) fn targets(&self) -> Vec<Target> {
        self.lock().entries.iter().map(Entry::target).collect()
    }

    /// Returns the names of models, each once, the first server's first.
    pub(crate) fn offered(&self) -> Vec<String> {
        self.names(false)
    }

    /// Returns the names of models at all servers, or with `near` at those on this computer.
    pub(crate) fn names(&self, near: bool) -> Vec<String> {
        let kept = self.lock();
        let mut known: HashSet<&str> = HashSet::new();
        let models = kept.entries.iter().flat_map(|entry| entry.usable(near));
        models.filter(|model| known.insert(&model.name)).map(|model| model.name.clone()).collect()
    }

    /// Returns the server that would be asked for a model, with what is known of the model.
    pub(crate) fn asked_at(&self, model: &str, near: bool) -> Option<(ServerState, ModelFacts)> {
        let kept = self.lock();
        kept.entries.iter().find_map(|entry| {
            let facts = entry.usable(near).find(|facts| facts.name == model)?;
            Some((entry.state.clone(), facts.clone()))
        })
    }

    /// Tells whether a model is there, and at servers on this computer only as one that they pass on.
    pub(crate) fn is_passed_on(&self, model: &str) -> bool {
        let kept = self.lock();
        let near = kept.entries.iter().filter(|entry| entry.is_near()).flat_map(|entry| &entry.state.models);
        let mut found = near.filter(|facts| facts.name == model).peekable();
        found.peek().is_some() && found.all(|facts| facts.elsewhere)
    }

    /// Remembers what a server said. Returns the models whose contexts are not known yet.
    pub(crate) fn found(&self, number: u64, looked: Result<(ModelApi, Found), Fault>) -> Vec<ModelFacts> {
        let mut kept = self.lock();
        let Some(entry) = kept.entries.iter_mut().find(|entry| entry.number == number) else { return Vec::new() };
        match looked {
            Ok((api, found)) => {
                entry.state.api = api;
                entry.state.name = found.name;
                entry.state.models = found.models;
                entry.state.trouble = None;
                entry.exact = found.exact;
                entry.forget_contexts();
                entry.fill();
                let listed = entry.state.models.iter().map(|model| (model.name.clone(), model.size_bytes)).collect();
                if entry.listed.as_ref() != Some(&listed) {
                    entry.believe();
                    entry.listed = Some(listed);
                }
                entry.mark();
                let models = entry.state.models.iter();
                models.filter(|model| model.context_tokens.is_none()).cloned().collect()
            }
            // Some servers tell nothing while they answer a question. That they answer one says enough.
            Err(Fault::Slow(_)) if entry.state.running > 0 => Vec::new(),
            // It is there, and has what it had.
            Err(Fault::Busy(..)) if entry.listed.is_some() => Vec::new(),
            Err(fault) => {
                entry.state.api = entry.state.server.api;
                entry.state.name = None;
                entry.state.models.clear();
                entry.listed = None;
                entry.believe();
                entry.state.trouble = Some(fault.sentence());
                Vec::new()
            }
        }
    }

    /// Remembers how many tokens a model reads.
    pub(crate) fn learn(&self, number: u64, model: &ModelFacts, context: u64) {
        let mut kept = self.lock();
        if let Some(entry) = kept.entries.iter_mut().find(|entry| entry.number == number) {
            entry.contexts.insert((model.name.clone(), model.size_bytes), context);
            entry.fill();
        }
    }

    /// Takes a model off the list that a server said it does not have.
    pub(crate) fn is_missing(&self, number: u64, model: &str) {
        let mut kept = self.lock();
        if let Some(entry) = kept.entries.iter_mut().find(|entry| entry.number == number) {
            // Only what is listed, so that nobody can fill the memory with names.
            if entry.state.models.iter().any(|facts| facts.name == model) {
                entry.missing.insert(model.to_owned());
                entry.mark();
            }
        }
    }

    /// Takes a seat at the first server that has the model; with `near`, of those on this computer. A model of one name at two
    /// servers is the first server's, also while that is busy: the second may be another computer, and nobody said that it may
    /// have what the first one may.
    ///
    /// # Errors
    /// [`OpError::ModelNotAvailable`], [`OpError::ModelBusy`].
    pub(crate) fn seat(self: &Arc<Self>, model: &str, near: bool) -> Result<Seat, OpError> {
        let mut kept = self.lock();
        let found = kept.entries.iter_mut().find_map(|entry| {
            let facts = entry.usable(near).find(|facts| facts.name == model)?.clone();
            Some((entry, facts))
        });
        let Some((entry, facts)) = found else {
            drop(kept);
            return Err(OpError::ModelNotAvailable { requested: model.to_owned(), available: self.names(near) });
        };
        if entry.state.running >= u32::from(entry.state.server.parallel.max(1)) {
            return Err(OpError::ModelBusy { model: model.to_owned() });
        }
        entry.state.running += 1;
        Ok(Seat {
            servers: Arc::clone(self),
            target: entry.target(),
            api: entry.state.api,
            model: facts,
            exact: entry.exact,
            gone: entry.gone.clone(),
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut kept = self.servers.lock();
        if let Some(entry) = kept.entries.iter_mut().find(|entry| entry.number == self.target.number) {
            entry.state.running = entry.state.running.saturating_sub(1);
        }
    }
}

impl Entry {
    fn new(number: u64, server: ModelServer) -> Self {
        let state = ServerState { api: server.api, server, name: None, models: Vec::new(), trouble: None, running: 0 };
        Self {
            number,
            state,
            exact: false,
            key: KnownKey::None,
            listed: None,
            missing: HashSet::new(),
            retried: HashSet::new(),
            contexts: BTreeMap::new(),
            gone: CancellationToken::new(),
        }
    }

    fn target(&self) -> Target {
        let server = self.state.server.clone();
        let address = Address::parse(&server.url, server.far);
        Target { number: self.number, address, server, key: self.key.clone() }
    }

    /// Whether it can only be on this computer.
    fn is_near(&self) -> bool {
        let server = &self.state.server;
        !server.far || Address::parse(&server.url, true).is_ok_and(|address| address.host.is_here())
    }

    /// Takes the server at its word again.
    fn believe(&mut self) {
        self.missing.clear();
        self.retried.clear();
    }

    /// Marks the models that are missing.
    fn mark(&mut self) {
        for model in &mut self.state.models {
            model.missing = self.missing.contains(&model.name);
        }
    }

    /// Its models that may be asked; with `near`, those that can only be on this computer. One that the server passes on leaves this
    /// computer, so somebody must have said that this server's questions may.
    fn usable(&self, near: bool) -> impl Iterator<Item = &ModelFacts> {
        let (here, may_leave) = (!near || self.is_near(), !near && self.state.server.far);
        self.state.models.iter().filter(move |model| here && !model.missing && (may_leave || !model.elsewhere))
    }

    /// Drops the contexts of models that are gone, so that a server cannot fill the memory with names.
    fn forget_contexts(&mut self) {
        let there: HashSet<(&str, Option<u64>)> =
            self.state.models.iter().map(|model| (model.name.as_str(), model.size_bytes)).collect();
        self.contexts.retain(|(name, size), _| there.contains(&(name.as_str(), *size)));
    }

    /// Puts the contexts that are known to the models that do not say.
    fn fill(&mut self) {
        for model in &mut self.state.models {
            let known = self.contexts.get(&(model.name.clone(), model.size_bytes));
            model.context_tokens = model.context_tokens.or(known.copied());
        }
    }
}

/// Whether what is known of one holds for the other.
fn is_same(one: &ModelServer, other: &ModelServer) -> bool {
    one.url == other.url && one.api == other.api && one.far == other.far
}

#[cfg(test)]
#[path = "servers_tests.rs"]
mod tests;
