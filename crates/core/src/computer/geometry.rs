//! Points and rectangles in wire units (spec 10.2).

/// A point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Across, to the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

impl Point {
    /// Makes a point.
    #[must_use]
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }
}

/// A half-open rectangle: it holds its left and top edge and not its right and bottom one. Empty when `x2 <= x1` or `y2 <= y1`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Left edge.
    pub x1: i32,
    /// Top edge.
    pub y1: i32,
    /// Behind the right edge.
    pub x2: i32,
    /// Below the bottom edge.
    pub y2: i32,
}

impl Rect {
    /// Makes a rectangle from its edges.
    #[must_use]
    pub const fn new(x1: i32, y1: i32, x2: i32, y2: i32) -> Self {
        Self { x1, y1, x2, y2 }
    }

    /// Makes a rectangle from its corner and size. A size that would leave the number range is cut.
    #[must_use]
    pub const fn at(corner: Point, width: u32, height: u32) -> Self {
        Self {
            x1: corner.x,
            y1: corner.y,
            x2: corner.x.saturating_add_unsigned(width),
            y2: corner.y.saturating_add_unsigned(height),
        }
    }

    /// Returns the top left corner.
    #[must_use]
    pub const fn origin(&self) -> Point {
        Point { x: self.x1, y: self.y1 }
    }

    /// Returns the width; 0 when empty.
    #[must_use]
    pub const fn width(&self) -> u32 {
        if self.x2 > self.x1 { self.x2.abs_diff(self.x1) } else { 0 }
    }

    /// Returns the height; 0 when empty.
    #[must_use]
    pub const fn height(&self) -> u32 {
        if self.y2 > self.y1 { self.y2.abs_diff(self.y1) } else { 0 }
    }

    /// Tells whether nothing lies in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.width() == 0 || self.height() == 0
    }

    /// Tells whether a point lies in it.
    #[must_use]
    pub const fn holds(&self, point: Point) -> bool {
        point.x >= self.x1 && point.x < self.x2 && point.y >= self.y1 && point.y < self.y2
    }

    /// Returns what two rectangles share; none when that is empty.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Option<Self> {
        let shared = Self {
            x1: self.x1.max(other.x1),
            y1: self.y1.max(other.y1),
            x2: self.x2.min(other.x2),
            y2: self.y2.min(other.y2),
        };
        (!shared.is_empty()).then_some(shared)
    }

    /// Returns the smallest rectangle around both.
    #[must_use]
    pub fn around(&self, other: &Self) -> Self {
        Self {
            x1: self.x1.min(other.x1),
            y1: self.y1.min(other.y1),
            x2: self.x2.max(other.x2),
            y2: self.y2.max(other.y2),
        }
    }

    /// Returns the edges in the order of the wire.
    #[must_use]
    pub const fn edges(&self) -> [i32; 4] {
        [self.x1, self.y1, self.x2, self.y2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_a_rectangle_on_two_sides_alone() {
        let rect = Rect::new(-10, 0, 0, 5);

        assert!(rect.holds(Point::new(-10, 0)) && rect.holds(Point::new(-1, 4)));
        assert!(!rect.holds(Point::new(0, 0)) && !rect.holds(Point::new(-10, 5)));
        assert_eq!((rect.width(), rect.height()), (10, 5));
        assert!(Rect::new(5, 5, 5, 9).is_empty() && Rect::new(9, 0, 5, 9).is_empty());
    }

    #[test]
    fn rectangles_that_only_touch_share_nothing() {
        let left = Rect::new(0, 0, 10, 10);

        assert_eq!(left.shared_with(&Rect::new(10, 0, 20, 10)), None);
        assert_eq!(left.shared_with(&Rect::new(5, -5, 20, 5)), Some(Rect::new(5, 0, 10, 5)));
        assert_eq!(left.around(&Rect::new(10, -5, 20, 10)), Rect::new(0, -5, 20, 10));
        assert_eq!(Rect::at(Point::new(i32::MAX - 1, 0), 9, 9).width(), 1);
    }
}
