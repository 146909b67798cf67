use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::*;

/// A computer with a policy, whose files belong to whoever runs the test.
struct Computer(tempfile::TempDir);

impl Computer {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("etc/drawbridge")).unwrap();
        for (place, mode) in [("etc", 0o755), ("etc/drawbridge", 0o755)] {
            mode_of(&dir.path().join(place), mode);
        }
        fs::write(dir.path().join("etc/drawbridge/policy.toml"), "organisation = \"Example\"\n").unwrap();
        mode_of(&dir.path().join("etc/drawbridge/policy.toml"), 0o644);
        Self(dir)
    }

    fn at(&self, place: &str) -> PathBuf {
        self.0.path().join(place)
    }

    fn read(&self) -> Result<Option<Vec<u8>>, String> {
        let read = SystemFile::policy_below(self.0.path(), rustix::process::geteuid().as_raw()).read();
        read.map_err(|fault| fault.to_string().replace(&self.0.path().display().to_string(), ""))
    }
}

fn mode_of(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_place_is_fixed() {
    assert_eq!(SystemFile::policy().path(), Path::new("/etc/drawbridge/policy.toml"));
}

#[test]
fn a_file_of_the_administrator_is_read_and_none_is_none() {
    let computer = Computer::new();
    assert_eq!(computer.read().unwrap().unwrap(), b"organisation = \"Example\"\n");

    fs::remove_file(computer.at("etc/drawbridge/policy.toml")).unwrap();
    assert_eq!(computer.read(), Ok(None));
    // Whose an empty folder is does not matter.
    mode_of(&computer.at("etc/drawbridge"), 0o777);
    assert_eq!(computer.read(), Ok(None));
    fs::remove_dir(computer.at("etc/drawbridge")).unwrap();
    assert_eq!(computer.read(), Ok(None));
    fs::remove_dir(computer.at("etc")).unwrap();
    assert_eq!(computer.read(), Ok(None));
}

#[test]
fn what_others_can_write_is_not_trusted_and_the_place_is_named() {
    for (place, mode, rest) in [
        ("etc/drawbridge/policy.toml", 0o664, "writable by its owner alone"),
        ("etc/drawbridge/policy.toml", 0o646, "writable by its owner alone"),
        ("etc/drawbridge", 0o775, "writable by its owner alone"),
        ("etc", 0o757, "writable by its owner alone"),
    ] {
        let computer = Computer::new();
        mode_of(&computer.at(place), mode);

        let fault = computer.read().unwrap_err();

        assert!(fault.starts_with(&format!("/{place} must be")) && fault.contains(rest), "{fault}");
    }
}

#[test]
fn what_belongs_to_somebody_else_is_not_trusted() {
    let computer = Computer::new();
    let other = rustix::process::geteuid().as_raw().wrapping_add(1);

    let fault = SystemFile::policy_below(computer.0.path(), other).read().unwrap_err();

    assert!(fault.to_string().ends_with("etc must belong to the administrator (root)"), "{fault}");
}

#[test]
fn a_link_is_not_followed_whatever_it_leads_to() {
    let computer = Computer::new();
    fs::rename(computer.at("etc/drawbridge"), computer.at("real")).unwrap();
    symlink(computer.at("real"), computer.at("etc/drawbridge")).unwrap();
    assert!(computer.read().unwrap_err().contains("/etc/drawbridge must be there itself"));

    let computer = Computer::new();
    fs::rename(computer.at("etc/drawbridge/policy.toml"), computer.at("real.toml")).unwrap();
    symlink(computer.at("real.toml"), computer.at("etc/drawbridge/policy.toml")).unwrap();
    assert!(computer.read().unwrap_err().contains("policy.toml must be there itself"));

    // One that leads nowhere is a policy that went missing, not one that nobody wrote.
    fs::remove_file(computer.at("real.toml")).unwrap();
    assert!(computer.read().unwrap_err().contains("policy.toml must be there itself"));
}

#[test]
fn what_only_has_the_name_of_a_file_is_told_of_and_not_waited_for() {
    let computer = Computer::new();
    fs::remove_file(computer.at("etc/drawbridge/policy.toml")).unwrap();
    let pipe = computer.at("etc/drawbridge/policy.toml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o644), 0)
        .unwrap();
    assert!(computer.read().unwrap_err().contains("must be a regular file"));

    fs::remove_file(&pipe).unwrap();
    fs::create_dir(&pipe).unwrap();
    assert!(computer.read().unwrap_err().contains("must be a regular file"));

    let computer = Computer::new();
    fs::remove_dir_all(computer.at("etc/drawbridge")).unwrap();
    fs::write(computer.at("etc/drawbridge"), "").unwrap();
    assert!(computer.read().unwrap_err().starts_with("/etc/drawbridge cannot be read"));
}

#[test]
fn a_file_that_nobody_writes_by_hand_is_refused() {
    let computer = Computer::new();
    fs::write(computer.at("etc/drawbridge/policy.toml"), vec![b'#'; 1024 * 1024 + 1]).unwrap();

    assert!(computer.read().unwrap_err().contains("larger than 1 MiB"));
}
