use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drawbridge_core::{ContentForm, FileContents, FileStat, IoReason, PowerMode, RefusalReason};
use drawbridge_os::root::{Folder, Overwrite, RenameFault, RootOptions};
use drawbridge_policy::{PolicyState, Verdict, authorize};
use proptest::prelude::*;

use super::*;

/// Keeps deleted things in a folder beside the root, and nothing else.
struct Bin {
    folder: Folder,
    next: AtomicU64,
    full: AtomicBool,
    notes: Mutex<Vec<String>>,
    /// Temporary names that stood in the folder of a write when its content was complete.
    temporary: AtomicU64,
}

impl UndoKeeper for Bin {
    fn keep(
        &self,
        _session: Option<&SessionId>,
        change: &Change<'_>,
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, PathFault> {
        if self.full.load(Ordering::Relaxed) {
            return Err(PathFault::file(IoReason::NoSpace, "the disk or the quota is full"));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if let Change::Create { at, .. } | Change::Replace { at, .. } = change {
            self.temporary.fetch_add(temporary_names(at.folder()), Ordering::Relaxed);
        }
        if let Change::Delete { at, .. } = change {
            let name = OsString::from(number.to_string());
            at.folder()
                .rename(&at.name, &self.folder, &name, Overwrite::Never)
                .map_err(RenameFault::into_path_fault)?;
        }
        Ok(Some(number))
    }

    fn changed(&self, number: u64, _left: Option<Stamp>) {
        self.notes.lock().unwrap().push(format!("changed {number}"));
    }

    fn forget(&self, number: u64) {
        self.notes.lock().unwrap().push(format!("forgot {number}"));
    }
}

fn temporary_names(folder: &Folder) -> u64 {
    let mut count = 0;
    let each = folder.for_each(|name, _| {
        count += u64::from(name.to_string_lossy().starts_with(".drawbridge-"));
        Ok(())
    });
    each.unwrap();
    count
}

struct Rig {
    _dir: tempfile::TempDir,
    base: PathBuf,
    bin: Arc<Bin>,
    files: Files,
    root: Arc<Root>,
    limits: Limits,
    cancel: CancellationToken,
    runtime: tokio::runtime::Runtime,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in ["R", "out", "bin"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        fs::write(base.join("out/f"), "secret").unwrap();
        let root = Arc::new(Root::open_with(&base.join("R"), RootOptions::default()).unwrap());
        let bin = Arc::new(Bin {
            folder: Folder::open_private(&base.join("bin")).unwrap(),
            next: AtomicU64::new(1),
            full: AtomicBool::new(false),
            notes: Mutex::default(),
            temporary: AtomicU64::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let files = Files::new(bin.clone());
        let (limits, cancel) = (Limits::default(), CancellationToken::new());
        Self { _dir: dir, base, bin, files, root, limits, cancel, runtime }
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.base.join("R").join(path)
    }

    fn run(&self, op: FileOp) -> Result<Outcome, OpError> {
        let mut state = PolicyState::defaults();
        state.modes = BTreeMap::from([(Power::Files, PowerMode::Allowed)]);
        let session = SessionId::parse("chat-1").unwrap();
        let Verdict::Allowed(permit) = authorize(&state, Operation::File(op), Some(session)) else {
            panic!("files are allowed");
        };
        let ctx = RunCtx {
            root: Some(self.root.clone()),
            limits: self.limits,
            cancel: self.cancel.clone(),
            shown: None,
            holder: drawbridge_core::LinkId::new(1),
            pieces: None,
            computer: None,
        };
        self.runtime.block_on(self.files.run(permit, ctx))
    }

    fn read(&self, path: &str) -> Result<FileContents, OpError> {
        self.read_range(path, ContentForm::Bytes, 0, None)
    }

    fn read_range(
        &self,
        path: &str,
        form: ContentForm,
        offset: u64,
        length: Option<u64>,
    ) -> Result<FileContents, OpError> {
        self.run(FileOp::Read { path: path.to_owned(), form, offset, length }).map(|outcome| match outcome {
            Outcome::Contents(contents) => contents,
            other => panic!("{other:?}"),
        })
    }

    fn write(&self, path: &str, content: &[u8]) -> Result<Outcome, OpError> {
        let (path, content) = (path.to_owned(), content.to_vec());
        self.run(FileOp::Write { path, content, form: ContentForm::Bytes, create_parents: true })
    }

    fn stat(&self, path: &str, follow_symlinks: bool) -> Result<FileStat, OpError> {
        self.run(FileOp::Stat { path: path.to_owned(), follow_symlinks }).map(|outcome| match outcome {
            Outcome::Stat(stat) => stat,
            other => panic!("{other:?}"),
        })
    }

    fn list(
        &self,
        path: &str,
        glob: Option<&str>,
        recursive: bool,
        max_entries: u32,
    ) -> Result<(Vec<String>, bool), OpError> {
        let glob = glob.map(str::to_owned);
        let op = FileOp::List { path: path.to_owned(), glob, recursive, include_hidden: false, max_entries };
        self.run(op).map(|outcome| match outcome {
            Outcome::List { entries, truncated } => {
                let start = format!("{}/", self.root.path());
                (entries.into_iter().map(|entry| entry.path.replace(&start, "")).collect(), truncated)
            }
            other => panic!("{other:?}"),
        })
    }

    fn delete(&self, path: &str, recursive: bool) -> Result<Outcome, OpError> {
        self.run(FileOp::Delete { path: path.to_owned(), recursive, missing_ok: false })
    }

    fn rename(&self, src: &str, dst: &str, overwrite: bool) -> Result<Outcome, OpError> {
        self.run(FileOp::Move { src: src.to_owned(), dst: dst.to_owned(), overwrite })
    }

    fn assert_out_untouched(&self) {
        assert_eq!(fs::read_to_string(self.base.join("out/f")).unwrap(), "secret");
        assert_eq!(fs::read_dir(self.base.join("out")).unwrap().count(), 1);
    }
}

#[track_caller]
fn assert_outside<T>(result: Result<T, OpError>) {
    let fault = result.err();
    assert!(matches!(fault, Some(OpError::OutsideRoot { .. })), "{fault:?}");
}

#[track_caller]
fn assert_reason<T>(result: Result<T, OpError>, expected: IoReason) {
    let fault = result.err();
    assert!(matches!(&fault, Some(OpError::File { reason, .. }) if *reason == expected), "{fault:?}");
}

#[test]
fn fb01_a_sibling_with_the_same_beginning_is_outside_for_every_operation() {
    let rig = Rig::new();
    let sibling = format!("{}-secret", rig.root.path());
    fs::create_dir(&sibling).unwrap();
    fs::write(format!("{sibling}/loot"), "loot").unwrap();
    fs::write(rig.inside("a"), "a").unwrap();
    let loot = format!("{sibling}/loot");

    assert_outside(rig.read(&loot));
    assert_outside(rig.stat(&loot, true));
    assert_outside(rig.list(&sibling, None, false, 10));
    assert_outside(rig.write(&loot, b"x"));
    assert_outside(rig.delete(&loot, false));
    assert_outside(rig.rename("a", &loot, true));
    assert_outside(rig.rename(&loot, "b", true));
    assert_eq!(rig.read(&format!("{}/a", rig.root.path())).unwrap().bytes, b"a");
    assert_eq!(fs::read_to_string(loot).unwrap(), "loot");
}

#[test]
fn fb02_links_that_lead_outside_are_refused_and_only_ever_removed_themselves() {
    let rig = Rig::new();
    let links = [("l", rig.base.join("out/f")), ("rel", PathBuf::from("../out/f")), ("chain", PathBuf::from("l"))];
    for (name, target) in &links {
        symlink(target, rig.inside(name)).unwrap();
    }
    symlink(rig.base.join("out"), rig.inside("d")).unwrap();
    symlink("nowhere", rig.inside("dangling")).unwrap();
    fs::write(rig.inside("mine"), "mine").unwrap();

    for path in ["l", "rel", "chain", "d/f"] {
        assert_outside(rig.read(path));
        assert_outside(rig.write(path, b"x"));
        assert_outside(rig.stat(path, true));
        assert_outside(rig.list(path, None, true, 10));
    }
    assert_outside(rig.list("d", None, true, 10));
    assert_outside(rig.delete("d/f", false));
    assert_outside(rig.rename("mine", "d/new", false));
    assert_outside(rig.rename("d/f", "stolen", false));
    assert!(matches!(rig.write("dangling", b"x"), Err(OpError::NotFound { .. })));
    let stat = rig.stat("l", false).unwrap().found.unwrap();
    assert!(stat.is_symlink && !stat.is_file);
    let (listed, _) = rig.list("", None, true, 100).unwrap();
    assert_eq!(listed, ["chain", "d", "dangling", "l", "mine", "rel"]);
    rig.rename("l", "moved", false).unwrap();
    for path in ["moved", "d", "rel", "chain", "dangling"] {
        rig.delete(path, true).unwrap();
    }
    assert_eq!(rig.list("", None, true, 100).unwrap().0, ["mine"]);
    rig.assert_out_untouched();
}

#[test]
fn fb08_nothing_leaves_the_root_while_a_folder_is_swapped_for_a_link() {
    const FLIPS: u32 = 20_000;
    let rig = Rig::new();
    fs::create_dir(rig.inside("d")).unwrap();
    fs::write(rig.inside("d/f"), "inside").unwrap();
    symlink(rig.base.join("out"), rig.inside("swap")).unwrap();
    let done = AtomicBool::new(false);
    let (real, link) = (rig.inside("d"), rig.inside("swap"));

    let rounds = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..FLIPS {
                drawbridge_os::root::exchange(&real, &link).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        let mut rounds = 0_u32;
        while !done.load(Ordering::Acquire) {
            if let Ok(contents) = rig.read("d/f") {
                assert_ne!(contents.bytes, b"secret");
            }
            let _ = rig.write("d/f", b"inside");
            let _ = rig.write("d/new/deep", b"inside");
            if let Ok((listed, _)) = rig.list("d", None, true, 100) {
                assert!(listed.iter().all(|path| path.starts_with("d/")), "{listed:?}");
            }
            let _ = rig.delete("d/f", false);
            let _ = rig.delete("d/new", true);
            let _ = rig.rename("d/f", "d/g", true);
            rounds += 1;
        }
        rounds
    });

    assert!(rounds > 0);
    rig.assert_out_untouched();
}

#[test]
fn fb09_magic_links_and_odd_files_are_refused_at_once() {
    let rig = Rig::new();
    symlink("/proc/self/root/etc/hostname", rig.inside("x")).unwrap();
    symlink("/dev/fd/0", rig.inside("fd")).unwrap();
    if !Command::new("mkfifo").arg(rig.inside("p")).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped in part: mkfifo is missing");
        return;
    }

    assert_outside(rig.read("x"));
    assert_outside(rig.read("fd"));
    assert_reason(rig.read("p"), IoReason::NotRegularFile);
    assert_reason(rig.write("p", b"x"), IoReason::NotRegularFile);
    assert!(!rig.stat("p", true).unwrap().found.unwrap().is_file);
    assert_reason(rig.read(""), IoReason::IsDirectory);
    assert_reason(rig.write("", b"x"), IoReason::IsDirectory);
}

#[test]
fn fb11_a_write_keeps_mode_and_attributes_and_breaks_hard_links_by_name() {
    let rig = Rig::new();
    for mode in [0o755, 0o600, 0o640, 0o444] {
        let name = format!("{mode:o}");
        fs::write(rig.inside(&name), "before").unwrap();
        fs::set_permissions(rig.inside(&name), fs::Permissions::from_mode(mode)).unwrap();

        let written = rig.write(&name, b"after");

        if written.is_ok() {
            assert_eq!(fs::read_to_string(rig.inside(&name)).unwrap(), "after");
        } else {
            assert_eq!(mode, 0o444, "only a file without the right to write is refused");
        }
        assert_eq!(fs::metadata(rig.inside(&name)).unwrap().mode() & 0o7777, mode);
    }
    fs::write(rig.inside("one"), "shared").unwrap();
    fs::hard_link(rig.inside("one"), rig.inside("two")).unwrap();
    let Ok(Outcome::Changed(facts)) = rig.write("one", b"new") else { panic!("written") };
    assert!(facts.link_broken && facts.undo.is_some());
    assert_eq!(fs::read_to_string(rig.inside("two")).unwrap(), "shared");
    fs::write(rig.inside("target"), "t").unwrap();
    symlink("target", rig.inside("inner")).unwrap();
    rig.write("inner", b"through").unwrap();
    assert!(fs::symlink_metadata(rig.inside("inner")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(rig.inside("target")).unwrap(), "through");
}

#[test]
fn fb11_a_write_keeps_attributes_and_access_lists() {
    let rig = Rig::new();
    fs::write(rig.inside("f"), "before").unwrap();
    let file = fs::File::open(rig.inside("f")).unwrap();
    if !drawbridge_os::root::set_attribute(&file, c"user.origin", b"a letter") {
        eprintln!("skipped: this file system keeps no attributes");
        return;
    }
    let long = vec![b'y'; 3000];
    let long_kept = drawbridge_os::root::set_attribute(&file, c"user.long", &long);
    // Version 2; owner rw, user 65534 rw, group r, mask rw, others r: (kind, rights, id), little-endian.
    let mut list = vec![2, 0, 0, 0];
    for (kind, rights, id) in
        [(1_u16, 6_u16, u32::MAX), (2, 6, 65534), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 4, u32::MAX)]
    {
        list.extend_from_slice(&kind.to_le_bytes());
        list.extend_from_slice(&rights.to_le_bytes());
        list.extend_from_slice(&id.to_le_bytes());
    }
    let listed = drawbridge_os::root::set_attribute(&file, c"system.posix_acl_access", &list);

    rig.write("f", b"after").unwrap();

    let file = fs::File::open(rig.inside("f")).unwrap();
    assert_eq!(drawbridge_os::root::attribute(&file, c"user.origin").as_deref(), Some(&b"a letter"[..]));
    assert_eq!(drawbridge_os::root::attribute(&file, c"user.long").is_some_and(|value| value == long), long_kept);
    if listed {
        assert_eq!(drawbridge_os::root::attribute(&file, c"system.posix_acl_access"), Some(list));
        assert_eq!(fs::metadata(rig.inside("f")).unwrap().mode() & 0o777, 0o664, "the mask stays");
    } else {
        eprintln!("skipped in part: this file system keeps no access control lists");
    }
}

#[test]
fn fb11_a_set_gid_folder_gives_its_group_to_new_files_and_replaced_ones_keep_theirs() {
    let rig = Rig::new();
    fs::create_dir(rig.inside("shared")).unwrap();
    if std::os::unix::fs::chown(rig.inside("shared"), None, Some(65534)).is_err() {
        eprintln!("skipped: this user cannot give a folder to another group");
        return;
    }
    fs::set_permissions(rig.inside("shared"), fs::Permissions::from_mode(0o2775)).unwrap();
    fs::write(rig.inside("shared/old"), "before").unwrap();
    std::os::unix::fs::chown(rig.inside("shared/old"), Some(65534), Some(7)).unwrap();

    rig.write("shared/new/deep", b"x").unwrap();
    rig.write("shared/old", b"after").unwrap();

    let of = |path: &str| fs::metadata(rig.inside(path)).unwrap();
    assert_eq!(of("shared/new/deep").gid(), 65534);
    assert_eq!((of("shared/new").gid(), of("shared/new").mode() & 0o2000), (65534, 0o2000));
    assert_eq!((of("shared/old").uid(), of("shared/old").gid()), (65534, 7));
}

#[test]
fn fb11_no_temporary_file_is_ever_wider_than_its_target() {
    /// Looks at every temporary file from outside while the operation runs.
    fn widest(folder: PathBuf, done: &AtomicBool) -> u32 {
        let mut widest = 0;
        while !done.load(Ordering::Acquire) {
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                if entry.file_name().to_string_lossy().starts_with(".drawbridge-")
                    && let Ok(facts) = entry.metadata()
                {
                    widest |= facts.mode() & 0o777;
                }
            }
        }
        widest
    }
    let rig = Rig::new();
    fs::write(rig.inside("secret"), "before").unwrap();
    fs::set_permissions(rig.inside("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let (done, folder, content) = (AtomicBool::new(false), rig.inside(""), vec![b'x'; 256 * 1024]);

    let widest = std::thread::scope(|scope| {
        let watch = scope.spawn(|| widest(folder, &done));
        for _ in 0..50 {
            rig.write("secret", &content).unwrap();
        }
        done.store(true, Ordering::Release);
        watch.join().unwrap()
    });

    assert_eq!(widest & !0o600, 0, "{widest:o}");
    // The watcher may have missed it, so the beginning is looked at as well.
    let at = Folder::open_ambient(&rig.inside("")).unwrap();
    let facts = at.facts(std::ffi::OsStr::new("secret")).unwrap();
    let pending = drawbridge_os::root::Pending::start(&at, Some(&facts)).unwrap();
    assert_eq!(drawbridge_os::root::Facts::of_file(pending.file()).unwrap().mode, 0o600);
}

#[test]
fn content_that_waits_for_its_name_could_not_be_left_behind_by_a_kill() {
    let rig = Rig::new();
    let folder = Folder::open_ambient(&rig.inside("")).unwrap();
    let started = drawbridge_os::root::Pending::start(&folder, None).unwrap();
    let nameless = temporary_names(&folder) == 0;
    drop(started);

    rig.write("f", b"created").unwrap();
    rig.write("f", b"replaced").unwrap();

    assert_eq!(fs::read(rig.inside("f")).unwrap(), b"replaced");
    assert_eq!(temporary_names(&folder), 0);
    if nameless {
        assert_eq!(rig.bin.temporary.load(Ordering::Relaxed), 0);
    } else {
        eprintln!("skipped in part: this file system has no files without a name");
    }
}

#[test]
fn fb05_names_that_look_alike_stay_two_names() {
    let rig = Rig::new();
    let (composed, decomposed) = ("\u{30b8}", "\u{30b7}\u{3099}");
    fs::write(rig.inside(composed), "composed").unwrap();

    assert!(matches!(rig.read(decomposed), Err(OpError::NotFound { .. })), "not found, never outside");
    fs::write(rig.inside(decomposed), "decomposed").unwrap();
    assert_eq!(rig.read(composed).unwrap().bytes, b"composed");
    assert_eq!(rig.read(decomposed).unwrap().bytes, b"decomposed");
    assert_eq!(rig.list("", None, false, 10).unwrap().0.len(), 2);
}

#[test]
fn a_write_that_cannot_be_kept_cancelled_or_too_large_changes_nothing() {
    let mut rig = Rig::new();
    fs::write(rig.inside("f"), "before").unwrap();

    rig.bin.full.store(true, Ordering::Relaxed);
    assert_reason(rig.write("f", b"after"), IoReason::NoSpace);
    assert_reason(rig.delete("f", false), IoReason::NoSpace);
    assert_reason(rig.rename("f", "g", false), IoReason::NoSpace);
    assert_reason(rig.write("new/deep/file", b"x"), IoReason::NoSpace);
    assert!(!rig.inside("new").exists(), "the folders made for it are gone again");
    rig.bin.full.store(false, Ordering::Relaxed);
    rig.limits.max_file_size_bytes = 4;
    let fault = rig.write("new/deep", b"after").unwrap_err();
    assert!(matches!(fault, OpError::TooLarge { max_bytes: 4, attempted_bytes: 5, .. }));
    rig.cancel.cancel();
    assert!(matches!(rig.write("f", b"x"), Err(OpError::Cancelled)));

    assert_eq!(fs::read_to_string(rig.inside("f")).unwrap(), "before");
    assert_eq!(fs::read_dir(rig.inside("")).unwrap().count(), 1, "no temporary file stays behind");
}

#[test]
fn a_full_disk_leaves_the_old_content() {
    let rig = Rig::new();
    fs::create_dir(rig.inside("small")).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(rig.inside("small")).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounting a small file system is not permitted here");
        return;
    }
    fs::write(rig.inside("small/f"), "before").unwrap();

    let full = rig.write("small/f", &vec![b'x'; 1024 * 1024]);
    let kept = fs::read_to_string(rig.inside("small/f"));
    let left = fs::read_dir(rig.inside("small")).map(Iterator::count);
    let refused = rig.delete("small", true);
    let unmounted = Command::new("umount").arg(rig.inside("small")).status();

    assert!(unmounted.unwrap().success());
    assert_reason(full, IoReason::NoSpace);
    assert_eq!((kept.unwrap().as_str(), left.unwrap()), ("before", 1));
    assert_reason(refused, IoReason::Busy);
}

#[test]
fn fb13_bytes_go_out_and_come_back_unchanged() {
    let rig = Rig::new();
    for end in ["\n", "\r\n", "\r"] {
        for mark in ["", "\u{feff}"] {
            for last in ["", end] {
                let text = format!("{mark}one{end}two{last}");
                fs::write(rig.inside("f"), &text).unwrap();
                let read = rig.read_range("f", ContentForm::Text, 0, None).unwrap();
                assert!(!read.lossy);
                rig.write("g", &read.bytes).unwrap();
                assert_eq!(fs::read(rig.inside("g")).unwrap(), text.as_bytes());
            }
        }
    }
}

#[test]
fn fb14_text_that_is_not_utf8_and_ranges_that_cut_a_letter_are_marked() {
    let rig = Rig::new();
    fs::write(rig.inside("latin"), b"caf\xe9").unwrap();
    fs::write(rig.inside("utf16"), b"\xff\xfeh\0i\0").unwrap();
    fs::write(rig.inside("letters"), "é".repeat(4)).unwrap();

    let latin = rig.read_range("latin", ContentForm::Text, 0, None).unwrap();
    assert_eq!(
        (String::from_utf8(latin.bytes).unwrap().as_str(), latin.lossy, latin.size_bytes),
        ("caf\u{fffd}", true, 4)
    );
    assert!(rig.read_range("utf16", ContentForm::Text, 0, None).unwrap().lossy);
    assert_eq!(rig.read("latin").unwrap().bytes, b"caf\xe9");
    for offset in 0..=8_u64 {
        for length in 0..=8_u64 {
            let read = rig.read_range("letters", ContentForm::Text, offset, Some(length).filter(|n| *n > 0)).unwrap();
            let wanted = if length == 0 { 8 } else { length };
            let covered = wanted.min(8 - offset);
            assert_eq!(read.size_bytes, covered, "{offset}+{length}");
            assert_eq!(read.truncated, offset + covered < 8);
            let cut = covered > 0 && (offset % 2 == 1 || (offset + covered) % 2 == 1);
            assert_eq!(read.lossy, cut, "{offset}+{length}");
            assert!(String::from_utf8(read.bytes).is_ok());
        }
    }
    let past = rig.read_range("letters", ContentForm::Text, 99, None).unwrap();
    assert_eq!((past.bytes.len(), past.truncated), (0, false));
}

#[test]
fn fb16_a_huge_sparse_file_gives_a_range_and_refuses_the_whole() {
    let rig = Rig::new();
    const GIB: u64 = 1024 * 1024 * 1024;
    let file = fs::File::create(rig.inside("s")).unwrap();
    if file.set_len(40 * GIB).is_err() {
        eprintln!("skipped: this file system has no sparse files of 40 GiB");
        return;
    }
    file.write_at(b"0123456789", 39 * GIB).unwrap();

    let range = rig.read_range("s", ContentForm::Bytes, 39 * GIB, Some(10)).unwrap();
    assert_eq!((range.bytes.as_slice(), range.truncated), (&b"0123456789"[..], true));
    assert!(matches!(rig.read("s"), Err(OpError::TooLarge { attempted_bytes, .. }) if attempted_bytes == 40 * GIB));
}

#[test]
fn fb16_a_folder_of_200_000_entries_is_listed_in_bounded_memory() {
    let rig = Rig::new();
    for index in 0..200_000 {
        fs::File::create(rig.inside(&format!("entry-{index:06}-with-a-rather-long-name"))).unwrap();
    }
    let before = peak_bytes();

    let (listed, truncated) = rig.list("", None, true, 10_000).unwrap();

    assert!(truncated);
    assert_eq!(listed.len(), 10_000);
    assert!(listed.is_sorted() && listed[0].starts_with("entry-000000"));
    let grown = peak_bytes() - before;
    assert!(grown < 50 * 1024 * 1024, "{grown} bytes");
}

#[test]
fn fb17_a_recursive_delete_stays_inside_and_spares_the_root() {
    let rig = Rig::new();
    fs::create_dir_all(rig.inside("d/e")).unwrap();
    fs::write(rig.inside("d/e/f"), "x").unwrap();
    symlink(rig.base.join("out"), rig.inside("d/l")).unwrap();

    assert!(matches!(rig.delete("d", false), Err(OpError::NotEmpty { .. })));
    fs::create_dir(rig.inside("d/m")).unwrap();
    let bound = Command::new("mount").arg("--bind").arg(rig.base.join("out")).arg(rig.inside("d/m")).status();
    if bound.is_ok_and(|status| status.success()) {
        let refused = rig.delete("d", true);
        assert!(Command::new("umount").arg(rig.inside("d/m")).status().unwrap().success());
        assert_reason(refused, IoReason::Busy);
        assert!(rig.inside("d/e/f").exists());
    } else {
        eprintln!("skipped in part: bind mounts are not permitted here");
    }
    rig.delete("d", true).unwrap();
    assert!(!rig.inside("d").exists());
    for root in ["", ".", rig.root.path(), "x/.."] {
        let fault = rig.delete(root, true).unwrap_err();
        let spared =
            matches!(fault, OpError::OutsideRoot { reason: RefusalReason::RootItself, .. } | OpError::NotFound { .. });
        assert!(spared, "{root}: {fault}");
    }
    rig.assert_out_untouched();
}

#[test]
fn listings_are_sorted_depth_first_and_say_exactly_when_something_is_left_out() {
    let rig = Rig::new();
    for path in ["b/x.txt", "b/y.md", "a.txt", "c/.hidden/z.txt", ".dot/w.txt", "c.txt"] {
        fs::create_dir_all(rig.inside(path).parent().unwrap()).unwrap();
        fs::write(rig.inside(path), "x").unwrap();
    }
    let all = ["a.txt", "b", "b/x.txt", "b/y.md", "c", "c.txt"];

    assert_eq!(rig.list("", None, true, 100).unwrap(), (all.map(str::to_owned).to_vec(), false));
    assert_eq!(rig.list("", None, true, 6).unwrap(), (all.map(str::to_owned).to_vec(), false));
    assert_eq!(rig.list("", None, true, 5).unwrap(), (all[..5].iter().map(|s| (*s).to_owned()).collect(), true));
    assert_eq!(rig.list("", Some("*.txt"), true, 3).unwrap().0, ["a.txt", "b/x.txt", "c.txt"]);
    assert!(!rig.list("", Some("*.txt"), true, 3).unwrap().1);
    assert!(matches!(rig.list("gone", None, false, 1), Err(OpError::NotFound { .. })));
    assert_reason(rig.list("a.txt", None, false, 1), IoReason::NotDirectory);
    assert!(matches!(rig.list("", None, false, 0), Err(OpError::InvalidPayload(_))));
}

#[test]
fn moves_keep_to_their_rules() {
    let rig = Rig::new();
    for (path, text) in [("a", "a"), ("b", "b"), ("full/x", "x"), ("dir/y", "y")] {
        fs::create_dir_all(rig.inside(path).parent().unwrap()).unwrap();
        fs::write(rig.inside(path), text).unwrap();
    }
    fs::create_dir(rig.inside("empty")).unwrap();

    assert!(matches!(rig.rename("a", "b", false), Err(OpError::Exists { .. })));
    assert!(matches!(rig.rename("gone", "c", false), Err(OpError::NotFound { .. })));
    assert!(matches!(rig.rename("a", "no/parent", false), Err(OpError::NotFound { .. })));
    assert!(matches!(rig.rename("dir", "full", true), Err(OpError::NotEmpty { .. })));
    assert_reason(rig.rename("a", "full", true), IoReason::IsDirectory);
    assert_reason(rig.rename("dir", "a", true), IoReason::NotDirectory);
    assert!(rig.rename("dir", "dir/inner", false).is_err());
    assert_outside(rig.rename("", "b", true));
    assert!(matches!(rig.rename("a", "./a", false), Ok(Outcome::Done)));
    rig.rename("dir", "empty", true).unwrap();
    rig.rename("a", "b", true).unwrap();
    assert_eq!(fs::read_to_string(rig.inside("b")).unwrap(), "a");
    assert_eq!(fs::read_to_string(rig.inside("empty/y")).unwrap(), "y");
    assert!(!rig.inside("a").exists() && !rig.inside("dir").exists());
}

#[test]
fn what_is_missing_has_the_path_it_would_have() {
    let rig = Rig::new();
    fs::write(rig.inside("f"), "x").unwrap();

    for (path, expected) in [("no/such", "no/such"), ("f/below", "f/below"), ("no/../other", "other")] {
        let stat = rig.stat(path, true).unwrap();
        assert_eq!((stat.path, stat.found), (format!("{}/{expected}", rig.root.path()), None));
    }
    let ok = rig.run(FileOp::Delete { path: "gone".to_owned(), recursive: false, missing_ok: true });
    assert!(matches!(ok, Ok(Outcome::Done)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_list_of_components_reaches_outside(
        parts in prop::collection::vec(prop::sample::select(vec!["..", ".", "a", "up", "abs", "self", "f", "new", "out", ""]), 0..10),
        absolute in any::<bool>(),
    ) {
        let rig = Rig::new();
        fs::create_dir(rig.inside("a")).unwrap();
        symlink("..", rig.inside("a/up")).unwrap();
        symlink("../..", rig.inside("up")).unwrap();
        symlink(rig.base.join("out"), rig.inside("abs")).unwrap();
        symlink(rig.inside(""), rig.inside("self")).unwrap();
        let mut path = parts.join("/");
        if absolute {
            path = format!("{}/{path}", rig.root.path());
        }

        if let Ok(contents) = rig.read(&path) {
            prop_assert_ne!(contents.bytes, b"secret");
        }
        let _ = rig.write(&path, b"written");
        let _ = rig.rename("a", &path, true);
        let _ = rig.delete(&path, true);
        rig.assert_out_untouched();
        let beside = fs::read_dir(&rig.base).unwrap().count();
        prop_assert_eq!(beside, 3, "nothing appears beside the root");
    }
}

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
