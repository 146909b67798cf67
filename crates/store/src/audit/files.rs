//! Which files belong to a log, and the facts of each that link it to the others.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use drawbridge_os::private::{self, Links};
use serde_json::{Map, Value};

/// The longest line that is looked at. Ours stay below 64 KiB; a foreign file must not fill the memory.
pub(super) const LINE_LIMIT: u64 = 16 * 1024 * 1024;

/// Opens a file of the log for reading, and nothing but a regular file.
pub(super) fn open(path: &Path) -> io::Result<File> {
    private::open_regular(path, File::options().read(true), Links::Followed)
}

/// Returns the name of a file of the log.
pub(super) fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(super) fn folder(log: &Path) -> PathBuf {
    log.parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Returns rotated and suspect files, oldest first by their names.
pub(super) fn older(log: &Path) -> io::Result<Vec<PathBuf>> {
    let base = name(log);
    let mut found: Vec<(String, u64, PathBuf)> = Vec::new();
    let entries = match std::fs::read_dir(folder(log)) {
        Ok(entries) => entries,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(err),
    };
    for entry in entries {
        let entry = entry?;
        let file_name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = file_name.strip_prefix(&base).and_then(|rest| rest.strip_prefix('.')) else { continue };
        let rest = rest.strip_prefix("suspect-").unwrap_or(rest);
        if let Some((stamp, clash)) = stamp_of(rest) {
            found.push((stamp.to_owned(), clash, entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}

/// Splits `YYYYMMDD-HHMMSS` or `YYYYMMDD-HHMMSS-N`.
fn stamp_of(text: &str) -> Option<(&str, u64)> {
    let (stamp, rest) = text.split_at_checked(15)?;
    let digits = stamp.bytes().enumerate().all(|(at, byte)| if at == 8 { byte == b'-' } else { byte.is_ascii_digit() });
    let clash = if rest.is_empty() { 0 } else { rest.strip_prefix('-')?.parse().ok()? };
    digits.then_some((stamp, clash))
}

/// Returns a free name `audit.log.{middle}{stamp}`, with `-1`, `-2`… on a clash.
pub(super) fn free_name(log: &Path, middle: &str, now_ms: i64) -> PathBuf {
    let stamp = jiff::Timestamp::from_millisecond(now_ms)
        .map(|at| at.strftime("%Y%m%d-%H%M%S").to_string())
        .unwrap_or_else(|_| "19700101-000000".to_owned());
    let wanted = log.with_file_name(format!("{}.{middle}{stamp}", name(log)));
    let mut free = wanted.clone();
    let mut clash = 0_u32;
    while free.symlink_metadata().is_ok() {
        clash += 1;
        free = wanted.with_file_name(format!("{}-{clash}", name(&wanted)));
    }
    free
}

/// The first and the last record of a file, unchecked.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    pub(super) first: Option<Map<String, Value>>,
    pub(super) last: Option<Map<String, Value>>,
}

impl Ends {
    /// Reads both ends of a file, whatever the length of its lines.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut file = open(path)?;
        let mut line = Vec::new();
        BufReader::new((&mut file).take(LINE_LIMIT)).read_until(b'\n', &mut line)?;
        let last = last_line(&mut file)?;
        Ok(Self { first: record(&line), last: last.as_deref().and_then(record) })
    }

    pub(super) fn file_id(&self) -> Option<&str> {
        opened(self.first.as_ref()?)?.get("file_id")?.as_str()
    }

    pub(super) fn last_seq(&self) -> Option<u64> {
        self.last.as_ref()?.get("seq")?.as_u64()
    }

    pub(super) fn last_hmac(&self) -> Option<&str> {
        self.last.as_ref()?.get("hmac")?.as_str()
    }

    pub(super) fn last_ts_ms(&self) -> Option<i64> {
        ts_ms(self.last.as_ref()?)
    }

    pub(super) fn first_ts_ms(&self) -> Option<i64> {
        ts_ms(self.first.as_ref()?)
    }
}

/// Returns the details of a `LOG_OPENED` record.
pub(super) fn opened(record: &Map<String, Value>) -> Option<&Map<String, Value>> {
    (record.get("op")?.as_str()? == "LOG_OPENED").then(|| record.get("details")?.as_object()).flatten()
}

pub(super) fn record(line: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(line).ok()
}

pub(super) fn ts_ms(record: &Map<String, Value>) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    record.get("ts")?.as_f64().map(|seconds| (seconds * 1000.0).round() as i64)
}

/// Returns the last whole line, without its line end, reading backwards until it is found.
pub(super) fn last_line(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    const STEP: u64 = 64 * 1024;
    let length = file.metadata()?.len();
    let mut tail: Vec<u8> = Vec::new();
    let mut start = length;
    loop {
        let whole_end = tail.iter().rposition(|byte| *byte == b'\n');
        if let Some(end) = whole_end {
            if let Some(before) = tail[..end].iter().rposition(|byte| *byte == b'\n') {
                return Ok(Some(tail[before + 1..end].to_vec()));
            }
            if start == 0 {
                return Ok(Some(tail[..end].to_vec()));
            }
        } else if start == 0 {
            return Ok(None);
        }
        let step = STEP.max(tail.len() as u64).min(start);
        start -= step;
        file.seek(SeekFrom::Start(start))?;
        let mut chunk = vec![0_u8; usize::try_from(step).unwrap_or(usize::MAX)];
        file.read_exact(&mut chunk)?;
        chunk.extend_from_slice(&tail);
        tail = chunk;
    }
}

/// Returns the offset behind the last line end: 0 when there is none.
pub(super) fn whole_length(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    let mut chunk = Vec::new();
    while end > 0 {
        let step = STEP.min(end);
        file.seek(SeekFrom::Start(end - step))?;
        chunk.resize(usize::try_from(step).unwrap_or(0), 0);
        file.read_exact(&mut chunk)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(end - step + at as u64 + 1);
        }
        end -= step;
    }
    Ok(0)
}

/// Finds the MAC of the record with this number. Looks at the end of the file first, where a head points.
pub(super) fn hmac_at(path: &Path, seq: u64) -> io::Result<Option<String>> {
    const NEAR: u64 = 256 * 1024;
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    for start in [length.saturating_sub(NEAR), 0] {
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::new(&mut file);
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            // The first line may be cut when the start is not 0; then it parses as nothing.
            let Some(record) = record(&line) else { continue };
            if record.get("seq").and_then(Value::as_u64) == Some(seq) {
                return Ok(record.get("hmac").and_then(Value::as_str).map(str::to_owned));
            }
        }
        if start == 0 {
            break;
        }
    }
    Ok(None)
}
