//! Windows of a real X server with a real window manager, and of real programs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use drawbridge_core::computer::{Point, Rect};
use drawbridge_os::seat::window::{self, SeatWindow, WindowHandle, Windows};
use drawbridge_os::seat::{Seat, SeatFault};
use drawbridge_testkit::display::Display;

const LIMIT: Duration = Duration::from_secs(10);

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn managed() -> (Display, Box<dyn Windows>) {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    let windows = window::open(&Seat::x11(display.name())).unwrap();
    (display, windows)
}

/// Looks again each time something changes, until it is as wanted.
fn until<T>(windows: &dyn Windows, wanted: impl Fn(&dyn Windows) -> Option<T>) -> T {
    loop {
        if let Some(found) = wanted(windows) {
            return found;
        }
        windows.wait(LIMIT).unwrap();
    }
}

fn titled(windows: &dyn Windows, title: &str) -> Option<SeatWindow> {
    windows.all().unwrap().into_iter().find(|window| window.title == title)
}

fn titles(windows: &dyn Windows) -> Vec<String> {
    let listed = windows.all().unwrap().into_iter().filter(|window| window.visible && !window.auxiliary);
    listed.map(|window| window.title).collect()
}

#[test]
fn a_window_is_told_with_its_owner_its_frame_and_the_keyboard() {
    let (display, windows) = managed();
    let recorder = display.record(&["--title", "naïve 日本 👍", "--class", "Wanted", "--at", "50,60"]).unwrap();

    let window = until(&*windows, |windows| titled(windows, "naïve 日本 👍").filter(|window| window.focused));

    assert_eq!((&*window.owner.class, &*window.owner.instance), ("Wanted", "wanted"));
    assert_eq!(window.owner.pid, Some(recorder.pid()));
    assert!(window.owner.started.is_some());
    assert!(window.owner.program.unwrap().to_str().unwrap().contains("python3"));
    assert!(window.visible && !window.minimized && !window.fullscreen && !window.auxiliary);
    // The manager's frame is part of it: at the place asked for, and larger than the 400 × 300 of the inside.
    assert_eq!(window.bounds.origin(), Point::new(50, 60));
    assert!(window.bounds.width() > 400 && window.bounds.height() > 310, "{:?}", window.bounds);
    assert_eq!(window.covers, [window.bounds]);
    assert_eq!(windows.focused().unwrap().unwrap().handle, window.handle);
    assert_eq!(windows.one(window.handle).unwrap().title, "naïve 日本 👍");
}

#[test]
fn the_order_is_the_one_in_which_windows_lie_and_focus_changes_it_when_it_raises() {
    let (display, windows) = managed();
    let _first = display.record(&["--title", "first", "--at", "0,0"]).unwrap();
    let _second = display.record(&["--title", "second", "--at", "100,100"]).unwrap();
    assert_eq!(titles(&*windows), ["first", "second"]);
    let first = titled(&*windows, "first").unwrap();
    let within_both = Point::new(200, 200);
    assert_eq!(windows.at(within_both).unwrap().unwrap().title, "second");

    windows.focus(first.handle, false).unwrap();
    assert_eq!(windows.focused().unwrap().unwrap().title, "first");
    assert_eq!(titles(&*windows), ["first", "second"]);
    assert_eq!(windows.at(within_both).unwrap().unwrap().title, "second");

    windows.focus(first.handle, true).unwrap();
    assert_eq!(titles(&*windows), ["second", "first"]);
    assert_eq!(windows.at(within_both).unwrap().unwrap().title, "first");
    assert_eq!(windows.at(Point::new(790, 590)).unwrap(), None);
}

#[test]
fn what_is_minimised_or_on_another_desktop_is_told_as_that_and_comes_back_with_the_keyboard() {
    let (display, windows) = managed();
    display.run("wmctrl", &["-n", "2"]).unwrap();
    let _stays = display.record(&["--title", "stays"]).unwrap();
    let mut small = display.record(&["--title", "small"]).unwrap();
    small.ask("minimize").unwrap();
    let window = until(&*windows, |windows| titled(windows, "small").filter(|window| window.minimized));
    assert!(!window.visible && window.covers.is_empty());

    windows.focus(window.handle, true).unwrap();
    assert!(titled(&*windows, "small").is_some_and(|window| window.visible && window.focused && !window.minimized));

    display.run("wmctrl", &["-r", "small", "-t", "1"]).unwrap();
    let window = until(&*windows, |windows| titled(windows, "small").filter(|window| !window.visible));
    assert!(!window.minimized);
    let last = windows.all().unwrap().pop().unwrap();
    assert_eq!(last.title, "small", "what is elsewhere comes after what is drawn");
}

#[test]
fn a_menu_belongs_to_its_app_and_lies_in_front() {
    let (display, windows) = managed();
    let mut recorder = display.record(&["--title", "with menu", "--class", "Wanted", "--at", "0,0"]).unwrap();
    recorder.ask("menu").unwrap();

    let menu = until(&*windows, |windows| {
        windows.all().unwrap().into_iter().find(|window| window.auxiliary && window.owner.pid == Some(recorder.pid()))
    });

    assert_eq!(menu.owner.class, "Wanted");
    assert_eq!(windows.all().unwrap().iter().rfind(|window| window.visible).unwrap().handle, menu.handle);
    let inside = Point::new(menu.bounds.x1 + 3, menu.bounds.y1 + 3);
    assert_eq!(windows.at(inside).unwrap().unwrap().handle, menu.handle);
}

#[test]
fn a_window_that_lies_about_its_process_is_told_with_the_true_one() {
    let (display, windows) = managed();
    let recorder = display.record(&["--title", "liar"]).unwrap();
    let property = ["-id", &xid(&*windows, "liar"), "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", "1"];
    display.run("xprop", &property).unwrap();

    assert_eq!(titled(&*windows, "liar").unwrap().owner.pid, Some(recorder.pid()));
}

#[test]
fn what_may_be_seen_through_covers_nothing() {
    let (display, windows) = managed();
    let _recorder = display.record(&["--title", "glass"]).unwrap();
    let property =
        ["-id", &xid(&*windows, "glass"), "-f", "_NET_WM_WINDOW_OPACITY", "32c", "-set", "_NET_WM_WINDOW_OPACITY"];
    display.run("xprop", &[&property[..], &["2147483648"]].concat()).unwrap();

    let glass = titled(&*windows, "glass").unwrap();

    assert!(glass.visible && glass.covers.is_empty());
}

#[test]
fn a_window_that_is_gone_is_gone_also_for_focus() {
    let (display, windows) = managed();
    let recorder = display.record(&["--title", "short"]).unwrap();
    let handle = titled(&*windows, "short").unwrap().handle;
    drop(recorder);
    until(&*windows, |windows| titled(windows, "short").is_none().then_some(()));

    assert_eq!(windows.one(handle), Err(SeatFault::Gone));
    assert_eq!(windows.focus(handle, true), Err(SeatFault::Gone));
    assert_eq!(windows.one(WindowHandle(0xdead_beef)), Err(SeatFault::Gone));
    assert_eq!(windows.one(WindowHandle(u64::MAX)), Err(SeatFault::Gone));
}

#[test]
fn the_mark_stays_until_something_changes() {
    let (display, windows) = managed();
    let first = display.record(&["--title", "first"]).unwrap();
    let before = until(&*windows, |windows| {
        let mark = windows.mark().unwrap();
        (windows.mark().unwrap() == mark).then_some(mark)
    });
    assert_eq!(windows.keyboard().unwrap().len(), 1);

    let _second = display.record(&["--title", "second"]).unwrap();

    let after = windows.mark().unwrap();
    assert_ne!(after, before);
    assert_eq!(windows.keyboard().unwrap()[0].title, "second");
    drop(first);
    until(&*windows, |windows| titled(windows, "first").is_none().then_some(()));
    assert_ne!(windows.mark().unwrap(), after);
}

#[test]
fn without_a_window_manager_windows_are_seen_and_not_given_the_keyboard() {
    let display = Display::start(640, 480).unwrap();
    let windows = window::open(&Seat::x11(display.name())).unwrap();
    let args = ["-T", "bare", "-geometry", "20x5+10+20", "-e", "cat"];
    let xterm = display.command("xterm").args(args).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let xterm = Ended(xterm);

    let window = until(&*windows, |windows| titled(windows, "bare").filter(|window| window.visible));

    assert!(!windows.managed());
    assert_eq!(window.owner.pid, Some(xterm.0.id()));
    assert_eq!(&*window.owner.class, "XTerm");
    assert_eq!(window.bounds.origin(), Point::new(10, 20));
    assert!(!window.auxiliary);
    assert!(matches!(windows.focus(window.handle, true), Err(SeatFault::Unsupported(_))));
}

#[test]
fn a_hundred_windows_are_all_listed() {
    let (display, windows) = managed();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/many_windows.py");
    let child = display
        .command("/usr/bin/python3")
        .args([script, "100"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Ended(child);
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();

    let many = until(&*windows, |windows| Some(titles(windows)).filter(|titles| titles.len() == 100));

    let mut sorted = many.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), 100, "{many:?}");
}

#[test]
fn a_display_that_goes_away_is_told_as_that() {
    let (display, windows) = managed();
    assert_eq!(titles(&*windows), Vec::<String>::new());
    drop(display);

    assert!(matches!(windows.all(), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(windows.mark(), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(windows.at(Point::new(1, 1)), Err(SeatFault::NoDisplay(_))));
    assert!(!windows.managed());
    assert!(matches!(window::open(&Seat::x11(":59000")), Err(SeatFault::NoDisplay(_))));
}

#[test]
fn fullscreen_is_told() {
    let (display, windows) = managed();
    let _recorder = display.record(&["--title", "film"]).unwrap();

    display.run("wmctrl", &["-r", "film", "-b", "add,fullscreen"]).unwrap();

    let whole = Rect::new(0, 0, 800, 600);
    until(&*windows, |windows| titled(windows, "film").filter(|film| film.fullscreen && film.bounds == whole));
}

fn xid(windows: &dyn Windows, title: &str) -> String {
    until(windows, |windows| titled(windows, title)).handle.0.to_string()
}

#[test]
fn where_the_server_cannot_tell_an_owner_only_a_window_of_this_computer_is_believed() {
    let mut display = Display::start_without(800, 600, "X-Resource").unwrap();
    display.manage_windows().unwrap();
    let windows = window::open(&Seat::x11(display.name())).unwrap();
    let recorder = display.record(&["--title", "told"]).unwrap();
    assert_eq!(titled(&*windows, "told").unwrap().owner.pid, Some(recorder.pid()));

    let id = xid(&*windows, "told");
    let property = ["-id", &id, "-f", "WM_CLIENT_MACHINE", "8s", "-set", "WM_CLIENT_MACHINE", "elsewhere"];
    display.run("xprop", &property).unwrap();
    let owner = titled(&*windows, "told").unwrap().owner;
    assert_eq!((owner.pid, owner.started, owner.program), (None, None, None));
}

#[test]
fn what_lets_clicks_through_covers_nothing_and_the_canvas_of_a_compositor_is_no_window() {
    use x11rb::connection::Connection as _;
    use x11rb::protocol::shape::{ConnectionExt as _, SK, SO};
    use x11rb::protocol::xproto::{ClipOrdering, ConnectionExt as _, CreateWindowAux, WindowClass};
    use x11rb::wrapper::ConnectionExt as _;
    let (display, windows) = managed();
    let _below = display.record(&["--title", "below", "--at", "0,0"]).unwrap();
    let (server, number) = x11rb::connect(Some(display.name())).unwrap();
    let (root, canvas) = (server.setup().roots[number].root, server.generate_id().unwrap());
    let aux = CreateWindowAux::new().override_redirect(1).background_pixel(0);
    server.create_window(0, canvas, root, 0, 0, 800, 600, 0, WindowClass::INPUT_OUTPUT, 0, &aux).unwrap();
    server.shape_rectangles(SO::SET, SK::INPUT, ClipOrdering::UNSORTED, canvas, 0, 0, &[]).unwrap();
    server.map_window(canvas).unwrap();
    server.sync().unwrap();

    let handles = || windows.all().unwrap().into_iter().map(|window| window.handle.0).collect::<Vec<_>>();
    assert!(!handles().contains(&u64::from(canvas)));
    assert_eq!(windows.at(Point::new(50, 100)).unwrap().unwrap().title, "below");

    display.run("xprop", &["-id", &canvas.to_string(), "-f", "WM_CLASS", "8s", "-set", "WM_CLASS", "overlay"]).unwrap();
    let overlay = windows.all().unwrap().into_iter().find(|window| window.handle.0 == u64::from(canvas)).unwrap();
    assert!(overlay.visible && overlay.auxiliary && overlay.covers.is_empty());
    assert_eq!(windows.at(Point::new(50, 100)).unwrap().unwrap().title, "below");
}
