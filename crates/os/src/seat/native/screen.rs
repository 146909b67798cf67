//! Displays and their pixels through `xcap`.
//!
//! It tells positions in the system's own units and takes pixels of the hardware; they are joined here and nowhere else.

use drawbridge_core::computer::{Point, Rect};
use enigo::{Enigo, Mouse as _, Settings};

use crate::seat::SeatFault;
use crate::seat::screen::{CursorImage, Monitor, Pixels, Screen};

/// The displays of this computer.
pub(in crate::seat) struct NativeScreen;

impl NativeScreen {
    /// Finds out that there is a display at all, and that the system lets it be seen.
    pub(in crate::seat) fn open() -> Result<Self, SeatFault> {
        let screen = Self;
        if screen.monitors()?.is_empty() {
            return Err(SeatFault::NoDisplay("the system names no display".to_owned()));
        }
        Ok(screen)
    }
}

fn told(fault: &xcap::XCapError) -> SeatFault {
    SeatFault::Other(fault.to_string())
}

fn facts(monitor: &xcap::Monitor) -> Result<Monitor, xcap::XCapError> {
    let scale = f64::from(monitor.scale_factor()?);
    let (width, height) = (monitor.width()?, monitor.height()?);
    let rect = Rect::at(Point::new(monitor.x()?, monitor.y()?), width, height);
    let name = monitor.name().unwrap_or_default();
    let primary = monitor.is_primary()?;
    // Wire units are points on macOS and hardware pixels on Windows, where `scale` only says how large things are drawn.
    let (physical_size, logical_size, scale) = if cfg!(target_os = "macos") {
        ((scaled(width, scale), scaled(height, scale)), (width, height), scale)
    } else {
        ((width, height), (scaled(width, 1.0 / scale), scaled(height, 1.0 / scale)), 1.0)
    };
    Ok(Monitor { name, primary, rect, physical_size, logical_size, scale })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of a display, rounded")]
fn scaled(size: u32, by: f64) -> u32 {
    (f64::from(size) * by).round() as u32
}

impl Screen for NativeScreen {
    fn monitors(&self) -> Result<Vec<Monitor>, SeatFault> {
        let monitors = xcap::Monitor::all().map_err(|fault| told(&fault))?;
        monitors.iter().map(|monitor| facts(monitor).map_err(|fault| told(&fault))).collect()
    }

    fn grab(&self, area: Rect) -> Result<Pixels, SeatFault> {
        for monitor in xcap::Monitor::all().map_err(|fault| told(&fault))? {
            let rect = facts(&monitor).map_err(|fault| told(&fault))?.rect;
            if rect.shared_with(&area) != Some(area) {
                continue;
            }
            let image = if rect == area {
                monitor.capture_image()
            } else {
                monitor.capture_region(
                    area.x1.abs_diff(rect.x1),
                    area.y1.abs_diff(rect.y1),
                    area.width(),
                    area.height(),
                )
            };
            let image = image.map_err(|fault| told(&fault))?;
            let (width, height) = (image.width(), image.height());
            let mut bgrx = image.into_raw();
            for pixel in bgrx.chunks_exact_mut(4) {
                pixel.swap(0, 2);
            }
            return Ok(Pixels { width, height, bgrx });
        }
        Err(SeatFault::Gone)
    }

    fn cursor(&self) -> Result<Option<CursorImage>, SeatFault> {
        Ok(None)
    }

    fn pointer(&self) -> Result<Point, SeatFault> {
        // Made anew each time: it is not needed often, and it belongs to one thread.
        let settings = Settings { open_prompt_to_get_permissions: false, ..Settings::default() };
        let enigo = Enigo::new(&settings).map_err(|fault| SeatFault::Other(fault.to_string()))?;
        let (x, y) = enigo.location().map_err(|fault| SeatFault::Other(fault.to_string()))?;
        Ok(Point::new(x, y))
    }

    fn asleep(&self) -> Result<bool, SeatFault> {
        // Neither system gives pixels of a display that sleeps: the capture itself fails.
        Ok(false)
    }
}
