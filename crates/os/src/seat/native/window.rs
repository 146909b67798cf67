//! Windows through `xcap`, which tells them front to back.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use drawbridge_core::computer::{Point, Rect};

use crate::seat::SeatFault;
use crate::seat::window::{Owner, SeatWindow, WindowHandle, Windows};

/// How long to wait before looking again whether windows have changed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The windows of this computer.
pub(in crate::seat) struct NativeWindows;

fn told(fault: &xcap::XCapError) -> SeatFault {
    SeatFault::Other(fault.to_string())
}

fn facts(window: &xcap::Window) -> Result<SeatWindow, xcap::XCapError> {
    let bounds = Rect::at(Point::new(window.x()?, window.y()?), window.width()?, window.height()?);
    let minimized = window.is_minimized()?;
    let fullscreen = window.current_monitor().is_ok_and(|monitor| {
        let whole = |monitor: &xcap::Monitor| {
            Ok::<_, xcap::XCapError>(Rect::at(
                Point::new(monitor.x()?, monitor.y()?),
                monitor.width()?,
                monitor.height()?,
            ))
        };
        whole(&monitor).is_ok_and(|whole| whole == bounds)
    });
    Ok(SeatWindow {
        handle: WindowHandle(u64::from(window.id()?)),
        owner: Owner {
            pid: window.pid().ok(),
            started: None,
            class: window.app_name()?,
            instance: String::new(),
            program: None,
        },
        title: window.title().unwrap_or_default(),
        bounds,
        focused: window.is_focused().unwrap_or(false),
        minimized,
        fullscreen,
        visible: !minimized && !bounds.is_empty(),
        auxiliary: false,
        // Corners are round and some windows are see-through: none is known to cover what lies behind it.
        covers: Vec::new(),
    })
}

impl Windows for NativeWindows {
    fn all(&self) -> Result<Vec<SeatWindow>, SeatFault> {
        let windows = xcap::Window::all().map_err(|fault| told(&fault))?;
        // One that closes meanwhile is left out.
        let mut found: Vec<SeatWindow> = windows.iter().filter_map(|window| facts(window).ok()).collect();
        found.reverse();
        found.sort_by_key(|window| !window.visible);
        Ok(found)
    }

    fn one(&self, handle: WindowHandle) -> Result<SeatWindow, SeatFault> {
        self.all()?.into_iter().find(|window| window.handle == handle).ok_or(SeatFault::Gone)
    }

    fn focused(&self) -> Result<Option<SeatWindow>, SeatFault> {
        Ok(self.all()?.into_iter().rev().find(|window| window.focused))
    }

    fn keyboard(&self) -> Result<Vec<SeatWindow>, SeatFault> {
        Ok(self.focused()?.into_iter().collect())
    }

    fn mark(&self) -> Result<u64, SeatFault> {
        let mut hasher = DefaultHasher::new();
        for window in self.all()? {
            (window.handle, window.bounds, window.focused, window.visible, window.owner).hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    fn wait(&self, limit: Duration) -> Result<(), SeatFault> {
        // Neither system tells changes through this library.
        std::thread::sleep(limit.min(LOOK_AGAIN));
        Ok(())
    }

    fn at(&self, point: Point) -> Result<Option<SeatWindow>, SeatFault> {
        Ok(self.all()?.into_iter().rev().find(|window| window.visible && window.bounds.holds(point)))
    }

    fn focus(&self, _handle: WindowHandle, _raise: bool) -> Result<(), SeatFault> {
        Err(SeatFault::Unsupported(
            "this version cannot give a window the keyboard on this system; click into it instead".to_owned(),
        ))
    }

    fn managed(&self) -> bool {
        false
    }
}
