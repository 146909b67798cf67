//! What can go wrong with an operation. Each protocol maps these to its own codes.

use std::time::Duration;

use crate::computer::{ClipboardReason, DisplayFacts, Point};
use crate::{Power, SessionId};

/// Why a path cannot be used, apart from where it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPathReason {
    /// Holds NUL or a character that this system forbids.
    Characters,
    /// Longer than this system allows.
    TooLong,
    /// A loop of links, or a component that cannot be resolved.
    Unresolvable,
    /// A data stream or device spelling of Windows.
    Stream,
}

/// The fixed list of reasons for file faults without a code of their own (spec 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoReason {
    /// A folder where a file was expected.
    IsDirectory,
    /// Not a folder where one was expected.
    NotDirectory,
    /// A pipe, socket or device.
    NotRegularFile,
    /// The system denies it to this user.
    PermissionDenied,
    /// The file system is read-only.
    ReadOnly,
    /// The disk or quota is full.
    NoSpace,
    /// In use.
    Busy,
    /// Something else changed it at the same time.
    ChangedMeanwhile,
    /// Anything else.
    Io,
}

impl IoReason {
    /// Returns the stable name of spec 8.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IsDirectory => "is_directory",
            Self::NotDirectory => "not_directory",
            Self::NotRegularFile => "not_regular_file",
            Self::PermissionDenied => "permission_denied",
            Self::ReadOnly => "read_only",
            Self::NoSpace => "no_space",
            Self::Busy => "busy",
            Self::ChangedMeanwhile => "changed_meanwhile",
            Self::Io => "io",
        }
    }
}

/// Why a path inside the root's text is still refused (spec 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// It leads outside the attached folder.
    Outside,
    /// It is the attached folder itself.
    RootItself,
    /// The attached folder was renamed or replaced.
    RootChanged,
    /// It belongs to Drawbridge.
    Protected,
}

/// A request of a known kind whose content is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadFault {
    /// The field, dotted.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

/// What can be wrong with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceFault {
    /// It is shared and not there now.
    Absent,
    /// It was unplugged while it was in use.
    Unplugged,
    /// Another program, or another holder here, has it.
    Busy,
    /// This user may not open it.
    Denied,
    /// It has to be opened first.
    NotOpen,
    /// It is open already.
    AlreadyOpen,
    /// It cannot do what was asked.
    Unsupported,
    /// The device did not answer in time.
    Timeout,
    /// It refused what was asked, as USB devices do by a stall.
    Refused,
    /// It sent more than was asked for.
    Overrun,
    /// The system cannot share devices of this kind.
    NoSystem,
    /// Anything else.
    Io,
}

impl DeviceFault {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Unplugged => "unplugged",
            Self::Busy => "busy",
            Self::Denied => "permission_denied",
            Self::NotOpen => "not_open",
            Self::AlreadyOpen => "already_open",
            Self::Unsupported => "unsupported",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Overrun => "overrun",
            Self::NoSystem => "no_system",
            Self::Io => "io",
        }
    }
}

/// Why an operation failed or was refused. Messages are lower case and are read by a model: they say what failed.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// The path leads out of the attached folder or to something that may not be touched.
    #[error("{path} is outside the attached folder {root}{}", refusal_tail(*.reason))]
    OutsideRoot {
        /// As the peer wrote it.
        path: String,
        /// The attached folder.
        root: String,
        /// Why.
        reason: RefusalReason,
    },
    /// The path cannot be used on this system.
    #[error("{path}: the path {}", bad_path(*.reason))]
    BadPath {
        /// As the peer wrote it.
        path: String,
        /// Why.
        reason: BadPathReason,
    },
    /// A device name of Windows.
    #[error("{path} holds a name that Windows reserves for a device")]
    ReservedName {
        /// As the peer wrote it.
        path: String,
    },
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// As the peer wrote it.
        path: String,
    },
    /// A folder that holds something.
    #[error("{path} is a folder that is not empty")]
    NotEmpty {
        /// As the peer wrote it.
        path: String,
    },
    /// Something is there already.
    #[error("{path} exists already")]
    Exists {
        /// As the peer wrote it.
        path: String,
    },
    /// A file, range, image, clipboard text or frame over the limit.
    #[error("{what} has {attempted_bytes} bytes, the limit is {max_bytes}")]
    TooLarge {
        /// What is too large, for example "the file".
        what: &'static str,
        /// The limit that holds.
        max_bytes: u64,
        /// What was attempted.
        attempted_bytes: u64,
    },
    /// A fault of the file system.
    #[error("could not {action} {path}: {message}")]
    File {
        /// What was tried, for example "read".
        action: &'static str,
        /// As the peer wrote it.
        path: String,
        /// The kind.
        reason: IoReason,
        /// In plain words.
        message: String,
    },
    /// The content is not valid base64 or the payload is wrong in another way.
    #[error("the field {} {}", .0.field, .0.why)]
    InvalidPayload(PayloadFault),
    /// The shell or program is not on this machine.
    #[error("{requested} is not available on this machine")]
    ShellNotAvailable {
        /// The shell or program asked for.
        requested: String,
    },
    /// A command could not be started.
    #[error("could not start {program}: {message}")]
    CommandStart {
        /// The program.
        program: String,
        /// In plain words.
        message: String,
    },
    /// Confinement is wanted and missing.
    #[error("commands are set to run confined and this machine cannot do that: {why}")]
    ConfinementMissing {
        /// The layer and what is wrong with it.
        why: String,
    },
    /// A local limit of the whole machine.
    #[error("too many {what}: the limit is {max}")]
    Overloaded {
        /// For example "commands a minute".
        what: &'static str,
        /// A stable name for details.
        reason: &'static str,
        /// The limit.
        max: u32,
    },
    /// The power is switched off, or the peer never got the capability.
    #[error("{} is switched off on this computer", .power)]
    PowerOff {
        /// The power.
        power: Power,
    },
    /// A person is being asked; the peer may try again.
    #[error("waiting for the person at this computer to decide; try again shortly")]
    WaitingForConsent {
        /// The power.
        power: Power,
        /// When a retry makes sense.
        retry_after: Duration,
    },
    /// The person said no.
    #[error("the person at this computer declined this; do not try again unless they ask for it")]
    Declined {
        /// The power.
        power: Power,
    },
    /// The person said yes to something, and it is no longer what they were shown.
    #[error("what the person allowed has changed since they were asked; ask again")]
    ChangedSinceAsked {
        /// The power.
        power: Power,
    },
    /// A question is needed and nobody can be asked.
    #[error("this needs the consent of a person, and nobody can be asked here")]
    NoUi {
        /// The power.
        power: Power,
    },
    /// The bridge is raised.
    #[error("the person raised the bridge: nothing may act until they lower it")]
    Raised {
        /// The power.
        power: Power,
    },
    /// The browse reference is unknown, expired or consumed.
    #[error("the folder reference is unknown or has expired; list the folders again")]
    ReferenceInvalid,
    /// The folder is gone, a link, or not usable.
    #[error("the folder cannot be used: {why}")]
    DirectoryUnavailable {
        /// In plain words.
        why: String,
    },
    /// The grant does not hold.
    #[error("the folder grant does not hold: {why}")]
    GrantInvalid {
        /// In plain words.
        why: &'static str,
        /// A stable name for details, if the person revoked it here.
        reason: Option<&'static str>,
    },
    /// The chat has no folder.
    #[error("no folder is attached to chat {session}")]
    NotAttached {
        /// The chat.
        session: SessionId,
    },
    /// The chat is at work.
    #[error("chat {session} is active; detach it first")]
    AlreadyActive {
        /// The chat.
        session: SessionId,
    },
    /// The peer believes in another revision.
    #[error("the attachment has revision {current}")]
    RevisionMismatch {
        /// The revision here.
        current: u64,
    },
    /// What was asked cannot be done here.
    #[error("{feature} is not supported here: {why}")]
    Unsupported {
        /// A stable name.
        feature: String,
        /// In plain words.
        why: String,
    },
    /// A display that is not there.
    #[error("there is no display {asked}; there are {}", numbers(.monitors))]
    NoSuchMonitor {
        /// The index asked for.
        asked: i32,
        /// The ones that are there.
        monitors: Vec<i32>,
    },
    /// A point on no display.
    #[error("({}, {}) lies on no display", .requested.x, .requested.y)]
    OutOfBounds {
        /// The first such point.
        requested: Point,
        /// Where the displays are.
        displays: Vec<DisplayFacts>,
    },
    /// The window of this id is gone, or is another one by now.
    #[error("the window {window_id} is not there any more; list the windows again")]
    WindowStale {
        /// As the peer wrote it.
        window_id: String,
    },
    /// The system, the lock of the screen or the person's own hands stand in the way right now.
    #[error("{message}")]
    PermissionPending {
        /// A stable name: `screen_recording`, `accessibility`, `unlocked_session`, `person_active`, `elevated_window`.
        permission: &'static str,
        /// The platform as HELLO names it.
        platform: &'static str,
        /// What failed and why.
        message: String,
        /// What to do about it.
        hint: String,
        /// When a retry makes sense, if time alone can help.
        retry_after: Option<Duration>,
    },
    /// The window there belongs to an app that no agent may see or touch.
    #[error("{app} is protected on this computer: {why}")]
    ProtectedApp {
        /// The app, safe to show.
        app: String,
        /// A stable name: `password_manager`, `drawbridge`, `lock_screen`, `not_listed`, `excluded`, `terminal`.
        reason: &'static str,
        /// In plain words.
        why: String,
    },
    /// A character that cannot be typed here. Nothing was typed.
    #[error("the character {character:?} (number {index}) cannot be typed here: {why}; nothing was typed")]
    CannotType {
        /// The first such character.
        character: char,
        /// Its number in the text, from 0, counted in characters.
        index: usize,
        /// In plain words.
        why: String,
    },
    /// Typing ended early; what came before arrived.
    #[error("typing stopped after {typed} of {total} characters: {why}")]
    TypingStopped {
        /// Characters that were typed.
        typed: usize,
        /// Characters of the text.
        total: usize,
        /// In plain words.
        why: String,
        /// The reason itself.
        #[source]
        source: Box<OpError>,
    },
    /// The clipboard may not be read.
    #[error("the clipboard may not be read: {}", concealed(.reason))]
    ClipboardConcealed {
        /// Why.
        reason: ClipboardReason,
    },
    /// The model is not among those that can be asked here.
    #[error("the model {requested} is not available on this computer{}", models(.available))]
    ModelNotAvailable {
        /// As the peer wrote it.
        requested: String,
        /// Those that can be asked.
        available: Vec<String>,
    },
    /// The back end serves another request and takes no second one.
    #[error("the local model is busy with another request; try again shortly")]
    ModelBusy {
        /// The model asked for.
        model: String,
    },
    /// The back end failed: down, broken off, too slow, or it said so itself.
    #[error("the local model failed: {why}")]
    ModelFailed {
        /// What happened, at most 200 characters; never a prompt or an answer.
        why: String,
    },
    /// A stub that is unknown here, was forgotten, or whose file has changed.
    #[error("the stub {stub_id} no longer holds: {why}; read the file as a stub again")]
    StubStale {
        /// As the peer wrote it.
        stub_id: String,
        /// A stable name: `unknown`, `changed`, `gone`.
        reason: &'static str,
        /// In plain words.
        why: &'static str,
    },
    /// Contents of files stay on this machine in this chat.
    #[error(
        "the person keeps contents of files on this computer in this chat: ask for {path} with mode \"stub\" and put \
         questions about it to the local model"
    )]
    PrivacyMode {
        /// The file.
        path: String,
    },
    /// A device that the person has not shared, or that does not exist; which of both is not told.
    #[error("no device named {device} is shared on this computer")]
    DeviceNotShared {
        /// As the caller wrote it.
        device: String,
    },
    /// Something about a device.
    #[error("{device}: {message}")]
    Device {
        /// The device.
        device: String,
        /// What kind of thing.
        fault: DeviceFault,
        /// What happened, what it means and what to do.
        message: String,
    },
    /// The audit log cannot be written, so nothing may be done.
    #[error("the audit log cannot be written, so nothing is done")]
    AuditUnavailable,
    /// The operation was ended from this side: link lost, detach, stop.
    #[error("the operation was cancelled")]
    Cancelled,
    /// It ran longer than any operation may.
    #[error("the operation took longer than {} seconds and was ended", .limit.as_secs())]
    TookTooLong {
        /// The limit.
        limit: Duration,
    },
    /// A fault of ours.
    #[error("something went wrong inside Drawbridge: {0}")]
    Internal(String),
}

const fn refusal_tail(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::Outside => "",
        RefusalReason::RootItself => ": the attached folder itself cannot be deleted, moved or replaced",
        RefusalReason::RootChanged => ": the attached folder was moved or replaced since it was attached",
        RefusalReason::Protected => ": it belongs to Drawbridge",
    }
}

const fn bad_path(reason: BadPathReason) -> &'static str {
    match reason {
        BadPathReason::Characters => "holds a character that cannot be used",
        BadPathReason::TooLong => "is too long",
        BadPathReason::Unresolvable => "cannot be resolved",
        BadPathReason::Stream => "names a stream or device",
    }
}

/// Names a few: a server may have thousands.
fn models(available: &[String]) -> String {
    const TOLD: usize = 20;
    let Some(told) = available.get(..TOLD.min(available.len())).filter(|told| !told.is_empty()) else {
        return String::new();
    };
    let more = available.len() - told.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; these are: {}{rest}", told.join(", "))
}

fn numbers(monitors: &[i32]) -> String {
    let shown: Vec<String> = monitors.iter().map(i32::to_string).collect();
    shown.join(", ")
}

const fn concealed(reason: &ClipboardReason) -> &'static str {
    match reason {
        ClipboardReason::ConcealedType { .. } => "its owner marked what it holds as secret",
        ClipboardReason::WritebackOnly { .. } => {
            "only what you wrote into it in the last 30 seconds may be read, and there is no such text"
        }
        ClipboardReason::WritebackOverwritten { .. } => "somebody put something else into it after your last write",
    }
}
