//! Every message of the protocol, both ways, as plain data.
//!
//! [`FromPlatform`] and [`FromClient`] are the two closed lists of types; [`Envelope`] carries one of them. The client
//! reads frames through the leaner [`super::codec`]; both stand on the types of this module, and so does the practice
//! platform. Checks of meaning are in [`super::map`].

mod code;
mod computer;
mod control;
mod files;
mod link;
mod model;
mod number;
mod recording;
mod shell;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use code::ErrorCode;
pub use computer::{
    App, AppLaunch, AppList, AppListRequest, ClipboardContent, ClipboardRead, ClipboardWrite, CursorPosition,
    DisplayInfo, ImageFormat, InputAction, InputKind, Monitor, PermissionState, PermissionsCheck,
    PermissionsCheckRequest, ScreenshotMeta, ScreenshotRequest, ScreenshotResponse, Window, WindowFocus, WindowList,
    WindowListRequest,
};
pub use control::{
    ActivateSession, AttachSession, DetachSession, DirectoryEntry, DirectoryListRequest, DirectoryListResponse,
    RestoreSession, SessionActivated, SessionGranted,
};
pub use files::{
    Encoding, FileContent, FileContents, FileDelete, FileEntry, FileList, FileListResponse, FileMove, FileRead,
    FileStat, FileStatResponse, FileStub, FileWrite, Format,
};
pub use link::{Ack, Capability, Empty, Error, HardwareDevice, Hello, HelloAck, SessionRevoked, Status};
pub use model::{
    ChatMessage, FinishReason, LocalLlmChunk, LocalLlmCompletion, LocalLlmResponse, LocalLlmTurn, LocalLlmTurnChunk,
    LocalLlmTurnResponse, TokenCounts,
};
pub use recording::{
    ApplyRecordingReview, EnrichmentCoverage, RecordingConsentResult, RecordingData, RecordingRef,
    RecordingReviewApplied, RecordingStep, RecordingSummary, RequestRecordingConsent, StartRecording,
};
pub use shell::{CommandResult, ExecuteCommand, Shell};

/// A closed list of message types of one direction.
pub trait Message: Sized {
    /// Every type name.
    const TYPES: &'static [&'static str];

    /// Returns the type name of this message.
    fn type_name(&self) -> &'static str;

    /// Reads the payload of a type; none when the type is not of this direction.
    ///
    /// # Errors
    /// The inner result tells what is wrong with the payload.
    fn read(type_name: &str, payload: &str) -> Option<Result<Self, serde_json::Error>>;

    /// Writes the payload.
    ///
    /// # Errors
    /// Never for the types of this module; serde asks for it.
    fn write(&self) -> Result<Box<RawValue>, serde_json::Error>;
}

macro_rules! messages {
    ($(#[$top:meta])* $list:ident { $($name:ident($payload:ty) = $text:literal,)* }) => {
        $(#[$top])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $list {
            $(
                #[doc = $text]
                $name($payload),
            )*
        }

        impl Message for $list {
            const TYPES: &'static [&'static str] = &[$($text,)*];

            fn type_name(&self) -> &'static str {
                match self { $(Self::$name(_) => $text,)* }
            }

            fn read(type_name: &str, payload: &str) -> Option<Result<Self, serde_json::Error>> {
                match type_name {
                    $($text => Some(serde_json::from_str(payload).map(Self::$name)),)*
                    _ => None,
                }
            }

            fn write(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self { $(Self::$name(payload) => serde_json::value::to_raw_value(payload),)* }
            }
        }
    };
}

messages! {
    /// What a platform sends to a client.
    FromPlatform {
        HelloAck(HelloAck) = "HELLO_ACK",
        Ping(Empty) = "PING",
        SessionRevoked(SessionRevoked) = "SESSION_REVOKED",
        DirectoryListRequest(DirectoryListRequest) = "DIRECTORY_LIST_REQUEST",
        AttachSession(AttachSession) = "ATTACH_SESSION",
        ActivateSession(ActivateSession) = "ACTIVATE_SESSION",
        RestoreSession(RestoreSession) = "RESTORE_SESSION",
        DetachSession(DetachSession) = "DETACH_SESSION",
        ExecuteCommand(ExecuteCommand) = "EXECUTE_COMMAND",
        FileRead(FileRead) = "FILE_READ",
        FileWrite(FileWrite) = "FILE_WRITE",
        FileStat(FileStat) = "FILE_STAT",
        FileList(FileList) = "FILE_LIST",
        FileDelete(FileDelete) = "FILE_DELETE",
        FileMove(FileMove) = "FILE_MOVE",
        LocalLlmCompletion(LocalLlmCompletion) = "LOCAL_LLM_COMPLETION",
        LocalLlmTurn(LocalLlmTurn) = "LOCAL_LLM_TURN",
        ScreenshotRequest(ScreenshotRequest) = "SCREENSHOT_REQUEST",
        InputAction(InputAction) = "INPUT_ACTION",
        CursorPositionRequest(Empty) = "CURSOR_POSITION_REQUEST",
        DisplayInfoRequest(Empty) = "DISPLAY_INFO_REQUEST",
        WindowListRequest(WindowListRequest) = "WINDOW_LIST_REQUEST",
        WindowFocus(WindowFocus) = "WINDOW_FOCUS",
        AppListRequest(AppListRequest) = "APP_LIST_REQUEST",
        AppLaunch(AppLaunch) = "APP_LAUNCH",
        ClipboardRead(ClipboardRead) = "CLIPBOARD_READ",
        ClipboardWrite(ClipboardWrite) = "CLIPBOARD_WRITE",
        PermissionsCheckRequest(PermissionsCheckRequest) = "PERMISSIONS_CHECK_REQUEST",
        RequestRecordingConsent(RequestRecordingConsent) = "REQUEST_RECORDING_CONSENT",
        StartRecording(StartRecording) = "START_RECORDING",
        StopRecording(RecordingRef) = "STOP_RECORDING",
        RecordingFetch(RecordingRef) = "RECORDING_FETCH",
        ApplyRecordingReview(ApplyRecordingReview) = "APPLY_RECORDING_REVIEW",
        Error(Error) = "ERROR",
    }
}

messages! {
    /// What a client sends to a platform.
    FromClient {
        Hello(Hello) = "HELLO",
        Pong(Empty) = "PONG",
        Status(Status) = "STATUS",
        DirectoryListResponse(DirectoryListResponse) = "DIRECTORY_LIST_RESPONSE",
        SessionAttached(SessionGranted) = "SESSION_ATTACHED",
        SessionActivated(SessionActivated) = "SESSION_ACTIVATED",
        SessionRestored(SessionGranted) = "SESSION_RESTORED",
        Ack(Ack) = "ACK",
        CommandResult(CommandResult) = "COMMAND_RESULT",
        FileContents(FileContents) = "FILE_CONTENTS",
        FileStatResponse(FileStatResponse) = "FILE_STAT_RESPONSE",
        FileListResponse(FileListResponse) = "FILE_LIST_RESPONSE",
        LocalLlmCompletionChunk(LocalLlmChunk) = "LOCAL_LLM_COMPLETION_CHUNK",
        LocalLlmCompletionResponse(LocalLlmResponse) = "LOCAL_LLM_COMPLETION_RESPONSE",
        LocalLlmTurnChunk(LocalLlmTurnChunk) = "LOCAL_LLM_TURN_CHUNK",
        LocalLlmTurnResponse(LocalLlmTurnResponse) = "LOCAL_LLM_TURN_RESPONSE",
        ScreenshotResponse(ScreenshotResponse) = "SCREENSHOT_RESPONSE",
        CursorPositionResponse(CursorPosition) = "CURSOR_POSITION_RESPONSE",
        DisplayInfoResponse(DisplayInfo) = "DISPLAY_INFO_RESPONSE",
        WindowListResponse(WindowList) = "WINDOW_LIST_RESPONSE",
        AppListResponse(AppList) = "APP_LIST_RESPONSE",
        ClipboardReadResponse(ClipboardContent) = "CLIPBOARD_READ_RESPONSE",
        PermissionsCheckResponse(PermissionsCheck) = "PERMISSIONS_CHECK_RESPONSE",
        RecordingConsentResult(RecordingConsentResult) = "RECORDING_CONSENT_RESULT",
        RecordingStarted(RecordingRef) = "RECORDING_STARTED",
        RecordingSummary(RecordingSummary) = "RECORDING_SUMMARY",
        RecordingData(RecordingData) = "RECORDING_DATA",
        RecordingReviewApplied(RecordingReviewApplied) = "RECORDING_REVIEW_APPLIED",
        RecordingStep(RecordingStep) = "RECORDING_STEP",
        Error(Error) = "ERROR",
    }
}

/// A message with what every frame carries around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope<M> {
    /// Ties an answer to its request.
    pub id: String,
    /// Unix seconds; never trusted.
    pub ts: f64,
    /// The sender's wire version. The platform leaves it out.
    pub version: Option<String>,
    /// Free slots after this frame; answers and STATUS of a client only.
    pub pending_capacity: Option<u32>,
    /// The message.
    pub message: M,
}

/// Why a frame is not a message of the list asked for.
#[derive(Debug, thiserror::Error)]
pub enum FrameFault {
    /// Not JSON, not an object, or without `type`, `id` or an object as `payload`.
    #[error("not a frame: {0}")]
    Malformed(String),
    /// A type that is not in the list.
    #[error("unknown message type {0}")]
    UnknownType(String),
    /// The payload does not fit the type.
    #[error("bad payload of {type_name}: {why}")]
    Payload {
        /// The type.
        type_name: String,
        /// What is wrong.
        why: String,
    },
}

/// The outside of a frame, borrowed from its text. The payload stays unread.
#[derive(Debug, Deserialize)]
pub(crate) struct Outer<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) type_name: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) version: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) ts: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(crate) pending_capacity: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) payload: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct OuterOut<'a> {
    #[serde(rename = "type")]
    type_name: &'a str,
    id: &'a str,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_capacity: Option<u32>,
    payload: &'a RawValue,
}

impl<M: Message> Envelope<M> {
    /// Wraps a message without version and capacity, as the platform sends it.
    pub fn new(id: impl Into<String>, ts: f64, message: M) -> Self {
        Self { id: id.into(), ts, version: None, pending_capacity: None, message }
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`FrameFault`] when the text is not a frame of this list.
    pub fn from_text(text: &str) -> Result<Self, FrameFault> {
        let outer: Outer<'_> = serde_json::from_str(text).map_err(|e| FrameFault::Malformed(e.to_string()))?;
        let payload = outer.payload.map_or("{}", RawValue::get);
        if !payload.starts_with('{') {
            return Err(FrameFault::Malformed("the payload is not an object".to_owned()));
        }
        let message = match M::read(&outer.type_name, payload) {
            None => return Err(FrameFault::UnknownType(outer.type_name.into_owned())),
            Some(Err(e)) => {
                return Err(FrameFault::Payload { type_name: outer.type_name.into_owned(), why: e.to_string() });
            }
            Some(Ok(message)) => message,
        };
        Ok(Self {
            id: outer.id.into_owned(),
            ts: outer.ts.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default(),
            version: outer.version.and_then(|raw| serde_json::from_str(raw.get()).ok()),
            pending_capacity: outer.pending_capacity.and_then(|raw| serde_json::from_str(raw.get()).ok()),
            message,
        })
    }

    /// Writes the frame as compact JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Maps with text keys and plain structs always print.
        let Ok(payload) = self.message.write() else { return String::new() };
        serde_json::to_string(&OuterOut {
            type_name: self.message.type_name(),
            id: &self.id,
            ts: self.ts,
            version: self.version.as_deref(),
            pending_capacity: self.pending_capacity,
            payload: &payload,
        })
        .unwrap_or_default()
    }
}
