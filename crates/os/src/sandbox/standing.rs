//! Our own program as the inner wall, also after its file was removed or replaced while it runs: by an update, or with its
//! package.
//!
//! What has its name then is another program, perhaps half written, and its wall need not be ours. So a copy is made of the file
//! that runs, which the system still holds, for as long as this program runs.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The file that runs here, also when it has no name any more.
const RUNNING: &str = "/proc/self/exe";
const COPY: &str = "drawbridge-confine-";

/// Where this program's file was when it was asked for first.
static PLACE: OnceLock<PathBuf> = OnceLock::new();
static COPIED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Returns where this program's file is, or was.
pub(super) fn place() -> io::Result<PathBuf> {
    match PLACE.get() {
        Some(place) => Ok(place.clone()),
        None => std::env::current_exe().map(|place| PLACE.get_or_init(|| place).clone()),
    }
}

/// Returns the file to start for a helper: itself, or where it is this program and its file is not that any more, a copy.
pub(super) fn standing(program: &Path) -> io::Result<PathBuf> {
    if PLACE.get().is_none_or(|place| place != program) {
        return Ok(program.to_owned());
    }
    let running = fs::metadata(RUNNING)?;
    if fs::metadata(program).is_ok_and(|found| same(&found, &running)) {
        return Ok(program.to_owned());
    }
    copy(&running).map_err(|fault| {
        io::Error::other(format!(
            "Drawbridge's own file {} was removed or replaced while it runs, and no copy could be made ({fault}); start \
             Drawbridge again",
            program.display()
        ))
    })
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    one.dev() == other.dev() && one.ino() == other.ino()
}

fn copy(running: &Metadata) -> io::Result<PathBuf> {
    let mut copied = COPIED.lock().unwrap_or_else(PoisonError::into_inner);
    // Somebody may have tidied up meanwhile.
    if let Some(path) = copied.as_ref().filter(|path| fs::metadata(path).is_ok_and(|is| is.len() == running.len())) {
        return Ok(path.clone());
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    sweep(&folder);
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    let path = folder.join(format!("{COPY}{}-{:016x}", std::process::id(), u64::from_le_bytes(random)));
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o500).open(&path)?;
    if let Err(fault) = io::copy(&mut File::open(RUNNING)?, &mut to) {
        let _ = fs::remove_file(&path);
        return Err(fault);
    }
    *copied = Some(path.clone());
    Ok(path)
}

/// Removes the copies of programs that have ended.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(COPY)).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
