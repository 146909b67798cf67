//! What a question about a completion of the local model shows: who would be asked, where that is, and what it would read. The last
//! message is shown whole, since it is what the model is to do; of those before it, how many and how long they are.

use drawbridge_core::SessionId;
use drawbridge_core::model::Completion;

use super::label::Label;
use super::{PromptFacts, push};
use crate::consent::seal::Scene;
use crate::record;

/// Adds the facts of a completion. `session` is none for the own try of the person.
pub(super) fn facts(op: &Completion, session: Option<&SessionId>, scene: &Scene, facts: &mut PromptFacts) {
    if session.is_none() {
        facts.summary = format!("You want to try the model {}", record::shown(&op.model));
    }
    let details = &mut facts.details;
    push(details, Label::Model, &op.model);
    if let Some((found, leaves)) = scene.models.server_of(&op.model, false) {
        push(details, Label::ModelServer, &found.server.url);
        if leaves {
            push(details, Label::ModelElsewhere, "yes");
        }
    }
    push(details, Label::Messages, &op.messages.len().to_string());
    push(details, Label::MessagesLength, &record::prompt_chars(op).to_string());
    if let Some(last) = op.messages.last() {
        push(details, Label::LastMessage, &last.content);
    }
    push(details, Label::MaxTokens, &op.sampling.max_tokens.to_string());
}
