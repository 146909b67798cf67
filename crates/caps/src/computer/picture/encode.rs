//! Writes pictures as JPEG or PNG, no larger than the limit.

use drawbridge_core::OpError;
use drawbridge_core::computer::PictureFormat;
use drawbridge_os::seat::screen::Pixels;
use jpeg_encoder::{ColorType, Encoder};

/// A JPEG that is too large is written again down to this quality, and not further.
const LOWEST_QUALITY: u8 = 40;

/// Writes a picture. A JPEG that is larger than the limit is tried again with less quality.
pub(in super::super) fn encoded(
    pixels: &Pixels,
    format: PictureFormat,
    quality: u8,
    max_bytes: u64,
) -> Result<Vec<u8>, OpError> {
    let mut smallest = u64::MAX;
    for quality in qualities(format, quality) {
        let bytes = match format {
            PictureFormat::Jpeg => jpeg(pixels, quality)?,
            PictureFormat::Png => png(pixels)?,
        };
        smallest = bytes.len() as u64;
        if smallest <= max_bytes {
            return Ok(bytes);
        }
    }
    Err(OpError::TooLarge { what: "the picture", max_bytes, attempted_bytes: smallest })
}

/// The qualities to try in turn.
fn qualities(format: PictureFormat, quality: u8) -> Vec<u8> {
    let quality = quality.clamp(1, 100);
    match format {
        PictureFormat::Jpeg if quality > LOWEST_QUALITY => {
            let mut qualities = vec![quality, LOWEST_QUALITY.midpoint(quality), LOWEST_QUALITY];
            qualities.dedup();
            qualities
        }
        PictureFormat::Jpeg | PictureFormat::Png => vec![quality],
    }
}

fn jpeg(pixels: &Pixels, quality: u8) -> Result<Vec<u8>, OpError> {
    let side = |length: u32| {
        u16::try_from(length).map_err(|_| OpError::Unsupported {
            feature: "screenshot.capture".to_owned(),
            why: format!("a JPEG has at most {} pixels a side; ask for one display or for png", u16::MAX),
        })
    };
    let mut bytes = Vec::with_capacity(pixels.bgrx.len() / 16);
    Encoder::new(&mut bytes, quality)
        .encode(&pixels.bgrx, side(pixels.width)?, side(pixels.height)?, ColorType::Bgra)
        .map_err(|fault| unwritten(&fault))?;
    Ok(bytes)
}

fn png(pixels: &Pixels) -> Result<Vec<u8>, OpError> {
    let mut rgb = Vec::with_capacity(pixels.bgrx.len() / 4 * 3);
    for pixel in pixels.bgrx.chunks_exact(4) {
        rgb.extend_from_slice(&[pixel[2], pixel[1], pixel[0]]);
    }
    let mut bytes = Vec::with_capacity(pixels.bgrx.len() / 16);
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(|fault| unwritten(&fault))?;
    writer.write_image_data(&rgb).map_err(|fault| unwritten(&fault))?;
    writer.finish().map_err(|fault| unwritten(&fault))?;
    Ok(bytes)
}

fn unwritten(fault: &dyn std::fmt::Display) -> OpError {
    OpError::Internal(format!("the picture could not be written: {fault}"))
}
