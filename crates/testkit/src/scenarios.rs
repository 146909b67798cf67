//! Tests of a program that starts itself again for small tasks, which must happen before anything else: such a program needs a
//! `main` of its own, and with it what a test runner asks of one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Writes `main` for a test with `harness = false`: `first` is asked whether this start is for something else, then each named
/// function without arguments is a test.
#[macro_export]
macro_rules! scenarios {
    (first: $first:expr; $($name:ident),* $(,)?) => {
        fn main() -> std::process::ExitCode {
            if let Some(code) = $first() {
                return code;
            }
            $crate::scenarios::run(&[$((stringify!($name), $name as fn())),*])
        }
    };
}

/// Does what the arguments of this program ask for, as test runners write them: lists the tests, or runs those that are named.
#[must_use]
pub fn run(tests: &[(&str, fn())]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let asked = |word: &str| words.iter().any(|argument| argument == word);
    // None of these tests is one that is left out as a rule.
    if asked("--ignored") {
        return ExitCode::SUCCESS;
    }
    let named: Vec<&String> = words.iter().filter(|word| !word.starts_with('-') && *word != "terse").collect();
    let exact = asked("--exact");
    let meant = |test: &str| {
        named.is_empty() || named.iter().any(|name| if exact { test == *name } else { test.contains(name.as_str()) })
    };
    let meant: Vec<_> = tests.iter().filter(|(name, _)| meant(name)).collect();
    if asked("--list") {
        for (name, _) in meant {
            say(&format!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let mut failed = false;
    for (name, test) in meant {
        let passed = catch_unwind(AssertUnwindSafe(test)).is_ok();
        failed |= !passed;
        say(&format!("test {name} ... {}", if passed { "ok" } else { "FAILED" }));
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn say(line: &str) {
    use std::io::Write as _;
    // Nobody reads it: then nobody is told.
    let _ = writeln!(std::io::stdout(), "{line}");
}
