//! The SHA-256 of a file of any size, in bounded memory.
//!
//! A large file is read on a thread of its own while what was read before is hashed, so the disk and the processor work at the same
//! time. A file that changes meanwhile has no digest.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::mpsc;

use drawbridge_os::root::{Facts, PathFault};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// What is read at once, and how often the cancel flag is looked at.
const BLOCK_BYTES: usize = 1024 * 1024;
/// Blocks that exist at once: one is read, one hashed, one waits.
const BLOCKS: usize = 3;
/// From this size on a second thread is worth its start.
const LARGE_BYTES: u64 = 4 * 1024 * 1024;

/// Why there is no digest.
#[derive(Debug)]
pub(super) enum NoDigest {
    /// Nobody wants it any more.
    Cancelled,
    /// The file was changed while it was read.
    Changed,
    /// What the file system said.
    Path(PathFault),
}

impl From<PathFault> for NoDigest {
    fn from(fault: PathFault) -> Self {
        Self::Path(fault)
    }
}

/// Reads a whole file and returns its SHA-256. `facts` are those of the open file from before.
///
/// # Errors
/// [`NoDigest`].
pub(super) fn sha256(file: &File, facts: &Facts, cancel: &CancellationToken) -> Result<[u8; 32], NoDigest> {
    let mut hash = Sha256::new();
    let read = if facts.size_bytes >= LARGE_BYTES {
        read_ahead(file, facts.size_bytes, cancel, &mut hash)?
    } else {
        read_along(file, facts.size_bytes, cancel, &mut hash)?
    };
    if read != facts.size_bytes || !unchanged(facts, &Facts::of_file(file)?) {
        return Err(NoDigest::Changed);
    }
    Ok(hash.finalize().into())
}

/// Tells whether an open file is as it was. The time of the last change of the inode cannot be set by anybody.
pub(super) fn unchanged(before: &Facts, after: &Facts) -> bool {
    let stamp = |facts: &Facts| (facts.size_bytes, facts.mtime_ns, facts.ctime_ns);
    stamp(before) == stamp(after)
}

fn read_along(file: &File, size: u64, cancel: &CancellationToken, hash: &mut Sha256) -> Result<u64, NoDigest> {
    let mut block = vec![0; BLOCK_BYTES.min(usize::try_from(size).unwrap_or(BLOCK_BYTES) + 1)];
    let mut offset = 0;
    loop {
        let count = next(file, offset, size, &mut block, cancel)?;
        if count == 0 {
            return Ok(offset);
        }
        hash.update(block.get(..count).unwrap_or_default());
        offset += count as u64;
    }
}

/// A block and how much of it is filled.
type Filled = Result<(Vec<u8>, usize), NoDigest>;

fn read_ahead(file: &File, size: u64, cancel: &CancellationToken, hash: &mut Sha256) -> Result<u64, NoDigest> {
    std::thread::scope(|scope| {
        let (full_in, full) = mpsc::sync_channel::<Filled>(BLOCKS);
        let (empty_in, empty) = mpsc::sync_channel::<Vec<u8>>(BLOCKS);
        for _ in 0..BLOCKS {
            // There is room for all of them.
            let _ = empty_in.send(vec![0; BLOCK_BYTES]);
        }
        scope.spawn(move || {
            let mut offset = 0;
            // Ends when the hashing end is gone.
            while let Ok(mut block) = empty.recv() {
                let filled = next(file, offset, size, &mut block, cancel).map(|count| (block, count));
                let count = filled.as_ref().map_or(0, |(_, count)| *count);
                offset += count as u64;
                if full_in.send(filled).is_err() || count == 0 {
                    return;
                }
            }
        });
        let mut total = 0;
        while let Ok(filled) = full.recv() {
            let (block, count) = filled?;
            if count == 0 {
                break;
            }
            hash.update(block.get(..count).unwrap_or_default());
            total += count as u64;
            // The reader may have ended already.
            let _ = empty_in.send(block);
        }
        Ok(total)
    })
}

/// Fills a block, and says how far. Never reads more than one byte beyond the size known, since a file may grow for ever.
fn next(file: &File, offset: u64, size: u64, block: &mut [u8], cancel: &CancellationToken) -> Result<usize, NoDigest> {
    if cancel.is_cancelled() {
        return Err(NoDigest::Cancelled);
    }
    if offset > size {
        return Err(NoDigest::Changed);
    }
    let most = usize::try_from(size - offset).unwrap_or(usize::MAX).saturating_add(1).min(block.len());
    let mut done = 0;
    while let Some(rest) = block.get_mut(done..most).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(fault) if fault.kind() == std::io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(PathFault::from_io(&fault).into()),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use drawbridge_os::root::{Folder, Root};
    use tempfile::TempDir;

    use super::*;

    /// Of `b"abc"`, as FIPS 180-2 has it.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn file_with(bytes: &[u8]) -> (TempDir, File, Facts) {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("file"), bytes).unwrap();
        let (file, facts) = opened(dir.path());
        (dir, file, facts)
    }

    fn opened(dir: &std::path::Path) -> (File, Facts) {
        let root = Root::open(&dir.canonicalize().unwrap()).unwrap();
        Folder::open_file(root.folder(), std::ffi::OsStr::new("file")).unwrap()
    }

    fn pattern(size: usize) -> Vec<u8> {
        (0..size).map(|number| u8::try_from(number * 31 % 251).unwrap()).collect()
    }

    #[test]
    fn known_bytes_have_their_known_digest() {
        let (_dir, file, facts) = file_with(b"abc");

        assert_eq!(drawbridge_core::hex::encode(sha256(&file, &facts, &CancellationToken::new()).unwrap()), ABC);
    }

    #[test]
    fn every_size_around_the_borders_is_read_whole() {
        let large = usize::try_from(LARGE_BYTES).unwrap();
        for size in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, large - 1, large, large + 1, large * 2] {
            let bytes = pattern(size);
            let (_dir, file, facts) = file_with(&bytes);
            let whole: [u8; 32] = Sha256::digest(&bytes).into();

            assert_eq!(sha256(&file, &facts, &CancellationToken::new()).unwrap(), whole, "{size} bytes");
        }
    }

    #[test]
    fn a_file_that_grew_shrank_or_was_written_meanwhile_has_no_digest() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("file");
        for size in [10, usize::try_from(LARGE_BYTES).unwrap()] {
            std::fs::write(&path, pattern(size)).unwrap();
            let (file, before) = opened(dir.path());
            let changed = || matches!(sha256(&file, &before, &CancellationToken::new()), Err(NoDigest::Changed));

            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&[1; 4096]).unwrap();
            assert!(changed(), "grown from {size}");
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size as u64 - 1).unwrap();
            assert!(changed(), "shorter than {size}");
            std::fs::write(&path, vec![9; size]).unwrap();
            assert!(changed(), "other bytes of the same length, {size}");
        }
    }

    #[test]
    fn nobody_waits_for_a_digest_that_was_cancelled() {
        for size in [10, usize::try_from(LARGE_BYTES).unwrap()] {
            let (_dir, file, facts) = file_with(&pattern(size));
            let cancel = CancellationToken::new();
            cancel.cancel();

            assert!(matches!(sha256(&file, &facts, &cancel), Err(NoDigest::Cancelled)), "{size}");
        }
    }
}
