use std::fs;

use tempfile::TempDir;

use super::*;

fn image(image: &str, mounted: &str, exe: &str) -> Option<PathBuf> {
    appimage_of(Some(OsStr::new(image)), Some(OsStr::new(mounted)), Path::new(exe))
}

#[test]
fn an_image_is_one_only_where_this_very_program_runs_from_it() {
    let place = "/tmp/a b/$x.AppImage";
    let mount = "/tmp/.mount_DrawbrAbCd";
    let exe = "/tmp/.mount_DrawbrAbCd/usr/bin/drawbridge-desktop";

    assert_eq!(image(place, mount, exe), Some(PathBuf::from(place)));
    // A program that was started from a terminal inside another image.
    assert_eq!(image(place, mount, "/usr/bin/drawbridge-desktop"), None);
    assert_eq!(image("x.AppImage", mount, exe), None);
    // One that was unpacked for good and started there: the image is whose terminal it is.
    assert_eq!(image(place, "/home/ada/squashfs-root", "/home/ada/squashfs-root/usr/bin/drawbridge-desktop"), None);
    let unpacked = "/tmp/appimage_extracted_0123abcd";
    assert_eq!(image(place, unpacked, &format!("{unpacked}/usr/bin/x")), Some(PathBuf::from(place)));
    assert_eq!(image(place, "/", exe), None);
    assert_eq!(image(place, "", exe), None);
    assert_eq!(appimage_of(None, Some(OsStr::new(mount)), Path::new(exe)), None);
    assert_eq!(appimage_of(Some(OsStr::new(place)), None, Path::new(exe)), None);
}

#[test]
fn only_a_file_that_calls_itself_an_image_is_one() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("x.AppImage");
    for (head, fits) in [
        (&b"\x7fELF\x02\x01\x01\x00AI\x02 and more"[..], true),
        (b"\x7fELF\x02\x01\x01\x00AI\x01", true),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00\x00", false),
        (b"my diary", false),
        (b"", false),
    ] {
        fs::write(&file, head).unwrap();
        assert_eq!(is_image(&file), fits, "{head:?}");
    }
    assert!(!is_image(folder.path()) && !is_image(&folder.path().join("none")));
}

#[test]
fn a_package_is_known_by_its_list_of_files() {
    let lists = TempDir::new().unwrap();
    fs::write(lists.path().join("drawbridge.list"), "/.\n/usr\n/usr/bin/drawbridge-desktop\n").unwrap();
    fs::write(lists.path().join("other.list"), "/opt/drawbridge-desktop\n").unwrap();
    let listed = |exe: &str| is_listed(lists.path(), Path::new(exe));

    assert!(listed("/usr/bin/drawbridge-desktop"));
    assert!(!listed("/usr/bin/drawbridge") && !listed("/opt/drawbridge-desktop"));
    assert!(!is_listed(&lists.path().join("none"), Path::new("/usr/bin/drawbridge-desktop")));
}

#[test]
fn an_application_folder_counts_where_it_was_put_for_good() {
    let of = |exe: &str| bundle_of(Path::new(exe));
    let installed = "/Applications/Draw bridge.app/Contents/MacOS/drawbridge-desktop";
    assert_eq!(of(installed), Some(PathBuf::from("/Applications/Draw bridge.app")));
    assert_eq!(of("/Volumes/Drawbridge/Drawbridge.app/Contents/MacOS/drawbridge-desktop"), None);
    assert_eq!(
        of("/private/var/folders/x/AppTranslocation/1/d/Drawbridge.app/Contents/MacOS/drawbridge-desktop"),
        None
    );
    assert_eq!(of("/Users/ada/target/debug/drawbridge-desktop"), None);
    assert_eq!(of("/Users/ada/Other.app/Contents/Resources/drawbridge-desktop"), None);
}

#[test]
fn on_windows_the_place_and_the_uninstaller_tell() {
    // Written as this system reads it.
    let (own, all) =
        (Path::new("/Users/ada/AppData/Local/Drawbridge/d.exe"), Path::new("/Program Files/Drawbridge/d.exe"));
    assert_eq!(on_windows(own, true), Kind::Nsis);
    assert_eq!(on_windows(all, false), Kind::Msi);
    assert_eq!(on_windows(own, false), Kind::Other);
}

#[test]
fn only_what_nobody_else_looks_after_replaces_itself() {
    let place = PathBuf::from("/x");
    for (kind, name, itself) in [
        (Kind::AppImage(place.clone()), "appimage", true),
        (Kind::Dmg(place), "dmg", true),
        (Kind::Nsis, "nsis", true),
        (Kind::Deb, "deb", false),
        (Kind::Rpm, "rpm", false),
        (Kind::Msi, "msi", false),
        (Kind::Other, "other", false),
    ] {
        assert_eq!((kind.name(), kind.replaces_itself()), (name, itself));
        assert_eq!(itself, !matches!(replace::Part::new(&kind), Err(ReplaceFault::NotOurs)), "{name}");
    }
}

#[test]
fn a_package_manager_that_does_not_answer_is_given_up() {
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    assert!(!succeeds(child, Duration::from_millis(1)));
    assert!(succeeds(Command::new("true").spawn().unwrap(), ASK_WITHIN));
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_new_image_takes_the_place_the_name_and_the_mode_of_the_old_one() {
        let folder = TempDir::new().unwrap();
        let place = folder.path().join("a $b.AppImage");
        fs::write(&place, "old").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o751)).unwrap();
        let running = fs::File::open(&place).unwrap();
        let kind = Kind::AppImage(place.clone());
        let mut part = Part::new(&kind).unwrap();
        part.write(b"ne").unwrap();
        part.write(b"w").unwrap();

        replace(&kind, part).unwrap();

        assert_eq!(fs::read_to_string(&place).unwrap(), "new");
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(names(folder.path()), ["a $b.AppImage"]);
        assert_ne!(running.metadata().unwrap().ino(), fs::metadata(&place).unwrap().ino(), "what runs keeps its file");
    }

    #[test]
    fn a_link_to_an_image_stays_and_leads_to_the_new_one() {
        let folder = TempDir::new().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        symlink(&real, &link).unwrap();
        let kind = Kind::AppImage(link.clone());
        let mut part = Part::new(&kind).unwrap();
        part.write(b"new").unwrap();

        replace(&kind, part).unwrap();

        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    }

    #[test]
    fn a_download_lies_on_the_disk_of_what_it_replaces() {
        let (apps, links) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(apps.path().join("real"), "old").unwrap();
        symlink(apps.path().join("real"), links.path().join("link")).unwrap();

        let part = Part::new(&Kind::AppImage(links.path().join("link"))).unwrap();

        assert_eq!(part.path().parent(), Some(&*apps.path().canonicalize().unwrap()));
    }

    #[test]
    fn what_a_killed_download_left_is_swept_and_nothing_else() {
        let folder = TempDir::new().unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(25 * 3600);
        let make = |name: &str, aged: bool| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            if aged {
                file.set_modified(old).unwrap();
            }
        };
        let mine = ".drawbridge-update-0123456789abcdef";
        make(&format!("{mine}.part"), true);
        make(".drawbridge-update-ffff456789abcdef.part", false);
        make(&format!("{mine}.old"), true);
        make(".drawbridge-update-notes.part", true);
        make("x.AppImage", true);

        drop(Part::new(&Kind::AppImage(folder.path().join("x.AppImage"))).unwrap());

        let left = [
            format!("{mine}.old"),
            ".drawbridge-update-ffff456789abcdef.part".to_owned(),
            ".drawbridge-update-notes.part".to_owned(),
            "x.AppImage".to_owned(),
        ];
        assert_eq!(names(folder.path()), left);
    }

    #[test]
    fn a_download_that_is_given_up_leaves_nothing_and_is_for_this_user_alone() {
        let folder = TempDir::new().unwrap();
        let part = Part::new(&Kind::AppImage(folder.path().join("x.AppImage"))).unwrap();
        assert_eq!(fs::metadata(part.path()).unwrap().permissions().mode() & 0o777, 0o600);

        drop(part);

        assert!(names(folder.path()).is_empty());
    }

    /// An archive with these folders, as the bundler packs an application.
    fn archive(folder: &Path, inside: &[&str]) -> Vec<u8> {
        let tree = folder.join("tree");
        for name in inside {
            fs::create_dir_all(tree.join(name)).unwrap();
            fs::write(tree.join(name).join("file"), "new").unwrap();
        }
        let out = folder.join("archive");
        let tar = Command::new("tar").arg("-czf").arg(&out).arg("-C").arg(&tree).arg(".").status().unwrap();
        assert!(tar.success());
        fs::remove_dir_all(&tree).unwrap();
        fs::read(out).unwrap()
    }

    fn replaced(inside: &[&str]) -> (TempDir, Result<(), ReplaceFault>) {
        let folder = TempDir::new().unwrap();
        let bytes = archive(folder.path(), inside);
        fs::remove_file(folder.path().join("archive")).unwrap();
        let bundle = folder.path().join("Drawbridge.app");
        fs::create_dir_all(bundle.join("Contents/MacOS")).unwrap();
        fs::write(bundle.join("Contents/MacOS/file"), "old").unwrap();
        let kind = Kind::Dmg(bundle);
        let mut part = Part::new(&kind).unwrap();
        part.write(&bytes).unwrap();
        let done = replace(&kind, part);
        (folder, done)
    }

    #[test]
    fn a_new_application_folder_takes_the_place_of_the_old_one_whole() {
        let (folder, done) = replaced(&["Drawbridge.app/Contents/MacOS"]);

        done.unwrap();
        assert_eq!(names(folder.path()), ["Drawbridge.app"]);
        assert_eq!(fs::read_to_string(folder.path().join("Drawbridge.app/Contents/MacOS/file")).unwrap(), "new");
    }

    #[test]
    fn an_archive_with_something_else_in_it_changes_nothing() {
        for inside in [&["Drawbridge.app/Contents"][..], &["a", "Drawbridge.app/Contents/MacOS"][..], &["notes"][..]] {
            let (folder, done) = replaced(inside);

            assert!(matches!(done, Err(ReplaceFault::Strange)), "{done:?}");
            assert_eq!(names(folder.path()), ["Drawbridge.app"]);
            assert_eq!(fs::read_to_string(folder.path().join("Drawbridge.app/Contents/MacOS/file")).unwrap(), "old");
        }
    }
}
