//! Which program starts at login: a path that is still good after the next start of the computer.

use std::path::{Path, PathBuf};

use super::{Around, Fault, Kind, System};

/// What Linux writes behind the name of a file that was replaced or removed while it ran.
const REPLACED: &str = " (deleted)";

/// Finds the program.
///
/// # Errors
/// [`Fault::NoProgram`] with what to do.
pub(super) fn of(around: &Around, kind: Kind) -> Result<PathBuf, Fault> {
    if kind == Kind::App
        && let Some(appimage) = around.own_appimage()
    {
        return Ok(appimage.to_owned());
    }
    let exe =
        around.exe.as_deref().map(kept_name).ok_or_else(|| missing("this system does not tell where Drawbridge is"))?;
    if around.appdir.as_deref().is_some_and(|mount| exe.starts_with(mount)) {
        return Err(missing(match kind {
            Kind::App => {
                "the AppImage that Drawbridge was started from is not there any more, so it cannot start at login; \
                          start it anew from its new place"
            }
            Kind::Headless => {
                "this command was started out of an AppImage, which is unpacked for the moment only; without a \
                               window, install the package or start the AppImage's own application at login"
            }
        }));
    }
    if around.system == System::MacOs && is_passing(&exe) {
        return Err(missing(
            "Drawbridge runs from a disk image or from a place for programs that are not trusted yet, and both go away; \
             move it to the folder Applications, start it there and try again",
        ));
    }
    let name = file_name(around.system, kind);
    if exe.file_name().is_some_and(|own| own == name.as_str()) {
        return Ok(exe);
    }
    let beside = exe.with_file_name(&name);
    if beside.is_file() {
        return Ok(beside);
    }
    let folders = around.path.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&name)).find(|path| path.is_file()).ok_or_else(|| {
        missing(&format!("there is no program {name}, neither beside this one nor in PATH; install it and try again"))
    })
}

impl Around {
    /// The AppImage that this process runs out of. One that runs out of another AppImage's terminal only inherits the variable;
    /// its own file is then outside of that mount.
    pub(super) fn own_appimage(&self) -> Option<&Path> {
        let appimage = self.appimage.as_deref()?;
        let ours = match (&self.appdir, &self.exe) {
            (Some(mount), Some(exe)) => exe.starts_with(mount),
            (None, _) => true,
            (Some(_), None) => false,
        };
        (ours && self.system == System::Linux && appimage.is_file()).then_some(appimage)
    }
}

/// macOS starts a program that was just downloaded from a place that changes with every start.
fn is_passing(exe: &Path) -> bool {
    exe.starts_with("/Volumes") || exe.components().any(|part| part.as_os_str() == "AppTranslocation")
}

/// The name under which the program is found again. After an update in place the new file has it.
fn kept_name(exe: &Path) -> PathBuf {
    let text = exe.to_str().and_then(|text| text.strip_suffix(REPLACED));
    text.map_or_else(|| exe.to_owned(), PathBuf::from)
}

pub(super) fn file_name(system: System, kind: Kind) -> String {
    let name = match kind {
        Kind::App => "drawbridge-desktop",
        Kind::Headless => "drawbridge",
    };
    if system == System::Windows { format!("{name}.exe") } else { name.to_owned() }
}

fn missing(why: &str) -> Fault {
    Fault::NoProgram(why.to_owned())
}
