use drawbridge_engine::view::{AccountView, AuditView, ChatView, LinkView, PromptView, ShellView};

use super::*;

fn idle() -> Snapshot {
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
        chats: Vec::new(),
        powers: Vec::new(),
        shell: ShellView { mode: "confined".to_owned(), network: "none".to_owned(), confinement_missing: None },
        prompts: Vec::new(),
        activity: Vec::new(),
        audit: AuditView { path: "/state/audit.log".to_owned(), bytes: 0, records: 0, unavailable: false },
        ..Snapshot::default()
    }
}

fn chat(in_flight: u32) -> ChatView {
    ChatView {
        session_id: "chat-1".to_owned(),
        folder: "/home/ada/notes".to_owned(),
        revision: 1,
        active: true,
        link: LinkState::Connected,
        in_flight,
        requests: 3,
        revoked: false,
        last_used_ms: 0,
        ..ChatView::default()
    }
}

fn question() -> PromptView {
    PromptView {
        id: 1,
        power: "attach".to_owned(),
        platform: "http://127.0.0.1:8470".to_owned(),
        session_id: None,
        operation: "ATTACH".to_owned(),
        summary: "Attach a folder".to_owned(),
        details: Vec::new(),
        can_allow_chat: false,
        expires_at_ms: 0,
        ..PromptView::default()
    }
}

#[test]
fn an_idle_bridge_offers_the_stop_the_window_and_the_end() {
    let menu = tray_menu(&idle());

    assert_eq!(
        menu,
        Menu {
            icon: Icon::Lowered,
            lines: vec![
                Line::Status("Connected and idle".to_owned()),
                Line::Separator,
                Line::Item("Raise the bridge (stop everything)".to_owned(), Action::SetRaised(true)),
                Line::Separator,
                Line::Item("Open Drawbridge".to_owned(), Action::Open),
                Line::Item("Quit (ends all links and commands)".to_owned(), Action::Quit),
            ],
        }
    );
}

#[test]
fn an_attached_chat_can_be_detached_from_the_menu() {
    let menu = tray_menu(&Snapshot { chats: vec![chat(2)], ..idle() });

    assert_eq!(menu.icon, Icon::Working);
    assert_eq!(menu.lines[0], Line::Status("Working: 2 running".to_owned()));
    assert_eq!(
        menu.lines[3],
        Line::Submenu(
            "Chats".to_owned(),
            vec![Line::Submenu(
                "/home/ada/notes".to_owned(),
                vec![Line::Item("Detach".to_owned(), Action::Detach("chat-1".to_owned()))]
            )]
        )
    );
}

#[test]
fn a_raised_bridge_says_so_whatever_else_is_wrong_and_offers_to_lower() {
    let halted = LinkView { state: LinkState::Halted, reason: None };
    let menu = tray_menu(&Snapshot { raised: true, link: halted, ..idle() });

    assert_eq!(menu.icon, Icon::Raised);
    assert_eq!(menu.lines[0], Line::Status("Raised: nothing can act".to_owned()));
    assert!(menu.lines.iter().any(|line| matches!(line, Line::Item(_, Action::SetRaised(false)))));
}

#[test]
fn a_question_wants_attention_before_all_else() {
    let menu = tray_menu(&Snapshot { prompts: vec![question()], chats: vec![chat(1)], ..idle() });

    assert_eq!(menu.icon, Icon::Attention);
    assert_eq!(menu.lines[0], Line::Status("1 question waiting for you".to_owned()));
}

#[test]
fn a_log_that_cannot_be_written_wants_attention() {
    let audit = AuditView { unavailable: true, ..idle().audit };

    assert_eq!(tray_menu(&Snapshot { audit, ..idle() }).icon, Icon::Attention);
}

#[test]
fn without_an_account_the_icon_is_that_of_signed_out() {
    let account = AccountView { state: AccountState::SignedOut, ..idle().account };

    assert_eq!(tray_menu(&Snapshot { account, ..idle() }).icon, Icon::SignedOut);
}
