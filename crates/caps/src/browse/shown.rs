//! Which names and paths may be told to a platform (spec 5.3).

use unicode_general_category::{GeneralCategory, get_general_category};

/// A path longer than this is refused by the platform as the root of a data link.
const PATH_LIMIT_CHARS: usize = 4096;
/// The longest name of the wire.
const NAME_LIMIT_CHARS: usize = 1024;

/// Tells whether a name may be listed.
pub(super) fn name_is_fit(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= NAME_LIMIT_CHARS && !name.chars().any(is_invisible)
}

/// Tells whether a whole path would later be taken by the platform as the root of a data link.
pub(super) fn path_is_fit(path: &str) -> bool {
    path.chars().count() <= PATH_LIMIT_CHARS
        && !path.chars().any(|c| matches!(c, '<' | '>' | '\u{2028}' | '\u{2029}') || is_invisible(c))
}

/// Tells whether a character has the Unicode general category C.
fn is_invisible(c: char) -> bool {
    matches!(
        get_general_category(c),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    )
}
