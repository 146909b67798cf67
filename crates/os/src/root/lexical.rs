//! The lexical stage: from the text of a peer to a list of components below the root (spec 7.3).
//!
//! It never decides containment. It refuses shapes that cannot be right, and it finds out which part of an absolute path
//! names the root; the walk from the root handle decides about the rest, `..` included.

use std::ffi::OsString;

use drawbridge_core::{BadPathReason, RefusalReason};

use super::fault::PathFault;

/// The longest path taken, in bytes, measured as written (spec 7.1).
const PATH_LIMIT_BYTES: usize = if cfg!(target_os = "macos") { 1024 } else { 4096 };

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Component {
    /// `..`
    Parent,
    /// Anything else than `.` and `..`; never empty, without `/` and NUL.
    Name(OsString),
}

/// What the lexical stage knows about the root.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Absolute spellings of the root without a slash at the end.
    pub spellings: &'a [String],
    /// What `~` stands for.
    pub home: Option<&'a str>,
}

/// Turns a path into components below the root.
///
/// # Errors
/// [`PathFault::BadPath`] for NUL and for paths that are too long, [`PathFault::Refused`] for absolute paths that do not
/// start with a spelling of the root.
pub fn lexical(raw: &str, rules: &Rules<'_>) -> Result<Vec<Component>, PathFault> {
    let expanded = shape(raw, rules)?;
    if !expanded.starts_with('/') {
        return Ok(components(&expanded));
    }
    below_spelling(&expanded, rules.spellings).ok_or(PathFault::Refused(RefusalReason::Outside))
}

/// Checks the shape and expands a leading `~`.
pub(super) fn shape(raw: &str, rules: &Rules<'_>) -> Result<String, PathFault> {
    if raw.contains('\0') {
        return Err(PathFault::BadPath(BadPathReason::Characters));
    }
    if raw.len() > PATH_LIMIT_BYTES {
        return Err(PathFault::BadPath(BadPathReason::TooLong));
    }
    let rest = match raw.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        _ => return Ok(raw.to_owned()),
    };
    match rules.home {
        Some(home) => Ok(format!("{home}{rest}")),
        None => Err(PathFault::Refused(RefusalReason::Outside)),
    }
}

/// Returns what follows the root in an absolute path, if the path starts with one of the spellings.
pub(super) fn below_spelling(absolute: &str, spellings: &[String]) -> Option<Vec<Component>> {
    let parts: Vec<&str> = parts(absolute).collect();
    spellings.iter().find_map(|spelling| {
        let mut rest = parts.iter();
        for expected in self::parts(spelling) {
            if rest.next() != Some(&expected) {
                return None;
            }
        }
        Some(rest.map(|part| component(part)).collect())
    })
}

/// Splits a relative path into components.
pub(super) fn components(relative: &str) -> Vec<Component> {
    parts(relative).map(component).collect()
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

fn component(part: &str) -> Component {
    if part == ".." { Component::Parent } else { Component::Name(OsString::from(part)) }
}

#[cfg(test)]
#[path = "lexical_tests.rs"]
mod tests;
