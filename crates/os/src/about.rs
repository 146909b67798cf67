//! What system this is, in its own words, and whose: for people who help others.

use drawbridge_core::escape_outside_text;

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
    fn the_system_is_named_as_it_names_itself() {
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n").as_deref(), Some("Debian GNU/Linux 12"));
        assert_eq!(pretty_name("PRETTY_NAME=\"\"\n"), None);
        assert!(!system().is_empty());
    }
}
