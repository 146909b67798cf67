//! Telling the person's acts from our own, on a real X server. `xdotool` is the person: another program that uses pointer and
//! keyboard counts as one. Has its own `main`, as `pointer.rs` says.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test with a main of its own")]

use std::time::{Duration, Instant};

use drawbridge_core::computer::{Button, Direction, Key, Modifier, Point};
use drawbridge_os::helper;
use drawbridge_os::seat::Seat;
use drawbridge_os::seat::input::{self, Held, Input};
use drawbridge_testkit::display::{Display, Recorder};
use drawbridge_testkit::scenarios;

scenarios! {
    first: helper::run_if_asked;
    what_we_do_ourselves_is_never_taken_for_the_persons,
    each_kind_of_the_persons_acts_is_seen,
    a_held_button_is_released_when_the_person_moves,
    a_key_of_the_person_in_the_middle_of_our_text_is_seen,
    who_acts_at_the_moment_of_opening_is_seen,
    looking_ends_when_it_is_dropped,
}

fn desk() -> (Display, Recorder, Box<dyn Input>) {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    display.layout("us,ru").unwrap();
    let recorder = display.record(&["--field", "--at", "100,100", "--plain"]).unwrap();
    let input = input::open(&Seat::x11(display.name())).unwrap();
    (display, recorder, input)
}

/// Waits until the person was seen after this moment. Hangs when that never comes.
fn seen_after(input: &dyn Input, moment: Instant) {
    while input.person_acted().is_none_or(|ago| ago >= moment.elapsed()) {
        std::thread::yield_now();
    }
}

/// Tells whether the person was seen between two moments.
fn seen_between(input: &dyn Input, from: Instant, to: Instant) -> bool {
    input.person_acted().is_some_and(|ago| ago < from.elapsed() && ago > to.elapsed())
}

fn what_we_do_ourselves_is_never_taken_for_the_persons() {
    let (display, mut recorder, input) = desk();
    let begin = Instant::now();

    let text = "The quick brown fox, JUMPS over 13 lazy dogs! Жук 🦊 ø\n".repeat(5);
    input.type_text(&text, &mut |_| true).unwrap();
    assert_eq!(recorder.text().unwrap(), text);
    for step in 0..200 {
        input.move_to(Point::new(110 + step, 120)).unwrap();
    }
    // To where it is already.
    input.move_to(Point::new(309, 120)).unwrap();
    recorder.ask("mark").unwrap();
    for _ in 0..20 {
        input.button(Button::Left, true).unwrap();
        input.button(Button::Left, false).unwrap();
        input.scroll(Direction::Down, 3).unwrap();
        input.modifier(Modifier::Shift, true).unwrap();
        input.key(&Key::Right, true).unwrap();
        input.release_all().unwrap();
    }
    recorder.ask("mark").unwrap();

    let end = Instant::now();
    assert!(!seen_between(&*input, begin, end));
    // All that was before it has been looked at once this is seen.
    display.run("xdotool", &["key", "F5"]).unwrap();
    seen_after(&*input, begin);
    assert!(input.person_acted().unwrap() < end.elapsed(), "something of ours was taken for the person's");
}

fn each_kind_of_the_persons_acts_is_seen() {
    let (display, _recorder, input) = desk();

    for act in [&["key", "a"][..], &["click", "1"], &["click", "5"], &["mousemove_relative", "3", "3"]] {
        let before = Instant::now();
        display.run("xdotool", act).unwrap();
        seen_after(&*input, before);
    }
}

fn a_held_button_is_released_when_the_person_moves() {
    let (display, mut recorder, input) = desk();
    input.move_to(Point::new(150, 160)).unwrap();
    input.button(Button::Left, true).unwrap();
    input.modifier(Modifier::Shift, true).unwrap();
    recorder.until(|event| event["event"] == "button").unwrap();

    display.run("xdotool", &["mousemove_relative", "5", "5"]).unwrap();

    recorder.until(|event| event["event"] == "button_up" && event["number"] == 1).unwrap();
    let held = input.held();
    assert_eq!((held.buttons, held.keys), (vec![], 1), "keys are released by the operation that holds them");
    input.release_all().unwrap();
    assert_eq!(input.held(), Held::default());
}

fn a_key_of_the_person_in_the_middle_of_our_text_is_seen() {
    let (display, _recorder, input) = desk();
    let begin = Instant::now();

    let stopped = input.type_text(&"abcdefghij".repeat(20), &mut |typed| {
        if typed == 100 {
            display.run("xdotool", &["key", "F5"]).unwrap();
            seen_after(&*input, begin);
        }
        input.person_acted().is_none_or(|ago| ago >= begin.elapsed())
    });

    assert_eq!(stopped, Err(input::TypeFault::Stopped { typed: 100 }));
    assert_eq!(input.held(), Held::default());
}

fn who_acts_at_the_moment_of_opening_is_seen() {
    let display = Display::start(640, 480).unwrap();
    let before = Instant::now();
    display.run("xdotool", &["key", "a"]).unwrap();

    let input = input::open(&Seat::x11(display.name())).unwrap();

    let acted = input.person_acted();
    assert!(acted.is_some_and(|ago| ago <= before.elapsed()) || before.elapsed() > Duration::from_secs(1), "{acted:?}");
}

fn looking_ends_when_it_is_dropped() {
    let (_display, _recorder, input) = desk();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    assert_eq!(threads(), 2);

    drop(input);

    assert_eq!(threads(), 1);
}
