//! Looking at records: one by number, or the newest and what follows. Nothing here waits or checks MACs.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use drawbridge_os::private;
use serde_json::Value;

use super::AuditPaths;
use super::files::{self, LINE_LIMIT};

/// A record that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Name of its file.
    pub file: String,
    /// The record.
    pub record: Value,
}

/// Finds records by number: in the current file first, then in the rotated ones, newest first. Numbers start anew in
/// each file, so there may be several; `file` narrows it down.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn show(paths: &AuditPaths, seq: u64, file: Option<&str>) -> io::Result<Vec<Found>> {
    let mut all = vec![paths.log.clone()];
    all.extend(files::older(&paths.log)?.into_iter().rev());
    let mut found = Vec::new();
    for path in all.iter().filter(|path| file.is_none_or(|wanted| files::name(path) == wanted)) {
        let reader = match files::open(path) {
            Ok(file) => BufReader::with_capacity(256 * 1024, file),
            Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
            Err(err) => return Err(err),
        };
        if let Some(record) = find(reader, seq)? {
            found.push(Found { file: files::name(path), record });
        }
    }
    Ok(found)
}

fn find(mut reader: BufReader<File>, seq: u64) -> io::Result<Option<Value>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let Ok(record) = serde_json::from_slice::<Value>(&line) else { continue };
        if record.get("seq").and_then(Value::as_u64) == Some(seq) {
            return Ok(Some(record));
        }
    }
}

/// The newest records and then whatever is added, across rotation. The caller decides when to look again.
#[derive(Debug)]
pub struct Tail {
    log: PathBuf,
    reader: Option<Open>,
    first: VecDeque<String>,
}

#[derive(Debug)]
struct Open {
    file: BufReader<File>,
    /// None where the system has none.
    id: Option<u64>,
    offset: u64,
    partial: Vec<u8>,
}

impl Tail {
    /// Starts with the newest `count` records of the current file; none means all of them.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn open(paths: &AuditPaths, count: Option<usize>) -> io::Result<Self> {
        let mut tail = Self { log: paths.log.clone(), reader: open(&paths.log)?, first: VecDeque::new() };
        if let Some(reader) = &mut tail.reader {
            while let Some(line) = reader.next_line()? {
                tail.first.push_back(line);
                if count.is_some_and(|count| tail.first.len() > count) {
                    tail.first.pop_front();
                }
            }
        }
        Ok(tail)
    }

    /// Returns the next whole record as its JSON line, without the line end; none when there is nothing new now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_now(&mut self) -> io::Result<Option<String>> {
        if let Some(line) = self.first.pop_front() {
            return Ok(Some(line));
        }
        loop {
            if let Some(reader) = &mut self.reader
                && let Some(line) = reader.next_line()?
            {
                return Ok(Some(line));
            }
            // Everything of this file was read; perhaps another one stands in its place by now.
            let next = open(&self.log)?;
            let is_new = match (&self.reader, &next) {
                (Some(now), Some(next)) => now.id != next.id || next.length()? < now.offset,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if !is_new {
                return Ok(None);
            }
            // What was added between the last look and the rotation is there for good now.
            if let Some(reader) = &mut self.reader
                && let Some(line) = reader.next_line()?
            {
                return Ok(Some(line));
            }
            let following = self.reader.as_ref().and_then(|reader| reader.id);
            self.reader = match following.map(|id| self.after(id)).transpose()?.flatten() {
                Some(between) => Some(between),
                None => next,
            };
        }
    }

    /// Opens the rotated file that came after the one with this id, if another one came between it and the current one.
    fn after(&self, id: u64) -> io::Result<Option<Open>> {
        let mut older = files::older(&self.log)?.into_iter();
        let is_it = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|facts| private::file_id(&facts) == id);
        if older.by_ref().any(|path| is_it(&path)) {
            return older.next().map_or(Ok(None), |path| open(&path));
        }
        Ok(None)
    }
}

fn open(log: &Path) -> io::Result<Option<Open>> {
    match files::open(log) {
        Ok(mut file) => {
            let id = Some(private::file_id(&file.metadata()?)).filter(|id| *id != 0);
            file.seek(SeekFrom::Start(0))?;
            Ok(Some(Open { file: BufReader::new(file), id, offset: 0, partial: Vec::new() }))
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

impl Open {
    fn next_line(&mut self) -> io::Result<Option<String>> {
        let read = (&mut self.file).take(LINE_LIMIT).read_until(b'\n', &mut self.partial)?;
        self.offset += read as u64;
        if self.partial.last() != Some(&b'\n') {
            return Ok(None);
        }
        self.partial.pop();
        Ok(Some(String::from_utf8_lossy(&std::mem::take(&mut self.partial)).into_owned()))
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.get_ref().metadata()?.len())
    }
}
