//! How this copy of the program was installed, and putting a newer one in its place.
//!
//! Finding out never takes long and never fails: what cannot be told is [`Kind::Other`], which updates nothing. Whether a newer
//! file may be trusted is for the caller to know before it comes here.

mod replace;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub use replace::{Part, ReplaceFault, replace};

/// How this copy was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// One file that runs by itself; this is it.
    AppImage(PathBuf),
    /// A package of Debian's kind.
    Deb,
    /// A package of Red Hat's kind.
    Rpm,
    /// An application folder of macOS, moved out of its disk image; this is it.
    Dmg(PathBuf),
    /// By the installer for one person on Windows.
    Nsis,
    /// By the installer for all persons on Windows.
    Msi,
    /// Anything else: built here, unpacked by hand.
    Other,
}

impl Kind {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AppImage(_) => "appimage",
            Self::Deb => "deb",
            Self::Rpm => "rpm",
            Self::Dmg(_) => "dmg",
            Self::Nsis => "nsis",
            Self::Msi => "msi",
            Self::Other => "other",
        }
    }

    /// Tells whether the program can put a newer copy in its own place. What a package manager or an administrator installed is
    /// theirs to replace.
    #[must_use]
    pub const fn replaces_itself(&self) -> bool {
        matches!(self, Self::AppImage(_) | Self::Dmg(_) | Self::Nsis)
    }
}

/// A package manager that answers no sooner is not waited for.
const ASK_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Where dpkg keeps the list of files of each package.
const DPKG_LISTS: &str = "/var/lib/dpkg/info";
/// The packages of this program begin like this.
const PACKAGE: &str = "drawbridge";

/// Finds out how this copy was installed. Reads the disk and may ask a package manager; takes two seconds at worst.
#[must_use]
pub fn kind() -> Kind {
    let Ok(exe) = std::env::current_exe() else { return Kind::Other };
    if cfg!(target_os = "macos") {
        return bundle_of(&exe).map_or(Kind::Other, Kind::Dmg);
    }
    if cfg!(windows) {
        let beside = |name: &str| exe.parent().is_some_and(|folder| folder.join(name).is_file());
        return on_windows(&exe, beside("uninstall.exe"));
    }
    if let Some(image) = image() {
        return Kind::AppImage(image);
    }
    if is_listed(Path::new(DPKG_LISTS), &exe) {
        return Kind::Deb;
    }
    // Everything else is no package's place.
    if exe.starts_with("/usr") && rpm_knows(&exe) { Kind::Rpm } else { Kind::Other }
}

/// Returns the AppImage that this program runs from, if it does.
#[must_use]
pub fn image() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let (image, mounted) = (std::env::var_os("APPIMAGE"), std::env::var_os("APPDIR"));
    appimage_of(image.as_deref(), mounted.as_deref(), &exe).filter(|image| is_image(image))
}

/// Tells whether a file says of itself that it is an image, so that nothing else is ever replaced.
fn is_image(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0_u8; 11];
    // A pipe would wait for its writer.
    let read = path.is_file() && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    read && head.starts_with(b"\x7fELF") && (head.ends_with(b"AI\x01") || head.ends_with(b"AI\x02"))
}

/// Returns the image that a program runs from. The variables alone prove nothing: a terminal inside another image passes
/// its own on, also to a program out of an image that was unpacked for good. So the place must be one that an image makes for
/// itself.
fn appimage_of(image: Option<&OsStr>, mounted: Option<&OsStr>, exe: &Path) -> Option<PathBuf> {
    let (image, mounted) = (Path::new(image?), Path::new(mounted?));
    let name = mounted.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let passing = name.starts_with(".mount_") || name.starts_with("appimage_extracted_");
    let real = image.is_absolute() && mounted.is_absolute() && passing;
    (real && exe.starts_with(mounted)).then(|| image.to_owned())
}

/// Returns the application folder that a program of macOS lies in. One that runs from a disk image or from the place to which
/// the system moves what it does not trust yet is not installed.
fn bundle_of(exe: &Path) -> Option<PathBuf> {
    let bundle = exe.ancestors().find(|folder| folder.extension().is_some_and(|end| end == "app"))?;
    let inside = exe.strip_prefix(bundle).ok()?.starts_with("Contents/MacOS");
    let passing =
        bundle.starts_with("/Volumes") || bundle.components().any(|part| part.as_os_str() == "AppTranslocation");
    (inside && !passing).then(|| bundle.to_owned())
}

fn on_windows(exe: &Path, has_uninstaller: bool) -> Kind {
    let for_all = exe.components().any(|part| part.as_os_str().to_string_lossy().starts_with("Program Files"));
    match (has_uninstaller, for_all) {
        (true, _) => Kind::Nsis,
        (false, true) => Kind::Msi,
        (false, false) => Kind::Other,
    }
}

/// Tells whether a package of this program lists the file as its own.
fn is_listed(lists: &Path, exe: &Path) -> bool {
    let ours = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with(PACKAGE) && name.ends_with(".list"));
    let Ok(entries) = std::fs::read_dir(lists) else { return false };
    entries.flatten().filter(|entry| ours(&entry.file_name())).any(|entry| {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        text.split(|byte| *byte == b'\n').any(|line| line == exe.as_os_str().as_encoded_bytes())
    })
}

fn rpm_knows(exe: &Path) -> bool {
    let mut ask = Command::new("rpm");
    ask.arg("-qf").arg(exe).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ask.spawn().is_ok_and(|child| succeeds(child, ASK_WITHIN))
}

fn succeeds(mut child: std::process::Child, limit: Duration) -> bool {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if began.elapsed() < limit => std::thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => {
                // It is read by nobody any more.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[cfg(test)]
#[path = "installed/tests.rs"]
mod tests;
