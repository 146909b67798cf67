use super::*;

fn entry(lines: &str) -> Option<Entry> {
    read(&format!("# made by hand\n[Desktop Entry]\nType=Application\nName=App\n{lines}\n"))
}

fn started(exec: &str, args: &[&str]) -> Vec<String> {
    let entry = entry(&format!("Icon=app icon\nExec={exec}")).unwrap();
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    command(&entry, Path::new("/usr/share/applications/app.desktop"), &args)
}

#[test]
fn an_entry_is_read_with_its_group_alone() {
    let entry = entry(
        "Name[de]=Programm\nExec = app %U\nTryExec=/usr/bin/app\nTerminal=true\nNoDisplay=true\nPath=/tmp\n\
         StartupWMClass=App-Class\n[Desktop Action new]\nExec=app --new\nName=New",
    )
    .unwrap();

    assert_eq!(entry.name, "App");
    assert_eq!(entry.exec, [Word::Text("app".to_owned()), Word::Files]);
    assert_eq!(entry.try_exec.as_deref(), Some("/usr/bin/app"));
    assert_eq!(entry.window_class.as_deref(), Some("App-Class"));
    assert_eq!(entry.folder.as_deref(), Some(Path::new("/tmp")));
    assert!(entry.in_terminal && entry.hidden);
}

#[test]
fn what_is_no_application_or_deleted_is_not_there() {
    assert_eq!(entry("Hidden=true\nExec=app"), None);
    assert_eq!(read("[Desktop Entry]\nType=Link\nName=x\nURL=https://example.org\n"), None);
    assert_eq!(read("[Desktop Entry]\nType=Application\nExec=app\n"), None, "no name");
    assert_eq!(read("[Other]\nName=x\nExec=app\n"), None);
    assert_eq!(read(""), None);
}

#[test]
fn a_quote_that_is_not_closed_starts_nothing() {
    for exec in ["app \"open", "app \"a\\", "app \\\\"] {
        assert_eq!(entry(&format!("Exec={exec}")), None, "{exec}");
    }
}

#[test]
fn words_are_split_by_quotes_and_never_by_a_shell() {
    assert_eq!(
        started(r#"app "two words" "q\\"uote" plain;rm  "\\$HOME" "\\`id\\`" "50 %% off" "" last"#, &[]),
        ["app", "two words", "q\"uote", "plain;rm", "$HOME", "`id`", "50 % off", "", "last"]
    );
    assert_eq!(started(r"app\sone a\tb", &[]), ["app", "one", "a", "b"]);
}

#[test]
fn codes_are_replaced_or_vanish() {
    assert_eq!(
        started("app %i --name %c %k %d --x=%f end%%", &[]),
        ["app", "--icon", "app icon", "--name", "App", "/usr/share/applications/app.desktop", "--x=", "end%"]
    );
    assert_eq!(started("app \"%c\"", &[]), ["app", "App"]);
}

#[test]
fn arguments_go_where_files_go_or_to_the_end_each_as_one_word() {
    let args = ["a b", "$(id)", "%U", ""];

    assert_eq!(started("app %U --end", &args), ["app", "a b", "$(id)", "%U", "", "--end"]);
    assert_eq!(started("app --flag", &args), ["app", "--flag", "a b", "$(id)", "%U", ""]);
    assert_eq!(started("app %f %U", &["x"]), ["app", "x"]);
}
