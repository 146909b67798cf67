//! Where the log ends, kept outside the log, so that cutting it back is seen (spec 3.6).

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use drawbridge_os::private::{self, Links};
use hmac::Mac as _;
use serde::{Deserialize, Serialize};

use super::canonical::Keyed;
use super::files;

/// A fixed size, so that writing anew needs no truncation and no second file.
const BLOCK: usize = 1024;
/// Heads of so many state folders stand in one secret entry: a keychain may hold no more than 2560 bytes in one.
const COPIES: usize = 3;

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// Names the whole chain of files.
    pub(super) chain: String,
    pub(super) file_id: String,
    pub(super) file: String,
    pub(super) seq: u64,
    pub(super) hmac: String,
    /// Records over all files of the chain.
    pub(super) total: u64,
}

#[derive(Serialize, Deserialize)]
struct Signed {
    #[serde(flatten)]
    head: Head,
    mac: String,
}

/// What stands in the head file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    Missing,
    Damaged,
    Sound(Head),
}

pub(super) fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("audit.head")
}

fn mac_of(head: &Head, mac: &Keyed) -> String {
    let mut mac = mac.clone();
    // Another first byte than any record, so that neither passes for the other.
    mac.update(b"drawbridge-audit-head\0");
    for part in [&head.chain, &head.file_id, &head.file, &head.hmac] {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part.as_bytes());
    }
    mac.update(&head.seq.to_le_bytes());
    mac.update(&head.total.to_le_bytes());
    drawbridge_core::hex::encode(mac.finalize().into_bytes())
}

fn sealed(head: &Head, mac: &Keyed) -> Vec<u8> {
    let signed = Signed { mac: mac_of(head, mac), head: head.clone() };
    serde_json::to_vec(&signed).unwrap_or_default()
}

fn unsealed(bytes: &[u8], mac: &Keyed) -> Option<Head> {
    let signed: Signed = serde_json::from_slice(bytes).ok()?;
    let expected = mac_of(&signed.head, mac);
    let same: bool = subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), signed.mac.as_bytes()).into();
    same.then_some(signed.head)
}

/// Reads the head file. A writer may be at it, so a damaged one is read a second time.
pub(super) fn read(state_dir: &Path, mac: &Keyed) -> io::Result<Kept> {
    for _ in 0..3 {
        match read_file(&path(state_dir)) {
            // Made, and the program was killed before its first write.
            Ok(bytes) if bytes.is_empty() => return Ok(Kept::Missing),
            Ok(bytes) => {
                if let Some(head) = unsealed(bytes.trim_ascii_end(), mac) {
                    return Ok(Kept::Sound(head));
                }
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Kept::Missing),
            Err(err) => return Err(err),
        }
    }
    Ok(Kept::Damaged)
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The open head file.
#[derive(Debug)]
pub(super) struct HeadFile(File);

impl HeadFile {
    pub(super) fn open(state_dir: &Path) -> io::Result<Self> {
        let file = private::open_regular(
            &path(state_dir),
            File::options().create(true).truncate(false).write(true),
            Links::Refused,
        )?;
        Ok(Self(file))
    }

    /// Writes the head in one call. Not synced: one that is behind the log is right, and the log is synced before.
    pub(super) fn write(&mut self, head: &Head, mac: &Keyed) -> io::Result<()> {
        let mut block = sealed(head, mac);
        block.resize(block.len().max(BLOCK), b' ');
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&block)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Puts a head among those in the secret entry, newest first.
pub(super) fn with_copy(entry: Option<&str>, head: &Head, mac: &Keyed) -> String {
    let mut heads = all_copies(entry, mac);
    heads.retain(|other| other.chain != head.chain);
    heads.insert(0, head.clone());
    heads.truncate(COPIES);
    let sealed: Vec<serde_json::Value> =
        heads.iter().filter_map(|head| serde_json::from_slice(&sealed(head, mac)).ok()).collect();
    serde_json::Value::Array(sealed).to_string()
}

/// Finds the head of a chain in the secret entry.
pub(super) fn copy_of(entry: Option<&str>, chain: &str, mac: &Keyed) -> Option<Head> {
    all_copies(entry, mac).into_iter().find(|head| head.chain == chain)
}

/// Returns the head that was copied last, whatever its chain.
pub(super) fn newest_copy(entry: Option<&str>, mac: &Keyed) -> Option<Head> {
    all_copies(entry, mac).into_iter().next()
}

fn all_copies(entry: Option<&str>, mac: &Keyed) -> Vec<Head> {
    let values: Vec<serde_json::Value> = entry.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    values.iter().filter_map(|value| unsealed(value.to_string().as_bytes(), mac)).collect()
}
