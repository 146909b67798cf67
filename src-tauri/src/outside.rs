//! Handing something to another program: an address to the browser, a folder to the file manager.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use drawbridge_engine::CommandError;
use drawbridge_engine::view::Snapshot;

/// What no other program needs: a secret of ours, and how our own pages are drawn.
const OURS_ALONE: [&str; 2] = ["DRAWBRIDGE_KEYCHAIN_PASSPHRASE", crate::rescue::PLAIN_DRAWING];

/// Opens a web address in the browser.
///
/// # Errors
/// `no_browser` when it is no web address, or no browser could be started.
pub(crate) fn open_in_browser(address: &str) -> Result<(), CommandError> {
    let failed = || {
        CommandError::new(
            "no_browser",
            "No browser could be opened. Copy the address and open it in a browser yourself.",
        )
    };
    let url = tauri::Url::parse(address).map_err(|_| failed())?;
    if !matches!(url.scheme(), "http" | "https") || !open(url.as_str()) {
        return Err(failed());
    }
    Ok(())
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
    for mut command in open::commands(what) {
        for name in OURS_ALONE {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Ok(mut child) = command.spawn() {
            // Somebody must collect it, or it stays as a zombie.
            std::thread::spawn(move || child.wait());
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::view::ChatView;

    use super::*;

    #[test]
    fn only_web_addresses_are_handed_to_the_browser() {
        for address in ["file:///etc/passwd", "javascript:alert(1)", "-h", "", "ssh://host"] {
            assert_eq!(open_in_browser(address).unwrap_err().code, "no_browser");
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
