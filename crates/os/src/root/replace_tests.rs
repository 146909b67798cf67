use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::super::unnamed::{without_links_of_open_files, without_unnamed_files};
use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Replaces `old`, makes `new` and is refused at `taken`; `between` sees the folder when all is written, before a name.
fn assert_writes_are_whole(between: &dyn Fn(&[String])) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let folder = Folder::open_ambient(path).unwrap();
    fs::write(path.join("old"), "before").unwrap();
    fs::set_permissions(path.join("old"), fs::Permissions::from_mode(0o640)).unwrap();
    let attributes = set_attribute(&File::open(path.join("old")).unwrap(), c"user.note", b"kept");
    fs::write(path.join("taken"), "theirs").unwrap();
    let plain = fs::metadata(path.join("taken")).unwrap().mode();

    let (former, facts) = folder.open_file(OsStr::new("old")).unwrap();
    let mut pending = Pending::start(&folder, Some(&facts)).unwrap();
    assert_eq!(Facts::of_file(pending.file()).unwrap().mode, 0o600, "never wider than its target");
    pending.write(b"after", &|| false).unwrap().unwrap();
    pending.dress_like(&former, &facts).unwrap();
    between(&names(path));
    let left = pending.publish(OsStr::new("old"), Overwrite::Allowed).unwrap();
    assert_eq!((left.mode, left.uid, left.gid, left.links), (0o640, facts.uid, facts.gid, 1));
    assert!(left.same_as(&folder.facts(OsStr::new("old")).unwrap()));
    if attributes {
        let now = File::open(path.join("old")).unwrap();
        assert_eq!(attribute(&now, c"user.note").unwrap(), b"kept");
    }

    let mut pending = Pending::start(&folder, None).unwrap();
    pending.write(b"fresh", &|| false).unwrap().unwrap();
    between(&names(path));
    let left = pending.publish(OsStr::new("new"), Overwrite::Never).unwrap();
    assert_eq!((left.mode, left.links), (plain & 0o777, 1), "the user's mask holds");

    let mut pending = Pending::start(&folder, None).unwrap();
    pending.write(b"ours", &|| false).unwrap().unwrap();
    assert_eq!(pending.publish(OsStr::new("taken"), Overwrite::Never).unwrap_err(), PathFault::Exists);

    let mut pending = Pending::start(&folder, None).unwrap();
    pending.write(b"given up", &|| false).unwrap().unwrap();
    drop(pending);

    let content = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!((content("old"), content("new"), content("taken")), ("after".into(), "fresh".into(), "theirs".into()));
    assert_eq!(names(path), ["new", "old", "taken"], "nothing temporary is left");
}

fn temporary(names: &[String]) -> usize {
    names.iter().filter(|name| name.starts_with(".drawbridge-")).count()
}

#[test]
fn what_is_being_written_has_no_name_that_a_kill_could_leave() {
    let dir = tempfile::tempdir().unwrap();
    let expected = usize::from(start_unnamed(&Folder::open_ambient(dir.path()).unwrap(), 0o666).is_none());
    assert_writes_are_whole(&|names| assert_eq!(temporary(names), expected, "{names:?}"));
}

#[test]
fn a_file_system_without_nameless_files_gets_the_same_results() {
    for refusal in [Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT, Errno::INVAL] {
        without_unnamed_files(Some(refusal));
        assert_writes_are_whole(&|names| assert_eq!(temporary(names), 1, "{names:?}"));
        without_unnamed_files(None);
    }
}

#[test]
fn a_system_that_names_no_open_files_gets_the_same_results() {
    without_links_of_open_files(true);
    assert_writes_are_whole(&|_| {});
    without_links_of_open_files(false);
}

#[test]
fn a_folder_that_is_gone_is_told_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open_ambient(dir.path()).unwrap();
    let pending = Pending::start(&folder, None).unwrap();
    fs::remove_dir_all(dir.path()).unwrap();

    assert_eq!(pending.publish(OsStr::new("f"), Overwrite::Never).unwrap_err(), PathFault::NotFound);
    assert_eq!(Pending::start(&folder, None).unwrap_err(), PathFault::NotFound);
}
