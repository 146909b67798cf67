//! Words that every part of Drawbridge shares: ids, operations, outcomes, errors.
//!
//! Plain data and no I/O. Wire formats live in `drawbridge-proto`, rules in `drawbridge-policy`; nothing here is
//! serialised, so it is free to change.

mod clock;
pub mod computer;
mod error;
pub mod hardware;
pub mod hex;
mod id;
mod limits;
pub mod model;
mod operation;
mod outcome;
mod power;
mod shown;

pub use clock::{Clock, ManualClock, SystemClock, WallMs};
pub use error::{BadPathReason, DeviceFault, IoReason, OpError, PayloadFault, RefusalReason};
pub use id::{ConnectionId, InvalidId, LinkId, PromptId, RequestId, SessionId};
pub use limits::{FRAME_LIMIT_BYTES, Limits};
pub use operation::{
    BrowseOp, BrowsePlace, CommandLine, CommandOp, ContentForm, FileOp, Operation, SessionOp, ShellKind,
};
pub use outcome::{
    Binding, ChangeFacts, CommandResult, DirectoryEntry, DirectoryPage, FileContents, FileEntry, FileFacts, FileStat,
    Outcome,
};
pub use power::{Power, PowerMode};
pub use shown::{escape_outside_text, shorten_middle};
