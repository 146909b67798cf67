//! Privacy mode: files are described instead of read out, and the local model answers questions about them (spec 13).
//!
//! Contents go from the attached folder to a model server on this computer and nowhere else. Deliberately absent: whether a chat is
//! private, and whether an answer may leave; both are policy's.

mod digest;
mod place;
mod plain;
mod question;
mod registry;
mod turn;

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use drawbridge_core::model::{FileStub, ModelAnswer, ModelOp, Turn};
use drawbridge_core::{Clock, FileOp, IoReason, OpError, Operation, Outcome, Power, SessionId};
use drawbridge_os::root::{PathFault, Root};
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::files::told;
use crate::model::{Ask, Model, PASSED_ON, runs_at_its_maker};
use crate::{Capability, RunCtx};

use digest::{NoDigest, sha256};
use place::Place;
pub use registry::Asked;
use registry::{Registry, Stub};

/// The capability. Cheap to clone.
#[derive(Clone)]
pub struct Privacy {
    model: Model,
    clock: Arc<dyn Clock>,
    registry: Arc<Registry>,
}

impl Privacy {
    /// Makes the capability on top of the local model.
    #[must_use]
    pub fn new(model: Model, clock: Arc<dyn Clock>) -> Self {
        Self { model, clock, registry: Arc::default() }
    }

    /// Forgets the stubs of a chat: at each HELLO, when contents need not stay here any more, and when the chat ends.
    pub fn forget_stubs(&self, session: &SessionId) {
        self.registry.wipe(session);
    }

    /// Forgets the stubs of every chat in which contents need not stay here any more.
    pub fn forget_stubs_of_open(&self, is_private: impl Fn(&SessionId) -> bool) {
        self.registry.wipe_where(|session| !is_private(session));
    }

    /// Forgets everything of a chat that is gone for good.
    pub fn forget(&self, session: &SessionId) {
        self.registry.forget(session);
    }

    /// Returns which files of a chat were asked about in this run, the latest first, at most 100.
    #[must_use]
    pub fn asked(&self, session: &SessionId) -> Vec<Asked> {
        self.registry.asked(session)
    }

    /// Returns the whole paths behind stubs of a chat, for questions and records; none for one that does not hold.
    #[must_use]
    pub fn paths(&self, session: &SessionId, stubs: &[String]) -> Vec<Option<String>> {
        stubs.iter().map(|id| self.registry.find(session, id).map(|stub| stub.place.path())).collect()
    }

    async fn describe(&self, session: SessionId, path: String, preview: u16, ctx: RunCtx) -> Result<Outcome, OpError> {
        let Some(root) = ctx.root else { return Err(no_folder()) };
        let since = self.registry.begin(&session);
        let (stub, facts) = in_turn(move || describe(&root, &path, preview, &ctx.cancel)).await?;
        if self.registry.keep(&session, since, stub, self.clock.wall()) {
            Ok(Outcome::Stub(facts))
        } else {
            Err(OpError::Cancelled)
        }
    }

    async fn ask(&self, session: SessionId, op: Turn, ctx: RunCtx) -> Result<ModelAnswer, OpError> {
        let mut stubs: Vec<Arc<Stub>> = Vec::new();
        for id in &op.stubs {
            let stub = self.registry.find(&session, id).ok_or_else(|| turn::unknown(id))?;
            if !stubs.iter().any(|known| known.id == stub.id) {
                stubs.push(stub);
            }
        }
        // Before anything is read: a model that cannot be asked is no reason to touch the files.
        self.has_near(&op.model)?;
        let (read, verify, cancel) = (stubs.clone(), op.verify, ctx.cancel.clone());
        let sheets = in_turn(move || turn::read(&read, verify, &cancel)).await?;
        let messages = question::compose(&sheets, op.context.as_deref(), &op.task)?;
        drop(sheets);
        self.registry.turn(&session, stubs.iter(), self.clock.wall());
        let ask = Ask {
            model: op.model,
            messages,
            sampling: op.sampling,
            whole: true,
            near_only: true,
            pieces: ctx.pieces,
            tell_end: false,
            cancel: ctx.cancel,
        };
        self.model.ask(ask).await
    }

    /// Checks that a server on this computer has the model, as far as can be told.
    fn has_near(&self, model: &str) -> Result<(), OpError> {
        if runs_at_its_maker(model) || self.model.is_passed_on(model) {
            return Err(OpError::ModelFailed { why: PASSED_ON.to_owned() });
        }
        let near = self.model.offered_near();
        if near.iter().any(|name| name == model) {
            return Ok(());
        }
        if self.model.offered().iter().any(|name| name == model) {
            let why = "the model runs on another computer, and contents of private files stay on this one; name a model on this computer";
            return Err(OpError::ModelFailed { why: why.to_owned() });
        }
        Err(OpError::ModelNotAvailable { requested: model.to_owned(), available: near })
    }
}

impl Capability for Privacy {
    fn power(&self) -> Power {
        Power::LocalModel
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            let Some(session) = permit.session().cloned() else {
                return Err(OpError::Internal("private files were asked about outside of a chat".to_owned()));
            };
            match permit.into_operation() {
                Operation::File(FileOp::Stub { path, preview_bytes }) => {
                    self.describe(session, path, preview_bytes, ctx).await
                }
                Operation::Model(ModelOp::Turn(op)) => self.ask(session, op, ctx).await.map(Outcome::Turn),
                Operation::File(_)
                | Operation::Command(_)
                | Operation::Browse(_)
                | Operation::Session(_)
                | Operation::Computer(_)
                | Operation::Model(_)
                | Operation::Hardware(_) => {
                    Err(OpError::Internal("private files were asked about in another way".to_owned()))
                }
            }
        })
    }
}

/// Describes a file: hashes it as it is at one moment. Tries once more when it was written meanwhile.
fn describe(
    root: &Arc<Root>,
    path: &str,
    preview: u16,
    cancel: &CancellationToken,
) -> Result<(Stub, FileStub), OpError> {
    for _ in 0..2 {
        let (place, file, facts) = Place::find(root, path).map_err(|fault| told(root, "read", path, fault))?;
        // Before the digest, which finds out whether the file was written since its facts were taken.
        let first =
            first_bytes(&file, preview).map_err(|fault| told(root, "read", path, PathFault::from_io(&fault)))?;
        match sha256(&file, &facts, cancel) {
            Ok(sha256) => return Ok(described(place, facts.size_bytes, sha256, first)),
            Err(NoDigest::Changed) => {}
            Err(NoDigest::Cancelled) => return Err(OpError::Cancelled),
            Err(NoDigest::Path(fault)) => return Err(told(root, "read", path, fault)),
        }
    }
    let message = "it is being written at the moment; try again when that is done".to_owned();
    Err(OpError::File { action: "describe", path: path.to_owned(), reason: IoReason::ChangedMeanwhile, message })
}

fn described(place: Place, size_bytes: u64, sha256: [u8; 32], preview: Vec<u8>) -> (Stub, FileStub) {
    let id = format!("stub_{}", Uuid::new_v4());
    let facts = FileStub {
        path: place.path(),
        size_bytes,
        mime_type: place.mime(),
        sha256: drawbridge_core::hex::encode(sha256),
        stub_id: id.clone(),
        preview,
    };
    (Stub { id, place, sha256 }, facts)
}

/// Reads the first bytes of a file, and none of it where none are wanted.
fn first_bytes(file: &File, most: u16) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::from(most));
    if most > 0 {
        file.take(u64::from(most)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Works on a thread that may block. Waited for to the end, also after a cancel: nothing may go on behind the back of the engine.
async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> Result<T, OpError> + Send + 'static) -> Result<T, OpError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(OpError::Internal("the work on a private file broke off".to_owned())),
    }
}

fn no_folder() -> OpError {
    OpError::Internal("a private file was asked about without a folder".to_owned())
}
