//! Turns of tests in different programs, for what the whole machine has once.

use std::fs::File;
use std::io;

/// Waits for the turn to use the registered ports of the sign-in (spec 1.1). It ends when the file is dropped.
///
/// # Errors
/// What the system says about the lock file.
pub async fn ports_turn() -> io::Result<File> {
    let path = std::env::temp_dir().join("drawbridge-sign-in-ports.lock");
    let wait = move || {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(file)
    };
    tokio::task::spawn_blocking(wait).await.unwrap_or_else(|fault| Err(io::Error::other(fault)))
}
