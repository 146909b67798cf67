use drawbridge_engine::view::{
    AccountView, ActivityRow, AuditView, CeilingView, ChatModeView, GateView, LinkView, Notice, ScreenUseView,
    ScreenView,
};

use super::*;

fn idle() -> Snapshot {
    Snapshot {
        account: AccountView { state: AccountState::SignedIn, ..AccountView::default() },
        link: LinkView { state: LinkState::Connected, ..LinkView::default() },
        powers: vec![power_row("files", "allowed"), power_row("shell", "off")],
        ..Snapshot::default()
    }
}

fn power_row(power: &str, mode: &str) -> PowerView {
    PowerView { power: power.to_owned(), mode: mode.to_owned(), built: true, ..PowerView::default() }
}

fn chat_row(id: &str, folder: &str, in_flight: u32) -> ChatView {
    ChatView {
        session_id: id.to_owned(),
        folder: folder.to_owned(),
        attached: true,
        active: true,
        link: LinkState::Connected,
        in_flight,
        ..ChatView::default()
    }
}

fn question_row(id: u64) -> PromptView {
    let summary = "The agent wants to run a command on this computer".to_owned();
    PromptView { id, revision: 3, summary, session_id: Some("chat-1".to_owned()), ..PromptView::default() }
}

fn english(snapshot: &Snapshot) -> Menu {
    tray_menu(snapshot, &Around::default())
}

fn german(snapshot: &Snapshot) -> Menu {
    tray_menu(snapshot, &Around { language: Language::German, ..Around::default() })
}

/// Every line, also those of submenus.
fn all(lines: &[Line]) -> Vec<Line> {
    lines
        .iter()
        .flat_map(|line| {
            let inner = if let Line::Submenu(_, lines) = line { all(lines) } else { Vec::new() };
            std::iter::once(line.clone()).chain(inner)
        })
        .collect()
}

fn actions(menu: &Menu) -> Vec<Action> {
    all(&menu.lines)
        .into_iter()
        .filter_map(|line| match line {
            Line::Item(_, action) | Line::Check(_, _, action) => Some(action),
            Line::Status(_) | Line::Submenu(..) | Line::Separator => None,
        })
        .collect()
}

fn label(line: &Line) -> &str {
    match line {
        Line::Status(text) | Line::Item(text, _) | Line::Check(text, ..) | Line::Submenu(text, _) => text,
        Line::Separator => "-",
    }
}

fn submenu<'a>(menu: &'a Menu, start: &str) -> &'a [Line] {
    let found = menu.lines.iter().find_map(|line| match line {
        Line::Submenu(text, lines) if text.starts_with(start) => Some(lines.as_slice()),
        Line::Submenu(..) | Line::Status(_) | Line::Item(..) | Line::Check(..) | Line::Separator => None,
    });
    found.unwrap_or_else(|| panic!("no submenu {start} in {:?}", menu.lines))
}

#[test]
fn an_idle_bridge_offers_the_stop_the_window_and_the_end() {
    let menu = english(&idle());

    assert_eq!(menu.icon, Icon::Lowered);
    let labels: Vec<&str> = menu.lines.iter().map(label).collect();
    assert_eq!(
        labels,
        [
            "Connected and idle",
            "-",
            "Raise the bridge (stop everything)",
            "Lower the bridge (agents may act again)",
            "-",
            "Chats (0)",
            "Powers",
            "Folders offered",
            "-",
            "Open Drawbridge",
            "Quit"
        ]
    );
    assert_eq!(submenu(&menu, "Chats"), [Line::Status("No chat has a folder".to_owned())]);
    assert!(!actions(&menu).contains(&Action::SetRaised(false)), "what cannot be done cannot be clicked");
}

#[test]
fn raise_and_lower_never_stand_in_each_others_place() {
    let lowered = english(&idle());
    let raised = english(&Snapshot { raised: true, ..idle() });
    let place = |menu: &Menu, text: &str| menu.lines.iter().position(|line| label(line).starts_with(text));

    for text in ["Raise the bridge", "Lower the bridge"] {
        assert_eq!(place(&lowered, text), place(&raised, text));
    }
    assert!(actions(&raised).contains(&Action::SetRaised(false)));
    assert!(!actions(&raised).contains(&Action::SetRaised(true)));
}

#[test]
fn a_question_can_be_shown_and_denied_but_never_allowed() {
    let snapshot =
        Snapshot { prompts: vec![question_row(7)], chats: vec![chat_row("chat-1", "/home/ada/notes", 1)], ..idle() };
    let menu = english(&snapshot);

    assert_eq!(menu.icon, Icon::Attention);
    assert_eq!(menu.status, "1 question is waiting for you");
    assert_eq!(
        submenu(&menu, "Question: The agent wants to run"),
        [
            Line::Status("Folder of the chat: /home/ada/notes".to_owned()),
            Line::Item("Show the question".to_owned(), Action::ShowQuestion),
            Line::Item("Deny".to_owned(), Action::Deny { id: 7, revision: 3 }),
        ]
    );
    assert!(!actions(&menu).contains(&Action::DenyAll), "one question is denied by its own line");
}

#[test]
fn a_flood_of_questions_is_listed_in_part_and_denied_at_once() {
    let menu = german(&Snapshot { prompts: (1..=16).map(question_row).collect(), ..idle() });

    assert_eq!(menu.status, "16 Fragen warten auf Sie");
    let listed = menu.lines.iter().filter(|line| label(line).starts_with("Frage:")).count();
    assert_eq!(listed, QUESTIONS_MAX);
    assert!(menu.lines.contains(&Line::Item("Alle 16 Fragen ablehnen".to_owned(), Action::DenyAll)));
    assert!(menu.lines.contains(&Line::Item("11 weitere im Fenster…".to_owned(), Action::ShowQuestion)));
}

#[test]
fn a_chat_can_be_opened_and_detached_and_one_without_a_link_only_opened() {
    let away = ChatView { active: false, ..chat_row("chat-2", "/home/ada/garden", 0) };
    // One that only the platform could open again is for the window.
    let closed = ChatView { attached: false, active: false, ..chat_row("chat-3", "/home/ada/old", 0) };
    let chats = vec![away, closed, chat_row("chat-1", "/home/ada/notes", 2)];
    let menu = english(&Snapshot { chats, ..idle() });

    assert_eq!((menu.icon, menu.status.as_str()), (Icon::Working, "Working: 2 requests"));
    let item = |text: &str, action| Line::Item(text.to_owned(), action);
    assert_eq!(
        submenu(&menu, "Chats (2)"),
        [
            Line::Submenu(
                "/home/ada/notes".to_owned(),
                vec![
                    Line::Status("Working: 2 requests".to_owned()),
                    item("Open the folder", Action::OpenFolder("chat-1".to_owned())),
                    item("Detach", Action::Detach("chat-1".to_owned())),
                ]
            ),
            Line::Submenu(
                "/home/ada/garden".to_owned(),
                vec![
                    Line::Status("Not connected".to_owned()),
                    item("Open the folder", Action::OpenFolder("chat-2".to_owned())),
                ]
            ),
        ]
    );
}

#[test]
fn many_chats_stand_in_a_steady_order_and_the_rest_is_in_the_window() {
    let chats: Vec<ChatView> =
        (0..25).map(|number| chat_row(&format!("c{number}"), &format!("/home/ada/{number:02}"), 0)).collect();
    let menu = english(&Snapshot { chats: chats.clone(), ..idle() });
    let twenty = english(&Snapshot { chats: chats[..20].to_vec(), ..idle() });

    let lines = submenu(&menu, "Chats (25)");
    assert_eq!(lines.len(), CHATS_MAX + 1);
    assert_eq!(lines[CHATS_MAX], Line::Item("5 more in the window…".to_owned(), Action::Open));
    assert_eq!(submenu(&twenty, "Chats (20)").len(), 20);
    // The engine gives the newest use first; a menu whose lines move is clicked wrong.
    let used = Snapshot { chats: chats.into_iter().rev().collect(), ..idle() };
    assert_eq!(english(&used), menu);
}

#[test]
fn names_from_outside_are_short_and_show_what_they_hide() {
    let long = format!("/home/ada/{}/end", "very long ".repeat(40));
    let turned = "/home/ada/\u{202e}fdp.exe\nQuit";
    let menu = english(&Snapshot {
        chats: vec![chat_row("a", &long, 0), chat_row("b", turned, 0)],
        activity: vec![ActivityRow {
            operation: "FILE_READ".to_owned(),
            subject: long.clone(),
            ok: true,
            ..ActivityRow::default()
        }],
        offered_folder: Some(turned.to_owned()),
        browse_roots: vec![long],
        ..idle()
    });

    for line in all(&menu.lines) {
        let text = label(&line);
        assert!(text.chars().count() <= 100, "{text}");
        assert!(!text.contains(['\u{202e}', '\n']), "{text:?}");
    }
    let names: Vec<&str> = submenu(&menu, "Chats").iter().map(label).collect();
    assert!(names.iter().any(|name| name.starts_with("/home/ada/very long") && name.ends_with("/end")), "{names:?}");
    assert!(names.contains(&"/home/ada/\\u{202E}fdp.exe␊Quit"), "{names:?}");
}

#[test]
fn powers_show_their_modes_and_what_this_version_cannot_do_is_left_out() {
    let clipboard = PowerView { built: false, ..power_row("clipboard", "off") };
    let locked = PowerView { locked_by: Some("system configuration".to_owned()), ..power_row("attach", "off") };
    let snapshot = Snapshot { powers: vec![power_row("files", "allowed"), clipboard, locked], ..idle() };
    let menu = german(&snapshot);

    let powers: Vec<&str> = submenu(&menu, "Rechte").iter().map(label).collect();
    assert_eq!(powers, ["Dateien: Erlaubt", "Ordner anhängen: Aus"]);
    let set = |mode: &str| Action::SetPower("files".to_owned(), mode.to_owned());
    let Line::Submenu(_, files) = &submenu(&menu, "Rechte")[0] else { panic!("no modes") };
    assert_eq!(
        files,
        &[
            Line::Check("Aus".to_owned(), false, set("off")),
            Line::Check("Jedes Mal fragen".to_owned(), false, set("ask_each_time")),
            Line::Check("Einmal je Chat fragen".to_owned(), false, set("ask_once_per_chat")),
            Line::Check("Erlaubt".to_owned(), true, set("allowed")),
        ]
    );
    let Line::Submenu(_, attach) = &submenu(&menu, "Rechte")[1] else { panic!("no lines") };
    assert_eq!(attach, &[Line::Status("Abgeschaltet durch system configuration".to_owned())]);
}

#[test]
fn while_an_agent_can_click_what_gives_more_is_done_in_the_window() {
    let with = |mode: &str, chat: ChatView| {
        let powers = vec![power_row("shell", "ask_each_time"), power_row("computer_use", mode)];
        english(&Snapshot { powers, chats: vec![chat], ..idle() })
    };
    let set = |power: &str, mode: &str| Action::SetPower(power.to_owned(), mode.to_owned());
    let chat = || chat_row("chat-1", "/home/ada/notes", 0);
    let own = ChatModeView { power: "computer_use".to_owned(), mode: "allowed".to_owned() };
    let wider = [set("shell", "allowed"), set("shell", "ask_once_per_chat")];

    for menu in [with("allowed", chat()), with("off", ChatView { modes: vec![own], ..chat() })] {
        let offered = actions(&menu);
        assert!(wider.iter().all(|action| !offered.contains(action)), "{offered:?}");
        assert!(offered.contains(&set("shell", "off")) && offered.contains(&set("shell", "ask_each_time")));
        let Line::Submenu(_, shell) = &submenu(&menu, "Powers")[0] else { panic!("no modes") };
        assert!(shell.contains(&Line::Check("Allowed (in the window…)".to_owned(), false, Action::Open)), "{shell:?}");
    }
    let nobody = with("off", chat());
    assert!(wider.iter().all(|action| actions(&nobody).contains(action)));
    assert!(actions(&nobody).contains(&set("computer_use", "allowed")), "the person switches it on");
}

#[test]
fn a_mode_that_the_organisation_does_not_allow_is_not_offered() {
    let ceiling = Some(CeilingView { mode: "ask_each_time".to_owned(), by: "Example".to_owned() });
    let shell = PowerView { ceiling, ..power_row("shell", "off") };
    let menu = german(&Snapshot { powers: vec![shell], ..idle() });

    let Line::Submenu(_, modes) = &submenu(&menu, "Rechte")[0] else { panic!("no modes") };
    let labels: Vec<&str> = modes.iter().map(label).collect();
    assert_eq!(labels, ["Aus", "Jedes Mal fragen"]);
}

#[test]
fn commands_can_be_confined_from_the_menu_but_never_let_loose() {
    let with = |mode: &str| {
        let mut snapshot = Snapshot { powers: vec![power_row("shell", "ask_each_time")], ..idle() };
        snapshot.shell.mode = mode.to_owned();
        snapshot.shell.network = "none".to_owned();
        english(&snapshot)
    };

    assert!(actions(&with("full")).contains(&Action::Confine("none".to_owned())));
    assert!(!actions(&with("confined")).iter().any(|action| matches!(action, Action::Confine(_))));
}

#[test]
fn folders_offered_can_be_taken_back_one_by_one() {
    let menu = english(&Snapshot {
        offered_folder: Some("/home/ada/next".to_owned()),
        browse_roots: vec!["/home/ada/work".to_owned()],
        ..idle()
    });
    let offered = actions(&menu);

    assert!(offered.contains(&Action::TakeBackOffer));
    assert!(offered.contains(&Action::StopLooking("/home/ada/work".to_owned())));
    assert!(submenu(&english(&idle()), "Folders").contains(&Line::Status("Your home folder".to_owned())));
}

#[test]
fn quit_says_what_it_ends() {
    let shell = PowerView { running: 1, ..power_row("shell", "allowed") };
    let two = vec![chat_row("a", "/a", 1), chat_row("b", "/b", 0)];
    let quit = |snapshot: &Snapshot| label(english(snapshot).lines.last().unwrap()).to_owned();

    assert_eq!(quit(&idle()), "Quit");
    assert_eq!(
        quit(&Snapshot { chats: two.clone(), powers: vec![shell.clone()], ..idle() }),
        "Quit (ends 2 chats and 1 running command)"
    );
    assert_eq!(quit(&Snapshot { chats: vec![chat_row("a", "/a", 0)], ..idle() }), "Quit (ends 1 chat)");
    let busy = Snapshot { chats: vec![chat_row("a", "/a", 3)], powers: vec![shell], ..idle() };
    assert_eq!(quit(&busy), "Quit (ends 1 chat, 1 running command and 2 running requests)");
}

#[test]
fn the_status_says_what_the_icon_shows() {
    let account = |state| AccountView { state, ..AccountView::default() };
    let link = |state| LinkView { state, ..LinkView::default() };
    let broken = AuditView { unavailable: true, ..AuditView::default() };
    let states = [
        (Snapshot { account: account(AccountState::SignedOut), ..idle() }, Icon::SignedOut, "Signed out"),
        (
            Snapshot { account: account(AccountState::SigningIn), ..idle() },
            Icon::SignedOut,
            "Signing in: finish in the browser",
        ),
        (
            Snapshot { account: account(AccountState::Refused), ..idle() },
            Icon::Attention,
            "The platform refused the sign-in: sign in again",
        ),
        (Snapshot { link: link(LinkState::Waiting), ..idle() }, Icon::Lowered, "Connecting…"),
        (Snapshot { link: link(LinkState::Off), ..idle() }, Icon::Lowered, "Not connected"),
        (
            Snapshot { link: link(LinkState::Halted), ..idle() },
            Icon::Attention,
            "The link has ended: connect again or open Drawbridge",
        ),
        (shared(3, 12), Icon::ScreenShared, "An agent uses your screen: 3 pictures, 12 acts"),
        (Snapshot { audit: broken, ..idle() }, Icon::Attention, "The audit log cannot be written: nothing is done"),
        (
            Snapshot { trouble: Some(Notice::default()), ..idle() },
            Icon::Attention,
            "Something is wrong: open Drawbridge",
        ),
        (Snapshot { raised: true, link: link(LinkState::Halted), ..idle() }, Icon::Raised, "Raised: nothing can act"),
        (
            Snapshot { raised: true, prompts: vec![question_row(1)], ..idle() },
            Icon::Attention,
            "1 question is waiting for you",
        ),
    ];
    for (snapshot, icon, status) in states {
        let menu = english(&snapshot);
        assert_eq!((menu.icon, menu.status.as_str()), (icon, status));
        assert_eq!(menu.lines[0], Line::Status(status.to_owned()));
    }
}

/// An agent uses the screen.
fn shared(pictures: u64, acts: u64) -> Snapshot {
    let in_use = Some(ScreenUseView { pictures, acts, ..ScreenUseView::default() });
    Snapshot { screen: ScreenView { in_use, ..ScreenView::default() }, ..idle() }
}

#[test]
fn while_the_screen_is_used_the_stop_stands_at_the_top_and_goes_with_the_use() {
    let stop = Line::Item("Stop: raise the bridge now".to_owned(), Action::StopScreen);
    assert_eq!(
        english(&shared(1, 0)).lines[..2],
        [Line::Status("An agent uses your screen: 1 picture, 0 acts".to_owned()), stop.clone()]
    );

    // A question is more urgent, and the stop is still in reach.
    let asked = english(&Snapshot { prompts: vec![question_row(7)], ..shared(0, 1) });
    assert_eq!((asked.icon, asked.status.as_str()), (Icon::Attention, "1 question is waiting for you"));
    assert_eq!(asked.lines[1..3], [Line::Status("An agent uses your screen: 0 pictures, 1 act".to_owned()), stop]);

    for ended in [idle(), Snapshot { raised: true, ..shared(1, 1) }] {
        assert!(!actions(&english(&ended)).contains(&Action::StopScreen));
    }
}

#[test]
fn an_agent_that_waits_for_the_person_says_so() {
    let mut waits = shared(3, 12);
    waits.screen.in_use.as_mut().unwrap().person_active = true;
    let waits_for = "Ein Agent benutzt Ihren Bildschirm: er wartet, solange Sie Maus oder Tastatur benutzen";
    assert_eq!((german(&waits).icon, german(&waits).status.as_str()), (Icon::ScreenShared, waits_for));
}

#[test]
fn screen_and_clipboard_have_their_modes_in_the_menu() {
    let powers = vec![power_row("computer_use", "ask_once_per_chat"), power_row("clipboard", "off")];
    let menu = english(&Snapshot { powers, ..idle() });

    let lines: Vec<&str> = submenu(&menu, "Powers").iter().map(label).collect();
    assert_eq!(lines, ["Screen and input: Ask once per chat", "Clipboard: Off"]);
    assert!(actions(&menu).contains(&Action::SetPower("computer_use".to_owned(), "off".to_owned())));
}

#[test]
fn signing_in_and_connecting_need_no_window() {
    let out = Snapshot { account: AccountView::default(), ..idle() };
    let halted = Snapshot { link: LinkView { state: LinkState::Halted, ..LinkView::default() }, ..idle() };

    assert!(actions(&english(&out)).contains(&Action::SignIn));
    assert!(actions(&english(&halted)).contains(&Action::Connect));
    assert!(!actions(&english(&Snapshot { raised: true, ..halted })).contains(&Action::Connect));
}

#[test]
fn what_is_around_shows_in_the_menu() {
    let around =
        Around { hot_key: Some("Ctrl+Alt+Shift+R".to_owned()), notifications_broken: true, ..Around::default() };
    let menu = tray_menu(&idle(), &around);

    assert_eq!(menu.lines[1], Line::Status("This desktop shows no notifications".to_owned()));
    assert!(menu.lines.contains(&Line::Item(
        "Raise the bridge (stop everything, Ctrl+Alt+Shift+R)".to_owned(),
        Action::SetRaised(true)
    )));
}

#[test]
fn the_last_act_is_told_with_its_refusal() {
    let row = |ok| ActivityRow {
        operation: "FILE_READ".to_owned(),
        subject: "a.csv".to_owned(),
        ok,
        ..ActivityRow::default()
    };
    let last = |ok| english(&Snapshot { activity: vec![row(ok)], ..idle() });

    assert!(last(true).lines.contains(&Line::Status("Last: FILE_READ a.csv".to_owned())));
    assert!(last(false).lines.contains(&Line::Status("Last: FILE_READ a.csv (refused)".to_owned())));
}

#[test]
fn without_an_engine_the_menu_leads_to_what_is_in_the_way_and_can_still_stop() {
    let stuck = Snapshot { gate: Some(GateView::default()), raised: false, ..Snapshot::default() };
    let menu = english(&stuck);
    assert_eq!((menu.icon, menu.status.as_str()), (Icon::Attention, "Drawbridge has not started"));
    assert_eq!(actions(&menu), [Action::Open, Action::SetRaised(true), Action::Quit]);

    let raised = german(&Snapshot { raised: true, ..stuck });
    assert_eq!(raised.icon, Icon::Attention);
    assert_eq!(actions(&raised), [Action::Open, Action::Quit]);
}
