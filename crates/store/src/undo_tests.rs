use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use drawbridge_core::ManualClock;
use drawbridge_os::root::{Found, Last, Pending, Reached, RootOptions};

use super::*;

pub(super) struct Rig {
    _dir: tempfile::TempDir,
    base: PathBuf,
    clock: Arc<ManualClock>,
    pub(super) store: UndoStore,
    root: Root,
}

impl Rig {
    pub(super) fn new(limits: UndoLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("R")).unwrap();
        let clock = Arc::new(ManualClock::starting_at(WallMs(1_700_000_000_000)));
        let store = UndoStore::open_with(&base.join("undo"), clock.clone(), limits).unwrap();
        let root = open(base.join("R").to_str().unwrap()).unwrap();
        Self { _dir: dir, base, clock, store, root }
    }

    pub(super) fn reopen(&mut self) {
        self.store = UndoStore::open(&self.base.join("undo"), self.clock.clone()).unwrap();
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.base.join("R").join(path)
    }

    fn spot(&self, path: &str) -> Spot {
        match self.root.walk(path, Last::Keep).unwrap() {
            Reached::Found(Found { at: Some(at), .. }) => at,
            Reached::Missing(missing) => missing.at,
            Reached::Found(_) => panic!("the root is no spot"),
        }
    }

    pub(super) fn delete(&self, path: &str) -> u64 {
        let number = self.keep(&Change::Delete { root: &self.root, at: &self.spot(path) });
        self.store.changed(number, None);
        number
    }

    fn keep(&self, change: &Change<'_>) -> u64 {
        self.store.keep(Some(&chat()), change, &|| false).unwrap().unwrap()
    }

    /// What the files capability does for a file that is new.
    pub(super) fn create(&self, path: &str, content: &str) -> u64 {
        let Reached::Missing(missing) = self.root.walk(path, Last::Follow).unwrap() else { panic!("{path} is there") };
        let (at, made_folders) = self.root.make_parents(missing).unwrap();
        let mut pending = Pending::start(at.folder(), None).unwrap();
        pending.write(content.as_bytes(), &|| false).unwrap();
        let number = self.keep(&Change::Create { root: &self.root, at: &at, made_folders });
        let left = pending.publish(&at.name, Overwrite::Never).unwrap();
        self.store.changed(number, Some(Stamp::from(&left)));
        number
    }

    /// What the files capability does.
    pub(super) fn write(&self, path: &str, content: &str) -> u64 {
        let at = self.spot(path);
        let (former, facts) = at.folder().open_file(&at.name).unwrap();
        let change = Change::Replace { root: &self.root, at: &at, former: &former };
        let number = self.keep(&change);
        let mut pending = Pending::start(at.folder(), Some(&facts)).unwrap();
        pending.write(content.as_bytes(), &|| false).unwrap();
        pending.dress_like(&former, &facts).unwrap();
        let left = pending.publish(&at.name, Overwrite::Allowed).unwrap();
        self.store.changed(number, Some(Stamp::from(&left)));
        number
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> u64 {
        let (from, to) = (self.spot(from), self.spot(to));
        let replaced = to.folder().open_file(&to.name).ok();
        let change = Change::Move {
            root: &self.root,
            from: &from,
            to: &to,
            replaced: replaced.as_ref().map(|(file, _)| Replaced::File(file)),
        };
        let number = self.keep(&change);
        from.folder().rename(&from.name, to.folder(), &to.name, Overwrite::Allowed).unwrap();
        self.store.changed(number, Some(Stamp::from(&to.facts().unwrap())));
        number
    }

    pub(super) fn restore(&self, number: u64) -> Result<Restored, UndoFault> {
        self.store.restore(number, &open)
    }
}

fn open(path: &str) -> Result<Root, RootFault> {
    Root::open_with(Path::new(path), RootOptions::default())
}

pub(super) fn chat() -> SessionId {
    SessionId::parse("chat-1").unwrap()
}

pub(super) fn long_ago() -> SystemTime {
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
    let rig = Rig::new(UndoLimits { total_bytes: 10, age: Duration::from_secs(60), entries: 100 });
    for name in ["a", "b", "c"] {
        fs::write(rig.inside(name), "12345").unwrap();
    }
    fs::write(rig.inside("big"), "12345678901").unwrap();

    let fault = rig.store.keep(None, &Change::Delete { root: &rig.root, at: &rig.spot("big") }, &|| false).unwrap_err();
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

    let (at, checks) = (rig.spot("d"), std::cell::Cell::new(0));
    let change = Change::Delete { root: &rig.root, at: &at };
    let third_look = || {
        checks.set(checks.get() + 1);
        checks.get() > 2
    };
    assert_eq!(store.keep(None, &change, &third_look).unwrap(), None, "cancelled half way");
    assert!(rig.inside("d/e/f").exists() && store.list(None).is_empty());
    assert_eq!(fs::read_dir(other.path().join("undo/kept")).unwrap().count(), 0);
    let number = store.keep(None, &change, &|| false).unwrap().unwrap();
    assert_eq!(fs::read_dir(rig.inside("")).unwrap().count(), 0);
    store.restore(number, &open).unwrap();

    assert_eq!(fs::read_to_string(rig.inside("d/e/f")).unwrap(), "content");
    let facts = fs::metadata(rig.inside("d/e/f")).unwrap();
    assert_eq!((facts.mode() & 0o777, facts.modified().unwrap()), (0o640, long_ago()));
    assert_eq!(fs::metadata(rig.inside("d/e")).unwrap().modified().unwrap(), long_ago());
}

#[test]
fn a_new_file_is_taken_away_again_with_the_folders_made_for_it() {
    let mut rig = Rig::new(UndoLimits::default());
    fs::create_dir(rig.inside("a")).unwrap();

    let deep = rig.create("a/b/c/f", "new");
    let flat = rig.create("a/g", "new");
    assert_eq!(rig.store.list(None)[0].kind, UndoKind::Created);
    rig.reopen();
    rig.restore(deep).unwrap();
    assert!(rig.inside("a").exists() && !rig.inside("a/b").exists(), "only what was made for it goes");
    assert_eq!(rig.restore(flat).unwrap().saved, Vec::<u64>::new());

    assert_eq!(fs::read_dir(rig.inside("a")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(rig.base.join("undo/kept")).unwrap().count(), 0);
    assert!(matches!(rig.restore(flat), Err(UndoFault::AlreadyRestored(_))));
}

#[test]
fn work_on_a_new_file_is_kept_when_the_file_is_taken_away() {
    let rig = Rig::new(UndoLimits::default());
    let number = rig.create("a/f", "by the agent");
    fs::write(rig.inside("a/f"), "and the person's own words").unwrap();
    fs::write(rig.inside("a/other"), "").unwrap();

    let [saved] = rig.restore(number).unwrap().saved[..] else { panic!("one saved state") };
    assert!(!rig.inside("a/f").exists() && rig.inside("a/other").exists());
    rig.restore(saved).unwrap();
    assert_eq!(fs::read_to_string(rig.inside("a/f")).unwrap(), "and the person's own words");

    let moved = rig.create("n", "x");
    fs::rename(rig.inside("n"), rig.inside("m")).unwrap();
    assert!(matches!(rig.restore(moved), Err(UndoFault::Gone(_))));
    fs::create_dir(rig.inside("n")).unwrap();
    assert!(matches!(rig.restore(moved), Err(UndoFault::Gone(_))), "a folder of that name is somebody else's");
}

#[test]
fn an_empty_folder_or_link_that_a_move_replaced_is_made_again() {
    let rig = Rig::new(UndoLimits::default());
    for name in ["from", "to"] {
        fs::create_dir(rig.inside(name)).unwrap();
    }
    fs::write(rig.inside("from/f"), "x").unwrap();
    fs::set_permissions(rig.inside("to"), fs::Permissions::from_mode(0o2750)).unwrap();
    fs::write(rig.inside("file"), "y").unwrap();
    symlink("no/where", rig.inside("link")).unwrap();
    fs::File::open(rig.inside("to")).unwrap().set_modified(long_ago()).unwrap();
    let carry = |from: &str, to: &str, replaced: Replaced<'_>| {
        let (from, to) = (rig.spot(from), rig.spot(to));
        let number = rig.keep(&Change::Move { root: &rig.root, from: &from, to: &to, replaced: Some(replaced) });
        from.folder().rename(&from.name, to.folder(), &to.name, Overwrite::Allowed).unwrap();
        rig.store.changed(number, Some(Stamp::from(&to.facts().unwrap())));
        number
    };

    let folder = carry("from", "to", Replaced::EmptyFolder(&rig.spot("to").facts().unwrap()));
    let link = carry("file", "link", Replaced::Link(OsStr::new("no/where")));
    assert!(rig.inside("to/f").exists() && fs::read_to_string(rig.inside("link")).unwrap() == "y");
    rig.restore(link).unwrap();
    rig.restore(folder).unwrap();

    assert!(rig.inside("from/f").exists() && fs::read_dir(rig.inside("to")).unwrap().count() == 0);
    let to = fs::metadata(rig.inside("to")).unwrap();
    assert_eq!((to.mode() & 0o7777, to.modified().unwrap()), (0o2750, long_ago()));
    assert_eq!(fs::read_link(rig.inside("link")).unwrap(), PathBuf::from("no/where"));
    assert_eq!(fs::read_to_string(rig.inside("file")).unwrap(), "y");
}

#[test]
fn the_store_can_be_used_while_something_large_is_being_kept() {
    let rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("big"), vec![7_u8; 3 * 1024 * 1024]).unwrap();
    fs::write(rig.inside("small"), "before").unwrap();
    let at = rig.spot("big");
    let (former, _) = at.folder().open_file(&at.name).unwrap();
    let inner = std::cell::Cell::new(None);
    // Called between two pieces of the copy, where a held lock would never come free.
    let meanwhile = || {
        if inner.get().is_none() {
            inner.set(Some(rig.write("small", "after")));
        }
        false
    };

    let outer = rig.store.keep(None, &Change::Replace { root: &rig.root, at: &at, former: &former }, &meanwhile);

    let (outer, inner) = (outer.unwrap().unwrap(), inner.get());
    if inner.is_none() {
        eprintln!("skipped in part: this file system copies in one step");
        return;
    }
    assert_eq!(inner, Some(outer + 1));
    rig.restore(outer + 1).unwrap();
    assert_eq!(fs::read_to_string(rig.inside("small")).unwrap(), "before");
}

#[test]
fn a_cancelled_keep_leaves_nothing_behind() {
    let rig = Rig::new(UndoLimits::default());
    fs::write(rig.inside("f"), "content").unwrap();
    let at = rig.spot("f");
    let (former, _) = at.folder().open_file(&at.name).unwrap();

    let change = Change::Replace { root: &rig.root, at: &at, former: &former };
    let kept = rig.store.keep(None, &change, &|| true).unwrap();

    if kept.is_some() {
        eprintln!("skipped: this file system copies in one step");
        return;
    }
    assert!(rig.store.list(None).is_empty());
    assert_eq!(fs::read_dir(rig.base.join("undo/kept")).unwrap().count(), 0);
}

#[test]
fn the_number_of_entries_and_the_journal_stay_bounded() {
    let limits = UndoLimits { entries: 3, ..UndoLimits::default() };
    let rig = Rig::new(limits);

    let numbers: Vec<u64> = (0..40).map(|n| rig.create(&format!("f{n}"), "")).collect();

    let left: Vec<u64> = rig.store.list(None).iter().map(|entry| entry.number).collect();
    assert_eq!(left, numbers.iter().rev().take(3).copied().collect::<Vec<_>>());
    let size = |path: &str| fs::metadata(rig.base.join(path)).unwrap().len();
    let before = size("undo/journal.jsonl");
    for n in 40..50 {
        rig.create(&format!("f{n}"), "");
    }
    assert!(size("undo/journal.jsonl") < before, "it was written anew");
}

/// Everything in a folder of kept things by name and content.
fn contents(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())).collect()
}

/// Two kept files, `f` and `g`, and the journal that names them.
fn with_two_kept() -> (Rig, Vec<u8>) {
    let rig = Rig::new(UndoLimits::default());
    for name in ["f", "g"] {
        fs::write(rig.inside(name), name).unwrap();
        rig.delete(name);
    }
    let text = fs::read(rig.base.join("undo/journal.jsonl")).unwrap();
    (rig, text)
}

#[test]
fn a_journal_that_cannot_be_read_is_set_aside_with_everything_kept() {
    let noise: Vec<u8> = (0..300_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut no_end = noise.clone();
    no_end.retain(|byte| *byte != b'\n');
    let (_, sound) = with_two_kept();
    let middle = sound.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let with = |at: usize, extra: &[u8]| [&sound[..at], extra, &sound[at..]].concat();
    for (what, damaged) in [
        ("a newer version", b"{\"version\":999}\n".to_vec()),
        ("a newer version without a line end", b"{\"version\":999}".to_vec()),
        ("noise", noise),
        ("noise without a line end", no_end),
        ("zeros", vec![0; 4096]),
        ("nothing", Vec::new()),
        ("noise in the middle", with(middle, b"\xff\x00\xfe\n")),
        ("a newer line at the end", with(sound.len(), b"{\"pinned\":{\"number\":1}}\n")),
        ("a newer line at the end without a line end", with(sound.len(), b"{\"pinned\":{\"number\":1}}")),
        ("a number beyond all", with(middle, b"{\"gone\":{\"number\":18446744073709551615,\"next\":1}}\n")),
        ("a next number beyond all", with(middle, b"{\"gone\":{\"number\":1,\"next\":18446744073709551615}}\n")),
    ] {
        let (mut rig, _) = with_two_kept();
        let undo = rig.base.join("undo");
        let kept = contents(&undo.join("kept"));
        assert_eq!(kept.len(), 2);
        fs::write(undo.join("journal.jsonl"), &damaged).unwrap();

        rig.reopen();

        assert_eq!(contents(&undo.join("kept.broken-1")), kept, "{what}");
        let named = if damaged.is_empty() { "kept.broken-1" } else { "journal.jsonl.broken-1" };
        assert_eq!(rig.store.set_aside(), Some(undo.join(named)), "{what}");
        if !damaged.is_empty() {
            assert_eq!(fs::read(undo.join(named)).unwrap(), damaged, "{what}");
        }
        assert_eq!(rig.store.list(None), [], "{what}");

        fs::write(rig.inside("h"), "new").unwrap();
        let number = rig.delete("h");
        assert!(number > 1_000_000, "{what}: {number} could be taken for an older one");
        rig.reopen();
        assert_eq!(rig.store.set_aside(), None, "{what}");
        rig.restore(number).unwrap();
        assert_eq!(fs::read_to_string(rig.inside("h")).unwrap(), "new", "{what}");
        assert_eq!(contents(&undo.join("kept.broken-1")), kept, "{what}");
    }
}

#[test]
fn a_second_broken_journal_gets_names_and_numbers_of_its_own() {
    let (mut rig, _) = with_two_kept();
    let undo = rig.base.join("undo");
    fs::write(undo.join("journal.jsonl"), "{\"version\":999}\n").unwrap();
    rig.reopen();
    fs::write(rig.inside("h"), "new").unwrap();
    let first = rig.delete("h");

    fs::remove_file(undo.join("journal.jsonl")).unwrap();
    rig.reopen();

    assert_eq!(rig.store.set_aside(), Some(undo.join("kept.broken-2")));
    assert_eq!(contents(&undo.join("kept.broken-1")).len(), 2);
    assert_eq!(contents(&undo.join("kept.broken-2")), BTreeMap::from([(first.to_string(), "new".to_owned())]));
    fs::write(rig.inside("i"), "").unwrap();
    let second = rig.delete("i");
    assert!(second > first);

    fs::remove_file(undo.join("journal.jsonl")).unwrap();
    fs::remove_dir_all(undo.join("kept")).unwrap();
    rig.reopen();

    assert_eq!(rig.store.set_aside(), None, "nothing was left to set aside");
    fs::write(rig.inside("j"), "").unwrap();
    assert!(rig.delete("j") > first, "numbers of what was set aside are not given again");
}

#[test]
fn a_sound_journal_with_a_torn_end_is_repaired_and_content_without_a_line_is_swept() {
    let (mut rig, sound) = with_two_kept();
    let undo = rig.base.join("undo");
    let last = sound[..sound.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in last + 1..sound.len() {
        fs::write(undo.join("journal.jsonl"), &sound[..end]).unwrap();
        fs::write(undo.join("kept/99"), "half").unwrap();

        rig.reopen();

        assert_eq!(rig.store.set_aside(), None, "cut at {end}");
        assert_eq!(rig.store.list(None).len(), 2, "cut at {end}");
        assert_eq!(contents(&undo.join("kept")).len(), 2, "cut at {end}");
    }
    assert_eq!(fs::read_dir(&undo).unwrap().count(), 2, "nothing was set aside");
}
