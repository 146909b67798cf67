use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use drawbridge_core::RefusalReason;

use super::super::RootOptions;
use super::super::folder::without_openat2;
use super::*;

struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("R/a/b")).unwrap();
        fs::create_dir(base.join("out")).unwrap();
        fs::write(base.join("out/f"), "secret").unwrap();
        fs::write(base.join("R/a/b/f"), "inside").unwrap();
        for (name, target) in [
            ("rel", "a/b/f"),
            ("up", "a/../a/b"),
            ("out", "../out"),
            ("magic", "/proc/self/root/etc/hostname"),
            ("loop", "loop"),
        ] {
            symlink(target, base.join("R").join(name)).unwrap();
        }
        symlink(base.join("R/a"), base.join("R/abs")).unwrap();
        symlink(base.join("out/f"), base.join("R/out-abs")).unwrap();
        Self { _dir: dir, base }
    }

    fn root(&self, protected: &[&str]) -> Root {
        let protected = protected.iter().map(|path| self.base.join(path)).collect();
        Root::open_with(&self.base.join("R"), RootOptions { protected, home: None }).unwrap()
    }
}

const INSIDE: [&str; 5] = ["a/b/f", "./a//b/f", "rel", "up/f", "abs/b/f"];
const OUTSIDE: [&str; 6] = ["out/f", "../out/f", "a/../../out/f", "out-abs", "magic", "a/b/../../../out/f"];

fn content(opened: (File, Facts)) -> String {
    std::io::read_to_string(opened.0).unwrap()
}

#[track_caller]
fn assert_all_paths_end_where_they_should(root: &Root) {
    for path in INSIDE {
        assert_eq!(content(root.open_file(path).unwrap()), "inside", "{path}");
    }
    for path in OUTSIDE {
        assert_eq!(root.open_file(path).unwrap_err(), PathFault::Refused(RefusalReason::Outside), "{path}");
        assert!(root.open_file_if_cached(path).is_none(), "{path}");
        assert!(root.look_if_cached(path).is_none(), "{path}");
    }
    assert!(matches!(root.open_file("loop"), Err(PathFault::BadPath(_))));
    assert_eq!(root.open_file("a/none").unwrap_err(), PathFault::NotFound);
    assert_eq!(root.open_file("a/b/f/below").unwrap_err(), PathFault::NotFound);
    assert!(matches!(root.open_file("a"), Err(PathFault::File { reason: IoReason::IsDirectory, .. })));
    assert!(matches!(root.open_file(""), Err(PathFault::File { reason: IoReason::IsDirectory, .. })));
}

#[test]
fn both_ways_lead_to_the_same_place() {
    assert_all_paths_end_where_they_should(&Place::new().root(&[]));
}

#[test]
fn a_kernel_or_filter_without_the_call_gets_the_same_answers() {
    let place = Place::new();
    for refusal in [rustix::io::Errno::NOSYS, rustix::io::Errno::PERM] {
        let root = place.root(&[]);
        without_openat2(Some(refusal));
        assert_all_paths_end_where_they_should(&root);
        assert!(root.open_directly("a/b/f", ResolveFlags::empty()).is_none(), "the short way is shut");
        without_openat2(None);
    }
}

#[test]
fn the_short_way_is_really_taken_for_plain_paths() {
    let place = Place::new();
    let root = place.root(&["elsewhere/state"]);
    let absolute = format!("{}/a/b/f", root.path());

    for path in ["a/b/f", "rel", absolute.as_str()] {
        assert_eq!(content(root.open_directly(path, ResolveFlags::empty()).unwrap()), "inside", "{path}");
    }
    for path in ["abs/b/f", "out/f", "a/../a/b/f"] {
        assert!(root.open_directly(path, ResolveFlags::empty()).is_none(), "{path} needs the walk");
    }
    if root.never_waits {
        let (path, facts) = root.look_if_cached(&absolute).unwrap();
        assert_eq!((path, facts.size_bytes), (absolute, 6));
        assert!(root.look_if_cached("rel").is_none(), "a link needs the walk");
        let (file, facts) = root.open_file_if_cached("a/b/f").unwrap();
        if let Some(bytes) = read_if_cached(&file, 0, 6) {
            assert_eq!((bytes.as_slice(), facts.size_bytes), (&b"inside"[..], 6));
        }
        assert!(read_if_cached(&file, 3, 6).is_none(), "less than was asked for");
    }
}

#[test]
fn our_own_folders_close_the_short_way_also_before_they_exist() {
    let place = Place::new();
    symlink("nowhere", place.base.join("dangling")).unwrap();
    for own in ["R/a/state", "R/a", "R/not/yet", "dangling"] {
        let root = place.root(&[own]);
        assert!(root.open_directly("a/b/f", ResolveFlags::empty()).is_none(), "{own}");
        assert!(root.look_if_cached("a/b/f").is_none() && root.open_file_if_cached("a/b/f").is_none(), "{own}");
    }
    let refused = place.root(&["R/a"]).open_file("a/b/f").unwrap_err();
    assert_eq!(refused, PathFault::Refused(RefusalReason::Protected));
}

#[test]
fn a_replaced_root_is_noticed_on_the_short_way_too() {
    let place = Place::new();
    let root = place.root(&[]);
    fs::rename(place.base.join("R"), place.base.join("old")).unwrap();
    fs::create_dir_all(place.base.join("R/a/b")).unwrap();
    fs::write(place.base.join("R/a/b/f"), "other").unwrap();

    assert_eq!(root.open_file("a/b/f").unwrap_err(), PathFault::Refused(RefusalReason::RootChanged));
    assert!(root.open_file_if_cached("a/b/f").is_none() && root.look_if_cached("a/b/f").is_none());
}
