//! Whether a path is a serial port, told without opening it: opening one can reset what is behind it, and opening another device can
//! do worse.

use std::path::Path;

use drawbridge_core::DeviceFault;

use super::HardwareFault;

/// Checks that a path the person named is a serial port or a pseudo-terminal. Opens nothing.
///
/// # Errors
/// `Absent` when nothing is there, `Unsupported` when it is something else.
pub fn check(path: &Path) -> Result<(), HardwareFault> {
    system::check(path)
}

#[cfg(unix)]
mod system {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::path::Path;

    use super::{DeviceFault, HardwareFault, no_port};

    pub(super) fn check(path: &Path) -> Result<(), HardwareFault> {
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
        if facts.file_type().is_char_device() && is_port(path, facts.rdev()) { Ok(()) } else { Err(no_port(path)) }
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
