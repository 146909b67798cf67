//! Reading (spec 8, FILE_READ).

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use drawbridge_core::{ContentForm, FileContents, OpError, Outcome};
use drawbridge_os::root::{Facts, PathFault};

use super::Job;
use crate::RunCtx;

/// How much is read between two looks at the cancel flag.
const CHUNK_BYTES: usize = 1024 * 1024;
/// What is read at once without a thread of its own.
const SMALL_BYTES: u64 = 64 * 1024;

impl Job {
    pub(super) fn read(
        &self,
        path: &str,
        form: ContentForm,
        offset: u64,
        length: Option<u64>,
    ) -> Result<Outcome, OpError> {
        let (file, facts) = self.root.open_file(path).map_err(|fault| self.fault("read", path, fault))?;
        let left = facts.size_bytes.saturating_sub(offset);
        let requested = length.unwrap_or(left);
        if requested > self.limits.max_file_size_bytes {
            return Err(OpError::TooLarge {
                what: "the file or range",
                max_bytes: self.limits.max_file_size_bytes,
                attempted_bytes: requested,
            });
        }
        let wanted = requested.min(left);
        let bytes = self.read_range(path, &file, offset, wanted)?;
        let end = offset.saturating_add(bytes.len() as u64);
        let size = if bytes.len() as u64 == wanted {
            facts.size_bytes
        } else {
            Facts::of_file(&file).map_err(|fault| self.fault("read", path, fault))?.size_bytes
        };
        Ok(contents(bytes, form, end < size))
    }

    /// Reads into one buffer of exactly the size needed; a file that shrinks meanwhile gives less.
    fn read_range(&self, path: &str, file: &File, offset: u64, count: u64) -> Result<Vec<u8>, OpError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(count).map_err(|_| OpError::Internal("not enough memory for the file".to_owned()))?;
        bytes.resize(count, 0);
        let mut done = 0;
        while done < count {
            self.go_on()?;
            let end = count.min(done + CHUNK_BYTES);
            let Some(chunk) = bytes.get_mut(done..end) else { break };
            match file.read_at(chunk, offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(fault) if fault.kind() == std::io::ErrorKind::Interrupted => {}
                Err(fault) => return Err(self.fault("read", path, PathFault::from_io(&fault))),
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }
}

/// Reads a small file or range whose bytes are all in memory, without ever waiting for a disk; none in all other cases,
/// faults among them.
pub(super) fn read_if_cached(
    ctx: &RunCtx,
    path: &str,
    form: ContentForm,
    offset: u64,
    length: Option<u64>,
) -> Option<Outcome> {
    let (file, facts) = ctx.root.as_ref()?.open_file_if_cached(path)?;
    let left = facts.size_bytes.saturating_sub(offset);
    let requested = length.unwrap_or(left);
    let wanted = requested.min(left);
    if requested > ctx.limits.max_file_size_bytes || wanted > SMALL_BYTES {
        return None;
    }
    let bytes = drawbridge_os::root::read_if_cached(&file, offset, usize::try_from(wanted).ok()?)?;
    Some(contents(bytes, form, offset.saturating_add(wanted) < facts.size_bytes))
}

fn contents(bytes: Vec<u8>, form: ContentForm, truncated: bool) -> Outcome {
    let size_bytes = bytes.len() as u64;
    let (bytes, lossy) = match form {
        ContentForm::Bytes => (bytes, false),
        ContentForm::Text => match String::from_utf8(bytes) {
            Ok(text) => (text.into_bytes(), false),
            Err(bad) => (String::from_utf8_lossy(bad.as_bytes()).into_owned().into_bytes(), true),
        },
    };
    Outcome::Contents(FileContents { bytes, form, size_bytes, truncated, lossy })
}
