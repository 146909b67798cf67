use std::time::Duration;

use drawbridge_core::Power;
use drawbridge_core::PowerMode;
use drawbridge_core::computer::{Button, Chord, Direction, PictureFormat, Rect};

use super::*;
use crate::prompts::PROMPT_ACTIONS;

fn shown(op: &ComputerOp, at: &At<'_>, policy: &PolicyState) -> PromptFacts {
    let mut told = PromptFacts::default();
    facts(op, at, policy, None, &mut told);
    told
}

fn plain(op: ComputerOp) -> Vec<(String, String)> {
    let told = shown(&op, &At { reached: None, launch: None }, &PolicyState::defaults());
    told.details.into_iter().map(|detail| (detail.label, detail.value)).collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn every_verb_says_where_and_with_what() {
    let at = Point::new(-12, 40);
    let chord = Chord::parse("ctrl+S").unwrap();
    let second = Duration::from_secs(1);
    for (op, wanted) in [
        (
            InputOp::Click { at, button: Button::Left, count: 2, modifiers: vec![Modifier::Ctrl, Modifier::Shift] },
            vec![("action", "double_click"), ("point", "-12, 40"), ("keys", "ctrl+shift")],
        ),
        (InputOp::Move { at }, vec![("action", "mouse_move"), ("point", "-12, 40")]),
        (
            InputOp::Down { at, button: Button::Middle },
            vec![("action", "mouse_down"), ("point", "-12, 40"), ("button", "middle")],
        ),
        (InputOp::Key(chord.clone()), vec![("action", "key"), ("keys", "ctrl+S")]),
        (
            InputOp::HoldKey { chord, duration: second },
            vec![("action", "hold_key"), ("keys", "ctrl+S"), ("duration", "1000")],
        ),
        (
            InputOp::Scroll { at: None, direction: Direction::Down, amount: 3, modifiers: Vec::new() },
            vec![("action", "scroll"), ("scroll", "down × 3")],
        ),
        (
            InputOp::Type { text: "rm -rf\n\u{202e}é".to_owned(), paste: true, preserve_clipboard: true },
            vec![("action", "type"), ("text", "rm -rf␊\\u{202E}é"), ("text_length", "9"), ("paste", "yes")],
        ),
    ] {
        assert!(PROMPT_ACTIONS.contains(&op.action()), "{}", op.action());
        assert_eq!(plain(ComputerOp::Input(op)), pairs(&wanted));
    }
}

#[test]
fn pictures_say_what_of_the_screen_they_would_show() {
    let picture = |monitor, area| {
        let format = PictureFormat::Jpeg;
        plain(ComputerOp::Screenshot(ScreenshotOp { monitor, quality: 75, area, format, include_cursor: true }))
    };
    assert_eq!(picture(-1, None), pairs(&[("area", "all")]));
    assert_eq!(picture(0, None), pairs(&[("area", "0")]));
    assert_eq!(picture(1, None), pairs(&[("area", "1")]));
    let region = ScreenArea::Region(Rect::new(-5, 0, 10, 20));
    assert_eq!(picture(0, Some(region)), pairs(&[("area", "-5, 0 – 10, 20")]));
    assert_eq!(picture(0, Some(ScreenArea::Window("win_1".to_owned()))), pairs(&[("window", "win_1")]));
}

#[test]
fn what_is_too_long_to_be_read_can_only_be_denied() {
    let none = At { reached: None, launch: None };
    let policy = PolicyState::defaults();
    let typed = |length: usize| {
        let text = "x".repeat(length);
        shown(&ComputerOp::ClipboardWrite { text }, &none, &policy)
    };
    assert!(typed(20_000).is_whole() && !typed(20_001).is_whole());

    let drag = |points: usize| {
        let path = vec![Point::new(1, 2); points];
        shown(&ComputerOp::Input(InputOp::Drag { path, button: Button::Left, duration: None }), &none, &policy)
    };
    assert!(drag(MAX_POINTS).is_whole() && !drag(MAX_POINTS + 1).is_whole());

    let launch = |args: usize| {
        let args = vec!["a".to_owned(); args];
        let op = AppLaunchOp { bundle_id: Some("editor".to_owned()), executable_path: None, args, activate: true };
        shown(&ComputerOp::AppLaunch(op), &none, &policy)
    };
    assert!(launch(MAX_WORDS - 1).is_whole() && !launch(MAX_WORDS).is_whole());
}

#[test]
fn a_start_names_the_program_behind_the_app_and_each_word() {
    let target = LaunchTarget {
        id: Some("org.example.Editor".to_owned()),
        name: Some("Edi\u{200b}tor".to_owned()),
        program: Some("/usr/bin/editor".into()),
        real: Some("/opt/editor/run".into()),
        words: vec!["/usr/bin/editor".to_owned(), "--desktop".to_owned()],
        entry: Some("/usr/share/applications/org.example.Editor.desktop".into()),
        in_terminal: true,
    };
    let op = AppLaunchOp {
        bundle_id: Some("org.example.Editor".to_owned()),
        executable_path: None,
        args: vec!["--new".to_owned(), String::new()],
        activate: true,
    };

    let told =
        shown(&ComputerOp::AppLaunch(op), &At { reached: None, launch: Some(&target) }, &PolicyState::defaults());

    let details: Vec<(String, String)> = told.details.into_iter().map(|one| (one.label, one.value)).collect();
    let wanted = [
        ("app_id", "org.example.Editor"),
        ("app_name", "Edi\\u{200B}tor"),
        ("program", "/usr/bin/editor"),
        ("program_target", "/opt/editor/run"),
        ("in_terminal", "yes"),
    ];
    assert_eq!(details, pairs(&wanted));
    assert_eq!(told.argv, ["/usr/bin/editor", "--desktop", "--new", ""]);
}

#[test]
fn whose_window_it_is_and_what_of_the_clipboard_is_given_away_is_told_without_its_content() {
    let reached = Reached { app: "Mail".to_owned(), title: "a\u{7}b".to_owned() };
    let click = ComputerOp::Input(InputOp::Move { at: Point::new(0, 0) });
    let told = shown(&click, &At { reached: Some(&reached), launch: None }, &PolicyState::defaults());
    assert!(told.details.iter().any(|one| (one.label.as_str(), one.value.as_str()) == ("app", "Mail")));
    assert!(told.details.iter().any(|one| (one.label.as_str(), one.value.as_str()) == ("window_title", "a␇b")));

    let mut state = PolicyState::defaults();
    state.modes.insert(Power::Clipboard, PowerMode::AskEachTime);
    let read = |state: &PolicyState| {
        let told = shown(&ComputerOp::ClipboardRead, &At { reached: None, launch: None }, state);
        told.details[0].value.clone()
    };
    assert_eq!(read(&state), "own");
    state.clipboard_foreign = true;
    assert_eq!(read(&state), "foreign");
}
