//! The display for tests itself: what it records is what arrived.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use drawbridge_testkit::display::Display;

#[test]
fn a_recorder_tells_keys_buttons_and_the_text_of_its_field() {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    display.layout("us").unwrap();
    let mut recorder = display.record(&["--field", "--at", "100,100", "--plain"]).unwrap();

    display.run("xdotool", &["mousemove", "150", "160", "click", "3", "key", "Escape", "type", "Hi"]).unwrap();

    let events = recorder.until(|event| event["event"] == "key" && event["name"] == "i").unwrap();
    let pressed = events.iter().find(|event| event["event"] == "button").unwrap();
    assert_eq!((&pressed["number"], &pressed["x"], &pressed["y"]), (&3.into(), &150.into(), &160.into()));
    assert_eq!(recorder.text().unwrap(), "Hi");
}
