//! What a start finds: a torn last line, a line that does not verify, a log that was cut back (spec 3.6).

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use drawbridge_os::private::{self, Links};
use serde_json::{Map, Value, json};

use super::AuditPaths;
use super::canonical::Keyed;
use super::files::{self, Ends};
use super::head::{self, Head, Kept};
use super::verify::{chain_in, head_fault, line_is_sound};
use super::writer::read_entry;
use crate::secrets::{SecretPlace, SecretStore};

/// Where a writer goes on.
pub(super) struct Resumed {
    pub(super) file: File,
    pub(super) bytes: u64,
    /// None: the file is empty and gets a `LOG_OPENED` first.
    pub(super) at: Option<Position>,
    /// Details of that `LOG_OPENED`, apart from the ids.
    pub(super) link: Map<String, Value>,
    pub(super) chain: Option<String>,
    pub(super) total: u64,
    /// Events to write first: name and details.
    pub(super) news: Vec<(&'static str, Map<String, Value>)>,
    /// The newest time so far.
    pub(super) last_ts_ms: i64,
}

pub(super) struct Position {
    pub(super) file_id: String,
    pub(super) seq: u64,
    pub(super) hmac: String,
    pub(super) first_ts_ms: i64,
}

/// Finds what the secret store remembers of this log. A secret file belongs to one state folder, so that it also tells
/// of a log that is gone altogether; a keychain may remember logs of other folders.
pub(super) fn expected(paths: &AuditPaths, secrets: &dyn SecretStore, kept: &Kept, mac: &Keyed) -> Option<Head> {
    let entry = read_entry(secrets);
    let chain = match kept {
        Kept::Sound(head) => Some(head.chain.clone()),
        Kept::Missing | Kept::Damaged => chain_in(&paths.log),
    };
    match chain {
        Some(chain) => head::copy_of(entry.as_deref(), &chain, mac),
        None if secrets.place() == SecretPlace::File => head::newest_copy(entry.as_deref(), mac),
        None => None,
    }
}

/// Looks at what is there and makes it fit for writing. Only the holder of the writer's lock may call this.
pub(super) fn resume(
    paths: &AuditPaths,
    mac: &Keyed,
    head: &Kept,
    copy: Option<&Head>,
    now_ms: i64,
) -> io::Result<Resumed> {
    let log = &paths.log;
    let mut news = Vec::new();
    // Before anything is changed: what is cut off below is not what a head points at, and a rename would hide it.
    let mut suspicion = match head {
        // The very first record may be there alone, when the program was killed before it wrote a head.
        Kept::Missing => match Ends::read(log) {
            Ok(ends) if ends.file_id().is_some() && ends.last_seq() != Some(1) => {
                Some("the head file is missing".to_owned())
            }
            Ok(_) | Err(_) => None,
        },
        Kept::Damaged => Some("the head file is damaged".to_owned()),
        Kept::Sound(head) => head_fault(log, head)?,
    };
    if suspicion.is_none()
        && let Some(copy) = copy
    {
        suspicion = head_fault(log, copy)?;
    }
    if let Some(why) = suspicion {
        let (seq, total) = match head {
            Kept::Sound(head) => (Some(head.seq), Some(head.total)),
            Kept::Missing | Kept::Damaged => (None, None),
        };
        let facts = json!({ "reason": "head_mismatch", "why": why, "head_seq": seq, "head_total": total });
        news.push(("LOG_SUSPECT", object(facts)));
    }

    let mut file = open_append(log)?;
    let length = file.metadata()?.len();
    let whole = files::whole_length(&mut file)?;
    if whole < length {
        let torn = set_aside(log, &mut file, whole, now_ms)?;
        news.push(("LOG_REPAIRED", object(json!({ "bytes_set_aside": length - whole, "file": files::name(&torn) }))));
    }
    let kept_total = match head {
        Kept::Sound(head) => head.total,
        Kept::Missing | Kept::Damaged => 0,
    };
    let mut suspect_name = None;
    if whole > 0 {
        let ends = Ends::read(log)?;
        let line = files::last_line(&mut file)?.unwrap_or_default();
        if let (true, Some(first), Some(seq), Some(hmac)) =
            (line_is_sound(&line, mac), &ends.first, ends.last_seq(), ends.last_hmac())
        {
            let opened = files::opened(first);
            let text = |key| opened.and_then(|opened| opened.get(key)).and_then(Value::as_str).map(str::to_owned);
            let own_id = first.get("hmac").and_then(Value::as_str).unwrap_or_default().to_owned();
            let since_head = match head {
                Kept::Sound(head) if ends.file_id() == Some(&head.file_id) => seq.saturating_sub(head.seq),
                Kept::Sound(_) => seq,
                Kept::Missing | Kept::Damaged => seq,
            };
            return Ok(Resumed {
                bytes: whole,
                at: Some(Position {
                    file_id: text("file_id").unwrap_or(own_id),
                    seq,
                    hmac: hmac.to_owned(),
                    first_ts_ms: ends.first_ts_ms().unwrap_or(now_ms),
                }),
                link: Map::new(),
                chain: text("chain"),
                total: kept_total + since_head,
                news,
                last_ts_ms: ends.last_ts_ms().unwrap_or(0),
                file,
            });
        }
        let aside = files::free_name(log, "suspect-", now_ms);
        drop(file);
        fs::rename(log, &aside)?;
        private::sync_folder(&files::folder(log))?;
        let facts =
            json!({ "reason": "last_record", "file": files::name(&aside), "why": "its last record does not verify" });
        news.insert(0, ("LOG_SUSPECT", object(facts)));
        suspect_name = Some(aside);
        file = open_append(log)?;
    }
    let newest = match suspect_name {
        Some(aside) => Some(aside),
        None => newest_older(log)?,
    };
    let (link, chain, last_ts_ms) = match newest {
        Some(path) => {
            let ends = Ends::read(&path).unwrap_or_default();
            let chain = ends.first.as_ref().and_then(files::opened).and_then(|opened| opened.get("chain"));
            let chain = chain.and_then(Value::as_str).map(str::to_owned);
            (link_to(&path, &ends), chain, ends.last_ts_ms().unwrap_or(0))
        }
        None => (
            object(
                json!({ "prev_file": null, "prev_file_id": null, "prev_last_seq": null, "prev_last_hmac": null, "prev_first_ts_ms": null }),
            ),
            None,
            0,
        ),
    };
    let chain = chain.or_else(|| match head {
        Kept::Sound(head) => Some(head.chain.clone()),
        Kept::Missing | Kept::Damaged => None,
    });
    // A damaged time must not push ours into the far future.
    let last_ts_ms = last_ts_ms.min(now_ms);
    Ok(Resumed { file, bytes: 0, at: None, link, chain, total: kept_total, news, last_ts_ms })
}

/// Returns the details that link a new file to the one before.
pub(super) fn link_to(path: &Path, ends: &Ends) -> Map<String, Value> {
    object(json!({
        "prev_file": files::name(path),
        "prev_file_id": ends.file_id(),
        "prev_last_seq": ends.last_seq(),
        "prev_last_hmac": ends.last_hmac(),
        "prev_first_ts_ms": ends.first_ts_ms(),
    }))
}

/// By the time of the last record, since a suspect file's name tells when it was set aside only.
fn newest_older(log: &Path) -> io::Result<Option<PathBuf>> {
    Ok(files::older(log)?.pop())
}

pub(super) fn open_append(log: &Path) -> io::Result<File> {
    private::open_regular(log, File::options().read(true).append(true).create(true), Links::Refused)
}

fn set_aside(log: &Path, file: &mut File, whole: u64, now_ms: i64) -> io::Result<PathBuf> {
    let path = files::free_name(log, "torn-", now_ms);
    file.seek(SeekFrom::Start(whole))?;
    let mut copy = private::options().write(true).create_new(true).open(&path)?;
    let mut chunk = vec![0_u8; 64 * 1024];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        copy.write_all(&chunk[..read])?;
    }
    copy.sync_all()?;
    private::sync_folder(&files::folder(log))?;
    file.set_len(whole)?;
    file.sync_all()?;
    Ok(path)
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// A random name of a file or chain.
pub(super) fn new_id() -> io::Result<String> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(drawbridge_core::hex::encode(random))
}
