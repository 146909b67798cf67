//! The window and the tray around a scripted engine: for looking at them, and for the test that drives them.
//!
//! Not part of the program. It does nothing on the computer: commands change the picture alone.

#[cfg(not(feature = "desktop"))]
fn main() {}

#[cfg(feature = "desktop")]
fn main() -> std::process::ExitCode {
    drawbridge_desktop::log_to_stderr();
    let launch = match drawbridge_desktop::host::state_folder() {
        Ok(state) => drawbridge_desktop::Launch::new(state, false),
        Err(reason) => return drawbridge_desktop::tell(&reason),
    };
    drawbridge_desktop::run(launch, |_| async { Ok(scripted::start()) })
}

#[cfg(feature = "desktop")]
mod scripted {
    use std::sync::Arc;
    use std::time::{SystemTime, UNIX_EPOCH};

    use drawbridge_desktop::host::Hosted;
    use drawbridge_engine::view::{
        AccountState, AccountView, ActivityRow, AuditView, ChatView, LinkState, LinkView, PowerView, PromptDetail,
        PromptView, ShellView, Snapshot, UndoView,
    };
    use drawbridge_engine::{Command, EngineHandle, Reply};
    use tokio::sync::watch;

    pub(crate) fn start() -> Hosted {
        let (handle, mut side) = EngineHandle::pair(picture());
        let (tell, ended) = watch::channel(None);
        tokio::spawn(async move {
            while let Some((command, answer)) = side.commands.recv().await {
                let mut next = (**side.snapshots.borrow()).clone();
                let last = command == Command::Shutdown;
                let reply = apply(&mut next, command);
                side.snapshots.send_replace(Arc::new(next));
                let _ = answer.send(Ok(reply));
                if last {
                    tell.send_replace(Some(0));
                }
            }
        });
        Hosted { handle, ended }
    }

    fn apply(next: &mut Snapshot, command: Command) -> Reply {
        match command {
            Command::SetRaised { raised } => {
                next.raised = raised;
                next.prompts.clear();
                next.link.state = if raised { LinkState::Off } else { LinkState::Connected };
                for chat in &mut next.chats {
                    chat.active &= !raised;
                    chat.in_flight = 0;
                }
            }
            Command::SetPower { power, mode } => {
                for row in next.powers.iter_mut().filter(|row| row.power == power) {
                    row.mode.clone_from(&mode);
                }
            }
            Command::SetShell { mode, network } => {
                next.shell.mode = mode;
                next.shell.network = network;
            }
            Command::SignIn => {
                next.account.state = AccountState::SigningIn;
                next.account.authorize_url = Some("http://127.0.0.1:8470/authorize?state=fixture".to_owned());
            }
            Command::PasteRedirect { .. } => next.account.state = AccountState::SignedIn,
            Command::CancelSignIn | Command::SignOut => next.account.state = AccountState::SignedOut,
            Command::Connect => {
                next.link.state = LinkState::Connected;
                // Here, dialling brings a question, so that the test has one when it wants it.
                next.prompts.push(question());
            }
            Command::AnswerPrompt { id, answer, .. } => {
                next.prompts.retain(|prompt| prompt.id != id);
                let number = next.activity.first().map_or(1, |row| row.number + 1);
                next.activity.insert(0, act(number, "PROMPT", &format!("{answer:?}"), None));
            }
            Command::PromptPainted { id, .. } => {
                let number = next.activity.first().map_or(1, |row| row.number + 1);
                next.activity.insert(0, act(number, "PAINTED", &id.to_string(), None));
            }
            Command::Detach { session_id } => {
                for chat in next.chats.iter_mut().filter(|chat| chat.session_id == session_id) {
                    chat.active = false;
                }
            }
            Command::Forget { session_id } => next.chats.retain(|chat| chat.session_id != session_id),
            Command::UndoList { .. } => return Reply::Undo { entries: vec![undo()] },
            Command::AuditRotate => return Reply::Rotated { path: "/state/audit.log.20260101-120000".to_owned() },
            Command::DenyPrompts => next.prompts.clear(),
            Command::ReportTray { tray } => next.tray = tray,
            Command::ShowWindow => next.window_wanted += 1,
            Command::ChooseFolder { .. }
            | Command::OfferFolder { .. }
            | Command::AddBrowseRoot { .. }
            | Command::RemoveBrowseRoot { .. }
            | Command::SetChatPower { .. }
            | Command::RemoveRule { .. }
            | Command::SetRule { .. }
            | Command::SettingsAfresh
            | Command::UndoRestore { .. }
            | Command::UndoRestoreChat { .. }
            | Command::ActivityPage { .. }
            | Command::AuditRecord { .. }
            | Command::AuditVerify
            | Command::AuditExport { .. }
            | Command::AuditPrune { .. }
            | Command::Explain { .. }
            | Command::Shutdown => {}
        }
        Reply::Done
    }

    fn now_ms() -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
    }

    fn picture() -> Snapshot {
        let power = |name: &str, mode: &str, built: bool| PowerView {
            power: name.to_owned(),
            mode: mode.to_owned(),
            locked_by: None,
            built,
            running: 0,
        };
        Snapshot {
            version: "0.1.0".to_owned(),
            raised: false,
            trouble: None,
            account: AccountView {
                state: AccountState::SignedIn,
                platform_url: "http://127.0.0.1:8470".to_owned(),
                authorize_url: None,
                problem: None,
            },
            link: LinkView { state: LinkState::Connected, reason: None },
            chats: vec![
                chat("chat-quarterly-report", "/home/ada/Documents/Quarterly report", true, 1),
                chat("chat-garden", "/home/ada/garden", false, 0),
            ],
            powers: vec![
                power("files", "allowed", true),
                power("attach", "ask_each_time", true),
                power("shell", "ask_each_time", true),
                power("computer_use", "off", false),
                power("clipboard", "off", false),
                power("local_model", "off", false),
                power("hardware", "off", false),
            ],
            shell: ShellView { mode: "confined".to_owned(), network: "none".to_owned(), confinement_missing: None },
            prompts: Vec::new(),
            activity: vec![
                act(4, "EXECUTE_COMMAND", "cargo test", Some("APPROVAL_DENIED")),
                act(3, "FILE_WRITE", "summary.md", None),
                act(2, "FILE_READ", "figures/march.csv", None),
                act(1, "FILE_LIST", ".", None),
            ],
            audit: AuditView {
                path: "/home/ada/.local/state/drawbridge/audit.log".to_owned(),
                bytes: 18_432,
                records: 47,
                unavailable: false,
            },
            ..Snapshot::default()
        }
    }

    fn chat(id: &str, folder: &str, active: bool, in_flight: u32) -> ChatView {
        ChatView {
            session_id: id.to_owned(),
            folder: folder.to_owned(),
            revision: 1,
            active,
            link: if active { LinkState::Connected } else { LinkState::Off },
            in_flight,
            requests: 12,
            revoked: false,
            last_used_ms: now_ms(),
            ..ChatView::default()
        }
    }

    fn act(number: u64, operation: &str, subject: &str, error: Option<&str>) -> ActivityRow {
        ActivityRow {
            number,
            at_ms: now_ms(),
            session_id: Some("chat-quarterly-report".to_owned()),
            operation: operation.to_owned(),
            subject: subject.to_owned(),
            ok: error.is_none(),
            error_code: error.map(str::to_owned),
            duration_ms: 3,
            why: None,
            seq: Some(number),
            file: None,
        }
    }

    fn question() -> PromptView {
        let detail = |label: &str, value: &str| PromptDetail { label: label.to_owned(), value: value.to_owned() };
        PromptView {
            id: 7,
            power: "shell".to_owned(),
            platform: "http://127.0.0.1:8470".to_owned(),
            session_id: Some("chat-quarterly-report".to_owned()),
            operation: "EXECUTE_COMMAND".to_owned(),
            summary: "Run the command “cargo test”?".to_owned(),
            details: vec![
                detail("program", "/usr/bin/cargo"),
                detail("argument", "test"),
                detail("folder", "/home/ada/Documents/Quarterly report"),
            ],
            can_allow_chat: true,
            expires_at_ms: now_ms() + 60_000,
            ..PromptView::default()
        }
    }

    fn undo() -> UndoView {
        UndoView {
            number: 1,
            at_ms: now_ms(),
            session_id: Some("chat-quarterly-report".to_owned()),
            kind: "write".to_owned(),
            path: "/home/ada/Documents/Quarterly report/summary.md".to_owned(),
            moved_to: None,
            bytes: 2_048,
            restored: false,
        }
    }
}
