//! Paints over what the agent may not see.

use drawbridge_core::computer::Rect;
use drawbridge_os::seat::screen::Pixels;

use super::super::guard::Layer;
use super::super::space::{Frame, without_all};
use super::row_part;

/// Stripes of two greys, so that nobody takes a covered window for an empty one.
const STRIPES: [[u8; 4]; 2] = [[0x70, 0x70, 0x70, 0], [0x88, 0x88, 0x88, 0]];
/// Pixels from one stripe to the next, each way.
const STRIPE: usize = 16;

/// Returns the parts of an area that are hidden, from its layers, the hindmost first: what is not shown and has nothing shown in
/// front of it. They may overlap.
pub(in super::super) fn hidden(area: Rect, layers: &[Layer]) -> Vec<Rect> {
    let mut hidden: Vec<Rect> = Vec::new();
    for layer in layers {
        let Some(seen) = layer.rect.shared_with(&area) else { continue };
        if layer.shown {
            hidden = hidden.into_iter().flat_map(|part| without_all(part, &[seen])).collect();
        } else {
            hidden.push(seen);
        }
    }
    hidden
}

/// Paints over parts of the desktop. Every pixel that shows any of a part is painted.
pub(in super::super) fn cover(pixels: &mut Pixels, frame: &Frame, parts: &[Rect]) {
    // A pixel of a picture that was made smaller can hold a little of its neighbours.
    let uneven = frame.tiles.iter().any(|tile| (tile.scale / frame.scale).fract() > 1e-6);
    for part in parts {
        let mut place = frame.pixels_around(*part);
        if uneven {
            place = Rect::new(
                place.x1.saturating_sub(1),
                place.y1.saturating_sub(1),
                place.x2.saturating_add(1),
                place.y2.saturating_add(1),
            );
        }
        let (left, top) = (place.x1.max(0), place.y1.max(0));
        let bottom = i64::from(place.y2).min(i64::from(pixels.height));
        for y in i64::from(top)..bottom {
            let Some(row) = row_part(pixels, y, place) else { continue };
            for (x, pixel) in (usize::try_from(left).unwrap_or_default()..).zip(row.chunks_exact_mut(4)) {
                let along = (x + usize::try_from(y).unwrap_or_default()) / STRIPE;
                pixel.copy_from_slice(&STRIPES[along % STRIPES.len()]);
            }
        }
    }
}
