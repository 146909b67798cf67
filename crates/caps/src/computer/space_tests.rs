use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::screen::{CursorImage, Pixels, Screen};
use proptest::prelude::*;

use super::super::picture::composed;
use super::*;

fn monitor(primary: bool, rect: Rect, scale: f64) -> Monitor {
    Monitor {
        name: "model".to_owned(),
        primary,
        rect,
        physical_size: (scaled(rect.width(), scale), scaled(rect.height(), scale)),
        logical_size: (rect.width(), rect.height()),
        scale,
    }
}

fn two() -> Space {
    // The primary one lies right of and below the other.
    Space::of(vec![monitor(false, Rect::new(-80, -10, 0, 50), 1.0), monitor(true, Rect::new(0, 0, 100, 60), 1.0)])
}

fn region(x1: i32, y1: i32, x2: i32, y2: i32) -> ScreenArea {
    ScreenArea::Region(Rect::new(x1, y1, x2, y2))
}

#[test]
fn the_primary_display_comes_first_and_the_others_by_origin() {
    let rects = |monitors: Vec<Monitor>| {
        let space = Space::of(monitors);
        let facts: Vec<(i32, bool, i32)> =
            space.displays().iter().map(|display| (display.index, display.primary, display.rect.x1)).collect();
        facts
    };
    let at = |x: i32, primary| monitor(primary, Rect::new(x, 0, x + 10, 10), 1.0);

    let named = rects(vec![at(20, false), at(-10, false), at(10, true), at(0, false)]);
    assert_eq!(named, [(0, true, 10), (1, false, -10), (2, false, 0), (3, false, 20)]);
    // Nobody is named: the one at zero.
    assert_eq!(rects(vec![at(-10, false), at(0, false)]), [(0, true, 0), (1, false, -10)]);
    // Two are named: one of them counts.
    assert_eq!(rects(vec![at(10, true), at(0, true)]), [(0, true, 0), (1, false, 10)]);
    assert_eq!(rects(Vec::new()), []);
}

#[test]
fn a_point_is_in_bounds_when_any_display_holds_it_and_edges_belong_to_one() {
    let space = two();

    for point in [(0, 0), (99, 59), (-80, -10), (-1, 49), (-1, -10)] {
        assert!(space.check(Point::new(point.0, point.1)).is_ok(), "{point:?}");
    }
    // Beside all displays, and in the corners between them.
    for point in [(100, 0), (0, 60), (-81, 0), (0, -1), (-1, 50), (i32::MAX, 0), (i32::MIN, i32::MIN)] {
        let requested = Point::new(point.0, point.1);
        match space.check(requested) {
            Err(OpError::OutOfBounds { requested: told, displays }) => {
                assert_eq!((told, displays.as_slice()), (requested, space.displays()));
            }
            other => panic!("{point:?}: {other:?}"),
        }
    }
    let path = [Point::new(1, 1), Point::new(500, 1), Point::new(600, 1)];
    assert!(matches!(space.check_all(&path), Err(OpError::OutOfBounds { requested, .. }) if requested == path[1]));
}

#[test]
fn a_region_is_cut_to_its_display() {
    let frame = two().frame(0, Some(&region(-20, 40, 30, 90)), None, false).unwrap();

    assert_eq!((frame.monitor, frame.area), (0, Rect::new(0, 40, 30, 60)));
    assert_eq!((frame.size(), frame.logical_size), ((30, 20), (100, 60)));
}

#[test]
fn a_region_on_another_display_takes_that_display_when_none_is_named() {
    let space = two();

    let frame = space.frame(0, Some(&region(-50, 10, -10, 20)), None, false).unwrap();
    assert_eq!((frame.monitor, frame.area), (1, Rect::new(-50, 10, -10, 20)));
    // A display that was named is meant.
    let fault = space.frame(1, Some(&region(10, 10, 20, 20)), None, false).unwrap_err();
    assert!(matches!(&fault, OpError::Unsupported { feature, .. } if feature == "screenshot.region"), "{fault}");
    let fault = space.frame(0, Some(&region(500, 0, 600, 10)), None, false).unwrap_err();
    assert!(matches!(&fault, OpError::Unsupported { feature, .. } if feature == "screenshot.region"), "{fault}");
}

#[test]
fn an_empty_or_inverted_region_is_a_wrong_request() {
    for area in [region(5, 5, 5, 9), region(9, 5, 5, 9), region(5, 9, 9, 5)] {
        let fault = two().frame(0, Some(&area), None, false).unwrap_err();
        assert!(matches!(&fault, OpError::InvalidPayload(fault) if fault.field == "region"), "{fault}");
    }
}

#[test]
fn a_region_may_reach_to_the_ends_of_all_numbers() {
    let all = region(i32::MIN, i32::MIN, i32::MAX, i32::MAX);

    assert_eq!(two().frame(0, Some(&all), None, false).unwrap().area, Rect::new(0, 0, 100, 60));
    assert_eq!(two().frame(-1, Some(&all), None, false).unwrap().area, Rect::new(-80, -10, 100, 60));
}

#[test]
fn an_unknown_display_is_told_with_those_that_are_there() {
    for asked in [2, -2, i32::MIN, i32::MAX] {
        match two().frame(asked, None, None, false) {
            Err(OpError::NoSuchMonitor { asked: told, monitors }) => assert_eq!((told, monitors), (asked, vec![0, 1])),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(Space::of(Vec::new()).frame(0, None, None, false), Err(OpError::Unsupported { .. })));
}

#[test]
fn all_displays_in_one_picture_have_no_overlap() {
    let mirrored = Space::of(vec![
        monitor(true, Rect::new(0, 0, 100, 60), 1.0),
        monitor(false, Rect::new(0, 0, 100, 60), 1.0),
        monitor(false, Rect::new(90, 50, 130, 90), 1.0),
    ]);

    let frame = mirrored.frame(ALL_DISPLAYS, None, None, false).unwrap();

    assert_eq!((frame.monitor, frame.area, frame.logical_size), (-1, Rect::new(0, 0, 130, 90), (130, 90)));
    let shown: u64 = frame.tiles.iter().map(|tile| surface(&tile.rect)).sum();
    assert_eq!(shown, 100 * 60 + 40 * 40 - 10 * 10);
    for (number, tile) in frame.tiles.iter().enumerate() {
        assert!(frame.tiles[number + 1..].iter().all(|other| tile.rect.shared_with(&other.rect).is_none()));
    }
}

#[test]
fn a_window_is_seen_as_far_as_it_lies_on_displays() {
    let id = ScreenArea::Window("win_x".to_owned());
    let space = two();
    let seen = |window| space.frame(0, Some(&id), Some(window), false);

    let across = seen(Rect::new(-30, 10, 10, 20)).unwrap();
    assert_eq!((across.monitor, across.area, across.tiles.len()), (1, Rect::new(-30, 10, 10, 20), 2));
    let beyond = seen(Rect::new(90, 50, 300, 300)).unwrap();
    assert_eq!((beyond.monitor, beyond.area), (0, Rect::new(90, 50, 100, 60)));
    for nowhere in [Rect::new(100, 0, 120, 20), Rect::default()] {
        let fault = seen(nowhere).unwrap_err();
        assert!(
            matches!(&fault, OpError::Unsupported { feature, why }
                if feature == "screenshot.window" && why == "window_not_visible"),
            "{fault}"
        );
    }
}

#[test]
fn pictures_have_the_size_of_the_wire_unless_all_pixels_are_wanted() {
    let dense = |scale| Space::of(vec![monitor(true, Rect::new(0, 0, 100, 60), scale)]);
    let size = |space: &Space, area: Option<&ScreenArea>, all| {
        let frame = space.frame(0, area, None, all).unwrap();
        (frame.size(), frame.scale)
    };
    let part = region(3, 3, 13, 13);

    assert_eq!(size(&dense(2.0), None, false), ((100, 60), 1.0));
    assert_eq!(size(&dense(2.0), None, true), ((200, 120), 2.0));
    assert_eq!(size(&dense(2.0), Some(&part), true), ((20, 20), 2.0));
    assert_eq!(size(&dense(1.25), None, true), ((125, 75), 1.25));
    // Pixels would lie across the edges of this part.
    assert_eq!(size(&dense(1.25), Some(&part), true), ((10, 10), 1.0));
    let mixed =
        Space::of(vec![monitor(true, Rect::new(0, 0, 100, 60), 2.0), monitor(false, Rect::new(100, 0, 200, 60), 1.0)]);
    assert_eq!(mixed.frame(-1, None, None, true).unwrap().scale, 1.0);
    assert_eq!(mixed.frame(0, None, None, true).unwrap().scale, 2.0);
}

#[test]
fn a_rectangle_without_others_keeps_every_other_unit_once() {
    let whole = Rect::new(0, 0, 6, 6);
    let others = [Rect::new(1, 1, 3, 4), Rect::new(2, 2, 9, 3), Rect::new(-5, -5, 0, 0)];

    let left = without_all(whole, &others);

    for y in 0..6 {
        for x in 0..6 {
            let point = Point::new(x, y);
            let wanted = usize::from(!others.iter().any(|other| other.holds(point)));
            assert_eq!(left.iter().filter(|piece| piece.holds(point)).count(), wanted, "{point:?}");
        }
    }
}

/// Displays whose every hardware pixel says where it is: blue across, green down, red which display.
struct Model(Vec<Monitor>);

impl Model {
    fn red(&self, number: usize) -> u8 {
        50 + 40 * u8::try_from(number).unwrap()
    }
}

impl Screen for Model {
    fn monitors(&self) -> Result<Vec<Monitor>, SeatFault> {
        Ok(self.0.clone())
    }

    fn grab(&self, area: Rect) -> Result<Pixels, SeatFault> {
        let inside = |monitor: &Monitor| monitor.rect.shared_with(&area) == Some(area);
        let number = self.0.iter().position(inside).ok_or(SeatFault::Gone)?;
        let Monitor { rect, scale, .. } = &self.0[number];
        let hardware = |edge: i32, from: i32| (f64::from(edge - from) * scale).round() as u8;
        let (columns, rows) = (
            hardware(area.x1, rect.x1)..hardware(area.x2, rect.x1),
            hardware(area.y1, rect.y1)..hardware(area.y2, rect.y1),
        );
        let bgrx = rows.clone().flat_map(|y| columns.clone().flat_map(move |x| [x, y, self.red(number), 0])).collect();
        Ok(Pixels { width: columns.len() as u32, height: rows.len() as u32, bgrx })
    }

    fn cursor(&self) -> Result<Option<CursorImage>, SeatFault> {
        Ok(None)
    }

    fn pointer(&self) -> Result<Point, SeatFault> {
        Ok(Point::default())
    }

    fn asleep(&self) -> Result<bool, SeatFault> {
        Ok(false)
    }
}

fn scales() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![1.0, 1.25, 1.5, 2.0])
}

/// One to three displays: alone, beside, above, in an L, with the primary one anywhere and origins on both sides of zero.
fn layouts() -> impl Strategy<Value = Vec<Monitor>> {
    let sizes = (20..100_i32, 20..80_i32);
    let screens = prop::collection::vec((sizes, scales()), 3);
    (screens, 0..4_u8, 0..3_usize, (-300..300_i32, -300..300_i32)).prop_map(|(screens, shape, primary, (dx, dy))| {
        let [((w0, h0), s0), ((w1, h1), s1), ((w2, h2), s2)] = [screens[0], screens[1], screens[2]];
        let mut rects = vec![(Rect::new(0, 0, w0, h0), s0)];
        match shape {
            0 => {}
            1 => rects.push((Rect::new(-w1, 5, 0, 5 + h1), s1)),
            2 => rects.push((Rect::new(-7, -h1, w1 - 7, 0), s1)),
            _ => {
                rects
                    .extend([(Rect::new(w0, 0, w0 + w1, h1), s1), (Rect::new(0, h0.max(h1), w2, h0.max(h1) + h2), s2)]);
            }
        }
        let primary = primary % rects.len();
        let moved = |rect: Rect| Rect::new(rect.x1 + dx, rect.y1 + dy, rect.x2 + dx, rect.y2 + dy);
        rects
            .iter()
            .enumerate()
            .map(|(number, (rect, scale))| monitor(number == primary, moved(*rect), *scale))
            .collect()
    })
}

fn asked() -> impl Strategy<Value = (i32, u8, (i32, i32, i32, i32), bool)> {
    (-1..4_i32, 0..3_u8, (-350..350_i32, -350..350_i32, 1..250_i32, 1..250_i32), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// What is read off any picture and sent back hits what was seen there (FB-44).
    #[test]
    fn a_point_read_off_a_picture_hits_the_same_pixel(
        monitors in layouts(),
        (index, kind, (x, y, width, height), all_pixels) in asked(),
    ) {
        let model = Model(monitors.clone());
        let space = Space::of(model.monitors().unwrap());
        let rect = Rect::new(x, y, x + width, y + height);
        let (area, window) = match kind {
            0 => (None, None),
            1 => (Some(ScreenArea::Region(rect)), None),
            _ => (Some(ScreenArea::Window("win_x".to_owned())), Some(rect)),
        };
        let Ok(frame) = space.frame(index, area.as_ref(), window, all_pixels) else { return Ok(()) };
        let grabbed = frame.tiles.iter().map(|tile| model.grab(tile.rect).unwrap()).collect();
        let picture = composed(&frame, grabbed);
        prop_assert_eq!((picture.width, picture.height), frame.size());

        for (number, pixel) in picture.bgrx.chunks_exact(4).enumerate() {
            let (column, row) = (number as u32 % picture.width, number as u32 / picture.width);
            // As the peer computes it: meta.origin + pixel / display_scale.
            let along = |pixel: u32, from: i32| from + (f64::from(pixel) / frame.scale).floor() as i32;
            let wire = Point::new(along(column, frame.area.x1), along(row, frame.area.y1));
            let Some(display) = monitors.iter().position(|monitor| monitor.rect.holds(wire)) else {
                prop_assert_eq!(pixel, [0, 0, 0, 0], "a gap at {:?}", wire);
                continue;
            };
            prop_assert!(space.check(wire).is_ok());
            // A picture of one display has a gap where another one lies.
            if pixel[2] == 0 {
                prop_assert!(frame.tiles.iter().all(|tile| !tile.rect.holds(wire)));
                continue;
            }
            let Monitor { rect, scale, .. } = &monitors[display];
            prop_assert_eq!(pixel[2], model.red(display), "another display at {:?}", wire);
            // The middle of what the pixel shows lies within the unit; systems round edges to whole pixels.
            let slack = if scale.fract() == 0.0 { 0.51 } else { 1.01 };
            for (seen, unit) in [(pixel[0], wire.x - rect.x1), (pixel[1], wire.y - rect.y1)] {
                let seen = f64::from(seen) + 0.5;
                let (from, to) = (f64::from(unit) * scale - slack, (f64::from(unit) + 1.0) * scale + slack);
                prop_assert!(seen >= from && seen <= to, "{} is not in {}..{} at {:?}", seen, from, to, wire);
            }
        }
    }

    /// A place on the desktop is drawn at the pixel from which it is read again.
    #[test]
    fn a_pixel_of_a_point_is_read_as_that_point(monitors in layouts(), index in -1..3_i32, all_pixels in any::<bool>()) {
        let space = Space::of(monitors);
        let Ok(frame) = space.frame(index, None, None, all_pixels) else { return Ok(()) };
        for tile in &frame.tiles {
            for point in [tile.rect.origin(), Point::new(tile.rect.x2 - 1, tile.rect.y2 - 1)] {
                let (column, row) = frame.pixel_of(point);
                let (width, height) = frame.size();
                prop_assert!(column >= 0 && row >= 0 && column < i64::from(width) && row < i64::from(height));
                // Rounding down twice can stay one unit before, never past.
                let read = |pixel: i64, from: i32| i64::from(from) + (pixel as f64 / frame.scale + 1e-9).floor() as i64;
                let wire = (read(column, frame.area.x1), read(row, frame.area.y1));
                let off = (i64::from(point.x) - wire.0, i64::from(point.y) - wire.1);
                let allowed = i64::from(frame.scale.fract() != 0.0);
                prop_assert!((0..=allowed).contains(&off.0) && (0..=allowed).contains(&off.1), "{:?} {:?}", point, wire);
            }
        }
    }
}
