//! "Always allow" for one command: a resolved program and a pattern of its words (DESIGN §4). Never a text prefix.
//!
//! A rule says nothing about what the program does: it may read files that change its behaviour. It holds for the program at
//! this path, whatever is installed there later.

use drawbridge_core::{CommandOp, WallMs, escape_outside_text};

use crate::programs::{Programs, may_loosen};
use crate::rules::Origin;
use crate::segments::{Segment, segments};

/// Rules that are kept at most.
pub const MAX_RULES: usize = 500;
/// Words of one rule.
pub const MAX_RULE_WORDS: usize = 100;
/// Bytes of one word of a rule, and of its program.
pub const MAX_RULE_WORD_BYTES: usize = 4096;
/// How [`WordPattern::Any`] is written and shown.
pub const ANY_WORD: &str = "*";

/// One command that is always allowed where the shell power asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRule {
    /// Names the rule, for removing it and for the audit log. Never used again.
    pub id: String,
    /// The absolute path that the first word resolved to when the rule was made.
    pub program: String,
    /// The words after the program.
    pub words: Vec<WordPattern>,
    /// Any further words may follow.
    pub any_more: bool,
    /// Where it came from.
    pub origin: Origin,
    /// When it was made, Unix milliseconds.
    pub at_ms: i64,
}

/// What one word of a command must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPattern {
    /// Exactly this.
    Exactly(String),
    /// Any one word.
    Any,
}

impl WordPattern {
    /// Reads a word as a person writes it: `*` alone is any one word.
    #[must_use]
    pub fn from_shown(word: &str) -> Self {
        if word == ANY_WORD { Self::Any } else { Self::Exactly(word.to_owned()) }
    }

    /// Returns the word as it is written and shown.
    #[must_use]
    pub fn shown(&self) -> &str {
        match self {
            Self::Exactly(word) => word,
            Self::Any => ANY_WORD,
        }
    }

    fn fits(&self, word: &str) -> bool {
        match self {
            Self::Exactly(exactly) => exactly == word,
            Self::Any => true,
        }
    }
}

/// What is wrong with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// The program is no absolute path.
    #[error("the program of a rule must be a whole path")]
    Program,
    /// Too many words.
    #[error("a rule has at most {MAX_RULE_WORDS} words")]
    TooManyWords,
    /// A word is too long.
    #[error("a word of a rule has at most {MAX_RULE_WORD_BYTES} bytes")]
    WordTooLong,
    /// A word holds characters that cannot be shown as they are.
    #[error("a rule cannot hold control characters or characters that nobody can see")]
    Unshowable,
    /// An open word for a program that runs others.
    #[error(
        "this program can run other programs that its words name, so a rule for it must fix every word: an open word would allow everything"
    )]
    Runner,
}

impl CommandRule {
    /// Checks what a rule may be.
    ///
    /// # Errors
    /// [`RuleFault`] says what is wrong.
    pub fn check(&self) -> Result<(), RuleFault> {
        let whole = std::path::Path::new(&self.program).is_absolute();
        if !whole || self.program.len() > MAX_RULE_WORD_BYTES {
            return Err(RuleFault::Program);
        }
        if self.words.len() > MAX_RULE_WORDS {
            return Err(RuleFault::TooManyWords);
        }
        for text in self.words.iter().map(WordPattern::shown).chain([self.program.as_str()]) {
            if text.len() > MAX_RULE_WORD_BYTES {
                return Err(RuleFault::WordTooLong);
            }
            if escape_outside_text(text) != text {
                return Err(RuleFault::Unshowable);
            }
        }
        // An exact `*` would be shown like an open word.
        if self.words.contains(&WordPattern::Exactly(ANY_WORD.to_owned())) {
            return Err(RuleFault::Unshowable);
        }
        if self.is_open() && !may_loosen(&self.program) {
            return Err(RuleFault::Runner);
        }
        Ok(())
    }

    /// Returns the name of the rule with this number.
    #[must_use]
    pub fn name(number: u64) -> String {
        format!("r-{number}")
    }

    /// Returns the number in the name of a rule; none when it is no such name.
    #[must_use]
    pub fn number(name: &str) -> Option<u64> {
        let number = name.strip_prefix("r-")?.parse().ok()?;
        (Self::name(number) == name).then_some(number)
    }

    /// Tells whether it leaves any word open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.any_more || self.words.contains(&WordPattern::Any)
    }

    /// Returns the rule that "Always allow" would make of a command: its program with exactly its words. None for a command of
    /// several segments, one with variables of its own, one that cannot be taken apart or shown whole, or an unknown program.
    #[must_use]
    pub fn offer(op: &CommandOp, programs: &Programs, now: WallMs, id: &str) -> Option<Self> {
        if !op.env.is_empty() || !programs.fit(&op.line) {
            return None;
        }
        let segments = segments(op).ok()?;
        let ([segment], [Some(program)]) = (segments.as_slice(), programs.words()) else { return None };
        let words = segment.words().iter().cloned().map(WordPattern::Exactly).collect();
        let rule = Self {
            id: id.to_owned(),
            program: program.clone(),
            words,
            any_more: false,
            origin: Origin::Answered,
            at_ms: now.0,
        };
        rule.check().is_ok().then_some(rule)
    }

    /// Tells whether two rules allow the same.
    #[must_use]
    pub fn allows_the_same(&self, other: &Self) -> bool {
        (&self.program, &self.words, self.any_more) == (&other.program, &other.words, other.any_more)
    }

    fn fits(&self, program: &str, segment: &Segment) -> bool {
        let words = segment.words();
        let length = if self.any_more { words.len() >= self.words.len() } else { words.len() == self.words.len() };
        self.program == program
            && length
            && self.words.iter().zip(words).all(|(pattern, word)| pattern.fits(word))
            && self.check().is_ok()
    }
}

/// Finds the rules that together allow a command; none when any part of it is allowed by no rule.
pub(crate) fn allowing<'a>(
    rules: &'a [CommandRule],
    op: &CommandOp,
    programs: &Programs,
) -> Option<Vec<&'a CommandRule>> {
    if rules.is_empty() || !op.env.is_empty() || !programs.fit(&op.line) {
        return None;
    }
    let segments = segments(op).ok()?;
    if segments.is_empty() || segments.len() != programs.words().len() {
        return None;
    }
    let found = |(segment, program): (&Segment, &Option<String>)| {
        let program = program.as_deref()?;
        rules.iter().find(|rule| rule.fits(program, segment))
    };
    segments.iter().zip(programs.words()).map(found).collect()
}

#[cfg(test)]
#[path = "command_rule_tests.rs"]
mod tests;
