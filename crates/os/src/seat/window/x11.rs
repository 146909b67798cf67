//! Windows of an X11 session.
//!
//! Every question to the server is asked for all windows at once, so that a hundred windows take a few round trips. Whose window
//! it is tells the server (X-Resource), not the window: a window may lie about its process. Deliberately absent: moving, sizing
//! and closing windows.

mod look;
mod read;

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::computer::{Point, Rect};
use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask,
    InputFocus, PropMode, Timestamp, Window, WindowClass,
};
use x11rb::protocol::{res, shape};
use x11rb::wrapper::ConnectionExt as _;

use super::{SeatWindow, WindowHandle, Windows};
use crate::seat::x11::{self, Connection};
use crate::seat::{Seat, SeatFault};

/// How long the window manager may take to give a window the keyboard.
const FOCUS_LIMIT: Duration = Duration::from_secs(1);

/// How long a window that has the keyboard already may take to come to the front.
const RAISE_LIMIT: Duration = Duration::from_millis(300);

/// `_NET_ACTIVE_WINDOW` of a program through which the person chooses: managers obey it where they would hold back an app.
const SOURCE_PAGER: u32 = 2;

x11rb::atom_manager! {
    Atoms: AtomsCookie {
        UTF8_STRING,
        COMPOUND_TEXT,
        WM_STATE,
        WM_PROTOCOLS,
        WM_TAKE_FOCUS,
        _NET_SUPPORTING_WM_CHECK,
        _NET_SUPPORTED,
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_CURRENT_DESKTOP,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_STATE,
        _NET_WM_STATE_HIDDEN,
        _NET_WM_STATE_FULLSCREEN,
        _NET_WM_DESKTOP,
        _NET_WM_WINDOW_OPACITY,
        _NET_WM_OPAQUE_REGION,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_DESKTOP,
        _NET_WM_WINDOW_TYPE_DOCK,
        _NET_WM_WINDOW_TYPE_TOOLBAR,
        _NET_WM_WINDOW_TYPE_MENU,
        _NET_WM_WINDOW_TYPE_SPLASH,
        _NET_WM_WINDOW_TYPE_DROPDOWN_MENU,
        _NET_WM_WINDOW_TYPE_POPUP_MENU,
        _NET_WM_WINDOW_TYPE_TOOLTIP,
        _NET_WM_WINDOW_TYPE_NOTIFICATION,
        _NET_WM_WINDOW_TYPE_COMBO,
        _NET_WM_WINDOW_TYPE_DND,
        _GTK_FRAME_EXTENTS,
    }
}

/// Counts connections.
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Where the keyboard is, as the server and as the window manager tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Keyboard {
    focus: Window,
    active: Window,
}

#[derive(Debug, Default)]
struct Standing {
    mark: u64,
    keyboard: Keyboard,
}

/// The windows of one X display.
pub(super) struct X11Windows {
    connection: Connection,
    root: Window,
    screen: Rect,
    root_depth: u8,
    atoms: Atoms,
    /// The server tells to whom a window belongs.
    names_owners: bool,
    /// The server knows windows that are no rectangles.
    shapes: bool,
    host: String,
    /// A window of ours that nobody sees, for asking what time it is.
    own: Window,
    standing: Mutex<Standing>,
}

impl X11Windows {
    pub(super) fn open(seat: &Seat) -> Result<Self, SeatFault> {
        let (connection, number) = x11::connect(seat, Some(x11::PATIENCE))?;
        let screen = connection.setup().roots.get(number);
        let screen = screen.ok_or_else(|| SeatFault::NoDisplay(format!("there is no screen {number}")))?;
        let (root, root_depth) = (screen.root, screen.root_depth);
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        let atoms = Atoms::new(&connection)?.reply()?;
        let names_owners = res::query_version(&connection, 1, 2).is_ok_and(|cookie| cookie.reply().is_ok());
        let shapes = shape::query_version(&connection).is_ok_and(|cookie| cookie.reply().is_ok());
        let watched = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE;
        connection.change_window_attributes(root, &ChangeWindowAttributesAux::new().event_mask(watched))?.check()?;
        let own = connection.generate_id()?;
        let aux = CreateWindowAux::new().override_redirect(1).event_mask(EventMask::PROPERTY_CHANGE);
        connection.create_window(0, own, root, -1, -1, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &aux)?.check()?;
        Ok(Self {
            screen: Rect::at(Point::new(0, 0), width.into(), height.into()),
            connection,
            root,
            root_depth,
            atoms,
            names_owners,
            shapes,
            host: super::process::host(),
            own,
            // Marks of two connections never agree.
            standing: Mutex::new(Standing {
                mark: CONNECTIONS.fetch_add(1, Ordering::Relaxed) << 40,
                ..Standing::default()
            }),
        })
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what has arrived since the last look and tells whether anything of it matters. Our own window does not. Nobody sees
    /// the old mark after something was taken.
    fn drain(&self, standing: &mut Standing) -> Result<bool, SeatFault> {
        let before = standing.mark;
        while let Some(event) = self.connection.poll_for_event()? {
            standing.mark += u64::from(self.matters(&event));
        }
        Ok(standing.mark != before)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the protocol has a hundred events, of which few are asked for")]
    fn matters(&self, event: &Event) -> bool {
        match event {
            // The size of the whole screen may have changed with the root.
            Event::ConfigureNotify(event) => event.window != self.own,
            Event::PropertyNotify(event) => event.window == self.root,
            Event::Error(_) => false,
            _ => true,
        }
    }

    /// Asks where the keyboard is: one round trip, after which everything is here that happened before.
    fn keyboard_now(&self) -> Result<Keyboard, SeatFault> {
        let focus = self.connection.get_input_focus()?;
        let active =
            self.connection.get_property(false, self.root, self.atoms._NET_ACTIVE_WINDOW, AtomEnum::WINDOW, 0, 1)?;
        let focus = focus.reply()?.focus;
        let active = active.reply()?.value32().and_then(|mut values| values.next()).unwrap_or_default();
        Ok(Keyboard { focus, active })
    }

    /// Waits until the server says something, at most this long.
    fn poll(&self, limit: Duration) -> Result<(), SeatFault> {
        let stream = self.connection.stream().as_fd();
        let limit = Timespec::try_from(limit).map_err(|fault| SeatFault::Other(fault.to_string()))?;
        match rustix::event::poll(&mut [PollFd::new(&stream, PollFlags::IN)], Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(fault) => Err(SeatFault::NoDisplay(fault.to_string())),
        }
    }

    /// Waits until something is so. Tells whether it is.
    fn until(&self, limit: Duration, so: impl Fn() -> Result<bool, SeatFault>) -> Result<bool, SeatFault> {
        let deadline = Instant::now() + limit;
        loop {
            let done = so()?;
            let mut standing = self.standing();
            self.drain(&mut standing)?;
            standing.mark += u64::from(done);
            drop(standing);
            let left = deadline.saturating_duration_since(Instant::now());
            if done || left.is_zero() {
                return Ok(done);
            }
            self.poll(left)?;
        }
    }

    fn has_keyboard(&self, client: Window) -> Result<bool, SeatFault> {
        let keyboard = self.keyboard_now()?;
        Ok(keyboard.active == client && self.client_of(keyboard.focus)? == Some(client))
    }

    fn is_in_front(&self, client: Window) -> Result<bool, SeatFault> {
        let order = self.list(self.root, self.atoms._NET_CLIENT_LIST_STACKING, AtomEnum::WINDOW)?;
        Ok(order.last() == Some(&client))
    }

    /// What the server's clock shows: managers tell old wishes from new ones by it.
    fn server_time(&self) -> Result<Timestamp, SeatFault> {
        self.connection.change_property8(PropMode::APPEND, self.own, AtomEnum::WM_NAME, AtomEnum::STRING, &[])?;
        // The answer to this comes after the event.
        let _ = self.connection.get_input_focus()?.reply()?;
        let mut standing = self.standing();
        let mut time = 0;
        while let Some(event) = self.connection.poll_for_event()? {
            if let Event::PropertyNotify(event) = &event
                && event.window == self.own
            {
                time = event.time;
            }
            standing.mark += u64::from(self.matters(&event));
        }
        Ok(time)
    }

    /// Asks the window manager to show a window in front and give it the keyboard.
    fn activate(&self, client: Window, time: Timestamp) -> Result<(), SeatFault> {
        let data = [SOURCE_PAGER, time, 0, 0, 0];
        let message = ClientMessageEvent::new(32, client, self.atoms._NET_ACTIVE_WINDOW, data);
        let managers = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.connection.send_event(false, self.root, managers, message)?;
        Ok(())
    }

    /// Gives a window the keyboard where it lies.
    fn focus_in_place(&self, client: Window, time: Timestamp) -> Result<(), SeatFault> {
        let protocols = self.list(client, self.atoms.WM_PROTOCOLS, AtomEnum::ATOM)?;
        if protocols.contains(&self.atoms.WM_TAKE_FOCUS) {
            let data = [self.atoms.WM_TAKE_FOCUS, time, 0, 0, 0];
            let message = ClientMessageEvent::new(32, client, self.atoms.WM_PROTOCOLS, data);
            self.connection.send_event(false, client, EventMask::NO_EVENT, message)?;
        }
        // It may have gone or become invisible meanwhile: then it does not get the keyboard, which is looked at anyway.
        let _ = self.connection.set_input_focus(InputFocus::POINTER_ROOT, client, time)?.check();
        Ok(())
    }

    /// Reads a property that is a list of numbers.
    fn list(&self, window: Window, property: u32, kind: AtomEnum) -> Result<Vec<u32>, SeatFault> {
        let reply = read::answered(self.connection.get_property(false, window, property, kind, 0, 1024)?.reply())?;
        Ok(reply.and_then(|reply| reply.value32().map(Iterator::collect)).unwrap_or_default())
    }
}

impl Windows for X11Windows {
    fn all(&self) -> Result<Vec<SeatWindow>, SeatFault> {
        self.look()
    }

    fn one(&self, handle: WindowHandle) -> Result<SeatWindow, SeatFault> {
        let client = u32::try_from(handle.0).map_err(|_| SeatFault::Gone)?;
        self.look_at(client)?.ok_or(SeatFault::Gone)
    }

    fn focused(&self) -> Result<Option<SeatWindow>, SeatFault> {
        let keyboard = self.keyboard_now()?;
        match self.client_of(keyboard.focus)? {
            Some(client) => self.look_at(client),
            None => Ok(None),
        }
    }

    fn keyboard(&self) -> Result<Vec<SeatWindow>, SeatFault> {
        let keyboard = self.keyboard_now()?;
        let mut clients: Vec<Window> = self.client_of(keyboard.focus)?.into_iter().collect();
        if keyboard.active != 0 && !clients.contains(&keyboard.active) {
            clients.push(keyboard.active);
        }
        let mut windows = Vec::new();
        for client in clients {
            windows.extend(self.look_at(client)?);
        }
        Ok(windows)
    }

    fn at(&self, point: Point) -> Result<Option<SeatWindow>, SeatFault> {
        match self.top_at(point)? {
            Some(top) => self.look_at(top),
            None => Ok(None),
        }
    }

    fn focus(&self, handle: WindowHandle, raise: bool) -> Result<(), SeatFault> {
        if !self.managed() {
            return Err(SeatFault::Unsupported(
                "no window manager runs here that gives windows the keyboard".to_owned(),
            ));
        }
        let window = self.one(handle)?;
        let client = u32::try_from(handle.0).map_err(|_| SeatFault::Gone)?;
        let time = self.server_time()?;
        // What is not drawn cannot have the keyboard: the manager has to show it first, which raises it.
        if raise || !window.visible {
            self.activate(client, time)?;
        } else {
            self.focus_in_place(client, time)?;
        }
        if !self.until(FOCUS_LIMIT, || self.has_keyboard(client))? {
            return Err(SeatFault::Unsupported("the window manager did not give this window the keyboard".to_owned()));
        }
        if raise {
            // What always stays above does so now as well.
            let _ = self.until(RAISE_LIMIT, || self.is_in_front(client))?;
        }
        Ok(())
    }

    fn managed(&self) -> bool {
        let check = self.atoms._NET_SUPPORTING_WM_CHECK;
        let named = |window| self.list(window, check, AtomEnum::WINDOW).ok().and_then(|list| list.first().copied());
        // The window that the root names names itself, or the manager has gone and left the mark behind.
        let alive = named(self.root).is_some_and(|window| named(window) == Some(window));
        let supported = || self.list(self.root, self.atoms._NET_SUPPORTED, AtomEnum::ATOM).unwrap_or_default();
        alive && supported().contains(&self.atoms._NET_ACTIVE_WINDOW)
    }

    fn mark(&self) -> Result<u64, SeatFault> {
        let keyboard = self.keyboard_now()?;
        let mut standing = self.standing();
        let changed = self.drain(&mut standing)?;
        // Where the keyboard follows the pointer, every movement can take it elsewhere.
        if changed || keyboard != standing.keyboard || keyboard.focus == look::POINTER_ROOT {
            standing.mark += 1;
            standing.keyboard = keyboard;
        }
        Ok(standing.mark)
    }

    fn wait(&self, limit: Duration) -> Result<(), SeatFault> {
        let changed = self.drain(&mut self.standing())?;
        if changed { Ok(()) } else { self.poll(limit) }
    }
}
