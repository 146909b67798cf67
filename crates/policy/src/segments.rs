//! Takes a command apart into segments: what each program of it is told, word by word (DESIGN §4).
//!
//! A segment is only worth something when no shell can read the text in another way. So everything that a shell might act
//! on beyond words, quotes and the plain separators makes the whole text unreadable here, and nothing is guessed.

use drawbridge_core::{CommandLine, CommandOp, ShellKind};

/// Segments of one command.
const MAX_SEGMENTS: usize = 32;
/// Bytes of one command.
const MAX_BYTES: usize = 32 * 1024;

/// Words that mean something else than a program when they come first. Quoting takes that from some of them; they are
/// refused all the same. Missing on purpose, since they do what the programs of the same name do: echo, true, false, pwd.
#[rustfmt::skip]
const NOT_PROGRAMS: &[&str] = &[
    // Reserved words.
    "if", "then", "elif", "else", "fi", "for", "foreach", "while", "until", "repeat", "do", "done", "case", "esac", "in",
    "select", "function", "time", "coproc", "end", "always", "nocorrect",
    // Builtins that run, read or change something in the shell itself.
    "eval", "exec", "source", "command", "builtin", "alias", "unalias", "trap", "export", "declare", "typeset",
    "local", "readonly", "integer", "float", "set", "unset", "setopt", "unsetopt", "shopt", "emulate", "enable", "disable",
    "hash", "rehash", "type", "whence", "where", "which", "cd", "chdir", "pushd", "popd", "dirs", "read", "readarray",
    "mapfile", "printf", "print", "test", "let", "getopts", "shift", "break", "continue", "return", "exit", "logout",
    "bye", "wait", "jobs", "fg", "bg", "kill", "disown", "suspend", "ulimit", "limit", "unlimit", "umask", "times",
    "history", "fc", "r", "bind", "bindkey", "caller", "compgen", "complete", "compopt", "help", "autoload", "functions",
    "noglob", "sched", "zmodload", "zle", "zstyle", "zparseopts", "zformat", "zregexparse", "zcompile", "zsocket",
    "ztcp", "zselect", "zftp", "zpty", "vared", "pushln", "getln", "log", "private", "nameref",
    "compadd", "comparguments", "compcall", "compctl", "compdescribe", "compfiles", "compgroups", "compquote", "comptags",
    "comptry", "compvalues", "compset", "echotc", "echoti", "ttyctl", "unhash", "unfunction",
    "sysopen", "sysread", "sysseek", "syswrite", "syserror", "zsystem", "newgrp",
];

/// One program with its words, as it will see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    program: String,
    words: Vec<String>,
}

impl Segment {
    /// Returns the program as it was written.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the words after the program.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }
}

/// Why a command cannot be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The shell's grammar is not known here.
    #[error("the commands of this shell cannot be told apart")]
    Shell,
    /// Longer than 32 KiB or more than 32 segments.
    #[error("it is too long")]
    TooLong,
    /// There is no program, or none where one belongs.
    #[error("a program is missing in it")]
    Empty,
    /// A quote has no end, or a backslash stands where shells disagree.
    #[error("its quotes cannot be told for certain")]
    Quotes,
    /// A character that a shell may act on.
    #[error("a shell would do more with it than pass words to programs")]
    Special,
    /// The first word is no program: a reserved word, a builtin, an assignment, an option.
    #[error("a part of it is carried out by the shell itself")]
    NotAProgram,
    /// A control character.
    #[error("it holds control characters")]
    Control,
}

/// Takes a command apart. A list of words is one segment; a text is split at `;`, `&&`, `||`, `|` and line feeds.
///
/// # Errors
/// [`Unreadable`] when any shell could see more in it, or something else.
pub fn segments(op: &CommandOp) -> Result<Vec<Segment>, Unreadable> {
    match &op.line {
        CommandLine::Argv(words) => literal(words).map(|segment| vec![segment]),
        CommandLine::Shell { command, shell } => match shell {
            ShellKind::Auto | ShellKind::Bash | ShellKind::Sh | ShellKind::Zsh => text(command),
            ShellKind::Pwsh | ShellKind::PowerShell | ShellKind::Cmd => Err(Unreadable::Shell),
        },
    }
}

fn literal(words: &[String]) -> Result<Segment, Unreadable> {
    if words.iter().map(String::len).sum::<usize>() > MAX_BYTES {
        return Err(Unreadable::TooLong);
    }
    if words.iter().any(|word| word.chars().any(char::is_control)) {
        return Err(Unreadable::Control);
    }
    match words.split_first() {
        Some((program, words)) if !program.is_empty() => {
            Ok(Segment { program: program.clone(), words: words.to_vec() })
        }
        Some(_) | None => Err(Unreadable::Empty),
    }
}

fn text(command: &str) -> Result<Vec<Segment>, Unreadable> {
    if command.len() > MAX_BYTES {
        return Err(Unreadable::TooLong);
    }
    let mut reader = Reader { rest: command.chars().peekable(), segments: Vec::new(), words: Vec::new(), wanted: true };
    reader.read()?;
    Ok(reader.segments)
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    segments: Vec<Segment>,
    /// Words of the segment that is being read.
    words: Vec<String>,
    /// A segment must follow: at the start and after `&&`, `||` and `|`.
    wanted: bool,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Unreadable> {
        while let Some(next) = self.rest.peek().copied() {
            match next {
                ' ' | '\t' => {
                    self.rest.next();
                }
                ';' | '\n' | '|' | '&' => self.separator()?,
                _ => {
                    let word = self.word()?;
                    self.words.push(word);
                }
            }
        }
        self.end_segment()?;
        if self.wanted { Err(Unreadable::Empty) } else { Ok(()) }
    }

    fn separator(&mut self) -> Result<(), Unreadable> {
        let Some(first) = self.rest.next() else { return Ok(()) };
        let doubled = matches!(first, '|' | '&') && self.rest.next_if_eq(&first).is_some();
        if first == '&' && !doubled {
            // In the background.
            return Err(Unreadable::Special);
        }
        // A line feed may stand alone; before everything else there must be words.
        if self.words.is_empty() && first != '\n' {
            return Err(Unreadable::Empty);
        }
        self.end_segment()?;
        if matches!(first, '|' | '&') {
            self.wanted = true;
        } else if self.wanted && !self.segments.is_empty() {
            // A line feed right after `&&`: shells read on, but nobody writes that who wants to be understood.
            return Err(Unreadable::Empty);
        }
        Ok(())
    }

    fn end_segment(&mut self) -> Result<(), Unreadable> {
        let mut words = std::mem::take(&mut self.words).into_iter();
        let Some(program) = words.next() else { return Ok(()) };
        if self.segments.len() >= MAX_SEGMENTS {
            return Err(Unreadable::TooLong);
        }
        check_program(&program)?;
        self.segments.push(Segment { program, words: words.collect() });
        self.wanted = false;
        Ok(())
    }

    /// Reads one word up to a blank, a separator or the end.
    fn word(&mut self) -> Result<String, Unreadable> {
        let mut word = String::new();
        let mut first = true;
        while let Some(next) = self.rest.next_if(|c| !matches!(c, ' ' | '\t' | ';' | '\n' | '|' | '&')) {
            match next {
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => match self.rest.next() {
                    Some(escaped @ ' '..='~') => word.push(escaped),
                    // A line feed would vanish; beyond ASCII a shell may see another character.
                    Some(_) | None => return Err(Unreadable::Quotes),
                },
                // zsh replaces `=name` at the start of a word.
                '=' if first => return Err(Unreadable::Special),
                plain if is_plain(plain) => word.push(plain),
                c if c.is_control() => return Err(Unreadable::Control),
                _ => return Err(Unreadable::Special),
            }
            first = false;
        }
        Ok(word)
    }

    fn single_quoted(&mut self, word: &mut String) -> Result<(), Unreadable> {
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                Some(c) if c.is_control() => return Err(Unreadable::Control),
                Some(c) => word.push(c),
                None => return Err(Unreadable::Quotes),
            }
        }
    }

    /// Beyond ASCII only single quotes are certain: in some older encodings a backslash is the second half of a letter.
    fn double_quoted(&mut self, word: &mut String) -> Result<(), Unreadable> {
        loop {
            match self.rest.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.rest.next() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                    Some(_) | None => return Err(Unreadable::Quotes),
                },
                Some('$' | '`' | '!') => return Err(Unreadable::Special),
                Some(c @ ' '..='~') => word.push(c),
                Some(c) if c.is_control() => return Err(Unreadable::Control),
                Some(_) => return Err(Unreadable::Special),
                None => return Err(Unreadable::Quotes),
            }
        }
    }
}

/// What stands for itself outside quotes in every shell. A list of what is fine, so that what was not thought of is refused.
const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ',' | ':' | '=' | '+' | '@' | '%')
}

/// The first word must be a program in every shell: no assignment, no builtin, no reserved word, no job, no option.
fn check_program(word: &str) -> Result<(), Unreadable> {
    if word.is_empty() {
        return Err(Unreadable::Empty);
    }
    let odd_start = word.starts_with(['-', '+', '%', ':', '@', '.', '=', '[', '{', '!']) && !is_path(word);
    let not_a_program = NOT_PROGRAMS.contains(&word.to_ascii_lowercase().as_str());
    if odd_start || word.contains('=') || not_a_program {
        return Err(Unreadable::NotAProgram);
    }
    Ok(())
}

fn is_path(word: &str) -> bool {
    word.starts_with("./") || word.starts_with("../") || (word.starts_with('.') && word.contains('/'))
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
