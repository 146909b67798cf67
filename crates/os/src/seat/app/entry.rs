//! Desktop entries, as far as starting a program needs them. Deliberately absent: translations of names, actions, types of files.

use std::path::{Path, PathBuf};

/// A larger file is no desktop entry.
pub(super) const MAX_ENTRY_BYTES: u64 = 256 * 1024;

/// What stands in a desktop entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// The command as words, field codes still in it.
    pub(super) exec: Vec<Word>,
    pub(super) try_exec: Option<String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) icon: Option<String>,
    pub(super) window_class: Option<String>,
    pub(super) in_terminal: bool,
    /// Menus do not show it.
    pub(super) hidden: bool,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// As it is, with single codes in it left in place.
    Text(String),
    /// All files or addresses, one a word: `%F`, `%U`, and the ones for a single one.
    Files,
    /// `--icon` and the name of the icon.
    Icon,
}

/// Reads a desktop entry; none when it is no application, is marked as deleted, or cannot be started.
pub(super) fn read(text: &str) -> Option<Entry> {
    let value = |key: &str| values(text).find(|(name, _)| *name == key).map(|(_, value)| unescaped(value));
    let is = |key: &str| value(key).is_some_and(|value| value == "true");
    if value("Type").is_some_and(|kind| kind != "Application") || is("Hidden") {
        return None;
    }
    Some(Entry {
        name: value("Name")?,
        exec: words(&value("Exec").unwrap_or_default())?,
        try_exec: value("TryExec").filter(|program| !program.is_empty()),
        folder: value("Path").filter(|path| !path.is_empty()).map(PathBuf::from),
        icon: value("Icon").filter(|icon| !icon.is_empty()),
        window_class: value("StartupWMClass").filter(|class| !class.is_empty()),
        in_terminal: is("Terminal"),
        hidden: is("NoDisplay"),
    })
}

/// The pairs of the group `[Desktop Entry]`.
fn values(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .map(str::trim)
        .skip_while(|line| *line != "[Desktop Entry]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim_end(), value.trim_start()))
}

/// The escapes that every text of a desktop entry has.
fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('s') => out.push(' '),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

/// Splits a command into words by its quotes. None when a quote is not closed: nobody can know what is meant then.
fn words(exec: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut letters = exec.chars().peekable();
    loop {
        while letters.next_if(|letter| *letter == ' ' || *letter == '\t').is_some() {}
        if letters.peek().is_none() {
            return Some(words);
        }
        let (mut text, mut quoted) = (String::new(), false);
        while let Some(letter) = letters.next_if(|letter| *letter != ' ' && *letter != '\t') {
            match letter {
                '"' => {
                    quoted = true;
                    loop {
                        match letters.next()? {
                            '"' => break,
                            '\\' => text.push(letters.next()?),
                            inside => text.push(inside),
                        }
                    }
                }
                // Outside of quotes it should not stand, and does.
                '\\' => text.push(letters.next()?),
                other => text.push(other),
            }
        }
        words.push(match &*text {
            "%f" | "%F" | "%u" | "%U" if !quoted => Word::Files,
            "%i" if !quoted => Word::Icon,
            _ => Word::Text(text),
        });
    }
}

/// Returns the words that start a program: codes replaced, and the arguments where its files go, or at the end.
pub(super) fn command(entry: &Entry, file: &Path, args: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut given = false;
    for word in &entry.exec {
        match word {
            Word::Files => {
                // A second place for files would give the program everything twice.
                if !std::mem::replace(&mut given, true) {
                    out.extend(args.iter().cloned());
                }
            }
            Word::Icon => {
                if let Some(icon) = &entry.icon {
                    out.extend(["--icon".to_owned(), icon.clone()]);
                }
            }
            Word::Text(text) => out.extend(expanded(text, entry, file)),
        }
    }
    if !given {
        out.extend(args.iter().cloned());
    }
    out
}

/// Replaces the codes inside a word; none when nothing is left of a word that was a code alone.
fn expanded(text: &str, entry: &Entry, file: &Path) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('%') => out.push('%'),
            Some('c') => out.push_str(&entry.name),
            Some('k') => out.push_str(&file.to_string_lossy()),
            // Codes of old, and files in the middle of a word, stand for nothing.
            Some('f' | 'F' | 'u' | 'U' | 'i' | 'd' | 'D' | 'n' | 'N' | 'v' | 'm') | None => {}
            Some(other) => out.extend(['%', other]),
        }
    }
    (!out.is_empty() || text.chars().count() != 2).then_some(out)
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
