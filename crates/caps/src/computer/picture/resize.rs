//! Changes the size of pixels: each new pixel is the mean of what it covers of the old ones.

use drawbridge_os::seat::screen::Pixels;

/// Brings pixels to a size. Pixels that have it already are returned as they are.
pub(super) fn to_size(pixels: Pixels, width: u32, height: u32) -> Pixels {
    if (pixels.width, pixels.height) == (width, height) || pixels.width == 0 || pixels.height == 0 {
        return pixels;
    }
    let (columns, rows) = (shares(pixels.width, width), shares(pixels.height, height));
    let line = 4 * pixels.width as usize;
    let mut bgrx = Vec::with_capacity(4 * width as usize * height as usize);
    let mut mean = vec![0.0_f32; line];
    for row in &rows {
        mean.fill(0.0);
        for (part, old) in row.weights.iter().zip(pixels.bgrx.chunks_exact(line).skip(row.first)) {
            for (sum, value) in mean.iter_mut().zip(old) {
                *sum += part * f32::from(*value);
            }
        }
        for column in &columns {
            let mut colour = [0.5_f32; 4];
            for (part, old) in column.weights.iter().zip(mean.chunks_exact(4).skip(column.first)) {
                for (sum, value) in colour.iter_mut().zip(old) {
                    *sum += part * value;
                }
            }
            bgrx.extend(colour.map(|value| value.clamp(0.0, 255.0) as u8));
        }
    }
    Pixels { width, height, bgrx }
}

/// Which old pixels a new one covers, and how much each of them counts. They make one together.
struct Share {
    first: usize,
    weights: Vec<f32>,
}

fn shares(old: u32, new: u32) -> Vec<Share> {
    let step = f64::from(old) / f64::from(new.max(1));
    (0..new)
        .map(|place| {
            let (from, to) = (f64::from(place) * step, (f64::from(place) + 1.0) * step);
            let first = (from.floor() as usize).min(old as usize - 1);
            let last = ((to - 1e-9).ceil() as usize).clamp(first + 1, old as usize);
            let weights = (first..last).map(|pixel| {
                let covered = (to.min(pixel as f64 + 1.0) - from.max(pixel as f64)).max(0.0);
                (covered / step) as f32
            });
            Share { first, weights: weights.collect() }
        })
        .collect()
}
