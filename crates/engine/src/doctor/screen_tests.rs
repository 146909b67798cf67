use super::*;
use crate::doctor::exit_code;
use crate::doctor::tests::Rig;
use crate::view::{MissingView, PowerView};

fn keys(found: &[Finding]) -> Vec<(&str, &str, FindingState)> {
    found.iter().map(|one| (one.check.as_str(), one.key.as_str(), one.state)).collect()
}

fn view(seat: &str, features: &[&str], missing: &[(&str, &str)]) -> ScreenView {
    let lacks = |(feature, why): &(&str, &str)| MissingView { feature: (*feature).to_owned(), why: (*why).to_owned() };
    ScreenView {
        seat: seat.to_owned(),
        features: features.iter().map(|name| (*name).to_owned()).collect(),
        missing: missing.iter().map(lacks).collect(),
        ..ScreenView::default()
    }
}

fn running(powers: &[(&str, &str)], screen: ScreenView) -> Snapshot {
    let power = |(power, mode): &(&str, &str)| PowerView {
        power: (*power).to_owned(),
        mode: (*mode).to_owned(),
        ..PowerView::default()
    };
    Snapshot { powers: powers.iter().map(power).collect(), screen, ..Snapshot::default() }
}

#[test]
fn where_nobody_asked_for_it_nothing_is_said_and_without_a_display_the_check_up_ends_with_78() {
    let rig = Rig::new();
    assert_eq!(screen(&rig.input("")), []);

    let found = screen(&rig.input("enable_computer_use = true\nenable_clipboard = true\n"));

    assert_eq!(
        keys(&found),
        [("computer_use", "screen_none", FindingState::Fail), ("clipboard", "clipboard_none", FindingState::Warn)]
    );
    assert!(found.iter().all(|one| one.fix.is_some()));
    assert_eq!(exit_code(&found), 78);
    let clipboard = screen(&rig.input("enable_clipboard = true\n"));
    assert_eq!(exit_code(&clipboard), 0);
}

#[test]
fn a_display_that_is_gone_is_told_from_none_at_all() {
    let rig = Rig::new();
    let mut input = rig.input("enable_computer_use = true\n");
    input.environment.insert("DISPLAY".to_owned(), ":9871".into());

    let found = screen(&input);

    assert_eq!(keys(&found), [("computer_use", "screen_none_x11", FindingState::Fail)]);
    assert_eq!(exit_code(&found), 78);
}

#[test]
fn a_switch_that_does_nothing_by_itself_is_told() {
    let rig = Rig::new();
    let found = screen(&rig.input("enable_clipboard_read_foreign = true\n"));
    assert_eq!(keys(&found), [("clipboard", "clipboard_foreign_alone", FindingState::Warn)]);
    assert_eq!(found[0].action.as_deref(), Some("open_config"));
}

#[test]
fn a_running_engine_tells_what_it_saw_and_each_reason_is_told_once() {
    let seen = view(
        "x11",
        &["screenshot", "input", "clipboard"],
        &[
            ("windows", "no window manager"),
            ("window.list", "no window manager"),
            ("clipboard.write", "no\u{202e}owner"),
        ],
    );
    let on = [("computer_use", "ask_once_per_chat"), ("clipboard", "allowed")];

    let found = in_use(&running(&on, seen.clone())).unwrap();

    assert_eq!(
        keys(&found),
        [
            ("computer_use", "screen_ready", FindingState::Ok),
            ("computer_use", "screen_lacks_x11", FindingState::Warn),
            ("clipboard", "clipboard_ready", FindingState::Ok),
            ("clipboard", "screen_lacks_x11", FindingState::Warn),
        ]
    );
    assert_eq!(found[0].params["features"], "screenshot, input");
    assert_eq!(found[1].params["features"], "windows, window.list");
    assert!(!found[3].text.contains('\u{202e}'));
    assert_eq!(exit_code(&found), 0);

    // What works everywhere makes no screen.
    let empty =
        in_use(&running(&on[..1], view("wayland", &["permissions.check"], &[("screenshot", "a wall")]))).unwrap();
    assert_eq!(keys(&empty), [("computer_use", "screen_none_wayland", FindingState::Fail)]);
    assert!(empty[0].text.contains("a wall"));
    assert_eq!(in_use(&running(&[("computer_use", "off")], seen.clone())), None);
    let stopped = Snapshot { raised: true, ..running(&on, seen) };
    assert_eq!(in_use(&stopped), None);
}
