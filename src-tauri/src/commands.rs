//! The doors of the page: parse, send, return. Rules live in the engine.

use std::sync::Arc;
use std::time::Duration;

use drawbridge_engine::view::Snapshot;
use drawbridge_engine::{Command, CommandError, EngineHandle, Reply};
use tauri::State;

use crate::shell::{DesktopView, Shell};

/// A new picture comes within a fraction of this.
const PICTURE_WITHIN: Duration = Duration::from_secs(2);

/// Returns the present picture.
#[tauri::command]
pub(crate) fn snapshot(engine: State<'_, EngineHandle>) -> Arc<Snapshot> {
    engine.snapshot()
}

/// Sends a command of the page to the engine.
#[tauri::command]
pub(crate) async fn send(engine: State<'_, EngineHandle>, command: Command) -> Result<Reply, CommandError> {
    if !is_for_the_page(&command) {
        return Err(CommandError::new(
            "not_for_the_page",
            "The window may not do this. Use the tray or the command line.",
        ));
    }
    engine.send(command).await
}

/// Tells what the desktop around the page offers.
#[tauri::command]
pub(crate) fn desktop(shell: State<'_, Shell>) -> DesktopView {
    DesktopView { tray: shell.has_tray() }
}

/// Opens the sign-in page that the engine waits for. The page cannot name an address.
#[tauri::command]
pub(crate) async fn open_authorize_page(engine: State<'_, EngineHandle>) -> Result<(), CommandError> {
    let mut snapshots = engine.subscribe();
    // The picture follows a moment after the answer to the command that started the sign-in.
    let there = snapshots.wait_for(|snapshot| snapshot.account.authorize_url.is_some());
    let address = match tokio::time::timeout(PICTURE_WITHIN, there).await {
        Ok(Ok(snapshot)) => snapshot.account.authorize_url.clone(),
        Ok(Err(_)) | Err(_) => None,
    };
    match address {
        Some(url) => open_in_browser(&url),
        None => Err(CommandError::new("no_sign_in", "No sign-in is under way. Press Sign in first.")),
    }
}

/// Opens the platform's own page.
#[tauri::command]
pub(crate) fn open_platform(engine: State<'_, EngineHandle>) -> Result<(), CommandError> {
    open_in_browser(&page_address(&engine.snapshot().account.platform_url))
}

/// Says which commands the page needs. Ending the program is for the tray alone, removing old audit files for the command line.
fn is_for_the_page(command: &Command) -> bool {
    match command {
        Command::SetRaised { .. }
        | Command::SetPower { .. }
        | Command::SetShell { .. }
        | Command::SignIn
        | Command::PasteRedirect { .. }
        | Command::CancelSignIn
        | Command::SignOut
        | Command::Connect
        | Command::PromptPainted { .. }
        | Command::AnswerPrompt { .. }
        | Command::Detach { .. }
        | Command::Forget { .. }
        | Command::UndoList { .. }
        | Command::UndoRestore { .. }
        | Command::DenyPrompts
        | Command::OfferFolder { path: None }
        | Command::RemoveBrowseRoot { .. }
        | Command::SetChatPower { .. }
        | Command::RemoveRule { .. }
        | Command::SetRule { .. }
        | Command::SettingsAfresh
        | Command::UndoRestoreChat { .. }
        | Command::ActivityPage { .. }
        | Command::AuditRecord { .. }
        | Command::AuditVerify
        | Command::AuditRotate
        | Command::Explain { .. } => true,
        // Paths come from a system dialog, never from the page.
        Command::OfferFolder { path: Some(_) }
        | Command::ChooseFolder { .. }
        | Command::AddBrowseRoot { .. }
        | Command::AuditExport { .. }
        | Command::ReportTray { .. }
        | Command::ShowWindow
        | Command::AuditPrune { .. }
        | Command::Shutdown => false,
    }
}

fn page_address(platform: &str) -> String {
    match platform.split_once("://") {
        Some(("ws", rest)) => format!("http://{rest}"),
        Some(("wss", rest)) => format!("https://{rest}"),
        _ => platform.to_owned(),
    }
}

fn open_in_browser(address: &str) -> Result<(), CommandError> {
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
    for mut command in open::commands(url.as_str()) {
        // A secret of ours; no other program needs it.
        command.env_remove("DRAWBRIDGE_KEYCHAIN_PASSPHRASE");
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        if let Ok(mut child) = command.spawn() {
            // Somebody must collect it, or it stays as a zombie.
            std::thread::spawn(move || child.wait());
            return Ok(());
        }
    }
    Err(failed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_may_stop_everything_but_not_end_the_program() {
        assert!(is_for_the_page(&Command::SetRaised { raised: true }));
        assert!(!is_for_the_page(&Command::Shutdown));
    }

    #[test]
    fn a_socket_address_becomes_the_page_beside_it() {
        assert_eq!(page_address("ws://127.0.0.1:8470"), "http://127.0.0.1:8470");
        assert_eq!(page_address("wss://platform.example"), "https://platform.example");
        assert_eq!(page_address("http://127.0.0.1:8470/"), "http://127.0.0.1:8470/");
    }

    #[test]
    fn only_web_addresses_are_handed_to_the_browser() {
        for address in ["file:///etc/passwd", "javascript:alert(1)", "-h", "", "ssh://host"] {
            assert_eq!(open_in_browser(address).unwrap_err().code, "no_browser");
        }
    }
}
