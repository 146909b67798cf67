//! Scenarios of the folder browser on real folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::{BrowseOp, BrowsePlace, DirectoryPage, ManualClock, OpError, WallMs};

use super::{Browser, Offer, RootChoice};

struct Rig {
    browser: Arc<Browser>,
    clock: Arc<ManualClock>,
    folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::starting_at(WallMs(1_000_000)));
        let roots = RootChoice::only(vec![folder.path().to_path_buf()]);
        Self { browser: Arc::new(Browser::new(clock.clone(), roots)), clock, folder }
    }

    fn start(&self) -> BrowsePlace {
        let page = self.browser.list(&BrowseOp { place: None, cursor: None }).unwrap();
        assert_eq!((page.current, page.next_cursor, page.truncated), (None, None, false));
        assert_eq!(page.expires_at, WallMs(1_300_000));
        BrowsePlace { browse_id: page.browse_id, directory_ref: page.entries[0].directory_ref.clone() }
    }

    fn list(&self, place: &BrowsePlace, cursor: Option<&str>) -> Result<DirectoryPage, OpError> {
        self.browser.list(&BrowseOp { place: Some(place.clone()), cursor: cursor.map(str::to_owned) })
    }
}

fn make(folder: &Path, names: impl IntoIterator<Item = String>) {
    for name in names {
        fs::create_dir(folder.join(name)).unwrap();
    }
}

fn names(page: &DirectoryPage) -> Vec<&str> {
    page.entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn only_real_folders_with_visible_names_are_listed_in_order() {
    let rig = Rig::new();
    make(rig.folder.path(), ["b", "A", ".dot", "a", "new\nline", "r\u{202e}tl", "a<b"].map(str::to_owned));
    fs::write(rig.folder.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("/etc", rig.folder.path().join("link")).unwrap();
    let place = rig.start();

    let page = rig.list(&place, None).unwrap();

    assert_eq!(names(&page), [".dot", "A", "a", "b"]);
    assert_eq!(page.parent_ref, None);
    assert_eq!(page.entries[0].directory_ref.len(), 32);
    let below = BrowsePlace { directory_ref: page.entries[3].directory_ref.clone(), ..place.clone() };
    assert_eq!(rig.list(&below, None).unwrap().parent_ref, Some(place.directory_ref));
    assert!(rig.browser.resolve(&below).unwrap().ends_with("/b"));
}

#[test]
fn a_change_between_pages_neither_skips_nor_repeats() {
    let rig = Rig::new();
    make(rig.folder.path(), (0..450).map(|n| format!("d{n:04}")));
    let place = rig.start();
    let first = rig.list(&place, None).unwrap();
    let cursor = first.next_cursor.clone().unwrap();
    fs::create_dir(rig.folder.path().join("d0000a")).unwrap();
    fs::remove_dir(rig.folder.path().join("d0250")).unwrap();

    let second = rig.list(&place, Some(&cursor)).unwrap();
    let again = rig.list(&place, Some(&cursor)).unwrap();
    let third = rig.list(&place, second.next_cursor.as_deref()).unwrap();

    let all: Vec<&str> = [&first, &second, &third].into_iter().flat_map(names).collect();
    let expected: Vec<String> = (0..450).filter(|n| *n != 250).map(|n| format!("d{n:04}")).collect();
    assert_eq!(all, expected);
    assert_eq!(names(&again), names(&second));
    assert_eq!(again.next_cursor, second.next_cursor);
    assert_eq!(third.next_cursor, None);
}

#[test]
fn a_large_folder_is_scanned_to_its_limit_and_references_run_out() {
    let rig = Rig::new();
    make(rig.folder.path(), (0..1300).map(|n| format!("d{n:04}")));
    let place = rig.start();
    let mut seen = 0;
    let mut cursor = None;
    loop {
        let page = rig.list(&place, cursor.as_deref()).unwrap();
        assert!(page.truncated && page.entries.len() <= 200);
        seen += page.entries.len();
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, 1000);

    let page = rig.list(&place, None).unwrap();
    let last = rig.list(&place, page.next_cursor.as_deref());

    assert_eq!(page.entries.len(), 199);
    assert!(page.truncated && page.next_cursor.is_none());
    assert!(matches!(last, Ok(page) if page.entries.is_empty() && page.truncated));
}

#[test]
fn references_die_with_time_consumption_reconnect_and_the_ninth_browse() {
    let rig = Rig::new();
    let invalid = |place: &BrowsePlace| matches!(rig.list(place, None), Err(OpError::ReferenceInvalid));
    let old = rig.start();
    rig.clock.advance(Duration::from_secs(299));
    assert!(!invalid(&old));
    let held = rig.browser.hold(&old.browse_id);
    rig.clock.advance(Duration::from_secs(1));
    assert!(!invalid(&old));
    drop(held);
    assert!(invalid(&old));

    rig.clock.set_wall(WallMs(1_000_000));
    let browses: Vec<BrowsePlace> = (0..8).map(|_| rig.start()).collect();
    assert!(!invalid(&browses[0]));
    rig.start();
    assert!(invalid(&browses[1]) && !invalid(&browses[0]));
    rig.browser.consume(&browses[0].browse_id);
    assert!(invalid(&browses[0]) && !invalid(&browses[2]));
    rig.browser.forget_all();
    assert!(invalid(&browses[2]));
}

#[test]
fn half_a_place_a_foreign_cursor_and_a_folder_that_became_a_link_are_refused() {
    let rig = Rig::new();
    make(rig.folder.path(), (0..201).map(|n| format!("d{n:04}")));
    let place = rig.start();
    let page = rig.list(&place, None).unwrap();
    let child = BrowsePlace { directory_ref: page.entries[0].directory_ref.clone(), ..place.clone() };

    let without_place = rig.browser.list(&BrowseOp { place: None, cursor: page.next_cursor.clone() });
    assert!(matches!(without_place, Err(OpError::ReferenceInvalid)));
    assert!(matches!(rig.list(&child, page.next_cursor.as_deref()), Err(OpError::ReferenceInvalid)));
    fs::remove_dir(rig.folder.path().join("d0000")).unwrap();
    assert!(matches!(rig.browser.resolve(&child), Err(OpError::DirectoryUnavailable { .. })));
    std::os::unix::fs::symlink("/etc", rig.folder.path().join("d0000")).unwrap();
    assert!(matches!(rig.list(&child, None), Err(OpError::DirectoryUnavailable { .. })));
}

#[test]
fn the_offered_folder_stands_first_and_a_removed_root_takes_its_references_along() {
    let rig = Rig::new();
    make(rig.folder.path(), ["a", "b"].map(str::to_owned));
    let (a, b) = (rig.folder.path().join("a").canonicalize().unwrap(), rig.folder.path().join("b"));
    let root = rig.start();
    let listed = rig.list(&root, None).unwrap();
    let below = |name: &str| BrowsePlace {
        directory_ref: listed.entries.iter().find(|entry| entry.name == name).unwrap().directory_ref.clone(),
        ..root.clone()
    };
    let identity = drawbridge_os::root::DirectoryIdentity { device: 1, inode: 1 };

    rig.browser.offer(Some(Offer { path: a.clone(), identity }));
    let offered = rig.browser.list(&BrowseOp { place: None, cursor: None }).unwrap();
    rig.browser.offer(None);
    rig.browser.set_roots(RootChoice::only(vec![b.clone()]));

    assert_eq!(offered.entries[0].path, a.to_str().unwrap());
    assert_eq!(offered.entries.len(), 2);
    assert!(matches!(rig.browser.resolve(&below("a")), Err(OpError::ReferenceInvalid)));
    assert!(matches!(rig.list(&root, None), Err(OpError::ReferenceInvalid)));
    assert!(rig.browser.resolve(&below("b")).unwrap().ends_with("/b"));
}

#[test]
fn a_chosen_folder_belongs_to_its_browse_and_goes_with_it() {
    let rig = Rig::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().canonicalize().unwrap();
    let browse = rig.start().browse_id;

    let first = rig.browser.choose(&browse, path.join("first")).unwrap();
    let chosen = rig.browser.choose(&browse, path.clone()).unwrap();

    assert!(matches!(rig.browser.resolve(&first), Err(OpError::ReferenceInvalid)));
    assert_eq!(rig.browser.resolve(&chosen).unwrap(), path.to_str().unwrap());
    rig.browser.consume(&browse);
    assert!(matches!(rig.browser.resolve(&chosen), Err(OpError::ReferenceInvalid)));
    assert!(matches!(rig.browser.choose(&browse, path), Err(OpError::ReferenceInvalid)));
}
