//! Patterns for base names: `*`, `?`, `[set]`, `[!set]`, and nothing else (spec 8, FILE_LIST).
//!
//! Letters are letters, not bytes, and no other sign has a meaning. Matching takes time in proportion to pattern times
//! name, whatever the pattern.

use std::ffi::OsStr;

use drawbridge_core::PayloadFault;

/// Longer patterns are refused: no base name is that long.
const PATTERN_LIMIT_BYTES: usize = 1024;

/// One part of a pattern.
#[derive(Debug)]
enum Part {
    Any,
    One,
    Letter(char),
    Set { negated: bool, ranges: Vec<(char, char)> },
}

/// A pattern, ready to match.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Part>);

/// Prepares a pattern.
pub(super) fn pattern(text: &str) -> Result<Pattern, PayloadFault> {
    let fault = |why: &str| PayloadFault { field: "glob".to_owned(), why: why.to_owned() };
    if text.contains('/') {
        return Err(fault("must not contain a slash: it is matched against base names"));
    }
    if text.contains("**") {
        return Err(fault("must not contain **; use recursive instead"));
    }
    if text.len() > PATTERN_LIMIT_BYTES {
        return Err(fault("is too long"));
    }
    let mut parts = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        parts.push(match c {
            '*' => Part::Any,
            '?' => Part::One,
            '[' => {
                let (set, after) = set(rest.as_str()).ok_or_else(|| fault("has a [ without its ]"))?;
                rest = after.chars();
                set
            }
            letter => Part::Letter(letter),
        });
    }
    Ok(Pattern(parts))
}

/// Reads a set after its `[`. A `]` right at its start is a member.
fn set(text: &str) -> Option<(Part, &str)> {
    let (negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let first = text.chars().next()?;
    let end = first.len_utf8() + text.get(first.len_utf8()..)?.find(']')?;
    let members: Vec<char> = text.get(..end)?.chars().collect();
    let mut ranges = Vec::new();
    let mut members = members.as_slice();
    loop {
        match members {
            [low, '-', high, rest @ ..] => {
                ranges.push((*low, *high));
                members = rest;
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                members = rest;
            }
            [] => break,
        }
    }
    Some((Part::Set { negated, ranges }, text.get(end + 1..)?))
}

impl Pattern {
    /// Tells whether a base name matches. A name that is no text is matched with its replacement letters.
    pub(super) fn is_match(&self, name: &OsStr) -> bool {
        let letters: Vec<char> = name.to_string_lossy().chars().collect();
        let (mut part, mut letter) = (0, 0);
        // Where to go on when a guess about the last star was too short.
        let mut retry: Option<(usize, usize)> = None;
        while letter < letters.len() || part < self.0.len() {
            let step = match (self.0.get(part), letters.get(letter)) {
                (Some(Part::Any), _) => {
                    retry = Some((part, letter));
                    part += 1;
                    continue;
                }
                (Some(wanted), Some(found)) => wanted.takes(*found),
                (None, _) | (_, None) => false,
            };
            if step {
                part += 1;
                letter += 1;
            } else if let Some((star, from)) = retry.filter(|(_, from)| *from < letters.len()) {
                retry = Some((star, from + 1));
                part = star + 1;
                letter = from + 1;
            } else {
                return false;
            }
        }
        true
    }
}

impl Part {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Letter(wanted) => *wanted == letter,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_know_stars_marks_and_sets_alone() {
        for (text, name, hit) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("*", ".hidden", true),
            ("?.txt", "é.txt", true),
            ("[ab].c", "b.c", true),
            ("[!ab].c", "b.c", false),
            ("[!ab].c", "x.c", true),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("a\\*", "a\\b", true),
            ("A.txt", "a.txt", false),
            ("*a*b*", "xxaxxbxx", true),
            ("[a-c]?", "bz", true),
            ("[]x]", "]", true),
            ("[!]]", "]", false),
            ("[z-a]", "b", false),
            ("", "", true),
        ] {
            assert_eq!(pattern(text).unwrap().is_match(OsStr::new(name)), hit, "{text} on {name}");
        }
        for bad in ["a/b", "**", "a**", "[a", &"a".repeat(2000)] {
            assert!(pattern(bad).is_err(), "{bad}");
        }
    }
}
