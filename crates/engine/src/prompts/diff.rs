//! What an overwrite changes, line by line, for a person: bounded in lines, bytes and time.

use std::time::Duration;

use drawbridge_core::{escape_outside_text, shorten_middle};
use similar::{ChangeTag, DiffOp, TextDiff, TextDiffConfig};

use crate::view::{DiffLine, DiffView};

/// Contents larger than this are told by their sizes alone.
pub(super) const MAX_BYTES: u64 = 256 * 1024;
/// Lines shown.
const MAX_LINES: usize = 400;
/// Characters of one line.
const MAX_LINE_CHARS: usize = 1_000;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// After so long the difference becomes coarser, never wrong.
const TIME: Duration = Duration::from_millis(200);

/// Compares two texts. None when one of them is no text.
pub(super) fn between(old: &[u8], new: &[u8]) -> Option<DiffView> {
    let (old, new) = (text(old)?, text(new)?);
    let mut config = TextDiffConfig::default();
    config.timeout(TIME);
    let diff = config.diff_lines(old, new);
    let mut view = DiffView::default();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => view.added = view.added.saturating_add(1),
            ChangeTag::Delete => view.removed = view.removed.saturating_add(1),
            ChangeTag::Equal => {}
        }
    }
    show(&diff, &mut view);
    Some(view)
}

/// The view of a change that is too large to be compared.
pub(super) fn too_large() -> DiffView {
    DiffView { cut: true, ..DiffView::default() }
}

fn show(diff: &TextDiff<'_, '_, str>, view: &mut DiffView) {
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        let from_start = group.first().is_none_or(|op| op.old_range().start == 0 && op.new_range().start == 0);
        if index > 0 || !from_start {
            view.lines.push(DiffLine { kind: "skipped".to_owned(), ..DiffLine::default() });
        }
        for op in group {
            if !show_op(diff, op, view) {
                view.cut = true;
                return;
            }
        }
    }
}

/// False when there is no more room.
fn show_op(diff: &TextDiff<'_, '_, str>, op: &DiffOp, view: &mut DiffView) -> bool {
    for change in diff.iter_changes(op) {
        if view.lines.len() >= MAX_LINES {
            return false;
        }
        let kind = match change.tag() {
            ChangeTag::Equal => "same",
            ChangeTag::Insert => "added",
            ChangeTag::Delete => "removed",
        };
        let line = change.value();
        let line = escape_outside_text(line.strip_suffix('\n').unwrap_or(line));
        let text = shorten_middle(&line, MAX_LINE_CHARS);
        view.cut |= text.len() != line.len();
        view.lines.push(DiffLine {
            kind: kind.to_owned(),
            old: change.old_index().map(number),
            new: change.new_index().map(number),
            text,
        });
    }
    true
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

/// Text is what is UTF-8 and holds no NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(view: &DiffView) -> Vec<(&str, Option<u32>, Option<u32>, &str)> {
        view.lines.iter().map(|line| (line.kind.as_str(), line.old, line.new, line.text.as_str())).collect()
    }

    #[test]
    fn a_change_is_shown_with_three_lines_around_it_and_its_numbers() {
        let old: String = (1..=9).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 5\n", "line five\n");

        let view = between(old.as_bytes(), new.as_bytes()).unwrap();

        assert_eq!((view.added, view.removed, view.cut), (1, 1, false));
        assert_eq!(
            lines(&view),
            [
                ("skipped", None, None, ""),
                ("same", Some(2), Some(2), "line 2"),
                ("same", Some(3), Some(3), "line 3"),
                ("same", Some(4), Some(4), "line 4"),
                ("removed", Some(5), None, "line 5"),
                ("added", None, Some(5), "line five"),
                ("same", Some(6), Some(6), "line 6"),
                ("same", Some(7), Some(7), "line 7"),
                ("same", Some(8), Some(8), "line 8"),
            ]
        );
    }

    #[test]
    fn tricks_and_changed_line_ends_are_visible() {
        let view = between(b"a\nb\n", "a\r\n\u{202e}b\n".as_bytes()).unwrap();

        let texts: Vec<&str> = view.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "a␍", "\\u{202E}b"]);
    }

    #[test]
    fn what_is_no_text_has_no_lines_and_what_is_long_is_cut() {
        assert_eq!(between(b"\x00\x01", b"text"), None);
        assert_eq!(between(b"text", b"\xff\xfe"), None);

        let many: String = (0..10_000).map(|n| format!("{n}\n")).collect();
        let view = between(b"", many.as_bytes()).unwrap();
        assert_eq!((view.lines.len(), view.added, view.removed, view.cut), (MAX_LINES, 10_000, 0, true));

        let view = between(b"", "x".repeat(200_000).as_bytes()).unwrap();
        assert!(view.cut && view.lines[0].text.chars().count() <= MAX_LINE_CHARS);
    }
}
