//! Looking for records: those that fit a question, page by page, newest first, over all files of the log.
//!
//! An [`Index`] remembers where the records are that fit, 8 bytes each, and reads only what was added since. It never
//! stops the writer and never waits for it. MACs are not looked at: that is what `verify` is for.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::AuditPaths;
use super::files::{self, LINE_LIMIT};

/// So many bytes of a file's beginning tell it from others: they hold its id, or the MAC of its first record.
const HEAD_BYTES: u64 = 256;

/// What a question can look at without reading a whole record.
#[derive(Debug, Deserialize)]
pub struct Glance<'a> {
    /// Name of the operation or event.
    #[serde(borrow)]
    pub op: Cow<'a, str>,
    /// The chat, `-` when there is none.
    #[serde(borrow)]
    pub session_id: Cow<'a, str>,
    /// Whether a peer asked for it; otherwise it is an event of our own.
    #[serde(rename = "request_id", deserialize_with = "is_there")]
    pub requested: bool,
    /// How it ended.
    #[serde(borrow)]
    pub result: GlanceResult<'a>,
    /// The details, not yet looked at.
    #[serde(borrow)]
    pub details: &'a RawValue,
}

/// How a record says that its operation ended.
#[derive(Debug, Deserialize)]
pub struct GlanceResult<'a> {
    /// Whether it did what was asked.
    pub ok: bool,
    /// The protocol's error code.
    #[serde(default, borrow)]
    pub error_code: Option<Cow<'a, str>>,
}

fn is_there<'de, D: serde::Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(value)?.is_some())
}

/// A record that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Stable name of its file: the id that its first record gives it. It stays when the file is rotated.
    pub file: String,
    /// Its number, counted on over all files that are there. Falls when older files are pruned.
    pub number: u64,
    /// The record.
    pub record: Value,
}

/// A part of what fits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Newest first.
    pub hits: Vec<Hit>,
    /// So many records fit in all.
    pub total: u64,
    /// So many lines of the log are no records.
    pub unreadable: u64,
}

/// Where the records are that fit one question.
#[derive(Debug)]
pub struct Index {
    log: PathBuf,
    /// Oldest first.
    files: Vec<Indexed>,
}

/// What is known of one file.
#[derive(Debug)]
struct Indexed {
    head: Vec<u8>,
    name: String,
    /// Read up to here; always behind a line end.
    scanned: u64,
    /// Records up to there, and lines that are none.
    records: u64,
    unreadable: u64,
    /// Where the lines begin that fit.
    offsets: Vec<u64>,
}

impl Index {
    /// Begins without knowing anything.
    #[must_use]
    pub fn new(paths: &AuditPaths) -> Self {
        Self { log: paths.log.clone(), files: Vec::new() }
    }

    /// Reads what is new and returns a part of what fits. `fits` must ask the same question every time. The records are
    /// those that were there when this began, also when the log is rotated meanwhile.
    ///
    /// # Errors
    /// When a file that is there cannot be read.
    pub fn page(&mut self, fits: &dyn Fn(&Glance<'_>) -> bool, skip: u64, limit: usize) -> io::Result<Page> {
        let mut opened = self.update(fits)?;
        let (mut hits, changed) = self.read(&mut opened, skip, limit)?;
        if changed {
            // Somebody wrote into what was read before: what is known of it is worthless.
            self.files.clear();
            opened = self.update(fits)?;
            hits = self.read(&mut opened, skip, limit)?.0;
        }
        let total = self.files.iter().map(|file| file.offsets.len() as u64).sum();
        Ok(Page { hits, total, unreadable: self.files.iter().map(|file| file.unreadable).sum() })
    }

    /// Brings the index in line with the files, and returns them open, in the same order.
    fn update(&mut self, fits: &dyn Fn(&Glance<'_>) -> bool) -> io::Result<Vec<File>> {
        let mut known = std::mem::take(&mut self.files);
        let mut opened = Vec::new();
        for (head, mut file) in open_all(&self.log)? {
            let at = known.iter().position(|one| one.head == head);
            let mut one = match at.map(|at| known.swap_remove(at)) {
                Some(one) if one.scanned <= file.metadata()?.len() => one,
                Some(_) | None => Indexed::new(head, &mut file)?,
            };
            one.scan(&mut file, fits)?;
            self.files.push(one);
            opened.push(file);
        }
        Ok(opened)
    }

    /// Reads the records of one page; true when one of them is no longer where it was.
    fn read(&self, opened: &mut [File], skip: u64, limit: usize) -> io::Result<(Vec<Hit>, bool)> {
        let mut skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mut before: u64 = self.files.iter().map(Indexed::lines).sum();
        let (mut hits, mut changed) = (Vec::new(), false);
        for (one, file) in self.files.iter().zip(opened).rev() {
            before -= one.lines();
            let from = skip.min(one.offsets.len());
            skip -= from;
            for offset in one.offsets.iter().rev().skip(from).take(limit - hits.len()) {
                let record = read_line(file, *offset)?.and_then(|line| serde_json::from_slice::<Value>(&line).ok());
                let Some(record) = record.filter(Value::is_object) else {
                    changed = true;
                    continue;
                };
                let seq = record.get("seq").and_then(Value::as_u64).unwrap_or(0);
                hits.push(Hit { file: one.name.clone(), number: before + seq, record });
            }
        }
        Ok((hits, changed))
    }
}

impl Indexed {
    fn new(head: Vec<u8>, file: &mut File) -> io::Result<Self> {
        let name = stable_name(file, &head)?;
        Ok(Self { head, name, scanned: 0, records: 0, unreadable: 0, offsets: Vec::new() })
    }

    fn lines(&self) -> u64 {
        self.records + self.unreadable
    }

    /// Reads what was added, up to the last line end: what stands behind it is torn, or being written now.
    fn scan(&mut self, file: &mut File, fits: &dyn Fn(&Glance<'_>) -> bool) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.scanned))?;
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line)? as u64;
            let whole = line.last() == Some(&b'\n');
            if !whole && read < LINE_LIMIT {
                return Ok(());
            }
            match serde_json::from_slice::<Glance<'_>>(&line) {
                Ok(glance) => {
                    self.records += 1;
                    if fits(&glance) {
                        self.offsets.push(self.scanned);
                    }
                }
                Err(_) => self.unreadable += 1,
            }
            self.scanned += read;
        }
    }
}

/// Finds the record with this number, in the file of this stable name or else in the newest file that has one.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn find(paths: &AuditPaths, seq: u64, file: Option<&str>) -> io::Result<Option<Hit>> {
    #[derive(Deserialize)]
    struct Number {
        seq: u64,
    }
    let mut before = 0;
    let mut found = None;
    for (head, mut opened) in open_all(&paths.log)? {
        let name = stable_name(&mut opened, &head)?;
        opened.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::with_capacity(256 * 1024, opened);
        let (mut line, mut lines) = (Vec::new(), 0);
        while {
            line.clear();
            (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line)? > 0
        } {
            lines += 1;
            let Ok(number) = serde_json::from_slice::<Number>(&line) else { continue };
            if number.seq == seq && file.is_none_or(|wanted| wanted == name) {
                let record = serde_json::from_slice(&line).map_err(io::Error::other)?;
                found = Some(Hit { file: name.clone(), number: before + seq, record });
            }
        }
        before += lines;
    }
    Ok(found)
}

/// Opens every file of the log that holds something, oldest first, each with its head. The current one is opened before
/// the others are looked for: when it is rotated in between, it is there twice and not missing.
fn open_all(log: &Path) -> io::Result<Vec<(Vec<u8>, File)>> {
    let current = open(log)?;
    let mut all: Vec<(Vec<u8>, File)> = Vec::new();
    for path in files::older(log)? {
        all.extend(open(&path)?.filter(|(head, _)| all.iter().all(|(other, _)| other != head)));
    }
    all.extend(current.filter(|(head, _)| all.iter().all(|(other, _)| other != head)));
    Ok(all)
}

/// Opens one file; none when it is gone or holds no whole line yet.
fn open(path: &Path) -> io::Result<Option<(Vec<u8>, File)>> {
    let mut file = match files::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err),
    };
    let mut head = Vec::new();
    (&mut file).take(HEAD_BYTES).read_to_end(&mut head)?;
    match head.iter().position(|byte| *byte == b'\n') {
        Some(end) => head.truncate(end + 1),
        None if (head.len() as u64) < HEAD_BYTES => return Ok(None),
        None => {}
    }
    Ok(Some((head, file)))
}

/// Returns the id that the first record gives its file; the MAC of that record where another client wrote it.
fn stable_name(file: &mut File, head: &[u8]) -> io::Result<String> {
    let first = read_line(file, 0)?.as_deref().and_then(files::record);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let named = first.as_ref().and_then(|first| {
        text(files::opened(first).and_then(|facts| facts.get("file_id"))).or_else(|| text(first.get("hmac")))
    });
    Ok(named.unwrap_or_else(|| drawbridge_core::hex::encode(&head[..head.len().min(16)])))
}

/// Reads the line that begins at an offset; none when it is not whole.
fn read_line(file: &mut File, offset: u64) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut line = Vec::new();
    BufReader::with_capacity(2 * 1024, file).take(LINE_LIMIT).read_until(b'\n', &mut line)?;
    Ok((line.last() == Some(&b'\n')).then_some(line))
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
