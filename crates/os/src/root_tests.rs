use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use drawbridge_core::{BadPathReason, RefusalReason};

use super::*;

struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
    root: Root,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("R")).unwrap();
        fs::create_dir(base.join("out")).unwrap();
        fs::write(base.join("out/f"), "secret").unwrap();
        let root = Root::open_with(&base.join("R"), RootOptions::default()).unwrap();
        Self { _dir: dir, base, root }
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.base.join("R").join(path)
    }

    fn walk(&self, path: &str) -> Result<String, PathFault> {
        self.root.walk(path, Last::Follow).map(|reached| match reached {
            Reached::Found(Found { at: Some(at), .. }) => {
                self.root.text_of(&at.trail, &at.name).replace(self.root.path(), "")
            }
            Reached::Found(_) => "root".to_owned(),
            Reached::Missing(missing) => {
                let text = self.root.text_of(&missing.at.trail, &missing.at.name).replace(self.root.path(), "");
                format!("missing {text}")
            }
        })
    }
}

const OUTSIDE: PathFault = PathFault::Refused(RefusalReason::Outside);

#[test]
fn a_sibling_with_the_same_beginning_is_outside() {
    let place = Place::new();
    fs::create_dir(place.base.join("R-secret")).unwrap();
    fs::write(place.base.join("R-secret/loot"), "x").unwrap();
    let root = place.root.path();

    assert_eq!(place.walk(&format!("{root}-secret/loot")), Err(OUTSIDE));
    assert_eq!(place.walk(&format!("{root}/../R-secret/loot")), Err(OUTSIDE));
    assert_eq!(place.walk(&format!("{root}/")).unwrap(), "root");
    assert_eq!(place.walk("..").unwrap_err(), OUTSIDE);
    assert_eq!(place.walk("/").unwrap_err(), OUTSIDE);
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let place = Place::new();
    fs::create_dir_all(place.inside("a/b")).unwrap();
    fs::write(place.inside("a/b/f"), "x").unwrap();
    for (name, target) in [
        ("rel", "a/b/f".to_owned()),
        ("up", "a/b/../../a/b/f".to_owned()),
        ("abs", place.inside("a/b/f").display().to_string()),
        ("out-abs", place.base.join("out/f").display().to_string()),
        ("out-rel", "../out/f".to_owned()),
        ("chain", "chain2".to_owned()),
        ("chain2", "../out/f".to_owned()),
        ("loop", "loop".to_owned()),
        ("dangling", "nowhere".to_owned()),
        ("magic", "/proc/self/root/etc/hostname".to_owned()),
    ] {
        symlink(target, place.inside(name)).unwrap();
    }
    symlink("../a/b", place.inside("a/back")).unwrap();

    for inside in ["rel", "up", "abs", "a/back/f", "a/b/../b/f", "./a//b/f"] {
        assert_eq!(place.walk(inside).unwrap(), "/a/b/f", "{inside}");
    }
    for outside in ["out-abs", "out-rel", "chain", "magic", "a/../../out/f", "dangling/../../x"] {
        assert_eq!(place.walk(outside), Err(OUTSIDE), "{outside}");
    }
    assert_eq!(place.walk("loop"), Err(PathFault::BadPath(BadPathReason::Unresolvable)));
    assert_eq!(place.walk("dangling").unwrap(), "missing /nowhere");
    let kept = place.root.walk("out-abs", Last::Keep).unwrap();
    assert!(matches!(kept, Reached::Found(Found { facts: Facts { kind: Kind::Link, .. }, inside: None, .. })));
}

#[test]
fn a_root_reached_through_a_link_is_known_by_every_spelling() {
    let place = Place::new();
    fs::write(place.inside("f"), "x").unwrap();
    symlink(&place.base, place.base.join("alias")).unwrap();
    let alias = place.base.join("alias/R");
    symlink(alias.join("f"), place.inside("through-alias")).unwrap();

    assert_eq!(place.walk(alias.join("f").to_str().unwrap()).unwrap(), "/f");
    assert_eq!(place.walk("through-alias").unwrap(), "/f");
    let through = Root::open_with(&alias, RootOptions::default()).unwrap();
    assert_eq!(through.path(), place.root.path());
    assert_eq!(through.identity(), place.root.identity());
    symlink(place.inside(""), place.base.join("direct")).unwrap();
    assert_eq!(Root::open_with(&place.base.join("direct"), RootOptions::default()).unwrap_err(), RootFault::Link);
    assert_eq!(Root::open_with(&place.base.join("direct/"), RootOptions::default()).unwrap_err(), RootFault::Link);
}

#[test]
fn case_is_left_to_the_file_system() {
    let place = Place::new();
    fs::create_dir(place.base.join("r")).unwrap();
    fs::write(place.base.join("r/f"), "x").unwrap();

    assert_eq!(place.walk(place.base.join("r/f").to_str().unwrap()), Err(OUTSIDE));
}

#[test]
fn places_of_the_kernel_can_never_be_roots() {
    for path in ["/", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm"] {
        let fault = Root::open_with(Path::new(path), RootOptions::default()).unwrap_err();
        assert!(matches!(fault, RootFault::Forbidden | RootFault::Link | RootFault::Missing), "{path}: {fault}");
    }
    assert_eq!(Root::open_with(Path::new("x"), RootOptions::default()).unwrap_err(), RootFault::NotAbsolute);
}

#[test]
fn a_replaced_root_is_noticed() {
    let place = Place::new();
    assert!(place.root.still_in_place());

    fs::rename(place.base.join("R"), place.base.join("elsewhere")).unwrap();
    fs::create_dir(place.base.join("R")).unwrap();

    assert!(!place.root.still_in_place());
    assert_eq!(place.walk("f"), Err(PathFault::Refused(RefusalReason::RootChanged)));
}

#[test]
fn our_own_folders_are_refused_wherever_they_lie() {
    let place = Place::new();
    let own = place.inside("home/.config/drawbridge");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("config.toml"), "x").unwrap();
    symlink("home/.config", place.inside("short")).unwrap();
    let options = RootOptions { protected: vec![own.clone(), place.inside("not-yet")], home: None };
    let root = Root::open_with(&place.base.join("R"), options.clone()).unwrap();

    let protected = PathFault::Refused(RefusalReason::Protected);
    for path in ["home/.config/drawbridge", "home/.config/drawbridge/config.toml", "short/drawbridge/new"] {
        assert_eq!(root.walk(path, Last::Keep).unwrap_err(), protected, "{path}");
    }
    let Reached::Found(found) = root.walk("home", Last::Keep).unwrap() else { panic!("home is there") };
    assert_eq!(survey(&root, &found.at.unwrap()).unwrap_err(), protected);
    assert_eq!(Root::open_with(&own, options).unwrap_err(), RootFault::Protected);
}

#[test]
fn parents_are_made_only_when_the_whole_way_stays_inside() {
    let place = Place::new();
    symlink("nowhere", place.inside("dangling")).unwrap();
    let missing = |path: &str| {
        place.root.walk(path, Last::Follow).map(|reached| match reached {
            Reached::Missing(missing) => missing,
            Reached::Found(_) => panic!("{path} is there"),
        })
    };

    let (spot, made) = place.root.make_parents(missing("x/y/z").unwrap()).unwrap();
    assert_eq!(place.root.text_of(&spot.trail, &spot.name), format!("{}/x/y/z", place.root.path()));
    assert!(place.inside("x/y").is_dir() && made == 2);
    fs::write(place.inside("x/mine"), "").unwrap();
    place.root.remove_made(&spot.trail, made);
    assert!(place.inside("x/mine").exists() && !place.inside("x/y").exists(), "what is in use stays");
    assert_eq!(missing("gone/../../out").unwrap_err(), OUTSIDE);
    assert_eq!(place.root.make_parents(missing("gone/../here").unwrap()).err().unwrap(), PathFault::NotFound);
    assert_eq!(place.root.make_parents(missing("dangling/f").unwrap()).err().unwrap(), PathFault::NotFound);
    let broken = format!("p/q/{}/f", "n".repeat(300));
    assert!(place.root.make_parents(missing(&broken).unwrap()).is_err());
    assert!(!place.inside("gone").exists() && !place.inside("nowhere").exists() && !place.inside("p").exists());
}

#[test]
fn odd_files_are_never_opened_for_content() {
    let place = Place::new();
    rustix::fs::mknodat(rustix::fs::CWD, place.inside("p"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let Reached::Found(found) = place.root.walk("p", Last::Follow).unwrap() else { panic!("the pipe is there") };
    let at = found.at.unwrap();

    let fault = at.folder().open_file(&at.name).unwrap_err();

    assert!(matches!(fault, PathFault::File { reason: drawbridge_core::IoReason::NotRegularFile, .. }), "{fault}");
}
