//! The one writer of the log.
//!
//! An append hands its record to the kernel before it returns; one background thread syncs what was written, at the
//! latest 100 ms later, and then moves the head on. Once something could not be written, nothing more is (invariant 5).

mod background;
mod prune;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use drawbridge_core::Clock;
use drawbridge_os::lockfile::{LockFault, LockFile};
use drawbridge_os::private;
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value};

use self::background::COPY_RECORDS;
use super::canonical::{self, Frame, Keyed};
use super::files::{self, Ends};
use super::head::{self, Head, HeadFile};
use super::open::{self, Resumed, link_to, new_id};
use super::options::{AuditOptions, SyncMode};
use super::report::Report;
use super::verify::{self, Check, HeadCopy};
use super::{Appended, AuditFault, AuditPaths, Exported, Record, RecordResult, bundle};
use crate::secrets::{SecretStore, entries};

/// A file is rotated at this size…
const ROTATE_BYTES: u64 = 64 * 1024 * 1024;
/// …or when its first record is this old.
const ROTATE_AGE_MS: i64 = 30 * 24 * 3600 * 1000;
/// A check that a rotation spoils is made again so often at most.
const MOST_TRIES: usize = 3;

/// The open log. Dropping it syncs and closes it.
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    paths: AuditPaths,
    mac: Keyed,
    machine_id: String,
    shim_version: String,
    sync: SyncMode,
    clock: Arc<dyn Clock>,
    secrets: Option<Arc<dyn SecretStore>>,
    state: Mutex<State>,
    /// Something to sync, or the end.
    to_sync: Condvar,
    /// Something to copy, or the end.
    to_copy: Condvar,
    _lock: LockFile,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("paths", &self.paths).finish_non_exhaustive()
    }
}

struct State {
    file: Arc<File>,
    line: Vec<u8>,
    chain: String,
    file_id: Arc<str>,
    seq: u64,
    hmac: Option<String>,
    ts_ms: i64,
    first_ts_ms: i64,
    bytes: u64,
    total: u64,
    fault: Option<AuditFault>,
    dirty: bool,
    uncopied: u64,
    copy_now: bool,
    closing: bool,
}

impl AuditLog {
    /// Opens the log for writing: repairs a torn end, sets a suspect file aside, compares with the head, and says each
    /// in the log itself.
    ///
    /// # Errors
    /// [`AuditFault::InUse`] when another process writes it, else [`AuditFault::Unavailable`].
    pub fn open(options: AuditOptions) -> Result<Self, AuditFault> {
        let AuditOptions { paths, key, machine_id, shim_version, sync, clock, secrets } = options;
        let log = paths.log.clone();
        let fault = |error: io::Error| AuditFault::Unavailable { path: log.clone(), why: error.to_string() };
        private::create_folder(&files::folder(&paths.log)).map_err(fault)?;
        private::create_folder(&paths.state_dir).map_err(fault)?;
        let lock = LockFile::try_acquire(&lock_path(&paths.log)).map_err(|refused| match refused {
            LockFault::Held { pid, .. } => AuditFault::InUse { path: log.clone(), pid },
            LockFault::Io { error, .. } => fault(error),
            looked @ LockFault::LookedAt { .. } => fault(io::Error::other(looked)),
        })?;
        let mac = canonical::keyed(&key);
        let kept = head::read(&paths.state_dir, &mac).map_err(fault)?;
        let copy = secrets.as_ref().and_then(|secrets| open::expected(&paths, secrets.as_ref(), &kept, &mac));
        let resumed = open::resume(&paths, &mac, &kept, copy.as_ref(), clock.wall().0).map_err(fault)?;
        let Resumed { file, bytes, at, mut link, chain, total, news, last_ts_ms } = resumed;
        let chain = match chain {
            Some(chain) => chain,
            None => new_id().map_err(fault)?,
        };
        let fresh = at.is_none();
        let (file_id, seq, hmac, first_ts_ms) = match at {
            Some(at) => (at.file_id, at.seq, Some(at.hmac), at.first_ts_ms),
            None => (new_id().map_err(fault)?, 0, None, clock.wall().0),
        };
        let state = State {
            file: Arc::new(file),
            line: Vec::with_capacity(1024),
            chain,
            file_id: file_id.into(),
            seq,
            hmac,
            ts_ms: last_ts_ms,
            first_ts_ms,
            bytes,
            total,
            fault: None,
            dirty: true,
            uncopied: 0,
            copy_now: secrets.is_some(),
            closing: false,
        };
        let shared = Arc::new(Shared {
            paths,
            mac,
            machine_id,
            shim_version,
            sync,
            clock,
            secrets,
            state: Mutex::new(state),
            to_sync: Condvar::new(),
            to_copy: Condvar::new(),
            _lock: lock,
        });
        let head_file = {
            let mut state = shared.lock();
            if fresh {
                link.insert("file_id".to_owned(), Value::from(&*state.file_id));
                link.insert("chain".to_owned(), Value::String(state.chain.clone()));
                shared.put(&mut state, event("LOG_OPENED", link))?;
                private::sync_folder(&files::folder(&shared.paths.log)).map_err(fault)?;
            }
            for (op, details) in news {
                shared.put(&mut state, event(op, details))?;
            }
            // Before anybody can look: a log of ours without its head is a finding.
            state.file.sync_data().map_err(fault)?;
            let mut head_file = HeadFile::open(&shared.paths.state_dir).map_err(fault)?;
            head_file.write(&shared.head(&state), &shared.mac).map_err(fault)?;
            head_file
        };
        let mut threads = Vec::new();
        let syncing = shared.clone();
        let spawn =
            |name: &str, run: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name.to_owned()).spawn(run);
        threads.push(spawn("audit-sync", Box::new(move || syncing.sync_until_closed(head_file))).map_err(fault)?);
        if let Some(secrets) = shared.secrets.clone() {
            let copying = shared.clone();
            let run = Box::new(move || copying.copy_until_closed(secrets.as_ref()));
            threads.push(spawn("audit-head", run).map_err(fault)?);
        }
        Ok(Self { shared, threads: Mutex::new(threads) })
    }

    /// Writes a record. When this returns, the kernel has it and any reader sees it; with [`SyncMode::Record`] the disk
    /// has it, too.
    ///
    /// # Errors
    /// [`AuditFault::Unavailable`]: the record is not in the log, nothing may be done, and every later append is
    /// refused the same way.
    pub fn append(&self, record: Record) -> Result<Appended, AuditFault> {
        let shared = &self.shared;
        let mut state = shared.lock();
        if state.bytes >= ROTATE_BYTES || shared.clock.wall().0.saturating_sub(state.first_ts_ms) >= ROTATE_AGE_MS {
            shared.rotate(&mut state)?;
        }
        shared.put(&mut state, record)?;
        Ok(Appended { seq: state.seq, file: state.file_id.clone() })
    }

    /// Closes the current file under a new name, which is returned, and goes on in a new one.
    ///
    /// # Errors
    /// [`AuditFault::Unavailable`].
    pub fn rotate(&self) -> Result<PathBuf, AuditFault> {
        self.shared.rotate(&mut self.shared.lock())
    }

    /// Checks all files, how they follow each other, and the head with its copy, as [`super::verify_all`] does. May run
    /// while records are written and while the log is rotated. Blocks for long; `stopped` is asked between records.
    ///
    /// # Errors
    /// When a file that is there cannot be read, and when it was stopped.
    pub fn verify_all(&self, compat: bool, stopped: &dyn Fn() -> bool) -> io::Result<Report> {
        let shared = &self.shared;
        let check = Check { mac: &shared.mac, compat, stopped };
        let copy = shared.secrets.as_deref().map_or(HeadCopy::Nowhere, HeadCopy::In);
        let files = || Ok::<_, io::Error>((shared.lock().file_id.clone(), files::older(&shared.paths.log)?));
        let mut before = files()?;
        for _ in 0..MOST_TRIES {
            let report = verify::all(&shared.paths, copy, &check)?;
            // A file that was rotated or pruned meanwhile looks as if it were missing.
            let after = files()?;
            if report.is_sound() || after == before {
                return Ok(report);
            }
            before = after;
        }
        verify::all(&shared.paths, copy, &check)
    }

    /// Writes a bundle, as [`super::export`] does. May run while records are written. Blocks for long.
    ///
    /// # Errors
    /// When a file cannot be read or the bundle cannot be written; a half-written one is removed.
    pub fn export(&self, output: &Path) -> io::Result<Exported> {
        let shared = &self.shared;
        bundle::export_with(&shared.paths, &shared.mac, entries::AUDIT_KEY, shared.clock.wall(), output)
    }

    /// Returns the size of the current file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.lock().bytes
    }

    /// Returns the number of records over all files of this log.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.shared.lock().total
    }

    /// Returns why the log is unavailable, if it is. A failed sync shows here first.
    #[must_use]
    pub fn fault(&self) -> Option<AuditFault> {
        self.shared.lock().fault.clone()
    }

    /// Returns where the log is.
    #[must_use]
    pub fn paths(&self) -> &AuditPaths {
        &self.shared.paths
    }

    /// Syncs everything, moves the head on, copies it, and ends the background threads. Blocks for that long.
    pub fn close(&self) {
        {
            let mut state = self.shared.lock();
            state.closing = true;
            self.shared.to_sync.notify_all();
            self.shared.to_copy.notify_all();
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A thread that died took nothing with it that closing could save.
            let _ = thread.join();
        }
    }

    #[cfg(test)]
    pub(super) fn write_into(&self, file: File) {
        self.shared.lock().file = Arc::new(file);
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unavailable(&self, why: &str) -> AuditFault {
        AuditFault::Unavailable { path: self.paths.log.clone(), why: why.to_owned() }
    }

    fn latch(&self, state: &mut State, why: &str) -> AuditFault {
        let fault = self.unavailable(why);
        tracing::error!(%fault, "the audit log failed");
        state.fault.get_or_insert(fault).clone()
    }

    fn put(&self, state: &mut State, record: Record) -> Result<(), AuditFault> {
        if let Some(fault) = &state.fault {
            return Err(fault.clone());
        }
        if state.closing {
            return Err(self.unavailable("Drawbridge is stopping"));
        }
        let ts_ms = canonical::stamp(self.clock.wall().0, state.ts_ms);
        let seq = state.seq + 1;
        let frame = Frame {
            machine_id: &self.machine_id,
            shim_version: &self.shim_version,
            seq,
            ts_ms,
            prev_hmac: state.hmac.as_deref(),
        };
        let mut line = std::mem::take(&mut state.line);
        let hmac = canonical::write_line(&mut line, &self.mac, record, &frame);
        let written = write_once(&state.file, &line);
        let length = line.len() as u64;
        if line.capacity() > 64 * 1024 {
            line = Vec::with_capacity(1024);
        }
        state.line = line;
        if let Err(error) = written {
            // Half a line must not stay: the next start would have to set it aside. If this fails too, it does so.
            let _ = state.file.set_len(state.bytes);
            return Err(self.latch(state, &error.to_string()));
        }
        if state.seq == 0 {
            state.first_ts_ms = ts_ms;
        }
        state.seq = seq;
        state.hmac = Some(hmac);
        state.ts_ms = ts_ms;
        state.bytes += length;
        state.total += 1;
        state.uncopied += 1;
        if self.sync == SyncMode::Record
            && let Err(error) = state.file.sync_data()
        {
            return Err(self.latch(state, &error.to_string()));
        }
        if !state.dirty {
            state.dirty = true;
            self.to_sync.notify_one();
        }
        if state.uncopied == 1 || state.uncopied == COPY_RECORDS {
            self.to_copy.notify_one();
        }
        Ok(())
    }

    fn rotate(&self, state: &mut State) -> Result<PathBuf, AuditFault> {
        if let Some(fault) = &state.fault {
            return Err(fault.clone());
        }
        let log = &self.paths.log;
        let moved = (|| {
            state.file.sync_data()?;
            let name = files::free_name(log, "", self.clock.wall().0);
            fs::rename(log, &name)?;
            let ends = Ends::read(&name)?;
            let file = private::options().read(true).append(true).create_new(true).open(log)?;
            private::sync_folder(&files::folder(log))?;
            Ok::<_, io::Error>((name, ends, file, new_id()?))
        })();
        let (name, ends, file, file_id) = match moved {
            Ok(moved) => moved,
            Err(error) => return Err(self.latch(state, &error.to_string())),
        };
        state.file = Arc::new(file);
        state.file_id = file_id.as_str().into();
        (state.seq, state.hmac, state.bytes) = (0, None, 0);
        let mut link = link_to(&name, &ends);
        link.insert("file_id".to_owned(), Value::String(file_id));
        link.insert("chain".to_owned(), Value::String(state.chain.clone()));
        self.put(state, event("LOG_OPENED", link))?;
        state.copy_now = true;
        self.to_copy.notify_one();
        Ok(name)
    }

    fn head(&self, state: &State) -> Head {
        Head {
            chain: state.chain.clone(),
            file_id: state.file_id.to_string(),
            file: files::name(&self.paths.log),
            seq: state.seq,
            hmac: state.hmac.clone().unwrap_or_default(),
            total: state.total,
        }
    }
}

/// One record is one call: either the kernel has the whole line, or the append failed.
fn write_once(file: &File, line: &[u8]) -> io::Result<()> {
    let mut file = file;
    loop {
        match file.write(line) {
            Ok(written) if written == line.len() => return Ok(()),
            Ok(_) => {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "only a part of the record could be written"));
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
}

pub(super) fn lock_path(log: &Path) -> PathBuf {
    log.with_file_name("audit.lock")
}

pub(super) fn read_entry(secrets: &dyn SecretStore) -> Option<String> {
    match secrets.get(entries::AUDIT_HEAD) {
        Ok(entry) => entry.map(|entry| entry.expose_secret().to_owned()),
        Err(fault) => {
            tracing::warn!(%fault, "the copy of the audit log's head cannot be read");
            None
        }
    }
}

pub(super) fn copied_head(secrets: &dyn SecretStore, chain: &str, mac: &Keyed) -> Option<Head> {
    head::copy_of(read_entry(secrets).as_deref(), chain, mac)
}

fn event(op: &'static str, details: Map<String, Value>) -> Record {
    Record { session_id: None, request_id: None, op: op.into(), details, result: RecordResult::happened() }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
