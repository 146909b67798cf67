use super::super::ConfineHelper;
use super::*;

#[test]
fn a_kernel_without_landlock_or_with_one_too_old_is_refused() {
    for version in [None, Some(1), Some(2)] {
        let LayerState::Missing(why) = landlock_state(version) else { panic!("{version:?} is not enough") };
        let state = SandboxState {
            bubblewrap: LayerState::Works,
            landlock: LayerState::Missing(why),
            namespaces: LayerState::Works,
        };
        assert!(state.missing().is_some_and(|text| text.starts_with("Landlock: this kernel")), "{version:?}");
    }
    for version in [3, 4, 6, 99] {
        assert_eq!(landlock_state(Some(version)), LayerState::Works);
    }
}

/// The words after each `flag`.
fn after(args: &[OsString], flag: &str) -> Vec<String> {
    let pairs = args.windows(2).filter(|pair| pair[0] == flag);
    pairs.map(|pair| pair[1].to_string_lossy().into_owned()).collect()
}

#[test]
fn folders_of_ours_are_covered_also_when_home_is_reached_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let text = |path: &str| base.join(path).display().to_string();
    for folder in ["real/R/state", "real/config", "other/state"] {
        std::fs::create_dir_all(base.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("real", base.join("home")).unwrap();
    let root = CheckedFolder { path: base.join("real/R"), device: 0, inode: 0 };
    let walls = Walls {
        bubblewrap: "/usr/bin/bwrap".into(),
        helper: ConfineHelper { program: "/bin/true".into() },
        folder: root.clone(),
        root,
        reach: Reach::Nothing,
        home: Some(base.join("home")),
        hidden: ["home/config", "home/R/state", "other/state", "missing"].map(|path| base.join(path)).to_vec(),
    };

    let helper = Path::new("/bin/true");
    let args = outer_arguments(&walls, helper);

    let covered = after(&args, "--tmpfs");
    assert!(covered.contains(&text("real")) && !covered.contains(&text("real/config")), "{covered:?}");
    assert!(covered.contains(&text("real/R/state")) && covered.contains(&text("other/state")), "{covered:?}");
    let place = |flag: &str, path: &str| args.windows(2).position(|pair| pair[0] == flag && pair[1] == *path);
    let (home, root) = (place("--tmpfs", &text("real")), place("--bind", &text("real/R")));
    assert!(home < root && root < place("--tmpfs", &text("real/R/state")), "later lines cover earlier ones");
    assert!(args.contains(&"--unshare-net".into()));
    let open = outer_arguments(&Walls { reach: Reach::Everything, ..walls }, helper);
    assert!(!open.contains(&"--unshare-net".into()));
}
