use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use drawbridge_core::ManualClock;
use drawbridge_os::root::{Found, Last, Pending, Reached, RootOptions};

use super::*;

struct Rig {
    _dir: tempfile::TempDir,
    base: PathBuf,
    clock: Arc<ManualClock>,
    store: UndoStore,
    root: Root,
}

impl Rig {
    fn new(limits: UndoLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("R")).unwrap();
        let clock = Arc::new(ManualClock::starting_at(WallMs(1_700_000_000_000)));
        let store = UndoStore::open_with(&base.join("undo"), clock.clone(), limits).unwrap();
        let root = open(base.join("R").to_str().unwrap()).unwrap();
        Self { _dir: dir, base, clock, store, root }
    }

    fn reopen(&mut self) {
        self.store = UndoStore::open(&self.base.join("undo"), self.clock.clone()).unwrap();
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.base.join("R").join(path)
    }

    fn spot(&self, path: &str) -> Spot {
        match self.root.walk(path, Last::Keep).unwrap() {
            Reached::Found(Found { at: Some(at), .. }) => at,
            Reached::Missing(missing) => missing.at,
            Reached::Found(_) => panic!("the root is no spot"),
        }
    }

    fn delete(&self, path: &str) -> u64 {
        let number =
            self.store.keep(Some(&chat()), &Change::Delete { root: &self.root, at: &self.spot(path) }).unwrap();
        self.store.changed(number, None);
        number
    }

    /// What the files capability does.
    fn write(&self, path: &str, content: &str) -> u64 {
        let at = self.spot(path);
        let (former, facts) = at.folder().open_file(&at.name).unwrap();
        let change = Change::Replace { root: &self.root, at: &at, former: &former };
        let number = self.store.keep(Some(&chat()), &change).unwrap();
        let mut pending = Pending::start(at.folder(), Some(&facts)).unwrap();
        pending.write(content.as_bytes(), &|| false).unwrap();
        pending.dress_like(&former, &facts).unwrap();
        let left = pending.publish(&at.name, Overwrite::Allowed).unwrap();
        self.store.changed(number, Some(Stamp::from(&left)));
        number
    }

    fn rename(&self, from: &str, to: &str) -> u64 {
        let (from, to) = (self.spot(from), self.spot(to));
        let replaced = to.folder().open_file(&to.name).ok();
        let change =
            Change::Move { root: &self.root, from: &from, to: &to, replaced: replaced.as_ref().map(|(file, _)| file) };
        let number = self.store.keep(Some(&chat()), &change).unwrap();
        from.folder().rename(&from.name, to.folder(), &to.name, Overwrite::Allowed).unwrap();
        self.store.changed(number, Some(Stamp::from(&to.facts().unwrap())));
        number
    }

    fn restore(&self, number: u64) -> Result<Restored, UndoFault> {
        self.store.restore(number, &open)
    }
}

fn open(path: &str) -> Result<Root, RootFault> {
    Root::open_with(Path::new(path), RootOptions::default())
}

fn chat() -> SessionId {
    SessionId::parse("chat-1").unwrap()
}

fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_500_000_000, 123_456_789)
}

#[test]
fn a_deleted_tree_comes_back_with_modes_times_and_links_also_after_a_restart() {
    let mut rig = Rig::new(UndoLimits::default());
    fs::create_dir_all(rig.inside("d/sub")).unwrap();
    fs::write(rig.inside("d/sub/run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(rig.inside("d/sub/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("../../out", rig.inside("d/l")).unwrap();
    fs::File::open(rig.inside("d/sub/run.sh")).unwrap().set_modified(long_ago()).unwrap();
    fs::File::open(rig.inside("d")).unwrap().set_modified(long_ago()).unwrap();

    let number = rig.delete("d");
    assert!(!rig.inside("d").exists());
    rig.reopen();
    let restored = rig.restore(number).unwrap();

    assert_eq!(restored, Restored { path: rig.inside("d").display().to_string(), saved: vec![] });
    let run = fs::metadata(rig.inside("d/sub/run.sh")).unwrap();
    assert_eq!((run.mode() & 0o7777, run.modified().unwrap()), (0o750, long_ago()));
    assert_eq!(fs::metadata(rig.inside("d")).unwrap().modified().unwrap(), long_ago());
    assert_eq!(fs::read_link(rig.inside("d/l")).unwrap(), PathBuf::from("../../out"));
    assert!(matches!(rig.restore(number), Err(UndoFault::AlreadyRestored(_))));
    assert!(rig.store.list(None)[0].restored);
}

#[test]
fn a_replaced_file_comes_back_with_its_mode_and_time_and_kept_copies_are_private() {
    let rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("f"), "before").unwrap();
    fs::set_permissions(rig.inside("f"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::File::open(rig.inside("f")).unwrap().set_modified(long_ago()).unwrap();

    let number = rig.write("f", "after");
    let kept = fs::metadata(rig.base.join("undo/kept").join(number.to_string())).unwrap();
    assert_eq!(kept.mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(rig.base.join("undo")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(rig.base.join("undo/journal.jsonl")).unwrap().mode() & 0o777, 0o600);
    let restored = rig.restore(number).unwrap();

    assert_eq!(restored.saved, Vec::<u64>::new());
    assert_eq!(fs::read_to_string(rig.inside("f")).unwrap(), "before");
    let facts = fs::metadata(rig.inside("f")).unwrap();
    assert_eq!((facts.mode() & 0o7777, facts.modified().unwrap()), (0o755, long_ago()));
}

#[test]
fn newer_content_is_kept_before_an_older_state_comes_back() {
    let rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("f"), "first").unwrap();
    let number = rig.write("f", "by the agent");
    fs::write(rig.inside("f"), "by the person").unwrap();

    let restored = rig.restore(number).unwrap();
    assert_eq!(fs::read_to_string(rig.inside("f")).unwrap(), "first");
    let [saved] = restored.saved[..] else { panic!("one saved state") };
    rig.restore(saved).unwrap();

    assert_eq!(fs::read_to_string(rig.inside("f")).unwrap(), "by the person");
}

#[test]
fn what_stands_in_the_way_of_a_deleted_file_is_set_aside() {
    let rig = Rig::new(UndoLimits::default());
    fs::create_dir(rig.inside("d")).unwrap();
    fs::write(rig.inside("d/f"), "old").unwrap();
    let number = rig.delete("d");
    fs::write(rig.inside("d"), "now a file").unwrap();

    let restored = rig.restore(number).unwrap();

    assert_eq!(fs::read_to_string(rig.inside("d/f")).unwrap(), "old");
    assert_eq!(restored.saved.len(), 1);
    rig.restore(restored.saved[0]).unwrap();
    assert_eq!(fs::read_to_string(rig.inside("d")).unwrap(), "now a file");
}

#[test]
fn a_move_goes_back_and_brings_back_what_it_replaced() {
    let rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("a"), "a").unwrap();
    fs::write(rig.inside("b"), "b").unwrap();

    let number = rig.rename("a", "b");
    assert_eq!(fs::read_to_string(rig.inside("b")).unwrap(), "a");
    let entry = rig.store.list(Some(&chat())).remove(0);
    assert_eq!((entry.kind, entry.bytes), (UndoKind::Moved, 1));
    rig.restore(number).unwrap();

    assert_eq!(fs::read_to_string(rig.inside("a")).unwrap(), "a");
    assert_eq!(fs::read_to_string(rig.inside("b")).unwrap(), "b");
}

#[test]
fn a_move_whose_target_was_moved_on_is_left_alone() {
    let rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("a"), "a").unwrap();
    let number = rig.rename("a", "b");
    fs::remove_file(rig.inside("b")).unwrap();

    assert!(matches!(rig.restore(number), Err(UndoFault::MovedOn(_))));
}

#[test]
fn a_restore_never_goes_through_a_link_or_into_another_folder() {
    let rig = Rig::new(UndoLimits::default());
    fs::create_dir(rig.base.join("out")).unwrap();
    fs::create_dir(rig.inside("d")).unwrap();
    fs::write(rig.inside("d/f"), "x").unwrap();
    let number = rig.delete("d/f");
    fs::remove_dir(rig.inside("d")).unwrap();
    symlink(rig.base.join("out"), rig.inside("d")).unwrap();

    assert!(matches!(rig.restore(number), Err(UndoFault::Path(PathFault::Refused(_)))));
    assert_eq!(fs::read_dir(rig.base.join("out")).unwrap().count(), 0);
    fs::rename(rig.base.join("R"), rig.base.join("R2")).unwrap();
    fs::create_dir(rig.base.join("R")).unwrap();
    assert!(matches!(rig.restore(number), Err(UndoFault::OtherRoot)));
}

#[test]
fn a_torn_line_and_a_change_that_never_happened_are_put_right_at_the_next_start() {
    let mut rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("f"), "x").unwrap();
    fs::write(rig.inside("g"), "y").unwrap();
    let kept = rig.delete("f");
    let forgotten = rig.write("g", "z");
    rig.store.forget(forgotten);
    let journal = rig.base.join("undo/journal.jsonl");
    let mut text = fs::read(&journal).unwrap();
    text.extend_from_slice(br#"{"entry":{"number":7,"at_ms"#);
    fs::write(&journal, text).unwrap();
    fs::write(rig.base.join("undo/kept/99"), "stranger").unwrap();

    rig.reopen();

    assert_eq!(rig.store.list(None).iter().map(|entry| entry.number).collect::<Vec<_>>(), [kept]);
    assert_eq!(fs::read_dir(rig.base.join("undo/kept")).unwrap().count(), 1);
    fs::write(rig.inside("h"), "").unwrap();
    assert!(rig.delete("h") > forgotten, "numbers are never used again");
}

#[test]
fn the_oldest_goes_for_space_and_for_age_and_too_large_is_refused_untouched() {
    let rig = Rig::new(UndoLimits { total_bytes: 10, age: Duration::from_secs(60) });
    for name in ["a", "b", "c"] {
        fs::write(rig.inside(name), "12345").unwrap();
    }
    fs::write(rig.inside("big"), "12345678901").unwrap();

    let fault = rig.store.keep(None, &Change::Delete { root: &rig.root, at: &rig.spot("big") }).unwrap_err();
    assert!(matches!(fault, PathFault::File { reason: IoReason::NoSpace, .. }));
    assert!(rig.inside("big").exists());
    let first = rig.delete("a");
    let second = rig.delete("b");
    let third = rig.delete("c");
    assert_eq!(rig.store.list(None).iter().map(|entry| entry.number).collect::<Vec<_>>(), [third, second]);
    assert!(matches!(rig.restore(first), Err(UndoFault::Unknown(_))));
    rig.clock.advance(Duration::from_secs(61));
    fs::write(rig.inside("d"), "1").unwrap();
    let fourth = rig.delete("d");
    assert_eq!(rig.store.list(None).iter().map(|entry| entry.number).collect::<Vec<_>>(), [fourth]);
}

#[test]
fn a_store_on_another_file_system_takes_trees_over_by_copy_and_gives_them_back() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: there is no second file system at /dev/shm");
        return;
    };
    let rig = Rig::new(UndoLimits::default());
    if fs::metadata(other.path()).unwrap().dev() == fs::metadata(&rig.base).unwrap().dev() {
        eprintln!("skipped: /dev/shm is no other file system here");
        return;
    }
    let store = UndoStore::open(&other.path().join("undo"), rig.clock.clone()).unwrap();
    fs::create_dir_all(rig.inside("d/e")).unwrap();
    fs::write(rig.inside("d/e/f"), "content").unwrap();
    fs::set_permissions(rig.inside("d/e/f"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::File::open(rig.inside("d/e/f")).unwrap().set_modified(long_ago()).unwrap();
    fs::File::open(rig.inside("d/e")).unwrap().set_modified(long_ago()).unwrap();

    let number = store.keep(None, &Change::Delete { root: &rig.root, at: &rig.spot("d") }).unwrap();
    assert_eq!(fs::read_dir(rig.inside("")).unwrap().count(), 0);
    store.restore(number, &open).unwrap();

    assert_eq!(fs::read_to_string(rig.inside("d/e/f")).unwrap(), "content");
    let facts = fs::metadata(rig.inside("d/e/f")).unwrap();
    assert_eq!((facts.mode() & 0o777, facts.modified().unwrap()), (0o640, long_ago()));
    assert_eq!(fs::metadata(rig.inside("d/e")).unwrap().modified().unwrap(), long_ago());
}
