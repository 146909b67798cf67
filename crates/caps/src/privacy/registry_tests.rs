use std::path::Path;

use drawbridge_os::root::Root;
use tempfile::TempDir;

use super::*;

struct Desk {
    registry: Registry,
    root: Arc<Root>,
    dir: TempDir,
}

impl Desk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = Arc::new(Root::open(&dir.path().canonicalize().unwrap()).unwrap());
        Self { registry: Registry::default(), root, dir }
    }

    fn stub(&self, id: &str, name: &str) -> Stub {
        std::fs::write(self.dir.path().join(name), name).unwrap();
        let (place, ..) = Place::find(&self.root, name).unwrap();
        Stub { id: id.to_owned(), place, sha256: [0; 32] }
    }

    fn keep(&self, chat: &SessionId, id: &str, name: &str, at: i64) -> bool {
        let since = self.registry.begin(chat);
        self.registry.keep(chat, since, self.stub(id, name), WallMs(at))
    }

    fn told(&self, chat: &SessionId) -> Vec<(String, u64, u64, i64)> {
        let name = |path: &str| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
        let asked = self.registry.asked(chat);
        asked.iter().map(|one| (name(&one.path), one.stubs, one.turns, one.last_ms)).collect()
    }
}

fn chat(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

#[test]
fn a_stub_is_known_to_its_own_chat_until_that_is_wiped() {
    let desk = Desk::new();
    let (one, two) = (chat("one"), chat("two"));
    assert!(desk.keep(&one, "stub_a", "a.txt", 1));

    assert!(desk.registry.find(&one, "stub_a").is_some());
    assert!(desk.registry.find(&two, "stub_a").is_none());
    desk.registry.wipe(&two);
    assert!(desk.registry.find(&one, "stub_a").is_some());

    desk.registry.wipe(&one);
    assert!(desk.registry.find(&one, "stub_a").is_none());
    assert_eq!(desk.told(&one), [("a.txt".to_owned(), 1, 0, 1)]);
    desk.registry.forget(&one);
    assert_eq!(desk.told(&one), []);
}

#[test]
fn a_description_that_was_begun_before_the_wipe_does_not_hold_after_it() {
    let desk = Desk::new();
    let chat = chat("one");
    type End = fn(&Registry, &SessionId);
    for end in [Registry::wipe as End, Registry::forget as End] {
        let since = desk.registry.begin(&chat);
        end(&desk.registry, &chat);

        assert!(!desk.registry.keep(&chat, since, desk.stub("stub_late", "a.txt"), WallMs(1)));
        assert!(desk.registry.find(&chat, "stub_late").is_none());
    }
}

#[test]
fn the_oldest_stub_makes_room() {
    let desk = Desk::new();
    let chat = chat("one");
    for number in 0..=MAX_STUBS {
        assert!(desk.keep(&chat, &format!("stub_{number}"), "a.txt", 1));
    }

    assert!(desk.registry.find(&chat, "stub_0").is_none());
    assert!(desk.registry.find(&chat, "stub_1").is_some());
    assert!(desk.registry.find(&chat, &format!("stub_{MAX_STUBS}")).is_some());
}

#[test]
fn files_are_counted_and_the_latest_comes_first() {
    let desk = Desk::new();
    let chat = chat("one");
    desk.keep(&chat, "stub_a", "a.txt", 10);
    desk.keep(&chat, "stub_b", "b.txt", 20);
    desk.keep(&chat, "stub_c", "a.txt", 30);
    let b = desk.registry.find(&chat, "stub_b").unwrap();
    desk.registry.turn(&chat, [&b].into_iter(), WallMs(40));

    assert_eq!(desk.told(&chat), [("b.txt".to_owned(), 1, 1, 40), ("a.txt".to_owned(), 2, 0, 30)]);

    for number in 0..MAX_ASKED {
        desk.keep(&chat, "stub_more", &format!("{number}.txt"), 50);
    }
    let told = desk.told(&chat);
    assert_eq!((told.len(), told[0].0.as_str()), (MAX_ASKED, "99.txt"));
    assert!(!told.iter().any(|(name, ..)| name == "a.txt" || name == "b.txt"));
}

#[test]
fn chats_do_not_pile_up() {
    let desk = Desk::new();
    for number in 0..=MAX_CHATS {
        let at = i64::try_from(number).unwrap();
        assert!(desk.keep(&chat(&format!("chat-{number}")), "stub_x", "a.txt", at));
    }

    assert_eq!(desk.told(&chat("chat-0")), []);
    assert_eq!(desk.told(&chat("chat-1")).len(), 1);
}
