//! What the desktop around this program is, and which of its services answer.
//!
//! Draws nothing and starts nothing. A bus that does not answer keeps the caller waiting: ask on a thread with a time limit.

#[cfg(target_os = "linux")]
#[path = "desktop/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "desktop/other.rs"]
mod system;

use std::path::{Path, PathBuf};

/// Where windows can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    /// The system always has one.
    System,
    /// An X server.
    X11,
    /// A Wayland compositor, and an X server for older programs beside it.
    WaylandAndX11,
    /// A Wayland compositor.
    Wayland,
    /// None is named.
    None,
}

impl Display {
    /// Tells what the environment names. `variable` looks one up.
    #[must_use]
    pub fn named_by(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        if !cfg!(target_os = "linux") {
            return Self::System;
        }
        let set = |name| variable(name).is_some_and(|value| !value.is_empty());
        match (set("WAYLAND_DISPLAY"), set("DISPLAY")) {
            (true, true) => Self::WaylandAndX11,
            (true, false) => Self::Wayland,
            (false, true) => Self::X11,
            (false, false) => Self::None,
        }
    }
}

/// A service of the desktop that the person sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Draws tray icons.
    Tray,
    /// Shows notifications.
    Notifications,
}

/// Whether a service is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceState {
    /// It runs, or starts when it is needed.
    There,
    /// Nobody offers it.
    Missing,
    /// There is no session bus on which it could be.
    NoBus,
    /// The system has it built in.
    BuiltIn,
}

/// Looks for a service of the desktop. May wait for as long as the session bus does.
#[must_use]
pub fn service(wanted: Service) -> ServiceState {
    system::service(wanted)
}

/// Finds a program on the search path; parts that are no absolute path do not count.
#[must_use]
pub fn program(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| crate::process::is_program(program))
}

/// Programs that keep the software of a computer, each with the words that install a package.
const INSTALLERS: [(&str, &str); 4] = [
    ("apt", "sudo apt install"),
    ("dnf", "sudo dnf install"),
    ("pacman", "sudo pacman -S"),
    ("zypper", "sudo zypper install"),
];

/// Returns the command that installs a package on this computer, by the name of its distribution.
#[must_use]
pub fn install_command(package: &str) -> Option<String> {
    let file = ["/etc/os-release", "/usr/lib/os-release"];
    file.iter().find_map(|path| std::fs::read_to_string(Path::new(path)).ok()).and_then(|text| command(&text, package))
}

fn command(os_release: &str, package: &str) -> Option<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim().trim_matches(['"', '\'']).to_ascii_lowercase())
    };
    let names = [value("ID"), value("ID_LIKE")].map(Option::unwrap_or_default).join(" ");
    let kept_by = names.split_whitespace().find_map(|name| match name {
        "debian" | "ubuntu" => Some("apt"),
        "fedora" | "rhel" | "centos" => Some("dnf"),
        "arch" => Some("pacman"),
        "suse" | "opensuse" | "opensuse-tumbleweed" | "opensuse-leap" => Some("zypper"),
        _ => None,
    })?;
    INSTALLERS.iter().find(|(name, _)| *name == kept_by).map(|(_, words)| format!("{words} {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "other systems always have a display")]
    fn the_display_is_what_the_environment_names() {
        let named =
            |names: &'static [&'static str]| Display::named_by(move |name| names.contains(&name).then(|| ":0".into()));

        assert_eq!(named(&["DISPLAY"]), Display::X11);
        assert_eq!(named(&["DISPLAY", "WAYLAND_DISPLAY"]), Display::WaylandAndX11);
        assert_eq!(named(&["WAYLAND_DISPLAY"]), Display::Wayland);
        assert_eq!(named(&[]), Display::None);
        assert_eq!(Display::named_by(|_| Some("".into())), Display::None);
    }

    #[test]
    fn the_command_that_installs_fits_the_distribution_or_is_not_named() {
        let on = |text| command(text, "bubblewrap");

        assert_eq!(on("ID=debian\n").as_deref(), Some("sudo apt install bubblewrap"));
        assert_eq!(
            on("NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").as_deref(),
            Some("sudo apt install bubblewrap")
        );
        assert_eq!(
            on("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n").as_deref(),
            Some("sudo dnf install bubblewrap")
        );
        assert_eq!(on("ID=manjaro\nID_LIKE=arch\n").as_deref(), Some("sudo pacman -S bubblewrap"));
        assert_eq!(
            on("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n").as_deref(),
            Some("sudo zypper install bubblewrap")
        );
        assert_eq!(on("ID=nixos\n"), None);
        assert_eq!(on(""), None);
    }

    #[test]
    #[cfg(unix)]
    fn only_programs_in_absolute_folders_are_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tool"), "#!/bin/sh\n").unwrap();
        let path = dir.path().as_os_str();

        assert_eq!(program("tool", path), None);
        assert_eq!(program("sh", std::ffi::OsStr::new("bin:.")), None);

        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(dir.path().join("tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(program("tool", path), Some(dir.path().join("tool")));
    }
}
