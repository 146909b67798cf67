//! Handing something to another program: an address to the browser, a folder to the file manager.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use drawbridge_engine::CommandError;
use drawbridge_engine::view::Snapshot;

/// What no other program needs: a secret of ours, and how our own pages are drawn.
const OURS_ALONE: [&str; 2] = ["DRAWBRIDGE_KEYCHAIN_PASSPHRASE", crate::rescue::PLAIN_DRAWING];

/// An opener that can do nothing says so at once; one that takes longer than this is at work, or hangs by itself.
const OPENER_FAILS_WITHIN: Duration = Duration::from_secs(2);

/// Opens a web address in the browser. Blocks no thread that draws, whatever the opener does: one that hangs is left to
/// itself after two seconds.
///
/// # Errors
/// `no_browser` when it is no web address, or every opener failed.
pub(crate) async fn open_in_browser(address: &str) -> Result<(), CommandError> {
    let failed = || {
        CommandError::new(
            "no_browser",
            "No browser could be opened. Copy the address and open it in a browser yourself.",
        )
    };
    let url = tauri::Url::parse(address).map_err(|_| failed())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(failed());
    }
    let openers = open::commands(url.as_str());
    let work = move || openers.into_iter().any(|opener| takes_it(opener, OPENER_FAILS_WITHIN));
    match tauri::async_runtime::spawn_blocking(work).await {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(failed()),
    }
}

/// Starts an opener, and tells whether it did not fail at once.
fn takes_it(opener: Command, within: Duration) -> bool {
    let Some(mut child) = start(opener) else { return false };
    let (tell, told) = mpsc::channel();
    // Somebody must collect it, or it stays as a zombie.
    std::thread::spawn(move || tell.send(child.wait().is_ok_and(|status| status.success())));
    told.recv_timeout(within).unwrap_or(true)
}

/// Opens the folder of a chat in the file manager. The page names the chat, the engine's picture the folder.
///
/// # Errors
/// `unknown_chat`; `no_folder` when it is gone; `no_file_manager` when nothing could be started.
pub(crate) fn open_folder(snapshot: &Snapshot, session_id: &str) -> Result<(), CommandError> {
    let chat = snapshot.chats.iter().find(|chat| chat.session_id == session_id);
    let chat = chat.ok_or_else(|| CommandError::new("unknown_chat", "This chat has no folder any more."))?;
    let folder = Path::new(&chat.folder);
    // Only ever a folder: opening a file could start a program.
    if !folder.is_absolute() || !folder.is_dir() {
        let message =
            "The folder is not there any more. It may have been moved or renamed; attach it anew for this chat.";
        return Err(CommandError::new("no_folder", message));
    }
    if open(folder) {
        return Ok(());
    }
    Err(CommandError::new("no_file_manager", "No file manager could be started. Open the folder yourself."))
}

/// Opens a folder of Drawbridge itself in the file manager.
///
/// # Errors
/// `no_folder` when it is not there; `no_file_manager` when nothing could be started.
pub(crate) fn open_own_folder(folder: &Path) -> Result<(), CommandError> {
    // Only ever a folder: opening a file could start a program.
    if !folder.is_absolute() || !folder.is_dir() {
        let message = "The folder is not there. Drawbridge makes it when it first keeps something in it.";
        return Err(CommandError::new("no_folder", message));
    }
    if open(folder) {
        return Ok(());
    }
    Err(CommandError::new("no_file_manager", "No file manager could be started. Open the folder yourself."))
}

fn open(what: impl AsRef<OsStr>) -> bool {
    for command in open::commands(what) {
        if let Some(mut child) = start(command) {
            // Somebody must collect it, or it stays as a zombie.
            std::thread::spawn(move || child.wait());
            return true;
        }
    }
    false
}

fn start(mut command: Command) -> Option<Child> {
    for name in OURS_ALONE {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::view::ChatView;

    use super::*;

    #[test]
    fn only_web_addresses_are_handed_to_the_browser() {
        for address in ["file:///etc/passwd", "javascript:alert(1)", "-h", "", "ssh://host"] {
            let opened = tauri::async_runtime::block_on(open_in_browser(address));
            assert_eq!(opened.unwrap_err().code, "no_browser");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_opener_that_fails_is_told_from_one_that_takes_its_time() {
        let shell = |words: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", words]);
            command
        };
        let limit = Duration::from_secs(30);

        assert!(!takes_it(Command::new("/nonexistent/opener"), limit));
        assert!(!takes_it(shell("exit 3"), limit));
        assert!(takes_it(shell("exit 0"), limit));
        // One that hangs is left to itself: the answer does not wait for its end.
        let dir = tempfile::tempdir().unwrap();
        let (ended, go) = (dir.path().join("ended"), dir.path().join("go"));
        let hangs = format!("until [ -e '{}' ]; do sleep 0.01; done; : > '{}'", go.display(), ended.display());
        assert!(takes_it(shell(&hangs), Duration::from_millis(1)));
        assert!(!ended.exists());
        std::fs::write(&go, "").unwrap();
        while !ended.exists() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn only_the_folder_of_a_known_chat_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program.sh");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let with = |folder: &str| {
            let chat = ChatView { session_id: "chat-1".to_owned(), folder: folder.to_owned(), ..ChatView::default() };
            Snapshot { chats: vec![chat], ..Snapshot::default() }
        };
        let code = |folder: &str, chat| open_folder(&with(folder), chat).unwrap_err().code;

        assert_eq!(code("/", "chat-2"), "unknown_chat");
        assert_eq!(code(program.to_str().unwrap(), "chat-1"), "no_folder");
        assert_eq!(code(dir.path().join("gone").to_str().unwrap(), "chat-1"), "no_folder");
        assert_eq!(code("relative", "chat-1"), "no_folder");
        assert_eq!(code("--help", "chat-1"), "no_folder");
    }
}
