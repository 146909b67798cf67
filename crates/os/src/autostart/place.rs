//! Where an entry is written: a file of the person's, or a value in the registry of Windows.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use drawbridge_core::escape_outside_text;

use super::{Around, Fault, Kind, System, desktop_entry, launchd, task, unit};
use crate::private;

/// No entry of ours comes near this.
const LARGEST_BYTES: u64 = 256 * 1024;

/// Where an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A file, and the link that switches it on, where one does.
    File { path: PathBuf, switch: Option<PathBuf> },
    /// The value of the Run key.
    RunKey,
}

impl Place {
    pub(super) fn of(around: &Around, kind: Kind) -> Result<Self, Fault> {
        let file = |path| Ok(Self::File { path, switch: None });
        match (around.system, kind) {
            (System::Windows, Kind::App) => Ok(Self::RunKey),
            (System::Windows, Kind::Headless) => {
                file(around.local_data.as_ref().ok_or(Fault::NoHome)?.join("drawbridge").join("drawbridge-agent.xml"))
            }
            (System::MacOs, _) => {
                let agents = around.home.as_ref().ok_or(Fault::NoHome)?.join("Library/LaunchAgents");
                file(agents.join(format!("{}.plist", launchd::LABEL)))
            }
            (System::Linux, Kind::App) => {
                file(around.config_home.as_ref().ok_or(Fault::NoHome)?.join("autostart").join(desktop_entry::NAME))
            }
            (System::Linux, Kind::Headless) => {
                let units = around.config_home.as_ref().ok_or(Fault::NoHome)?.join("systemd/user");
                let switch = Some(units.join("default.target.wants").join(unit::NAME));
                Ok(Self::File { path: units.join(unit::NAME), switch })
            }
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::File { path, .. } => escape_outside_text(&path.to_string_lossy()),
            Self::RunKey => format!("{}\\{}", run_key::SHOWN, task::RUN_VALUE),
        }
    }

    /// Reads the entry; none when there is none. What is no text is none of ours, and comes back empty.
    pub(super) fn read(&self) -> Result<Option<String>, Fault> {
        let read = match self {
            Self::File { path, .. } => read_file(path),
            Self::RunKey => run_key::read(),
        };
        read.map_err(|error| self.fault("read", error))
    }

    /// Tells whether something outside the entry keeps it from starting.
    pub(super) fn switched_off(&self) -> bool {
        match self {
            Self::File { switch, .. } => switch.as_ref().is_some_and(|switch| switch.symlink_metadata().is_err()),
            Self::RunKey => run_key::switched_off(),
        }
    }

    pub(super) fn write(&self, text: &str) -> Result<(), Fault> {
        let written = match self {
            Self::File { path, .. } => write_file(path, text),
            Self::RunKey => run_key::write(text),
        };
        written.map_err(|error| self.fault("written", error))
    }

    pub(super) fn remove(&self) -> Result<(), Fault> {
        let removed = match self {
            Self::File { path, .. } => fs::remove_file(path),
            Self::RunKey => run_key::remove(),
        };
        removed.map_err(|error| self.fault("removed", error))
    }

    fn fault(&self, what: &'static str, error: io::Error) -> Fault {
        Fault::Io { place: self.shown(), what, error }
    }
}

fn read_file(path: &Path) -> io::Result<Option<String>> {
    let mut options = fs::File::options();
    // A link of the person's own, as people who keep their settings elsewhere have them, is followed.
    let file = match private::open_regular(path, options.read(true), private::Links::Followed) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LARGEST_BYTES), &mut bytes)?;
    Ok(Some(String::from_utf8(bytes).unwrap_or_default()))
}

fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    private::sweep(path);
    private::replace(path, text.as_bytes())
}

/// The registry of Windows: the list of programs that start with the person's session.
#[cfg(windows)]
mod run_key {
    use std::io;

    use windows_registry::CURRENT_USER;

    use super::task::RUN_VALUE;

    pub(super) const SHOWN: &str = "HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Run";
    const PATH: &str = "Software\\Microsoft\\Windows\\CurrentVersion\\Run";
    /// Where the Task Manager keeps what the person switched off there.
    const APPROVED: &str = "Software\\Microsoft\\Windows\\CurrentVersion\\Explorer\\StartupApproved\\Run";

    pub(super) fn read() -> io::Result<Option<String>> {
        // A key or a value that is missing is the usual case, and one that cannot be read starts nothing either.
        Ok(CURRENT_USER.open(PATH).and_then(|key| key.get_string(RUN_VALUE)).ok())
    }

    /// An odd first byte there means switched off.
    pub(super) fn switched_off() -> bool {
        let value = CURRENT_USER.open(APPROVED).and_then(|key| key.get_value(RUN_VALUE));
        value.is_ok_and(|value| value.first().is_some_and(|byte| byte % 2 == 1))
    }

    pub(super) fn write(text: &str) -> io::Result<()> {
        CURRENT_USER.create(PATH).and_then(|key| key.set_string(RUN_VALUE, text)).map_err(io::Error::other)?;
        // Switching on here is meant to undo what was switched off there; usually there is nothing.
        if let Ok(key) = CURRENT_USER.create(APPROVED) {
            let _ = key.remove_value(RUN_VALUE);
        }
        Ok(())
    }

    pub(super) fn remove() -> io::Result<()> {
        CURRENT_USER.create(PATH).and_then(|key| key.remove_value(RUN_VALUE)).map_err(io::Error::other)
    }
}

/// No system but Windows has it.
#[cfg(not(windows))]
mod run_key {
    use std::io;

    pub(super) const SHOWN: &str = "HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Run";

    fn missing<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "only Windows has a registry"))
    }

    pub(super) fn read() -> io::Result<Option<String>> {
        missing()
    }

    pub(super) fn switched_off() -> bool {
        false
    }

    pub(super) fn write(_text: &str) -> io::Result<()> {
        missing()
    }

    pub(super) fn remove() -> io::Result<()> {
        missing()
    }
}
