//! Takes any text apart into segments: never a panic, and what comes out reads back as the very same words when each is quoted.
#![no_main]

use std::collections::BTreeMap;

use drawbridge_core::{CommandLine, CommandOp, ShellKind};
use drawbridge_policy::segments;
use libfuzzer_sys::fuzz_target;

fn op(command: String) -> CommandOp {
    let line = CommandLine::Shell { command, shell: ShellKind::Auto };
    CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() }
}

fuzz_target!(|text: &str| {
    let Ok(found) = segments(&op(text.to_owned())) else { return };
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let again: Vec<String> = found
        .iter()
        .map(|segment| {
            let words = segment.words().iter().map(|word| quoted(word));
            std::iter::once(quoted(segment.program())).chain(words).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let again = again.join(";");
    // Quotes make a text longer, so one near the limit may pass it.
    if again.len() <= 32 * 1024 {
        assert_eq!(segments(&op(again)).as_ref(), Ok(&found));
    }
});
