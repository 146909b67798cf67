//! The local model and private files as the engine sees them: which servers may be asked, what is offered to a chat, and what a person
//! sees of it. Decides nothing: `policy` does.
//!
//! Nobody is asked while the power is off or the bridge is raised: then the capability has no servers at all. Models are looked at
//! around each HELLO, which hardly waits for it, and now and then after it; when others are found than a HELLO said, links say HELLO again.

pub(crate) mod keys;
mod pace;
mod person;
pub(crate) mod servers;
mod tls;
pub(crate) mod trials;
mod uses;

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_caps::model::{KnownKey, Model, ModelFacts, ServerKey, ServerState};
use drawbridge_caps::privacy::Privacy;
use drawbridge_core::{Clock, OpError, Operation, Outcome, Power, SessionId, SystemClock, escape_outside_text};
use drawbridge_policy::{ModelServer, PolicyState};
use tokio::sync::{Notify, watch};

use crate::board::Board;
use crate::net::NetConfig;
use crate::policy_cell::PolicyCell;
use crate::view::{AskedFileView, ChatPrivacyView, ModelServerView, ModelView, ModelsView};

use keys::Keys;
use pace::Pace;
pub use person::{
    add_server, checked_key, checked_server, configured_servers, key_address, known_server, remove_server,
};
pub use servers::ConfiguredModels;
use servers::Entry;
use tls::Trusted;
use trials::Trials;
pub(crate) use uses::Asked;
use uses::Uses;

/// So long after the first look at servers began, a HELLO waits for it. Each HELLO before that tells what is known, and links say it
/// anew once more is known.
///
/// A server of this computer that is well answers within a few milliseconds, and the look begins before the platform is dialled: nearly
/// always it is over by then, nobody waits, and the first HELLO is the right one. One that hangs or is far costs a start no more than
/// this, since what waits here is everything else that an agent could do (start to HELLO has a budget of 60 ms); a second HELLO then
/// costs little, as there are no stubs yet which it would wipe. Names are not remembered from an earlier run instead: HELLO would
/// offer what nobody has seen, and be said again wherever that changed.
const PATIENCE: Duration = Duration::from_millis(50);

/// How often a first look is looked at.
const FIRST_WORDS: Duration = Duration::from_millis(5);

/// The local model. One for the whole engine.
pub(crate) struct Models {
    pub(crate) model: Model,
    pub(crate) privacy: Privacy,
    pub(crate) trials: Trials,
    policy: Arc<PolicyCell>,
    board: Arc<Board>,
    clock: Arc<dyn Clock>,
    keys: Arc<Keys>,
    pub(crate) configured: ConfiguredModels,
    /// The same, checked.
    fixed: Vec<Entry>,
    state: Mutex<Looking>,
    uses: Uses,
    /// When the look that runs, or the last one, began. Held while one runs: one at a time.
    turn: tokio::sync::Mutex<Option<Instant>>,
    /// Counts looks; wakes whoever waits for one.
    looks: watch::Sender<u64>,
    /// Others can be asked than a HELLO said.
    changed: Notify,
}

/// What is remembered of servers between looks.
#[derive(Default)]
struct Looking {
    /// Those that may be asked now.
    asked: Vec<ModelServer>,
    /// Addresses of those that were looked at since they may be asked.
    looked: BTreeSet<String>,
    /// When they became those.
    since: Option<Instant>,
    pace: Pace,
    /// Every list that a HELLO said since links were told to say it again.
    said: BTreeSet<Vec<String>>,
}

impl Models {
    /// Asks nobody yet.
    pub(crate) fn new(
        configured: &ConfiguredModels,
        net: NetConfig,
        keys: Arc<Keys>,
        policy: Arc<PolicyCell>,
        board: Arc<Board>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let model = Model::limited(clock.clone(), configured.limits);
        model.set_tls(Arc::new(Trusted(net)));
        Arc::new(Self {
            keys,
            privacy: Privacy::new(model.clone(), clock.clone()),
            model,
            trials: Trials::default(),
            policy,
            board,
            clock,
            configured: configured.clone(),
            fixed: servers::of_config(configured),
            state: Mutex::default(),
            uses: Uses::default(),
            turn: tokio::sync::Mutex::default(),
            looks: watch::Sender::new(0),
            changed: Notify::new(),
        })
    }

    /// Takes over what policy says of power and servers now. What may not be asked any more ends at once.
    pub(crate) fn follow(self: &Arc<Self>) {
        let state = self.policy.get();
        let on = state.offers(Power::LocalModel);
        let servers: Vec<ModelServer> = if on { self.usable(&state) } else { Vec::new() };
        {
            let mut looking = self.looking();
            if looking.asked == servers {
                return;
            }
            if !on {
                // Before their servers go: what is stopped must not look like what failed.
                self.trials.stop_all();
            }
            looking.asked.clone_from(&servers);
            let kept: BTreeSet<String> = servers.iter().map(|server| server.url.clone()).collect();
            looking.looked.retain(|url| kept.contains(url));
            looking.pace = Pace::default();
            looking.since = Some(self.clock.now());
            self.model.set_servers(servers);
            self.give_keys();
        }
        if on {
            self.look_later();
        }
        self.board.touch();
    }

    /// The bridge is raised or the engine ends: nothing is asked any more when this returns.
    pub(crate) async fn stop(self: &Arc<Self>) {
        self.follow();
        self.trials.end_all().await;
    }

    /// Looks which models there are, if the power is on in this chat and it is time to. Waits for a first look alone, and a moment at
    /// most.
    pub(crate) async fn look(self: &Arc<Self>, session: Option<&SessionId>) {
        if !self.policy.get().offers_in(Power::LocalModel, session) {
            return;
        }
        self.follow();
        let mut looks = self.looks.subscribe();
        let is_looking = self.turn.try_lock().is_err();
        let (pace, since) = {
            let looking = self.looking();
            (looking.pace, looking.since)
        };
        let now = self.clock.now();
        if !is_looking {
            if !pace.is_due(now) {
                return;
            }
            self.look_later();
        }
        if !pace.is_first() {
            return;
        }
        let waited = since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let told = async {
            tokio::select! {
                _ = looks.changed() => {}
                () = self.first_words() => {}
            }
        };
        if tokio::time::timeout(PATIENCE.saturating_sub(waited), told).await.is_err() {
            tracing::info!("a server of local models did not tell in time what it has, so HELLO goes without it");
        }
    }

    /// Waits until every server has said what it has or failed. HELLO needs names, and no details of models, which come after them.
    async fn first_words(&self) {
        let has_told =
            |server: &ServerState| server.trouble.is_some() || server.name.is_some() || !server.models.is_empty();
        while !self.model.servers().iter().all(has_told) {
            tokio::time::sleep(FIRST_WORDS).await;
        }
    }

    /// Looks in the background.
    pub(crate) fn look_later(self: &Arc<Self>) {
        let (me, asked) = (self.clone(), self.clock.now());
        tokio::spawn(async move { me.look_since(asked).await });
    }

    /// Looks now and waits for the end of it.
    pub(crate) async fn look_now(&self) {
        self.look_since(self.clock.now()).await;
    }

    /// Looks, unless a look that began after `asked` has ended meanwhile.
    async fn look_since(&self, asked: Instant) {
        let mut begun = self.turn.lock().await;
        if begun.is_some_and(|begun| begun > asked) {
            return;
        }
        *begun = Some(self.clock.now());
        let wanted: Vec<String> = self.looking().asked.iter().map(|server| server.url.clone()).collect();
        if !wanted.is_empty() {
            self.keys.ready().await;
            self.give_keys();
            self.model.look().await;
        }
        let now = self.clock.now();
        let answers = self.model.servers().iter().any(|server| server.trouble.is_none());
        {
            let mut looking = self.looking();
            looking.pace.looked(now, answers);
            let asked: BTreeSet<String> = looking.asked.iter().map(|server| server.url.clone()).collect();
            looking.looked.extend(wanted.into_iter().filter(|url| asked.contains(url)));
        }
        drop(begun);
        self.tell_if_changed();
        self.looks.send_modify(|count| *count += 1);
        self.board.touch();
    }

    /// Reads the keys in the background, so that the window can say which servers have one also while none is asked.
    pub(crate) fn read_keys(self: &Arc<Self>) {
        let me = self.clone();
        tokio::spawn(async move {
            me.keys.ready().await;
            me.give_keys();
            me.board.touch();
        });
    }

    fn give_keys(&self) {
        self.model.set_keys(|url| self.keys.of(url));
    }

    /// Sets the key of a server or forgets it, and asks the server with what holds now. An engine that ends meanwhile keeps what was
    /// stored.
    ///
    /// # Errors
    /// Why it was not stored, not yet safe to show.
    pub(crate) async fn set_key(self: &Arc<Self>, url: String, key: Option<ServerKey>) -> Result<(), String> {
        let keys = self.keys.clone();
        let stored = tokio::task::spawn_blocking(move || keys.set(&url, key.as_ref())).await;
        self.give_keys();
        if !self.looking().asked.is_empty() {
            self.look_later();
        }
        self.board.touch();
        match stored {
            Ok(stored) => stored.map_err(|fault| fault.to_string()),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// The person asks once more: keys that could not be read and models that were missing get another chance.
    pub(crate) fn begin_anew(&self) {
        self.keys.retry();
        self.model.retry_missing();
    }

    /// Looks again now and then, for a server that comes, goes, gains or loses a model.
    pub(crate) fn round(self: &Arc<Self>) {
        self.follow();
        let now = self.clock.now();
        if self.policy.get().offers(Power::LocalModel) && self.looking().pace.is_due(now) {
            self.look_later();
        }
    }

    /// Returns the models that HELLO offers to a chat, or on the control link.
    pub(crate) fn offer(&self, session: Option<&SessionId>) -> Vec<String> {
        if !self.policy.get().offers_in(Power::LocalModel, session) {
            return Vec::new();
        }
        let mut looking = self.looking();
        let names = self.model.offered();
        looking.said.insert(names.clone());
        names
    }

    /// Waits until other models can be asked than a HELLO said.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn tell_if_changed(&self) {
        let mut looking = self.looking();
        let names = self.model.offered();
        if looking.said.iter().any(|said| *said != names) {
            looking.said.clear();
            self.changed.notify_one();
        }
    }

    /// Notes what is about to be asked of a model; none for what asks none.
    pub(crate) fn asked(operation: &Operation, session: Option<&SessionId>) -> Option<Asked> {
        Asked::of(operation, session)
    }

    /// Counts what came of it. A model or server that turned out to be gone is looked at again, so that HELLO tells the truth soon.
    pub(crate) fn answered(self: &Arc<Self>, asked: Asked, result: &Result<Outcome, OpError>) {
        match result {
            Ok(outcome) => {
                self.uses.count(asked, outcome, self.clock.wall());
                self.board.touch();
            }
            Err(OpError::ModelNotAvailable { .. } | OpError::ModelFailed { .. }) => {
                // A model that nobody ever offered is the peer's fault and says nothing of the servers.
                let known = self.said(&asked.model) || self.model.offered().contains(&asked.model);
                self.tell_if_changed();
                let now = self.clock.now();
                if known && self.looking().pace.is_worth(now) {
                    self.look_later();
                }
            }
            Err(_) => {}
        }
    }

    fn said(&self, model: &str) -> bool {
        self.looking().said.iter().flatten().any(|name| name == model)
    }

    fn usable(&self, state: &PolicyState) -> Vec<ModelServer> {
        let all = servers::all(&self.fixed, state);
        all.into_iter().filter(|entry| entry.refused.is_none()).map(|entry| entry.server).collect()
    }

    /// Returns the server that would be asked for a model, and whether what is asked may leave this computer; with `near`, for what must
    /// stay here.
    pub(crate) fn server_of(&self, model: &str, near: bool) -> Option<(ServerState, bool)> {
        let (server, facts) = self.model.asked_at(model, near)?;
        let leaves = !near && (facts.elsewhere || servers::leaves(&server.server));
        Some((server, leaves))
    }

    /// Returns what the window shows.
    pub(crate) fn view(&self) -> ModelsView {
        let state = self.policy.get();
        let (looked, asked) = {
            let looking = self.looking();
            (looking.looked.clone(), looking.asked.clone())
        };
        let found = self.model.servers();
        let mut taken = HashSet::new();
        let servers = servers::all(&self.fixed, &state).into_iter().map(|entry| {
            let url = &entry.server.url;
            let known = looked.contains(url) && asked.iter().any(|server| server.url == *url);
            let state = found.iter().find(|state| known && state.server.url == *url);
            server_view(&entry, state, self.has_key(url), &mut taken)
        });
        ModelsView {
            servers: servers.collect(),
            uses: self.uses.views(),
            private_all: state.is_private(None),
            review: state.privacy.review,
            preview_bytes: state.preview_bytes(),
        }
    }

    fn has_key(&self, url: &str) -> bool {
        matches!(self.keys.of(url), KnownKey::Set(_))
    }

    /// Returns what the window shows of the privacy of a chat.
    pub(crate) fn chat_view(&self, session: &SessionId) -> ChatPrivacyView {
        let state = self.policy.get();
        let asked = self.privacy.asked(session).into_iter().map(|file| AskedFileView {
            path: escape_outside_text(&file.path),
            stubs: file.stubs,
            turns: file.turns,
            last_ms: file.last_ms,
        });
        ChatPrivacyView {
            on: state.is_private(Some(session)),
            own: state.privacy.chats.get(session).copied(),
            open_elsewhere: Vec::new(),
            asked: asked.collect(),
        }
    }

    fn looking(&self) -> MutexGuard<'_, Looking> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks every server once, for the check-up while no engine runs.
pub(crate) async fn look_once(
    configured: &ConfiguredModels,
    net: NetConfig,
    keys: &Arc<Keys>,
    state: &PolicyState,
) -> Vec<ModelServerView> {
    let entries = servers::all(&servers::of_config(configured), state);
    let model = Model::limited(Arc::new(SystemClock), configured.limits);
    model.set_tls(Arc::new(Trusted(net)));
    let usable = entries.iter().filter(|entry| entry.refused.is_none());
    model.set_servers(usable.map(|entry| entry.server.clone()).collect());
    keys.ready().await;
    model.set_keys(|url| keys.of(url));
    model.look().await;
    let (found, mut taken) = (model.servers(), HashSet::new());
    let state_of = |entry: &Entry| found.iter().find(|state| state.server.url == entry.server.url);
    let has_key = |entry: &Entry| matches!(keys.of(&entry.server.url), KnownKey::Set(_));
    entries.iter().map(|entry| server_view(entry, state_of(entry), has_key(entry), &mut taken)).collect()
}

/// Describes a server. `taken` holds the names that servers before it have.
fn server_view(
    entry: &Entry,
    found: Option<&ServerState>,
    has_key: bool,
    taken: &mut HashSet<String>,
) -> ModelServerView {
    let server = &entry.server;
    let mut view = server_facts(server, entry.from_config, found);
    view.has_key = has_key;
    view.trouble = entry.refused.clone().or(view.trouble);
    if let Some(found) = found.filter(|_| view.answers) {
        let models = found.models.iter().map(|model| {
            let usable = !model.missing && (server.far || !model.elsewhere);
            model_view(model, usable && taken.insert(model.name.clone()))
        });
        view.models = models.collect();
    }
    view
}

/// Describes a server that was found and may not be asked yet.
pub(crate) fn found_view(found: &ServerState) -> ModelServerView {
    let mut view = server_facts(&found.server, false, Some(found));
    view.models = found.models.iter().map(|model| model_view(model, false)).collect();
    view
}

fn server_facts(server: &ModelServer, from_config: bool, found: Option<&ServerState>) -> ModelServerView {
    ModelServerView {
        url: escape_outside_text(&server.url),
        api: found.map_or(server.api, |found| found.api).name().to_owned(),
        name: found.and_then(|found| found.name.as_deref()).map(escape_outside_text),
        from_config,
        far: servers::leaves(server),
        parallel: u32::from(server.parallel),
        answers: found.is_some_and(|found| found.trouble.is_none()),
        trouble: found.and_then(|found| found.trouble.as_deref()).map(escape_outside_text),
        models: Vec::new(),
        running: found.map_or(0, |found| found.running),
        has_key: false,
    }
}

fn model_view(model: &ModelFacts, offered: bool) -> ModelView {
    ModelView {
        name: escape_outside_text(&model.name),
        size_bytes: model.size_bytes,
        context_tokens: model.context_tokens,
        elsewhere: model.elsewhere,
        missing: model.missing,
        offered,
    }
}

#[cfg(test)]
#[path = "models/models_tests.rs"]
mod tests;
