use drawbridge_core::OpError;
use drawbridge_core::computer::{PictureFormat, Point};
use drawbridge_os::seat::screen::{CursorImage, Monitor};

use super::super::guard::Layer;
use super::super::space::Space;
use super::*;

fn frame_of(rects: &[(Rect, f64)], monitor: i32, all_pixels: bool) -> Frame {
    let monitors = rects.iter().enumerate().map(|(number, (rect, scale))| Monitor {
        name: number.to_string(),
        primary: number == 0,
        rect: *rect,
        physical_size: (0, 0),
        logical_size: (rect.width(), rect.height()),
        scale: *scale,
    });
    Space::of(monitors.collect()).frame(monitor, None, None, all_pixels).unwrap()
}

fn plain(width: u32, height: u32, colour: [u8; 3]) -> Pixels {
    let pixel = [colour[0], colour[1], colour[2], 0];
    Pixels { width, height, bgrx: pixel.repeat(width as usize * height as usize) }
}

fn at(pixels: &Pixels, x: u32, y: u32) -> [u8; 3] {
    let start = 4 * (y * pixels.width + x) as usize;
    pixels.bgrx[start..start + 3].try_into().unwrap()
}

/// The pixels that differ from the white beneath.
fn drawn(pixels: &Pixels) -> Vec<(u32, u32)> {
    (0..pixels.height)
        .flat_map(|y| (0..pixels.width).map(move |x| (x, y)))
        .filter(|(x, y)| at(pixels, *x, *y) != [255; 3])
        .collect()
}

fn shown(x1: i32, y1: i32, x2: i32, y2: i32) -> Layer {
    Layer { rect: Rect::new(x1, y1, x2, y2), shown: true }
}

fn secret(x1: i32, y1: i32, x2: i32, y2: i32) -> Layer {
    Layer { rect: Rect::new(x1, y1, x2, y2), shown: false }
}

#[test]
fn what_is_hidden_is_painted_over_and_nothing_else() {
    let frame = frame_of(&[(Rect::new(-10, -10, 30, 20), 1.0)], 0, false);
    let mut pixels = plain(40, 30, [255; 3]);

    cover(&mut pixels, &frame, &hidden(frame.area, &[secret(-5, -5, 5, 5), secret(28, 18, 90, 90)]));

    let wanted: Vec<(u32, u32)> = (0..30)
        .flat_map(|y| (0..40).map(move |x| (x, y)))
        .filter(|(x, y)| ((5..15).contains(x) && (5..15).contains(y)) || (*x >= 38 && *y >= 28))
        .collect();
    assert_eq!(drawn(&pixels), wanted);
}

#[test]
fn what_is_shown_in_front_of_a_hidden_window_stays() {
    let area = Rect::new(0, 0, 20, 20);
    let covered = |layers: &[Layer]| {
        let frame = frame_of(&[(area, 1.0)], 0, false);
        let mut pixels = plain(20, 20, [255; 3]);
        cover(&mut pixels, &frame, &hidden(area, layers));
        drawn(&pixels).len()
    };

    assert_eq!(covered(&[shown(0, 0, 20, 20), secret(0, 0, 10, 10)]), 100);
    assert_eq!(covered(&[secret(0, 0, 10, 10), shown(0, 0, 20, 20)]), 0);
    assert_eq!(covered(&[secret(0, 0, 10, 10), shown(5, 0, 20, 20)]), 50);
    assert_eq!(covered(&[secret(0, 0, 10, 10), shown(2, 2, 4, 4), secret(3, 3, 20, 20)]), 100 - 4 + 1 + 17 * 17 - 49);
    assert_eq!(covered(&[secret(30, 30, 40, 40)]), 0);
    assert_eq!(covered(&[]), 0);
}

#[test]
fn what_is_hidden_is_hidden_at_every_scale_with_its_edges() {
    for (scale, all_pixels) in [(1.25, false), (1.25, true), (1.5, false), (1.5, true), (2.0, false), (2.0, true)] {
        let frame = frame_of(&[(Rect::new(0, 0, 40, 40), scale)], 0, all_pixels);
        let (width, height) = frame.size();
        let mut pixels = plain(width, height, [255; 3]);

        cover(&mut pixels, &frame, &hidden(frame.area, &[secret(7, 9, 21, 23)]));

        for y in 0..height {
            for x in 0..width {
                let unit = |pixel: u32, end: f64| (f64::from(pixel) + end) / frame.scale;
                let inside = unit(x, 1.0) > 7.0 && unit(x, 0.0) < 21.0 && unit(y, 1.0) > 9.0 && unit(y, 0.0) < 23.0;
                assert!(!inside || at(&pixels, x, y) != [255; 3], "scale {scale}: ({x}, {y})");
            }
        }
        assert_eq!(at(&pixels, 0, 0), [255; 3]);
    }
}

fn square(at: Point, side: u32, hot_spot: (u32, u32)) -> CursorImage {
    CursorImage { at, hot_spot, width: side, height: side, bgra: [0, 0, 200, 255].repeat((side * side) as usize) }
}

#[test]
fn the_hot_spot_of_the_pointer_is_drawn_where_it_points() {
    let frame = frame_of(&[(Rect::new(-10, -10, 30, 20), 1.0)], 0, false);
    let mut pixels = plain(40, 30, [255; 3]);

    draw_pointer(&mut pixels, &frame, square(Point::new(0, 5), 3, (1, 2)));

    let wanted: Vec<(u32, u32)> = (13..16).flat_map(|y| (9..12).map(move |x| (x, y))).collect();
    assert_eq!(drawn(&pixels), wanted);
    assert_eq!(at(&pixels, 10, 15), [0, 0, 200]);
}

#[test]
fn a_pointer_at_an_edge_is_cut() {
    let frame = frame_of(&[(Rect::new(0, 0, 10, 10), 1.0)], 0, false);

    for (point, hot_spot, visible) in
        [((0, 0), (2, 2), 4), ((9, 9), (1, 1), 4), ((9, 0), (0, 0), 4), ((0, 9), (3, 0), 1)]
    {
        let mut pixels = plain(10, 10, [255; 3]);
        draw_pointer(&mut pixels, &frame, square(Point::new(point.0, point.1), 4, hot_spot));
        assert_eq!(drawn(&pixels).len(), visible, "{point:?}");
    }
}

#[test]
fn the_pointer_has_the_scale_of_the_picture() {
    for (scale, all_pixels, side) in [(2.0, true, 8), (2.0, false, 4), (1.25, true, 8), (1.0, false, 8)] {
        let frame = frame_of(&[(Rect::new(0, 0, 40, 40), scale)], 0, all_pixels);
        let (width, height) = frame.size();
        let mut pixels = plain(width, height, [255; 3]);

        draw_pointer(&mut pixels, &frame, square(Point::new(20, 12), 8, (4, 2)));

        let drawn = drawn(&pixels);
        assert_eq!(drawn.len(), side * side, "scale {scale}");
        let (x, y) = frame.pixel_of(Point::new(20, 12));
        let ratio = frame.scale / scale;
        let first = (x - (4.0 * ratio) as i64, y - (2.0 * ratio) as i64);
        assert_eq!(drawn.first().map(|(x, y)| (i64::from(*x), i64::from(*y))), Some(first), "scale {scale}");
    }
}

#[test]
fn a_pointer_on_another_display_is_not_drawn() {
    let displays = [(Rect::new(0, 0, 20, 20), 1.0), (Rect::new(20, 0, 40, 20), 1.0)];
    // Its image would reach over to the first display.
    let pointer = || square(Point::new(20, 5), 6, (3, 3));
    let mut pixels = plain(20, 20, [255; 3]);

    draw_pointer(&mut pixels, &frame_of(&displays, 0, false), pointer());
    assert!(drawn(&pixels).is_empty());

    draw_pointer(&mut pixels, &frame_of(&displays, 1, false), pointer());
    assert_eq!(drawn(&pixels).len(), 18);
    let mut both = plain(40, 20, [255; 3]);
    draw_pointer(&mut both, &frame_of(&displays, -1, false), pointer());
    assert_eq!(drawn(&both).len(), 36);
}

#[test]
fn a_pointer_that_one_can_see_through_is_mixed_with_what_lies_beneath() {
    let frame = frame_of(&[(Rect::new(0, 0, 4, 4), 1.0)], 0, false);
    let mut pixels = plain(4, 4, [200, 100, 0]);
    // Half of red: its colours are multiplied by its alpha.
    let bgra = vec![0, 0, 128, 128];

    draw_pointer(
        &mut pixels,
        &frame,
        CursorImage { at: Point::new(1, 1), hot_spot: (0, 0), width: 1, height: 1, bgra },
    );

    assert_eq!(at(&pixels, 1, 1), [100, 50, 128]);
}

#[test]
fn displays_are_put_together_without_gap_or_overlap() {
    let frame = frame_of(&[(Rect::new(0, 0, 4, 4), 1.0), (Rect::new(-6, -2, 0, 3), 2.0)], -1, false);

    let pixels = composed(&frame, vec![plain(4, 4, [1, 1, 1]), plain(12, 10, [2, 2, 2])]);

    assert_eq!((pixels.width, pixels.height), (10, 6));
    for y in 0..6 {
        for x in 0..10 {
            let wanted = match (x, y) {
                (0..6, 0..5) => 2,
                (6..10, 2..6) => 1,
                _ => 0,
            };
            assert_eq!(at(&pixels, x, y), [wanted; 3], "({x}, {y})");
        }
    }
}

#[test]
fn one_colour_is_told_from_two() {
    let mut pixels = plain(30, 20, [7, 8, 9]);
    assert_eq!(one_colour(&pixels), Some([7, 8, 9]));
    // The byte that means nothing.
    pixels.bgrx[3] = 200;
    assert_eq!(one_colour(&pixels), Some([7, 8, 9]));

    let last = pixels.bgrx.len() - 2;
    pixels.bgrx[last] = 10;
    assert_eq!(one_colour(&pixels), None);
}

/// Pixels that no format makes small.
fn noise(width: u32, height: u32) -> Pixels {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    Pixels { width, height, bgrx: (0..4 * width * height).map(|_| next()).collect() }
}

#[test]
fn a_png_holds_every_pixel() {
    let pixels = noise(37, 23);

    let bytes = encoded(&pixels, PictureFormat::Png, 1, u64::MAX).unwrap();

    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!((info.width, info.height, info.color_type), (37, 23, png::ColorType::Rgb));
    let wanted: Vec<u8> = pixels.bgrx.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect();
    assert_eq!(rgb, wanted);
}

#[test]
fn a_jpeg_that_is_too_large_loses_quality_and_then_gives_up() {
    let pixels = noise(64, 64);
    let write = |quality, max| encoded(&pixels, PictureFormat::Jpeg, quality, max);
    let size = |quality| write(quality, u64::MAX).unwrap().len() as u64;
    let (best, middle, least) = (size(90), size(65), size(40));
    assert!(best > middle && middle > least);

    assert_eq!(write(90, best).unwrap().len() as u64, best);
    assert_eq!(write(90, best - 1).unwrap().len() as u64, middle);
    assert_eq!(write(90, middle - 1).unwrap().len() as u64, least);
    match write(90, least - 1) {
        Err(OpError::TooLarge { what, max_bytes, attempted_bytes }) => {
            assert_eq!((what, max_bytes, attempted_bytes), ("the picture", least - 1, least));
        }
        other => panic!("{:?}", other.map(|bytes| bytes.len())),
    }
    // It asked for less than the least already.
    let small = size(20);
    assert!(matches!(write(20, small - 1), Err(OpError::TooLarge { attempted_bytes, .. }) if attempted_bytes == small));
    // Values outside of the range count as its ends.
    assert_eq!((size(0), size(255)), (size(1), size(100)));
}

#[test]
fn a_png_that_is_too_large_is_told_with_its_size() {
    let fault = encoded(&noise(64, 64), PictureFormat::Png, 75, 1000).unwrap_err();

    assert!(matches!(fault, OpError::TooLarge { max_bytes: 1000, attempted_bytes, .. } if attempted_bytes > 12_000));
}
