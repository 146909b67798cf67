//! Reading described files once more, for a question about them.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use drawbridge_core::{IoReason, OpError, escape_outside_text, shorten_middle};
use drawbridge_os::root::{Facts, PathFault};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::digest::unchanged;
use super::plain::text_of;
use super::question::Sheet;
use super::registry::Stub;

/// Bytes of all files of one question together.
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// What is read between two looks at the cancel flag.
const BLOCK_BYTES: u64 = 1024 * 1024;
/// Characters of a path in a message.
const NAME_CHARS: usize = 80;

/// Reads files as they are now. With `verify`, one that is not what its stub described is refused; the bytes that are compared are the
/// very bytes that are used.
///
/// # Errors
/// [`OpError::StubStale`], [`OpError::ModelFailed`] for what is too large or no text, [`OpError::File`], [`OpError::Cancelled`].
pub(super) fn read(stubs: &[Arc<Stub>], verify: bool, cancel: &CancellationToken) -> Result<Vec<Sheet>, OpError> {
    let mut room = MAX_BYTES;
    let mut sheets = Vec::with_capacity(stubs.len());
    for stub in stubs {
        let bytes = one(stub, verify, room, cancel)?;
        room -= bytes.len() as u64;
        let text = text_of(bytes)
            .ok_or_else(|| failed(stub, "is not a text in UTF-8 or UTF-16, so the model cannot read it"))?;
        sheets.push(Sheet { name: stub.place.below_root(), text });
    }
    Ok(sheets)
}

fn one(stub: &Stub, verify: bool, room: u64, cancel: &CancellationToken) -> Result<Vec<u8>, OpError> {
    for last_try in [false, true] {
        let (mut file, facts) = stub.place.open().map_err(|fault| unreadable(stub, fault))?;
        if facts.size_bytes > room {
            return Err(too_large(stub, facts.size_bytes));
        }
        let bytes = whole(&mut file, &facts, room, cancel).map_err(|stop| match stop {
            Stop::Cancelled => OpError::Cancelled,
            Stop::TooLarge(size) => too_large(stub, size),
            Stop::Path(fault) => unreadable(stub, fault),
        })?;
        if verify {
            let digest: [u8; 32] = Sha256::digest(&bytes).into();
            return if digest == stub.sha256 { Ok(bytes) } else { Err(stale(stub, Stale::Changed)) };
        }
        let now = Facts::of_file(&file).map_err(|fault| unreadable(stub, fault))?;
        if unchanged(&facts, &now) {
            return Ok(bytes);
        }
        if last_try {
            break;
        }
    }
    let message = "it is being written at the moment; try again when that is done".to_owned();
    Err(OpError::File { action: "read", path: stub.place.path(), reason: IoReason::ChangedMeanwhile, message })
}

enum Stop {
    Cancelled,
    TooLarge(u64),
    Path(PathFault),
}

fn whole(file: &mut File, facts: &Facts, room: u64, cancel: &CancellationToken) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::with_capacity(usize::try_from(facts.size_bytes).unwrap_or_default());
    loop {
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let read = file.take(BLOCK_BYTES).read_to_end(&mut bytes);
        if read.map_err(|fault| Stop::Path(PathFault::from_io(&fault)))? == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > room {
            return Err(Stop::TooLarge(bytes.len() as u64));
        }
    }
}

enum Stale {
    Changed,
    Gone,
}

/// What stands in the way of a file that was there when it was described.
fn unreadable(stub: &Stub, fault: PathFault) -> OpError {
    match fault {
        PathFault::NotFound | PathFault::Refused(drawbridge_core::RefusalReason::RootChanged) => {
            stale(stub, Stale::Gone)
        }
        // A link, folder or device took a name on the way.
        PathFault::Refused(_)
        | PathFault::BadPath(_)
        | PathFault::ReservedName
        | PathFault::Exists
        | PathFault::NotEmpty
        | PathFault::File {
            reason:
                IoReason::IsDirectory | IoReason::NotDirectory | IoReason::NotRegularFile | IoReason::ChangedMeanwhile,
            ..
        } => stale(stub, Stale::Changed),
        PathFault::File { reason, message } => {
            OpError::File { action: "read", path: stub.place.path(), reason, message }
        }
    }
}

/// Says that a stub is not known, or not any more.
pub(super) fn unknown(stub_id: &str) -> OpError {
    OpError::StubStale {
        stub_id: stub_id.to_owned(),
        reason: "unknown",
        why: "it is unknown here, or was forgotten when the connection was made anew",
    }
}

fn stale(stub: &Stub, how: Stale) -> OpError {
    let (reason, why) = match how {
        Stale::Changed => ("changed", "the file has changed since it was described"),
        Stale::Gone => ("gone", "the file is not there any more"),
    };
    OpError::StubStale { stub_id: stub.id.clone(), reason, why }
}

fn too_large(stub: &Stub, size: u64) -> OpError {
    failed(stub, &format!("has {size} bytes, and all files of one question may have {MAX_BYTES} together"))
}

fn failed(stub: &Stub, why: &str) -> OpError {
    let name = shorten_middle(&escape_outside_text(&stub.place.below_root()), NAME_CHARS);
    OpError::ModelFailed { why: format!("{name} {why}") }
}
