//! What system this is and how the program came onto it, in the words of the system: for people who help others.

use std::path::Path;

use drawbridge_core::escape_outside_text;

/// How the program was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// The person started an AppImage.
    AppImage,
    /// A package of Debian's kind.
    Deb,
    /// A package of Red Hat's kind.
    Rpm,
    /// An application bundle of macOS.
    Bundle,
    /// An installer of Windows.
    Installer,
    /// Built here, unpacked, or put there by something else.
    Other,
}

impl Installed {
    /// Returns its name: "appimage", "deb", "rpm", "bundle", "installer" or "other".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AppImage => "appimage",
            Self::Deb => "deb",
            Self::Rpm => "rpm",
            Self::Bundle => "bundle",
            Self::Installer => "installer",
            Self::Other => "other",
        }
    }
}

/// Tells how the running program was installed, by where it is.
#[must_use]
pub fn installed() -> Installed {
    let around = crate::autostart::Around::of_process();
    if around.is_appimage() {
        return Installed::AppImage;
    }
    around
        .exe
        .as_deref()
        .map_or(Installed::Other, |exe| installed_at(exe, Path::new("/var/lib/dpkg/info/drawbridge.list")))
}

fn installed_at(exe: &Path, dpkg_list: &Path) -> Installed {
    if cfg!(target_os = "macos") {
        let bundled = exe.components().any(|part| part.as_os_str().as_encoded_bytes().ends_with(b".app"));
        return if bundled { Installed::Bundle } else { Installed::Other };
    }
    if cfg!(windows) {
        let unpacked = exe.components().any(|part| part.as_os_str() == "target");
        return if unpacked { Installed::Other } else { Installed::Installer };
    }
    if !exe.starts_with("/usr/bin") {
        return Installed::Other;
    }
    if dpkg_list.exists() { Installed::Deb } else { Installed::Rpm }
}

/// Returns name and version of the system, safe to show.
#[must_use]
pub fn system() -> String {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let named = files.iter().find_map(|path| pretty_name(&std::fs::read_to_string(path).ok()?));
    escape_outside_text(&named.unwrap_or_else(|| std::env::consts::OS.to_owned()))
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Returns name and version of the kernel, safe to show; none where the system does not tell.
#[must_use]
pub fn kernel() -> Option<String> {
    #[cfg(unix)]
    {
        let facts = rustix::system::uname();
        let told = format!("{} {}", facts.sysname().to_string_lossy(), facts.release().to_string_lossy());
        Some(escape_outside_text(&told))
    }
    #[cfg(not(unix))]
    None
}

/// Returns the desktop and the kind of session as the environment names them, safe to show; none without a desktop.
#[must_use]
pub fn session() -> Option<String> {
    let named = |key| std::env::var(key).ok().filter(|value| !value.is_empty());
    let parts: Vec<String> = ["XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE"].into_iter().filter_map(named).collect();
    (!parts.is_empty()).then(|| escape_outside_text(&parts.join(", ")))
}

/// Returns names that tell who uses this computer and which one it is: of the user, of the home folder, of the computer.
#[must_use]
pub fn names() -> Vec<String> {
    let named = |key| std::env::var(key).ok();
    let home = std::env::home_dir().and_then(|home| Some(home.file_name()?.to_string_lossy().into_owned()));
    let host = crate::machine::host_name();
    let short = host.split('.').next().map(ToOwned::to_owned);
    let all = [named("USER"), named("LOGNAME"), named("USERNAME"), home, short, Some(host)];
    let mut names: Vec<String> = all.into_iter().flatten().filter(|name| name.chars().count() > 1).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "packages of these kinds are for Linux")]
    fn only_a_program_of_a_package_counts_as_packaged() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("drawbridge.list");
        assert_eq!(installed_at(Path::new("/home/a/target/debug/drawbridge"), &list), Installed::Other);
        assert_eq!(installed_at(Path::new("/usr/bin/drawbridge"), &list), Installed::Rpm);
        std::fs::write(&list, "").unwrap();
        assert_eq!(installed_at(Path::new("/usr/bin/drawbridge"), &list), Installed::Deb);
        assert_eq!(installed_at(Path::new("/opt/drawbridge"), &list), Installed::Other);
    }

    #[test]
    fn the_system_is_named_as_it_names_itself() {
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n").as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(pretty_name("PRETTY_NAME=\"\"\n"), None);
        assert!(!system().is_empty());
    }
}
