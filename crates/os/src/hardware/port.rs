//! Whether a path is a serial port, told without opening it: opening one can reset what is behind it, and opening another device can
//! do worse.

use std::path::{Path, PathBuf};

use drawbridge_core::DeviceFault;

use super::HardwareFault;

/// Checks that a path the person named is a serial port or a pseudo-terminal. Opens nothing.
///
/// # Errors
/// `Absent` when nothing is there, `Unsupported` when it is something else, or a link that anybody may turn to another port.
pub fn check(path: &Path) -> Result<(), HardwareFault> {
    system::check(path)
}

/// Checks it and returns the kernel's number of what is there.
///
/// # Errors
/// As [`check`].
#[cfg(target_os = "linux")]
pub(crate) fn checked(path: &Path) -> Result<u64, HardwareFault> {
    system::checked(path)
}

/// Returns where a path leads to in the end; the path itself where that cannot be told.
#[must_use]
pub fn end_of(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(unix)]
mod system {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::path::Path;

    use super::{DeviceFault, HardwareFault, no_port};

    pub(super) fn check(path: &Path) -> Result<(), HardwareFault> {
        checked(path).map(drop)
    }

    #[allow(clippy::useless_conversion, reason = "wide on some systems only")]
    pub(super) fn checked(path: &Path) -> Result<u64, HardwareFault> {
        let facts = fs::metadata(path).map_err(|fault| {
            let shown = path.display();
            if fault.kind() == std::io::ErrorKind::NotFound {
                HardwareFault::new(
                    DeviceFault::Absent,
                    format!("there is nothing at {shown}; plug the device in first"),
                )
            } else {
                HardwareFault::new(DeviceFault::Denied, format!("{shown} cannot be looked at: {fault}"))
            }
        })?;
        let number = facts.rdev().into();
        if !facts.file_type().is_char_device() || !is_port(path, number) {
            return Err(no_port(path));
        }
        if may_be_turned(path, number) { Err(super::turned(path)) } else { Ok(number) }
    }

    /// A link outside `/dev` is often in a folder that programs write to, also those of an attached chat: turned to another port it
    /// would share that one. Pseudo-terminals have no other names that stay.
    #[cfg(target_os = "linux")]
    fn may_be_turned(path: &Path, device: u64) -> bool {
        use crate::hardware::serial::is_near_end;
        !is_near_end(device) && !super::in_dev(path)
    }

    #[cfg(not(target_os = "linux"))]
    fn may_be_turned(path: &Path, _: u64) -> bool {
        let pseudo = ["ttys", "pts/"].map(|start| Path::new("/dev").join(start));
        let real = super::end_of(path);
        let is_pseudo = pseudo.iter().any(|start| real.to_string_lossy().starts_with(&*start.to_string_lossy()));
        !is_pseudo && !super::in_dev(path)
    }

    /// The kernel's own list of terminals: those of serial drivers, and the near ends of pseudo-terminals.
    #[cfg(target_os = "linux")]
    fn is_port(_: &Path, device: u64) -> bool {
        let numbers = (rustix::fs::major(device), rustix::fs::minor(device));
        super::in_drivers(&fs::read_to_string("/proc/tty/drivers").unwrap_or_default(), numbers)
    }

    /// The names of terminals are fixed here.
    #[cfg(not(target_os = "linux"))]
    fn is_port(path: &Path, _: u64) -> bool {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = real.strip_prefix("/dev").ok().and_then(Path::to_str).unwrap_or_default();
        ["cu.", "tty.", "ttys", "pts/", "cuaU", "ttyU"].iter().any(|start| name.starts_with(start))
    }
}

#[cfg(not(unix))]
mod system {
    use std::path::Path;

    use super::{HardwareFault, no_port};

    pub(super) fn check(path: &Path) -> Result<(), HardwareFault> {
        let name = path.to_string_lossy();
        let number = name.trim_start_matches(r"\\.\").strip_prefix("COM").map(str::parse::<u16>);
        if matches!(number, Some(Ok(_))) { Ok(()) } else { Err(no_port(path)) }
    }
}

#[cfg(unix)]
fn turned(path: &Path) -> HardwareFault {
    let message = format!(
        "{} is a link outside /dev, which other programs could turn to another port; name the port itself, such as {}",
        path.display(),
        end_of(path).display()
    );
    HardwareFault::new(DeviceFault::Unsupported, message)
}

/// Tells whether a path, as it is written, goes through folders alone that only the system writes to.
#[cfg(any(unix, test))]
fn in_dev(path: &Path) -> bool {
    use std::path::Component;
    let open_to_all = ["/dev/shm", "/dev/mqueue"].iter().any(|folder| path.starts_with(folder));
    path.starts_with("/dev") && !open_to_all && !path.components().any(|part| part == Component::ParentDir)
}

fn no_port(path: &Path) -> HardwareFault {
    let message = format!("{} is no serial port; name the port itself, such as /dev/ttyUSB0", path.display());
    HardwareFault::new(DeviceFault::Unsupported, message)
}

/// Finds numbers in the kernel's list of terminals: name, place, major number, minor number or a range of them, kind.
#[cfg(any(target_os = "linux", test))]
fn in_drivers(list: &str, (major, minor): (u32, u32)) -> bool {
    list.lines().any(|line| {
        let mut words = line.split_whitespace().rev();
        let (Some(kind), Some(minors), Some(of)) = (words.next(), words.next(), words.next()) else { return false };
        let (first, last) = minors.split_once('-').unwrap_or((minors, minors));
        let within = |first: &str, last: &str| Some((first.parse::<u32>().ok()?..=last.parse().ok()?).contains(&minor));
        matches!(kind, "serial" | "pty:slave") && of.parse() == Ok(major) && within(first, last).unwrap_or(false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVERS: &str = "\
/dev/tty             /dev/tty        5       0 system:/dev/tty
usbserial            /dev/ttyUSB   188 0-511 serial
serial               /dev/ttyS       4 64-95 serial
one                  /dev/ttyX     240      0 serial
pty_slave            /dev/pts      136 0-1048575 pty:slave
pty_master           /dev/ptm      128 0-1048575 pty:master
unknown              /dev/tty        4 1-63 console
";

    #[test]
    fn serial_ports_and_near_ends_of_pseudo_terminals_are_ports() {
        for port in [(188, 0), (188, 511), (4, 64), (240, 0), (136, 7)] {
            assert!(in_drivers(DRIVERS, port), "{port:?}");
        }
        // The console, the terminal of this very program, the far end, the memory, a watchdog.
        for other in [(4, 1), (5, 0), (128, 0), (1, 1), (10, 130), (188, 512)] {
            assert!(!in_drivers(DRIVERS, other), "{other:?}");
        }
        assert!(!in_drivers("", (4, 64)));
    }

    #[cfg(unix)]
    #[test]
    fn a_name_counts_as_the_systems_own_in_its_own_folders_alone() {
        for own in ["/dev/ttyUSB0", "/dev/serial/by-id/usb-1", "/dev/pts/4"] {
            assert!(in_dev(Path::new(own)), "{own}");
        }
        for other in ["/home/kim/port", "/dev/shm/port", "/dev/mqueue/port", "/dev/../tmp/port", "/device/port"] {
            assert!(!in_dev(Path::new(other)), "{other}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_that_others_may_turn_leads_to_no_real_port() {
        use std::os::unix::fs::MetadataExt as _;
        // Looked at, never opened. Machines without a port have nothing to look at.
        let real = Path::new("/dev/ttyS0");
        if !std::fs::metadata(real).is_ok_and(|facts| rustix::fs::major(facts.rdev()) == 4) || check(real).is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(real, &link).unwrap();
        let fault = check(&link).unwrap_err();
        assert_eq!(fault.fault, DeviceFault::Unsupported);
        assert!(fault.message.ends_with("such as /dev/ttyS0"), "{fault}");
    }

    #[cfg(unix)]
    #[test]
    fn files_folders_other_devices_and_nothing_are_no_ports() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();

        for other in [file.as_path(), folder.path(), Path::new("/dev/null")] {
            assert_eq!(check(other).unwrap_err().fault, DeviceFault::Unsupported, "{}", other.display());
        }
        assert_eq!(check(&folder.path().join("gone")).unwrap_err().fault, DeviceFault::Absent);
    }
}
