//! Taking changes back for a person. Everything here blocks; [`super::aside`] runs it off the engine's task.

use std::sync::Arc;

use drawbridge_core::{SessionId, escape_outside_text};
use drawbridge_store::undo::{UndoFault, UndoStore};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::OpenRoot;
use super::commands::{Done, sentence};
use crate::board::Board;
use crate::handle::{CommandError, Reply};
use crate::journal::Journal;
use crate::view::PromptDetail;

/// So many failures are told one by one.
const MOST_TOLD: usize = 200;

/// What a restore needs.
pub(super) struct Restorer {
    pub(super) undo: Arc<UndoStore>,
    pub(super) open_root: OpenRoot,
    pub(super) journal: Arc<Journal>,
    pub(super) board: Arc<Board>,
    /// Fires when the engine ends.
    pub(super) stop: CancellationToken,
}

impl Restorer {
    fn one(&self, number: u64, session: Option<&SessionId>) -> Result<(), UndoFault> {
        let restored = self.undo.restore(number, &|path| (self.open_root)(path))?;
        let details = json!({ "number": number, "path": restored.path, "saved": restored.saved });
        self.journal.event(session, "UNDO_RESTORED", details);
        Ok(())
    }
}

/// Takes changes back by their numbers, newest first whatever the order they came in: later changes lie on top of earlier
/// ones. The first that fails ends it.
pub(super) fn numbers(restorer: &Restorer, mut numbers: Vec<u64>) -> Done {
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.dedup();
    for (at, number) in numbers.iter().enumerate() {
        let why = if restorer.stop.is_cancelled() {
            "Drawbridge is stopping.".to_owned()
        } else {
            match restorer.one(*number, None) {
                Ok(()) => continue,
                Err(fault) => sentence(&fault.to_string()),
            }
        };
        let (done, left) = (&numbers[..at], &numbers[at + 1..]);
        return Err(CommandError::new("undo_failed", format!("{why}{}", rest(*number, done, left))));
    }
    restorer.board.touch();
    Ok(Reply::Done)
}

/// Says what was done before a fault and what was not tried after it, where several changes were asked for.
fn rest(number: u64, done: &[u64], left: &[u64]) -> String {
    if done.is_empty() && left.is_empty() {
        return String::new();
    }
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let mut words = format!(" This was about change {number}.");
    if !done.is_empty() {
        words += &format!(" Taken back before it: {}.", list(done));
    }
    if !left.is_empty() {
        words += &format!(" Not tried any more: {}.", list(left));
    }
    words
}

/// Takes back everything that a chat changed, newest first. One that fails is told and the others follow.
pub(super) fn chat(restorer: &Restorer, session: &SessionId) -> Done {
    let (mut count, mut failed) = (0, Vec::new());
    let open = restorer.undo.list(Some(session)).into_iter().filter(|entry| !entry.restored);
    for entry in open {
        let why = if restorer.stop.is_cancelled() {
            "Drawbridge is stopping. Take it back after the next start.".to_owned()
        } else {
            match restorer.one(entry.number, Some(session)) {
                Ok(()) => {
                    count += 1;
                    continue;
                }
                Err(fault) => sentence(&fault.to_string()),
            }
        };
        failed.push(PromptDetail { label: escape_outside_text(&entry.path), value: escape_outside_text(&why) });
    }
    if failed.len() > MOST_TOLD {
        let more = format!("{} more could not be taken back.", failed.len() - MOST_TOLD);
        failed.truncate(MOST_TOLD);
        failed.push(PromptDetail { label: "…".to_owned(), value: more });
    }
    restorer.board.touch();
    Ok(Reply::Restored { count, failed })
}
