//! Work on files in the attached folder (spec 8): read, write, stat, list, delete, move.
//!
//! Every path goes through [`Root::walk`]; all work is done on (folder handle, name). Writes are whole or not at all, and
//! what is replaced, deleted or moved is kept first by the [`UndoKeeper`]. Deliberately absent: any decision whether the
//! operation is allowed, and any knowledge of wire formats.

mod change;
mod content;
mod glob;
mod list;
mod stat;

pub(crate) use stat::mime;

use std::sync::Arc;

use drawbridge_core::{FileOp, Limits, OpError, Operation, Outcome, Power, SessionId};
use drawbridge_os::root::{Change, PathFault, Root, Stamp};
use drawbridge_policy::Permit;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Capability, RunCtx, Shown};

/// Keeps what a change takes away, so that a person can take the change back.
///
/// [`UndoKeeper::keep`] is called right before the change. For [`Change::Delete`] the keeper takes the thing over: after
/// it returned, nothing is in its place. In all other cases it leaves everything as it is. When it fails or is cancelled,
/// the operation ends and nothing was changed.
pub trait UndoKeeper: Send + Sync {
    /// Keeps what the change takes away and returns the number of the entry; none when `cancelled` said so.
    ///
    /// # Errors
    /// What the file system said; then nothing was kept and nothing has moved.
    fn keep(
        &self,
        session: Option<&SessionId>,
        change: &Change<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, PathFault>;

    /// Notes what the change left in place: none for a delete.
    fn changed(&self, number: u64, left: Option<Stamp>);

    /// Forgets an entry whose change did not happen.
    fn forget(&self, number: u64);
}

/// The capability.
pub struct Files {
    undo: Arc<dyn UndoKeeper>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Files")
    }
}

impl Files {
    /// Makes the capability with the keeper of former states.
    #[must_use]
    pub fn new(undo: Arc<dyn UndoKeeper>) -> Self {
        Self { undo }
    }
}

impl Capability for Files {
    fn power(&self) -> Power {
        Power::Files
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        async move {
            let session = permit.session().cloned();
            let Operation::File(op) = permit.into_operation() else {
                return Err(OpError::Internal("the files capability got another operation".to_owned()));
            };
            if let Some(outcome) = at_once(&ctx, &op) {
                return Ok(outcome);
            }
            let Some(root) = ctx.root else {
                return Err(OpError::Internal("an operation on files came without a folder".to_owned()));
            };
            let seen = match ctx.shown {
                Some(Shown::Write(seen)) => Some(seen),
                Some(Shown::Command(_) | Shown::Launch(_)) | None => None,
            };
            let undo = Arc::clone(&self.undo);
            let job = Job { root, session, limits: ctx.limits, cancel: ctx.cancel, undo, seen };
            // Waited for to the end, also after a cancel: nothing may go on behind the back of the engine.
            match tokio::task::spawn_blocking(move || job.run(op)).await {
                Ok(result) => result,
                Err(_) => Err(OpError::Internal("the work on a file broke off".to_owned())),
            }
        }
        .boxed()
    }
}

/// Answers what can be answered from memory alone, without the detour over another thread. Never blocks.
fn at_once(ctx: &RunCtx, op: &FileOp) -> Option<Outcome> {
    if ctx.cancel.is_cancelled() {
        return None;
    }
    match op {
        FileOp::Read { path, form, offset, length } => content::read_if_cached(ctx, path, *form, *offset, *length),
        FileOp::Stat { path, .. } => stat::stat_if_cached(ctx, path),
        FileOp::Write { .. }
        | FileOp::List { .. }
        | FileOp::Delete { .. }
        | FileOp::Move { .. }
        | FileOp::Stub { .. } => None,
    }
}

/// One operation at work on a thread of its own.
struct Job {
    root: Arc<Root>,
    session: Option<SessionId>,
    limits: Limits,
    cancel: CancellationToken,
    undo: Arc<dyn UndoKeeper>,
    /// What the person saw in the place of a write, if they were asked: a file, or nothing.
    seen: Option<Option<Stamp>>,
}

impl Job {
    fn run(&self, op: FileOp) -> Result<Outcome, OpError> {
        self.go_on()?;
        match op {
            FileOp::Read { path, form, offset, length } => self.read(&path, form, offset, length),
            FileOp::Write { path, content, create_parents, form: _ } => self.write(&path, &content, create_parents),
            FileOp::Stat { path, follow_symlinks } => self.stat(&path, follow_symlinks),
            FileOp::List { path, glob, recursive, include_hidden, max_entries } => {
                let wish = list::Wish { glob, recursive, include_hidden, max_entries };
                self.list(&path, wish)
            }
            FileOp::Delete { path, recursive, missing_ok } => self.delete(&path, recursive, missing_ok),
            FileOp::Move { src, dst, overwrite } => self.rename(&src, &dst, overwrite),
            FileOp::Stub { .. } => Err(OpError::Internal("a description came to the wrong place".to_owned())),
        }
    }

    /// Ends the operation between two steps when it was cancelled.
    fn go_on(&self) -> Result<(), OpError> {
        if self.cancel.is_cancelled() { Err(OpError::Cancelled) } else { Ok(()) }
    }

    /// Puts a fault into the caller's terms.
    fn fault(&self, action: &'static str, path: &str, fault: PathFault) -> OpError {
        told(&self.root, action, path, fault)
    }
}

/// Puts a fault into the caller's terms. `path` is as the peer wrote it.
pub(crate) fn told(root: &Root, action: &'static str, path: &str, fault: PathFault) -> OpError {
    let path = path.to_owned();
    match fault {
        PathFault::Refused(reason) => OpError::OutsideRoot { path, root: root.path().to_owned(), reason },
        PathFault::BadPath(reason) => OpError::BadPath { path, reason },
        PathFault::ReservedName => OpError::ReservedName { path },
        PathFault::NotFound => OpError::NotFound { path },
        PathFault::Exists => OpError::Exists { path },
        PathFault::NotEmpty => OpError::NotEmpty { path },
        PathFault::File { reason, message } => OpError::File { action, path, reason, message },
    }
}

#[cfg(test)]
#[allow(
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "tests that say what they skip"
)]
#[path = "files_tests.rs"]
mod tests;
