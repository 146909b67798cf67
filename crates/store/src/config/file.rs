//! Reads `config.toml` key by key, so that each fault can name its line.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use drawbridge_os::private;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, Key, Raw};
use super::{Config, ConfigError, FILE_NAME, Origin};

/// More than anybody writes by hand; keeps a wrong file from filling the memory.
const MOST_BYTES: u64 = 1024 * 1024;

/// Puts the file over `config`. Of several faults the one that stands first in the file is told.
pub(super) fn apply(
    dir: &Path,
    config: &mut Config,
    origins: &mut BTreeMap<String, Origin>,
) -> Result<(), ConfigError> {
    let path = dir.join(FILE_NAME);
    let text = match read(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(()),
        Err(error) => return Err(ConfigError::Unreadable { path, error }),
    };
    for key in take(&path, &text, KEYS, config)? {
        origins.insert(key, Origin::File);
    }
    if let Some(roots) = &mut config.tls.extra_roots {
        // A configuration folder that was copied elsewhere goes on working.
        let absolute = dir.join(&*roots);
        *roots = std::path::absolute(&absolute).unwrap_or(absolute);
    }
    Ok(())
}

/// Takes the keys of a text into `into` and returns the names of those that it sets. Of several faults the one that stands
/// first is told.
///
/// # Errors
/// What is wrong with the text, with the path and the line.
pub(crate) fn take<T, K: AsRef<Key<T>>>(
    path: &Path,
    text: &str,
    keys: &[K],
    into: &mut T,
) -> Result<Vec<String>, ConfigError> {
    let path = path.to_owned();
    let table = DeTable::parse(text).map_err(|err| {
        let line = line_of(text, err.span().map_or(0, |span| span.start));
        ConfigError::Syntax { path: path.clone(), line, why: syntax(err.message()) }
    })?;
    let keys: Vec<&Key<T>> = keys.iter().map(AsRef::as_ref).collect();
    let mut reader = Reader { keys: &keys, into, set: Vec::new(), faults: Vec::new() };
    reader.table("", table.get_ref());
    let Reader { set, mut faults, .. } = reader;
    faults.sort_by_key(|fault| fault.at);
    let Some(Fault { at, key, what }) = faults.into_iter().next() else { return Ok(set) };
    let line = line_of(text, at);
    Err(match what {
        What::Unknown(nearest) => ConfigError::UnknownKey { path, line, key, nearest },
        What::Wrong(why) => ConfigError::FileValue { path, line, key, why },
    })
}

fn read(path: &Path) -> std::io::Result<Option<String>> {
    // Never waits for a pipe; a link of the person's own is followed.
    let file = match private::open_regular(path, std::fs::File::options().read(true), private::Links::Followed) {
        Ok(file) => file,
        // A link that leads nowhere is a configuration that went missing, not one that nobody wrote.
        Err(err) if err.kind() == std::io::ErrorKind::NotFound && path.symlink_metadata().is_err() => return Ok(None),
        Err(err) => return Err(err),
    };
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    Ok(Some(text))
}

/// The parser's reasons name what it expected; none of them repeats the text of the file.
fn syntax(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

struct Fault {
    at: usize,
    key: String,
    what: What,
}

enum What {
    Unknown(&'static str),
    Wrong(String),
}

struct Reader<'a, T> {
    keys: &'a [&'a Key<T>],
    into: &'a mut T,
    set: Vec<String>,
    faults: Vec<Fault>,
}

impl<T> Reader<'_, T> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let at = key.span().start;
            if let Some(known) = self.keys.iter().find(|known| known.name == name) {
                match (known.set)(self.into, &raw(value.get_ref())) {
                    Ok(()) => self.set.push(name),
                    Err(why) => self.fault(at, &value.span(), name, why),
                }
                continue;
            }
            let inner = format!("{name}.");
            let is_table = prefix.is_empty() && self.keys.iter().any(|known| known.name.starts_with(&inner));
            match value.get_ref() {
                DeValue::Table(table) if is_table => self.table(&inner, table),
                _ if is_table => self.fault(at, &value.span(), name.clone(), format!("must be a table: [{name}]")),
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => {
                    let nearest = nearest(self.keys, &name);
                    self.faults.push(Fault { at, key: name, what: What::Unknown(nearest) });
                }
            }
        }
    }

    fn fault(&mut self, at: usize, value: &Range<usize>, key: String, why: String) {
        // The value's own place, where it has one: a table header may stand far from it.
        let at = if value.start > at { value.start } else { at };
        self.faults.push(Fault { at, key, what: What::Wrong(why) });
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or(Raw::Other, Raw::Whole),
        DeValue::Float(number) => number.as_str().parse().map_or(Raw::Other, Raw::Fraction),
        DeValue::Boolean(on) => Raw::Switch(*on),
        DeValue::Array(list) => Raw::List(list.iter().map(|one: &Spanned<DeValue<'_>>| raw(one.get_ref())).collect()),
        DeValue::Datetime(_) | DeValue::Table(_) => Raw::Other,
    }
}

/// Finds the key that was most likely meant: by its whole name, by its name in a wrong table, or by its table alone.
fn nearest<T>(keys: &[&Key<T>], name: &str) -> &'static str {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let near = |known: &&&Key<T>| {
        let other_table = distance(&last(name), &last(known.name)) + 1;
        let table = known.name.split_once('.').map_or(usize::MAX, |(table, _)| distance(name, table));
        // Of keys that are as near, one of the table that was written is meant.
        let elsewhere = table_of(name) != table_of(known.name);
        (distance(name, known.name).min(other_table).min(table), elsewhere)
    };
    keys.iter().min_by_key(near).map_or("", |known| known.name)
}

fn table_of(name: &str) -> &str {
    name.split_once('.').map_or("", |(table, _)| table)
}

/// Number of letters to put in, take out or exchange.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let exchanged = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
