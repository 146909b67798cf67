//! Displays of an X server: monitors by RandR, pixels through shared memory, the pointer's image by XFixes.
//!
//! Wire units are the server's pixels, so nothing is scaled here. Each question is asked afresh: monitors come and go. Where an
//! extension is missing, the whole root is one display, pixels come through the connection, and no pointer is drawn.

use std::sync::{Mutex, PoisonError};

use drawbridge_core::computer::{Point, Rect};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::errors::ReplyError;
use x11rb::protocol::ErrorKind;
use x11rb::protocol::dpms::{self, ConnectionExt as _, DPMSMode};
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::screensaver::{self, ConnectionExt as _};
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, Window};

use super::pixel_format::PixelFormat;
use super::shared::{Area, Shared};
use super::{CursorImage, Monitor, Pixels, Screen};
use crate::seat::x11::{Connection, PATIENCE, connect};
use crate::seat::{Seat, SeatFault};

/// The state of a screen saver that the server shows.
const SAVER_ON: u8 = 1;
/// A screen saver that another program draws.
const SAVER_EXTERNAL: screensaver::Kind = screensaver::Kind::EXTERNAL;

pub(super) struct X11Screen {
    connection: Connection,
    root: Window,
    format: PixelFormat,
    /// RandR 1.5 or later is there.
    monitors: bool,
    /// XFixes is there.
    cursors: bool,
    /// None where the server cannot share memory with this program.
    shared: Option<Mutex<Option<Shared>>>,
}

impl X11Screen {
    pub(super) fn open(seat: &Seat) -> Result<Self, SeatFault> {
        let (connection, number) = connect(seat, Some(PATIENCE))?;
        let setup = connection.setup();
        let screen = setup.roots.get(number).ok_or_else(|| SeatFault::NoDisplay("it has no such screen".to_owned()))?;
        let root = screen.root;
        let visuals = screen.allowed_depths.iter().flat_map(|depth| &depth.visuals);
        let format = visuals
            .filter(|visual| visual.visual_id == screen.root_visual)
            .find_map(|visual| PixelFormat::of_root(setup, screen.root_depth, visual))
            .ok_or_else(|| SeatFault::Unsupported("this display shows its colours by a table".to_owned()))?;
        let monitors = has_monitors(&connection)?;
        let cursors = has_cursors(&connection)?;
        let shared = can_share(&connection)?.then(Mutex::default);
        Ok(Self { connection, root, format, monitors, cursors, shared })
    }

    fn desktop(&self) -> Result<Rect, SeatFault> {
        let root = self.connection.get_geometry(self.root)?.reply()?;
        Ok(Rect::at(Point::new(0, 0), root.width.into(), root.height.into()))
    }

    fn whole(desktop: Rect) -> Monitor {
        monitor("the whole screen".to_owned(), true, desktop)
    }

    fn through_memory(&self, shared: &Mutex<Option<Shared>>, area: Area, bytes: usize) -> Result<Vec<u8>, SeatFault> {
        let mut place = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_none_or(|shared| !shared.holds(bytes)) {
            if let Some(smaller) = place.take() {
                smaller.detach(&self.connection);
            }
            *place = Some(Shared::attach(&self.connection, bytes)?);
        }
        let shared = place.as_mut().ok_or(SeatFault::Gone)?;
        shared.take(&self.connection, self.root, area, bytes).map_err(gone_if_outside)
    }

    fn through_the_connection(&self, area: Area) -> Result<Vec<u8>, SeatFault> {
        let Area { x, y, width, height } = area;
        let request = self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, x, y, width, height, u32::MAX)?;
        Ok(request.reply().map_err(gone_if_outside)?.data)
    }

    fn raw(&self, area: Area, bytes: usize) -> Result<Vec<u8>, SeatFault> {
        let Some(shared) = &self.shared else { return self.through_the_connection(area) };
        match self.through_memory(shared, area, bytes) {
            // The server takes no memory from this program: it runs elsewhere, or as somebody else.
            Err(SeatFault::Other(why)) => {
                tracing::debug!(why, "pictures come through the connection");
                self.through_the_connection(area)
            }
            other => other,
        }
    }
}

impl Screen for X11Screen {
    fn monitors(&self) -> Result<Vec<Monitor>, SeatFault> {
        let desktop = self.connection.get_geometry(self.root)?;
        let listed = if self.monitors { Some(self.connection.randr_get_monitors(self.root, true)?) } else { None };
        let desktop = desktop.reply()?;
        let desktop = Rect::at(Point::new(0, 0), desktop.width.into(), desktop.height.into());
        let Some(listed) = listed else { return Ok(vec![Self::whole(desktop)]) };
        let listed = listed.reply()?.monitors;
        let mut names = Vec::with_capacity(listed.len());
        for info in &listed {
            names.push(self.connection.get_atom_name(info.name)?);
        }
        let mut monitors = Vec::with_capacity(listed.len());
        for (info, name) in listed.into_iter().zip(names) {
            let name = String::from_utf8_lossy(&name.reply()?.name).into_owned();
            let rect = Rect::at(Point::new(info.x.into(), info.y.into()), info.width.into(), info.height.into());
            // A monitor can be larger than the desktop, where nothing is drawn.
            if let Some(rect) = rect.shared_with(&desktop) {
                monitors.push(monitor(name, info.primary, rect));
            }
        }
        if monitors.is_empty() {
            monitors.push(Self::whole(desktop));
        }
        Ok(monitors)
    }

    fn grab(&self, area: Rect) -> Result<Pixels, SeatFault> {
        let inside = self.desktop()?.shared_with(&area) == Some(area);
        let wanted = Area::of(area).filter(|_| inside).ok_or(SeatFault::Gone)?;
        let (width, height) = (area.width(), area.height());
        let bytes = self.format.row(width).saturating_mul(height as usize);
        let raw = self.raw(wanted, bytes)?;
        let bgrx = self.format.bgrx(raw, width, height);
        let bgrx =
            bgrx.ok_or_else(|| SeatFault::Other("the display server gave fewer pixels than asked".to_owned()))?;
        Ok(Pixels { width, height, bgrx })
    }

    fn cursor(&self) -> Result<Option<CursorImage>, SeatFault> {
        if !self.cursors {
            return Ok(None);
        }
        let (at, image) = (self.connection.query_pointer(self.root)?, self.connection.xfixes_get_cursor_image()?);
        let here = at.reply()?.same_screen;
        let image = match image.reply() {
            Ok(image) => image,
            // It shows none at this moment.
            Err(ReplyError::X11Error(_)) => return Ok(None),
            Err(fault) => return Err(fault.into()),
        };
        Ok(here.then(|| CursorImage {
            at: Point::new(image.x.into(), image.y.into()),
            hot_spot: (image.xhot.into(), image.yhot.into()),
            width: image.width.into(),
            height: image.height.into(),
            bgra: image.cursor_image.iter().flat_map(|pixel| pixel.to_le_bytes()).collect(),
        }))
    }

    fn pointer(&self) -> Result<Point, SeatFault> {
        let pointer = self.connection.query_pointer(self.root)?.reply()?;
        Ok(Point::new(pointer.root_x.into(), pointer.root_y.into()))
    }

    fn asleep(&self) -> Result<bool, SeatFault> {
        if self.connection.extension_information(dpms::X11_EXTENSION_NAME)?.is_some() {
            let power = self.connection.dpms_info()?.reply()?;
            if power.state && power.power_level != DPMSMode::ON {
                return Ok(true);
            }
        }
        if self.connection.extension_information(screensaver::X11_EXTENSION_NAME)?.is_some() {
            let saver = self.connection.screensaver_query_info(self.root)?.reply()?;
            return Ok(saver.state == SAVER_ON && saver.kind != SAVER_EXTERNAL);
        }
        Ok(false)
    }
}

impl Drop for X11Screen {
    fn drop(&mut self) {
        let shared = self.shared.take().and_then(|shared| shared.into_inner().unwrap_or_else(PoisonError::into_inner));
        if let Some(shared) = shared {
            shared.detach(&self.connection);
        }
    }
}

fn monitor(name: String, primary: bool, rect: Rect) -> Monitor {
    let size = (rect.width(), rect.height());
    Monitor { name, primary, rect, physical_size: size, logical_size: size, scale: 1.0 }
}

/// The root can become smaller between two requests.
fn gone_if_outside(fault: ReplyError) -> SeatFault {
    let outside = matches!(&fault, ReplyError::X11Error(fault) if fault.error_kind == ErrorKind::Match);
    if outside { SeatFault::Gone } else { fault.into() }
}

fn has_monitors(connection: &Connection) -> Result<bool, SeatFault> {
    if connection.extension_information(randr::X11_EXTENSION_NAME)?.is_none() {
        return Ok(false);
    }
    let version = connection.randr_query_version(1, 5)?.reply()?;
    Ok((version.major_version, version.minor_version) >= (1, 5))
}

fn has_cursors(connection: &Connection) -> Result<bool, SeatFault> {
    if connection.extension_information(xfixes::X11_EXTENSION_NAME)?.is_none() {
        return Ok(false);
    }
    // A server knows a client's version only after this question.
    Ok(connection.xfixes_query_version(4, 0)?.reply()?.major_version >= 1)
}

/// Memory can be shared with a server on this machine alone, since it travels as an open handle.
fn can_share(connection: &Connection) -> Result<bool, SeatFault> {
    if !connection.stream().is_local() || connection.extension_information(shm::X11_EXTENSION_NAME)?.is_none() {
        return Ok(false);
    }
    let version = connection.shm_query_version()?.reply()?;
    Ok((version.major_version, version.minor_version) >= (1, 2))
}
