//! The list of accounts on a real folder.

use super::*;

const CLIENT: &str = "autogpt-local-executor";

fn open(dir: &Path) -> AccountBook {
    AccountBook::open(dir, &|url| if url.starts_with("https://") { Ok(()) } else { Err("not encrypted".to_owned()) })
}

#[test]
fn accounts_are_added_chosen_and_removed_and_outlive_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let book = open(dir.path());
    assert_eq!((book.in_use(), book.ids()), (DEFAULT.to_owned(), vec![DEFAULT.to_owned()]));

    let work = book.add(" Work ", "https://work.example", "desk-7").unwrap();
    let other = book.add("Straße 12 / Büro", "https://other.example", CLIENT).unwrap();
    assert_eq!((work.id.as_str(), work.name.as_str(), work.client_id.as_str()), ("work", "Work", "desk-7"));
    assert_eq!(other.id, "stra-e-12-b-ro");
    book.choose("work").unwrap();

    let book = open(dir.path());
    assert!(book.trouble().is_none());
    assert_eq!((book.in_use(), book.list()), ("work".to_owned(), vec![work, other]));
    assert_eq!(book.find("WORK"), Some("work".to_owned()));
    assert_eq!(book.find("straße 12 / büro"), Some("stra-e-12-b-ro".to_owned()));
    assert_eq!(book.find("nobody"), None);
    for needed in [DEFAULT, "work"] {
        assert!(matches!(book.remove(needed), Err(AccountsFault::Needed(_))), "{needed}");
    }
    book.remove("stra-e-12-b-ro").unwrap();
    assert!(matches!(book.choose("stra-e-12-b-ro"), Err(AccountsFault::Unknown(_))));
    assert_eq!(open(dir.path()).ids(), [DEFAULT, "work"]);
}

#[cfg(unix)]
#[test]
fn the_file_is_for_this_user_alone_and_holds_no_address_of_the_default_account() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let book = open(dir.path());
    book.add("Work", "https://work.example", CLIENT).unwrap();
    book.choose(DEFAULT).unwrap();

    let file = dir.path().join("accounts.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.matches("platform_url").count(), 1, "{text}");
}

#[test]
fn ids_are_ours_and_never_taken_twice() {
    let dir = tempfile::tempdir().unwrap();
    let book = open(dir.path());
    let add = |name: &str| book.add(name, "https://x.example", CLIENT).unwrap().id;

    assert_eq!(add("Work!"), "work");
    assert_eq!(add("Work?"), "work-2");
    assert_eq!(add("default."), "default-2", "the id of the configuration's account stays its own");
    assert_eq!(add("工作"), "account");
    assert_eq!(add("../../etc"), "etc");
    let long = add(&"n".repeat(LONGEST_NAME));
    assert!(is_id(&long) && long.len() <= LONGEST_ID, "{long}");
}

#[test]
fn a_key_is_new_for_each_account_also_for_one_of_an_old_name() {
    let dir = tempfile::tempdir().unwrap();
    let book = open(dir.path());
    let first = book.add("Work", "https://x.example", CLIENT).unwrap();
    book.remove("work").unwrap();

    assert_ne!(book.add("Work", "https://x.example", CLIENT).unwrap().key, first.key);
}

#[test]
fn names_and_clients_that_cannot_be_shown_or_sent_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let book = open(dir.path());
    for name in ["", "  ", "a\u{202E}b", "a\nb", "a\u{200B}", &"n".repeat(LONGEST_NAME + 1)] {
        assert!(matches!(book.add(name, "https://x.example", CLIENT), Err(AccountsFault::Name(_))), "{name:?}");
    }
    for client in ["", "two words", "ta\tb", &"c".repeat(LONGEST_CLIENT + 1)] {
        assert!(matches!(book.add("Work", "https://x.example", client), Err(AccountsFault::Client)), "{client:?}");
    }
    book.add("Work", "https://x.example", CLIENT).unwrap();
    for name in ["work", " WORK", "Default"] {
        assert!(matches!(book.add(name, "https://y.example", CLIENT), Err(AccountsFault::NameTaken)), "{name}");
    }
    for number in 1..MOST_ACCOUNTS {
        book.add(&format!("More {number}"), "https://x.example", CLIENT).unwrap();
    }
    assert!(matches!(book.add("One too many", "https://x.example", CLIENT), Err(AccountsFault::TooMany)));
}

#[test]
fn a_file_that_cannot_be_trusted_stays_and_leaves_the_default_account() {
    let good = |id: &str, url: &str| {
        format!(r#"{{"id":"{id}","name":"{id}","platform_url":"{url}","client_id":"c","key":"0123456789abcdef"}}"#)
    };
    let document = |in_use: &str, accounts: &str| format!(r#"{{"v":1,"in_use":"{in_use}","accounts":[{accounts}]}}"#);
    let work = good("work", "https://x.example");
    for text in [
        "{".to_owned(),
        "[]".to_owned(),
        r#"{"v":2,"in_use":"default","accounts":[],"more":1}"#.to_owned(),
        r#"{"v":1,"in_use":"default","accounts":[],"more":1}"#.to_owned(),
        document("gone", &work),
        document("default", &good("default", "https://x.example")),
        document("default", &good("../up", "https://x.example")),
        document("default", &good("work", "http://x.example")),
        document("default", &format!("{work},{work}")),
        document("default", &work.replace("0123456789abcdef", "short")),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("accounts.json");
        std::fs::write(&file, &text).unwrap();
        let book = open(dir.path());

        assert!(book.trouble().is_some(), "{text}");
        assert_eq!((book.in_use().as_str(), book.ids()), (DEFAULT, vec![DEFAULT.to_owned()]), "{text}");
        assert!(matches!(book.add("New", "https://x.example", "c"), Err(AccountsFault::Broken { .. })));
        assert!(matches!(book.choose(DEFAULT), Err(AccountsFault::Broken { .. })));
        assert!(matches!(book.remove("work"), Err(AccountsFault::Broken { .. })));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn what_is_kept_for_one_account_is_removed_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("bindings.json"), "{}").unwrap();
    for id in ["work", "home"] {
        std::fs::write(make_folder(dir.path(), id).unwrap().join("bindings.json"), "{}").unwrap();
    }

    remove_folder(dir.path(), "work").unwrap();
    remove_folder(dir.path(), "work").unwrap();
    for wrong in [DEFAULT, "..", "", "home/.."] {
        assert!(remove_folder(dir.path(), wrong).is_err(), "{wrong}");
    }

    assert!(!folder(dir.path(), "work").exists());
    assert!(folder(dir.path(), "home").join("bindings.json").exists());
    assert!(folder(dir.path(), DEFAULT).join("bindings.json").exists());
}

#[test]
fn the_default_account_is_told_apart_at_every_platform_but_its_first() {
    let dir = tempfile::tempdir().unwrap();
    let book = open(dir.path());
    assert!(book.default_is_new() && book.default_apart("https://one.example", "c").is_none());

    book.note_first("https://one.example", "c").unwrap();
    book.note_first("https://two.example", "c").unwrap();

    let apart = |url: &str, client: &str| open(dir.path()).default_apart(url, client);
    assert_eq!((book.default_is_new(), apart("https://one.example", "c")), (false, None));
    let (two, client) = (apart("https://two.example", "c").unwrap(), apart("https://one.example", "d").unwrap());
    assert_ne!(two, client);
    assert_eq!(apart("https://two.example", "c"), Some(two.clone()), "the same one each time");
    // Nobody can add an account whose folder this is.
    assert!(!is_id(&super::apart(&two)));

    let file = dir.path().join("default-platform.json");
    std::fs::write(&file, "{").unwrap();
    assert!(apart("https://one.example", "c").is_some());
    book.note_first("https://two.example", "c").unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{");
}

#[test]
fn reading_the_list_leaves_alone_what_another_program_is_writing() {
    let dir = tempfile::tempdir().unwrap();
    let writing = dir.path().join(".accounts.json.00ff00ff00ff00ff.tmp");
    std::fs::write(&writing, "{").unwrap();

    let book = open(dir.path());
    assert!(writing.exists());

    book.add("Work", "https://work.example", CLIENT).unwrap();
    assert!(!writing.exists(), "whoever changes the list is its one writer, so this is a left-over");
}
