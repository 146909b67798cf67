use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn op(line: CommandLine) -> CommandOp {
    CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() }
}

fn shell(command: &str) -> Result<Vec<Segment>, Unreadable> {
    segments(&op(CommandLine::Shell { command: command.to_owned(), shell: ShellKind::Auto }))
}

/// Takes a text apart into the words of its segments.
fn words(command: &str) -> Result<Vec<Vec<String>>, Unreadable> {
    let whole = |segment: &Segment| {
        [segment.program()].into_iter().chain(segment.words().iter().map(String::as_str)).map(str::to_owned).collect()
    };
    shell(command).map(|segments| segments.iter().map(whole).collect())
}

#[test]
fn plain_texts_become_the_words_that_programs_see() {
    let table: [(&str, &[&[&str]]); 22] = [
        ("ls", &[&["ls"]]),
        ("  ls \t -l  ", &[&["ls", "-l"]]),
        ("ls;", &[&["ls"]]),
        ("\n\nls\n\n", &[&["ls"]]),
        ("ls; pwd", &[&["ls"], &["pwd"]]),
        ("ls;\npwd", &[&["ls"], &["pwd"]]),
        ("ls && pwd || date", &[&["ls"], &["pwd"], &["date"]]),
        ("cat a|wc -l", &[&["cat", "a"], &["wc", "-l"]]),
        ("a\nb\n\nc", &[&["a"], &["b"], &["c"]]),
        ("echo 'a b' \"c d\"", &[&["echo", "a b", "c d"]]),
        ("echo a'b'\"c\"d", &[&["echo", "abcd"]]),
        ("echo '' \"\"", &[&["echo", "", ""]]),
        ("echo ';' \"&&\" '|' '$(x)' '`x`'", &[&["echo", ";", "&&", "|", "$(x)", "`x`"]]),
        ("echo a\\ b \\; \\| \\& \\$ \\*", &[&["echo", "a b", ";", "|", "&", "$", "*"]]),
        (r#"echo "\$HOME \" \\ \`""#, &[&["echo", "$HOME \" \\ `"]]),
        (r"echo 'a\'", &[&["echo", "a\\"]]),
        (
            "git log --format=%H a..b v1.2:x @x +y 50%",
            &[&["git", "log", "--format=%H", "a..b", "v1.2:x", "@x", "+y", "50%"]],
        ),
        ("dd if=a of=b", &[&["dd", "if=a", "of=b"]]),
        ("./run.sh ../x", &[&["./run.sh", "../x"]]),
        ("/usr/bin/printf x", &[&["/usr/bin/printf", "x"]]),
        ("echo 'Grüße 漢字'", &[&["echo", "Grüße 漢字"]]),
        ("echo if then exec", &[&["echo", "if", "then", "exec"]]),
    ];
    for (text, expected) in table {
        let expected: Vec<Vec<String>> =
            expected.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect();
        assert_eq!(words(text).as_deref(), Ok(expected.as_slice()), "{text:?}");
    }
}

#[test]
fn what_a_shell_could_act_on_is_never_taken_apart() {
    use Unreadable::{Control, Empty, NotAProgram, Quotes, Special};
    let table = [
        // Substitutions, in and outside quotes.
        ("ls $(rm -rf x)", Special),
        ("ls `rm x`", Special),
        ("ls \"$(rm x)\"", Special),
        ("ls \"`rm x`\"", Special),
        ("ls $HOME", Special),
        ("ls \"$HOME\"", Special),
        ("ls ${X:-rm}", Special),
        ("ls $'\\n'", Special),
        ("ls $\"x\"", Special),
        ("ls $((1))", Special),
        ("ls <(rm x)", Special),
        ("ls >(rm x)", Special),
        ("ls =(rm x)", Special),
        ("ls =rm", Special),
        // Redirections and documents.
        ("ls > x", Special),
        ("ls>x", Special),
        ("ls 2>&1", Special),
        ("ls >> x", Special),
        ("ls < x", Special),
        ("cat <<E\nrm\nE", Special),
        ("cat <<< x", Special),
        ("ls &> x", Special),
        ("ls |& cat", Special),
        // Background and groups.
        ("ls & rm x", Special),
        ("ls &", Special),
        ("ls &&& rm", Special),
        ("(ls)", Special),
        ("{ ls; }", Special),
        ("ls {a,b}", Special),
        ("ls a}b", Special),
        ("f() { rm x; }", Special),
        // Patterns, homes, history, comments.
        ("ls *", Special),
        ("ls ?", Special),
        ("ls [ab]", Special),
        ("ls a]b", Special),
        ("ls ~", Special),
        ("ls a:~/b", Special),
        ("ls ^a", Special),
        ("!!", Special),
        ("ls \"!!\"", Special),
        ("ls # rm", Special),
        ("# ls", Special),
        ("ls a#b", Special),
        ("ls Grüße", Special),
        ("ls \"Grüße\"", Special),
        ("ls\u{a0}-l", Special),
        ("ls\u{2028}rm", Special),
        // Not programs.
        ("A=b ls", NotAProgram),
        ("PATH=/tmp ls", NotAProgram),
        ("'A=b' ls", NotAProgram),
        ("A+=b ls", NotAProgram),
        ("if ls", NotAProgram),
        ("while ls", NotAProgram),
        ("for x in y", NotAProgram),
        ("case x in", NotAProgram),
        ("function f", NotAProgram),
        ("time ls", NotAProgram),
        ("coproc ls", NotAProgram),
        ("noglob ls", NotAProgram),
        ("repeat 3 rm", NotAProgram),
        ("eval rm", NotAProgram),
        ("'eval' rm", NotAProgram),
        ("e\\val rm", NotAProgram),
        ("exec rm", NotAProgram),
        ("source x", NotAProgram),
        (". x", NotAProgram),
        (".. x", NotAProgram),
        (": x", NotAProgram),
        ("command rm", NotAProgram),
        ("builtin eval rm", NotAProgram),
        ("alias ls=rm", NotAProgram),
        ("export X=y", NotAProgram),
        ("trap rm EXIT", NotAProgram),
        ("hash -p /tmp/x ls", NotAProgram),
        ("enable -f x y", NotAProgram),
        ("printf -v PATH /tmp", NotAProgram),
        ("test -v 'a[$(rm x)]'", NotAProgram),
        ("read x", NotAProgram),
        ("cd /tmp && ls", NotAProgram),
        ("ls && cd /tmp", NotAProgram),
        ("set -x", NotAProgram),
        ("%1", NotAProgram),
        ("- ls", NotAProgram),
        ("-x", NotAProgram),
        ("fc -s", NotAProgram),
        ("compgen -C rm", NotAProgram),
        ("zmodload zsh/system", NotAProgram),
        ("EVAL rm", NotAProgram),
        // Quotes without an end.
        ("ls 'a", Quotes),
        ("ls \"a", Quotes),
        ("ls \\", Quotes),
        ("ls a\\\nb", Quotes),
        ("ls \"a\\", Quotes),
        ("ls \"\\n\"", Quotes),
        ("ls \"a\\\nb\"", Quotes),
        ("ls \\ü", Quotes),
        // Control characters.
        ("ls \r rm", Control),
        ("ls\r\nrm", Control),
        ("ls \u{1b}[2K", Control),
        ("ls 'a\nrm'", Control),
        ("ls \"a\nrm\"", Control),
        ("ls \0 rm", Control),
        ("ls \u{0b} rm", Control),
        ("ls \u{85} rm", Control),
        // Nothing where a program belongs.
        ("", Empty),
        ("   ", Empty),
        ("\n", Empty),
        (";", Empty),
        ("; ls", Empty),
        ("ls ;; rm", Empty),
        ("ls | | rm", Empty),
        ("ls &&", Empty),
        ("ls |", Empty),
        ("|| ls", Empty),
        ("ls &&\nrm", Empty),
        ("ls && ; rm", Empty),
        ("ls ||| rm", Empty),
        ("'' ls", Empty),
    ];
    for (text, expected) in table {
        assert_eq!(words(text), Err(expected), "{text:?}");
    }
}

#[test]
fn shells_of_another_grammar_are_not_taken_apart() {
    for kind in ShellKind::ALL {
        let line = CommandLine::Shell { command: "ls".to_owned(), shell: kind };
        let posix = matches!(kind, ShellKind::Auto | ShellKind::Bash | ShellKind::Sh | ShellKind::Zsh);
        assert_eq!(segments(&op(line)).is_ok(), posix, "{}", kind.name());
    }
}

#[test]
fn a_list_of_words_is_one_segment_as_it_stands() {
    let list = |words: &[&str]| segments(&op(CommandLine::Argv(words.iter().map(|word| (*word).to_owned()).collect())));

    let found = list(&["eval", "a; rm -rf x", "$(x)", "*", ""]).unwrap();

    assert_eq!((found.len(), found[0].program()), (1, "eval"));
    assert_eq!(found[0].words(), ["a; rm -rf x", "$(x)", "*", ""]);
    assert_eq!(list(&[]), Err(Unreadable::Empty));
    assert_eq!(list(&["", "x"]), Err(Unreadable::Empty));
    assert_eq!(list(&["ls", "a\nb"]), Err(Unreadable::Control));
}

#[test]
fn length_and_number_of_segments_are_bounded() {
    assert_eq!(shell(&"a;".repeat(MAX_SEGMENTS)).unwrap().len(), MAX_SEGMENTS);
    assert_eq!(shell(&"a;".repeat(MAX_SEGMENTS + 1)), Err(Unreadable::TooLong));
    assert_eq!(shell(&"a".repeat(MAX_BYTES + 1)), Err(Unreadable::TooLong));
    let list = CommandLine::Argv(vec!["a".repeat(MAX_BYTES), "b".to_owned()]);
    assert_eq!(segments(&op(list)), Err(Unreadable::TooLong));
}

proptest! {
    /// Whatever words there are: once each stands in single quotes, exactly they come back.
    #[test]
    fn quoted_words_come_back_as_they_were(
        lines in prop::collection::vec(prop::collection::vec("[ -~ä漢]{0,12}", 0..4), 1..4),
    ) {
        let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
        let text: Vec<String> = lines
            .iter()
            .map(|line| ["ls".to_owned()].into_iter().chain(line.iter().map(quoted)).collect::<Vec<_>>().join(" "))
            .collect();
        let expected: Vec<Vec<String>> = lines
            .iter()
            .map(|line| ["ls".to_owned()].into_iter().chain(line.iter().cloned()).collect())
            .collect();

        prop_assert_eq!(words(&text.join(" && ")), Ok(expected));
    }

    /// A character that means something to a shell never stands outside quotes in what is taken apart.
    #[test]
    fn nothing_special_gets_through_unquoted(text in "[a-z $`<>(){}*?~!#&\\[\\]^;|\n]{0,24}") {
        if segments(&op(CommandLine::Shell { command: text.clone(), shell: ShellKind::Bash })).is_ok() {
            let special = text.contains(['$', '`', '<', '>', '(', ')', '{', '}', '*', '?', '~', '!', '#', '[', ']', '^']);
            prop_assert!(!special);
            prop_assert_eq!(text.replace("&&", "").contains('&'), false);
        }
    }
}
