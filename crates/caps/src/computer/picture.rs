//! Pixels become a picture: put together, parts painted over, the pointer drawn, the format written (spec 10.3).
//!
//! What is hidden is painted over before anything is written, so it is in no copy that leaves this place. Nothing here knows
//! what a window is.

mod cover;
mod encode;
mod pointer;
mod resize;

use drawbridge_core::computer::Rect;
use drawbridge_os::seat::screen::Pixels;

pub(super) use cover::{cover, hidden};
pub(super) use encode::encoded;
pub(super) use pointer::draw_pointer;

use super::space::Frame;

/// Puts the pixels of a frame's tiles together, each brought to the frame's scale. What no tile covers is black.
pub(super) fn composed(frame: &Frame, grabbed: Vec<Pixels>) -> Pixels {
    let (width, height) = frame.size();
    let mut grabbed = grabbed;
    if frame.tiles.len() == 1
        && let Some(only) = grabbed.pop()
    {
        return resize::to_size(only, width, height);
    }
    let bytes = 4 * width as usize * height as usize;
    let mut all = Pixels { width, height, bgrx: vec![0; bytes] };
    for (tile, pixels) in frame.tiles.iter().zip(grabbed) {
        let place = frame.pixels_around(tile.rect);
        let pixels = resize::to_size(pixels, place.width(), place.height());
        for (row, line) in pixels.bgrx.chunks_exact(4 * (pixels.width as usize).max(1)).enumerate() {
            let y = i64::from(place.y1) + row as i64;
            if let Some(target) = row_part(&mut all, y, place) {
                target.copy_from_slice(&line[..target.len()]);
            }
        }
    }
    all
}

/// Tells whether all pixels have one colour, and returns it: blue, green, red. The byte that means nothing is not looked at.
pub(super) fn one_colour(pixels: &Pixels) -> Option<[u8; 3]> {
    let colour = |pixel: &[u8]| [pixel[0], pixel[1], pixel[2]];
    let mut all = pixels.bgrx.chunks_exact(4).map(colour);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Returns the part of a row of pixels that lies in a rectangle whose left edge is inside; nothing outside of the picture.
fn row_part(pixels: &mut Pixels, y: i64, place: Rect) -> Option<&mut [u8]> {
    let inside = Rect::new(0, 0, i32::try_from(pixels.width).ok()?, i32::try_from(pixels.height).ok()?);
    let shared = place.shared_with(&inside)?;
    if y < i64::from(shared.y1) || y >= i64::from(shared.y2) {
        return None;
    }
    let row = usize::try_from(y).ok()? * pixels.width as usize;
    let (left, right) = (usize::try_from(shared.x1).ok()?, usize::try_from(shared.x2).ok()?);
    pixels.bgrx.get_mut(4 * (row + left)..4 * (row + right))
}

#[cfg(test)]
#[path = "picture/picture_tests.rs"]
mod tests;
