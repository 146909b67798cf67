//! What a check of the log found, as the command line and the window tell it.

use std::path::Path;

use super::files;

/// What kind of fault was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A line is no JSON object.
    ParseError,
    /// A record lacks a field.
    MissingField,
    /// A record was changed.
    HmacMismatch,
    /// A record does not follow the one before.
    ChainBreak,
    /// A number is missing or there twice.
    SequenceGap,
    /// The file ends inside a line, or is not there.
    Truncated,
    /// The log ends before what the head says.
    HeadMismatch,
    /// A file that another one names is gone.
    MissingFile,
    /// Files stand in another order, or one does not belong.
    FileOrder,
    /// The writer itself noticed something when it opened the log.
    Suspect,
}

impl FindingKind {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ParseError => "parse_error",
            Self::MissingField => "missing_field",
            Self::HmacMismatch => "hmac_mismatch",
            Self::ChainBreak => "chain_break",
            Self::SequenceGap => "sequence_gap",
            Self::Truncated => "truncated",
            Self::HeadMismatch => "head_mismatch",
            Self::MissingFile => "missing_file",
            Self::FileOrder => "file_order",
            Self::Suspect => "suspect",
        }
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// Name of the file.
    pub file: String,
    /// The line, from 1; none when it is about the file.
    pub line: Option<u64>,
    /// In words.
    pub words: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.words)
    }
}

/// What was checked of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Name of the file.
    pub file: String,
    /// Records that were read.
    pub records: u64,
    /// Of these, records that only the older way of writing numbers reproduces.
    pub older_rule: u64,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The files, oldest first.
    pub files: Vec<FileReport>,
    /// What is wrong. Empty means sound.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Tells whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn note(&mut self, kind: FindingKind, file: &Path, line: Option<u64>, words: impl Into<String>) {
        self.findings.push(Finding { kind, file: files::name(file), line, words: words.into() });
    }
}
