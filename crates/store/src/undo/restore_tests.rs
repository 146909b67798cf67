//! Taking back all that a chat did, on real files.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::super::tests::{Rig, chat, long_ago};
use super::super::{UndoCounts, UndoLimits};
use super::*;

/// Everything that can be seen of a folder: path, mode, change time, and content or target. Of folders that changes were
/// made in, the time is not looked at.
fn picture(folder: &Path, out: &mut Vec<String>) {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for path in names {
        let facts = fs::symlink_metadata(&path).unwrap();
        let head = format!("{} {:o} {}.{}", path.display(), facts.mode(), facts.mtime(), facts.mtime_nsec());
        if facts.is_symlink() {
            out.push(format!("{head} -> {}", fs::read_link(&path).unwrap().display()));
        } else if facts.is_dir() {
            out.push(head);
            picture(&path, out);
        } else {
            out.push(format!("{head} {:?}", fs::read(&path).unwrap()));
        }
    }
}

fn picture_of(folder: &Path) -> Vec<String> {
    let mut out = Vec::new();
    picture(folder, &mut out);
    out
}

fn put(path: &Path, content: &str, mode: u32) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::File::open(path).unwrap().set_modified(long_ago()).unwrap();
}

#[test]
fn a_whole_chat_taken_back_newest_first_leaves_everything_as_it_was_and_nothing_beside_it() {
    let mut rig = Rig::new(UndoLimits::default());
    put(&rig.inside("notes.txt"), "my notes", 0o640);
    put(&rig.inside("secret"), "read only", 0o400);
    put(&rig.inside("target"), "was here before", 0o604);
    fs::create_dir_all(rig.inside("tree/deep")).unwrap();
    put(&rig.inside("tree/deep/run"), "#!/bin/sh", 0o4755);
    put(&rig.inside("partner"), "shared", 0o644);
    fs::hard_link(rig.inside("partner"), rig.inside("tree/linked")).unwrap();
    symlink("../nowhere", rig.inside("tree/link")).unwrap();
    for folder in ["tree/deep", "tree"] {
        fs::File::open(rig.inside(folder)).unwrap().set_modified(long_ago()).unwrap();
    }
    let before = picture_of(&rig.inside(""));

    rig.write("notes.txt", "by the agent");
    rig.write("notes.txt", "by the agent again");
    rig.write("secret", "opened");
    rig.create("new/place/a.txt", "a");
    rig.write("new/place/a.txt", "a, better");
    rig.rename("new/place/a.txt", "target");
    rig.write("target", "a, best");
    rig.rename("notes.txt", "renamed.txt");
    rig.write("renamed.txt", "third");
    rig.delete("tree");
    rig.delete("renamed.txt");
    let counts = UndoCounts { created: 1, replaced: 6, moved: 2, deleted: 2 };
    assert_eq!(rig.store.counts(&chat()), counts);
    rig.reopen();
    assert_eq!(rig.store.counts(&chat()), counts);

    let changes = rig.store.list(Some(&chat()));
    let saved: Vec<u64> = changes.iter().flat_map(|change| rig.restore(change.number).unwrap().saved).collect();

    assert_eq!(picture_of(&rig.inside("")), before);
    assert_eq!(saved, Vec::<u64>::new(), "nobody worked on it, so nothing is newer");
    assert_eq!(rig.store.list(None).len(), changes.len());
    assert_eq!(rig.store.counts(&chat()), UndoCounts::default());
    let (one, two) = (fs::metadata(rig.inside("partner")).unwrap(), fs::metadata(rig.inside("tree/linked")).unwrap());
    assert_eq!((one.ino(), one.nlink()), (two.ino(), 2));
}

#[test]
fn work_of_the_person_between_two_changes_of_a_chat_is_kept() {
    let rig = Rig::new(UndoLimits::default());
    put(&rig.inside("f"), "first", 0o644);
    let one = rig.write("f", "agent 1");
    fs::write(rig.inside("f"), "person").unwrap();
    let two = rig.write("f", "agent 2");

    let newest = rig.restore(two).unwrap();
    assert_eq!((newest.saved.len(), fs::read_to_string(rig.inside("f")).unwrap().as_str()), (0, "person"));
    let oldest = rig.restore(one).unwrap();

    assert_eq!(fs::read_to_string(rig.inside("f")).unwrap(), "first");
    let [kept] = oldest.saved[..] else { panic!("the person's work is kept: {oldest:?}") };
    rig.restore(kept).unwrap();
    assert_eq!(fs::read_to_string(rig.inside("f")).unwrap(), "person");
}

#[test]
fn content_that_comes_back_brings_no_set_id_bits_and_leaves_hard_link_partners_alone() {
    let rig = Rig::new(UndoLimits::default());
    put(&rig.inside("run"), "old", 0o4755);
    fs::hard_link(rig.inside("run"), rig.inside("partner")).unwrap();

    let number = rig.write("run", "new");
    rig.restore(number).unwrap();

    let (run, partner) = (fs::metadata(rig.inside("run")).unwrap(), fs::metadata(rig.inside("partner")).unwrap());
    assert_eq!((run.mode() & 0o7777, partner.mode() & 0o7777), (0o755, 0o4755));
    assert_eq!(fs::read_to_string(rig.inside("run")).unwrap(), "old");
    assert_eq!(fs::read_to_string(rig.inside("partner")).unwrap(), "old");
    assert_eq!(run.modified().unwrap(), long_ago());
}

#[test]
fn an_obstacle_stops_one_change_and_what_comes_after_is_taken_back_all_the_same() {
    let rig = Rig::new(UndoLimits::default());
    put(&rig.inside("a"), "a", 0o644);
    put(&rig.inside("b"), "b", 0o644);
    put(&rig.inside("c"), "c", 0o644);
    rig.write("a", "changed");
    rig.rename("b", "moved");
    rig.write("c", "changed");
    fs::remove_file(rig.inside("moved")).unwrap();

    let results: Vec<_> = rig.store.list(Some(&chat())).iter().map(|one| rig.restore(one.number)).collect();

    assert!(matches!(results[..], [Ok(_), Err(UndoFault::MovedOn(_)), Ok(_)]), "{results:?}");
    assert_eq!(fs::read_to_string(rig.inside("a")).unwrap(), "a");
    assert_eq!(fs::read_to_string(rig.inside("c")).unwrap(), "c");
    assert_eq!(rig.store.counts(&chat()), UndoCounts { moved: 1, ..UndoCounts::default() });
}

#[test]
fn counts_follow_what_is_forgotten_and_what_is_dropped_for_space() {
    let rig = Rig::new(UndoLimits { entries: 3, ..UndoLimits::default() });
    for name in ["a", "b", "c", "d"] {
        rig.create(name, "x");
    }
    assert_eq!(rig.store.counts(&chat()), UndoCounts { created: 3, ..UndoCounts::default() });
    let number = rig.write("d", "y");
    rig.store.forget(number);

    assert_eq!(rig.store.counts(&chat()), UndoCounts { created: 2, ..UndoCounts::default() });
    assert_eq!(rig.store.list(Some(&chat())).len(), 2);
}
