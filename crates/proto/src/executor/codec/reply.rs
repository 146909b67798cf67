//! Answers, encoded once, into the frame that goes out.
//!
//! Sizes are counted before anything is written, so an answer that is too large costs no memory.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawbridge_core::{
    Binding, CommandResult, ContentForm, DirectoryEntry, DirectoryPage, FRAME_LIMIT_BYTES, FileContents, FileEntry,
    FileOp, FileStat, Limits, OpError, Operation, Outcome, RequestId, WallMs,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::escape::{cut_at, escaped_len, fit, push_string};
use super::{computer, model};
use crate::executor::errors::{clip, error_details, wire_code};
use crate::executor::wire::{self, ErrorCode};

/// What closes `stderr` when output was cut: 28 bytes, within the budget.
pub(crate) const CUT_MARKER: &str = "\n[command output truncated]\n";
/// Both line feeds take one more byte in JSON.
const CUT_MARKER_ESCAPED: usize = CUT_MARKER.len() + 2;
/// Longest message of an ERROR, in bytes.
const MESSAGE_MAX: usize = 4096;

/// What an answer must know about its request. Take it before the operation is given away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyContext {
    pub(crate) op: &'static str,
    pub(crate) moved: Option<(String, String)>,
}

impl ReplyContext {
    /// Takes what is needed from an operation.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        let moved = match operation {
            Operation::File(FileOp::Move { src, dst, .. }) => Some((clip(src), clip(dst))),
            Operation::File(_)
            | Operation::Command(_)
            | Operation::Browse(_)
            | Operation::Session(_)
            | Operation::Computer(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => None,
        };
        // The audit log tells a description from a reading; whoever asked knows one name for both.
        let op = if matches!(operation, Operation::File(FileOp::Stub { .. })) { "FILE_READ" } else { operation.name() };
        Self { op, moved }
    }

    /// For a request that never became an operation.
    #[must_use]
    pub const fn of_name(op: &'static str) -> Self {
        Self { op, moved: None }
    }
}

/// An encoded answer: all of its frame but the tail, which only the connection knows.
pub struct Reply {
    id: RequestId,
    body: String,
    error: Option<ErrorCode>,
    output_cut: bool,
}

/// Content never reaches a log.
impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, body, error, output_cut } = self;
        write!(f, "Reply({id}, {} bytes, {error:?}, cut: {output_cut})", body.len())
    }
}

/// The frame would have this many bytes before its tail.
pub(super) struct TooLong(pub(super) usize);

impl Reply {
    /// Encodes an answer. One that would not fit into a frame becomes ERROR `FILE_TOO_LARGE`; output of a command and the
    /// text of a model are cut until they fit.
    #[must_use]
    pub fn encode(id: &RequestId, context: &ReplyContext, limits: &Limits, result: Result<&Outcome, &OpError>) -> Self {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => {
                return Self::failure(id, wire_code(error), &error.to_string(), error_details(error, context));
            }
        };
        let tail = tail_len(limits.max_concurrent);
        let room = FRAME_LIMIT_BYTES - tail;
        let written = match outcome {
            Outcome::Command(result) => Ok(command(id, result, limits, room)),
            Outcome::Contents(contents) => file_contents(id, contents, room).map(|body| (body, false)),
            Outcome::List { entries, truncated } => listing(id, entries, *truncated, room).map(|body| (body, false)),
            Outcome::Done | Outcome::Changed(_) => small(id, "ACK", &wire::Ack { ok: true, pid: None }, room),
            Outcome::Stat(stat) => small(id, "FILE_STAT_RESPONSE", &stat_response(stat), room),
            Outcome::Directory(page) => small(id, "DIRECTORY_LIST_RESPONSE", &directory_response(page), room),
            Outcome::Attached { binding, root_grant } => {
                small(id, "SESSION_ATTACHED", &granted(binding, root_grant), room)
            }
            Outcome::Restored { binding, root_grant } => {
                small(id, "SESSION_RESTORED", &granted(binding, root_grant), room)
            }
            Outcome::Activated(binding) => small(id, "SESSION_ACTIVATED", &activated(binding), room),
            Outcome::Picture(picture) => computer::picture(id, picture, room).map(|body| (body, false)),
            Outcome::Clipboard(text) => computer::clipboard(id, text, room).map(|body| (body, false)),
            Outcome::Cursor(place) => {
                let cursor = wire::CursorPosition { x: place.at.x, y: place.at.y, monitor: place.monitor };
                small(id, "CURSOR_POSITION_RESPONSE", &cursor, room)
            }
            Outcome::Displays(displays) => small(id, "DISPLAY_INFO_RESPONSE", &computer::displays(displays), room),
            Outcome::Windows { windows, truncated } => {
                small(id, "WINDOW_LIST_RESPONSE", &computer::windows(windows, *truncated), room)
            }
            Outcome::Apps(apps) => small(id, "APP_LIST_RESPONSE", &computer::apps(apps), room),
            Outcome::Launched { pid } => small(id, "ACK", &wire::Ack { ok: true, pid: *pid }, room),
            Outcome::ClipboardWritten { .. } => small(id, "ACK", &wire::Ack { ok: true, pid: None }, room),
            Outcome::Permissions(states) => {
                let permissions =
                    states.iter().map(|(name, state)| (name.clone(), computer::permission(*state))).collect();
                small(id, "PERMISSIONS_CHECK_RESPONSE", &wire::PermissionsCheck { permissions }, room)
            }
            Outcome::Stub(stub) => small(id, "FILE_CONTENTS", &model::stub(stub), room),
            Outcome::Completion(answer) => Ok(model::completion(id, answer, room)),
            Outcome::Turn(answer) => Ok(model::turn(id, answer, room)),
            // The protocol has no messages for devices; no link can ask for this.
            Outcome::Hardware(_) => small(id, "ACK", &wire::Ack { ok: true, pid: None }, room),
        };
        match written {
            Ok((body, output_cut)) => Self { id: id.clone(), body, error: None, output_cut },
            Err(TooLong(bytes)) => Self::over_frame(id, context, limits, bytes + tail),
        }
    }

    /// Encodes an ERROR. The message is cut at 4 KiB.
    #[must_use]
    pub fn failure(id: &RequestId, code: ErrorCode, message: &str, details: Value) -> Self {
        let message = cut_at(message, MESSAGE_MAX);
        let error = wire::Error { code, message: message.to_owned(), fatal: false, details: Some(details) };
        let mut body = open(id, "ERROR", message.len() + 256);
        body.push_str(&serde_json::to_string(&error).unwrap_or_else(|_| "{}".to_owned()));
        Self { id: id.clone(), body, error: Some(code), output_cut: false }
    }

    fn over_frame(id: &RequestId, context: &ReplyContext, limits: &Limits, bytes: usize) -> Self {
        let message = format!(
            "the answer would take {bytes} bytes as a frame, and a frame holds {FRAME_LIMIT_BYTES}; \
             ask for less, for a file by offset and length"
        );
        let details = json!({
            "max_file_size_bytes": limits.max_file_size_bytes,
            "attempted_bytes": bytes,
            "max_frame_bytes": FRAME_LIMIT_BYTES,
            "op": context.op,
        });
        Self::failure(id, ErrorCode::FileTooLarge, &message, details)
    }

    /// Returns the request answered.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the code, when this is an ERROR. It may differ from the outcome: see [`Self::encode`].
    #[must_use]
    pub fn error_code(&self) -> Option<&'static str> {
        self.error.map(ErrorCode::as_str)
    }

    /// Tells whether output of a command or the text of a model was cut to fit the frame.
    #[must_use]
    pub fn output_cut(&self) -> bool {
        self.output_cut
    }

    /// Adds the tail and gives the frame out.
    #[must_use]
    pub fn into_frame(self, wall: WallMs, version: &str, pending_capacity: u32) -> String {
        close(self.body, wall, version, Some(pending_capacity))
    }
}

/// Adds the tail to a frame that ends with its payload.
pub(super) fn close(mut frame: String, wall: WallMs, version: &str, pending_capacity: Option<u32>) -> String {
    let ms = wall.0.max(0);
    // Writing into a String cannot fail.
    let _ = write!(frame, ",\"ts\":{}.{:03},\"version\":\"{version}\"", ms / 1000, ms % 1000);
    if let Some(capacity) = pending_capacity {
        let _ = write!(frame, ",\"pending_capacity\":{capacity}");
    }
    frame.push('}');
    frame
}

/// The longest tail that [`Reply::into_frame`] can write: `ts` has 14 characters until the year 2286.
const fn tail_len(max_concurrent: u32) -> usize {
    let digits = match max_concurrent.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    };
    ",\"ts\":1712345678.123,\"version\":\"1.1\",\"pending_capacity\":}".len() + digits
}

/// Opens a frame up to its payload, with room for so many bytes of it.
pub(super) fn open(id: &RequestId, type_name: &str, room: usize) -> String {
    let mut body = String::with_capacity(room + 2 * id.as_str().len() + 192);
    body.push_str("{\"type\":\"");
    body.push_str(type_name);
    body.push_str("\",\"id\":");
    push_string(&mut body, id.as_str());
    body.push_str(",\"payload\":");
    body
}

fn small(id: &RequestId, type_name: &str, payload: &impl Serialize, room: usize) -> Result<(String, bool), TooLong> {
    let payload = serde_json::to_string(payload).unwrap_or_else(|_| "{}".to_owned());
    let mut body = open(id, type_name, payload.len());
    body.push_str(&payload);
    if body.len() > room { Err(TooLong(body.len())) } else { Ok((body, false)) }
}

fn file_contents(id: &RequestId, contents: &FileContents, room: usize) -> Result<String, TooLong> {
    let (text, len) = match contents.form {
        ContentForm::Bytes => (None, contents.bytes.len().div_ceil(3) * 4),
        ContentForm::Text => {
            // Nearly always the text it is said to be; the lossy reader is several times slower.
            let text = match std::str::from_utf8(&contents.bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(&contents.bytes),
            };
            let len = escaped_len(&text);
            (Some(text), len)
        }
    };
    let lossy = contents.lossy || matches!(text, Some(Cow::Owned(_)));
    let mut tail = String::new();
    let _ = write!(
        tail,
        "\",\"encoding\":\"{}\",\"size_bytes\":{},\"truncated\":{}{}}}",
        if text.is_some() { "utf-8" } else { "base64" },
        contents.size_bytes,
        contents.truncated,
        if lossy { ",\"lossy\":true" } else { "" }
    );
    let mut body = open(id, "FILE_CONTENTS", 0);
    body.push_str("{\"content\":\"");
    let total = body.len() + len + tail.len();
    if total > room {
        return Err(TooLong(total));
    }
    // Room for the connection's tail as well, so that it never moves the whole frame.
    body.reserve_exact(len + tail.len() + 128);
    match text {
        Some(text) => super::escape::push_escaped(&mut body, &text),
        None => STANDARD.encode_string(&contents.bytes, &mut body),
    }
    body.push_str(&tail);
    Ok(body)
}

fn command(id: &RequestId, result: &CommandResult, limits: &Limits, room: usize) -> (String, bool) {
    let ms = result.duration.as_millis();
    let tail = |truncated: bool| {
        format!(
            ",\"exit_code\":{},\"timed_out\":{},\"duration_seconds\":{}.{:03},\"output_truncated\":{truncated}}}",
            result.exit_code,
            result.timed_out,
            ms / 1000,
            ms % 1000
        )
    };
    let mut body = open(id, "COMMAND_RESULT", 0);
    body.push_str("{\"stdout\":");
    // Quotes, the key of stderr, and the longer of both tails.
    let fixed = body.len() + "\"\",\"stderr\":\"\"".len() + tail(false).len();
    let budget = room.saturating_sub(fixed);
    let len = escaped_len(&result.stdout) + escaped_len(&result.stderr);
    if len <= budget {
        body.reserve_exact(len + fixed + 128);
        push_string(&mut body, &result.stdout);
        body.push_str(",\"stderr\":");
        push_string(&mut body, &result.stderr);
        body.push_str(&tail(result.output_truncated));
        return (body, false);
    }
    // The marker may be there already, from the cut to the size limit.
    let stderr = match result.stderr.strip_suffix(CUT_MARKER) {
        Some(stderr) if result.output_truncated => stderr,
        Some(_) | None => &result.stderr,
    };
    let escaped = budget.saturating_sub(CUT_MARKER_ESCAPED);
    let raw = usize::try_from(limits.max_file_size_bytes).unwrap_or(usize::MAX).saturating_sub(CUT_MARKER.len());
    let kept = fit(stderr, escaped, raw);
    // What is left of stdout goes before the first byte of stderr does.
    let stdout = if kept.len() < stderr.len() {
        ""
    } else {
        fit(&result.stdout, escaped - escaped_len(kept).min(escaped), raw - kept.len())
    };
    let stderr = kept;
    body.reserve_exact(escaped_len(stderr) + escaped_len(stdout) + CUT_MARKER_ESCAPED + fixed + 128);
    push_string(&mut body, stdout);
    body.push_str(",\"stderr\":\"");
    super::escape::push_escaped(&mut body, stderr);
    super::escape::push_escaped(&mut body, CUT_MARKER);
    body.push('"');
    body.push_str(&tail(true));
    (body, true)
}

fn listing(id: &RequestId, entries: &[FileEntry], truncated: bool, room: usize) -> Result<String, TooLong> {
    // Names and paths are most of it; the rest of an entry takes about 130 bytes.
    let guess: usize = entries.iter().map(|entry| entry.name.len() + entry.path.len() + 160).sum();
    let mut body = open(id, "FILE_LIST_RESPONSE", guess.min(FRAME_LIMIT_BYTES));
    body.push_str("{\"entries\":[");
    for (number, entry) in entries.iter().enumerate() {
        body.push_str(if number == 0 { "{\"name\":" } else { ",{\"name\":" });
        push_string(&mut body, &entry.name);
        body.push_str(",\"path\":");
        push_string(&mut body, &entry.path);
        let _ = write!(
            body,
            ",\"is_file\":{},\"is_dir\":{},\"is_symlink\":{},\"size_bytes\":{},\"mtime\":",
            entry.is_file, entry.is_dir, entry.is_symlink, entry.size_bytes
        );
        push_seconds(&mut body, entry.mtime);
        body.push('}');
        if body.len() > room {
            return Err(TooLong(body.len()));
        }
    }
    let _ = write!(body, "],\"truncated\":{truncated}}}");
    if body.len() > room { Err(TooLong(body.len())) } else { Ok(body) }
}

fn push_seconds(out: &mut String, seconds: f64) {
    // Not a number and infinity have no JSON form; no file system reports them.
    if seconds.is_finite() {
        let _ = write!(out, "{seconds:?}");
    } else {
        out.push('0');
    }
}

fn stat_response(stat: &FileStat) -> wire::FileStatResponse {
    let path = Some(stat.path.clone());
    let Some(facts) = &stat.found else {
        return wire::FileStatResponse { exists: false, path, ..Default::default() };
    };
    wire::FileStatResponse {
        exists: true,
        is_file: Some(facts.is_file),
        is_dir: Some(facts.is_dir),
        is_symlink: Some(facts.is_symlink),
        size_bytes: Some(facts.size_bytes),
        mtime: Some(facts.mtime),
        ctime: Some(facts.ctime),
        mode: Some(format!("{:04o}", facts.mode & 0o7777)),
        owner_uid: facts.owner_uid,
        owner_gid: facts.owner_gid,
        mime_type: facts.mime_type.clone(),
        path,
    }
}

fn directory_response(page: &DirectoryPage) -> wire::DirectoryListResponse {
    let entry = |entry: &DirectoryEntry| wire::DirectoryEntry {
        directory_ref: entry.directory_ref.clone(),
        name: entry.name.clone(),
        path: entry.path.clone(),
    };
    wire::DirectoryListResponse {
        browse_id: page.browse_id.clone(),
        current: page.current.as_ref().map(entry),
        parent_ref: page.parent_ref.clone(),
        entries: page.entries.iter().map(entry).collect(),
        next_cursor: page.next_cursor.clone(),
        truncated: page.truncated,
        expires_at: seconds(page.expires_at),
    }
}

fn granted(binding: &Binding, root_grant: &str) -> wire::SessionGranted {
    wire::SessionGranted {
        session_id: binding.session.as_str().to_owned(),
        allowed_root: binding.allowed_root.clone(),
        fingerprint: binding.fingerprint.clone(),
        revision: binding.revision,
        root_grant: root_grant.to_owned(),
    }
}

fn activated(binding: &Binding) -> wire::SessionActivated {
    wire::SessionActivated {
        session_id: binding.session.as_str().to_owned(),
        allowed_root: binding.allowed_root.clone(),
        fingerprint: binding.fingerprint.clone(),
        revision: binding.revision,
    }
}

/// Unix seconds with fraction; milliseconds fit a double for longer than there are files.
pub(crate) fn seconds(wall: WallMs) -> f64 {
    std::time::Duration::from_millis(u64::try_from(wall.0).unwrap_or(0)).as_secs_f64()
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
