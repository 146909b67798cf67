//! The pointer of a real X server, as a window sees it. Has its own `main`, since the watchdog of what is held is this very
//! program, started again.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test with a main of its own")]

use drawbridge_core::computer::{Button, Direction, Point};
use drawbridge_os::helper;
use drawbridge_os::seat::input::{self, Input};
use drawbridge_os::seat::{Seat, SeatFault, SeatKind};
use drawbridge_testkit::display::{Display, Recorder};
use drawbridge_testkit::scenarios;
use serde_json::{Value, json};

scenarios! {
    first: helper::run_if_asked;
    buttons_arrive_where_and_in_the_order_in_which_they_were_pressed,
    the_wheel_turns_each_way_by_the_number_of_steps,
    what_is_so_already_stays_so,
    a_point_beyond_every_display_is_refused_and_moves_nothing,
    other_seats_say_why_there_is_no_input,
}

fn desk() -> (Display, Recorder, Box<dyn Input>) {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    let recorder = display.record(&["--at", "100,100", "--plain"]).unwrap();
    let input = input::open(&Seat::x11(display.name())).unwrap();
    (display, recorder, input)
}

/// The next `count` things that a window was told, without motion and focus, in short. A window manager may hold a press back
/// for a moment, so the window is not asked what has arrived.
fn told(recorder: &mut Recorder, count: usize) -> Vec<Value> {
    let mut told = Vec::new();
    while told.len() < count {
        let event = recorder.next_event().unwrap();
        told.extend(match event["event"].as_str().unwrap() {
            what @ ("button" | "button_up") => {
                Some(json!([what, event["number"], event["x"], event["y"], event["state"]]))
            }
            "scroll" => Some(json!(["scroll", event["direction"]])),
            _ => None,
        });
    }
    told
}

fn buttons_arrive_where_and_in_the_order_in_which_they_were_pressed() {
    let (_display, mut recorder, input) = desk();

    input.move_to(Point::new(150, 160)).unwrap();
    input.button(Button::Left, true).unwrap();
    // A window manager may hold the first press back, and what comes after it then has the place of later.
    assert_eq!(told(&mut recorder, 1), [json!(["button", 1, 150, 160, 0])]);
    input.button(Button::Right, true).unwrap();
    assert_eq!(told(&mut recorder, 1), [json!(["button", 3, 150, 160, 256])]);
    assert_eq!(input.held().buttons, [Button::Left, Button::Right]);
    input.move_to(Point::new(170, 180)).unwrap();
    input.button(Button::Left, false).unwrap();
    input.button(Button::Right, false).unwrap();
    input.button(Button::Middle, true).unwrap();
    input.button(Button::Middle, false).unwrap();

    // The state is the one before the event: 256 the left button, 1024 the right one, 512 the middle one.
    let expected = [
        json!(["button_up", 1, 170, 180, 1280]),
        json!(["button_up", 3, 170, 180, 1024]),
        json!(["button", 2, 170, 180, 0]),
        json!(["button_up", 2, 170, 180, 512]),
    ];
    assert_eq!(told(&mut recorder, 4), expected);
    assert_eq!(input.held(), input::Held::default());
}

fn the_wheel_turns_each_way_by_the_number_of_steps() {
    let (_display, mut recorder, input) = desk();

    input.move_to(Point::new(150, 160)).unwrap();
    for (direction, steps) in [(Direction::Up, 2), (Direction::Down, 3), (Direction::Left, 1), (Direction::Right, 4)] {
        input.scroll(direction, steps).unwrap();
    }
    input.scroll(Direction::Down, 0).unwrap();
    input.scroll(Direction::Up, 1).unwrap();

    let ways = ["up", "up", "down", "down", "down", "left", "right", "right", "right", "right", "up"];
    assert_eq!(told(&mut recorder, 11), ways.map(|way| json!(["scroll", way])));
}

fn what_is_so_already_stays_so() {
    let (_display, mut recorder, input) = desk();

    input.move_to(Point::new(150, 160)).unwrap();
    input.button(Button::Left, false).unwrap();
    input.button(Button::Left, true).unwrap();
    input.button(Button::Left, true).unwrap();
    input.release_all().unwrap();
    input.release_all().unwrap();
    input.scroll(Direction::Down, 1).unwrap();

    let expected =
        [json!(["button", 1, 150, 160, 0]), json!(["button_up", 1, 150, 160, 256]), json!(["scroll", "down"])];
    assert_eq!(told(&mut recorder, 3), expected);
}

fn a_point_beyond_every_display_is_refused_and_moves_nothing() {
    let (_display, mut recorder, input) = desk();

    input.move_to(Point::new(150, 160)).unwrap();
    let far = input.move_to(Point::new(40_000, 160));

    assert!(matches!(far, Err(SeatFault::Other(_))), "{far:?}");
    input.button(Button::Left, true).unwrap();
    input.button(Button::Left, false).unwrap();
    assert_eq!(told(&mut recorder, 1)[0], json!(["button", 1, 150, 160, 0]));
}

fn other_seats_say_why_there_is_no_input() {
    let open =
        |kind, display: Option<&str>| input::open(&Seat { kind, display: display.map(Into::into) }).err().unwrap();

    assert!(matches!(open(SeatKind::Wayland, None), SeatFault::Unsupported(why) if why.contains("Wayland")));
    assert!(matches!(open(SeatKind::Wsl, None), SeatFault::Unsupported(_)));
    assert!(matches!(open(SeatKind::None, None), SeatFault::NoDisplay(_)));
    assert!(matches!(open(SeatKind::X11, Some(":5999")), SeatFault::NoDisplay(_)));
}
