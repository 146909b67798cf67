//! The error codes of the protocol document and its companions.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A code of an ERROR frame.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the code as it is spelled on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// A path leads out of the attached folder.
    PathOutsideAllowedRoot = "PATH_OUTSIDE_ALLOWED_ROOT",
    /// A device name of Windows.
    PathReservedName = "PATH_RESERVED_NAME",
    /// A path that this system cannot hold.
    PathInvalidChars = "PATH_INVALID_CHARS",
    /// Nothing is there.
    PathNotFound = "PATH_NOT_FOUND",
    /// A folder that is not empty.
    PathNotEmpty = "PATH_NOT_EMPTY",
    /// Something is there already.
    PathExists = "PATH_EXISTS",
    /// Reserved; a timed-out command is a COMMAND_RESULT.
    CommandTimeout = "COMMAND_TIMEOUT",
    /// The shell or program is not here.
    ShellNotAvailable = "SHELL_NOT_AVAILABLE",
    /// The platform does not know this processor.
    UnsupportedArch = "UNSUPPORTED_ARCH",
    /// The capability is off, not granted, or its consent is missing.
    CapabilityNotGranted = "CAPABILITY_NOT_GRANTED",
    /// The token is invalid or expired.
    AuthFailed = "AUTH_FAILED",
    /// Too much at once.
    ShimOverloaded = "SHIM_OVERLOADED",
    /// Anything without a code of its own.
    InternalError = "INTERNAL_ERROR",
    /// Over a size limit.
    FileTooLarge = "FILE_TOO_LARGE",
    /// Something that this operation needs is not installed.
    DependencyMissing = "DEPENDENCY_MISSING",
    /// A browse reference that does not hold.
    DirectoryReferenceInvalid = "DIRECTORY_REFERENCE_INVALID",
    /// A folder that cannot be used.
    DirectoryUnavailable = "DIRECTORY_UNAVAILABLE",
    /// A grant that does not hold.
    RootGrantInvalid = "ROOT_GRANT_INVALID",
    /// The chat has no folder.
    SessionNotAttached = "SESSION_NOT_ATTACHED",
    /// The chat is at work.
    SessionAlreadyActive = "SESSION_ALREADY_ACTIVE",
    /// Another revision holds.
    SessionRevisionMismatch = "SESSION_REVISION_MISMATCH",
    /// The window is gone.
    WindowStale = "WINDOW_STALE",
    /// The system's own permission is missing.
    PermissionPending = "PERMISSION_PENDING",
    /// Not possible here.
    FeatureNotSupported = "FEATURE_NOT_SUPPORTED",
    /// The clipboard may not be read.
    ClipboardConcealed = "CLIPBOARD_CONCEALED",
    /// A point on no display.
    InputOutOfBounds = "INPUT_OUT_OF_BOUNDS",
    /// The model is not here.
    ModelNotAvailable = "MODEL_NOT_AVAILABLE",
    /// The local model serves another request.
    LocalLlmBusy = "LOCAL_LLM_BUSY",
    /// The local model failed.
    LocalLlmFailed = "LOCAL_LLM_FAILED",
    /// A stub that no longer holds (privacy mode).
    StubStale = "STUB_STALE",
    /// Content reads are blocked (privacy mode, the platform's side).
    PrivacyModeBlocked = "PRIVACY_MODE_BLOCKED",
    /// No such recording.
    RecordingNotFound = "RECORDING_NOT_FOUND",
    /// A recording channel is missing.
    RecordingChannelUnavailable = "RECORDING_CHANNEL_UNAVAILABLE",
    /// A recording runs.
    RecordingAlreadyActive = "RECORDING_ALREADY_ACTIVE",
    /// The review does not fit the recording.
    RecordingReviewInvalid = "RECORDING_REVIEW_INVALID",
    /// The consent token is missing or does not hold.
    ConsentRequired = "CONSENT_REQUIRED",
    /// No way to interpret the recording.
    InterpretationUnavailable = "INTERPRETATION_UNAVAILABLE",
}
