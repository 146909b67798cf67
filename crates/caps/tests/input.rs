//! Pointer and keyboard in the hands of an agent, on a real X server with a window manager, as a window sees it. Has its own `main`,
//! since the watchdog of what is held is this very program, started again. `xdotool` is the person.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test with a main of its own")]

mod rig;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drawbridge_caps::computer::ClipboardRule;
use drawbridge_core::OpError;
use drawbridge_core::computer::{Button, Chord, Direction, InputOp, Modifier, Point};
use drawbridge_testkit::scenarios;
use rig::{Desk, click, drag, short};
use serde_json::{Value, json};

scenarios! {
    first: drawbridge_os::helper::run_if_asked;
    each_click_arrives_as_what_it_is,
    modifiers_are_held_around_a_click_and_released_in_reverse,
    two_clicks_in_one_place_are_not_a_double_click,
    a_button_stays_down_between_two_operations,
    a_drag_goes_through_all_points,
    a_path_of_ten_thousand_points_is_thinned_and_keeps_its_ends,
    a_chord_is_pressed_and_released_in_order,
    a_held_chord_is_released_after_its_time,
    the_wheel_turns_where_it_was_asked_and_with_what_is_held,
    a_text_arrives_exactly_and_a_long_one_by_the_clipboard,
    a_short_text_and_one_without_the_clipboard_are_typed,
    a_point_on_no_display_refuses_all_before_anything_is_pressed,
    a_stopped_operation_leaves_nothing_held,
    the_persons_key_stops_a_text_and_says_how_far_it_came,
    the_persons_move_stops_a_drag_and_releases_the_button,
    while_the_person_acts_nothing_is_pressed,
    a_button_that_was_let_go_meanwhile_is_told,
    a_password_manager_is_neither_clicked_nor_typed_into,
    nothing_is_dragged_over_a_password_manager,
    a_text_without_a_window_is_an_error,
    a_lost_display_ends_the_operation_and_the_next_one_finds_the_new_display,
    a_quiet_minute_leaves_no_thread_and_no_helper,
}

fn at(x: i32, y: i32) -> Point {
    Point::new(x, y)
}

fn key(chord: &str) -> InputOp {
    InputOp::Key(Chord::parse(chord).unwrap())
}

fn text(text: &str) -> InputOp {
    InputOp::Type { text: text.to_owned(), paste: false, preserve_clipboard: false }
}

fn each_click_arrives_as_what_it_is() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    for (number, (button, count)) in
        [(Button::Left, 1), (Button::Right, 1), (Button::Middle, 1), (Button::Left, 2), (Button::Left, 3)]
            .into_iter()
            .enumerate()
    {
        desk.run(click(at(150 + 20 * i32::try_from(number).unwrap(), 160), button, count)).unwrap();
    }

    let pair = |number: i32, x: i32, mask: i32| {
        [json!(["button", number, x, 160, 0]), json!(["button_up", number, x, 160, mask])]
    };
    let mut expected: Vec<Value> = [pair(1, 150, 256), pair(3, 170, 1024), pair(2, 190, 512)].concat();
    expected.extend(pair(1, 210, 256));
    expected.extend([json!(["button", 1, 210, 160, 0]), json!(["clicks", 2]), json!(["button_up", 1, 210, 160, 256])]);
    expected.extend(pair(1, 230, 256));
    expected.extend([json!(["button", 1, 230, 160, 0]), json!(["clicks", 2]), json!(["button_up", 1, 230, 160, 256])]);
    expected.extend([json!(["button", 1, 230, 160, 0]), json!(["clicks", 3]), json!(["button_up", 1, 230, 160, 256])]);
    assert_eq!(desk.told(expected.len()), expected);
}

fn modifiers_are_held_around_a_click_and_released_in_reverse() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    desk.run(InputOp::Click {
        at: at(150, 160),
        button: Button::Left,
        count: 1,
        modifiers: vec![Modifier::Ctrl, Modifier::Shift],
    })
    .unwrap();

    let expected = [
        json!(["key", "Control_L", 0]),
        json!(["key", "Shift_L", 4]),
        json!(["button", 1, 150, 160, 5]),
        json!(["button_up", 1, 150, 160, 261]),
        json!(["key_up", "Shift_L", 5]),
        json!(["key_up", "Control_L", 4]),
    ];
    assert_eq!(desk.told(6), expected);
}

fn two_clicks_in_one_place_are_not_a_double_click() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    desk.run(click(at(150, 160), Button::Left, 1)).unwrap();
    desk.run(click(at(152, 160), Button::Left, 1)).unwrap();
    desk.run(click(at(152, 160), Button::Left, 2)).unwrap();
    desk.run(click(at(152, 160), Button::Left, 1)).unwrap();

    let counts: Vec<Value> = desk.told(11).into_iter().filter(|event| event[0] == "clicks").collect();
    assert_eq!(counts, [json!(["clicks", 2])]);
}

fn a_button_stays_down_between_two_operations() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    desk.run(InputOp::Down { at: at(150, 160), button: Button::Left }).unwrap();
    desk.run(InputOp::Move { at: at(200, 220) }).unwrap();
    desk.run(InputOp::Up { at: at(210, 230), button: Button::Left }).unwrap();

    assert_eq!(desk.told(2), [json!(["button", 1, 150, 160, 0]), json!(["button_up", 1, 210, 230, 256])]);
    // What is up stays up.
    desk.run(InputOp::Up { at: at(210, 230), button: Button::Left }).unwrap();
}

fn a_drag_goes_through_all_points() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    let began = Instant::now();
    let path = vec![at(120, 130), at(300, 130), at(300, 330)];
    desk.run(InputOp::Drag { path, button: Button::Right, duration: Some(Duration::from_millis(400)) }).unwrap();

    assert!(began.elapsed() >= Duration::from_millis(400));
    let events = desk.recorder.until(|event| event["event"] == "button_up").unwrap();
    let pressed = events.iter().position(|event| event["event"] == "button").unwrap();
    let points: Vec<(i64, i64)> = events[pressed..]
        .iter()
        .filter(|event| event["event"] == "motion")
        .map(|event| (event["x"].as_i64().unwrap(), event["y"].as_i64().unwrap()))
        .collect();
    assert_eq!(short(&events[pressed]), Some(json!(["button", 3, 120, 130, 0])));
    assert_eq!(short(events.last().unwrap()), Some(json!(["button_up", 3, 300, 330, 1024])));
    assert!(points.contains(&(300, 130)) && points.last() == Some(&(300, 330)), "{points:?}");
    assert!(points.iter().all(|(x, y)| *y == 130 || *x == 300), "all points lie on the path: {points:?}");
}

fn a_path_of_ten_thousand_points_is_thinned_and_keeps_its_ends() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    let path = (0..10_000).map(|number| at(110 + number % 300, 110 + number / 40)).collect();
    desk.run(drag(path)).unwrap();

    let events = desk.recorder.until(|event| event["event"] == "button_up").unwrap();
    let pressed = events.iter().position(|event| event["event"] == "button").unwrap();
    let moves = events[pressed..].iter().filter(|event| event["event"] == "motion").count();
    assert_eq!(short(&events[pressed]), Some(json!(["button", 1, 110, 110, 0])));
    assert_eq!(short(events.last().unwrap()), Some(json!(["button_up", 1, 209, 359, 256])));
    assert!((20..=100).contains(&moves), "{moves}");
}

fn a_chord_is_pressed_and_released_in_order() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    desk.run(key("ctrl+shift+a")).unwrap();
    desk.run(key("F5")).unwrap();

    let expected = [
        json!(["key", "Control_L", 0]),
        json!(["key", "Shift_L", 4]),
        json!(["key", "A", 5]),
        json!(["key_up", "A", 5]),
        json!(["key_up", "Shift_L", 5]),
        json!(["key_up", "Control_L", 4]),
        json!(["key", "F5", 0]),
        json!(["key_up", "F5", 0]),
    ];
    assert_eq!(desk.told(8), expected);
}

fn a_held_chord_is_released_after_its_time() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    let began = Instant::now();
    let hold = InputOp::HoldKey { chord: Chord::parse("shift+right").unwrap(), duration: Duration::from_millis(300) };
    desk.run(hold).unwrap();

    assert!(began.elapsed() >= Duration::from_millis(300));
    let expected = [
        json!(["key", "Shift_L", 0]),
        json!(["key", "Right", 1]),
        json!(["key_up", "Right", 1]),
        json!(["key_up", "Shift_L", 1]),
    ];
    assert_eq!(desk.told(4), expected);
}

fn the_wheel_turns_where_it_was_asked_and_with_what_is_held() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);
    let scroll = |at, direction, amount, modifiers: &[Modifier]| InputOp::Scroll {
        at,
        direction,
        amount,
        modifiers: modifiers.to_vec(),
    };

    desk.run(scroll(Some(at(150, 160)), Direction::Down, 25, &[])).unwrap();
    desk.run(scroll(None, Direction::Left, 1, &[Modifier::Ctrl])).unwrap();

    let mut expected = vec![json!(["scroll", "down", 0]); 25];
    expected.extend([json!(["key", "Control_L", 0]), json!(["scroll", "left", 4]), json!(["key_up", "Control_L", 4])]);
    assert_eq!(desk.told(28), expected);
}

fn a_text_arrives_exactly_and_a_long_one_by_the_clipboard() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain", "--field"]);
    desk.rules.clipboard = ClipboardRule::OwnText;
    let accents = "Grüße, naïve café: ÑØß — “quoted” 😀 Привет\n\tEND";
    let long = accents.repeat(6);

    desk.run(text(accents)).unwrap();
    desk.run(InputOp::Type { text: long.clone(), paste: true, preserve_clipboard: false }).unwrap();

    let events = desk.recorder.ask("text").unwrap();
    let pressed = events.iter().filter(|event| event["event"] == "key" && event["name"] == "v" && event["state"] == 4);
    assert_eq!(events.last().unwrap()["text"], format!("{accents}{long}"));
    assert_eq!(pressed.count(), 1);
}

fn a_short_text_and_one_without_the_clipboard_are_typed() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain", "--field"]);
    let pasted = |text: &str| InputOp::Type { text: text.to_owned(), paste: true, preserve_clipboard: true };
    let (short, long) = ("k".repeat(199), "m".repeat(200));

    desk.run(pasted(&long)).unwrap();
    desk.rules.clipboard = ClipboardRule::OwnText;
    desk.run(pasted(&short)).unwrap();

    let events = desk.recorder.ask("text").unwrap();
    let keys = |name: &str| events.iter().filter(|event| event["event"] == "key" && event["name"] == name).count();
    assert_eq!(events.last().unwrap()["text"], format!("{long}{short}"));
    assert_eq!((keys("m"), keys("k"), keys("v")), (200, 199, 0));
}

fn a_point_on_no_display_refuses_all_before_anything_is_pressed() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);
    desk.display.monitors(&[("one", 400, 600, 0, 0), ("two", 400, 300, 400, 0)]).unwrap();
    let asked = |done: Result<(), OpError>| match done {
        Err(OpError::OutOfBounds { requested, displays }) => (requested, displays.len()),
        other => panic!("{other:?}"),
    };

    for point in [at(-1, 5), at(5, -1), at(800, 5), at(500, 300), at(i32::MAX, i32::MIN)] {
        assert_eq!(asked(desk.run(click(point, Button::Left, 1))), (point, 2));
        assert_eq!(asked(desk.run(InputOp::Move { at: point })), (point, 2));
    }
    let path = vec![at(150, 150), at(160, 160), at(500, 301), at(-4, 0)];
    assert_eq!(asked(desk.run(drag(path))), (at(500, 301), 2));
    let scroll = InputOp::Scroll { at: Some(at(0, 600)), direction: Direction::Up, amount: 1, modifiers: vec![] };
    assert_eq!(asked(desk.run(scroll)), (at(0, 600), 2));

    desk.run(click(at(450, 299), Button::Right, 1)).unwrap();
    assert_eq!(desk.told(1), [json!(["button", 3, 450, 299, 0])], "nothing was pressed before");
}

fn a_stopped_operation_leaves_nothing_held() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    let hold = InputOp::HoldKey { chord: Chord::parse("ctrl+right").unwrap(), duration: Duration::from_secs(5) };
    let stopped = desk.run_until(hold, |desk| {
        desk.recorder.until(|event| event["event"] == "key" && event["name"] == "Right").unwrap();
    });
    assert!(matches!(stopped, Err(OpError::Cancelled)), "{stopped:?}");
    desk.recorder.until(|event| event["event"] == "key_up" && event["name"] == "Control_L").unwrap();

    let path = vec![at(120, 120), at(400, 300)];
    let slow = InputOp::Drag { path, button: Button::Left, duration: Some(Duration::from_secs(5)) };
    let stopped = desk.run_until(slow, |desk| {
        desk.recorder.until(|event| event["event"] == "button").unwrap();
    });
    assert!(matches!(stopped, Err(OpError::Cancelled)), "{stopped:?}");
    desk.recorder.until(|event| event["event"] == "button_up").unwrap();

    let stopped = desk.run_until(text(&"Aa".repeat(5000)), |desk| {
        desk.recorder.until(|event| event["event"] == "key" && event["name"] == "A").unwrap();
    });
    assert!(matches!(stopped, Err(OpError::Cancelled)), "{stopped:?}");

    // A key that was still held would show in the state of this one.
    desk.run(key("F9")).unwrap();
    let events = desk.recorder.until(|event| event["name"] == "F9").unwrap();
    assert_eq!(events.last().unwrap()["state"], 0);
}

fn the_persons_key_stops_a_text_and_says_how_far_it_came() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain", "--field"]);
    let long = "abcdefghij".repeat(500);

    let stopped = desk.run_while(text(&long), |desk| {
        desk.recorder.until(|event| event["event"] == "key" && event["name"] == "j").unwrap();
        desk.display.run("xdotool", &["key", "F5"]).unwrap();
        // A window that says everything must be heard.
        desk.recorder.until(|event| event["event"] == "key" && event["name"] == "F5").unwrap();
    });

    let Err(OpError::TypingStopped { typed, total, source, .. }) = stopped else { panic!("{stopped:?}") };
    assert!(is_person_active(&source), "{source:?}");
    assert_eq!(total, 5000);
    assert!((1..5000).contains(&typed), "{typed}");
    assert_eq!(desk.recorder.text().unwrap(), long[..typed]);
}

fn the_persons_move_stops_a_drag_and_releases_the_button() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);

    let path = vec![at(120, 120), at(400, 300)];
    let slow = InputOp::Drag { path, button: Button::Left, duration: Some(Duration::from_secs(5)) };
    let stopped = desk.run_while(slow, |desk| {
        desk.recorder.until(|event| event["event"] == "button").unwrap();
        desk.display.run("xdotool", &["mousemove_relative", "3", "3"]).unwrap();
    });

    assert!(stopped.as_ref().is_err_and(is_person_active), "{stopped:?}");
    desk.recorder.until(|event| event["event"] == "button_up").unwrap();
}

fn while_the_person_acts_nothing_is_pressed() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);
    // Opens the eyes.
    desk.run(InputOp::Move { at: at(150, 160) }).unwrap();
    let over = AtomicBool::new(false);

    let refused = std::thread::scope(|threads| {
        let display = desk.display.name().to_owned();
        let over = &over;
        desk.display.run("xdotool", &["key", "F5"]).unwrap();
        threads.spawn(move || {
            while !over.load(Ordering::Acquire) {
                let moved = std::process::Command::new("xdotool")
                    .args(["mousemove_relative", "--", "1", "0", "mousemove_relative", "--", "-1", "0"])
                    .env("DISPLAY", &display)
                    .status();
                assert!(moved.unwrap().success());
            }
        });
        let refused = desk.run(click(at(150, 160), Button::Left, 1));
        over.store(true, Ordering::Release);
        refused
    });

    let Err(OpError::PermissionPending { permission, retry_after, hint, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!((*permission, *retry_after), ("person_active", Some(Duration::from_secs(2))));
    assert!(hint.contains("look at the screen again"), "{hint}");
    // And once they rest, it goes on by itself.
    desk.run(click(at(150, 160), Button::Right, 1)).unwrap();
    let events = desk.recorder.until(|event| event["event"] == "button").unwrap();
    assert_eq!(events.last().unwrap()["number"], 3);
}

fn a_button_that_was_let_go_meanwhile_is_told() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);
    desk.run(InputOp::Down { at: at(150, 160), button: Button::Left }).unwrap();

    desk.display.run("xdotool", &["mousemove_relative", "30", "30"]).unwrap();
    desk.recorder.until(|event| event["event"] == "button_up").unwrap();

    let up = desk.run(InputOp::Up { at: at(200, 200), button: Button::Left });
    assert!(matches!(&up, Err(OpError::Unsupported { why, .. }) if why.contains("let go meanwhile")), "{up:?}");
}

fn a_password_manager_is_neither_clicked_nor_typed_into() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain", "--class", "KeePassXC"]);
    let refused = |done: Result<(), OpError>| match done {
        Err(OpError::ProtectedApp { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };

    assert_eq!(refused(desk.run(click(at(150, 160), Button::Left, 1))), "password_manager");
    assert_eq!(refused(desk.run(drag(vec![at(10, 10), at(150, 160)]))), "password_manager");
    assert_eq!(refused(desk.run(InputOp::Down { at: at(150, 160), button: Button::Left })), "password_manager");
    let scroll = InputOp::Scroll { at: Some(at(150, 160)), direction: Direction::Up, amount: 1, modifiers: vec![] };
    assert_eq!(refused(desk.run(scroll)), "password_manager");
    assert_eq!(refused(desk.run(text("x"))), "password_manager");
    assert_eq!(refused(desk.run(key("ctrl+c"))), "password_manager");

    // The person does all of that, and it is the first thing that this window hears.
    desk.display.run("xdotool", &["key", "F5"]).unwrap();
    assert_eq!(desk.told(1)[0][1], "F5");
}

fn nothing_is_dragged_over_a_password_manager() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain", "--class", "KeePassXC"]);
    let refused = |done: Result<(), OpError>| match done {
        Err(OpError::ProtectedApp { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let pointer = |desk: &Desk| {
        let place = desk.display.command("xdotool").arg("getmouselocation").output().unwrap().stdout;
        String::from_utf8(place).unwrap().split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>().join(" ")
    };

    // Whatever ends the drag lets go of the button where the pointer is.
    desk.run(InputOp::Down { at: at(50, 50), button: Button::Left }).unwrap();
    assert_eq!(refused(desk.run(InputOp::Move { at: at(150, 160) })), "password_manager");
    assert_eq!(pointer(&desk), "x:50 y:50");
    desk.run(InputOp::Down { at: at(50, 50), button: Button::Left }).unwrap();
    let scroll = InputOp::Scroll { at: Some(at(150, 160)), direction: Direction::Up, amount: 1, modifiers: vec![] };
    assert_eq!(refused(desk.run(scroll)), "password_manager");
    assert_eq!(pointer(&desk), "x:50 y:50");
    assert_eq!(refused(desk.run(drag(vec![at(50, 150), at(790, 150)]))), "password_manager");
    assert!(pointer(&desk).starts_with("x:7") || pointer(&desk).starts_with("x:9"), "{}", pointer(&desk));

    // Without a button the pointer goes where it likes.
    desk.run(InputOp::Move { at: at(150, 160) }).unwrap();
    desk.run(drag(vec![at(50, 50), at(90, 90)])).unwrap();
    let heard = desk.recorder.ask("mark").unwrap();
    assert!(heard.iter().all(|event| short(event).is_none()), "{heard:?}");
}

fn a_text_without_a_window_is_an_error() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);
    desk.run(text("x")).unwrap();
    desk.recorder.ask("quit").unwrap();

    let end = std::time::Instant::now() + Duration::from_secs(10);
    let told = loop {
        match desk.run(text("x")) {
            // The window is on its way out; each look asks the display.
            Ok(()) if std::time::Instant::now() < end => {}
            told => break told,
        }
    };
    assert!(
        matches!(&told, Err(OpError::Unsupported { feature, why })
        if feature == "input.type" && why.contains("no window has the keyboard")),
        "{told:?}"
    );
    desk.run(key("ctrl+a")).unwrap();
}

fn a_lost_display_ends_the_operation_and_the_next_one_finds_the_new_display() {
    let mut desk = Desk::with_window(&["--at", "100,100", "--plain"]);
    let hold = InputOp::HoldKey { chord: Chord::parse("ctrl+right").unwrap(), duration: Duration::from_secs(5) };

    let lost = desk.run_while(hold, |desk| {
        desk.recorder.until(|event| event["event"] == "key" && event["name"] == "Right").unwrap();
        desk.display.lose().unwrap();
    });

    assert!(matches!(&lost, Err(OpError::Unsupported { .. })), "{lost:?}");
    assert!(desk.run(click(at(5, 5), Button::Left, 1)).is_err());
    desk.display.start_again().unwrap();
    desk.run(click(at(5, 5), Button::Left, 1)).unwrap();
}

fn a_quiet_minute_leaves_no_thread_and_no_helper() {
    rig::a_quiet_minute(click(at(150, 160), Button::Left, 1));
}

fn is_person_active(fault: &OpError) -> bool {
    matches!(fault, OpError::PermissionPending { permission: "person_active", .. })
}
