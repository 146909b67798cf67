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
    assert!(bindings.is_revoked_by_time(&chat("unknown"), 200));
    assert!(!bindings.is_revoked_by_time(&chat("unknown"), 201));
}

#[test]
fn a_damaged_or_newer_list_is_refused_and_left_alone() {
    for text in ["{", r#"{"v":2,"sessions":{}}"#, r#"{"v":1,"sessions":{"a b":{}}}"#, ""] {
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
