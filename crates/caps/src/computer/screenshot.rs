//! SCREENSHOT_REQUEST, CURSOR_POSITION and DISPLAY_INFO (spec 10.3, 10.5).
//!
//! A picture of one single colour is not silently a success. When the system has switched the displays off, it is a fault that
//! the person can mend. When it is black although windows are drawn there, the system hides the screen, and that is a fault too.
//! Otherwise an empty desktop may well look so: then the picture is given, and says it.

use std::sync::{Mutex, PoisonError};

use drawbridge_core::computer::{ComputerOp, CursorPlace, Picture, Rect, ScreenArea, ScreenshotOp};
use drawbridge_core::{OpError, Outcome};
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::screen::{Pixels, Screen};

use super::picture::{composed, cover, draw_pointer, encoded, hidden, one_colour};
use super::seats::Seats;
use super::space::{Frame, Space};
use super::{Inner, Job, faults, guard, windows};
use crate::minute::Minute;

/// How often the screen is taken again because windows appeared or went meanwhile.
const TRIES: usize = 3;

/// The pictures of the last minute, over all chats.
#[derive(Debug, Default)]
pub(super) struct Shots(Mutex<Minute>);

impl Shots {
    /// Counts an attempt; refuses what is too much.
    fn admit(&self, now: std::time::Instant, max: u32) -> Result<(), OpError> {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.admit(now, max) {
            return Ok(());
        }
        Err(OpError::Overloaded { what: "screenshots a minute", reason: "screenshots_per_minute", max })
    }
}

pub(super) fn take(inner: &Inner, op: &ScreenshotOp, job: &Job) -> Result<Outcome, OpError> {
    let feature = ComputerOp::Screenshot(op.clone()).feature();
    guard::unlocked(inner, feature)?;
    let max = inner.settings.lock().unwrap_or_else(PoisonError::into_inner).screenshots_per_minute;
    inner.shots.admit(inner.clock.now(), max)?;
    let shot = Shot { inner, op, job, feature };
    let screen = inner.seats.screen().map_err(|fault| shot.told(fault))?;
    // A display can go away between the list and the picture. The second list is a new one.
    let (frame, taken) = match shot.taken(&*screen) {
        Err(Stopped::Gone) => shot.taken(&*screen),
        other => other,
    }
    .map_err(|stopped| shot.error(stopped))?;
    shot.picture(&*screen, &frame, taken).map(Outcome::Picture)
}

pub(super) fn cursor_position(seats: &Seats) -> Result<Outcome, OpError> {
    let told = |fault| faults::met(seats, "cursor.position", fault);
    let screen = seats.screen().map_err(told)?;
    let at = screen.pointer().map_err(told)?;
    let space = Space::of(screen.monitors().map_err(told)?);
    Ok(Outcome::Cursor(CursorPlace { at, monitor: space.display_at(at).unwrap_or(0) }))
}

pub(super) fn display_info(seats: &Seats) -> Result<Outcome, OpError> {
    let told = |fault| faults::met(seats, "display.info", fault);
    let screen = seats.screen().map_err(told)?;
    let space = Space::of(screen.monitors().map_err(told)?);
    Ok(Outcome::Displays(space.displays().to_vec()))
}

/// One picture on its way.
struct Shot<'a> {
    inner: &'a Inner,
    op: &'a ScreenshotOp,
    job: &'a Job,
    feature: &'static str,
}

/// Pixels of a frame, and what must not be seen of them.
struct Taken {
    pixels: Pixels,
    hidden: Vec<Rect>,
}

enum Stopped {
    /// A display went away meanwhile.
    Gone,
    Fault(OpError),
}

impl From<OpError> for Stopped {
    fn from(fault: OpError) -> Self {
        Self::Fault(fault)
    }
}

impl Shot<'_> {
    fn told(&self, fault: SeatFault) -> OpError {
        faults::met(&self.inner.seats, self.feature, fault)
    }

    fn stopped(&self, fault: SeatFault) -> Stopped {
        if fault == SeatFault::Gone { Stopped::Gone } else { Stopped::Fault(self.told(fault)) }
    }

    fn error(&self, stopped: Stopped) -> OpError {
        match stopped {
            Stopped::Gone => self.told(SeatFault::Gone),
            Stopped::Fault(fault) => fault,
        }
    }

    fn taken(&self, screen: &dyn Screen) -> Result<(Frame, Taken), Stopped> {
        let space = Space::of(screen.monitors().map_err(|fault| self.stopped(fault))?);
        let frame =
            space.frame(self.op.monitor, self.op.area.as_ref(), self.window()?, self.job.rules.full_resolution)?;
        let taken = self.with_its_layers(screen, &frame)?;
        Ok((frame, taken))
    }

    /// Where the window lies, if the picture is of one.
    fn window(&self) -> Result<Option<Rect>, OpError> {
        let Some(ScreenArea::Window(id)) = &self.op.area else { return Ok(None) };
        let window = windows::bounds_of(self.inner, id, self.job)?;
        if window.minimized || !window.visible {
            let why = "window_not_visible".to_owned();
            return Err(OpError::Unsupported { feature: "screenshot.window".to_owned(), why });
        }
        Ok(Some(window.bounds))
    }

    /// Takes the pixels between two looks at what lies there. What is hidden at either look is hidden in the picture, and whatever
    /// came, went or moved between them makes it be taken again.
    fn with_its_layers(&self, screen: &dyn Screen, frame: &Frame) -> Result<Taken, Stopped> {
        let windows = self.inner.seats.windows().map_err(|fault| self.told(fault))?;
        let mark = || windows.mark().map_err(|fault| self.told(fault));
        let look = || guard::layers(self.inner, self.job, frame.area);
        let mut tries = 1;
        loop {
            self.job.go_on()?;
            let (since, before) = (mark()?, look()?);
            let grabbed: Result<Vec<Pixels>, SeatFault> =
                frame.tiles.iter().map(|tile| screen.grab(tile.rect)).collect();
            let grabbed = grabbed.map_err(|fault| self.stopped(fault))?;
            let after = look()?;
            if tries == TRIES || (after == before && mark()? == since) {
                let mut parts = hidden(frame.area, &before);
                if after != before {
                    parts.extend(hidden(frame.area, &after));
                }
                return Ok(Taken { pixels: composed(frame, grabbed), hidden: parts });
            }
            tries += 1;
        }
    }

    fn picture(&self, screen: &dyn Screen, frame: &Frame, taken: Taken) -> Result<Picture, OpError> {
        let Taken { mut pixels, hidden } = taken;
        let colour = one_colour(&pixels);
        if let Some(colour) = colour {
            self.doubted(screen, frame, colour)?;
        }
        cover(&mut pixels, frame, &hidden);
        if self.op.include_cursor
            && let Some(cursor) = screen.cursor().map_err(|fault| self.told(fault))?
        {
            draw_pointer(&mut pixels, frame, cursor);
        }
        self.job.go_on()?;
        let bytes = encoded(&pixels, self.op.format, self.op.quality, self.job.max_bytes)?;
        Ok(Picture {
            bytes,
            format: self.op.format,
            width: pixels.width,
            height: pixels.height,
            monitor: frame.monitor,
            region: match self.op.area {
                Some(ScreenArea::Region(region)) => Some(region),
                Some(ScreenArea::Window(_)) | None => None,
            },
            display_scale: frame.scale,
            logical_size: frame.logical_size,
            origin: frame.area.origin(),
            one_colour: colour.is_some(),
        })
    }

    /// Refuses a picture of one colour that cannot be what is on the screen.
    fn doubted(&self, screen: &dyn Screen, frame: &Frame, colour: [u8; 3]) -> Result<(), OpError> {
        if screen.asleep().map_err(|fault| self.told(fault))? {
            return Err(OpError::PermissionPending {
                permission: "display_awake",
                platform: self.inner.seats.seat().kind.platform(),
                message: "the displays of this computer are asleep, so there is nothing to see".to_owned(),
                hint: "moving the pointer or pressing a key wakes them; then take the picture again".to_owned(),
                retry_after: None,
            });
        }
        let drawn = || -> Result<bool, SeatFault> {
            let windows = self.inner.seats.windows()?.all()?;
            Ok(windows
                .iter()
                .any(|window| window.visible && !window.auxiliary && window.bounds.shared_with(&frame.area).is_some()))
        };
        // Only a whole display: a part of it may well be black.
        if frame.whole && colour == [0, 0, 0] && drawn().map_err(|fault| self.told(fault))? {
            return Err(OpError::Unsupported {
                feature: "screenshot.capture".to_owned(),
                why: "the system gives only black although windows are open: another session may be in front, or the \
                      graphics driver hides the screen; bring this session to the front and try again"
                    .to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "screenshot_tests.rs"]
mod tests;
