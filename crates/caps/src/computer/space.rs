//! The one coordinate space (spec 10.2), and the one place that converts.
//!
//! All that is asked and answered lies in wire units: the units of the virtual desktop as the system counts them. A display has
//! `scale` hardware pixels per unit each way. A picture has `display_scale` pixels per unit, so that what lies at pixel `p` of a
//! picture is at `origin + p / display_scale` on the desktop. Pictures come at one pixel per unit unless the person wants all
//! pixels; then what is read off a picture can be clicked as it is.

use drawbridge_core::computer::{DisplayFacts, Point, Rect, ScreenArea};
use drawbridge_core::{OpError, PayloadFault};
use drawbridge_os::seat::screen::Monitor;

/// Stands for all displays in one picture.
pub(super) const ALL_DISPLAYS: i32 = -1;

/// The displays at one moment: the primary one first, the others by origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Space {
    displays: Vec<DisplayFacts>,
}

/// A display, or a part of one that belongs to a picture. Parts in one picture never overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tile {
    /// Where, in wire units.
    pub(super) rect: Rect,
    /// Hardware pixels per unit.
    pub(super) scale: f64,
}

/// What a picture shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    /// Index of the display; −1 for all.
    pub(super) monitor: i32,
    /// What is seen, in wire units. What no tile covers is black.
    pub(super) area: Rect,
    /// The parts, each on one display.
    pub(super) tiles: Vec<Tile>,
    /// Picture pixels per wire unit.
    pub(super) scale: f64,
    /// Size of the display, or of all of them, in its own units.
    pub(super) logical_size: (u32, u32),
    /// The displays that it shows a part of.
    pub(super) screens: Vec<Tile>,
    /// It shows everything that is on these displays.
    pub(super) whole: bool,
}

impl Frame {
    /// Returns the size of the picture in its own pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        (scaled(self.area.width(), self.scale), scaled(self.area.height(), self.scale))
    }

    /// Returns the display that holds a point, if the picture shows a part of it.
    pub(super) fn screen_at(&self, point: Point) -> Option<&Tile> {
        self.screens.iter().find(|screen| screen.rect.holds(point))
    }

    /// Lets the picture have all pixels of its displays. It has one scale, so displays that differ meet at the size of the wire; so
    /// do parts of a display whose units are no whole number of pixels, since pixels would lie across their edges.
    fn with_all_pixels(mut self) -> Self {
        let first = self.tiles.first().map_or(1.0, |tile| tile.scale);
        let agree = self.tiles.iter().all(|tile| same(tile.scale, first));
        let on_edges = same(first, first.round()) || (self.whole && self.tiles.len() == 1);
        if first > 1.0 && agree && on_edges {
            self.scale = first;
        }
        self
    }

    /// Returns the pixels of the picture that show any part of a rectangle of the desktop, as a rectangle that may reach beyond
    /// the picture.
    pub(super) fn pixels_around(&self, rect: Rect) -> Rect {
        let (left, top) = (i64::from(self.area.x1), i64::from(self.area.y1));
        let down = |edge: i32, from: i64| to_i32(((i64::from(edge) - from) as f64 * self.scale).floor());
        let up = |edge: i32, from: i64| to_i32(((i64::from(edge) - from) as f64 * self.scale).ceil());
        Rect::new(down(rect.x1, left), down(rect.y1, top), up(rect.x2, left), up(rect.y2, top))
    }

    /// Returns the pixel of the picture that shows the top left of a unit of the desktop, wherever that lies.
    pub(super) fn pixel_of(&self, point: Point) -> (i64, i64) {
        let along = |at: i32, from: i32| ((i64::from(at) - i64::from(from)) as f64 * self.scale).floor() as i64;
        (along(point.x, self.area.x1), along(point.y, self.area.y1))
    }
}

impl Space {
    /// Orders the displays of a system.
    pub(super) fn of(monitors: Vec<Monitor>) -> Self {
        let origin = |monitor: &Monitor| (monitor.rect.x1, monitor.rect.y1);
        let mut monitors = monitors;
        monitors.sort_by_key(origin);
        let flagged = monitors.iter().position(|monitor| monitor.primary);
        // A system that names none usually begins to count at it.
        let at_zero = || monitors.iter().position(|monitor| monitor.rect.holds(Point::new(0, 0)));
        if let Some(primary) = flagged.or_else(at_zero) {
            let first = monitors.remove(primary);
            monitors.insert(0, first);
        }
        let facts = |(index, monitor): (i32, Monitor)| DisplayFacts {
            index,
            primary: index == 0,
            rect: monitor.rect,
            physical_size: monitor.physical_size,
            logical_size: monitor.logical_size,
            scale: if monitor.scale.is_finite() && monitor.scale > 0.0 { monitor.scale } else { 1.0 },
        };
        Self { displays: (0..).zip(monitors).map(facts).collect() }
    }

    /// Returns the displays in the order of their index.
    pub(super) fn displays(&self) -> &[DisplayFacts] {
        &self.displays
    }

    /// Refuses a point that lies on no display.
    pub(super) fn check(&self, point: Point) -> Result<(), OpError> {
        if self.display_at(point).is_some() {
            return Ok(());
        }
        Err(OpError::OutOfBounds { requested: point, displays: self.displays.clone() })
    }

    /// Refuses the first point that lies on no display.
    pub(super) fn check_all(&self, points: &[Point]) -> Result<(), OpError> {
        points.iter().try_for_each(|point| self.check(*point))
    }

    /// Returns the index of the display that holds a point.
    pub(super) fn display_at(&self, point: Point) -> Option<i32> {
        self.displays.iter().find(|display| display.rect.holds(point)).map(|display| display.index)
    }

    /// Returns the index of the display that shows most of a rectangle; none when no part of it is on a display.
    pub(super) fn display_of(&self, rect: Rect) -> Option<i32> {
        self.mostly_on(rect).map(|display| display.index)
    }

    /// Says what a picture shows. `window` is where the window lies, if a window is asked for. Scaled displays keep all their
    /// pixels when `full_resolution` is wanted, where that can be.
    pub(super) fn frame(
        &self,
        monitor: i32,
        area: Option<&ScreenArea>,
        window: Option<Rect>,
        full_resolution: bool,
    ) -> Result<Frame, OpError> {
        if self.displays.is_empty() {
            return Err(unsupported("screenshot.capture", "no display is switched on"));
        }
        let frame = match area {
            None => self.of_monitor(monitor)?,
            Some(ScreenArea::Region(region)) => self.of_region(monitor, *region)?,
            Some(ScreenArea::Window(_)) => self.of_window(window.unwrap_or_default())?,
        };
        Ok(if full_resolution { frame.with_all_pixels() } else { frame })
    }

    fn of_monitor(&self, monitor: i32) -> Result<Frame, OpError> {
        let chosen = self.chosen(monitor)?;
        let area = around(chosen.iter().map(|display| display.rect)).unwrap_or_default();
        self.cut(monitor, &chosen, area, true).ok_or_else(|| unsupported("screenshot.capture", "the display is empty"))
    }

    fn of_region(&self, monitor: i32, region: Rect) -> Result<Frame, OpError> {
        if region.is_empty() {
            let why = "must have its right edge right of its left one and its bottom below its top".to_owned();
            return Err(OpError::InvalidPayload(PayloadFault { field: "region".to_owned(), why }));
        }
        let mut monitor = monitor;
        let mut chosen = self.chosen(monitor)?;
        // The peer says 0 when it says nothing.
        if monitor == 0
            && !chosen.iter().any(|display| display.rect.shared_with(&region).is_some())
            && let Some(display) = self.mostly_on(region)
        {
            (monitor, chosen) = (display.index, vec![display]);
        }
        let why = || unsupported("screenshot.region", &format!("the region lies on no part of {}", named(monitor)));
        self.cut(monitor, &chosen, region, false).ok_or_else(why)
    }

    fn of_window(&self, window: Rect) -> Result<Frame, OpError> {
        let why = || unsupported("screenshot.window", "window_not_visible");
        let display = self.mostly_on(window).ok_or_else(why)?;
        let all: Vec<&DisplayFacts> = self.displays.iter().collect();
        self.cut(display.index, &all, window, false).ok_or_else(why)
    }

    /// Cuts an area into tiles of these displays. The frame is as small as it can be.
    fn cut(&self, monitor: i32, displays: &[&DisplayFacts], area: Rect, whole: bool) -> Option<Frame> {
        let mut tiles: Vec<Tile> = Vec::new();
        let mut screens = Vec::new();
        for display in displays {
            let Some(seen) = display.rect.shared_with(&area) else { continue };
            screens.push(Tile { rect: display.rect, scale: display.scale });
            // Displays that show the same are taken once.
            let taken: Vec<Rect> = tiles.iter().map(|tile| tile.rect).collect();
            tiles.extend(without_all(seen, &taken).into_iter().map(|rect| Tile { rect, scale: display.scale }));
        }
        let area = around(tiles.iter().map(|tile| tile.rect))?;
        let logical_size = match self.displays.iter().find(|display| display.index == monitor) {
            Some(display) => display.logical_size,
            None => around(displays.iter().map(|display| display.rect)).map(|all| (all.width(), all.height()))?,
        };
        Some(Frame { monitor, area, tiles, scale: 1.0, logical_size, screens, whole })
    }

    fn chosen(&self, monitor: i32) -> Result<Vec<&DisplayFacts>, OpError> {
        if monitor == ALL_DISPLAYS {
            return Ok(self.displays.iter().collect());
        }
        let found: Vec<&DisplayFacts> = self.displays.iter().filter(|display| display.index == monitor).collect();
        if found.is_empty() {
            let monitors = self.displays.iter().map(|display| display.index).collect();
            return Err(OpError::NoSuchMonitor { asked: monitor, monitors });
        }
        Ok(found)
    }

    fn mostly_on(&self, rect: Rect) -> Option<&DisplayFacts> {
        let shown = |display: &&DisplayFacts| display.rect.shared_with(&rect).map_or(0, |shared| surface(&shared));
        // Of equal ones the last would win.
        self.displays.iter().rev().filter(|display| shown(display) > 0).max_by_key(shown)
    }
}

/// Returns what is left of a rectangle without others, as rectangles that do not overlap.
pub(super) fn without_all(rect: Rect, others: &[Rect]) -> Vec<Rect> {
    let mut left = vec![rect];
    for other in others {
        left = left.into_iter().flat_map(|piece| without(piece, *other)).collect();
    }
    left
}

fn without(rect: Rect, other: Rect) -> Vec<Rect> {
    let Some(hole) = rect.shared_with(&other) else { return vec![rect] };
    let above = Rect::new(rect.x1, rect.y1, rect.x2, hole.y1);
    let below = Rect::new(rect.x1, hole.y2, rect.x2, rect.y2);
    let left = Rect::new(rect.x1, hole.y1, hole.x1, hole.y2);
    let right = Rect::new(hole.x2, hole.y1, rect.x2, hole.y2);
    [above, left, right, below].into_iter().filter(|piece| !piece.is_empty()).collect()
}

/// Returns how many pixels a length takes at a scale, at least one.
pub(super) fn scaled(length: u32, scale: f64) -> u32 {
    let pixels = (f64::from(length) * scale).round();
    if pixels < 1.0 { 1 } else { pixels.min(f64::from(u32::MAX)) as u32 }
}

fn to_i32(value: f64) -> i32 {
    value.clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

fn surface(rect: &Rect) -> u64 {
    u64::from(rect.width()) * u64::from(rect.height())
}

fn around(rects: impl Iterator<Item = Rect>) -> Option<Rect> {
    rects.reduce(|all, rect| all.around(&rect))
}

fn named(monitor: i32) -> String {
    if monitor == ALL_DISPLAYS { "any display".to_owned() } else { format!("display {monitor}") }
}

fn unsupported(feature: &str, why: &str) -> OpError {
    OpError::Unsupported { feature: feature.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
