//! The bundle for somebody else to check: the log's files, a manifest and its signature (spec 3.9).
//!
//! The key is not in it; the person hands it over separately.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use drawbridge_core::WallMs;
use drawbridge_os::private;
use hmac::Mac as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use zip::write::{SimpleFileOptions, ZipWriter};

use super::canonical::{Keyed, canonical, keyed};
use super::files;
use super::{AuditKey, AuditPaths};

/// What a bundle holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Names of the log files in it, oldest first.
    pub files: Vec<String>,
    /// Records in them.
    pub records: u64,
}

/// Writes a bundle to `output`, which must not exist. `key_username` names the secret entry of the key.
///
/// # Errors
/// When a file cannot be read, or the bundle cannot be written; a half-written one is removed.
pub fn export(
    paths: &AuditPaths,
    key: &AuditKey,
    key_username: &str,
    now: WallMs,
    output: &Path,
) -> io::Result<Exported> {
    export_with(paths, &keyed(key), key_username, now, output)
}

pub(super) fn export_with(
    paths: &AuditPaths,
    mac: &Keyed,
    key_username: &str,
    now: WallMs,
    output: &Path,
) -> io::Result<Exported> {
    let file = private::options().write(true).create_new(true).open(output)?;
    let written = write(paths, mac, key_username, now, file);
    if written.is_err() {
        // The first fault is the one to tell.
        let _ = std::fs::remove_file(output);
    }
    written
}

fn write(paths: &AuditPaths, mac: &Keyed, key_username: &str, now: WallMs, file: File) -> io::Result<Exported> {
    let options = SimpleFileOptions::default().unix_permissions(0o600).large_file(true);
    let mut zip = ZipWriter::new(file);
    let mut names = Vec::new();
    let mut listed = Vec::new();
    let mut records = 0;
    // Opened before the others are looked for, so that a rotation in between loses nothing.
    let current = files::open(&paths.log)?;
    let its_id = private::file_id(&current.metadata()?);
    let mut all = Vec::new();
    for path in files::older(&paths.log)? {
        let file = files::open(&path)?;
        if its_id == 0 || private::file_id(&file.metadata()?) != its_id {
            all.push((path, file));
        }
    }
    all.push((paths.log.clone(), current));
    for (path, mut source) in all {
        // Whole records only: a writer may be adding to it.
        let whole = files::whole_length(&mut source)?;
        source.seek(SeekFrom::Start(0))?;
        let name = files::name(&path);
        zip.start_file(&*name, options)?;
        let mut source = source.take(whole);
        let mut digest = Sha256::new();
        let mut chunk = vec![0_u8; 64 * 1024];
        let mut size = 0_u64;
        loop {
            let read = source.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            digest.update(&chunk[..read]);
            records += chunk[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
            zip.write_all(&chunk[..read])?;
            size += read as u64;
        }
        listed.push(json!({ "name": name, "size": size, "sha256": drawbridge_core::hex::encode(digest.finalize()) }));
        names.push(name);
    }
    let exported_at = jiff::Timestamp::from_millisecond(now.0).map_err(io::Error::other)?;
    let manifest = json!({ "exported_at": exported_at.to_string(), "files": listed, "key_username": key_username });
    let mut bytes = Vec::new();
    canonical(&mut bytes, &manifest);
    let mut mac = mac.clone();
    mac.update(&bytes);
    zip.start_file("manifest.json", options)?;
    zip.write_all(&bytes)?;
    zip.start_file("manifest.sig", options)?;
    zip.write_all(drawbridge_core::hex::encode(mac.finalize().into_bytes()).as_bytes())?;
    zip.finish()?.sync_all()?;
    Ok(Exported { files: names, records })
}
