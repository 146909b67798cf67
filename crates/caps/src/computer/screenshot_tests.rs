use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::computer::{PictureFormat, Point, WindowListOp};
use drawbridge_core::{ManualClock, WallMs};
use drawbridge_os::seat::Seat;
use drawbridge_testkit::display::Display;
use tokio_util::sync::CancellationToken;

use super::super::{Computer, ComputerSettings, Rules};
use super::*;

struct Rig {
    display: Display,
    computer: Computer,
    clock: Arc<ManualClock>,
}

impl Rig {
    fn new(width: u32, height: u32) -> Self {
        let display = Display::start(width, height).unwrap();
        let clock = Arc::new(ManualClock::starting_at(WallMs(0)));
        let settings = ComputerSettings { screenshots_per_minute: 1000 };
        let computer = Computer::new(Seat::x11(display.name()), settings, clock.clone());
        Self { display, computer, clock }
    }

    fn painted(width: u32, height: u32) -> Self {
        let rig = Self::new(width, height);
        rig.display.painter().unwrap().background(pattern).unwrap();
        rig
    }

    /// Opens a window of another program, and waits until it is drawn.
    fn terminal(&self, class: &str, colour: &str, place: &str) -> Ended {
        let (ready, told) = std::io::pipe().unwrap();
        let child = self
            .display
            .command("sh")
            .args(["-c", "exec 9>&1; exec xterm \"$@\" -e sh -c 'echo >&9; exec sleep 600'", "sh"])
            .args(["-class", class, "-name", class, "-bg", colour, "-fg", "black", "-cr", "black", "-geometry", place])
            .args(["+sb", "-bw", "0", "-fn", "fixed", "-xrm", "*waitForMap: true"])
            .stdin(Stdio::null())
            .stdout(told)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(ready), &mut line).unwrap();
        Ended(child)
    }

    /// Where the window of a class lies.
    fn bounds(&self, class: &str) -> Rect {
        let windows = self.computer.inner.seats.windows().unwrap().all().unwrap();
        windows.into_iter().find(|window| window.owner.class == class).unwrap().bounds
    }

    fn job(&self) -> Job {
        Job {
            rules: Rules::default(),
            session: None,
            max_bytes: u64::MAX,
            shown: None,
            cancel: CancellationToken::new(),
        }
    }

    fn take(&self, op: &ScreenshotOp) -> Result<Picture, OpError> {
        self.take_as(op, &self.job())
    }

    fn take_as(&self, op: &ScreenshotOp, job: &Job) -> Result<Picture, OpError> {
        let outcome = self.computer.inner.perform(&ComputerOp::Screenshot(op.clone()), job)?;
        let Outcome::Picture(picture) = outcome else { panic!("{outcome:?}") };
        Ok(picture)
    }

    /// Red, green and blue of every pixel, read by another program.
    fn read(&self, picture: &Picture) -> Vec<[u8; 3]> {
        let source = format!("{}:-", picture.format.name());
        let mut reader = self
            .display
            .command("convert")
            .args([&source, "-depth", "8", "rgb:-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, bytes) = (reader.stdin.take().unwrap(), picture.bytes.clone());
        let feed = std::thread::spawn(move || input.write_all(&bytes));
        let output = reader.wait_with_output().unwrap();
        feed.join().unwrap().unwrap();
        let pixels: Vec<[u8; 3]> = output.stdout.chunks_exact(3).map(|pixel| pixel.try_into().unwrap()).collect();
        assert_eq!(pixels.len(), picture.width as usize * picture.height as usize);
        pixels
    }

    /// Compares a picture of one display with the pattern.
    fn assert_shows_pattern(&self, picture: &Picture) {
        for (number, pixel) in self.read(picture).into_iter().enumerate() {
            let (x, y) = (number as i32 % picture.width as i32, number as i32 / picture.width as i32);
            let (x, y) = (u16::try_from(picture.origin.x + x).unwrap(), u16::try_from(picture.origin.y + y).unwrap());
            assert_eq!(pixel, pattern(x, y), "at ({x}, {y})");
        }
    }
}

/// A program that ends with its owner.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A colour of its own for each pixel.
fn pattern(x: u16, y: u16) -> [u8; 3] {
    let ([x_low, x_high], [y_low, y_high]) = (x.to_le_bytes(), y.to_le_bytes());
    [x_low, y_low, 1 + ((x_high << 4) | y_high)]
}

fn png(monitor: i32, area: Option<ScreenArea>) -> ScreenshotOp {
    ScreenshotOp { monitor, quality: 75, area, format: PictureFormat::Png, include_cursor: false }
}

fn region(x1: i32, y1: i32, x2: i32, y2: i32) -> Option<ScreenArea> {
    Some(ScreenArea::Region(Rect::new(x1, y1, x2, y2)))
}

#[test]
fn a_display_and_a_region_are_what_was_drawn() {
    let rig = Rig::painted(300, 200);

    let whole = rig.take(&png(0, None)).unwrap();
    assert_eq!((whole.width, whole.height, whole.origin), (300, 200, Point::new(0, 0)));
    assert_eq!((whole.monitor, whole.region, whole.display_scale, whole.logical_size), (0, None, 1.0, (300, 200)));
    assert!(!whole.one_colour);
    rig.assert_shows_pattern(&whole);

    let part = rig.take(&png(0, region(250, -20, 400, 60))).unwrap();
    assert_eq!((part.width, part.height, part.origin), (50, 60, Point::new(250, 0)));
    assert_eq!((part.region, part.logical_size), (Some(Rect::new(250, -20, 400, 60)), (300, 200)));
    rig.assert_shows_pattern(&part);
}

#[test]
fn two_displays_are_told_apart_and_stitched_with_a_black_gap() {
    let rig = Rig::painted(500, 300);
    rig.display.monitors(&[("RIGHT", 300, 200, 200, 100), ("LEFT", 200, 150, 0, 0)]).unwrap();

    let Outcome::Displays(displays) = display_info(&rig.computer.inner.seats).unwrap() else { panic!() };
    let places: Vec<(i32, bool, Rect)> =
        displays.iter().map(|display| (display.index, display.primary, display.rect)).collect();
    assert_eq!(places, [(0, true, Rect::new(200, 100, 500, 300)), (1, false, Rect::new(0, 0, 200, 150))]);
    let right = rig.take(&png(0, None)).unwrap();
    assert_eq!((right.width, right.height, right.origin), (300, 200, Point::new(200, 100)));
    rig.assert_shows_pattern(&right);
    let left = rig.take(&png(1, None)).unwrap();
    assert_eq!((left.width, left.height, left.origin), (200, 150, Point::new(0, 0)));
    rig.assert_shows_pattern(&left);
    // A region without a display that is named.
    let part = rig.take(&png(0, region(10, 20, 30, 60))).unwrap();
    assert_eq!((part.monitor, part.origin), (1, Point::new(10, 20)));
    rig.assert_shows_pattern(&part);

    let both = rig.take(&png(-1, None)).unwrap();
    assert_eq!((both.monitor, both.origin, both.logical_size), (-1, Point::new(0, 0), (500, 300)));
    for (number, pixel) in rig.read(&both).into_iter().enumerate() {
        let (x, y) = ((number % 500) as u16, (number / 500) as u16);
        let at = Point::new(x.into(), y.into());
        let wanted = if places.iter().any(|(_, _, rect)| rect.holds(at)) { pattern(x, y) } else { [0; 3] };
        assert_eq!(pixel, wanted, "at {at:?}");
    }
}

#[test]
fn a_display_that_was_unplugged_is_told_with_those_that_are_left() {
    let rig = Rig::painted(400, 200);
    rig.display.monitors(&[("ONE", 200, 200, 0, 0), ("TWO", 200, 200, 200, 0)]).unwrap();
    assert!(rig.take(&png(1, None)).is_ok());

    rig.display.run("xrandr", &["--delmonitor", "TWO"]).unwrap();

    let fault = rig.take(&png(1, None)).err().unwrap();
    assert!(matches!(&fault, OpError::NoSuchMonitor { asked: 1, monitors } if monitors == &[0]), "{fault}");
    let fault = rig.take(&png(0, region(250, 0, 300, 10))).err().unwrap();
    assert!(matches!(&fault, OpError::Unsupported { feature, .. } if feature == "screenshot.region"), "{fault}");
    rig.assert_shows_pattern(&rig.take(&png(0, None)).unwrap());
}

#[test]
fn the_pointer_is_drawn_at_its_hot_spot_and_not_on_another_display() {
    let rig = Rig::painted(400, 200);
    rig.display.monitors(&[("ONE", 200, 200, 0, 0), ("TWO", 200, 200, 200, 0)]).unwrap();
    let painter = rig.display.painter().unwrap();
    painter.pointer(8, (3, 5), [250, 0, 250]).unwrap();
    let with_pointer = |monitor, area| ScreenshotOp { include_cursor: true, ..png(monitor, area) };
    let marked = |op: &ScreenshotOp| -> Vec<(i32, i32)> {
        let picture = rig.take(op).unwrap();
        let width = picture.width as i32;
        let pixels = rig.read(&picture).into_iter().enumerate();
        let marked = pixels.filter(|(_, pixel)| *pixel == [250, 0, 250]).map(|(number, _)| number as i32);
        marked.map(|number| (picture.origin.x + number % width, picture.origin.y + number / width)).collect()
    };
    let square = |left: i32, top: i32| -> Vec<(i32, i32)> {
        (top..top + 8).flat_map(|y| (left..left + 8).map(move |x| (x, y))).collect()
    };

    painter.point_at(100, 50).unwrap();
    assert_eq!(marked(&with_pointer(0, None)), square(97, 45));
    assert_eq!(marked(&with_pointer(-1, None)), square(97, 45));
    assert_eq!(marked(&with_pointer(0, region(90, 40, 120, 60))), square(97, 45));
    assert_eq!(marked(&with_pointer(1, None)), []);
    assert_eq!(marked(&png(0, None)), []);
    // Its image reaches over to the first display; it is on the second one.
    painter.point_at(201, 50).unwrap();
    assert_eq!(marked(&with_pointer(0, None)), []);
    assert!(!marked(&with_pointer(1, None)).is_empty());
    let Outcome::Cursor(place) = cursor_position(&rig.computer.inner.seats).unwrap() else { panic!() };
    assert_eq!(place, CursorPlace { at: Point::new(201, 50), monitor: 1 });
}

#[test]
fn a_jpeg_has_the_size_and_nearly_the_colours_of_the_screen() {
    let rig = Rig::new(321, 201);
    // Not one colour, and smooth as JPEG likes it.
    let slope = |x: u16, y: u16| [(x / 2).to_le_bytes()[0], y.to_le_bytes()[0], 90];
    rig.display.painter().unwrap().background(slope).unwrap();

    let picture = rig.take(&ScreenshotOp { format: PictureFormat::Jpeg, quality: 90, ..png(0, None) }).unwrap();

    assert_eq!((picture.width, picture.height, picture.format), (321, 201, PictureFormat::Jpeg));
    assert_eq!(picture.bytes[..3], [0xff, 0xd8, 0xff]);
    for (number, pixel) in rig.read(&picture).into_iter().enumerate() {
        let wanted = slope((number % 321) as u16, (number / 321) as u16);
        let off = pixel.iter().zip(wanted).map(|(seen, wanted)| seen.abs_diff(wanted)).max().unwrap();
        assert!(off <= 12, "pixel {number}: {pixel:?} instead of {wanted:?}");
    }
}

#[test]
fn attempts_are_counted_and_the_eleventh_in_a_minute_is_refused() {
    let rig = Rig::painted(64, 48);
    rig.computer.set(ComputerSettings { screenshots_per_minute: 10 });
    for number in 0..10 {
        // Half of them fail, and count.
        assert_eq!(rig.take(&png(number % 2 * 7, None)).is_ok(), number % 2 == 0);
    }

    let refused = |rig: &Rig| {
        matches!(rig.take(&png(0, None)), Err(OpError::Overloaded { reason: "screenshots_per_minute", max: 10, .. }))
    };
    assert!(refused(&rig));
    rig.clock.advance(Duration::from_secs(59));
    assert!(refused(&rig));
    rig.clock.advance(Duration::from_secs(1));
    assert!(!refused(&rig));
}

#[test]
fn wrong_requests_are_refused_by_their_kind() {
    let rig = Rig::painted(64, 48);
    let fault = |op: ScreenshotOp| rig.take(&op).err().unwrap();

    assert!(matches!(fault(png(0, region(9, 9, 9, 20))), OpError::InvalidPayload(_)));
    assert!(matches!(fault(png(0, region(20, 9, 10, 20))), OpError::InvalidPayload(_)));
    assert!(matches!(fault(png(0, region(64, 0, 80, 10))), OpError::Unsupported { .. }));
    assert!(matches!(fault(png(-2, None)), OpError::NoSuchMonitor { asked: -2, .. }));
    let id = Some(ScreenArea::Window("win_unknown".to_owned()));
    assert!(matches!(fault(png(0, id)), OpError::WindowStale { .. }));
    let mut small = rig.job();
    small.max_bytes = 100;
    assert!(matches!(rig.take_as(&png(0, None), &small), Err(OpError::TooLarge { max_bytes: 100, .. })));
    let ended = rig.job();
    ended.cancel.cancel();
    assert!(matches!(rig.take_as(&png(0, None), &ended), Err(OpError::Cancelled)));
}

#[test]
fn a_display_that_goes_away_is_a_fault_and_the_next_one_is_found() {
    let mut rig = Rig::painted(64, 48);
    assert!(rig.take(&png(0, None)).is_ok());

    rig.display.lose().unwrap();

    for _ in 0..2 {
        let fault = rig.take(&png(0, None)).err().unwrap();
        assert!(matches!(&fault, OpError::Unsupported { why, .. } if why.contains("display")), "{fault}");
    }
    assert!(matches!(cursor_position(&rig.computer.inner.seats), Err(OpError::Unsupported { .. })));
    assert!(matches!(display_info(&rig.computer.inner.seats), Err(OpError::Unsupported { .. })));
    rig.display.start_again().unwrap();
    rig.display.painter().unwrap().background(pattern).unwrap();
    rig.assert_shows_pattern(&rig.take(&png(0, None)).unwrap());
}

#[test]
fn a_window_that_may_not_be_seen_is_in_no_picture() {
    let rig = Rig::painted(400, 300);
    let _secret = rig.terminal("Diary", "#fa01fa", "20x8+20+30");
    let secret = rig.bounds("Diary");
    let _front = rig.terminal("Editor", "#01fafa", "20x8+60+60");
    let front = rig.bounds("Editor");
    assert!(front.shared_with(&secret).is_some());
    let mut job = rig.job();
    job.rules.never_apps = vec!["diary".to_owned()];

    for area in [None, region(30, 40, 300, 200)] {
        let picture = rig.take_as(&png(0, area), &job).unwrap();

        let mut greys = 0;
        for (number, pixel) in rig.read(&picture).into_iter().enumerate() {
            let (x, y) = (number as i32 % picture.width as i32, number as i32 / picture.width as i32);
            let at = Point::new(picture.origin.x + x, picture.origin.y + y);
            assert_ne!(pixel, [250, 1, 250], "{at:?}");
            if front.holds(at) {
                // With its border and cursor.
                assert!([[0; 3], [1, 250, 250]].contains(&pixel), "{pixel:?} at {at:?}");
            } else if secret.holds(at) {
                assert!(pixel[0] == pixel[1] && pixel[1] == pixel[2] && pixel[0] > 0, "{pixel:?} at {at:?}");
                greys += 1;
            } else {
                assert_eq!(pixel, pattern(at.x as u16, at.y as u16), "{at:?}");
            }
        }
        assert!(greys > 1000);
    }
    // Without that rule it is seen.
    let seen = rig.take(&png(0, Some(ScreenArea::Region(secret)))).unwrap();
    assert!(rig.read(&seen).iter().filter(|pixel| **pixel == [250, 1, 250]).count() > 1000);
}

#[test]
fn a_window_is_seen_where_it_lies_and_not_when_it_may_not() {
    let mut rig = Rig::painted(400, 300);
    rig.display.manage_windows().unwrap();
    let _window = rig.terminal("Diary", "#fa01fa", "20x8+20+30");
    let list = ComputerOp::WindowList(WindowListOp::default());
    let Outcome::Windows { windows, .. } = rig.computer.inner.perform(&list, &rig.job()).unwrap() else { panic!() };
    let [window] = &windows[..] else { panic!("{windows:?}") };
    let op = png(0, Some(ScreenArea::Window(window.window_id.clone())));

    let picture = rig.take(&op).unwrap();

    assert_eq!((picture.origin, picture.monitor, picture.region), (window.bounds.origin(), 0, None));
    assert_eq!((picture.width, picture.height), (window.bounds.width(), window.bounds.height()));
    assert!(rig.read(&picture).iter().filter(|pixel| **pixel == [250, 1, 250]).count() > 1000);
    let mut job = rig.job();
    job.rules.never_apps = vec!["diary".to_owned()];
    assert!(matches!(rig.take_as(&op, &job), Err(OpError::ProtectedApp { reason: "excluded", .. })));
    rig.display.windows_of("diary", &["windowminimize", "--sync"]).unwrap();
    let hidden = rig.take(&op).err().unwrap();
    assert!(matches!(&hidden, OpError::Unsupported { why, .. } if why == "window_not_visible"), "{hidden}");
}

#[test]
fn a_black_screen_is_doubted() {
    let rig = Rig::new(64, 48);
    rig.display.run("xsetroot", &["-solid", "#000000"]).unwrap();

    // Nothing is open: it may well be black.
    assert!(rig.take(&png(0, None)).unwrap().one_colour);
    let painter = rig.display.painter().unwrap();
    // A window lies there, so something would be seen.
    painter.app_window((8, 8), (20, 20), [0, 0, 0], "Black").unwrap();
    let fault = rig.take(&png(0, None)).err().unwrap();
    assert!(matches!(&fault, OpError::Unsupported { why, .. } if why.contains("only black")), "{fault}");
    assert!(rig.take(&png(0, region(0, 0, 5, 5))).unwrap().one_colour);
    rig.display.run("xset", &["s", "activate"]).unwrap();
    let fault = rig.take(&png(0, None)).err().unwrap();
    assert!(matches!(&fault, OpError::PermissionPending { permission: "display_awake", .. }), "{fault}");
    rig.display.run("xset", &["s", "reset"]).unwrap();
    painter.window((10, 10), (20, 20), [1, 0, 0]).unwrap();
    assert!(!rig.take(&png(0, None)).unwrap().one_colour);
}
