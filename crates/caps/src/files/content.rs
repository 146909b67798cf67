//! Reading (spec 8, FILE_READ).

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use drawbridge_core::{ContentForm, FileContents, IoReason, OpError, Outcome};
use drawbridge_os::root::{Facts, Found, Last, PathFault, Reached};

use super::Job;

/// How much is read between two looks at the cancel flag.
const CHUNK_BYTES: usize = 1024 * 1024;

impl Job {
    pub(super) fn read(
        &self,
        path: &str,
        form: ContentForm,
        offset: u64,
        length: Option<u64>,
    ) -> Result<Outcome, OpError> {
        let (file, facts) = self.open(path).map_err(|fault| self.fault("read", path, fault))?;
        let left = facts.size_bytes.saturating_sub(offset);
        let requested = length.unwrap_or(left);
        if requested > self.limits.max_file_size_bytes {
            return Err(OpError::TooLarge {
                what: "the file or range",
                max_bytes: self.limits.max_file_size_bytes,
                attempted_bytes: requested,
            });
        }
        let bytes = self.read_range(path, &file, offset, requested.min(left))?;
        let size_bytes = bytes.len() as u64;
        let end = offset.saturating_add(size_bytes);
        let size_now = Facts::of_file(&file).map_err(|fault| self.fault("read", path, fault))?.size_bytes;
        let (bytes, lossy) = match form {
            ContentForm::Bytes => (bytes, false),
            ContentForm::Text => match String::from_utf8(bytes) {
                Ok(text) => (text.into_bytes(), false),
                Err(bad) => (String::from_utf8_lossy(bad.as_bytes()).into_owned().into_bytes(), true),
            },
        };
        Ok(Outcome::Contents(FileContents { bytes, form, size_bytes, truncated: end < size_now, lossy }))
    }

    fn open(&self, path: &str) -> Result<(File, Facts), PathFault> {
        match self.root.walk(path, Last::Follow)? {
            Reached::Missing(_) => Err(PathFault::NotFound),
            Reached::Found(Found { at: Some(at), .. }) => at.folder().open_file(&at.name),
            Reached::Found(Found { at: None, .. }) => Err(PathFault::file(IoReason::IsDirectory, "it is a folder")),
        }
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
