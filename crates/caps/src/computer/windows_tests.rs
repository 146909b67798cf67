use super::*;

fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn identity(handle: u64, pid: u32, started: u64, class: &str) -> Identity {
    Identity { handle: WindowHandle(handle), pid: Some(pid), started: Some(started), class: class.to_owned() }
}

#[test]
fn an_identifier_is_a_random_uuid_and_stays_with_its_window() {
    let (registry, chat) = (Registry::default(), session("chat-1"));

    let id = registry.id(Some(&chat), identity(1, 10, 100, "A")).unwrap();

    let parts: Vec<&str> = id.strip_prefix("win_").unwrap().split('-').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    assert_eq!(registry.id(Some(&chat), identity(1, 10, 100, "A")).unwrap(), id);
    for other in
        [identity(2, 10, 100, "A"), identity(1, 11, 100, "A"), identity(1, 10, 101, "A"), identity(1, 10, 100, "B")]
    {
        assert_ne!(registry.id(Some(&chat), other).unwrap(), id);
    }
    assert_eq!(registry.identity(Some(&chat), &id), Some(identity(1, 10, 100, "A")));
}

#[test]
fn identifiers_belong_to_one_chat_and_go_with_its_next_hello() {
    let registry = Registry::default();
    let (first, second) = (session("chat-1"), session("chat-2"));
    let id = registry.id(Some(&first), identity(1, 10, 100, "A")).unwrap();
    let other = registry.id(Some(&second), identity(1, 10, 100, "A")).unwrap();
    assert_ne!(id, other);
    assert_eq!(registry.identity(Some(&second), &id), None);

    registry.forget(&first);

    assert_eq!(registry.identity(Some(&first), &id), None);
    assert!(registry.identity(Some(&second), &other).is_some());
    assert_ne!(registry.id(Some(&first), identity(1, 10, 100, "A")).unwrap(), id, "never used again");
}

#[test]
fn the_ones_used_longest_ago_make_room() {
    let (registry, chat) = (Registry::default(), session("chat-1"));
    let ids: Vec<String> =
        (0..MAX_IDS as u64).map(|number| registry.id(Some(&chat), identity(number, 1, 1, "A")).unwrap()).collect();
    // The first one is listed again, so the second one is the oldest.
    registry.id(Some(&chat), identity(0, 1, 1, "A")).unwrap();

    registry.id(Some(&chat), identity(u64::MAX, 1, 1, "A")).unwrap();

    assert!(registry.identity(Some(&chat), &ids[0]).is_some());
    assert_eq!(registry.identity(Some(&chat), &ids[1]), None);
    assert!(registry.identity(Some(&chat), &ids[2]).is_some());
}
