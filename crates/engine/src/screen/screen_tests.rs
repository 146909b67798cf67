use drawbridge_core::computer::{Button, Chord, Point, ScreenArea, ScreenshotOp};
use drawbridge_core::computer::{PictureFormat, Rect};
use drawbridge_core::{OpError, SystemClock};
use drawbridge_policy::{ChatAllowance, Given, Origin};

use super::*;

fn chat(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn screen(state: PolicyState) -> Arc<Screen> {
    let policy = Arc::new(PolicyCell::new(state.clone(), state, Box::new(|_| Ok(()))));
    let settings = ComputerSettings { screenshots_per_minute: 10 };
    let seat = Seat { kind: SeatKind::None, display: None };
    Screen::new(seat, settings, policy, Arc::new(Board::new()), Arc::new(SystemClock))
}

fn state(modes: &[(Power, PowerMode)]) -> PolicyState {
    let mut state = PolicyState::defaults();
    state.modes.extend(modes.iter().copied());
    state
}

/// A seat that can do some of everything.
fn found() -> Features {
    Features {
        fine: vec!["screenshot.region", "input.drag.path", "window.list", "clipboard.read", "permissions.check"],
        coarse: vec!["screenshot", "input", "clipboard"],
        screen_resolution: Some((1920, 1080)),
        missing: vec![("window.focus", "no window manager".to_owned()), ("clipboard.write", "no owner".to_owned())],
    }
}

fn picture(area: Option<ScreenArea>) -> ComputerOp {
    let format = PictureFormat::Png;
    ComputerOp::Screenshot(ScreenshotOp { monitor: 0, quality: 75, area, format, include_cursor: false })
}

#[test]
fn each_power_offers_its_own_half_in_the_order_in_which_it_was_found() {
    let both = Offer::of(&found(), true, true);
    assert_eq!((both.fine.as_slice(), both.coarse.as_slice()), (found().fine.as_slice(), found().coarse.as_slice()));
    assert_eq!(both.resolution, Some((1920, 1080)));

    let clipboard = Offer::of(&found(), false, true);
    assert_eq!(
        (clipboard.fine, clipboard.coarse, clipboard.resolution),
        (vec!["clipboard.read"], vec!["clipboard"], None)
    );
    assert_eq!(clipboard.missing, [("clipboard.write", "no owner".to_owned())]);

    let screen = Offer::of(&found(), true, false);
    assert_eq!(screen.coarse, ["screenshot", "input"]);
    assert!(!screen.fine.contains(&"clipboard.read"));
    assert!(Offer::of(&found(), false, false).is_empty());
    let wall = Features { fine: vec!["input.wait", "permissions.check"], coarse: vec!["permissions"], ..found() };
    let nothing = Offer::of(&wall, true, true);
    assert!(nothing.is_empty() && nothing.missing.len() == 2, "{nothing:?}");
}

#[test]
fn what_was_not_offered_is_refused_with_the_reason_that_was_found() {
    let offer = Offer::of(&found(), true, true);
    let at = Point::new(1, 1);
    for fine in [
        picture(None),
        picture(Some(ScreenArea::Region(Rect::new(0, 0, 1, 1)))),
        ComputerOp::Input(InputOp::Move { at }),
        ComputerOp::Input(InputOp::Key(Chord::parse("a").unwrap())),
        ComputerOp::CursorPosition,
        ComputerOp::ClipboardWrite { text: String::new() },
        ComputerOp::PermissionsCheck { names: Vec::new() },
    ] {
        assert!(offer.check(&fine).is_ok(), "{}", fine.feature());
    }
    for (missing, feature, reason) in [
        (picture(Some(ScreenArea::Window("win_1".to_owned()))), "screenshot.window", "was not offered"),
        (ComputerOp::Input(InputOp::Down { at, button: Button::Left }), "input.mouse.down_up", "was not offered"),
        (ComputerOp::WindowFocus { window_id: "win_1".to_owned(), raise: true }, "window.focus", "no window manager"),
    ] {
        let Err(OpError::Unsupported { feature: told, why }) = offer.check(&missing) else { panic!("{feature}") };
        assert_eq!(told, feature);
        assert!(why.contains(reason), "{why}");
    }
    // Needs nothing, so it works where nothing does.
    let wait = ComputerOp::Input(InputOp::Wait { duration: Duration::ZERO });
    assert!(Offer::default().check(&wait).is_ok());
    assert!(Offer::default().check(&ComputerOp::DisplayInfo).is_err());
}

#[tokio::test]
async fn a_chat_gets_what_its_own_modes_leave_and_nothing_while_the_bridge_is_raised() {
    let mut settings = state(&[(Power::ComputerUse, PowerMode::Allowed), (Power::Clipboard, PowerMode::AskEachTime)]);
    settings.chat_modes.insert((chat("quiet"), Power::ComputerUse), PowerMode::Off);
    let screen = screen(settings);
    assert!(screen.offer(None).is_empty());
    *screen.found() = Some(found());

    assert_eq!(screen.offer(Some(&chat("any"))).coarse, ["screenshot", "input", "clipboard"]);
    assert_eq!(screen.offer(Some(&chat("quiet"))).coarse, ["clipboard"]);
    screen.policy.hold(|state| state.raised = true);
    assert!(screen.offer(None).is_empty() && screen.view().features.is_empty());
}

#[test]
fn terminals_are_free_only_where_commands_are() {
    let rules = |mode, shell_mode| {
        let mut settings = state(&[(Power::Shell, mode)]);
        settings.shell_mode = shell_mode;
        screen(settings).rules(&ComputerOp::DisplayInfo, Some(&chat("c"))).terminals
    };
    assert!(rules(PowerMode::Allowed, ShellMode::Full));
    assert!(!rules(PowerMode::Allowed, ShellMode::Confined));
    assert!(!rules(PowerMode::AskOncePerChat, ShellMode::Full));
    let mut capped = state(&[(Power::Shell, PowerMode::Allowed)]);
    capped.shell_mode = ShellMode::Full;
    capped.ceilings.powers.insert(Power::Shell, PowerMode::AskEachTime);
    assert!(!screen(capped).rules(&ComputerOp::DisplayInfo, None).terminals);
}

#[test]
fn typing_reaches_the_clipboard_only_where_the_clipboard_asks_nothing() {
    let typing = ComputerOp::Input(InputOp::Type { text: "x".to_owned(), paste: true, preserve_clipboard: false });
    let with = |mode, foreign| {
        let mut settings = state(&[(Power::ComputerUse, PowerMode::Allowed), (Power::Clipboard, mode)]);
        settings.clipboard_foreign = foreign;
        settings
    };
    let rule = |settings: &PolicyState, op: &ComputerOp| screen(settings.clone()).rules(op, Some(&chat("c"))).clipboard;

    let asks = with(PowerMode::AskOncePerChat, false);
    assert_eq!(rule(&asks, &typing), ClipboardRule::Off);
    assert_eq!(rule(&asks, &ComputerOp::ClipboardRead), ClipboardRule::OwnText);
    assert_eq!(rule(&with(PowerMode::Allowed, true), &typing), ClipboardRule::Foreign);
    assert_eq!(rule(&with(PowerMode::Off, true), &typing), ClipboardRule::Off);
    let mut allowed = asks;
    let given = Given { origin: Origin::Answered, at_ms: 1 };
    allowed.chat_allowances.insert(ChatAllowance { session: chat("c"), power: Power::Clipboard }, given);
    assert_eq!(rule(&allowed, &typing), ClipboardRule::OwnText);
}

#[tokio::test(start_paused = true)]
async fn use_is_shown_while_it_lasts_and_half_a_minute_beyond() {
    let screen = screen(state(&[(Power::ComputerUse, PowerMode::Allowed)]));
    let at = ComputerOp::Input(InputOp::Move { at: Point::new(0, 0) });
    let used = || screen.view().in_use;
    // What shows nothing is no use, and what did nothing is taken back.
    assert!(screen.begin(&ComputerOp::DisplayInfo, Some(&chat("c"))).is_none());
    let failed = screen.begin(&at, Some(&chat("c"))).unwrap();
    assert!(used().is_some());
    failed.done(&Err(OpError::Cancelled));
    assert_eq!(used(), None);

    screen.begin(&at, Some(&chat("c"))).unwrap().done(&Ok(drawbridge_core::Outcome::Done));
    let first = used().unwrap();
    assert_eq!((first.session_id.as_deref(), first.pictures, first.acts), (Some("c"), 0, 1));
    tokio::time::sleep(Duration::from_secs(29)).await;
    let runs = screen.begin(&at, Some(&chat("d"))).unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(used().unwrap().session_id.as_deref(), Some("d"));
    runs.done(&Ok(drawbridge_core::Outcome::Done));
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(used().unwrap().acts, 2);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(used(), None);

    screen.begin(&at, None).unwrap().done(&Ok(drawbridge_core::Outcome::Done));
    screen.stop().await;
    assert_eq!(used(), None);
}

#[tokio::test]
async fn a_list_that_was_offered_grows_and_does_not_shrink() {
    let screen = screen(state(&[(Power::ComputerUse, PowerMode::Allowed)]));
    assert!(screen.take(found()));
    let lost = Features { coarse: vec!["screenshot"], ..found() };
    assert!(!screen.take(lost));
    assert_eq!(screen.offer(None).coarse, ["screenshot", "input"]);

    let more = Features { coarse: vec!["screenshot", "input", "windows", "clipboard"], missing: Vec::new(), ..found() };
    assert!(screen.take(more.clone()));
    assert!(!screen.take(more));
    assert_eq!(screen.offer(None).coarse, ["screenshot", "input", "windows"]);
    // Only both powers off make it forget.
    screen.policy.hold(|state| {
        state.modes.insert(Power::ComputerUse, PowerMode::Off);
    });
    screen.look_later();
    assert_eq!(*screen.found(), None);
}

#[test]
fn apps_without_a_display_are_no_screen_but_on_wayland_they_are_all_there_is() {
    let apps = ["apps", "app.list", "app.launch", "permissions.check", "input.wait", "clipboard.read"];
    assert!(!has_screen(SeatKind::X11, apps.into_iter()));
    assert!(has_screen(SeatKind::Wayland, apps.into_iter()));
    assert!(has_screen(SeatKind::X11, apps.into_iter().chain(["screenshot"])));
    assert!(!has_screen(SeatKind::Wayland, ["permissions.check"].into_iter()));
}
