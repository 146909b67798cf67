//! Writing down what happened: the audit record, and the row for the window.

use std::sync::Arc;

use drawbridge_core::{Clock, OpError, Outcome, RequestId, SessionId};
use drawbridge_store::audit::RecordResult;

use crate::board::Board;
use crate::journal::Journal;
use crate::record::Facts;
use crate::view::{ActivityRow, WhyView};

/// Writes records and rows.
pub(super) struct Recorder {
    pub(super) journal: Arc<Journal>,
    pub(super) board: Arc<Board>,
    pub(super) clock: Arc<dyn Clock>,
}

/// What happened, for the log and the window.
pub(super) struct Act<'a> {
    pub(super) chat: Option<&'a SessionId>,
    pub(super) request: &'a RequestId,
    pub(super) facts: Facts,
    pub(super) result: &'a Result<Outcome, OpError>,
    /// The code of the reply, which may differ from the result: an answer that fits into no frame is an error.
    pub(super) error_code: Option<&'static str>,
    pub(super) duration_ms: u64,
    pub(super) why: Option<WhyView>,
}

impl Recorder {
    /// Writes what happened. False when the log could not be written.
    pub(super) fn act(&self, act: Act<'_>) -> bool {
        let ok = act.result.is_ok() && act.error_code.is_none();
        let (exit_code, timed_out) = match act.result {
            Ok(Outcome::Command(command)) => (Some(command.exit_code), command.timed_out),
            Ok(_) | Err(_) => (None, false),
        };
        let error_code = if timed_out { Some("COMMAND_TIMEOUT") } else { act.error_code };
        let ok = ok && !timed_out;
        let mut written = true;
        if let (Err(error), Some(code)) = (act.result, error_code)
            && let Some(details) = act.facts.jail_violation(error, code, act.request.as_str())
        {
            let result = RecordResult { ok: false, exit_code: None, duration_ms: 0, error_code: Some(code.into()) };
            written &= self.journal.write(act.chat, None, "JAIL_VIOLATION", details, result);
        }
        let result =
            RecordResult { ok, exit_code, duration_ms: act.duration_ms, error_code: error_code.map(Into::into) };
        let subject = act.facts.subject();
        let recorded =
            self.journal.append(act.chat, Some(act.request.as_str()), act.facts.op, act.facts.details, result);
        written &= recorded.is_some();
        self.board.act(ActivityRow {
            number: 0,
            at_ms: self.clock.wall().0,
            session_id: act.chat.map(|chat| chat.as_str().to_owned()),
            operation: act.facts.op.to_owned(),
            subject,
            ok,
            error_code: error_code.map(str::to_owned),
            duration_ms: act.duration_ms,
            why: act.why,
            seq: recorded.as_ref().map(|recorded| recorded.seq),
            file: recorded.map(|recorded| recorded.file.to_string()),
        });
        written
    }

    /// Writes down a request that the machine refused by itself: capability not granted, overloaded, bad payload.
    pub(super) fn refusal(
        &self,
        chat: Option<&SessionId>,
        request: &RequestId,
        op: &'static str,
        code: &'static str,
    ) -> bool {
        let result = RecordResult { ok: false, exit_code: None, duration_ms: 0, error_code: Some(code.into()) };
        let recorded = self.journal.append(chat, Some(request.as_str()), op, serde_json::Map::new(), result);
        let written = recorded.is_some();
        self.board.act(ActivityRow {
            number: 0,
            at_ms: self.clock.wall().0,
            session_id: chat.map(|chat| chat.as_str().to_owned()),
            operation: op.to_owned(),
            subject: String::new(),
            ok: false,
            error_code: Some(code.to_owned()),
            duration_ms: 0,
            why: None,
            seq: recorded.as_ref().map(|recorded| recorded.seq),
            file: recorded.map(|recorded| recorded.file.to_string()),
        });
        written
    }
}
