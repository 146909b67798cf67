//! Spellings of Windows paths, as a pure function that every system tests (spec 7.1, FB-10).
//!
//! It only says which texts are refused before the disk is touched; where a path leads is decided by handles.

use drawbridge_core::BadPathReason;

use super::fault::PathFault;

/// The longest path, in UTF-16 units.
const PATH_LIMIT_UNITS: usize = 32_767;

/// What a Windows path starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefix {
    /// Relative to the root.
    None,
    /// A drive, upper case, followed by a separator.
    Drive(char),
    /// A share of another machine, both lower case.
    Share {
        /// The machine.
        server: String,
        /// The share.
        share: String,
    },
}

/// A path whose shape is fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// How it starts.
    pub prefix: Prefix,
    /// What follows, `.` dropped, `..` kept for the walk.
    pub components: Vec<String>,
}

/// Checks the shape of a Windows path.
///
/// # Errors
/// [`PathFault::BadPath`] and [`PathFault::ReservedName`]; [`PathFault::Refused`] for hidden administrative shares and
/// for this machine under its network names.
pub fn classify(raw: &str) -> Result<Shape, PathFault> {
    if raw.encode_utf16().count() > PATH_LIMIT_UNITS {
        return Err(PathFault::BadPath(BadPathReason::TooLong));
    }
    let path = raw.replace('/', "\\");
    let (prefix, rest) = split_prefix(&path)?;
    let mut components = Vec::new();
    for part in rest.split('\\').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            check_component(part)?;
        }
        components.push(part.to_owned());
    }
    Ok(Shape { prefix, components })
}

fn split_prefix(path: &str) -> Result<(Prefix, &str), PathFault> {
    let stream = PathFault::BadPath(BadPathReason::Stream);
    if path.starts_with("\\??\\") || path.starts_with("\\\\.\\") {
        return Err(stream);
    }
    if let Some(verbatim) = path.strip_prefix("\\\\?\\") {
        if let Some(unc) = strip_ignoring_case(verbatim, "UNC\\") {
            return share(unc);
        }
        // A verbatim path has no `.` and `..`, so one that spells them means something else than it seems.
        if verbatim.split('\\').any(|part| part == ".." || part == ".") {
            return Err(PathFault::BadPath(BadPathReason::Unresolvable));
        }
        return match drive(verbatim) {
            Some((letter, rest)) if rest.starts_with('\\') => Ok((Prefix::Drive(letter), rest)),
            _ => Err(stream),
        };
    }
    if let Some(unc) = path.strip_prefix("\\\\") {
        return share(unc);
    }
    match drive(path) {
        Some((letter, rest)) if rest.starts_with('\\') => Ok((Prefix::Drive(letter), rest)),
        // Relative to a folder that another program chose.
        Some(_) => Err(PathFault::BadPath(BadPathReason::Unresolvable)),
        None if path.starts_with('\\') => Err(PathFault::BadPath(BadPathReason::Unresolvable)),
        None => Ok((Prefix::None, path)),
    }
}

fn share(unc: &str) -> Result<(Prefix, &str), PathFault> {
    let outside = PathFault::Refused(drawbridge_core::RefusalReason::Outside);
    let (server, rest) = unc.split_once('\\').ok_or_else(|| outside.clone())?;
    let (share, rest) = rest.split_once('\\').unwrap_or((rest, ""));
    let server = server.to_lowercase();
    let local = server == "localhost"
        || server.starts_with("127.")
        || server == "::1"
        || server.starts_with("0--1")
        || server.contains('@')
        || matches!(server.as_str(), "" | "." | "?");
    if local || share.is_empty() || share.ends_with('$') {
        return Err(outside);
    }
    check_component(&server)?;
    check_component(share)?;
    Ok((Prefix::Share { server, share: share.to_lowercase() }, rest))
}

fn drive(path: &str) -> Option<(char, &str)> {
    let mut chars = path.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    (chars.next() == Some(':')).then(|| (letter.to_ascii_uppercase(), chars.as_str()))
}

fn strip_ignoring_case<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start).then_some(rest)
}

fn check_component(part: &str) -> Result<(), PathFault> {
    if part.contains(':') {
        return Err(PathFault::BadPath(BadPathReason::Stream));
    }
    if part.chars().any(|c| c < ' ' || matches!(c, '<' | '>' | '"' | '|' | '?' | '*')) {
        return Err(PathFault::BadPath(BadPathReason::Characters));
    }
    let stem = part.split('.').next().unwrap_or(part).trim_end_matches([' ', '.']);
    if is_device(stem) {
        return Err(PathFault::ReservedName);
    }
    if part.ends_with([' ', '.']) {
        return Err(PathFault::BadPath(BadPathReason::Characters));
    }
    Ok(())
}

fn is_device(stem: &str) -> bool {
    let upper = stem.to_uppercase();
    if matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    ["COM", "LPT"].iter().any(|port| {
        upper.strip_prefix(port).is_some_and(|number| {
            let mut chars = number.chars();
            matches!((chars.next(), chars.next()), (Some('1'..='9' | '¹' | '²' | '³'), None))
        })
    })
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
