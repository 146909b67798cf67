//! The doors of the pages: check who asks, parse, send, return. Rules live in the engine.
//!
//! Three pages knock here: the main window's, the one for questions and the pill. Only the one for questions may show and
//! answer them, so that nothing in the larger page can. The pill can stop and nothing else.

use std::sync::Arc;
use std::time::Duration;

use drawbridge_engine::prefs::Prefs;
use drawbridge_engine::view::{PromptAnswer, Snapshot};
use drawbridge_engine::{Command, CommandError, EngineHandle, Reply};
use tauri::{AppHandle, Emitter, Manager, State, WebviewWindow};

use crate::prefs::PrefsDesk;
use crate::shell::{self, DesktopView, Shell};
use crate::window::paint::{self, Births};
use crate::window::pill::{PillDesk, PillView};
use crate::window::{self, MAIN, PILL, PROMPT};
use crate::words::{Language, Word};
use crate::{dialogs, notify, outside, prefs, rescue};

/// A new picture comes within a fraction of this.
const PICTURE_WITHIN: Duration = Duration::from_secs(2);
/// Name of the event that carries the preferences.
const PREFS: &str = "prefs";
/// The name that the save dialog begins with.
const ARCHIVE: &str = "drawbridge-audit.zip";

/// Returns the present picture.
#[tauri::command]
pub(crate) fn snapshot(window: WebviewWindow, engine: State<'_, EngineHandle>) -> Arc<Snapshot> {
    paint::lives(&window);
    engine.snapshot()
}

/// Sends a command of a page to the engine.
#[tauri::command]
pub(crate) async fn send(
    window: WebviewWindow,
    engine: State<'_, EngineHandle>,
    births: State<'_, Births>,
    command: Command,
) -> Result<Reply, CommandError> {
    // Without an engine the window is all there is, and it stops nothing by ending the program.
    let ends = command == Command::Shutdown && window.label() == MAIN && engine.snapshot().gate.is_some();
    if !ends && !is_for_the_page(window.label(), &command) {
        return Err(CommandError::new(
            "not_for_the_page",
            "The window may not do this. Use the tray or the command line.",
        ));
    }
    if command == (Command::SetRaised { raised: true }) {
        notify::raised_here();
    }
    if let Command::PromptPainted { id, revision } = &command {
        births.show(*id, *revision);
    }
    // The page that showed it may have died since: whatever allows must be on screen now.
    if let Command::AnswerPrompt { id, revision, answer } = &command
        && *answer != PromptAnswer::Deny
        && !births.shows(*id, *revision)
    {
        let message = "This question was not on screen yet, so the answer does not count.";
        return Err(CommandError::new("not_painted", message));
    }
    engine.send(command).await
}

/// Tells what the desktop around the page offers.
#[tauri::command]
pub(crate) fn desktop(shell: State<'_, Shell>) -> DesktopView {
    shell.view()
}

/// Returns what the window remembers.
#[tauri::command]
pub(crate) fn prefs(desk: State<'_, PrefsDesk>) -> Prefs {
    desk.get()
}

/// Remembers what the person set in the page.
#[tauri::command]
pub(crate) async fn set_prefs(app: AppHandle, desk: State<'_, PrefsDesk>, prefs: Prefs) -> Result<(), CommandError> {
    let next = prefs::from_page(&desk.get(), prefs)?;
    let stored = desk.change(|now| *now = next);
    let now = desk.get();
    window::apply(&app, &now);
    if let Err(error) = app.emit(PREFS, &now) {
        tracing::warn!(%error, "the pages did not get the newest preferences");
    }
    stored
}

/// A page says that it has really been drawn.
#[tauri::command]
pub(crate) fn painted(window: WebviewWindow, births: State<'_, Births>) {
    if let Some(took) = births.painted(window.label()) {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(ms, window = window.label(), "painted");
        rescue::paints(window.app_handle());
        if window.label() == PILL {
            window::pill::painted(window.app_handle());
        }
    }
}

/// Returns what the pill says; nothing once use has ended.
#[tauri::command]
pub(crate) fn pill(window: WebviewWindow, desk: State<'_, PillDesk>) -> Option<PillView> {
    paint::lives(&window);
    desk.view()
}

/// Opens the main window, or brings it to the front.
#[tauri::command]
pub(crate) fn show_main(app: AppHandle) {
    window::open(&app);
}

/// Lets the person pick another folder for a question about attaching one. False: they did not.
#[tauri::command]
pub(crate) async fn choose_folder(
    window: WebviewWindow,
    engine: State<'_, EngineHandle>,
    id: u64,
) -> Result<bool, CommandError> {
    let asked = engine.snapshot().prompts.iter().find(|prompt| prompt.id == id).cloned();
    let Some(prompt) = asked.filter(|prompt| prompt.can_choose_folder) else {
        return Err(CommandError::new("not_offered", "No other folder can be chosen for this question."));
    };
    let title = Word::ChooseFolder.text(Language::of(window.app_handle()));
    let start = prompt.folder.as_deref().map(std::path::Path::new);
    let Some(path) = dialogs::pick_folder(Some(&window), title, start).await? else { return Ok(false) };
    engine.send(Command::ChooseFolder { id, path }).await.map(|_| true)
}

/// Lets the person pick the folder for the next chat. False: they did not.
#[tauri::command]
pub(crate) async fn offer_folder(window: WebviewWindow, engine: State<'_, EngineHandle>) -> Result<bool, CommandError> {
    let title = Word::ChooseOffer.text(Language::of(window.app_handle()));
    let Some(path) = dialogs::pick_folder(Some(&window), title, None).await? else { return Ok(false) };
    engine.send(Command::OfferFolder { path: Some(path) }).await.map(|_| true)
}

/// Lets the person pick a folder below which agents may look for one. False: they did not.
#[tauri::command]
pub(crate) async fn add_browse_root(
    window: WebviewWindow,
    engine: State<'_, EngineHandle>,
) -> Result<bool, CommandError> {
    let title = Word::ChooseBrowseRoot.text(Language::of(window.app_handle()));
    let Some(path) = dialogs::pick_folder(Some(&window), title, None).await? else { return Ok(false) };
    engine.send(Command::AddBrowseRoot { path }).await.map(|_| true)
}

/// Lets the person name an archive, and writes the audit log into it. None: they did not.
#[tauri::command]
pub(crate) async fn export_audit(
    window: WebviewWindow,
    engine: State<'_, EngineHandle>,
) -> Result<Option<Reply>, CommandError> {
    let title = Word::ChooseExport.text(Language::of(window.app_handle()));
    let Some(path) = dialogs::save_file(&window, title, ARCHIVE).await? else { return Ok(None) };
    engine.send(Command::AuditExport { path }).await.map(Some)
}

/// Shows the folder of a chat in the file manager. The page cannot name a folder.
#[tauri::command]
pub(crate) async fn open_folder(engine: State<'_, EngineHandle>, session_id: String) -> Result<(), CommandError> {
    outside::open_folder(&engine.snapshot(), &session_id)
}

/// Starts the program again on the practice platform, or back on the real one.
#[tauri::command]
pub(crate) async fn set_practice(app: AppHandle, desk: State<'_, PrefsDesk>, on: bool) -> Result<(), CommandError> {
    if desk.get().practice == on {
        return Ok(());
    }
    // What is not stored would be forgotten by the restart.
    if let Err(fault) = desk.change(|prefs| prefs.practice = on) {
        let _ = desk.change(|prefs| prefs.practice = !on);
        return Err(fault);
    }
    shell::start_again(&app);
    Ok(())
}

/// Chooses another account and starts the program again with it.
#[tauri::command]
pub(crate) async fn use_account(
    app: AppHandle,
    engine: State<'_, EngineHandle>,
    id: String,
) -> Result<(), CommandError> {
    engine.send(Command::UseAccount { id }).await?;
    shell::start_again(&app);
    Ok(())
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
        Some(url) => outside::open_in_browser(&url).await,
        None => Err(CommandError::new("no_sign_in", "No sign-in is under way. Press Sign in first.")),
    }
}

/// Opens the platform's own page.
#[tauri::command]
pub(crate) async fn open_platform(engine: State<'_, EngineHandle>) -> Result<(), CommandError> {
    let address = page_address(&engine.snapshot().account.platform_url);
    outside::open_in_browser(&address).await
}

/// Says which commands a page needs. Ending the program is for the tray alone, removing old audit files for the command
/// line, and questions are for the window that shows them.
fn is_for_the_page(label: &str, command: &Command) -> bool {
    match command {
        Command::SetRaised { raised: true } => matches!(label, MAIN | PROMPT | PILL),
        Command::PromptPainted { .. } | Command::AnswerPrompt { .. } => label == PROMPT,
        Command::DenyPrompts => matches!(label, MAIN | PROMPT),
        Command::SetRaised { raised: false }
        | Command::SetPower { .. }
        | Command::SetShell { .. }
        | Command::SetScreen { .. }
        | Command::SetClipboardForeign { .. }
        | Command::SignIn
        | Command::PasteRedirect { .. }
        | Command::CancelSignIn
        | Command::SignOut
        | Command::Connect
        | Command::Detach { .. }
        | Command::Forget { .. }
        | Command::ForgetClosed
        | Command::UndoList { .. }
        | Command::UndoRestore { .. }
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
        | Command::AddAccount { .. }
        | Command::RemoveAccount { .. }
        | Command::ForgetTokens
        | Command::MoveSecrets { .. }
        | Command::GateUnlock { .. }
        | Command::GateNewFile { .. }
        | Command::GateSetAside
        | Command::GateRetry
        | Command::GateAskKeychain
        | Command::AddModelServer { .. }
        | Command::SetModelKey { .. }
        | Command::RemoveModelServer { .. }
        | Command::FindModelServers
        | Command::LookAtModels
        | Command::TryModel { .. }
        | Command::TrialText { .. }
        | Command::StopTrial { .. }
        | Command::SetPrivacy { .. }
        | Command::SetPrivacyReview { .. }
        | Command::SetPrivacyPreview { .. }
        | Command::LookAtDevices
        | Command::ShareDevice { .. }
        // A path, but only of what proves to be a serial port: no dialog lists those.
        | Command::AddPort { .. }
        | Command::RemovePort { .. }
        | Command::Explain { .. } => label == MAIN,
        // The program must start again with it, so it has a door of its own. Paths come from a system dialog, never from a page.
        Command::UseAccount { .. }
        | Command::OfferFolder { path: Some(_) }
        | Command::ChooseFolder { .. }
        | Command::AddBrowseRoot { .. }
        | Command::AuditExport { .. }
        | Command::ReportTray { .. }
        | Command::ShowWindow
        // Devices are used from the command line.
        | Command::UseDevice { .. }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_may_stop_everything_but_not_end_the_program() {
        for page in [MAIN, PROMPT] {
            assert!(is_for_the_page(page, &Command::SetRaised { raised: true }));
            assert!(is_for_the_page(page, &Command::DenyPrompts));
            assert!(!is_for_the_page(page, &Command::Shutdown));
            assert!(!is_for_the_page(page, &Command::ChooseFolder { id: 1, path: "/".to_owned() }));
            assert!(!is_for_the_page(page, &Command::OfferFolder { path: Some("/".to_owned()) }));
        }
    }

    #[test]
    fn questions_are_shown_and_answered_in_their_own_window_alone() {
        let painted = Command::PromptPainted { id: 7, revision: 1 };
        let answer = Command::AnswerPrompt { id: 7, revision: 1, answer: PromptAnswer::AllowOnce };
        assert!(is_for_the_page(PROMPT, &painted) && is_for_the_page(PROMPT, &answer));
        assert!(!is_for_the_page(MAIN, &painted) && !is_for_the_page(MAIN, &answer));
    }

    #[test]
    fn the_pill_can_stop_and_nothing_else() {
        assert!(is_for_the_page(PILL, &Command::SetRaised { raised: true }));
        let rest = [
            Command::SetRaised { raised: false },
            Command::DenyPrompts,
            Command::PromptPainted { id: 7, revision: 1 },
            Command::AnswerPrompt { id: 7, revision: 1, answer: PromptAnswer::Deny },
            Command::SetPower { power: "computer_use".to_owned(), mode: "off".to_owned() },
            Command::SetScreen { only_apps: None, never_apps: Vec::new(), full_resolution: true },
            Command::SetPrivacy { session_id: None, on: Some(false) },
            Command::ShareDevice { id: "serial-1".to_owned(), shared: true },
            Command::SetClipboardForeign { on: true },
        ];
        for command in rest {
            assert!(!is_for_the_page(PILL, &command), "{command:?}");
        }
    }

    #[test]
    fn the_window_for_questions_can_widen_nothing_else() {
        let widen = [
            Command::SetRaised { raised: false },
            Command::SetPower { power: "shell".to_owned(), mode: "allowed".to_owned() },
            Command::SetShell { mode: "full".to_owned(), network: "all".to_owned() },
            Command::SetScreen { only_apps: None, never_apps: Vec::new(), full_resolution: true },
            Command::SetClipboardForeign { on: true },
            Command::AddModelServer { url: "http://box".to_owned(), api: "auto".to_owned(), far: true, parallel: 1 },
            Command::SetModelKey { url: "http://box".to_owned(), key: None },
            Command::SetPrivacy { session_id: None, on: Some(false) },
            Command::SetPrivacyReview { on: false },
            Command::SetPrivacyPreview { bytes: 256 },
            Command::ShareDevice { id: "serial-1".to_owned(), shared: true },
            Command::AddPort { path: "/dev/pts/1".to_owned() },
            Command::TryModel { model: "m".to_owned(), text: "t".to_owned() },
            Command::UndoRestore { numbers: vec![1] },
        ];
        for command in widen {
            assert!(!is_for_the_page(PROMPT, &command) && is_for_the_page(MAIN, &command), "{command:?}");
            assert!(!is_for_the_page("other", &command));
        }
    }

    #[test]
    fn a_socket_address_becomes_the_page_beside_it() {
        assert_eq!(page_address("ws://127.0.0.1:8470"), "http://127.0.0.1:8470");
        assert_eq!(page_address("wss://platform.example"), "https://platform.example");
        assert_eq!(page_address("http://127.0.0.1:8470/"), "http://127.0.0.1:8470/");
    }
}
