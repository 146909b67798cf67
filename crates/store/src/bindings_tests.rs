use super::*;

fn chat(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

#[test]
fn revisions_never_go_back_across_detach_revoke_and_restart() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    assert_eq!(bindings.attach(&chat("a"), "/home/zoë/p", "f1", 100).unwrap(), 1);
    bindings.detach(&chat("a")).unwrap();
    assert_eq!(bindings.attach(&chat("a"), "/home/zoë/p", "f1", 101).unwrap(), 2);
    bindings.revoke(&chat("a")).unwrap();

    let again = Bindings::open(dir.path()).unwrap();

    assert!(again.is_revoked(&chat("a"), 1) && again.is_revoked(&chat("a"), 2));
    assert!(!again.is_revoked(&chat("a"), 3));
    assert_eq!(again.attach(&chat("a"), "/other", "f2", 102).unwrap(), 3);
    let known = again.get(&chat("a")).unwrap();
    assert!(known.attached && !known.revoked);
}

#[test]
fn a_detached_chat_can_be_restored_by_its_grant_but_not_by_an_older_one() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    bindings.attach(&chat("a"), "/p", "f", 1).unwrap();
    bindings.attach(&chat("a"), "/q", "g", 2).unwrap();
    bindings.detach(&chat("a")).unwrap();
    let grant = |root: &str, print: &str, revision| Binding {
        session: chat("a"),
        allowed_root: root.to_owned(),
        fingerprint: print.to_owned(),
        revision,
    };

    bindings.restore(&grant("/p", "f", 1), 1).unwrap();
    assert!(!bindings.get(&chat("a")).unwrap().attached);

    bindings.restore(&grant("/q", "g", 2), 2).unwrap();
    assert!(bindings.get(&chat("a")).unwrap().attached);
    assert!(!bindings.is_revoked(&chat("a"), 2));
}

#[test]
fn the_sixty_fifth_attachment_costs_the_least_recently_used_one_its_folder_but_not_its_revision() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    for number in 0..64 {
        bindings.attach(&chat(&format!("c{number}")), "/p", "f", number).unwrap();
    }
    bindings.touch(&chat("c0"), WallMs(1_000_000));

    bindings.attach(&chat("late"), "/p", "f", 2000).unwrap();

    assert!(bindings.get(&chat("c0")).unwrap().attached);
    assert!(!bindings.get(&chat("c1")).unwrap().attached);
    assert_eq!(bindings.list().iter().filter(|known| known.attached).count(), 64);
    assert_eq!(bindings.attach(&chat("c1"), "/p", "f", 2001).unwrap(), 2);
}

#[test]
fn everything_can_be_taken_back_at_once_also_from_unknown_chats() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    bindings.attach(&chat("a"), "/p", "f", 100).unwrap();
    bindings.attach(&chat("b"), "/q", "g", 100).unwrap();

    assert_eq!(bindings.revoke_folder("/q").unwrap(), [chat("b")]);
    assert!(!bindings.is_revoked(&chat("a"), 1));
    bindings.revoke_all(WallMs(200_000)).unwrap();

    assert!(bindings.is_revoked(&chat("a"), 1));
    for bindings in [bindings, Bindings::open(dir.path()).unwrap()] {
        assert!(bindings.refuses(&chat("a"), 1, 100));
        assert!(bindings.refuses(&chat("unknown"), 9, 200));
        assert!(!bindings.refuses(&chat("unknown"), 1, 201));
    }
}

#[test]
fn an_old_grant_above_a_known_revision_is_refused_too() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    // The list was lost once, so revisions began anew, while the platform still holds revision 7.
    bindings.attach(&chat("a"), "/p", "f", 150).unwrap();

    bindings.revoke_all(WallMs(200_000)).unwrap();

    assert!(bindings.refuses(&chat("a"), 7, 100));
    assert!(!bindings.refuses(&chat("a"), 7, 201));
}

#[test]
fn what_is_attached_after_everything_was_taken_back_works_whatever_the_clock_says() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    bindings.attach(&chat("a"), "/p", "f", 100).unwrap();
    bindings.revoke_all(WallMs(200_000)).unwrap();

    // Within the same second, and after the clock was set back.
    assert_eq!(bindings.attach(&chat("a"), "/p", "f", 200).unwrap(), 2);
    assert_eq!(bindings.attach(&chat("new"), "/q", "g", 50).unwrap(), 1);

    for bindings in [bindings, Bindings::open(dir.path()).unwrap()] {
        assert!(!bindings.refuses(&chat("a"), 2, 200));
        assert!(bindings.refuses(&chat("a"), 1, 100));
        assert!(!bindings.refuses(&chat("new"), 1, 50));
        bindings.detach(&chat("new")).unwrap();
        assert!(!bindings.refuses(&chat("new"), 1, 50));
    }
}

#[test]
fn taking_one_chat_back_refuses_its_grants_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    bindings.attach(&chat("a"), "/p", "f", 100).unwrap();
    bindings.attach(&chat("b"), "/p", "f", 100).unwrap();

    bindings.revoke(&chat("a")).unwrap();

    assert!(bindings.refuses(&chat("a"), 1, 100));
    assert!(!bindings.refuses(&chat("a"), 2, 100));
    assert!(!bindings.refuses(&chat("b"), 1, 100));
}

#[test]
fn a_live_chat_never_loses_its_folder_to_newer_ones() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    for number in 0..64 {
        bindings.attach(&chat(&format!("c{number:02}")), "/p", "f", number).unwrap();
    }
    let (first, again, second) =
        (bindings.keep(&chat("c00")), bindings.keep(&chat("c00")), bindings.keep(&chat("c01")));
    let attached = |id: &str| bindings.get(&chat(id)).unwrap().attached;

    drop(again);
    for number in 0..100 {
        let id = chat(&format!("late{number}"));
        if number % 2 == 0 {
            bindings.attach(&id, "/p", "f", 1000 + number).unwrap();
        } else {
            let binding =
                Binding { session: id, allowed_root: "/p".to_owned(), fingerprint: "f".to_owned(), revision: 4 };
            bindings.restore(&binding, 1000 + number).unwrap();
        }
    }

    assert!(attached("c00") && attached("c01") && !attached("c02"));
    assert_eq!(bindings.list().iter().filter(|known| known.attached).count(), 64);
    drop((first, second));
    bindings.attach(&chat("last"), "/p", "f", 5000).unwrap();
    assert!(!attached("c00") && attached("c01"));
}

#[test]
fn a_damaged_or_newer_list_is_refused_and_left_alone() {
    let entry = r#"{"attached":true,"allowed_root":"/p","fingerprint":"f","revision":18446744073709551615,"issued_at":1,"last_used_ms":1,"revoked_up_to":0}"#;
    let impossible = format!(r#"{{"v":1,"sessions":{{"a":{entry}}}}}"#);
    for text in ["{", r#"{"v":2,"sessions":{}}"#, r#"{"v":1,"sessions":{"a b":{}}}"#, "", &impossible] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bindings.json");
        std::fs::write(&path, text).unwrap();

        assert!(matches!(Bindings::open(dir.path()), Err(BindingsFault::Broken { .. })), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_crash_while_saving_keeps_the_old_list() {
    let dir = tempfile::tempdir().unwrap();
    Bindings::open(dir.path()).unwrap().attach(&chat("a"), "/p", "f", 1).unwrap();
    for left in ["", "{\"v\":1,\"sess", "{\"v\":1,\"sessions\":{}}"] {
        std::fs::write(dir.path().join(".bindings.json.0123456789abcdef.tmp"), left).unwrap();

        assert_eq!(Bindings::open(dir.path()).unwrap().get(&chat("a")).unwrap().revision, 1);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_list_for_the_person_has_every_chat_that_can_work_or_come_back_and_not_all_of_history() {
    let dir = tempfile::tempdir().unwrap();
    let bindings = Bindings::open(dir.path()).unwrap();
    for (id, issued_at) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
        bindings.attach(&chat(id), "/p", "f", issued_at).unwrap();
    }
    for id in ["b", "c", "d"] {
        bindings.detach(&chat(id)).unwrap();
    }
    bindings.revoke(&chat("c")).unwrap();

    let ids = |others: &dyn Fn(&str) -> bool, closed: usize| -> Vec<String> {
        bindings.list_shown(others, closed).into_iter().map(|one| one.session.as_str().to_owned()).collect()
    };

    assert_eq!(ids(&|_| false, 0), ["a"]);
    assert_eq!(ids(&|_| false, 1), ["a", "d"]);
    assert_eq!(ids(&|_| false, 9), ["a", "d", "b"]);
    assert_eq!(ids(&|id| id == "c" || id == "unknown", 0), ["a", "c"]);

    assert_eq!(bindings.revoke_closed().unwrap(), [chat("b"), chat("d")]);
    assert_eq!(ids(&|_| false, 9), ["a"]);
    assert!(bindings.is_revoked(&chat("b"), 1) && !bindings.is_revoked(&chat("a"), 1));
}
