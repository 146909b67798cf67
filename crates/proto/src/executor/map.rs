//! Requests become operations; everything about a payload is checked here, once (spec 8, 9.2).
//!
//! What only the disk, the clock or the person can tell is not checked here: paths stay text, limits are the
//! capability's business. Screen, input, apps and clipboard are in [`computer`], the local model in [`model`].

mod computer;
mod model;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drawbridge_core::computer::ComputerOp;
use drawbridge_core::model::MAX_PREVIEW_BYTES;
use drawbridge_core::{
    BrowseOp, BrowsePlace, CommandLine, CommandOp, ContentForm, FileOp, OpError, Operation, PayloadFault, SessionId,
    SessionOp, ShellKind,
};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) use model::can_name_model;

use super::codec::{RequestKind, cut_at};
use super::wire::{
    ActivateSession, AppListRequest, AttachSession, DetachSession, DirectoryListRequest, Empty, Encoding,
    ExecuteCommand, FileDelete, FileList, FileMove, FileRead, FileStat, Format, RestoreSession, Shell,
};

const MAX_ENTRIES_DEFAULT: u32 = 1000;
const MAX_ENTRIES: u32 = 10_000;
const ENV_MAX_COUNT: usize = 256;
const ENV_MAX_BYTES: usize = 128 * 1024;
const REFERENCE_MAX_CHARS: usize = 256;
const GRANT_MAX_CHARS: usize = 131_072;

/// Reads and checks the payload of a request.
///
/// # Errors
/// [`OpError::InvalidPayload`] naming the field; [`OpError::ReferenceInvalid`] for half a browse place;
/// [`OpError::Unsupported`] for what this version does not do.
pub fn operation(kind: RequestKind, payload: Option<&str>) -> Result<Operation, OpError> {
    Ok(match kind {
        RequestKind::FileRead => Operation::File(file_read(read(payload)?)?),
        RequestKind::FileWrite => Operation::File(file_write(read(payload)?)?),
        RequestKind::FileStat => {
            let FileStat { path, follow_symlinks } = read(payload)?;
            Operation::File(FileOp::Stat { path, follow_symlinks: follow_symlinks.unwrap_or(true) })
        }
        RequestKind::FileList => Operation::File(file_list(read(payload)?)?),
        RequestKind::FileDelete => {
            let FileDelete { path, recursive, missing_ok } = read(payload)?;
            Operation::File(FileOp::Delete {
                path,
                recursive: recursive.unwrap_or(false),
                missing_ok: missing_ok.unwrap_or(false),
            })
        }
        RequestKind::FileMove => {
            let FileMove { src, dst, overwrite } = read(payload)?;
            Operation::File(FileOp::Move { src, dst, overwrite: overwrite.unwrap_or(false) })
        }
        RequestKind::ExecuteCommand => Operation::Command(execute(read(payload)?)?),
        RequestKind::DirectoryList => Operation::Browse(browse(read(payload)?)?),
        RequestKind::AttachSession => {
            let AttachSession { session_id, browse_id, directory_ref, expected_connection_id: _ } = read(payload)?;
            let session = session(&session_id)?;
            reference("browse_id", Some(&browse_id))?;
            reference("directory_ref", Some(&directory_ref))?;
            Operation::Session(SessionOp::Attach { session, place: BrowsePlace { browse_id, directory_ref } })
        }
        RequestKind::ActivateSession => {
            let ActivateSession { session_id, revision } = read(payload)?;
            Operation::Session(SessionOp::Activate { session: session(&session_id)?, revision })
        }
        RequestKind::RestoreSession => {
            let RestoreSession { session_id, root_grant } = read(payload)?;
            if root_grant.is_empty() || root_grant.chars().nth(GRANT_MAX_CHARS).is_some() {
                return Err(fault("root_grant", "must have 1 to 131072 characters"));
            }
            Operation::Session(SessionOp::Restore { session: session(&session_id)?, root_grant })
        }
        RequestKind::DetachSession => {
            let DetachSession { session_id } = read(payload)?;
            Operation::Session(SessionOp::Detach { session: session(&session_id)? })
        }
        RequestKind::Screenshot => Operation::Computer(computer::screenshot(read(payload)?)?),
        RequestKind::InputAction => Operation::Computer(ComputerOp::Input(computer::input(read(payload)?)?)),
        RequestKind::CursorPosition => {
            without_fields(payload)?;
            Operation::Computer(ComputerOp::CursorPosition)
        }
        RequestKind::DisplayInfo => {
            without_fields(payload)?;
            Operation::Computer(ComputerOp::DisplayInfo)
        }
        RequestKind::WindowList => Operation::Computer(computer::window_list(read(payload)?)?),
        RequestKind::WindowFocus => Operation::Computer(computer::window_focus(read(payload)?)?),
        RequestKind::AppList => {
            let AppListRequest { include_background } = read(payload)?;
            Operation::Computer(ComputerOp::AppList { include_background: include_background.unwrap_or(false) })
        }
        RequestKind::AppLaunch => Operation::Computer(computer::app_launch(read(payload)?)?),
        RequestKind::ClipboardRead => Operation::Computer(computer::clipboard_read(&read(payload)?)?),
        RequestKind::ClipboardWrite => Operation::Computer(computer::clipboard_write(read(payload)?)?),
        RequestKind::PermissionsCheck => Operation::Computer(computer::permissions(read(payload)?)?),
        RequestKind::LocalLlmCompletion => Operation::Model(model::completion(read(payload)?)?),
        RequestKind::LocalLlmTurn => Operation::Model(model::turn(read(payload)?)?),
        RequestKind::Recording(name) => {
            return Err(unsupported(name, "this version of Drawbridge does not do it"));
        }
    })
}

fn file_read(request: FileRead) -> Result<FileOp, OpError> {
    let FileRead { path, encoding, format, offset, length, mode, schema_preview_bytes } = request;
    match mode.as_deref() {
        None | Some("content") => {}
        // A description has no range and no encoding. The preview is content; what of it may leave is policy's.
        Some("stub") => {
            let most = u64::from(MAX_PREVIEW_BYTES);
            let preview_bytes = u16::try_from(schema_preview_bytes.unwrap_or(0).min(most)).unwrap_or(MAX_PREVIEW_BYTES);
            return Ok(FileOp::Stub { path, preview_bytes });
        }
        // Answering what is not understood with content could leak what privacy mode holds back (spec 13).
        Some(_) => return Err(unsupported("FILE_READ.mode", "it is \"content\" or \"stub\"")),
    }
    if length == Some(0) {
        return Err(fault("length", "must be at least 1"));
    }
    let bytes = format == Some(Format::Bytes) || encoding == Some(Encoding::Base64);
    let form = if bytes { ContentForm::Bytes } else { ContentForm::Text };
    Ok(FileOp::Read { path, form, offset: offset.unwrap_or(0), length })
}

/// As [`super::wire::FileWrite`], but the content is not copied before it is known how to read it.
#[derive(Deserialize)]
struct FileWriteBorrowed<'a> {
    path: String,
    #[serde(borrow)]
    content: Cow<'a, str>,
    encoding: Option<Encoding>,
    create_parents: Option<bool>,
}

fn file_write(request: FileWriteBorrowed<'_>) -> Result<FileOp, OpError> {
    let FileWriteBorrowed { path, content, encoding, create_parents } = request;
    let (content, form) = match encoding.unwrap_or_default() {
        Encoding::Utf8 => (content.into_owned().into_bytes(), ContentForm::Text),
        Encoding::Base64 => {
            let bytes = STANDARD.decode(content.as_bytes()).map_err(|_| fault("content", "is not valid base64"))?;
            (bytes, ContentForm::Bytes)
        }
    };
    Ok(FileOp::Write { path, content, form, create_parents: create_parents.unwrap_or(false) })
}

fn file_list(request: FileList) -> Result<FileOp, OpError> {
    let FileList { path, glob, recursive, include_hidden, max_entries } = request;
    let max_entries = match max_entries {
        None => MAX_ENTRIES_DEFAULT,
        Some(wanted) if wanted < 1 => return Err(fault("max_entries", "must be at least 1")),
        Some(wanted) => u32::try_from(wanted).unwrap_or(MAX_ENTRIES).min(MAX_ENTRIES),
    };
    Ok(FileOp::List {
        path,
        glob,
        recursive: recursive.unwrap_or(false),
        include_hidden: include_hidden.unwrap_or(false),
        max_entries,
    })
}

fn execute(request: ExecuteCommand) -> Result<CommandOp, OpError> {
    let ExecuteCommand { command, argv, shell, cwd, timeout_seconds, env } = request;
    let line = match (command, argv) {
        (Some(command), None) => CommandLine::Shell { command, shell: shell_kind(shell.unwrap_or_default()) },
        (None, Some(argv)) => CommandLine::Argv(argv),
        (Some(_), Some(_)) => return Err(fault("command", "excludes argv: set exactly one of the two")),
        (None, None) => return Err(fault("command", "or argv must be set")),
    };
    match &line {
        CommandLine::Shell { command, .. } if command.contains('\0') => {
            return Err(fault("command", "holds a NUL character"));
        }
        CommandLine::Argv(words) if words.first().is_none_or(String::is_empty) => {
            return Err(fault("argv", "must name a program"));
        }
        CommandLine::Argv(words) if words.iter().any(|word| word.contains('\0')) => {
            return Err(fault("argv", "holds a NUL character"));
        }
        CommandLine::Shell { .. } | CommandLine::Argv(_) => {}
    }
    let timeout = match timeout_seconds {
        None => None,
        Some(seconds) => match u64::try_from(seconds) {
            Ok(seconds) if seconds > 0 => Some(Duration::from_secs(seconds)),
            Ok(_) | Err(_) => return Err(fault("timeout_seconds", "must be at least 1")),
        },
    };
    let env = env.unwrap_or_default();
    check_env(&env)?;
    Ok(CommandOp { line, cwd, timeout, env })
}

fn check_env(env: &BTreeMap<String, String>) -> Result<(), OpError> {
    if env.len() > ENV_MAX_COUNT {
        return Err(fault("env", "has more than 256 variables"));
    }
    if env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > ENV_MAX_BYTES {
        return Err(fault("env", "is larger than 128 KiB"));
    }
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(fault("env", "has a name that is empty or holds = or NUL"));
        }
        if value.contains('\0') {
            // The name alone: values are nobody's business.
            return Err(fault(&format!("env.{}", cut_at(name, 100)), "holds a NUL character"));
        }
    }
    Ok(())
}

fn browse(request: DirectoryListRequest) -> Result<BrowseOp, OpError> {
    let DirectoryListRequest { browse_id, directory_ref, cursor } = request;
    reference("browse_id", browse_id.as_deref())?;
    reference("directory_ref", directory_ref.as_deref())?;
    reference("cursor", cursor.as_deref())?;
    let place = match (browse_id, directory_ref) {
        (None, None) => None,
        (Some(browse_id), Some(directory_ref)) => Some(BrowsePlace { browse_id, directory_ref }),
        (Some(_), None) | (None, Some(_)) => return Err(OpError::ReferenceInvalid),
    };
    if place.is_none() && cursor.is_some() {
        return Err(OpError::ReferenceInvalid);
    }
    Ok(BrowseOp { place, cursor })
}

fn reference(field: &str, text: Option<&str>) -> Result<(), OpError> {
    match text {
        Some(text) if text.is_empty() || text.chars().nth(REFERENCE_MAX_CHARS).is_some() => {
            Err(fault(field, "must have 1 to 256 characters"))
        }
        Some(_) | None => Ok(()),
    }
}

fn session(text: &str) -> Result<SessionId, OpError> {
    SessionId::parse(text).map_err(|invalid| fault("session_id", invalid.why))
}

const fn shell_kind(shell: Shell) -> ShellKind {
    match shell {
        Shell::Auto => ShellKind::Auto,
        Shell::Bash => ShellKind::Bash,
        Shell::Sh => ShellKind::Sh,
        Shell::Zsh => ShellKind::Zsh,
        Shell::Pwsh => ShellKind::Pwsh,
        Shell::PowerShell => ShellKind::PowerShell,
        Shell::Cmd => ShellKind::Cmd,
    }
}

fn fault(field: &str, why: &str) -> OpError {
    OpError::InvalidPayload(PayloadFault { field: field.to_owned(), why: why.to_owned() })
}

fn unsupported(feature: &str, why: &str) -> OpError {
    OpError::Unsupported { feature: feature.to_owned(), why: why.to_owned() }
}

/// A request without fields may come without a payload (spec 4.4).
fn without_fields(payload: Option<&str>) -> Result<(), OpError> {
    let Empty {} = read(Some(payload.unwrap_or("{}")))?;
    Ok(())
}

fn read<'a, T: Deserialize<'a>>(payload: Option<&'a str>) -> Result<T, OpError> {
    let Some(payload) = payload else { return Err(fault("payload", "is missing")) };
    if !payload.starts_with('{') {
        return Err(fault("payload", "is not an object"));
    }
    serde_json::from_str(payload).map_err(|error| describe(payload, &error))
}

/// Finds the field that an error is about: by its name in the message, else by its place in the text.
fn describe(payload: &str, error: &serde_json::Error) -> OpError {
    let message = error.to_string();
    let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    for (start, why) in [("missing field `", "is missing"), ("duplicate field `", "appears twice")] {
        if let Some(name) = what.strip_prefix(start).and_then(|rest| rest.strip_suffix('`')) {
            return fault(name, why);
        }
    }
    let line_start: usize = payload.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let place = line_start + error.column();
    let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(payload).unwrap_or_default();
    let field = fields
        .iter()
        .map(|(name, value)| ((value.get().as_ptr() as usize).saturating_sub(payload.as_ptr() as usize), name))
        // A list or object of the wrong kind is noticed before its first character is taken.
        .filter(|(start, _)| *start <= place)
        .max();
    match field {
        Some((_, name)) => fault(cut_at(name, 100), &format!("does not fit: {}", cut_at(what, 200))),
        None => fault("payload", cut_at(what, 200)),
    }
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
