//! Acts from the audit log for a person: pages of them, one record with its reason, checking and handing on the log.
//!
//! Everything here reads files and blocks; [`super::aside`] runs it off the engine's task. Nothing disturbs the writer.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use drawbridge_core::{Power, SessionId, escape_outside_text};
use drawbridge_policy::PolicyState;
use drawbridge_store::audit::{Glance, Hit, Index, Report, find};
use serde_json::{Map, Value};

use super::chat;
use super::commands::Done;
use crate::explain::explain;
use crate::handle::{CommandError, Reply};
use crate::journal::Journal;
use crate::record::{shown, subject_of, why_of};
use crate::view::{ActivityFilter, ActivityRow, PromptDetail, RecordView, VerifyView};

/// Rows of one page at most.
const MOST_ROWS: u32 = 500;
/// Fields of one record that are shown; a command may have thousands of words.
const MOST_FIELDS: usize = 500;
/// Findings that are shown; a file that is all wrong needs no more.
const MOST_FINDINGS: usize = 300;

/// Records that nobody would call an act: how the program, its links and its log live. What was asked stands in the
/// record of the answer and of the operation.
const HOUSEKEEPING: [&str; 10] = [
    "SHIM_START",
    "SHIM_STOP",
    "WS_CONNECTED",
    "WS_DISCONNECTED",
    "HELLO",
    "HELLO_ACK",
    "CONFIG_RELOADED",
    "TOKEN_REFRESHED",
    "LOG_OPENED",
    "CONSENT_ASKED",
];

/// What is wanted, checked and ready to compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wanted {
    session: Option<String>,
    power: Option<Power>,
    ok: Option<bool>,
    /// In lower case.
    text: Option<String>,
}

/// Looks for acts. Remembers where those are that fitted the last filter.
#[derive(Debug, Default)]
pub(super) struct Search {
    last: Mutex<Option<(Wanted, Index)>>,
}

impl Search {
    /// Returns one page of acts, newest first. Blocks.
    pub(super) fn page(&self, journal: &Journal, filter: &ActivityFilter, skip: u64, limit: u32) -> Done {
        let wanted = Wanted::from_filter(filter)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(|(before, _)| *before == wanted);
        let (wanted, mut index) = known.unwrap_or_else(|| (wanted, Index::new(journal.log().paths())));
        let limit = usize::try_from(limit.clamp(1, MOST_ROWS)).unwrap_or(1);
        let page = index.page(&|glance| wanted.fits(glance), skip, limit).map_err(unreadable)?;
        *last = Some((wanted, index));
        Ok(Reply::Activity {
            rows: page.hits.iter().map(row).collect(),
            total: page.total,
            unreadable: page.unreadable,
        })
    }
}

impl Wanted {
    fn from_filter(filter: &ActivityFilter) -> Result<Self, CommandError> {
        let power = filter.power.as_deref().map(|name| {
            let unknown = || CommandError::new("unknown_power", format!("There is no power named {}.", shown(name)));
            Power::from_name(name).ok_or_else(unknown)
        });
        let ok = filter.outcome.as_deref().map(|name| match name {
            "ok" => Ok(true),
            "refused" => Ok(false),
            other => {
                let message = format!("There is no outcome named {}. Ask for ok or refused.", shown(other));
                Err(CommandError::new("unknown_outcome", message))
            }
        });
        let text = filter.text.as_deref().map(str::to_lowercase).filter(|text| !text.is_empty());
        Ok(Self { session: filter.session_id.clone(), power: power.transpose()?, ok: ok.transpose()?, text })
    }

    fn fits(&self, glance: &Glance<'_>) -> bool {
        let plainly = !HOUSEKEEPING.contains(&&*glance.op)
            && self.session.as_ref().is_none_or(|session| glance.session_id == **session)
            && self.ok.is_none_or(|ok| glance.result.ok == ok);
        if !plainly {
            return false;
        }
        let by_op = power_of(&glance.op, None);
        let details_matter = self.text.is_some() || glance.op == "JAIL_VIOLATION" || by_op.is_none();
        if !details_matter {
            return self.power.is_none_or(|power| by_op == Some(power));
        }
        if self.text.as_ref().is_some_and(|text| cannot_have(glance, text)) {
            return false;
        }
        let details: Map<String, Value> = serde_json::from_str(glance.details.get()).unwrap_or_default();
        // Ours is followed by the record of the operation itself.
        !(glance.op == "JAIL_VIOLATION" && details.contains_key("request_id"))
            && self.power.is_none_or(|power| power_of(&glance.op, Some(&details)) == Some(power))
            && self.text.as_ref().is_none_or(|text| {
                let has = |place: &str| place.to_lowercase().contains(text);
                has(&glance.op)
                    || glance.result.error_code.as_deref().is_some_and(has)
                    || has(&escape_outside_text(&subject_of(&glance.op, &details)))
            })
    }
}

/// Tells without taking a record apart that a text is not in it. Most records of a long log end here.
///
/// A word of plain letters stands in the subject only if it stands in the details as they are written, with two exceptions
/// whose subject is a word of our own, and beside characters that are shown in another way.
fn cannot_have(glance: &Glance<'_>, text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
    let details = glance.details.get();
    let as_written = text.bytes().all(plain)
        && text.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && details.is_ascii()
        && !matches!(&*glance.op, "STOP_ALL" | "DIRECTORY_LIST");
    let has = |place: &str| place.as_bytes().windows(text.len()).any(|part| part.eq_ignore_ascii_case(text.as_bytes()));
    as_written && !has(details) && !has(&glance.op) && !glance.result.error_code.as_deref().is_some_and(has)
}

/// Returns the power that a record is about; with its details also where those alone say it.
fn power_of(op: &str, details: Option<&Map<String, Value>>) -> Option<Power> {
    let power = match op {
        "EXECUTE_COMMAND" => Power::Shell,
        "DIRECTORY_LIST"
        | "ATTACH_SESSION"
        | "SESSION_ALLOWED_ROOT_SET"
        | "ACTIVATE_SESSION"
        | "RESTORE_SESSION"
        | "DETACH_SESSION"
        | "SESSION_REVOKED"
        | "IDLE_SESSION_DETACH" => Power::Attach,
        "SCREENSHOT_REQUEST"
        | "INPUT_ACTION"
        | "CURSOR_POSITION_REQUEST"
        | "DISPLAY_INFO_REQUEST"
        | "WINDOW_LIST_REQUEST"
        | "WINDOW_FOCUS"
        | "APP_LIST_REQUEST"
        | "APP_LAUNCH"
        | "PERMISSIONS_CHECK_REQUEST" => Power::ComputerUse,
        "CLIPBOARD_READ" | "CLIPBOARD_WRITE" => Power::Clipboard,
        "LOCAL_LLM_COMPLETION" => Power::LocalModel,
        "UNDO_RESTORED" => Power::Files,
        op if op.starts_with("FILE_") => Power::Files,
        op if op.starts_with("HARDWARE_") => Power::Hardware,
        "JAIL_VIOLATION" => return power_of(details?.get("attempted_op")?.as_str()?, None),
        _ => return Power::from_name(details?.get("power")?.as_str()?),
    };
    Some(power)
}

fn row(hit: &Hit) -> ActivityRow {
    let empty = Map::new();
    let record = &hit.record;
    let details = record.get("details").and_then(Value::as_object).unwrap_or(&empty);
    let result = |key: &str| record.get("result").and_then(|result| result.get(key));
    let op = text(record, "op");
    ActivityRow {
        number: hit.number,
        at_ms: at_ms(record),
        session_id: session(record).map(escape_outside_text),
        operation: shown(op),
        subject: shown(&subject_of(op, details)),
        ok: result("ok").and_then(Value::as_bool).unwrap_or(false),
        error_code: result("error_code").and_then(Value::as_str).map(shown),
        duration_ms: result("duration_ms").and_then(Value::as_u64).unwrap_or(0),
        why: why_of(details),
        seq: record.get("seq").and_then(Value::as_u64),
        file: Some(hit.file.clone()),
    }
}

/// Returns one record with the reason of then and of now. Blocks.
pub(super) fn record(journal: &Journal, policy: &PolicyState, seq: u64, file: Option<&str>) -> Done {
    let found = find(journal.log().paths(), seq, file).map_err(unreadable)?;
    let Some(hit) = found else {
        let message = format!("The audit log has no record {seq} any more. It may have been removed with older files.");
        return Err(CommandError::new("unknown_record", message));
    };
    let empty = Map::new();
    let details = hit.record.get("details").and_then(Value::as_object).unwrap_or(&empty);
    let chat: Option<SessionId> = session(&hit.record).and_then(chat);
    let mut fields = Vec::new();
    flatten("", &hit.record, &mut fields);
    let record = RecordView {
        seq,
        at_ms: at_ms(&hit.record),
        fields,
        why: why_of(details),
        now: explain(policy, asked_for(text(&hit.record, "op"), details), chat.as_ref()),
    };
    Ok(Reply::Record { record: Box::new(record) })
}

/// Returns the name of the operation that a record is about.
fn asked_for<'a>(op: &'a str, details: &'a Map<String, Value>) -> &'a str {
    let named = |key: &str| details.get(key).and_then(Value::as_str).unwrap_or_default();
    match op {
        "SESSION_ALLOWED_ROOT_SET" => "ATTACH_SESSION",
        "JAIL_VIOLATION" => named("attempted_op"),
        "CONSENT_ASKED" | "CONSENT_ANSWERED" => named("operation"),
        op => op,
    }
}

/// Checks every file of the log. Blocks for long, until `stopped` says so.
pub(super) fn verify(journal: &Journal, stopped: &dyn Fn() -> bool) -> Done {
    // What another client wrote into this log before is as good as ours.
    let report = journal.log().verify_all(true, stopped).map_err(|fault| {
        if fault.kind() == io::ErrorKind::Interrupted {
            return CommandError::new("stopping", "Drawbridge is stopping, so the log was not checked to its end.");
        }
        unreadable(fault)
    })?;
    Ok(Reply::Verified { report: verified(&report) })
}

fn verified(report: &Report) -> VerifyView {
    let findings = report.findings.iter().take(MOST_FINDINGS).map(|finding| {
        let line = finding.line.map(|line| format!(", line {line}")).unwrap_or_default();
        let value = escape_outside_text(&format!("{}{line}: {}", finding.file, finding.words));
        PromptDetail { label: finding.kind.name().to_owned(), value }
    });
    VerifyView {
        sound: report.is_sound(),
        files: u32::try_from(report.files.len()).unwrap_or(u32::MAX),
        records: report.files.iter().map(|file| file.records).sum(),
        findings: findings.collect(),
    }
}

/// Writes all files of the log into one archive. Blocks for long.
pub(super) fn export(journal: &Journal, path: &str) -> Done {
    if !Path::new(path).is_absolute() {
        let message = format!("{} is no whole path. Choose a folder and a name for the archive.", shown(path));
        return Err(CommandError::new("bad_path", message));
    }
    match journal.log().export(Path::new(path)) {
        Ok(exported) => Ok(Reply::Exported { path: escape_outside_text(path), records: exported.records }),
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => Err(CommandError::new(
            "exists",
            format!("There is something at {} already, and it was left as it is. Choose another name.", shown(path)),
        )),
        Err(fault) => Err(CommandError::new(
            "not_written",
            format!(
                "The archive could not be written to {} ({fault}), and nothing of it is left there. Choose a place with more room, or one that you may write to.",
                shown(path)
            ),
        )),
    }
}

/// Lists the fields of a value, nested ones by dotted names, each safe to show.
fn flatten(name: &str, value: &Value, out: &mut Vec<PromptDetail>) {
    if out.len() >= MOST_FIELDS {
        return;
    }
    let inner = |key: &str| {
        if name.is_empty() { escape_outside_text(key) } else { format!("{name}.{}", escape_outside_text(key)) }
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| flatten(&inner(key), value, out));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| flatten(&inner(&at.to_string()), value, out));
        }
        Value::String(text) => out.push(PromptDetail { label: name.to_owned(), value: escape_outside_text(text) }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_) => {
            out.push(PromptDetail { label: name.to_owned(), value: value.to_string() });
        }
    }
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn session(record: &Value) -> Option<&str> {
    Some(text(record, "session_id")).filter(|session| !session.is_empty() && *session != "-")
}

fn at_ms(record: &Value) -> i64 {
    let seconds = record.get("ts").and_then(Value::as_f64).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    let ms = (seconds * 1000.0).round() as i64;
    ms
}

fn unreadable(fault: io::Error) -> CommandError {
    let message =
        format!("The audit log cannot be read ({fault}). Nothing was changed. Check the rights of its folder.");
    CommandError::new("audit_unreadable", message)
}

#[cfg(test)]
#[path = "activity_tests.rs"]
mod tests;
