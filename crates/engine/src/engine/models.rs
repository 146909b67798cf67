//! What the person says of servers of local models, and their own tries.

use std::sync::Arc;

use drawbridge_caps::Pieces;
use drawbridge_core::model::{ChatMessage, ChatRole, Completion, Knob, ModelOp, Sampling};
use drawbridge_core::{Operation, Power, RequestId, escape_outside_text};
use drawbridge_policy::PolicyState;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Core;
use super::aside::Wait;
use super::commands::{Done, not_stored};
use crate::dispatcher::Job;
use crate::handle::{CommandError, Passphrase, Reply};
use crate::hardware::COMMAND_LINE;
use crate::models::trials::TriesTaken;
use crate::models::{add_server, checked_key, checked_server, found_view, key_address, known_server, remove_server};
use crate::screen::Offer;

/// The longest question of a try, in bytes.
const QUESTION_BYTES: usize = 64 * 1024;
/// The longest answer to a try, in tokens.
const TRY_TOKENS: u32 = 1024;
/// Parts of an answer that may wait.
const PIECES_WAITING: usize = 16;

impl Core {
    /// Lets a server be asked, or changes how it is asked.
    pub(super) fn add_model_server(&self, url: &str, api: &str, far: bool, parallel: u32) -> Done {
        let state = self.policy.get();
        let server = checked_server(url, api, far, parallel, &state.ceilings)?;
        // Tried on a copy first: a change of the settings cannot be refused half way.
        add_server(&mut PolicyState::clone(&state), server.clone())?;
        let details = json!({ "model_server": { "url": server.url, "far": server.far } });
        let add = |state: &mut PolicyState| {
            let _ = add_server(state, server.clone());
        };
        self.policy.change(add).map_err(not_stored)?;
        self.servers_changed(details)
    }

    pub(super) fn remove_model_server(&self, url: &str) -> Result<Wait, CommandError> {
        let configured = &self.models.configured;
        let removed = remove_server(&mut PolicyState::clone(&self.policy.get()), url, configured)?;
        self.policy.change(|state| state.model_servers.retain(|server| server.url != removed)).map_err(not_stored)?;
        self.servers_changed(json!({ "model_server_removed": removed }))?;
        let models = self.models.clone();
        Ok(Box::pin(async move {
            // What is gone is asked no more, whatever becomes of its key.
            models.set_key(removed.clone(), None).await.map_err(|fault| {
                let url = escape_outside_text(&removed);
                let why = format!(
                    "{url} was removed, but its key is still kept ({}). Unlock the keychain, add the server once more and remove it again.",
                    escape_outside_text(&fault)
                );
                CommandError::new("key_left", why)
            })?;
            Ok(Reply::Done)
        }))
    }

    /// Sets the key of a server, or forgets it.
    pub(super) fn set_model_key(&self, url: &str, key: Option<Passphrase>) -> Result<Wait, CommandError> {
        let (url, key) = match key {
            Some(key) => {
                let server = known_server(url, &self.models.configured, &self.policy.get())?;
                let key = checked_key(&key.into_secret(), &server)?;
                (server.url, Some(key))
            }
            None => (key_address(url)?, None),
        };
        let (models, journal) = (self.models.clone(), self.journal.clone());
        Ok(Box::pin(async move {
            let is_set = key.is_some();
            models.set_key(url.clone(), key).await.map_err(|fault| {
                let what = if is_set { "The key was not kept" } else { "The key is still kept and is used no more" };
                CommandError::new("key_not_stored", format!("{what}: {}.", escape_outside_text(&fault)))
            })?;
            journal.event(None, "POLICY_CHANGED", json!({ "model_key": { "url": url, "set": is_set } }));
            Ok(Reply::Done)
        }))
    }

    fn servers_changed(&self, details: Value) -> Done {
        self.journal.event(None, "POLICY_CHANGED", details);
        self.models.follow();
        self.board.touch();
        Ok(Reply::Done)
    }

    pub(super) fn find_model_servers(&self) -> Wait {
        let (models, ready) = (self.models.clone(), self.models_ready());
        Box::pin(async move {
            ready?;
            let found = models.model.find().await;
            let servers = found.iter().filter(|state| state.trouble.is_none()).map(found_view).collect();
            Ok(Reply::ModelServers { servers })
        })
    }

    pub(super) fn look_at_models(&self) -> Wait {
        let (models, ready) = (self.models.clone(), self.models_ready());
        Box::pin(async move {
            ready?;
            models.follow();
            models.begin_anew();
            models.look_now().await;
            Ok(Reply::Done)
        })
    }

    /// Starts a try of the person's own: decided, recorded and shown as any other request.
    pub(super) fn try_model(&self, model: String, text: String) -> Done {
        self.models_ready()?;
        if text.trim().is_empty() {
            return Err(CommandError::new("empty_text", "Write something for the model first."));
        }
        if text.len() > QUESTION_BYTES {
            let message = format!("A try takes {} KiB of text at most. Shorten it.", QUESTION_BYTES / 1024);
            return Err(CommandError::new("text_too_long", message));
        }
        let (id, trial) = self.models.trials.begin(&self.clock).map_err(|TriesTaken| {
            CommandError::new("busy", "Two tries run already. Stop one of them or wait for its end.")
        })?;
        let internal = || CommandError::new("internal", "The try could not be made. Please report this.");
        let request = RequestId::parse(&format!("try-{id}")).map_err(|_| internal())?;
        let asked = question(model, text).ok_or_else(internal)?;
        let (out, pieces) = mpsc::channel(PIECES_WAITING);
        let job = Job {
            link: COMMAND_LINE,
            request: request.clone(),
            operation: Operation::Model(ModelOp::Completion(asked)),
            session: None,
            root: None,
            offer: Arc::new(Offer::default()),
            limits: self.shared.limits,
            pieces: Some(Pieces::new(request, out)),
            queued: Arc::default(),
            cancel: trial.cancel.clone(),
        };
        let dispatcher = self.shared.dispatcher.clone();
        tokio::spawn(async move { trial.follow(dispatcher.run_local(job), pieces).await });
        Ok(Reply::Trial { id })
    }

    pub(super) fn trial_text(&self, id: u64) -> Done {
        self.models.trials.view(id).map(|trial| Reply::TrialText { trial }).ok_or_else(forgotten)
    }

    pub(super) fn stop_trial(&self, id: u64) -> Done {
        if self.models.trials.stop(id) { Ok(Reply::Done) } else { Err(forgotten()) }
    }

    /// Nobody is asked while the power is off or the bridge is raised.
    fn models_ready(&self) -> Result<(), CommandError> {
        let state = self.policy.get();
        if state.raised {
            return Err(CommandError::new("raised", "The bridge is raised. Lower it first."));
        }
        if !state.offers(Power::LocalModel) {
            let message = "The power of the local model is off, so no server is asked. Switch it on first.";
            return Err(CommandError::new("power_off", message));
        }
        Ok(())
    }
}

fn forgotten() -> CommandError {
    CommandError::new("unknown_trial", "This try is not kept any more. Start a new one.")
}

/// What the person asks, with the defaults of the protocol. None cannot happen: both numbers are finite.
fn question(model: String, text: String) -> Option<Completion> {
    let (temperature, top_p) = (Knob::new(0.0)?, Knob::new(1.0)?);
    Some(Completion {
        model,
        messages: vec![ChatMessage { role: ChatRole::User, content: text }],
        sampling: Sampling { max_tokens: TRY_TOKENS, temperature, top_p },
        stream: true,
    })
}
