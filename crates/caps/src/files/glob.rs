//! Patterns for base names: `*`, `?`, `[set]`, `[!set]`, and nothing else (spec 8, FILE_LIST).

use drawbridge_core::PayloadFault;
use globset::{GlobBuilder, GlobMatcher};

/// Longer patterns are refused: no base name is that long.
const PATTERN_LIMIT_BYTES: usize = 1024;

/// Prepares a pattern.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, PayloadFault> {
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
    // The library knows alternatives in braces and escapes; here they are ordinary letters.
    let mut plain = String::with_capacity(text.len());
    let mut in_set = false;
    for c in text.chars() {
        match c {
            '[' if !in_set => in_set = true,
            ']' if in_set => in_set = false,
            '{' | '}' if !in_set => {
                plain.push('[');
                plain.push(c);
                plain.push(']');
                continue;
            }
            _ => {}
        }
        plain.push(c);
    }
    let built = GlobBuilder::new(&plain).literal_separator(true).backslash_escape(false).build();
    built.map(|glob| glob.compile_matcher()).map_err(|_| fault("is not a valid pattern"))
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
        ] {
            assert_eq!(pattern(text).unwrap().is_match(name), hit, "{text} on {name}");
        }
        for bad in ["a/b", "**", "a**", "[a", &"a".repeat(2000)] {
            assert!(pattern(bad).is_err(), "{bad}");
        }
    }
}
