//! Removing old files, so that what is left can still be checked.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use drawbridge_os::private;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::files::{self, Ends};
use super::super::open::object;
use super::{AuditFault, AuditLog, event};

impl AuditLog {
    /// Removes rotated files whose newest record is older than `older_than`, and returns their names. Their digests go
    /// into the log first, so that `verify-all` stays sound.
    ///
    /// # Errors
    /// [`AuditFault::Unavailable`] when that cannot be written, or a file cannot be read or removed.
    pub fn prune(&self, older_than: Duration) -> Result<Vec<String>, AuditFault> {
        let shared = &self.shared;
        let fault = |error: io::Error| shared.unavailable(&error.to_string());
        let age = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        let limit = shared.clock.wall().0.saturating_sub(age);
        let mut doomed = Vec::new();
        for path in files::older(&shared.paths.log).map_err(fault)? {
            let ends = Ends::read(&path).map_err(fault)?;
            // From the oldest on and without gaps, so that what is left is one chain.
            if ends.last_ts_ms().is_none_or(|newest| newest >= limit) {
                break;
            }
            let digest = file_digest(&path).map_err(fault)?;
            doomed.push((
                path.clone(),
                json!({
                    "file": files::name(&path),
                    "file_id": ends.file_id(),
                    "sha256": digest,
                    "last_seq": ends.last_seq(),
                    "last_hmac": ends.last_hmac(),
                }),
            ));
        }
        for part in doomed.chunks(50) {
            let facts: Vec<&Value> = part.iter().map(|(_, facts)| facts).collect();
            self.append(event("LOG_PRUNED", object(json!({ "files": facts }))))?;
        }
        for (path, _) in &doomed {
            fs::remove_file(path).map_err(fault)?;
        }
        private::sync_folder(&files::folder(&shared.paths.log)).map_err(fault)?;
        Ok(doomed.iter().map(|(path, _)| files::name(path)).collect())
    }
}

fn file_digest(path: &Path) -> io::Result<String> {
    let mut file = files::open(path)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0_u8; 64 * 1024];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(drawbridge_core::hex::encode(digest.finalize()));
        }
        digest.update(&chunk[..read]);
    }
}
