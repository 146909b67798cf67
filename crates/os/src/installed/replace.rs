//! Puts a newer copy in the place of this one: whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::Kind;
use crate::private;

/// Why the newer copy is not in place. The old one is.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceFault {
    /// This user may not write there.
    #[error("the folder {} cannot be written by you", .0.display())]
    NotWritable(PathBuf),
    /// This copy is not one that replaces itself.
    #[error("this copy is replaced by whoever installed it")]
    NotOurs,
    /// What was unpacked is not what it should be.
    #[error("what was downloaded holds no application")]
    Strange,
    /// Anything else.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> ReplaceFault {
    move |error| ReplaceFault::System { what, error }
}

/// Downloads begin like this; 16 hex digits and an end follow.
const PREFIX: &str = ".drawbridge-update-";
/// One that nobody has written to for so long is one of a program that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes what killed downloads left in a folder. Never an application that stepped aside: it may be the only one.
fn sweep(folder: &Path) {
    let ours = |name: &str| {
        let (digits, end) = name.strip_prefix(PREFIX)?.split_once('.')?;
        let random = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        (random && matches!(end, "part" | "exe")).then_some(())
    };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_str().and_then(ours).is_some()) {
        let old = entry.metadata().is_ok_and(|facts| {
            let since = facts.modified().ok().and_then(|written| SystemTime::now().duration_since(written).ok());
            facts.is_file() && since.is_some_and(|since| since > LEFT_AFTER)
        });
        if old {
            // One that stays is only in the way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A newer copy on its way: a file of this user alone, on the disk of the old one. Removed when dropped.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    /// Until it is whole.
    file: Option<File>,
    keep: bool,
}

impl Part {
    /// Makes an empty one for a kind of installation.
    ///
    /// # Errors
    /// [`ReplaceFault`]: most often the folder cannot be written.
    pub fn new(kind: &Kind) -> Result<Self, ReplaceFault> {
        let beside = |place: &Path| place.parent().map(Path::to_owned).ok_or(ReplaceFault::NotOurs);
        let folder = match kind {
            // What a link leads to is replaced, and that may lie on another disk.
            Kind::AppImage(place) => beside(&place.canonicalize().unwrap_or_else(|_| place.clone()))?,
            Kind::Dmg(place) => beside(place)?,
            Kind::Nsis => std::env::temp_dir(),
            Kind::Deb | Kind::Rpm | Kind::Msi | Kind::Other => return Err(ReplaceFault::NotOurs),
        };
        sweep(&folder);
        let mut random = [0_u8; 8];
        getrandom::fill(&mut random).map_err(|_| system("no random name")(io::Error::other("no random numbers")))?;
        // An installer of Windows must be called a program.
        let end = if *kind == Kind::Nsis { "exe" } else { "part" };
        let path = folder.join(format!("{PREFIX}{:016x}.{end}", u64::from_le_bytes(random)));
        match private::options().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(Self { path, file: Some(file), keep: false }),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
            {
                Err(ReplaceFault::NotWritable(folder))
            }
            Err(error) => Err(system("the download cannot be kept")(error)),
        }
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Err(io::Error::other("it is whole already")),
        }
    }

    /// Returns where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.keep {
            // Once it is in place, nothing has this name any more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Puts a newer copy, which the caller has checked, in the place of this one. On Windows its installer was started and waits
/// for this program to end.
///
/// # Errors
/// [`ReplaceFault`]; the old copy is untouched then.
pub fn replace(kind: &Kind, mut part: Part) -> Result<(), ReplaceFault> {
    // Closed from here on: Windows starts no program that is open for writing.
    if let Some(file) = part.file.take() {
        file.sync_all().map_err(system("the download cannot be kept"))?;
    }
    match kind {
        Kind::AppImage(image) => replace_file(image, &part),
        Kind::Dmg(bundle) => replace_bundle(bundle, &part),
        Kind::Nsis => start_installer(part),
        Kind::Deb | Kind::Rpm | Kind::Msi | Kind::Other => Err(ReplaceFault::NotOurs),
    }
}

/// One rename, so that there is always a whole program under the name. What runs goes on with the old file.
fn replace_file(image: &Path, part: &Part) -> Result<(), ReplaceFault> {
    let failed = "the new program cannot be put in the place of the old one";
    // A link stays, and what it leads to is replaced.
    let image = image.canonicalize().map_err(system(failed))?;
    let mode = fs::metadata(&image).map_err(system(failed))?.permissions();
    fs::set_permissions(&part.path, mode).map_err(system(failed))?;
    fs::rename(&part.path, &image).map_err(system(failed))?;
    private::sync_folder(image.parent().unwrap_or(Path::new("/"))).map_err(system(failed))
}

/// An application folder cannot be exchanged in one step: the old one steps aside and comes back if the new one does not fit.
fn replace_bundle(bundle: &Path, part: &Part) -> Result<(), ReplaceFault> {
    let failed = "the new application cannot be put in the place of the old one";
    let unpacked = part.path.with_extension("new");
    let aside = part.path.with_extension("old");
    private::create_folder(&unpacked).map_err(system(failed))?;
    let placed = unpack(&part.path, &unpacked).and_then(|new| {
        fs::rename(bundle, &aside).map_err(system(failed))?;
        fs::rename(&new, bundle).map_err(|error| {
            // The name is free, so this only fails with the disk itself.
            let _ = fs::rename(&aside, bundle);
            system(failed)(error)
        })
    });
    for left in [&unpacked, &aside] {
        // Only remains of the old copy; harmless where they stay.
        let _ = fs::remove_dir_all(left);
    }
    placed
}

/// Unpacks the one application folder that an archive holds.
fn unpack(archive: &Path, into: &Path) -> Result<PathBuf, ReplaceFault> {
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(into).stdin(Stdio::null()).status();
    if !tar.map_err(system("the download cannot be unpacked"))?.success() {
        return Err(ReplaceFault::Strange);
    }
    let mut found = fs::read_dir(into).map_err(system("the download cannot be unpacked"))?.flatten();
    let (Some(one), None) = (found.next(), found.next()) else { return Err(ReplaceFault::Strange) };
    let path = one.path();
    let fits = path.extension().is_some_and(|end| end == "app") && path.join("Contents/MacOS").is_dir();
    if fits { Ok(path) } else { Err(ReplaceFault::Strange) }
}

/// Quietly, as an update, and starting the program again afterwards.
fn start_installer(mut part: Part) -> Result<(), ReplaceFault> {
    Command::new(&part.path)
        .args(["/P", "/UPDATE", "/R"])
        .stdin(Stdio::null())
        .spawn()
        .map_err(system("the installer cannot be started"))?;
    // It still reads its own file when this program has ended; the system sweeps its folder for such files.
    part.keep = true;
    Ok(())
}
