//! What a question about private files shows: which files, who reads them, what the model is told, and what it answered.

use drawbridge_core::SessionId;
use drawbridge_core::model::{Release, Turn};

use super::label::Label;
use super::{PromptFacts, push};
use crate::consent::seal::Scene;

/// The facts of a question that the local model would answer. All that it is told is shown.
pub(super) fn turn(op: &Turn, session: Option<&SessionId>, scene: &Scene, facts: &mut PromptFacts) {
    let details = &mut facts.details;
    push(details, Label::Model, &op.model);
    if let Some((found, _)) = scene.models.server_of(&op.model, true) {
        push(details, Label::ModelServer, &found.server.url);
    }
    let paths = session.map(|session| scene.models.privacy.paths(session, &op.stubs)).unwrap_or_default();
    for (stub, path) in op.stubs.iter().zip(paths) {
        match path {
            Some(path) => push(details, Label::PrivateFile, within(&path, scene)),
            None => push(details, Label::UnknownStub, stub),
        }
    }
    push(details, Label::Task, &op.task);
    if let Some(context) = &op.context {
        push(details, Label::Context, context);
    }
}

/// The facts of an answer that would leave this computer: the whole answer, who gave it, and what was asked about which files, since an
/// answer alone says little.
pub(super) fn release(op: &Release, scene: &Scene, facts: &mut PromptFacts) {
    let details = &mut facts.details;
    push(details, Label::Answer, &op.answer);
    push(details, Label::Model, &op.model);
    for path in &op.paths {
        push(details, Label::PrivateFile, within(path, scene));
    }
    push(details, Label::Task, &op.task);
    if let Some(context) = &op.context {
        push(details, Label::Context, context);
    }
}

/// Returns the way to a file from the folder of the chat, which the question names by itself; all of it where it is elsewhere.
fn within<'a>(path: &'a str, scene: &Scene) -> &'a str {
    let root = scene.root.as_ref().map_or("", |root| root.path());
    let below = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).filter(|_| !root.is_empty());
    below.filter(|below| !below.is_empty()).unwrap_or(path)
}
