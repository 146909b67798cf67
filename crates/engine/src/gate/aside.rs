//! Setting aside what keeps the engine from starting. Only by the person's own wish; nothing is ever removed or written over.

use std::io;
use std::path::{Path, PathBuf};

use drawbridge_core::{Clock as _, SystemClock};
use drawbridge_os::folders::Folders;
use drawbridge_os::private;
use drawbridge_store::bindings::Bindings;
use drawbridge_store::secrets::{SecretFile, SecretStore, entries};
use secrecy::{ExposeSecret, SecretString};

/// What can be set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Aside {
    /// The list of attached folders in this file. The new one takes every older grant back.
    Bindings(PathBuf),
    /// The encrypted file of secrets.
    SecretFile,
    /// All files of the audit log, whose key is not here.
    AuditLog,
    /// A key that is none, and the log that it belonged to.
    AuditKey,
}

/// Sets it aside. Blocks.
///
/// # Errors
/// Why not, in words; what was not moved yet is where it was.
pub(super) fn set_aside(what: &Aside, folders: &Folders, secrets: Option<&dyn SecretStore>) -> Result<(), String> {
    let words = |fault: &dyn std::fmt::Display| fault.to_string();
    match what {
        Aside::Bindings(list) => {
            Bindings::start_afresh(list, SystemClock.wall()).map(drop).map_err(|fault| words(&fault))
        }
        Aside::SecretFile => {
            private::set_aside(&SecretFile::path(&folders.state)).map(drop).map_err(|fault| words(&fault))
        }
        Aside::AuditLog => log_aside(folders).map_err(|fault| words(&fault)),
        Aside::AuditKey => {
            let secrets = secrets.ok_or("the place that holds the key cannot be opened")?;
            // The log first: a key that is gone beside a log says the same as one that is damaged.
            log_aside(folders).map_err(|fault| words(&fault))?;
            key_aside(secrets).map_err(|fault| words(&fault))
        }
    }
}

/// Moves all files of the log into a folder of their own, the current one last, so that a move that breaks off leaves a log that
/// is still seen.
fn log_aside(folders: &Folders) -> io::Result<()> {
    let mut files = log_files(&folders.logs)?;
    if folders.state != folders.logs {
        files.extend(log_files(&folders.state)?);
    }
    files.sort_by_key(|path| path.file_name().is_some_and(|name| name == "audit.log"));
    let aside = free_folder(&folders.logs)?;
    for path in files {
        if let Some(name) = path.file_name() {
            std::fs::rename(&path, aside.join(name))?;
        }
    }
    private::sync_folder(&aside)?;
    private::sync_folder(&folders.logs)
}

fn log_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Locks belong to nobody's evidence. A folder is what an earlier turn set aside.
        if name.starts_with("audit.") && !name.ends_with(".lock") && !entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn free_folder(logs: &Path) -> io::Result<PathBuf> {
    let mut number = 1_u32;
    loop {
        let folder = logs.join(format!("audit-aside-{number}"));
        if folder.symlink_metadata().is_err() {
            private::create_folder(&folder)?;
            return Ok(folder);
        }
        number += 1;
    }
}

/// Keeps the text of a key that is none under another name.
fn key_aside(secrets: &dyn SecretStore) -> Result<(), drawbridge_store::secrets::SecretFault> {
    let Some(damaged) = secrets.get(entries::AUDIT_KEY)? else { return Ok(()) };
    let before = secrets.get(entries::AUDIT_KEY_ASIDE)?;
    let all = before.iter().chain([&damaged]).map(ExposeSecret::expose_secret).collect::<Vec<_>>().join("\n");
    secrets.set(entries::AUDIT_KEY_ASIDE, &SecretString::from(all))?;
    secrets.delete(entries::AUDIT_KEY)
}
