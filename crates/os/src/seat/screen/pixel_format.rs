//! How an X server lays out the pixels of its root, and the same pixels as blue, green, red and one byte that means nothing.

use x11rb::protocol::xproto::{ImageOrder, Setup, VisualClass, Visualtype};

/// The layout of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PixelFormat {
    /// Bytes of one pixel: 2, 3 or 4.
    bytes: usize,
    /// Rows begin at multiples of this many bytes.
    row_unit: usize,
    /// The highest byte comes first.
    big_endian: bool,
    red: Channel,
    green: Channel,
    blue: Channel,
}

/// The bits of one colour within a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Channel {
    shift: u32,
    /// The highest value.
    most: u32,
}

impl Channel {
    const fn of(mask: u32) -> Self {
        let shift = if mask == 0 { 0 } else { mask.trailing_zeros() };
        Self { shift, most: mask >> shift }
    }

    /// The value of this colour, 0 to 255.
    fn of_pixel(self, pixel: u32) -> u8 {
        match (pixel >> self.shift) & self.most {
            value if self.most == 255 => value.to_le_bytes()[0],
            _ if self.most == 0 => 0,
            value => {
                let scaled = (u64::from(value) * 255 + u64::from(self.most / 2)) / u64::from(self.most);
                scaled.to_le_bytes()[0]
            }
        }
    }
}

impl PixelFormat {
    /// Returns the layout for a root of this depth and visual; none when its pixels are no colours by themselves.
    pub(super) fn of_root(setup: &Setup, depth: u8, visual: &Visualtype) -> Option<Self> {
        let format = setup.pixmap_formats.iter().find(|format| format.depth == depth)?;
        let colours = visual.class == VisualClass::TRUE_COLOR || visual.class == VisualClass::DIRECT_COLOR;
        let bytes = usize::from(format.bits_per_pixel / 8);
        let row_unit = usize::from(format.scanline_pad / 8);
        let usable = colours && (2..=4).contains(&bytes) && format.bits_per_pixel.is_multiple_of(8) && row_unit > 0;
        usable.then_some(Self {
            bytes,
            row_unit,
            big_endian: setup.image_byte_order == ImageOrder::MSB_FIRST,
            red: Channel::of(visual.red_mask),
            green: Channel::of(visual.green_mask),
            blue: Channel::of(visual.blue_mask),
        })
    }

    /// Returns the bytes of one row.
    pub(super) fn row(&self, width: u32) -> usize {
        (width as usize * self.bytes).next_multiple_of(self.row_unit)
    }

    /// Tells whether these pixels need no conversion.
    pub(super) fn is_bgrx(&self) -> bool {
        let plain = (Channel::of(0xff_0000), Channel::of(0xff00), Channel::of(0xff));
        self.bytes == 4 && !self.big_endian && (self.red, self.green, self.blue) == plain
    }

    /// Converts rows of pixels. Returns nothing when there are fewer bytes than that.
    pub(super) fn bgrx(&self, raw: Vec<u8>, width: u32, height: u32) -> Option<Vec<u8>> {
        let (row, wide, high) = (self.row(width), width as usize, height as usize);
        if raw.len() < row * high {
            return None;
        }
        if self.is_bgrx() && row == wide * 4 {
            let mut raw = raw;
            raw.truncate(row * high);
            return Some(raw);
        }
        let mut converted = Vec::with_capacity(wide * high * 4);
        for line in raw.chunks_exact(row.max(1)).take(high) {
            for pixel in line.chunks_exact(self.bytes).take(wide) {
                let pixel = self.number(pixel);
                let colours = [self.blue, self.green, self.red].map(|channel| channel.of_pixel(pixel));
                converted.extend_from_slice(&colours);
                converted.push(0);
            }
        }
        Some(converted)
    }

    fn number(&self, pixel: &[u8]) -> u32 {
        let joined = |number: u32, byte: &u8| (number << 8) | u32::from(*byte);
        if self.big_endian { pixel.iter().fold(0, joined) } else { pixel.iter().rev().fold(0, joined) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(bytes: usize, big_endian: bool, [red, green, blue]: [u32; 3]) -> PixelFormat {
        let [red, green, blue] = [red, green, blue].map(Channel::of);
        PixelFormat { bytes, row_unit: 4, big_endian, red, green, blue }
    }

    const PLAIN: [u32; 3] = [0xff_0000, 0xff00, 0xff];
    const DEEP: [u32; 3] = [0x3ff0_0000, 0xf_fc00, 0x3ff];
    const SMALL: [u32; 3] = [0xf800, 0x7e0, 0x1f];

    #[test]
    fn plain_pixels_are_taken_as_they_are() {
        let raw = vec![1, 2, 3, 9, 4, 5, 6, 9];

        assert_eq!(format(4, false, PLAIN).bgrx(raw.clone(), 2, 1), Some(raw));
    }

    #[test]
    fn the_other_byte_order_and_the_other_colour_order_are_turned() {
        assert_eq!(format(4, true, PLAIN).bgrx(vec![9, 3, 2, 1], 1, 1), Some(vec![1, 2, 3, 0]));
        assert_eq!(format(4, false, [0xff, 0xff00, 0xff_0000]).bgrx(vec![3, 2, 1, 9], 1, 1), Some(vec![1, 2, 3, 0]));
    }

    #[test]
    fn three_bytes_a_pixel_leave_the_end_of_each_row_out() {
        let raw = vec![1, 2, 3, 0xee, 4, 5, 6, 0xee];

        assert_eq!(format(3, false, PLAIN).bgrx(raw, 1, 2), Some(vec![1, 2, 3, 0, 4, 5, 6, 0]));
    }

    #[test]
    fn thirty_and_sixteen_bits_keep_black_white_and_the_middle() {
        let deep = |red: u32, green: u32, blue: u32| ((red << 20) | (green << 10) | blue).to_le_bytes().to_vec();
        let small = |red: u16, green: u16, blue: u16| {
            let mut row = ((red << 11) | (green << 5) | blue).to_be_bytes().to_vec();
            row.extend([0xee, 0xee]);
            row
        };

        assert_eq!(format(4, false, DEEP).bgrx(deep(1023, 0, 512), 1, 1), Some(vec![128, 0, 255, 0]));
        assert_eq!(format(2, true, SMALL).bgrx(small(31, 0, 16), 1, 1), Some(vec![132, 0, 255, 0]));
        assert_eq!(format(2, true, SMALL).bgrx(small(0, 63, 31), 1, 1), Some(vec![255, 255, 0, 0]));
    }

    #[test]
    fn fewer_bytes_than_promised_are_no_picture() {
        assert_eq!(format(4, false, PLAIN).bgrx(vec![0; 15], 2, 2), None);
    }
}
