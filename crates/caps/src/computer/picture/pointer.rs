//! Draws the pointer: its hot spot where the system says the pointer is, at the scale of the picture.
//!
//! It is drawn over covered parts too: where the pointer is tells nothing of what lies beneath. A pointer on a display that the
//! picture does not show is not drawn, also when a part of its image would reach over.

use drawbridge_os::seat::screen::{CursorImage, Pixels};

use super::super::space::{Frame, scaled};
use super::resize::to_size;

/// Draws the pointer if it is on a display of the picture.
pub(in super::super) fn draw_pointer(pixels: &mut Pixels, frame: &Frame, cursor: CursorImage) {
    let Some(screen) = frame.screen_at(cursor.at) else { return };
    if cursor.width == 0 || cursor.height == 0 {
        return;
    }
    let ratio = frame.scale / screen.scale;
    let hot = |along: u32| (f64::from(along) * ratio).floor() as i64;
    let (x, y) = frame.pixel_of(cursor.at);
    let (left, top) = (x - hot(cursor.hot_spot.0), y - hot(cursor.hot_spot.1));
    let image = Pixels { width: cursor.width, height: cursor.height, bgrx: cursor.bgra };
    let image = to_size(image, scaled(cursor.width, ratio), scaled(cursor.height, ratio));
    for (y, line) in (top..).zip(image.bgrx.chunks_exact(4 * image.width as usize)) {
        for (x, colour) in (left..).zip(line.chunks_exact(4)) {
            if let Some(pixel) = pixel_at(pixels, x, y) {
                blend(pixel, colour);
            }
        }
    }
}

fn pixel_at(pixels: &mut Pixels, x: i64, y: i64) -> Option<&mut [u8]> {
    if x >= i64::from(pixels.width) || y >= i64::from(pixels.height) {
        return None;
    }
    let start = 4 * (usize::try_from(y).ok()? * pixels.width as usize + usize::try_from(x).ok()?);
    pixels.bgrx.get_mut(start..start + 4)
}

/// Lays a colour that is multiplied by its alpha already over a pixel.
fn blend(pixel: &mut [u8], colour: &[u8]) {
    let rest = 255 - u16::from(colour[3]);
    for (below, above) in pixel.iter_mut().zip(colour).take(3) {
        let seen = u16::from(*above) + (u16::from(*below) * rest + 127) / 255;
        *below = u8::try_from(seen).unwrap_or(u8::MAX);
    }
}
