use std::collections::BTreeMap;

use drawbridge_core::{CommandLine, ShellKind};

use super::*;

fn list(words: &[&str]) -> CommandOp {
    let line = CommandLine::Argv(words.iter().map(|word| (*word).to_owned()).collect());
    CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() }
}

fn text(command: &str) -> CommandOp {
    let line = CommandLine::Shell { command: command.to_owned(), shell: ShellKind::Bash };
    CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() }
}

/// Finds programs as a machine with everything in `/usr/bin` would.
fn found(op: &CommandOp) -> Programs {
    Programs::find(
        op,
        |_| Some("/usr/bin/bash".to_owned()),
        |word| {
            (word != "missing")
                .then(|| if word.starts_with('/') { word.to_owned() } else { format!("/usr/bin/{word}") })
        },
    )
}

fn rule(number: u64, program: &str, words: &[&str], any_more: bool) -> CommandRule {
    CommandRule {
        id: CommandRule::name(number),
        program: program.to_owned(),
        words: words.iter().map(|word| WordPattern::from_shown(word)).collect(),
        any_more,
        origin: Origin::Window,
        at_ms: 1,
    }
}

fn ids(rules: &[CommandRule], op: &CommandOp) -> Option<Vec<String>> {
    allowing(rules, op, &found(op)).map(|rules| rules.iter().map(|rule| rule.id.clone()).collect())
}

#[test]
fn a_rule_fits_its_program_and_words_and_nothing_else() {
    let exact = [rule(1, "/usr/bin/cat", &["a b"], false)];
    for fits in [list(&["cat", "a b"]), list(&["/usr/bin/cat", "a b"]), text("cat 'a b'"), text("'cat' a\\ b")] {
        assert!(ids(&exact, &fits).is_some());
    }
    for other in [
        list(&["cat"]),
        list(&["cat", "a b", "c"]),
        list(&["cat", "a", "b"]),
        list(&["cat", "A B"]),
        list(&["/tmp/cat", "a b"]),
        list(&["cat a b"]),
        list(&["missing", "a b"]),
        text("cat a b"),
        text("cat 'a b' c"),
        text("cat 'a b'; rm x"),
        text("cat 'a b' $(rm x)"),
        text("cat 'a b' > x"),
        text("X=y cat 'a b'"),
        text("/tmp/cat 'a b'"),
    ] {
        assert_eq!(ids(&exact, &other), None);
    }
}

#[test]
fn open_words_and_further_words_are_two_things() {
    let one = [rule(1, "/usr/bin/cat", &["-n", "*"], false)];
    let more = [rule(1, "/usr/bin/cat", &["-n"], true)];

    assert!(ids(&one, &list(&["cat", "-n", "x"])).is_some());
    assert_eq!(ids(&one, &list(&["cat", "-n"])), None);
    assert_eq!(ids(&one, &list(&["cat", "-n", "x", "y"])), None);
    for words in [&["cat", "-n"][..], &["cat", "-n", "x", "y"]] {
        assert!(ids(&more, &list(words)).is_some());
    }
    assert_eq!(ids(&more, &list(&["cat"])), None);
    assert_eq!(ids(&more, &list(&["cat", "x", "-n"])), None);
}

#[test]
fn every_segment_needs_a_rule() {
    let rules = [rule(1, "/usr/bin/cat", &[], true), rule(4, "/usr/bin/wc", &["-l"], false)];

    let both = ids(&rules, &text("cat a | wc -l"));
    assert_eq!(both, Some(vec!["r-1".to_owned(), "r-4".to_owned()]));
    for smuggled in ["cat a | wc", "cat a && rm b", "rm b\ncat a", "cat a || rm b | wc -l", "wc -l; /tmp/wc -l"] {
        assert_eq!(ids(&rules, &text(smuggled)), None, "{smuggled}");
    }
}

#[test]
fn variables_of_its_own_and_a_strange_shell_take_a_command_out_of_every_rule() {
    let rules = [rule(1, "/usr/bin/cat", &[], true)];
    let mut op = list(&["cat", "a"]);
    op.env.insert("LD_PRELOAD".to_owned(), "/tmp/x.so".to_owned());
    assert_eq!(ids(&rules, &op), None);
    assert_eq!(CommandRule::offer(&op, &found(&op), WallMs(1), "r-1"), None);

    let op = text("cat a");
    for shell in [None, Some("/usr/bin/fish"), Some("C:\\Windows\\System32\\cmd.exe")] {
        let programs = Programs::new(shell.map(str::to_owned), vec![Some("/usr/bin/cat".to_owned())]);
        assert!(allowing(&rules, &op, &programs).is_none(), "{shell:?}");
    }
    // Programs of another command: too few, too many, unknown.
    for words in [vec![], vec![None], vec![Some("/usr/bin/cat".to_owned()); 2]] {
        assert!(allowing(&rules, &list(&["cat", "a"]), &Programs::new(None, words)).is_none());
    }
}

#[test]
fn an_open_rule_for_an_interpreter_is_refused_and_would_allow_nothing() {
    for program in
        ["/usr/bin/bash", "/usr/bin/python3", "/usr/bin/env", "/usr/bin/git", "/usr/bin/find", "/usr/bin/tar"]
    {
        let name = program.rsplit('/').next().unwrap();
        for open in [rule(1, program, &["*"], false), rule(1, program, &[], true)] {
            let fault = open.check().unwrap_err();
            assert_eq!(fault, RuleFault::Runner, "{program}");
            assert!(fault.to_string().contains("must fix every word"));
            assert_eq!(ids(&[open], &list(&[name, "x"])), None);
        }
        let exact = rule(1, program, &["status"], false);
        assert_eq!(exact.check(), Ok(()));
        assert!(ids(&[exact], &list(&[name, "status"])).is_some());
    }
}

#[test]
fn what_is_offered_is_exactly_the_command_and_nothing_more() {
    let op = text("cat 'a b' -n");
    let offered = CommandRule::offer(&op, &found(&op), WallMs(77), "r-9").unwrap();

    assert_eq!(
        offered,
        CommandRule { origin: Origin::Answered, at_ms: 77, ..rule(9, "/usr/bin/cat", &["a b", "-n"], false) }
    );
    assert!(ids(std::slice::from_ref(&offered), &op).is_some());
    assert_eq!(ids(&[offered], &list(&["cat", "a b"])), None);
    for never in [
        text("cat a | wc"),
        text("cat a; cat a"),
        text("cat $X"),
        text("cat *"),
        list(&["missing"]),
        list(&["cat", "*"]),
        list(&["cat", "a\nb"]),
        list(&["cat", "a\u{202E}b"]),
        list(&["cat", &"x".repeat(MAX_RULE_WORD_BYTES + 1)]),
    ] {
        assert_eq!(CommandRule::offer(&never, &found(&never), WallMs(1), "r-1"), None);
    }
    let many: Vec<&str> = std::iter::repeat_n("x", MAX_RULE_WORDS + 2).collect();
    assert_eq!(CommandRule::offer(&list(&many), &found(&list(&many)), WallMs(1), "r-1"), None);
}

#[test]
fn a_rule_that_cannot_be_shown_as_it_is_is_refused() {
    let good = rule(1, "/usr/bin/cat", &["a"], false);
    let word = |word: &str| CommandRule { words: vec![WordPattern::Exactly(word.to_owned())], ..good.clone() };
    let program = |program: &str| CommandRule { program: program.to_owned(), ..good.clone() };

    assert_eq!(good.check(), Ok(()));
    assert_eq!(program("cat").check(), Err(RuleFault::Program));
    assert_eq!(program("").check(), Err(RuleFault::Program));
    assert_eq!(program("/usr/bin/c\u{200B}at").check(), Err(RuleFault::Unshowable));
    for unshowable in ["*", "a\nb", "a\tb", "\u{1b}[2K", "a\u{202E}b", "a\u{a0}b"] {
        assert_eq!(word(unshowable).check(), Err(RuleFault::Unshowable), "{unshowable:?}");
    }
    assert_eq!(word(&"x".repeat(MAX_RULE_WORD_BYTES + 1)).check(), Err(RuleFault::WordTooLong));
    let many = CommandRule { words: vec![WordPattern::Any; MAX_RULE_WORDS + 1], ..good };
    assert_eq!(many.check(), Err(RuleFault::TooManyWords));
}
