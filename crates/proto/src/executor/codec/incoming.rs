//! Frames from the platform: one look at the outside, then the payload of what is known.

use drawbridge_core::{OpError, Operation, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::cut_at;
use crate::executor::wire::{Capability, FromClient, HelloAck, Message as _, Outer, SessionRevoked};
use crate::executor::{MAJOR, map};

/// A known request type. Those with a name inside have no operation in this version and are known so that they are
/// refused properly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the message type it names")]
pub enum RequestKind {
    DirectoryList,
    AttachSession,
    ActivateSession,
    RestoreSession,
    DetachSession,
    ExecuteCommand,
    FileRead,
    FileWrite,
    FileStat,
    FileList,
    FileDelete,
    FileMove,
    Screenshot,
    InputAction,
    CursorPosition,
    DisplayInfo,
    WindowList,
    WindowFocus,
    AppList,
    AppLaunch,
    ClipboardRead,
    ClipboardWrite,
    PermissionsCheck,
    LocalLlmCompletion,
    LocalLlmTurn,
    Recording(&'static str),
}

impl RequestKind {
    /// Finds the kind of a message type; none when it is no request.
    #[must_use]
    pub fn of_type(type_name: &str) -> Option<Self> {
        Some(match type_name {
            "DIRECTORY_LIST_REQUEST" => Self::DirectoryList,
            "ATTACH_SESSION" => Self::AttachSession,
            "ACTIVATE_SESSION" => Self::ActivateSession,
            "RESTORE_SESSION" => Self::RestoreSession,
            "DETACH_SESSION" => Self::DetachSession,
            "EXECUTE_COMMAND" => Self::ExecuteCommand,
            "FILE_READ" => Self::FileRead,
            "FILE_WRITE" => Self::FileWrite,
            "FILE_STAT" => Self::FileStat,
            "FILE_LIST" => Self::FileList,
            "FILE_DELETE" => Self::FileDelete,
            "FILE_MOVE" => Self::FileMove,
            "SCREENSHOT_REQUEST" => Self::Screenshot,
            "INPUT_ACTION" => Self::InputAction,
            "CURSOR_POSITION_REQUEST" => Self::CursorPosition,
            "DISPLAY_INFO_REQUEST" => Self::DisplayInfo,
            "WINDOW_LIST_REQUEST" => Self::WindowList,
            "WINDOW_FOCUS" => Self::WindowFocus,
            "APP_LIST_REQUEST" => Self::AppList,
            "APP_LAUNCH" => Self::AppLaunch,
            "CLIPBOARD_READ" => Self::ClipboardRead,
            "CLIPBOARD_WRITE" => Self::ClipboardWrite,
            "PERMISSIONS_CHECK_REQUEST" => Self::PermissionsCheck,
            "LOCAL_LLM_COMPLETION" => Self::LocalLlmCompletion,
            "LOCAL_LLM_TURN" => Self::LocalLlmTurn,
            "REQUEST_RECORDING_CONSENT" => Self::Recording("REQUEST_RECORDING_CONSENT"),
            "START_RECORDING" => Self::Recording("START_RECORDING"),
            "STOP_RECORDING" => Self::Recording("STOP_RECORDING"),
            "RECORDING_FETCH" => Self::Recording("RECORDING_FETCH"),
            "APPLY_RECORDING_REVIEW" => Self::Recording("APPLY_RECORDING_REVIEW"),
            _ => return None,
        })
    }

    /// Returns the name for audit and details; the same as [`Operation::name`] where there is an operation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DirectoryList => "DIRECTORY_LIST",
            Self::AttachSession => "ATTACH_SESSION",
            Self::ActivateSession => "ACTIVATE_SESSION",
            Self::RestoreSession => "RESTORE_SESSION",
            Self::DetachSession => "DETACH_SESSION",
            Self::ExecuteCommand => "EXECUTE_COMMAND",
            Self::FileRead => "FILE_READ",
            Self::FileWrite => "FILE_WRITE",
            Self::FileStat => "FILE_STAT",
            Self::FileList => "FILE_LIST",
            Self::FileDelete => "FILE_DELETE",
            Self::FileMove => "FILE_MOVE",
            Self::Screenshot => "SCREENSHOT_REQUEST",
            Self::InputAction => "INPUT_ACTION",
            Self::CursorPosition => "CURSOR_POSITION_REQUEST",
            Self::DisplayInfo => "DISPLAY_INFO_REQUEST",
            Self::WindowList => "WINDOW_LIST_REQUEST",
            Self::WindowFocus => "WINDOW_FOCUS",
            Self::AppList => "APP_LIST_REQUEST",
            Self::AppLaunch => "APP_LAUNCH",
            Self::ClipboardRead => "CLIPBOARD_READ",
            Self::ClipboardWrite => "CLIPBOARD_WRITE",
            Self::PermissionsCheck => "PERMISSIONS_CHECK_REQUEST",
            Self::LocalLlmCompletion => "LOCAL_LLM_COMPLETION",
            Self::LocalLlmTurn => "LOCAL_LLM_TURN",
            Self::Recording(name) => name,
        }
    }

    /// Returns the capability that must be granted (spec 4.3).
    #[must_use]
    pub const fn capability(self) -> Capability {
        match self {
            Self::DirectoryList
            | Self::AttachSession
            | Self::ActivateSession
            | Self::RestoreSession
            | Self::DetachSession => Capability::DirectoryBrowse,
            Self::ExecuteCommand => Capability::Shell,
            Self::FileRead | Self::FileWrite | Self::FileStat | Self::FileList | Self::FileDelete | Self::FileMove => {
                Capability::Files
            }
            Self::Screenshot
            | Self::InputAction
            | Self::CursorPosition
            | Self::DisplayInfo
            | Self::WindowList
            | Self::WindowFocus
            | Self::AppList
            | Self::AppLaunch
            | Self::ClipboardRead
            | Self::ClipboardWrite
            | Self::PermissionsCheck => Capability::ComputerUse,
            Self::LocalLlmCompletion | Self::LocalLlmTurn => Capability::LocalLlm,
            Self::Recording(_) => Capability::Recording,
        }
    }
}

/// A known request whose payload is still unread.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Its id.
    pub id: RequestId,
    /// Its type.
    pub kind: RequestKind,
    payload: Option<&'a str>,
}

impl Request<'_> {
    /// Reads and checks the payload.
    ///
    /// # Errors
    /// [`OpError::InvalidPayload`] and the few other faults of spec 5.1 and 13 that show in the request itself.
    pub fn operation(&self) -> Result<Operation, OpError> {
        map::operation(self.kind, self.payload)
    }
}

/// What a frame turned out to be (spec 4.4).
#[derive(Debug, Clone)]
pub enum Incoming<'a> {
    /// A known request.
    Request(Request<'a>),
    /// The answer to HELLO. Its payload may be wrong; only the handshake cares.
    HelloAck {
        /// Must be that of HELLO.
        id: RequestId,
        /// The payload, or what is wrong with it.
        ack: Result<HelloAck, String>,
    },
    /// Wants a PONG.
    Ping {
        /// To be repeated.
        id: RequestId,
    },
    /// The session is over.
    Revoked(SessionRevoked),
    /// A type that only we may send, or ERROR. Dropped.
    Answer(String),
    /// A type of a later version. Dropped.
    UnknownType(String),
    /// Another major version. Dropped, loudly.
    OtherMajor {
        /// As sent.
        version: String,
    },
    /// Not a frame at all. Dropped and counted.
    Malformed(String),
}

/// Reads the outside of a frame.
#[must_use]
pub fn decode(text: &str) -> Incoming<'_> {
    // Derived readers also take arrays for structs.
    if !text.trim_ascii_start().starts_with('{') {
        return Incoming::Malformed("not a JSON object".to_owned());
    }
    let outer: Outer<'_> = match serde_json::from_str(text) {
        Ok(outer) => outer,
        Err(error) => return Incoming::Malformed(short(&error.to_string())),
    };
    let id = match RequestId::parse(&outer.id) {
        Ok(id) => id,
        Err(error) => return Incoming::Malformed(error.to_string()),
    };
    let payload = outer.payload.map(RawValue::get);
    if outer.type_name == "HELLO_ACK" {
        return Incoming::HelloAck { id, ack: read_object(payload) };
    }
    if let Some(version) = other_major(outer.version) {
        return Incoming::OtherMajor { version };
    }
    if let Some(kind) = RequestKind::of_type(&outer.type_name) {
        return Incoming::Request(Request { id, kind, payload });
    }
    match &*outer.type_name {
        "PING" => Incoming::Ping { id },
        // Whatever its payload looks like, the platform has ended this session.
        "SESSION_REVOKED" => Incoming::Revoked(
            read_object(payload)
                .unwrap_or_else(|_| SessionRevoked { reason: "unspecified".to_owned(), new_shim_machine_id: None }),
        ),
        name if FromClient::TYPES.contains(&name) => Incoming::Answer(short(name)),
        name => Incoming::UnknownType(short(name)),
    }
}

fn read_object<'a, T: Deserialize<'a>>(payload: Option<&'a str>) -> Result<T, String> {
    match payload {
        Some(payload) if payload.starts_with('{') => serde_json::from_str(payload).map_err(|e| short(&e.to_string())),
        Some(_) => Err("the payload is not an object".to_owned()),
        None => Err("the payload is missing".to_owned()),
    }
}

/// Versions that cannot be read count as ours: receivers must be lenient here.
fn other_major(version: Option<&RawValue>) -> Option<String> {
    let version: String = serde_json::from_str(version?.get()).ok()?;
    let (major, _) = parse_version(&version)?;
    (major != MAJOR).then(|| short(&version))
}

/// Reads "major.minor", digits only.
pub(crate) fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten();
    Some((number(major)?, number(minor)?))
}

/// Names and messages go to the log; a peer must not decide how long that gets.
fn short(text: &str) -> String {
    cut_at(text, 200).to_owned()
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
