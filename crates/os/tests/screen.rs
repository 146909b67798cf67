//! Displays of a real X server: what is drawn there, pixel by pixel, where monitors and pointer are, and what happens when the
//! server goes away.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use drawbridge_core::computer::{Point, Rect};
use drawbridge_os::seat::screen::{self, Monitor, Pixels, Screen};
use drawbridge_os::seat::{Seat, SeatFault, SeatKind};
use drawbridge_testkit::display::Display;

fn screen_of(display: &Display) -> Box<dyn Screen> {
    screen::open(&Seat::x11(display.name())).unwrap()
}

/// A colour of its own for each pixel of a display up to 4096 × 4096.
fn pattern(x: u16, y: u16) -> [u8; 3] {
    let ([x_low, x_high], [y_low, y_high]) = (x.to_le_bytes(), y.to_le_bytes());
    [x_low, y_low, (x_high << 4) | y_high]
}

fn bgr_at(pixels: &Pixels, x: usize, y: usize) -> [u8; 3] {
    let start = (y * pixels.width as usize + x) * 4;
    pixels.bgrx[start..start + 3].try_into().unwrap()
}

fn assert_shows(pixels: &Pixels, area: Rect) {
    assert_eq!((pixels.width, pixels.height), (area.width(), area.height()));
    assert_eq!(pixels.bgrx.len(), pixels.width as usize * pixels.height as usize * 4);
    for y in 0..pixels.height {
        for x in 0..pixels.width {
            let on_screen = (u16::try_from(area.x1).unwrap() + x as u16, u16::try_from(area.y1).unwrap() + y as u16);
            let [red, green, blue] = pattern(on_screen.0, on_screen.1);
            assert_eq!(bgr_at(pixels, x as usize, y as usize), [blue, green, red], "at {on_screen:?}");
        }
    }
}

#[test]
fn every_pixel_of_the_whole_and_of_parts_is_the_one_that_was_drawn() {
    let display = Display::start(700, 500).unwrap();
    let painter = display.painter().unwrap();
    painter.background(pattern).unwrap();
    let screen = screen_of(&display);

    for area in [
        Rect::new(0, 0, 700, 500),
        Rect::new(0, 0, 1, 1),
        Rect::new(699, 499, 700, 500),
        Rect::new(13, 7, 350, 499),
        Rect::new(0, 0, 700, 500),
    ] {
        assert_shows(&screen.grab(area).unwrap(), area);
    }
}

#[test]
fn windows_in_front_are_seen() {
    let display = Display::start(300, 200).unwrap();
    let painter = display.painter().unwrap();
    painter.background(pattern).unwrap();
    painter.window((10, 20), (30, 40), [200, 100, 50]).unwrap();

    let pixels = screen_of(&display).grab(Rect::new(0, 0, 300, 200)).unwrap();

    assert_eq!(bgr_at(&pixels, 10, 20), [50, 100, 200]);
    assert_eq!(bgr_at(&pixels, 39, 59), [50, 100, 200]);
    let [red, green, blue] = pattern(40, 59);
    assert_eq!(bgr_at(&pixels, 40, 59), [blue, green, red]);
}

#[test]
fn other_depths_are_turned_into_the_same_colours() {
    let display = Display::start_with_depth(64, 48, 16).unwrap();
    display.run("xsetroot", &["-solid", "#ff0000"]).unwrap();

    let pixels = screen_of(&display).grab(Rect::new(0, 0, 64, 48)).unwrap();

    assert_eq!(bgr_at(&pixels, 0, 0), [0, 0, 255]);
    assert!(pixels.bgrx.chunks_exact(4).all(|pixel| pixel == [0, 0, 255, 0]));
}

#[test]
fn thirty_bits_are_turned_into_the_same_colours() {
    let display = Display::start_with_depth(64, 48, 30).unwrap();
    display.run("xsetroot", &["-solid", "rgb:00/ff/80"]).unwrap();

    let pixels = screen_of(&display).grab(Rect::new(0, 0, 64, 48)).unwrap();

    assert_eq!(bgr_at(&pixels, 0, 0), [128, 255, 0]);
    assert!(pixels.bgrx.chunks_exact(4).all(|pixel| pixel == [128, 255, 0, 0]));
}

#[test]
fn without_shared_memory_pixels_come_through_the_connection() {
    let display = Display::start_without(300, 200, "MIT-SHM").unwrap();
    let painter = display.painter().unwrap();
    painter.background(pattern).unwrap();
    let screen = screen_of(&display);

    for area in [Rect::new(0, 0, 300, 200), Rect::new(13, 7, 250, 199)] {
        assert_shows(&screen.grab(area).unwrap(), area);
    }
    assert_eq!(screen.grab(Rect::new(299, 0, 301, 1)), Err(SeatFault::Gone));
    let shared = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!shared.contains("drawbridge-screen"));
}

#[test]
fn without_extensions_the_whole_screen_is_one_display_and_no_pointer_is_drawn() {
    let display = Display::start_without(300, 200, "RANDR").unwrap();
    let monitors = screen_of(&display).monitors().unwrap();
    assert_eq!(monitors.len(), 1);
    assert!(monitors[0].primary && monitors[0].rect == Rect::new(0, 0, 300, 200));

    let display = Display::start_without(300, 200, "XFIXES").unwrap();
    assert_eq!(screen_of(&display).cursor(), Ok(None));
}

#[test]
fn what_is_not_on_the_desktop_is_gone_and_empty_rectangles_too() {
    let display = Display::start(300, 200).unwrap();
    let screen = screen_of(&display);

    for area in [
        Rect::new(300, 0, 310, 10),
        Rect::new(290, 190, 301, 200),
        Rect::new(-1, 0, 10, 10),
        Rect::new(10, 10, 10, 20),
        Rect::new(20, 20, 10, 10),
        Rect::new(i32::MIN, i32::MIN, i32::MAX, i32::MAX),
    ] {
        assert_eq!(screen.grab(area), Err(SeatFault::Gone), "{area:?}");
    }
    // It still works after that.
    assert!(screen.grab(Rect::new(0, 0, 300, 200)).is_ok());
}

#[test]
fn monitors_are_asked_for_afresh_each_time() {
    let display = Display::start(800, 300).unwrap();
    let screen = screen_of(&display);
    let seen = |screen: &dyn Screen| -> Vec<(bool, Rect)> {
        screen.monitors().unwrap().into_iter().map(|Monitor { primary, rect, .. }| (primary, rect)).collect()
    };
    assert_eq!(seen(&*screen).iter().map(|(_, rect)| *rect).collect::<Vec<_>>(), [Rect::new(0, 0, 800, 300)]);

    display.monitors(&[("RIGHT", 500, 300, 300, 0), ("LEFT", 300, 200, 0, 0)]).unwrap();

    let mut two = seen(&*screen);
    two.sort_by_key(|(_, rect)| rect.x1);
    assert_eq!(two, [(false, Rect::new(0, 0, 300, 200)), (true, Rect::new(300, 0, 800, 300))]);
    let named: Vec<String> = screen.monitors().unwrap().into_iter().map(|monitor| monitor.name).collect();
    assert!(named.contains(&"LEFT".to_owned()) && named.contains(&"RIGHT".to_owned()), "{named:?}");

    display.run("xrandr", &["--delmonitor", "LEFT"]).unwrap();
    assert_eq!(seen(&*screen), [(true, Rect::new(300, 0, 800, 300))]);
}

#[test]
fn the_pointer_is_where_it_was_put_and_its_image_has_its_hot_spot() {
    let display = Display::start(300, 200).unwrap();
    let painter = display.painter().unwrap();
    painter.pointer(9, (2, 6), [255, 0, 128]).unwrap();
    let screen = screen_of(&display);

    painter.point_at(123, 45).unwrap();

    assert_eq!(screen.pointer(), Ok(Point::new(123, 45)));
    let cursor = screen.cursor().unwrap().unwrap();
    assert_eq!((cursor.at, cursor.hot_spot), (Point::new(123, 45), (2, 6)));
    assert!(cursor.width >= 9 && cursor.height >= 9);
    assert_eq!(cursor.bgra.len(), cursor.width as usize * cursor.height as usize * 4);
    assert_eq!(cursor.bgra[..4], [128, 0, 255, 255]);
    assert_eq!(screen.asleep(), Ok(false));
}

#[test]
fn a_blanked_display_says_so() {
    let display = Display::start(300, 200).unwrap();
    let screen = screen_of(&display);

    display.run("xset", &["s", "activate"]).unwrap();
    assert_eq!(screen.asleep(), Ok(true));

    display.run("xset", &["s", "reset"]).unwrap();
    assert_eq!(screen.asleep(), Ok(false));
}

#[test]
fn a_display_that_ends_is_told_and_another_one_is_opened() {
    let display = Display::start(300, 200).unwrap();
    let seat = Seat::x11(display.name());
    let screen = screen::open(&seat).unwrap();
    assert!(screen.grab(Rect::new(0, 0, 300, 200)).is_ok());

    drop(display);

    let area = Rect::new(0, 0, 300, 200);
    assert!(matches!(screen.grab(area), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(screen.monitors(), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(screen.cursor(), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(screen.pointer(), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(screen::open(&seat), Err(SeatFault::NoDisplay(_))));
    let next = Display::start(300, 200).unwrap();
    assert!(screen_of(&next).grab(area).is_ok());
}

#[test]
fn many_pictures_take_no_more_memory_and_handles_than_one() {
    let display = Display::start(800, 600).unwrap();
    let screen = screen_of(&display);
    let small = Rect::new(0, 0, 100, 100);
    let whole = Rect::new(0, 0, 800, 600);
    let held = || {
        let shared = std::fs::read_to_string("/proc/self/maps").unwrap();
        (
            shared.lines().filter(|line| line.contains("drawbridge-screen")).count(),
            std::fs::read_dir("/proc/self/fd")
                .unwrap()
                .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
                .filter(|target| target.to_string_lossy().contains("drawbridge-screen"))
                .count(),
        )
    };

    for area in [small, whole, small, whole, small].repeat(20) {
        assert_eq!(screen.grab(area).unwrap().width, area.width());
    }

    assert_eq!(held(), (1, 0));
    drop(screen);
    assert_eq!(held(), (0, 0));
}

#[test]
fn seats_without_a_way_to_see_say_why() {
    for kind in [SeatKind::Wayland, SeatKind::Wsl] {
        let fault = screen::open(&Seat { kind, display: None }).err().unwrap();
        assert!(matches!(&fault, SeatFault::Unsupported(why) if why.contains("instead")), "{fault}");
    }
    assert!(matches!(screen::open(&Seat { kind: SeatKind::None, display: None }).err(), Some(SeatFault::NoDisplay(_))));
    assert!(matches!(screen::open(&Seat::x11("nonsense")).err(), Some(SeatFault::NoDisplay(_))));
    assert!(matches!(screen::open(&Seat::x11(":65535")).err(), Some(SeatFault::NoDisplay(_))));
}
