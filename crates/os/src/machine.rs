//! What this machine is called (spec 2.3, 2.4).
//!
//! The machine id is a tracking identifier by design of the protocol; it is read, never changed.

use std::path::Path;

use drawbridge_core::escape_outside_text;

/// This system or processor is none that the protocol knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Drawbridge does not run on {0}: the platform knows Linux, macOS and Windows on x86_64 or arm64")]
pub struct UnsupportedMachine(pub String);

/// Returns `darwin`, `linux`, `windows` or `wsl2`.
///
/// # Errors
/// [`UnsupportedMachine`].
pub fn platform() -> Result<&'static str, UnsupportedMachine> {
    if cfg!(target_os = "macos") {
        Ok("darwin")
    } else if cfg!(target_os = "windows") {
        Ok("windows")
    } else if cfg!(target_os = "linux") {
        let version = std::fs::read_to_string("/proc/version").unwrap_or_default();
        Ok(if is_wsl(&version) { "wsl2" } else { "linux" })
    } else {
        Err(UnsupportedMachine(std::env::consts::OS.to_owned()))
    }
}

fn is_wsl(version: &str) -> bool {
    version.to_ascii_lowercase().contains("microsoft")
}

/// Returns `x86_64` or `arm64`.
///
/// # Errors
/// [`UnsupportedMachine`].
pub fn arch() -> Result<&'static str, UnsupportedMachine> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("x86_64"),
        "aarch64" => Ok("arm64"),
        other => Err(UnsupportedMachine(other.to_owned())),
    }
}

/// Returns the host name, or `this-computer` where the system tells none.
#[must_use]
pub fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    if name.trim().is_empty() { "this-computer".to_owned() } else { name }
}

/// Tells whether this process may do anything to the computer. Only known where there is a root user.
#[must_use]
pub fn is_elevated() -> bool {
    #[cfg(unix)]
    {
        rustix::process::geteuid().is_root()
    }
    #[cfg(not(unix))]
    {
        false
    }
}

/// Makes a name fit for the platform's folder picker: no angle brackets, nothing hidden, at most 128 characters.
#[must_use]
pub fn display_name(wanted: &str) -> String {
    let safe: String = wanted.chars().filter(|c| !matches!(c, '<' | '>')).filter(|c| visible(*c)).take(128).collect();
    safe.trim().to_owned()
}

fn visible(c: char) -> bool {
    let mut text = [0_u8; 4];
    let text = c.encode_utf8(&mut text);
    c == ' ' || escape_outside_text(text) == *text
}

/// Returns this machine's id in the form of the wire. Where the system has none, one is made once and kept in
/// `state_dir`.
///
/// # Errors
/// When an id has to be made and cannot be kept.
pub fn machine_id(state_dir: &Path) -> std::io::Result<String> {
    id_from(system_id().as_deref(), &host_name(), &state_dir.join("machine-id"))
}

#[cfg(target_os = "linux")]
fn system_id() -> Option<String> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .find(|text| wire_form(text).is_some())
}

#[cfg(not(target_os = "linux"))]
fn system_id() -> Option<String> {
    machine_uid::get().ok()
}

fn id_from(system: Option<&str>, host: &str, kept: &Path) -> std::io::Result<String> {
    if let Some(id) = system.and_then(wire_form) {
        return Ok(id);
    }
    match crate::private::read(kept) {
        // Another id in its place would silently orphan every folder that a chat has.
        Ok(bytes) => {
            let id = String::from_utf8_lossy(&bytes).trim().to_owned();
            let why =
                format!("{} holds no id of a machine; put the file back as it was, or move it away", kept.display());
            return if fits(&id) { Ok(id) } else { Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why)) };
        }
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {}
        Err(fault) => return Err(fault),
    }
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    let digits = drawbridge_core::hex::encode(random);
    let uuid = dashed(&digits);
    let host: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' }).collect();
    let host: String = host.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).chars().take(128 - 37).collect();
    let id = if host.is_empty() { uuid } else { format!("{host}-{uuid}") };
    crate::private::replace(kept, id.as_bytes())?;
    Ok(id)
}

/// A UUID in lower case with dashes, from either spelling.
fn wire_form(raw: &str) -> Option<String> {
    let raw = raw.trim().to_ascii_lowercase();
    let digits: String = raw.chars().filter(|c| *c != '-').collect();
    let whole = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    // An image that was never set up holds zeros or the word "uninitialized".
    (whole && digits.bytes().any(|byte| byte != b'0')).then(|| dashed(&digits))
}

fn dashed(digits: &str) -> String {
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

fn fits(id: &str) -> bool {
    id.len() <= 128
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_id_gets_dashes() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("machine-id");

        let id = id_from(Some("0F1E2D3C4B5A69788796A5B4C3D2E1F0\n"), "host", &kept).unwrap();

        assert_eq!(id, "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0");
        assert!(!kept.exists());
    }

    #[test]
    fn without_a_system_id_one_is_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("machine-id");
        for none in [None, Some(""), Some("uninitialized"), Some("00000000000000000000000000000000")] {
            let first = id_from(none, "-Zoë's <PC>", &kept).unwrap();
            assert!(first.starts_with("Zo--s--PC--"), "{first}");
            assert!(fits(&first));
            assert_eq!(id_from(none, "renamed", &kept).unwrap(), first);
        }
    }

    #[test]
    fn an_id_that_cannot_be_read_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("machine-id");
        for broken in [&b""[..], b"-no id", b"host-<1>", b"\xff\xfe", &b"x".repeat(200)] {
            std::fs::write(&kept, broken).unwrap();

            let refused = id_from(None, "host", &kept).unwrap_err();

            assert!(refused.to_string().contains("machine-id holds no id of a machine"), "{refused}");
            assert_eq!(std::fs::read(&kept).unwrap(), broken);
        }
    }

    #[test]
    fn names_for_the_picker_hold_nothing_hidden() {
        assert_eq!(display_name("Zoë's <b>PC\u{202e}\u{2028}"), "Zoë's bPC");
        assert_eq!(display_name(&"x".repeat(200)).len(), 128);
    }

    #[test]
    fn a_kernel_of_microsoft_is_wsl() {
        assert!(is_wsl("Linux version 5.15.90.1-microsoft-standard-WSL2"));
        assert!(!is_wsl("Linux version 6.8.0"));
    }
}
